"""One board: systems, all their differences at once, and who may be the best (METHODS 17 and 19).

Systems are compared by paired differences inside (task, language, judge). A system may be the best when no other is
surely ahead of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri, ndtri, stdtr

from polyjudge.answers.amounts import tiny_of
from polyjudge.base.errors import PanelError
from polyjudge.panel import Panel
from polyjudge.stats.cells import Values
from polyjudge.stats.interval import interval

Array = NDArray[np.float64]
LEAST = 6
"""Units that an interval needs."""


@dataclass(frozen=True)
class Board:
    """Systems and all their differences, row less column; NaN where two share nothing that joins them.

    mean : as shown: the leader's mean plus the estimated difference
    order : best first; ties in the order of the panel
    """

    systems: tuple[str, ...]
    mean: Array
    gap: Array
    low: Array
    high: Array
    order: tuple[int, ...]
    units: int
    tiny: float
    need: Array
    """(S, S): standard deviation of a unit's difference, and the q of very many units: what METHODS 23 plans with."""
    q: Array

    @property
    def ahead(self) -> NDArray[np.bool_]:
        """Row is surely ahead of column."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.low > self.tiny)

    @property
    def rank_low(self) -> NDArray[np.int64]:
        """One more than the systems that are surely ahead."""
        return np.asarray(self.ahead.sum(0) + 1)

    @property
    def rank_high(self) -> NDArray[np.int64]:
        """All but the systems that are surely behind."""
        return np.asarray(int(self.scored.sum()) - self.ahead.sum(1))

    @property
    def may_be_best(self) -> NDArray[np.bool_]:
        """Not surely behind any other."""
        return np.asarray(~self.ahead.any(0) & self.scored)

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Those that have any score."""
        return np.isfinite(self.mean)

    @property
    def leader(self) -> int:
        """The first."""
        return self.order[0]

    @property
    def beside(self) -> dict[str, Any]:
        """More columns of the board, in its order; of pairs the share of wins as it was observed."""
        return {}

    @property
    def joined(self) -> NDArray[np.bool_]:
        """Systems that can be compared with the leader."""
        return np.asarray(np.isfinite(self.gap[self.leader]))


def board(
    values: Values, seen: Array, systems: Sequence[str], *, level: float, tiny: float, two_valued: bool = False,
    low: float = 0.0, width: float = 1.0, languages: int = 1, informing: NDArray[np.int64] | None = None,
) -> Board:  # fmt: skip
    """All pairs of systems at once (and of so many languages).

    seen : each system's mean of what was scored
    informing : units in which each system is compared with any other, where that is not all of them
    """
    v, S = values.v, len(systems)
    i, j = np.triu_indices(S, 1)
    null = values.null
    good = np.abs(null[i] - null[j]).max(1, initial=0.0) < 1e-6
    good &= np.isfinite(v[:, i]).all(0) & np.isfinite(v[:, j]).all(0)
    a, b = i[good], j[good]
    gap, at_low, at_high, need, quantile = (np.full((S, S), np.nan) for _ in range(5))
    np.fill_diagonal(gap, 0.0)
    if len(a):
        x = v[:, a] - v[:, b]
        prior = None
        if two_valued:
            p = np.clip((seen - low) / width, 1 / (2 * len(v)), 1 - 1 / (2 * len(v)))
            prior = (p * (1 - p))[a] + (p * (1 - p))[b]
        units = np.full(S, len(v)) if informing is None else informing
        told = np.minimum(units[a], units[b])  # a system on few tasks: as many degrees of freedom, or no interval
        made = interval(x, level=level, together=languages * len(i), prior=prior, df=told - 1.0)
        made.q[told < LEAST] = np.nan
        estimate = np.where(np.abs(made.estimate) <= tiny, 0.0, made.estimate)
        for first, second, sign in ((a, b, 1.0), (b, a, -1.0)):
            gap[first, second] = sign * estimate
            ends = np.sort(np.stack([sign * made.low, sign * made.high]), axis=0)
            at_low[first, second], at_high[first, second] = ends
            need[first, second] = made.se * np.sqrt(made.units)
            quantile[first, second] = ndtri(stdtr(made.df, made.q))
    whole = max(range(S), key=lambda s: int(np.isfinite(gap[s]).sum()))  # the largest part that is joined
    level_of = np.where(np.isfinite(gap[whole]), -gap[whole], -np.inf)
    order = np.argsort(-np.round(level_of / tiny), kind="stable")
    top = int(order[0])
    mean = np.where(np.isfinite(gap[top]), seen[top] - gap[top], seen)
    return Board(tuple(systems), mean, gap, at_low, at_high, tuple(map(int, order)), len(v), tiny, need, quantile)


def seen_means(scores: Array, weight: Array) -> Array:
    """Each system's mean of what was scored."""
    o = np.isfinite(scores)
    total = np.einsum("nslb,n->s", np.where(o, scores, 0.0), weight)
    number = np.einsum("nslb,n->s", o.astype(float), weight)
    return np.asarray(np.where(number > 0, total / np.maximum(number, 1e-300), np.nan))


def compared_units(panel: Panel) -> NDArray[np.int64] | None:
    """Units in which each system is compared with another; None where that is all of them."""
    if panel.complete:
        return None
    o = np.isfinite(panel.scores)
    compared = (o & (o.sum(1, keepdims=True) > 1)).any((2, 3))
    found = np.zeros((panel.units, compared.shape[1]), dtype=bool)
    np.logical_or.at(found, panel.unit, compared)
    return np.asarray(found.sum(0))


def board_values(panel: Panel, weights: Array | None) -> tuple[Values, Array]:
    """One number per unit and system, and means of what was scored; with weights, of each judge on its own."""
    if weights is None:
        return panel.system_values(), seen_means(panel.scores, panel.weight)
    there = np.isfinite(panel.scores).any((0, 1, 2)) & (weights > 0)
    if not there.any():
        raise PanelError("No judge with a weight above 0 has a score in one of the languages.")
    parts = [panel.select(judges=[panel.judges[b]]) for b in np.flatnonzero(there)]
    w = (weights / weights[there].sum())[there]
    values = [p.system_values() for p in parts]
    seen = sum(x * seen_means(p.scores, p.weight) for x, p in zip(w, parts, strict=True))
    v = sum(x * value.v for x, value in zip(w, values, strict=True))
    return Values(np.asarray(v), np.hstack([x.null for x in values]), "weighted"), np.asarray(seen)


def settle(spread: float, q: float, units: int, difference: float) -> float:
    """Units by which a difference of this size would be told from 0 in 80% of studies (METHODS 23)."""
    return float(((q + 0.84) * spread / difference) ** 2 * (units - 1) / chdtri(units - 1, 0.8))


def round_up(tasks: float) -> int:
    """To two digits."""
    unit = 10 ** max(0, math.floor(math.log10(max(tasks, 1.0))) - 1)
    return int(math.ceil(tasks / unit - 1e-9) * unit)


def columns_of(boards: Mapping[str, Board]) -> dict[str, Any]:
    """language ("all" and each), system, mean, behind_leader, low, high, rank_low, rank_high, may_be_best."""
    parts = []
    for language, b in boards.items():
        o, top = [x for x in b.order if b.scored[x]], b.leader
        low, high = (np.where(np.arange(len(x)) == top, np.nan, x[:, top])[o] for x in (b.low, b.high))
        part = {"language": [language] * len(o), "system": [b.systems[x] for x in o], "mean": b.mean[o]}
        part |= {"behind_leader": b.gap[o, top], "low": low, "high": high}
        part |= {"rank_low": b.rank_low[o], "rank_high": b.rank_high[o], "may_be_best": b.may_be_best[o]} | b.beside
        parts.append(part)
    columns = ["language", "system", "mean", "behind_leader", "low", "high", "rank_low", "rank_high", "may_be_best"]
    columns += [x for x in (parts[0] if parts else ()) if x not in columns]
    return {x: np.concatenate([part[x] for part in parts]) if parts else [] for x in columns}


# --- who puts whom first: estimates only, from sums that can be added up ---


@dataclass(frozen=True, eq=False)
class Sums:
    """Least squares of systems inside (task, language, judge): normal parts (k, m, S, S) and right sides (k, m, S)."""

    a: Array
    r: Array
    tiny: float

    def lead(
        self, top: int, rivals: Sequence[int], languages: Sequence[int], judges: Sequence[int]
    ) -> tuple[float, float]:
        """The smallest lead of the top over these rivals, and the smallest one in units of its error, which is known up
        to a factor; by these languages and judges."""
        normal = self.a[np.ix_(languages, judges)].sum((0, 1))
        right = self.r[np.ix_(languages, judges)].sum((0, 1))
        inverse = np.linalg.pinv(normal, rcond=1e-9, hermitian=True)
        estimate, variance = inverse @ right, np.diag(inverse)
        known = [s for s in rivals if normal[s, s] > 0]
        if not known or not normal[top, top] > 0:
            return -np.inf, -np.inf
        leads = estimate[top] - estimate[known]
        errors = np.sqrt(np.maximum(variance[top] + variance[known] - 2 * inverse[top, known], 1e-300))
        return float(leads.min()), float((leads / errors).min())

    def first(self, languages: Sequence[int] | None = None, judges: Sequence[int] | None = None) -> int | None:
        """The system with the highest estimate by these; None where two are tied or not all are joined."""
        a, r = self.a, self.r
        if languages is not None:
            a, r = a[list(languages)], r[list(languages)]
        if judges is not None:
            a, r = a[:, list(judges)], r[:, list(judges)]
        normal = a.sum((0, 1))
        there = np.flatnonzero(np.diag(normal) > 0)
        if len(there) < 2:
            return None
        w, q = np.linalg.eigh(normal[np.ix_(there, there)])
        if (w > 1e-9 * max(w[-1], 1e-300)).sum() < len(w) - 1:
            return None
        c = (q[:, 1:] / w[1:]) @ (q[:, 1:].T @ r.sum((0, 1))[there])
        best, second = np.argsort(-c, kind="stable")[:2]
        return int(there[best]) if c[best] - c[second] > self.tiny else None


def sums(panel: Panel, weights: Array | None = None) -> Sums:
    """One pass over the scores."""
    _, S, k, m = panel.shape
    # A judge who counts for nothing is asked all the same whom it puts first.
    by = np.ones(m) if weights is None else np.maximum(weights * m, 1e-9)
    a, r = np.zeros((k, m, S, S)), np.zeros((k, m, S))
    for language in range(k):
        for judge in range(m):
            y = panel.scores[:, :, language, judge]
            o = np.isfinite(y).astype(float)
            number = np.maximum(o.sum(1, keepdims=True), 1.0)
            y = np.where(o > 0, y, 0.0)
            ow = o * panel.weight[:, None] * by[judge]
            a[language, judge] = np.diag(ow.sum(0)) - (ow / number).T @ o
            r[language, judge] = (ow * (y - (o * y).sum(1, keepdims=True) / number)).sum(0)
    return Sums(a, r, tiny_of(panel))
