"""How far verdicts on pairs follow the position of the answers, from arrays. See docs/methods.md, section 25.

A margin is that of the answer shown first over the second: 1 won, 0 tie, -1 lost.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyjudge.panel.arrays import Array
from polyjudge.panel.shown import Codes, Shown

FEW = 2
"""A stratum (cell, pair and order) of orders that stand on different tasks needs so many verdicts."""


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
