"""Subsets of a panel's judges: what each shares, how it errs, and what it costs (docs/methods.md, section 22)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from polyjudge.second.estimate.kernels import draw_blocks, stream
from polyjudge.second.panel.arrays import Array, mean_there, ratio
from polyjudge.second.panel.budget import require_time
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.labels import some
from polyjudge.second.panel.panel import Panel

Masks = NDArray[np.bool_]
MOST_FOR_ALL = 12
"""Up to this many judges every subset is tried; beyond it judges are added one by one, the best first."""
FOLDS = 10
LEAST_SLOPE = 0.02
"""A panel that shows less than this share of a difference is taken to show this much."""


@dataclass(frozen=True, eq=False)
class TaskMoments:
    """Sums over tasks from which every figure of every subset follows.

    products : (n, k, m, m) sum over systems of the product of two judges' deviations in a task, and `counts` the number
        of systems behind it; their mean, and None, where every score is there
    deviations : (n, s, k, m) scores less the mean over systems (over tasks without systems), 0 where there is none
    there : (n, s, k, m) which scores are there
    cluster : (n,) codes of what is resampled
    apart : (n,) the language of each task, where none has two
    """

    products: Array
    counts: Array | None
    deviations: Array
    there: NDArray[np.bool_]
    cluster: NDArray[np.int64]
    by_system: bool
    apart: NDArray[np.int64] | None = None

    @cached_property
    def size(self) -> int:
        """How many things are resampled."""
        return int(self.cluster.max()) + 1

    @cached_property
    def overall(self) -> TaskMoments:
        """The same of the mean over languages, as one language."""
        mean = self.deviations.mean(axis=2, keepdims=True)
        some = np.asarray(self.there.any(axis=2, keepdims=True))
        return TaskMoments(_products(mean) / mean.shape[1], None, mean, some, self.cluster, self.by_system)

    @cached_property
    def tasks(self) -> Array:
        """(k + 1,) tasks of each language, and of all."""
        n, k = float(len(self.deviations)), self.deviations.shape[2]
        return np.full(k + 1, n) if self.apart is None else np.append(np.bincount(self.apart, minlength=k), n)

    def covariance(self, weights: Array) -> Array:
        """V (..., k, m, m) of what judges say of systems, for weights (..., n) of the tasks."""
        share = weights / weights.sum(axis=-1, keepdims=True)
        total: Array = np.tensordot(share, self.products, axes=1)
        return total if self.counts is None else ratio(total, np.tensordot(share, self.counts, axes=1))

    def within(self, weights: Array) -> Array:
        """U (..., k + 1, m, m): V less the systems' own means over tasks, and last that of the mean over languages.

        Twice U is the variance of a difference of two systems in a task.
        """
        parts = [self._less_means(weights)]
        if self.apart is None:
            parts.append(self.overall._less_means(weights))
        else:  # the languages' means are independent, each from its own tasks
            more = self.tasks[-1] / self.tasks[:-1] / (len(self.tasks) - 1) ** 2
            parts.append((parts[0] * more[:, None, None]).sum(axis=-3, keepdims=True))
        return np.concatenate(parts, axis=-3)

    def _less_means(self, weights: Array) -> Array:
        u = self.covariance(weights)
        if not self.by_system:
            return u
        share = weights / weights.sum(axis=-1, keepdims=True)
        means = np.tensordot(share, self.deviations, axes=1)  # (..., s, k, m)
        if self.counts is not None:
            means = ratio(means, np.tensordot(share, self.there.astype(float), axes=1))
        systems = means.shape[-3]
        return (u - np.einsum("...ski,...skj->...kij", means, means) / systems) * systems / (systems - 1)


def moments_of(panel: Panel) -> TaskMoments:
    if len(panel.judges) < 2:
        raise PanelError("One judge leaves nothing to choose from: score some of the tasks with a second judge.")
    scores = panel.scores[:, None] if panel.system_scores is None else panel.system_scores
    over = 0 if panel.system_scores is None else 1
    there = ~np.isnan(scores)
    deviations = np.where(there, scores - mean_there(scores, over, keepdims=True), 0.0)
    counts = None if there.all() else _products(there.astype(float))
    products = _products(deviations) / (scores.shape[1] if counts is None else 1)
    if counts is not None and not (counts.sum(axis=0) > 0).all():
        raise PanelError(
            "Two judges never scored the same task in one language, so their agreement is not known there."
        )
    language = there.any(axis=(1, 3)).argmax(axis=1) if panel.apart else None
    codes = np.unique(panel.cluster, return_inverse=True)[1]
    by_system = panel.system_scores is not None
    return TaskMoments(products, counts, deviations, there, codes, by_system, language)


def _products(values: Array) -> Array:
    """Sums over systems of the product of two judges in each task and language: (n, s, k, m) -> (n, k, m, m)."""
    by_system = np.ascontiguousarray(values.transpose(0, 2, 1, 3))
    return by_system.swapaxes(-1, -2) @ by_system


def check_width(panel: Panel, resamples: int) -> None:
    """An error before the work begins where too many judges would have to be compared with each other."""
    _, k, m = panel.shape
    require_time(10.0 * resamples * k * m * m, f"Comparing every two of {m} judges in each of {k} languages")


def draws_of(moments: TaskMoments, weights: Array, resamples: int, seed: int) -> tuple[Array, Array]:
    """V (R, k, m, m) and U (R, k + 1, m, m) of resampled tasks (or clusters)."""
    drawn = [weights * counts[:, moments.cluster] for counts in draw_blocks(moments.size, resamples, seed)]
    v, u = ([part(w) for w in drawn] for part in (moments.covariance, moments.within))
    return np.concatenate(v), np.concatenate(u)


def reliability_of(v: Array, z: Masks) -> Array:
    """What two judges share, over the variance of the subset's mean: (..., m, m) -> (..., S).

    A single judge is measured by its mean correlation with all others.
    """
    size = z.sum(axis=1)
    own = np.einsum("...ii->...i", v)
    off = ~np.eye(v.shape[-1], dtype=bool)
    with np.errstate(invalid="ignore", divide="ignore"):
        out: Array = quadratic(v * off, z)
        out /= np.maximum(size * (size - 1), 1)
        out /= quadratic(v, z) / size**2
        scale = np.sqrt(own)
        correlation = np.where(off, v / (scale[..., :, None] * scale[..., None, :]), 0.0)
        alone = np.flatnonzero(size == 1)
        out[..., alone] = correlation.sum(axis=-1) @ z[alone].T.astype(float) / (v.shape[-1] - 1)
    return np.nan_to_num(out, nan=0.0, copy=False)


def quadratic(v: Array, z: Masks) -> Array:
    """1'V1 over each subset: (..., m, m) -> (..., S)."""
    i, j = np.triu_indices(v.shape[-1])
    both = (z[:, i] & z[:, j]).T.astype(float)
    return (v[..., i, j] * np.where(i == j, 1.0, 2.0)) @ both


def slopes_of(v: Array) -> Array:
    """How much of a difference in quality each judge shows, the mean of all being 1: (..., k, m, m) -> (..., k, m).

    Loadings of one factor behind the covariances. A judge that squeezes its scores has little noise and shows little;
    per point of what the panel shows it errs more.
    """
    if v.shape[-1] < 3:  # what two share does not tell which of them shows more
        return np.ones(v.shape[:-1])
    f = loadings_of(v)
    mean = f.mean(axis=(-1, -2), keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        out: Array = np.where(mean > 0, f / mean, 1.0)
    return out


def errors_of(u: Array, slopes: Array, z: Masks, tasks: Array | float) -> Array:
    """Standard error of a difference of two systems by each subset: (..., k + 1, m, m) -> (..., k + 1, S).

    In points of the whole panel's scale: the subset's own error over its slope. Last is the mean over languages.
    """
    size = z.sum(axis=1)
    plain = np.sqrt(np.maximum(2 * quadratic(u, z) / size**2, 0.0) / np.reshape(tasks, (-1, 1)))
    slope = slopes @ z.T.astype(float) / size
    slope = np.concatenate([slope, slope.mean(axis=-2, keepdims=True)], axis=-2)
    return plain / np.maximum(slope, LEAST_SLOPE)


def loadings_of(v: Array, rounds: int = 200) -> Array:
    """Loadings (at least 0) of one factor behind the covariances: (..., m, m) -> (..., m)."""
    count = (~np.eye(v.shape[-1], dtype=bool)).astype(float)
    seen = v * count
    f: Array = np.sqrt(np.einsum("...ii->...i", v) / 2)
    for _ in range(rounds):
        top = (seen @ f[..., None])[..., 0]
        new: Array = 0.5 * f + 0.5 * np.maximum(top / np.maximum((f**2) @ count, 1e-12), 0.0)
        if np.abs(new - f).max() <= 1e-7 * max(float(np.abs(f).max()), 1e-12):
            return new
        f = new
    return f


def sure_slopes(v: Array, draws: Array, level: float) -> tuple[Array, Array]:
    """Slopes of the judges (k, m) and of every draw; all are 1 where the judges do not surely agree."""
    other = ~np.eye(v.shape[-1], dtype=bool)
    shared = (draws * other).sum(axis=(-1, -2)).mean(axis=1)
    if np.quantile(shared, (1 - level) / 2) <= 0:
        return np.ones(v.shape[:-1]), np.ones(draws.shape[:-1])
    return slopes_of(v), slopes_of(draws)


def subsets_of(v: Array, most: int) -> tuple[Masks, bool]:
    """Subsets as rows of booleans: all up to `most` judges, or those of a greedy search from the best pair."""
    m = v.shape[-1]
    if m <= MOST_FOR_ALL:
        rows = [c for size in range(1, min(most, m) + 1) for c in combinations(range(m), size)]
        return _rows(rows, m), True
    tried: list[tuple[int, ...]] = [(j,) for j in range(m)] + list(combinations(range(m), 2))
    values = reliability_of(v, _rows(tried, m)).mean(axis=0)
    held = tried[m + int(np.argmax(values[m:]))]
    while len(held) < min(most, m):
        step = [tuple(sorted((*held, j))) for j in range(m) if j not in held]
        held = step[int(np.argmax(reliability_of(v, _rows(step, m)).mean(axis=0)))]
        tried += step
    return _rows(list(dict.fromkeys(tried)), m), False


def _rows(subsets: list[tuple[int, ...]], m: int) -> Masks:
    out = np.zeros((len(subsets), m), bool)
    for row, members in enumerate(subsets):
        out[row, list(members)] = True
    return out


def fold_of(moments: TaskMoments, seed: int) -> NDArray[np.int64]:
    """(n,) the fold of each task; tasks of a cluster stay together."""
    order = stream(seed, 0, "folds").permutation(moments.size)
    return (order % min(FOLDS, moments.size))[moments.cluster]


def task_prices(panel: Panel, prices: Mapping[str, float] | None) -> Array:
    """What a task costs in a language by each judge: a score for every system and replicate."""
    return prices_of(panel, prices) * max(1, len(panel.systems)) * max(1, len(panel.replicates))


def prices_of(panel: Panel, prices: Mapping[str, float] | None) -> Array:
    """What one score by each judge costs, in the panel's order; 1 where no prices are known."""
    if prices is None:
        return np.ones(len(panel.judges))
    lacking = [j for j in panel.judges if j not in prices]
    if lacking:
        raise UsageError(f"No price for {some(lacking, 5)}. Give the cost of one score for every judge.")
    price = np.array([float(prices[j]) for j in panel.judges])
    if not (np.isfinite(price).all() and (price >= 0).all()):
        raise UsageError("Prices are numbers of at least 0.")
    return price
