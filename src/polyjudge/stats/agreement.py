"""Do the judges agree with each other? Mean correlation of two judges, and what the panel mean makes of it
(METHODS 20). Agreement is described under its own name: it is no measure of being right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from polyjudge.stats.cells import chunks, sum_by
from polyjudge.stats.interval import FEWEST
from polyjudge.stats.resample import bootstrap, groups_of

Array = NDArray[np.float64]
MOST_ROWS, DRAWN = 100_000, 10_000
AGREE = 0.3
"""Reliability of the panel mean above which judges are said to agree, and below which hardly."""
NEAR = 0.1
"""Correlation above which two judges are said to agree with each other."""
ODD = 0.05
"""How much less than the others' a judge's correlation must surely be for it to be named."""


@dataclass(frozen=True)
class Agreement:
    """r : mean correlation of two judges over answers, with its interval; NaN with fewer than two judges that vary
    reliability : of the panel mean (Spearman and Brown), with its interval
    pairs : (m, m) correlation of every two judges, NaN where it cannot be told; pairs_low, pairs_high hold together
    own : (m,) mean correlation of each judge with the others, with intervals of one
    constant : judges that never vary: they count nowhere
    odd : judges whose correlation with the rest is surely lower than the others'
    groups, alone : where judges fall apart: groups that agree only among themselves, and those that agree with nobody
    makers : mean correlation of two judges of different makers, with its interval; None where there are none such
    over : what they agree about: "systems" within a task and language, or "tasks"
    rows : rows it was computed from (drawn at random where there are more than 100,000)
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
    groups: tuple[tuple[int, ...], ...]
    alone: tuple[int, ...]
    makers: tuple[float, float, float] | None
    over: Literal["systems", "tasks"]
    rows: int

    @property
    def verdict(self) -> Literal["agree", "hardly", "unclear", "none"]:
        """Whether they surely agree, surely hardly do, or there are too few tasks to tell; "none" without a pair."""
        if not np.isfinite(self.r):
            return "none"
        if self.reliability_low > AGREE:
            return "agree"
        return "hardly" if self.reliability_high < AGREE else "unclear"


def agreement(
    scores: Array,
    unit: NDArray[np.int64],
    weight: Array,
    *,
    makers: Sequence[str] | None = None,
    level: float = 0.95,
    draws: int = 400,
    seed: int = 0,
) -> Agreement:
    """How far judges agree, from scores (rows, systems, languages, judges) with NaN where missing.

    Correlations are over answers, centred within task and language where there are systems, else over tasks within
    languages. Intervals are those of a bootstrap of units on the scale of Fisher's z.
    """
    rows = len(scores)
    if rows > MOST_ROWS:
        at = np.sort(np.random.default_rng(seed).choice(rows, DRAWN, replace=False))
        scores, unit, weight, rows = scores[at], unit[at], weight[at], DRAWN
    unit = np.unique(unit, return_inverse=True)[1].ravel()
    units, m = int(unit.max()) + 1, scores.shape[3]
    over: Literal["systems", "tasks"] = "systems" if scores.shape[1] > 1 else "tasks"
    group = groups_of(units, seed)[unit]
    groups = int(group.max()) + 1
    draws = min(draws, max(200, 800_000 // (m * m)))  # of many judges so many pairs: fewer are enough
    w = np.vstack([np.ones(groups), bootstrap(groups, draws, seed)])
    varies = [bool(_varies(scores[..., b])) for b in range(m)]
    pairs = list(combinations(range(m), 2))
    first, second = np.triu_indices(m, 1)
    if np.isfinite(scores).all():
        r = _every_two(scores, group, weight, w, over)
        r[:, [not (varies[i] and varies[j]) for i, j in pairs]] = np.nan
    else:
        r = np.full((len(w), len(pairs)), np.nan)
        for p, (i, j) in enumerate(pairs):
            if varies[i] and varies[j]:
                r[:, p] = _correlations(scores[..., i], scores[..., j], group, weight, w, over)
    told = np.isfinite(r[0])
    r[1:][~np.isfinite(r[1:]) & told] = 0.0
    limits = _Limits(level, units)

    def wide(values: Array) -> Array:
        full = np.full((m, m), np.nan)
        full[first, second] = full[second, first] = values
        return full

    low, high = (wide(x) for x in limits(r, max(int(told.sum()), 1)))
    mean = _mean(r, told)
    mean_low, mean_high = (float(x[0]) for x in limits(mean))
    judges = np.arange(m)[:, None]
    has = ((judges == first) | (judges == second)) & told
    own = np.stack([r[:, h].mean(1) if h.any() else np.full(len(r), np.nan) for h in has], axis=1)
    own_low, own_high = limits(own)
    across: tuple[float, float, float] | None = None
    if makers is not None and (other := told & np.array([makers[i] != makers[j] for i, j in pairs], dtype=bool)).any():
        apart = _mean(r, other)
        across = (float(apart[0, 0]), *(float(x[0]) for x in limits(apart)))  # type: ignore[assignment]
    constant = tuple(b for b in range(m) if not varies[b])
    groups_, alone = _fall_apart(low, high, [b for b in range(m) if varies[b]], max(0.2, float(mean[0, 0])))
    panel = [_spearman_brown(x, m - len(constant)) for x in (float(mean[0, 0]), mean_low, mean_high)]
    return Agreement(
        r=float(mean[0, 0]),
        r_low=mean_low,
        r_high=mean_high,
        reliability=panel[0],
        reliability_low=panel[1],
        reliability_high=panel[2],
        pairs=wide(r[0]),
        pairs_low=low,
        pairs_high=high,
        own=own[0],
        own_low=own_low,
        own_high=own_high,
        constant=constant,
        odd=() if groups_ else _odd(r, has, told, limits),
        groups=groups_,
        alone=alone,
        makers=across,
        over=over,
        rows=rows,
    )


def _varies(x: Array) -> bool:
    """Whether a judge gives more than one score."""
    seen = x[np.isfinite(x)]
    return len(seen) > 0 and float(np.ptp(seen)) > 1e-9 * max(float(np.abs(seen).max()), 1e-300)


def _correlations(a: Array, b: Array, group: NDArray[np.int64], weight: Array, w: Array, over: str) -> Array:
    """Correlation of two judges (rows, systems, languages) for each weighting w (draws, groups) of groups of units."""
    both = np.isfinite(a) & np.isfinite(b)
    a, b = np.where(both, a, 0.0), np.where(both, b, 0.0)
    if over == "systems":
        number = np.maximum(both.sum(1, keepdims=True), 1)
        tiny = 1e-12 * max(np.abs(a).max(), np.abs(b).max())  # rounding is no difference
        a, b = (np.where(both, x - x.sum(1, keepdims=True) / number, 0.0) for x in (a, b))
        a, b = (np.where(np.abs(x) > tiny, x, 0.0) for x in (a, b))
        part = [x * y for x, y in ((a, b), (a, a), (b, b))]
        more = weight.mean() - 1
        if more:  # a row that is the mean of several tasks has less noise, and the whole difference between systems
            there = np.maximum(np.einsum("t,tsl->sl", weight, both), 1e-300)
            ma, mb = (np.where(both, x - np.einsum("t,tsl->sl", weight, x) / there, 0.0) for x in (a, b))
            part = [p + more * x * y for p, x, y in zip(part, (ma, ma, mb), (mb, ma, mb), strict=True)]
        ab, aa, bb = (w @ np.bincount(group, weight * x.sum((1, 2)), minlength=w.shape[1]) for x in part)
    else:
        held = weight[:, None] * both[:, 0]
        a, b = a[:, 0], b[:, 0]

        def sums(x: Array) -> Array:
            columns = [np.bincount(group, x[:, i], minlength=w.shape[1]) for i in range(x.shape[1])]
            return w @ np.stack(columns, axis=1)

        n, sa, sb = np.maximum(sums(held), 1e-300), sums(held * a), sums(held * b)
        ab, aa, bb = (
            (sums(held * x * y) - p * q / n).sum(1) for x, y, p, q in ((a, b, sa, sb), (a, a, sa, sa), (b, b, sb, sb))
        )
    return _ratio(ab, aa, bb, float((a**2).sum() + (b**2).sum()))


def _ratio(ab: Array, aa: Array, bb: Array, square: float | Array) -> Array:
    """Correlations; NaN where nothing is left of the squares."""
    size = np.sqrt(np.maximum(aa, 0.0) * np.maximum(bb, 0.0))
    least = 1e-12 * np.maximum(square, 1e-300)
    return np.divide(ab, size, out=np.full_like(ab, np.nan), where=size > least)


def _every_two(scores: Array, group: NDArray[np.int64], weight: Array, w: Array, over: str) -> Array:
    """The correlations of every two judges (draws, pairs) of a complete panel, many at once."""
    order = np.argsort(group, kind="stable")
    scores, group, weight = scores[order], group[order], weight[order]
    x = scores - scores.mean(1, keepdims=True) if over == "systems" else scores
    x = np.where(np.abs(x) > 1e-12 * np.abs(scores).max(), x, 0.0)  # rounding is no difference
    layers = [(1.0, x.reshape(len(x), -1, x.shape[3]))]
    if over == "systems" and (more := weight.mean() - 1):  # as for two judges
        layers.append((more, (x - np.average(x, axis=0, weights=weight)).reshape(layers[0][1].shape)))
    n = np.maximum(w @ np.bincount(group, weight, minlength=w.shape[1]), 1e-300)[:, None]

    def total(v: Array) -> Array:
        return w @ sum_by(v * weight[:, None], group, w.shape[1])

    means = [total(y) for y in x[:, 0].swapaxes(0, 1)] if over == "tasks" else []  # sums of each language

    def cross(a: NDArray[np.int64], b: NDArray[np.int64]) -> Array:
        found = sum(f * total(np.einsum("tcp,tcp->tp", y[..., a], y[..., b])) for f, y in layers)
        return np.asarray(found - sum(y[:, a] * y[:, b] / n for y in means))

    (i, j), every = np.triu_indices(x.shape[3], 1), np.arange(x.shape[3])
    own, square = cross(every, every), (x**2).sum((0, 1, 2))
    r = np.empty((len(w), len(i)))
    for at in chunks(len(i), max(2 * x[..., 0].size, 40 * len(w))):  # draws that fit the cache
        a, b = i[at], j[at]
        r[:, at] = _ratio(cross(a, b), own[:, a], own[:, b], square[a] + square[b])
    return r


class _Limits:
    """Intervals of correlations from a bootstrap (row 0 is the estimate), on the scale of Fisher's z."""

    def __init__(self, level: float, units: int) -> None:
        self.level, self.units = level, units

    def quantile(self, together: int = 1) -> float:
        """Of Student's t."""
        if self.units < FEWEST:
            return float("nan")
        return float(stdtrit(self.units - 1, 1 - (1 - self.level) / 2 / together))

    def __call__(self, r: Array, together: int = 1) -> tuple[Array, Array]:
        ends = np.empty((2, r.shape[1]))
        for at in chunks(r.shape[1], 40 * len(r)):
            z = np.arctanh(np.clip(r[:, at], -0.9999999, 0.9999999))
            half = self.quantile(together) * z[1:].std(0, ddof=1)
            ends[:, at] = np.tanh(z[0] - half), np.tanh(z[0] + half)
        return ends[0], ends[1]


def _mean(r: Array, pairs: NDArray[np.bool_]) -> Array:
    """Mean over some pairs (draws, 1); NaN where there are none."""
    return r.mean(1, keepdims=True, where=pairs) if pairs.any() else np.full((len(r), 1), np.nan)


def _spearman_brown(r: float, judges: int) -> float:
    """Reliability of the mean of so many judges; none is less than 0."""
    return float(judges * max(r, 0.0) / (1 + (judges - 1) * max(r, 0.0))) if np.isfinite(r) else float("nan")


def _odd(r: Array, has: NDArray[np.bool_], told: NDArray[np.bool_], limits: _Limits) -> tuple[int, ...]:
    """Judges that surely agree less with the rest than the others do among themselves."""
    judges = [b for b in range(len(has)) if has[b].any() and (told & ~has[b]).any()]
    if len(judges) < 3:
        return ()
    whole, number = r.sum(1, where=told), int(told.sum())
    gap = np.empty((len(r), len(judges)))
    for at, b in enumerate(judges):
        own, size = r[:, has[b]].sum(1), int(has[b].sum())
        gap[:, at] = own / size - (whole - own) / (number - size)
    high = gap[0] + limits.quantile(len(judges)) * gap[1:].std(0, ddof=1)
    return tuple(b for b, x in zip(judges, high, strict=True) if x < -ODD)


def _fall_apart(
    low: Array, high: Array, judges: list[int], little: float
) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
    """Groups joined by pairs that surely agree, and judges alone, where all pairs across them agree little."""
    part = {b: b for b in judges}
    for i, j in combinations(judges, 2):
        if low[i, j] > NEAR and part[i] != part[j]:
            part = {b: part[i] if p == part[j] else p for b, p in part.items()}
    found = [tuple(b for b in judges if part[b] == p) for p in sorted(set(part.values()))]
    across = [high[i, j] for i, j in combinations(judges, 2) if part[i] != part[j]]
    groups = tuple(x for x in found if len(x) > 1)
    if len(found) < 2 or not groups or not all(x < little for x in across):
        return (), ()
    return groups, tuple(x[0] for x in found if len(x) == 1)
