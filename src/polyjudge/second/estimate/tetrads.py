"""How far a gap between two judges changes between two languages, all of them at once (docs/methods.md, section 19).

A tetrad is two languages and two judges: the gap of the judges in one language less that in the other. One cell off by
d changes its tetrads by d, where double centring shows only d (1 - 1/k)(1 - 1/m) of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri, stdtrit

from polyjudge.second.estimate.incomplete import informing, noise_shares, sampling_panel
from polyjudge.second.estimate.kernels import pair_chunks
from polyjudge.second.estimate.resample import mean_and_se
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.scale import scale_of

FEW_CHANGES = 10
"""With fewer tasks that show any change, what is not seen is bounded by how rare it must be."""
FIRST = 200
"""Tasks that are looked at first: where enough of them show a change, the others need not be."""
MOST_ERRORS = 10.0
"""Errors that a change may seem to be at most where nothing is off: a plan needs a number."""
MOST_WORK = 2e10
"""Products of tasks and tetrads; beyond it a bound of the errors takes their place."""


@dataclass(frozen=True)
class Tetrad:
    """The gap of two judges in one language less that in another, with one-sided limits of its size."""

    change: float
    low: float
    high: float
    languages: tuple[int, int]
    judges: tuple[int, int]


@dataclass(frozen=True)
class GapChanges:
    """How far gaps change.

    widest : the tetrad with the largest upper limit: no gap changes by more
    surest : the tetrad with the largest lower limit, which allows for their number: at least this one changes so far
    exact : the upper limit is that of changes too rare to be seen, not of the spread over tasks
    """

    widest: Tetrad
    surest: Tetrad
    exact: bool = False

    def tasks_needed(self, tasks: int, matters: float, critical: float, level: float) -> int:
        """Tasks that rule out a change of `matters` if nothing is off; `tasks` gave these limits, `critical` is that of
        the band over all cells, about as many errors as the largest change then shows."""
        reach = (self.widest.high - abs(self.widest.change)) * (1 + min(critical, MOST_ERRORS) / ndtri(level))
        times = self.widest.high / matters if self.exact else (reach / matters) ** 2
        return math.ceil(tasks * max(times, 1.0))


def gap_changes(panel: Panel, level: float = 0.95) -> GapChanges:
    """The largest one-sided upper limit of |change| over all tetrads, and the largest lower one.

    The largest true change is that of one tetrad, and its own limit holds with probability `level`: the largest limit
    holds at least as often, whatever the number of tetrads (intersection-union). Lower limits are Bonferroni's. Tasks
    (clusters) are the units; no array of tasks x tetrads is made.
    """
    whole = sampling_panel(panel)
    n, k, m = whole.shape
    known = informing(panel)
    if float(n) * (k * m) ** 2 > MOST_WORK:
        return _bound(whole, known, level)
    share = whole.weights / whole.weights.sum()
    noise = noise_shares(whole.weights)
    width, number = scale_of(panel).width, k * (k - 1) * m * (m - 1) / 4
    widest = surest = Tetrad(0.0, -np.inf, -np.inf, (0, 0), (0, 0))
    rare_wins = False
    for i, j in pair_chunks(m, n * k):
        gaps = np.ascontiguousarray(np.moveaxis(whole.scores[..., i] - whole.scores[..., j], 2, 0))  # (p, n, k)
        mean = np.tensordot(gaps, share, (1, 0))
        apart = gaps - mean[:, None]
        between = np.swapaxes(apart * noise[:, None], 1, 2) @ apart
        own = np.einsum("pll->pl", between)
        se = np.sqrt(np.maximum(own[:, :, None] + own[:, None, :] - 2 * between, 0.0))
        df = np.minimum(known[:, i], known[:, j]).T - 1  # (p, k)
        df = np.minimum(df[:, :, None], df[:, None, :])
        change = mean[:, :, None] - mean[:, None, :]
        plain, rare = np.abs(change) + stdtrit(df, level) * se, width * _rare(gaps, panel.tie_gap, level)
        high = np.maximum(plain, rare)
        low = np.abs(change) - stdtrit(df, 1 - (1 - level) / number) * se
        low[rare > 0] = 0.0  # too few tasks change for a spread
        for limit in (low, high):
            limit[:, np.arange(k), np.arange(k)] = -np.inf  # a language beside itself
        top, sure = int(high.argmax()), int(low.argmax())
        if high.flat[top] > widest.high:
            widest, rare_wins = _tetrad(top, change, low, high, i, j), bool(rare.flat[top] > plain.flat[top])
        if low.flat[sure] > surest.low:
            surest = _tetrad(sure, change, low, high, i, j)
    return GapChanges(widest, surest, rare_wins)


def _tetrad(place: int, change: Array, low: Array, high: Array, i: NDArray[np.int64], j: NDArray[np.int64]) -> Tetrad:
    """The tetrad at a flat place of arrays (pairs, languages, languages)."""
    p, a, b = (int(x) for x in np.unravel_index(place, low.shape))
    sizes = float(change[p, a, b]), float(low[p, a, b]), float(high[p, a, b])
    return Tetrad(*sizes, (a, b), (int(i[p]), int(j[p])))


def _rare(gaps: Array, tie: float, level: float) -> Array:
    """Upper limit of the share of tasks that change (Clopper and Pearson) of few, else 0: (p, n, k) -> (p, k, k)."""
    n = gaps.shape[1]
    out = np.zeros((len(gaps), gaps.shape[2], gaps.shape[2]))
    for language in range(gaps.shape[2]):
        few = _changes(gaps[:, :FIRST], language, tie) < FEW_CHANGES
        if few.any():
            moved = _changes(gaps, language, tie)
            few = moved < FEW_CHANGES
            out[:, language][few] = upper_share(moved[few], n, level)
    return out


def _changes(gaps: Array, language: int, tie: float) -> NDArray[np.int64]:
    """Tasks whose gap differs between a language and each other one: (p, n, k) -> (p, k)."""
    return (np.abs(gaps - gaps[..., language, None]) > tie).sum(axis=1)


def upper_share(count: NDArray[np.int64], n: int, level: float) -> Array:
    """Exact one-sided upper limit of a share, of which `count` in n were seen.

    >>> round(float(upper_share(np.array([0]), 40, 0.95)[0]), 3)
    0.072
    """
    left = np.maximum(n - count, 1)
    return np.where(count >= n, 1.0, betaincinv(count + 1, left, level))


def _bound(whole: Panel, known: Array, level: float) -> GapChanges:
    """A limit that is too large: the largest change seen, and four times the largest error of a cell."""
    means = whole.cell_means
    best, place = -np.inf, ((0, 0), (0, 0))
    for i, j in pair_chunks(means.shape[1], means.shape[0]):
        gap = means[:, i] - means[:, j]
        at = int(np.ptp(gap, axis=0).argmax())
        if (change := float(np.ptp(gap[:, at]))) > best:
            best, place = change, ((int(gap[:, at].argmax()), int(gap[:, at].argmin())), (int(i[at]), int(j[at])))
    level_free = whole.scores - whole.scores.mean(axis=(1, 2), keepdims=True)
    se = float(mean_and_se(level_free, whole.weights)[1].max())
    reach = 4 * float(stdtrit(known.min() - 1, 1 - (1 - level) / means.size**2)) * se
    found = Tetrad(best, best - reach, best + reach, *place)
    return GapChanges(found, found)
