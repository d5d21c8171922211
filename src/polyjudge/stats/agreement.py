"""Do the judges agree with each other? Mean correlation of two judges, and what the panel mean makes of it
(METHODS 20 and 31). Agreement is described under its own name: it is no measure of being right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from polyjudge.stats.correlations import Answers, Over, Pairs, correlate_pairs, correlation_limits
from polyjudge.stats.interval import FEWEST
from polyjudge.stats.resample import groups_of

Array = NDArray[np.float64]
Limits = tuple[float, float, float]
MOST_ROWS, DRAWN = 100_000, 10_000
AGREE = 0.3
"""Reliability of the panel mean above which judges are said to agree, and below which hardly."""
NEAR = 0.1
"""Correlation above which two judges are said to agree with each other, and below which one agrees with nobody."""


ODD = 0.05
"""How far below all others' lower limits a judge's upper limit must lie for it to be named."""


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """r : mean correlation of two judges over answers, with its limits; NaN with fewer than two judges that vary
    reliability : of the panel mean (Spearman and Brown), with its limits
    pairs : (m, m) correlation of every two judges, NaN where not estimable; pairs_low, pairs_high hold together
    own : (m,) mean correlation of each judge with the others, with limits of one
    constant : judges that never vary: they count nowhere
    odd : judges, fewer than half, each of whose upper limits lies well below the lower limits of all others
    rest : mean correlation of the others with each other where some are odd, with its limits; else None
    groups, alone : where judges fall apart: groups that agree only among themselves, and those that are in none
    group_r : mean correlation inside each group, with its limits
    makers : mean correlation of two judges of different makers, with its limits; None where there are none such
    over : what they agree about: "systems" within a task and language, or "tasks"
    rows : rows it was computed from (drawn at random where there are more than 100,000)
    units, effective : units, and how many of them the differences between answers would make if all had the same
    """

    r: float
    r_low: float
    r_high: float
    reliability: float
    reliability_low: float
    reliability_high: float
    pairs: Array
    pairs_low: Array
    pairs_high: Array
    own: Array
    own_low: Array
    own_high: Array
    constant: tuple[int, ...]
    odd: tuple[int, ...]
    rest: Limits | None
    groups: tuple[tuple[int, ...], ...]
    alone: tuple[int, ...]
    group_r: tuple[Limits, ...]
    makers: Limits | None
    over: Over
    rows: int
    units: int
    effective: float

    @property
    def verdict(self) -> Literal["agree", "hardly", "unclear", "alike", "none"]:
        """Whether they certainly agree, certainly hardly do, or it is unknown, because tasks are few ("unclear") or
        because too few answers differ ("alike"); "none" without a pair."""
        if not np.isfinite(self.r):
            return "none"
        if self.effective < FEWEST:
            return "alike" if self.effective < self.units / 2 else "unclear"
        if self.reliability_low > AGREE:
            return "agree"
        return "hardly" if self.reliability_high < AGREE else "unclear"


def agreement(
    scores: Array,
    unit: NDArray[np.int64],
    weight: Array,
    *,
    width: float | None = None,
    makers: Sequence[str] | None = None,
    copies: Sequence[int] | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Agreement:
    """How far judges agree, from scores (rows, systems, languages, judges) with NaN where missing.

    Correlations are over answers, centred within task and language where there are systems, else over tasks within
    languages.

    width : of the scale; that of the scores unless given
    makers : of each judge
    copies : number of the group of near-identical judges of each judge (METHODS 36): a group counts as one judge
    """
    answers = _select_answers(scores, unit, weight, width, seed)
    n_judges = scores.shape[3]
    constant = tuple(b for b in range(n_judges) if not _varies(answers.scores[..., b]))
    varying = [b for b in range(n_judges) if b not in constant]
    if copies is not None and len({copies[b] for b in varying}) < 2:
        copies = None  # one judge many times: how far it agrees with itself is all that can be said
    found = _correlate(answers, _Pools.of(n_judges, constant, makers, copies), level)
    r, r_low, r_high = (float(x[0]) for x in found.pooled)
    own, own_low, own_high = (x[2:] for x in found.pooled)
    has_other_makers = bool(np.isfinite(found.pooled[0][1]))
    groups, alone = _fall_apart(found.pairs_low, found.pairs_high, varying, max(0.2, r))
    odd = () if groups else _odd_judges(own_low, own_high)
    others = [b for b in varying if b not in odd]
    n_voices = len(varying) if copies is None else len({copies[b] for b in varying})
    reliability, reliability_low, reliability_high = (_spearman_brown(x, n_voices) for x in (r, r_low, r_high))
    return Agreement(
        r=r,
        r_low=r_low,
        r_high=r_high,
        reliability=reliability,
        reliability_low=reliability_low,
        reliability_high=reliability_high,
        pairs=found.pairs,
        pairs_low=found.pairs_low,
        pairs_high=found.pairs_high,
        own=own,
        own_low=own_low,
        own_high=own_high,
        constant=constant,
        odd=odd,
        rest=_mean_correlation(answers, others, level) if odd else None,
        groups=groups,
        alone=alone,
        group_r=tuple(_group_correlation(answers, found, group, level) for group in groups),
        makers=tuple(float(x[1]) for x in found.pooled) if has_other_makers else None,  # type: ignore[arg-type]
        over=answers.over,
        rows=len(answers.scores),
        units=answers.n_units,
        effective=found.effective,
    )


def _select_answers(scores: Array, unit: NDArray[np.int64], weight: Array, width: float | None, seed: int) -> Answers:
    """The rows that are used, and their units in at most so many groups."""
    if width is None:
        width = float(np.nanmax(scores) - np.nanmin(scores))
    if len(scores) > MOST_ROWS:
        drawn = np.sort(np.random.default_rng(seed).choice(len(scores), DRAWN, replace=False))
        scores, unit, weight = scores[drawn], unit[drawn], weight[drawn]
    unit = np.unique(unit, return_inverse=True)[1].ravel()
    n_units = int(unit.max()) + 1
    return Answers(scores, weight, groups_of(n_units, seed)[unit], n_units, width)


def _varies(x: Array) -> bool:
    """Whether a judge gives more than one score."""
    seen = x[np.isfinite(x)]
    return len(seen) > 0 and float(np.ptp(seen)) > 1e-9 * max(float(np.abs(seen).max()), 1e-300)


# --- correlations of pairs, and means of them ---


@dataclass(frozen=True)
class _Pools:
    """Sets of pairs over which correlations are averaged: all pairs, pairs of different makers, and each judge's.

    estimated : (m, m) pairs whose own correlation is asked for: both judges vary
    panel : (m, m) weight of each pair; copies share the weight of one judge, and two copies have none with each other
    makers : (m, m), the same where makers differ. own : (m, m), weight of the column's judge beside the row's
    """

    estimated: NDArray[np.bool_]
    panel: Array
    makers: Array
    own: Array

    @classmethod
    def of(
        cls,
        n_judges: int,
        constant: Sequence[int] = (),
        makers: Sequence[str] | None = None,
        copies: Sequence[int] | None = None,
    ) -> _Pools:
        """The weights of pairs of judges that vary and are no copies of each other."""
        group = np.arange(n_judges) if copies is None else np.asarray(copies)
        is_estimated = ~np.eye(n_judges, dtype=bool)
        is_estimated[list(constant)] = is_estimated[:, list(constant)] = False
        is_compared = is_estimated & (group[:, None] != group)
        share = 1 / (group[:, None] == group).sum(1)
        differs = np.zeros((n_judges, n_judges), dtype=bool)
        if makers is not None:
            names = np.asarray(makers, dtype=object)
            differs = names[:, None] != names
        panel = is_compared * share[:, None] * share
        return cls(is_estimated, panel, panel * differs, is_compared * share)


@dataclass(frozen=True)
class _Correlations:
    """pairs, pairs_low, pairs_high : (m, m). pooled : estimates and limits of all pairs, of those of different makers,
    and of each judge's. effective : number of units that carry the variance"""

    pairs: Array
    pairs_low: Array
    pairs_high: Array
    pooled: tuple[Array, Array, Array]
    effective: float


def _correlate(answers: Answers, pools: _Pools, level: float) -> _Correlations:
    """Correlations of every two judges, and their means over pools of pairs, with limits."""
    n_judges = len(pools.panel)
    r, low, high = (np.full((n_judges, n_judges), np.nan) for _ in range(3))
    n_pairs = max(int(pools.estimated.sum()) // 2, 1)
    product, variance = np.zeros((2, answers.n_groups, n_judges + 2))
    size, mean_square = np.zeros((2, n_judges + 2))
    for pairs in _used_pairs(answers, pools.estimated):
        judge, later = pairs.first, slice(pairs.first + 1, None)
        known = np.isfinite(pairs.product[0])
        r[judge, later] = np.clip(pairs.product.sum(0), -1, 1)
        low[judge, later], high[judge, later] = correlation_limits(
            pairs.product, pairs.variance, pairs.mean_square, pairs.n_units,
            width=answers.width, level=level, n_comparisons=n_pairs,
        )  # fmt: skip
        u, v, square = (np.where(known, x, 0.0) for x in (pairs.product, pairs.variance, pairs.mean_square))
        # The panel's, those of different makers, this judge's: sums over the pairs; each later judge's: one pair more.
        weights = known * np.stack([pools.panel[judge, later], pools.makers[judge, later], pools.own[judge, later]])
        columns = [0, 1, judge + 2]
        beside = known * pools.own[later, judge]
        at_later = slice(judge + 3, None)
        for total, part in ((product, u), (variance, v)):
            total[:, columns] += part @ weights.T
            total[:, at_later] += part * beside
        size[columns] += weights.sum(1)
        size[at_later] += beside
        mean_square[columns] += weights @ square
        mean_square[at_later] += beside * square
    for x in (r, low, high):
        lower = np.tril_indices(n_judges, -1)
        x[lower] = x.T[lower]
    pooled_limits = _limits_of_means(answers, product, variance, size, mean_square, level)
    with np.errstate(invalid="ignore", divide="ignore"):
        effective = float(size[0] ** 2 / (variance[:, 0] ** 2).sum())
    return _Correlations(r, low, high, pooled_limits, effective)


def _used_pairs(answers: Answers, is_used: NDArray[np.bool_]) -> Iterator[Pairs]:
    """Every judge with the later ones, NaN where the two are not compared."""
    for pairs in correlate_pairs(answers):
        unused = ~is_used[pairs.first, pairs.first + 1 :]
        pairs.product[:, unused] = pairs.variance[:, unused] = np.nan
        yield pairs


def _limits_of_means(
    answers: Answers, product: Array, variance: Array, size: Array, mean_square: Array, level: float
) -> tuple[Array, Array, Array]:
    """Means over pools of pairs whose sums and sizes these are, with limits of one; NaN where a pool has no pair."""
    divisor = np.where(size > 0, size, np.nan)
    product, variance, mean_square = product / divisor, variance / divisor, mean_square / divisor
    low, high = correlation_limits(
        product, variance, mean_square, np.full(len(size), float(answers.n_units)), width=answers.width, level=level
    )
    return np.clip(product.sum(0), -1, 1), low, high


def _mean_correlation(answers: Answers, judges: Sequence[int], level: float) -> Limits:
    """Mean correlation of some judges with each other, with its limits."""
    part = Answers(answers.scores[..., list(judges)], answers.weight, answers.group, answers.n_units, answers.width)
    r, low, high = _correlate(part, _Pools.of(len(judges)), level).pooled
    return float(r[0]), float(low[0]), float(high[0])


def _group_correlation(answers: Answers, found: _Correlations, group: Sequence[int], level: float) -> Limits:
    """Mean correlation of a group of judges; of two, the limits are those of the pair."""
    if len(group) > 2:
        return _mean_correlation(answers, group, level)
    pair = tuple(group)
    return float(found.pairs[pair]), float(found.pairs_low[pair]), float(found.pairs_high[pair])


def _spearman_brown(r: float, n_judges: int) -> float:
    """Reliability of the mean of so many judges; none is less than 0."""
    return float(n_judges * max(r, 0.0) / (1 + (n_judges - 1) * max(r, 0.0))) if np.isfinite(r) else float("nan")


# --- who differs ---


def _odd_judges(own_low: Array, own_high: Array) -> tuple[int, ...]:
    """Judges, fewer than half, that agree less by a margin: their upper limits lie below all others' lower limits."""
    judges = [b for b in np.argsort(own_high, kind="stable") if np.isfinite(own_high[b])]
    if len(judges) < 3:
        return ()
    odd: tuple[int, ...] = ()
    for size in range(1, (len(judges) + 1) // 2):
        low_ones, others = judges[:size], judges[size:]
        if max(own_high[low_ones]) + ODD < min(own_low[others]):
            odd = tuple(sorted(int(b) for b in low_ones))
    return odd


def _fall_apart(
    low: Array, high: Array, judges: list[int], little: float
) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
    """Groups joined by pairs that certainly agree, and judges in none, where all pairs across them agree little."""
    group_of = {b: b for b in judges}
    for i, j in combinations(judges, 2):
        if low[i, j] > NEAR and group_of[i] != group_of[j]:
            group_of = {b: group_of[i] if g == group_of[j] else g for b, g in group_of.items()}
    parts = [tuple(b for b in judges if group_of[b] == g) for g in sorted(set(group_of.values()))]
    across = [high[i, j] for i, j in combinations(judges, 2) if group_of[i] != group_of[j]]
    groups = tuple(part for part in parts if len(part) > 1)
    if len(parts) < 2 or not groups or not all(x < little for x in across):
        return (), ()
    return groups, tuple(part[0] for part in parts if len(part) == 1)
