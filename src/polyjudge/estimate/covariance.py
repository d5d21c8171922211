"""How judges agree about systems within a task: sums of products by unit, from which everything is a ratio of totals.

A unit is a task, or a cluster of tasks. Totals of resampled units are matrix products, so intervals cost little.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polyjudge.estimate.kernels import BLOCK
from polyjudge.estimate.resample import tracked_draws
from polyjudge.panel.arrays import AT_ONCE, Array, ratio
from polyjudge.panel.budget import require
from polyjudge.panel.panel import Panel

MOST_UNITS = 5000
"""More units are added up in as many groups: totals of groups resample as well."""
ROUNDS = 60
"""Rounds of the one-factor fit; it gains a digit every few."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over the objects that judges compare, one row for each unit.

    products, counts : (u, k, m, m) sum over systems of the product of two judges' deviations from their means over the
        systems both scored, and its degrees of freedom. Without systems: of the products themselves and of the pairs
    sums : (u, k, m, m) without systems, sums of the first judge's scores over the objects both scored; else None
    systems : (u, s, k, m) sums of the deviations by system, and `seen` their number; None without systems
    """

    products: Array
    counts: Array
    sums: Array | None
    systems: Array | None
    seen: Array | None

    @property
    def units(self) -> int:
        return len(self.products)

    @classmethod
    def of(cls, panel: Panel, by_task: bool = False) -> Moments:
        """Moments of a panel; the object is the system within a task, or the task where there are no systems.

        by_task : one unit for each of the panel's, in their order, whatever their number and clusters
        """
        n, k, m = panel.shape
        size = 8.0 * k * m * m * (4 * min(n, MOST_UNITS) + 6 * BLOCK)
        require(size, f"Comparing every two of {m} judges in each of {k} languages, task by task,")
        if panel.system_scores is None:
            # Shifted by the cell's mean first: products of large scores would lose digits.
            shift = np.stack([np.nanmean(cells, axis=0) for cells in panel.scores.transpose(1, 0, 2)])
            parts = _added(panel, panel.scores, lambda scores: _by_task(scores - shift), by_task)
            return cls(parts[0], parts[1], parts[2], None, None)
        parts = _added(panel, panel.system_scores, _by_system, by_task)
        return cls(parts[0], parts[1], None, parts[2], parts[3])

    def covariance(self, times: Array) -> Array:
        """V_l(j, j'), (r, k, m, m), for `times` (r, u) each unit counts."""
        shape = self.products.shape[1:]

        def total(x: Array) -> Array:
            return (times @ x.reshape(len(x), -1)).reshape(-1, *shape)

        top, count = total(self.products), total(self.counts)
        if self.sums is not None:
            first = total(self.sums)
            top = top - first * first.swapaxes(2, 3) / np.maximum(count, 1)
            count = np.maximum(count - 1, 0)
        return ratio(top, count)

    def of_means(self, times: Array) -> Array:
        """Covariance over systems of the judges' mean deviations, (r, k, m, m): agreement about the leaderboard."""
        assert self.systems is not None
        assert self.seen is not None
        shape = self.systems.shape[1:]
        top = (times @ self.systems.reshape(self.units, -1)).reshape(-1, *shape)
        number = (times @ self.seen.reshape(self.units, -1)).reshape(-1, *shape)
        means = ratio(top, number)
        means -= means.mean(axis=1, keepdims=True)
        out: Array = np.einsum("rslj,rsli->rlji", means, means, optimize=True) / (shape[0] - 1)
        return out

    def draws(self, resamples: int, seed: int) -> Iterator[Array]:
        """Blocks (b, u) of how often each unit counts in a resample."""
        for counts in tracked_draws(self.units, resamples, seed):
            yield counts.astype(np.float64)


def _by_task(scores: Array) -> list[Array]:
    """Products of two judges' scores (t, k, m), of their presence, and of one with the other's presence."""
    f = (~np.isnan(scores)).astype(np.float64)
    y = np.nan_to_num(scores)
    return [a[..., :, None] * b[..., None, :] for a, b in ((y, y), (f, f), (y, f))]


def _by_system(scores: Array) -> list[Array]:
    """Products and degrees of freedom over systems of scores (t, s, k, m), the deviations, and which are there."""
    there = ~np.isnan(scores)
    f = there.astype(np.float64)
    number = np.maximum(f.sum(axis=1, keepdims=True), 1)
    y = np.where(there, np.nan_to_num(scores), 0.0)
    y = np.where(there, y - y.sum(axis=1, keepdims=True) / number, 0.0)
    products = np.einsum("tslj,tsli->tlji", y, y, optimize=True)
    if there.all():
        return [products, np.full(products.shape, float(y.shape[1] - 1)), y, f]
    both = np.einsum("tslj,tsli->tlji", f, f, optimize=True)
    first = np.einsum("tslj,tsli->tlji", y, f, optimize=True)
    products -= first * first.swapaxes(2, 3) / np.maximum(both, 1)
    return [products, np.maximum(both - 1, 0), y, f]


def _added(panel: Panel, scores: Array, moments: Callable[[Array], list[Array]], by_task: bool) -> list[Array]:
    """Weighted sums of what `moments` makes of the scores of each task: by unit, or by task. Some tasks at a time."""
    n, w = len(scores), panel.weights
    codes = np.arange(n) if by_task else unit_codes(panel.cluster)
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(int(codes.max()) + 2))
    step = max(1, (AT_ONCE // max(1, 4 * scores[0].size * scores.shape[-1])) * (len(starts) - 1) // n)
    blocks = []
    for first in range(0, len(starts) - 1, step):
        last = min(first + step, len(starts) - 1)
        tasks = order[starts[first] : starts[last]]
        parts = [x * w[tasks].reshape(-1, *[1] * (x.ndim - 1)) for x in moments(scores[tasks])]
        blocks.append([np.add.reduceat(x, starts[first:last] - starts[first], axis=0) for x in parts])
    return [np.concatenate(part) for part in zip(*blocks, strict=True)]


def unit_codes(cluster: NDArray[np.int64]) -> NDArray[np.int64]:
    """The unit of each task: its cluster, or a group of clusters beyond MOST_UNITS."""
    codes: NDArray[np.int64] = np.unique(cluster, return_inverse=True)[1]
    size = int(codes.max()) + 1
    return codes if size <= MOST_UNITS else codes * MOST_UNITS // size


def off_and_on(v: Array) -> tuple[Array, Array]:
    """Mean of the entries off the diagonal and on it, (..., m, m) -> (...), (...)."""
    m = v.shape[-1]
    on = np.trace(v, axis1=-2, axis2=-1)
    off: Array = (v.sum(axis=(-2, -1)) - on) / (m * (m - 1))
    return off, np.asarray(on / m)


def correlations(v: Array) -> Array:
    """Covariances as correlations, 0 where a judge has no spread."""
    sd = np.sqrt(np.maximum(np.diagonal(v, axis1=-2, axis2=-1), 0))
    scale = sd[..., :, None] * sd[..., None, :]
    return ratio(v, scale)


def one_factor(v: Array) -> Array:
    """lambda of v(j, j') = lambda_j lambda_j' for j != j', least squares: (..., m, m) -> (..., m).

    Negative where a judge orders systems against the others; the sign of the whole is that of a positive sum.
    """
    m = v.shape[-1]
    off = v * (1 - np.eye(m))
    scale = np.sqrt(np.maximum(off_and_on(v)[1], 0))[..., None]
    # Start from the direction of the judges' sums, at the size that fits.
    start = off.sum(axis=-1)
    found = np.where(np.abs(start).sum(axis=-1, keepdims=True) > 0, start, 1.0)
    found = found / np.maximum(np.sqrt((found**2).mean(axis=-1, keepdims=True)), 1e-300) * np.maximum(scale, 1e-300)
    # Judges first: sums over few of them are then sums of long rows.
    found = np.ascontiguousarray(np.moveaxis(found, -1, 0))
    off = np.ascontiguousarray(np.moveaxis(off, (-2, -1), (0, 1)))
    square = found**2
    for _ in range(ROUNDS):
        for j in range(m):
            others = square.sum(axis=0) - square[j]
            found[j] = ratio((off[j] * found).sum(axis=0), others)
            square[j] = found[j] ** 2
    found *= np.where(found.sum(axis=0) < 0, -1.0, 1.0)
    return np.moveaxis(found, 0, -1)
