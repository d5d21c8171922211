"""Array mathematics shared by calibration and analysis. Pure functions on numpy arrays, no labels.

Shapes: n units (tasks), k languages, m judges, R resamples. A matrix of cells is (..., k, m).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from polyjudge.second.panel.arrays import Array, mean_there

BLOCK = 64
"""Resamples are made and multiplied in blocks of this many, whatever the memory cap, so that every
matrix product has the same shape and the result does not depend on how the work is cut up."""
CHUNK = 4_000_000
"""Numbers of one temporary array (32 MB) where there may be any number of them."""
SMALL = 100_000
"""A block of draws of up to this many numbers is counted all at once ..."""
KEPT = 200_000
"""... and of up to this many it is kept for the next who asks; its counts, at most KEPT / BLOCK, as short integers."""


def double_centre(cells: Array) -> Array:
    """Subtract language and judge means of the last two axes and add the grand mean: DC of docs/methods.md, section 2.

    >>> double_centre(np.array([[1.0, 2.0], [3.0, 8.0]]))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    rows: Array = cells - cells.mean(axis=-1, keepdims=True)
    rows -= rows.mean(axis=-2, keepdims=True)
    return rows


@lru_cache(maxsize=64)
def pair_index(size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First and second member of every pair out of `size` things. Do not write to them: they are shared."""
    i, j = np.triu_indices(size, 1)
    return i, j


def pair_chunks(size: int, each: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """`pair_index` in parts, so that `each` numbers for every pair of a part are about `CHUNK` together."""
    step = max(1, CHUNK // max(each, 1))
    if size * (size - 1) // 2 <= step:
        yield pair_index(size)
        return
    first = 0
    while first < size - 1:
        last = min(size - 1, first + max(1, step // (size - 1 - first)))
        rows = np.arange(first, last)
        i = np.repeat(rows, size - 1 - rows)
        j = np.concatenate([np.arange(r + 1, size) for r in rows])
        yield i, j
        first = last


def order_signs(cells: Array, gap: float) -> NDArray[np.float32]:
    """Sign of every judge pair's difference, with the tie rule: (..., k, m) -> (..., k, m(m-1)/2) of -1, 0, 1."""
    i, j = pair_index(cells.shape[-1])
    diff = cells[..., i] - cells[..., j]
    return (diff > gap).astype(np.float32) - (diff < -gap).astype(np.float32)


def kendall_tau(cells: Array, gap: float) -> Array:
    """Kendall's tau-b between the judge values of every two languages: (..., k, m) -> (..., k, k).

    An entry is NaN where one of the two languages ties all judges. `gap` is the tie rule of `tie_gap`.
    """
    k, m = cells.shape[-2:]
    flat = cells.reshape(-1, k, m)
    step = max(1, 4 * CHUNK // max(1, k * m * (m - 1) // 2))
    parts = []
    for start in range(0, len(flat), step):
        signs = order_signs(flat[start : start + step], gap)
        parts.append(_tau_of_signs(signs, signs))
    return np.concatenate(parts).reshape(*cells.shape[:-2], k, k)


def cross_tau(rows: Array, others: Array, gap: float) -> Array:
    """Kendall's tau-b of each row with each of the others: (..., p, m) and (..., q, m) -> (..., p, q)."""
    return _tau_of_signs(order_signs(rows, gap), order_signs(others, gap))


def _tau_of_signs(a: NDArray[np.float32], b: NDArray[np.float32]) -> Array:
    agree = (a @ np.swapaxes(b, -1, -2)).astype(np.float64)
    decided = [np.sqrt(np.einsum("...p,...p->...", s, s, dtype=np.float64)) for s in (a, b)]
    scale = decided[0][..., :, None] * decided[1][..., None, :]
    out: Array = np.where(scale > 0, agree / np.where(scale > 0, scale, 1.0), np.nan)
    return np.clip(out, -1.0, 1.0)


def mean_tau(cells: Array, gap: float) -> Array:
    """Mean tau over the k(k-1)/2 language pairs, undefined pairs dropped, 0 where none is defined: -> (...)."""
    a, b = pair_index(cells.shape[-2])
    return mean_of_pairs(kendall_tau(cells, gap)[..., a, b])


def mean_of_pairs(pairs: Array) -> Array:
    """Mean over the last axis of what is defined (not NaN), 0 where nothing is."""
    return np.nan_to_num(mean_there(pairs, -1))


def draw_blocks(
    units: int, resamples: int, seed: int, cluster: NDArray[np.int64] | None = None
) -> Iterator[NDArray[np.int64]]:
    """Bootstrap multiplicities in blocks of `BLOCK` resamples: yields (b, units) counts.

    cluster : (units,) index of each unit's cluster. Whole clusters are drawn, as many as there are; without it units.

    Block i has its own random stream, so blocks can be made in any order and on any number of threads.
    """
    for start in range(0, resamples, BLOCK):
        size = min(BLOCK, resamples - start)
        yield draw_block(units, size, seed, start // BLOCK, cluster)


def draw_block(
    units: int,
    size: int,
    seed: int,
    index: int,
    cluster: NDArray[np.int64] | None = None,
    strata: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """The multiplicities of one block: (size, units). Row r of block i does not depend on `size`.

    strata : (units,) codes of groups of units. Each is drawn for itself, so that none runs empty
    """
    if strata is not None:
        out = np.zeros((size, units), np.int64)
        for stratum in np.unique(strata):
            at = np.flatnonzero(strata == stratum)
            own = np.unique(at if cluster is None else cluster[at], return_inverse=True)[1]
            out[:, at] = _draw_block(len(at), size, seed, index, own, int(stratum))
        return out
    alone = cluster is None or np.array_equal(cluster, np.arange(units))
    if alone and size <= BLOCK and units * BLOCK <= KEPT:
        return _kept_block(units, seed, index)[:size].astype(np.int64)
    return _draw_block(units, size, seed, index, cluster)


@lru_cache(maxsize=64)
def _kept_block(units: int, seed: int, index: int) -> NDArray[np.int16]:
    """The analyses of one audit draw the same blocks: one draw serves them all."""
    return _draw_block(units, BLOCK, seed, index, None).astype(np.int16)


def _draw_block(
    units: int, size: int, seed: int, index: int, cluster: NDArray[np.int64] | None, *more: int
) -> NDArray[np.int64]:
    rng = np.random.default_rng([seed, index, *more])
    drawn = units if cluster is None else int(cluster.max()) + 1
    counts = rng.integers(drawn, size=(size, drawn))
    if counts.size <= SMALL:
        counts += drawn * np.arange(size)[:, None]
        counts = np.bincount(counts.ravel(), minlength=size * drawn).reshape(size, drawn)
    else:
        for row in counts:  # in their own place: with many units a second array would count
            row[:] = np.bincount(row, minlength=drawn)
    return counts if drawn == units else counts[:, cluster]


def stream(seed: int, index: int, name: str = "") -> np.random.Generator:
    """The random stream of one user in one block: it does not depend on what else runs, or in which order."""
    return np.random.default_rng([seed, index, 1 + zlib.crc32(name.encode())])


def tie_runs(ordered: Array, gap: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First and last position of the run of ties each value stands in; values are sorted along the last axis.

    Neighbours no further apart than `gap` are in the same run.
    """
    m = ordered.shape[-1]
    edge = np.ones((*ordered.shape[:-1], 1), bool)
    apart = np.abs(np.diff(ordered, axis=-1)) > gap
    position = np.arange(m)
    first = np.maximum.accumulate(np.where(np.concatenate([edge, apart], axis=-1), position, 0), axis=-1)
    ends = np.where(np.concatenate([apart, edge], axis=-1), position, m)
    last = np.flip(np.minimum.accumulate(np.flip(ends, axis=-1), axis=-1), axis=-1)
    return first, last


def ranks(values: Array, gap: float) -> Array:
    """Rank 1 is the largest value along the last axis; values in a chain of gaps under `gap` share their mean rank."""
    order = np.argsort(-values, axis=-1, kind="stable")
    first, last = tie_runs(np.take_along_axis(values, order, axis=-1), gap)
    out = np.empty(values.shape)
    np.put_along_axis(out, order, (first + last) / 2 + 1, axis=-1)
    return out
