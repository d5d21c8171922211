"""What the length and the position of answers do to scores, from arrays (docs/methods.md, section 25); and intervals
from what each cluster of tasks adds to the error of an estimate.

A margin is that of the answer shown first over the second: 1 won, 0 tie, -1 lost.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from polyjudge.second.estimate.incomplete import sum_clusters
from polyjudge.second.estimate.resample import holm
from polyjudge.second.panel.arrays import Array, mean_there
from polyjudge.second.panel.fill import fill_systems
from polyjudge.second.panel.labels import ALL
from polyjudge.second.panel.shown import Codes, Shown

FEW = 2
"""A stratum (cell, pair and order) of orders that stand on different tasks needs so many verdicts."""


def spread(added: Array, clusters: NDArray[np.int64] | int, least: Array | float = 0.0) -> Array:
    """Standard errors from what clusters add. `least`: half the range of a value; two clusters that were not drawn, at
    both ends of it, count too, so that values without any spread are not taken as certain."""
    g = np.maximum(clusters, 1)
    return np.sqrt(g / np.maximum(g - 1, 1) * (added**2).sum(axis=0) + 2 * (least / (g + 2)) ** 2)


def cluster_codes(cluster: NDArray[np.int64]) -> NDArray[np.int64]:
    """Clusters numbered without a gap."""
    return np.unique(cluster, return_inverse=True)[1].ravel()


def two_boards(systems: tuple[str, ...], name: str, plain: Any, other: Any, level: float) -> pd.DataFrame:
    """Means of systems as they are and in another light (`name`), each given with what clusters add, (s,) and (g, s):
    system, mean, low, high, rank; {name}, {name}_low, {name}_high, {name}_rank; top_set, those that may be best in that
    light (Bonferroni over every two)."""
    out: dict[str, Any] = {"system": systems}
    for title, prefix, (mean, added) in (("mean", "", plain), (name, f"{name}_", other)):
        g = len(added)
        half = stdtrit(g - 1, (1 + level) / 2) * spread(added, g)
        out |= {title: mean, f"{prefix}low": mean - half, f"{prefix}high": mean + half}
        out[f"{prefix}rank"] = pd.Series(-mean).rank(method="min").astype(int).to_numpy()
    mean, added = other
    best, g = int(np.argmax(mean)), len(added)
    pairs = len(systems) * (len(systems) - 1) / 2  # the best is picked by the data: every two may be those compared
    wide = stdtrit(g - 1, 1 - (1 - level) / 2 / max(pairs, 1)) * spread(added[:, [best]] - added, g)
    out["top_set"] = mean[best] - mean <= wide
    return pd.DataFrame(out).sort_values(f"{name}_rank", kind="stable", ignore_index=True)


def judges_first(frame: pd.DataFrame, level: float, cells: bool = False) -> pd.DataFrame:
    """A table of languages and judges with "(all)" of each: judges over all languages first, then cells; what is over
    all of one language or one judge is said once. Column p becomes Holm's over the judges, with `cells` over their
    cells too; and `clear` says where it is small."""
    if frame["judge"].nunique() == 2:
        frame = frame[frame["judge"] != ALL]
    if frame["language"].nunique() == 2:
        frame = frame[frame["language"] == ALL]
    tested = ((frame["judge"] != ALL) & (cells | (frame["language"] == ALL))).to_numpy()
    p = np.where(tested, frame["p"].to_numpy(float), np.nan)
    p[tested] = holm(p[tested])
    frame = frame.assign(p=p, clear=np.nan_to_num(p, nan=1.0) <= 1 - level)
    order = np.lexsort([frame["language"] != ALL, frame["judge"] == ALL])
    return frame.iloc[order].reset_index(drop=True)


# --- length ---


class Slopes(NamedTuple):
    """Slope of scores on log length in each cell, (k, m), NaN where lengths do not vary; what clusters add to its
    error, (g, k, m); clusters that tell about it, (k, m); log lengths less the task's mean over systems, (n, s, k, m),
    NaN where a score or a length is missing."""

    slope: Array
    added: Array
    clusters: NDArray[np.int64]
    length: Array


def slopes(scores: Array, logs: Array, weights: Array, cluster: NDArray[np.int64]) -> Slopes:
    """Least squares within tasks: scores (n, s, k, m) and log lengths (n, s, k), both less their mean over systems."""
    there = ~np.isnan(scores) & ~np.isnan(logs)[..., None]
    there &= there.sum(axis=1, keepdims=True) > 1
    x = np.where(there, logs[..., None], np.nan)
    y = np.where(there, scores, np.nan)
    x, y = x - mean_there(x, 1, keepdims=True), y - mean_there(y, 1, keepdims=True)
    w = weights[:, None, None]
    top = sum_clusters(np.nansum(x * y, axis=1) * w, cluster)
    size = sum_clusters(np.nansum(x**2, axis=1) * w, cluster)
    total = size.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = np.where(total > 1e-12, top.sum(axis=0) / total, np.nan)
        # A task with much of the variation in length draws the slope to itself: its residual counts for more (CR3).
        added = (top - slope * size) / total / np.maximum(1 - size / total, 1e-3)
    return Slopes(slope, np.nan_to_num(added), np.asarray((size > 1e-12).sum(axis=0), np.int64), x)


def at_equal_length(
    scores: Array, found: Slopes, weights: Array, cluster: NDArray[np.int64]
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Means of systems as they are, (s,), and what clusters add to their error, (g, s); and the same if every slope
    held and all answers to a task were as long as their mean."""
    filled = fill_systems(scores, weights)
    slope, x = np.nan_to_num(found.slope), np.nan_to_num(found.length)
    equal, equal_added = _mean(filled - slope * x, weights, cluster)
    # The error of a slope reaches a system by how much longer its answers are.
    longer = np.tensordot(weights / weights.sum(), x, axes=(0, 0))  # (s, k, m)
    reach = found.added.reshape(len(found.added), -1) @ longer.reshape(len(longer), -1).T / slope.size
    return _mean(filled, weights, cluster), (equal, equal_added - reach)


def _mean(values: Array, weights: Array, cluster: NDArray[np.int64]) -> tuple[Array, Array]:
    """Mean over tasks, languages and judges of each system, and what clusters add to its error."""
    by_task = mean_there(values, (2, 3))
    known = np.where(np.isnan(by_task), 0.0, weights[:, None])
    mean = (np.nan_to_num(by_task) * known).sum(axis=0) / known.sum(axis=0)
    off = np.nan_to_num(by_task - mean) * known / known.sum(axis=0)
    return mean, sum_clusters(off, cluster)


# --- position ---


class Lean(NamedTuple):
    """The first place in each of c cells.

    margin : (c,) mean margin, NaN where it is not known
    added : (g, c) what each cluster adds to its error
    clusters : (c,) clusters behind it; of the rarer order, where no task has both
    same, same_added : (c,), (g, c) share of pairs with one winner in both orders, and what clusters add to its error
    paired : both orders were asked of the same task
    """

    margin: Array
    added: Array
    clusters: NDArray[np.int64]
    same: Array
    same_added: Array
    paired: bool


def lean(shown: Shown, weights: Array, cluster: Codes, cells: int, judges: int) -> Lean:
    """The preference for the first place, cell by cell. By tasks that have a pair in both orders, where there are any;
    else by pairs whose orders stand on different tasks, which needs an order drawn by chance."""
    cell = shown.language * judges + shown.judge
    # Every row: its unit, cell, pair and order.
    low, high = np.minimum(shown.first, shown.second), np.maximum(shown.first, shown.second)
    pair, turned = low * len(shown.systems) + high, (shown.first > shown.second).astype(np.int64)
    weight = weights[shown.unit]
    groups = int(cluster.max()) + 1
    key = np.unique(np.stack([shown.unit, cell, pair], axis=1), axis=0, return_inverse=True)[1].ravel()
    both = np.full((2, int(key.max(initial=-1)) + 1), np.nan)
    at = np.zeros(both.shape[1], np.int64)
    both[turned, key] = shown.margin
    at[key] = np.arange(len(key))
    there = ~np.isnan(both).any(axis=0)
    if there.any():
        rows = at[there]
        mean = both[:, there].mean(axis=0)
        same = (np.abs(both[:, there].sum(axis=0)) < 1e-9).astype(float)
        where = (cell[rows], weight[rows], cluster[shown.unit[rows]])
        margin, added, count = _means(mean, *where, cells, groups)
        if (weights > 1).any():  # a unit of several tasks has a mean, and no winner
            same = np.full_like(same, np.nan)
        return Lean(margin, added, count, *_means(same, *where, cells, groups)[:2], True)
    found = _apart(shown.margin, (cell, pair, turned), weight, cluster[shown.unit], cells, groups)
    return Lean(*found, np.full(cells, np.nan), np.zeros((groups, cells)), False)


def _means(
    values: Array, cell: Codes, weight: Array, cluster: Codes, cells: int, groups: int
) -> tuple[Array, Array, NDArray[np.int64]]:
    """Weighted mean in each cell, what each cluster adds to its error, and the clusters behind it."""
    total = np.bincount(cell, weight, cells)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(cell, weight * values, cells) / total
        part = (values - mean[cell]) * weight / total[cell]
    added = _to_clusters(part, cell, cluster, cells, groups)
    return mean, added, _count(cell, cluster, cells, groups)


def _apart(
    margin: Array, strata: tuple[Codes, Codes, Codes], weight: Array, cluster: Codes, cells: int, groups: int
) -> tuple[Array, Array, NDArray[np.int64]]:
    """The same from orders on different tasks: in each cell and pair the mean of the means of both orders, pairs
    weighted by what they tell."""
    cell, pair, turned = strata
    key = np.unique(np.stack([cell, pair], axis=1), axis=0, return_inverse=True)[1].ravel()
    size = int(key.max(initial=-1)) + 1
    at, shape = turned * size + key, (2, size)
    count = np.bincount(at, minlength=2 * size).reshape(shape)
    total = np.bincount(at, weight, 2 * size).reshape(shape)
    enough: NDArray[np.bool_] = np.asarray((count >= FEW).all(axis=0))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(at, weight * margin, 2 * size).reshape(shape) / total
        tells = np.where(enough, total.prod(axis=0) / total.sum(axis=0), 0.0)
    of = np.zeros(size, np.int64)
    of[key] = cell
    whole = np.bincount(of, tells, cells)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.bincount(of, tells * np.where(enough, mean.mean(axis=0), 0.0), cells) / whole
        # A stratum's own mean takes up part of its spread.
        scale = np.sqrt(count / np.maximum(count - 1, 1)) * tells / (2 * total * whole[of])
    used = enough[key]
    part = np.where(used, (margin - mean.ravel()[at]) * weight * scale.ravel()[at], 0.0)
    added = _to_clusters(part, cell, cluster, cells, groups)
    # No more is known than the rarer order tells.
    rarer = [_count(cell[at], cluster[at], cells, groups) for at in (used & (turned == x) for x in (0, 1))]
    return np.where(whole > 0, value, np.nan), added, np.minimum(*rarer)


def _to_clusters(part: Array, cell: Codes, cluster: Codes, cells: int, groups: int) -> Array:
    return np.bincount(cluster * cells + cell, part, groups * cells).astype(float).reshape(groups, cells)


def _count(cell: Codes, cluster: Codes, cells: int, groups: int) -> NDArray[np.int64]:
    there = np.bincount(cluster * cells + cell, minlength=groups * cells).reshape(groups, cells) > 0
    return np.asarray(there.sum(axis=0), np.int64)


def balance(
    shown: Shown, known: Lean, weights: Array, cluster: Codes, judges: int
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Mean margin of each of s systems as the verdicts are, and what clusters add to its error, (g, s); and the same
    with both orders in balance: every verdict less what the first place is worth in its cell. Where all pairs stand in
    both orders nothing changes."""
    s, groups = len(shown.systems), int(cluster.max()) + 1
    cell = np.concatenate([shown.language * judges + shown.judge] * 2)
    system = np.concatenate([shown.first, shown.second])
    sign = np.repeat([1.0, -1.0], len(shown.unit))
    weight, of = np.tile(weights[shown.unit], 2), np.tile(cluster[shown.unit], 2)
    margin = sign * np.tile(shown.margin, 2)
    shift = np.nan_to_num(known.margin)
    plain = _means(margin, system, weight, of, s, groups)[:2]
    taken, taken_added, _ = _means(margin - sign * shift[cell], system, weight, of, s, groups)
    # How much of each cell's preference a system got: its error is part of the system's.
    total = np.bincount(system, weight, s)
    share = np.bincount(system * len(shift) + cell, weight * sign, s * len(shift)).reshape(s, -1)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.nan_to_num(share / total[:, None])
    return plain, (taken, taken_added - np.nan_to_num(known.added) @ share.T)
