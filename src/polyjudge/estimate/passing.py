"""How many units pass a threshold in each cell, for many resamplings and thresholds at once.

Comparing every score anew costs scores x resamples x thresholds. Here the scores of each cell are sorted once, the
thresholds of a block of resamplings cut them into runs, and one sparse product counts every run in every resampling.
Few units in many cells are quicker compared.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from polyjudge.core.arrays import Array

FEW = 64
"""Up to this many units their scores are compared with the thresholds one by one."""
CHUNK = 200_000
"""Comparisons made at once: what stays in the processor's cache."""


class Passing:
    """Sorted scores of every cell.

    scores : (n, c), NaN where missing
    column : (n,) which of the g things that are drawn each unit belongs to
    weights : (n,) what a unit counts
    kinds : (n,) units are counted apart by kind; all of one kind without it
    """

    def __init__(
        self, scores: Array, column: NDArray[np.int64], weights: Array, kinds: NDArray[np.int64] | None = None
    ) -> None:
        n, cells = scores.shape
        self.scores, self.column, self.weights = scores, column.astype(np.int32), weights
        kind = np.zeros(n, np.int64) if kinds is None else kinds
        size = np.bincount(kind)
        self.starts = np.cumsum(size) - size
        self.few = n <= FEW and len(size) == 1
        self.cells = cells
        if self.few:
            return
        self.order = np.empty((cells, n), np.int32)
        ends = []
        for c in range(cells):
            self.order[c] = np.lexsort((scores[:, c], kind))  # what is missing comes last in its kind
            ends.append(self.starts + np.bincount(kind, ~np.isnan(scores[:, c]), len(size)).astype(np.int64))
        self.ends = np.array(ends)

    def __call__(self, thresholds: Array, times: Array) -> Array:
        """Units above their cell's threshold: thresholds (R, e, c), times (S, R, g) -> (S, R, e, kinds, c).

        times : how often each drawn thing counts, for S sides (drawn, left out) of each resampling
        """
        if self.few:
            return self._compared(thresholds, times)
        sides, draws, g = times.shape
        right = np.ascontiguousarray(times.reshape(sides * draws, g).T, dtype=np.float64)
        out = np.empty((sides, draws, thresholds.shape[1], len(self.starts), len(self.order)))
        for c, order in enumerate(self.order):
            ordered, ends = self.scores[order, c], self.ends[c]
            wanted = thresholds[:, :, c]
            places = np.stack(
                [s + np.searchsorted(ordered[s:e], wanted, "right") for s, e in zip(self.starts, ends, strict=True)]
            )
            cuts = np.unique(np.concatenate([places.ravel(), self.starts, ends]))
            runs = csr_array(
                (self.weights[order[: cuts[-1]]], self.column[order[: cuts[-1]]], cuts.astype(np.int32)),
                shape=(len(cuts) - 1, g),
            )
            below = np.zeros((len(cuts), sides * draws))
            np.cumsum(np.asarray(runs @ right), axis=0, out=below[1:])
            below = below.reshape(-1, sides, draws)
            at = np.searchsorted(cuts, places)[:, None]  # (kinds, 1, R, e)
            side, draw = np.arange(sides)[:, None, None], np.arange(draws)[:, None]
            passed = below[np.searchsorted(cuts, ends)][..., None] - below[at, side, draw]
            out[..., c] = np.moveaxis(passed, 0, -1)
        return out

    def _compared(self, thresholds: Array, times: Array) -> Array:
        """The same for few units of one kind: a matrix product of their marks."""
        sides, draws, _ = times.shape
        edges = thresholds.shape[1]
        out = np.empty((sides, draws, edges, 1, self.cells))
        counts = (times[:, :, self.column] * self.weights).transpose(1, 0, 2)  # (R, S, n)
        step = max(1, CHUNK // (draws * edges * len(self.scores)))
        for start in range(0, self.cells, step):
            part = slice(start, start + step)
            marks = (self.scores[:, None, part] > thresholds[:, None, :, part]).astype(np.float64)
            passed = counts @ marks.reshape(draws, len(self.scores), -1)
            out[:, :, :, 0, part] = passed.reshape(draws, sides, edges, -1).transpose(1, 0, 2, 3)
        return out


class Grouped:
    """Sorted scores of every cell, units counted by groups: those that are drawn together and lack the same scores.

    scores : (n, c), NaN where missing; column : (n,) what is drawn; kinds : (n,) which scores are missing
    """

    def __init__(self, scores: Array, column: NDArray[np.int64], kinds: NDArray[np.int64]) -> None:
        key = column * (int(kinds.max()) + 1) + kinds
        _, self.first, group = np.unique(key, return_index=True, return_inverse=True)
        self.drawn = column[self.first]
        self.cells = []
        for values in scores.T:
            order = np.argsort(values, kind="stable")[: int((~np.isnan(values)).sum())]
            self.cells.append((values[order], group[order]))

    def __call__(self, cell: int, thresholds: Array) -> Array:
        """(R, e, g) units of each group above their cell's threshold: thresholds (R, e)."""
        values, group = self.cells[cell]
        size = len(self.first)
        cuts, at = np.unique(np.searchsorted(values, thresholds, "right"), return_inverse=True)
        run = np.searchsorted(cuts, np.arange(len(values)), "right")
        counts = np.bincount(run * size + group, minlength=(len(cuts) + 1) * size).reshape(-1, size)
        above = np.cumsum(counts[:0:-1], axis=0)[::-1].astype(np.float64)  # of all runs from a cut on
        return above[at].reshape(*thresholds.shape, size)
