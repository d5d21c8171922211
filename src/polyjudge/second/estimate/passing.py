"""How many units pass a threshold in each cell, for many resamplings and thresholds at once.

Comparing every score anew costs scores x resamples x thresholds. Here the scores of each cell are sorted once, the
thresholds of a block of resamplings cut them into runs, and one sparse product counts every run in every resampling.
Few units in many cells are quicker compared.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from polyjudge.second.panel.arrays import AT_ONCE, Array

FEW = 64
"""Up to this many units their scores are compared with the thresholds one by one."""
CHUNK = 200_000
"""Comparisons made at once: what stays in the processor's cache."""


class Passing:
    """Sorted scores of every cell.

    scores : (n, c)
    column : (n,) which of the g things that are drawn each unit belongs to
    weights : (n,) what a unit counts
    """

    def __init__(self, scores: Array, column: NDArray[np.int64], weights: Array) -> None:
        n, self.cells = scores.shape
        self.scores, self.column, self.weights = scores, column.astype(np.int32), weights
        self.few = n <= FEW
        if self.few:
            return
        self.order = np.empty((self.cells, n), np.int32)
        for c in range(self.cells):
            self.order[c] = np.argsort(scores[:, c], kind="stable")

    def __call__(self, thresholds: Array, times: Array) -> Array:
        """Units above their cell's threshold: thresholds (R, e, c), times (S, R, g) -> (S, R, e, c).

        times : how often each drawn thing counts, for S sides (drawn, left out) of each resampling
        """
        if self.few:
            return self._compared(thresholds, times)
        from scipy.sparse import csr_array

        sides, draws, g = times.shape
        right = np.ascontiguousarray(times.reshape(sides * draws, g).T, dtype=np.float64)
        out = np.empty((sides, draws, thresholds.shape[1], self.cells))
        for c, order in enumerate(self.order):
            places = np.searchsorted(self.scores[order, c], thresholds[:, :, c], "right")
            cuts = np.unique(np.concatenate([places.ravel(), [0, len(order)]]))
            runs = csr_array((self.weights[order], self.column[order], cuts.astype(np.int32)), shape=(len(cuts) - 1, g))
            below = np.zeros((len(cuts), sides * draws))
            np.cumsum(np.asarray(runs @ right), axis=0, out=below[1:])
            below = below.reshape(-1, sides, draws)
            side, draw = np.arange(sides)[:, None, None], np.arange(draws)[:, None]
            out[..., c] = below[-1][..., None] - below[np.searchsorted(cuts, places)[None], side, draw]
        return out

    def _compared(self, thresholds: Array, times: Array) -> Array:
        """The same for few units: a matrix product of their marks."""
        sides, draws, _ = times.shape
        edges = thresholds.shape[1]
        out = np.empty((sides, draws, edges, self.cells))
        counts = (times[:, :, self.column] * self.weights).transpose(1, 0, 2)  # (R, S, n)
        step = max(1, CHUNK // (draws * edges * len(self.scores)))
        for start in range(0, self.cells, step):
            part = slice(start, start + step)
            marks = (self.scores[:, None, part] > thresholds[:, None, :, part]).astype(np.float64)
            passed = counts @ marks.reshape(draws, len(self.scores), -1)
            out[..., part] = passed.reshape(draws, sides, edges, -1).transpose(1, 0, 2, 3)
        return out


class Moved:
    """Sorted scores of every cell, and the units whose mark changes when its threshold moves: few, for a short way.

    scores : (n, c), NaN where missing
    """

    def __init__(self, scores: Array) -> None:
        self.scores, self.order = scores, np.argsort(scores, axis=0).astype(np.int32)  # what is missing comes last

    def __call__(
        self, cell: int, first: Array, thresholds: Array
    ) -> Iterator[tuple[slice, NDArray[np.int64], NDArray[np.int32], Array]]:
        """Units between `first` (e,) and each of `thresholds` (R, e), in parts of the R e rows.

        A part is its rows, how many units the rows before each of them have, these units, and what their marks gain:
        -1 where the threshold rose over them, 1 where it fell below.
        """
        values = self.scores[self.order[:, cell], cell]
        values = values[: len(values) - int(np.isnan(values).sum())]
        low, high = (np.searchsorted(values, x, "right") for x in (first, thresholds))
        low, high = (x.ravel() for x in np.broadcast_arrays(low, high))
        gain = np.where(high > low, -1.0, 1.0)
        low, high = np.minimum(low, high), np.maximum(low, high)
        ends = np.cumsum(high - low)
        start = 0
        while start < len(ends) and ends[-1] > (before := int(ends[start - 1]) if start else 0):
            stop = max(start + 1, int(np.searchsorted(ends, before + AT_ONCE, "right")))
            part = slice(start, stop)
            size = high[part] - low[part]
            begins = np.concatenate([[0], ends[part] - before])
            at = np.arange(begins[-1]) + np.repeat(low[part] - begins[:-1], size)
            yield part, begins, self.order[at, cell], np.repeat(gain[part], size)
            start = stop
