"""What all inference here rests on: values per task, their weighted mean, its standard error, and task bootstraps.

A unit may hold several tasks (`panel.weights`). The mean is then the weighted one and its standard error that of a
ratio over units; with equal weights both are the plain mean and sd / sqrt(n).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtr, stdtrit

from polyjudge.second.estimate.incomplete import by_cluster, sampling_panel, sum_clusters, unit_mean_and_se
from polyjudge.second.estimate.kernels import BLOCK, double_centre, draw_blocks
from polyjudge.second.panel.arrays import TIE_TOLERANCE, Array
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.progress import track

MOST_GROUPS = 200
"""A jackknife leaves out single units, or this many groups of units where there are more."""


def task_interactions(panel: Panel) -> Array:
    """D_t = DC(S(t, ., .)) of every task or cluster, (n, k, m): the interaction is their mean (docs/methods.md, I5).

    Their weights are those of `sampling_panel`. With holes they are the influence values of the least-squares estimate,
    which have the same use.
    """
    return double_centre(sampling_panel(panel).scores)


def mean_and_se(values: Array, weights: Array, cluster: NDArray[np.int64] | None = None) -> tuple[Array, Array]:
    """Weighted mean over units and its standard error over units, or over their clusters: (n, ...) -> (...), (...)."""
    return unit_mean_and_se(*(by_cluster(values, weights, cluster) if cluster is not None else (values, weights)))


def mean_of_known(values: Array, panel: Panel) -> tuple[Array, Array, Array, NDArray[np.int64]]:
    """Weighted mean over the tasks that have a value (NaN: none), its standard error over clusters (as `mean_and_se`),
    what each cluster adds to its error, and how many there are: (n, ...) -> (...), (...), (clusters, ...), (...)."""
    there = ~np.isnan(values)
    weight = np.where(there, panel.weights.reshape(-1, *[1] * (values.ndim - 1)), 0.0)
    codes = np.unique(panel.cluster, return_inverse=True)[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        weight = weight / weight.sum(axis=0)
        mean = np.where(there.any(axis=0), np.where(there, values * weight, 0.0).sum(axis=0), np.nan)
        part = sum_clusters(np.where(there, (values - mean) * weight, 0.0), codes)
    share = sum_clusters(np.where(there, weight, 0.0), codes)
    se = np.sqrt((part**2 / np.maximum(1 - share, 1e-9)).sum(axis=0))
    return mean, se, part, (share > 0).sum(axis=0)


def tracked_draws(
    units: int, resamples: int, seed: int, cluster: NDArray[np.int64] | None = None, label: str = "resampling tasks"
) -> Iterator[NDArray[np.int64]]:
    """Blocks of bootstrap multiplicities, with a progress bar when they take long."""
    return track(draw_blocks(units, resamples, seed, cluster), -(-resamples // BLOCK), label)


def resampled(
    statistic: Callable[[Array], Array],
    terms: Array,
    panel: Panel,
    resamples: int,
    seed: int,
    rows: NDArray[np.int64] | slice = slice(None),
) -> tuple[Array, Array]:
    """A statistic of sums over tasks of what each adds: of all tasks, and of resampled ones, block by block.

    terms : (n, ...), each counted by its task's weight; of `rows` alone where the others add nothing
    statistic : of sums (b, ...), an array (b, ...)
    """
    n, flat = len(panel.tasks), terms.reshape(len(terms), -1)

    def of(times: NDArray[Any]) -> Array:
        return statistic(((times * panel.weights)[:, rows] @ flat).reshape(-1, *terms.shape[1:]))

    drawn = [of(times) for times in draw_blocks(n, resamples, seed, panel.cluster)]
    return of(np.ones((1, n)))[0], np.concatenate(drawn)


def bootstrap_blocks(values: Array, weights: Array, resamples: int, seed: int) -> Iterator[Array]:
    """Weighted means of resampled units, in blocks of resamples: (n, ...) -> (b, ...) each."""
    flat = values.reshape(len(values), -1)
    centre = weights @ flat / weights.sum()
    spread = flat - centre
    spread *= weights[:, None]
    for counts in tracked_draws(len(flat), resamples, seed):
        c = counts.astype(np.float64)
        yield (centre + c @ spread / (c @ weights)[:, None]).reshape(-1, *values.shape[1:])


def bootstrap_means(values: Array, weights: Array, resamples: int, seed: int) -> Array:
    """Weighted means of resampled units: (n, ...) -> (resamples, ...). Wide values are better taken in blocks."""
    return np.concatenate(list(bootstrap_blocks(values, weights, resamples, seed)))


def bootstrap_t(
    values: Array, weights: Array, resamples: int, seed: int, own: bool = False
) -> Iterator[tuple[Array, Array]]:
    """Resampled means less the mean, and their own standard errors, in blocks: each (b, p) for values (n, p).

    own : the values may be overwritten
    """
    n = len(values)
    w = weights / weights.mean()
    equal = bool(np.all(w == 1))
    first = np.subtract(values, w @ values / n, out=values if own else None)
    if not equal:
        first *= w[:, None]
    square = first * first
    for counts in tracked_draws(n, resamples, seed):
        c = counts.astype(np.float64)
        del counts  # large where units are many: one block at a time
        total = np.full((len(c), 1), float(n)) if equal else (c @ w)[:, None]
        mean = c @ first / total
        if equal:
            spread = c @ square - n * mean**2
        else:
            spread = c @ square - 2 * mean * ((c * w) @ first) + mean**2 * (c @ w**2)[:, None]
        del c
        yield mean, np.sqrt(np.maximum(spread, 0.0) * n / (n - 1)) / total


def leave_out(values: Array, groups: int = MOST_GROUPS, cluster: NDArray[np.int64] | None = None) -> Array:
    """Sums over all units (or clusters) but those of one group, for every group: (n, ...) -> (g, ...), g <= groups."""
    if cluster is not None:
        values = sum_clusters(values, cluster)
    n = len(values)
    g = min(n, groups)
    held = np.add.reduceat(values, np.linspace(0, n, g, endpoint=False).astype(int), axis=0)
    return values.sum(axis=0) - held


def in_groups(values: Array, weights: Array, most: int = 2000) -> tuple[Array, Array]:
    """Weighted means over at most `most` groups of units, and their weights. Resampling groups is valid as well."""
    n = len(values)
    if n <= most:
        return values, weights
    starts = np.linspace(0, n, most, endpoint=False).astype(int)
    total = np.add.reduceat(weights, starts)
    shape = (-1, *[1] * (values.ndim - 1))
    weighted = values if bool(np.all(weights == 1)) else values * weights.reshape(shape)
    return np.add.reduceat(weighted, starts, axis=0) / total.reshape(shape), total


def jackknife(full: Array, parts: Array, level: float) -> tuple[Array, Array, Array]:
    """Standard error and t interval of an estimate from its leave-one-group-out values (g, ...)."""
    g = len(parts)
    se = np.sqrt((g - 1) / g * ((parts - parts.mean(axis=0)) ** 2).sum(axis=0))
    half = stdtrit(g - 1, (1 + level) / 2) * se
    return se, full - half, full + half


def percentile_limits(value: Array, draws: Array, units: int, level: float) -> Array:
    """Bootstrap limits (2, ...) of draws (r, ...), widened as Student's t widens normal ones: of few units plain
    percentiles are too narrow. A draw without a value (NaN) counts as the estimate."""
    ends = [(1 - level) / 2, (1 + level) / 2]
    wider = stdtrit(max(units - 1, 1), ends[1]) / ndtri(ends[1]) * np.sqrt(units / max(units - 1, 1))
    drawn = np.quantile(np.where(np.isnan(draws), value, draws), ends, axis=0, method="weibull")
    return value + wider * (drawn - value)


def upper_tail(mean: Array, se: Array, n: int | NDArray[np.int64], gap: float = 0.0) -> Array:
    """One-sided p-values of mean > 0 by t with n - 1 degrees of freedom.

    Where all tasks agree exactly the t statistic has no meaning; the sign test's 2^-n stands in for it.
    """
    flat = se <= gap
    with np.errstate(divide="ignore", invalid="ignore"):
        p = stdtr(n - 1, -mean / np.where(flat, 1.0, se))
    constant = np.where(mean > gap, np.power(0.5, n), 1.0)
    return np.where(flat, constant, p)


def selected_p(above: Array, below: Array) -> Array:
    """Intersection-union p-value that allows for picking the witnesses: Bonferroni over languages on both sides.

    `above` and `below` are the one-sided p-values of every language, (..., k, pairs). Plans use it: it needs no scores.
    """
    k = above.shape[-2]
    return np.minimum(1.0, k * np.maximum(above.min(axis=-2), below.min(axis=-2)))


def false_discovery(p: Array) -> Array:
    """Adjusted p-values that control the false discovery rate, over the last axis (Benjamini and Hochberg).

    The same as `scipy.stats.false_discovery_control`, without half a second to load all of scipy.stats.
    """
    size = p.shape[-1]
    order = np.argsort(p, axis=-1)[..., ::-1]
    scaled = np.take_along_axis(p, order, axis=-1) * (size / np.arange(size, 0, -1))
    out = np.empty(p.shape)
    np.put_along_axis(out, order, np.minimum(np.minimum.accumulate(scaled, axis=-1), 1.0), axis=-1)
    return out


def holm(p: Array) -> Array:
    """Holm's family-wise adjusted p-values over the last axis."""
    size = p.shape[-1]
    order = np.argsort(p, axis=-1)
    scaled = np.take_along_axis(p, order, axis=-1) * np.arange(size, 0, -1)
    out = np.empty(p.shape)
    np.put_along_axis(out, order, np.minimum(np.maximum.accumulate(scaled, axis=-1), 1.0), axis=-1)
    return out


def check_level(level: float) -> float:
    """The confidence level, or an error when it is none."""
    if not 0.5 <= level < 1:
        raise UsageError(f"level is a confidence level of at least 0.5 and under 1 (usually 0.95), not {level}.")
    return level


def check_alpha(alpha: float) -> float:
    """The error level, or an error when it is none."""
    if not 0 < alpha < 0.5:
        raise UsageError(f"alpha must lie between 0 and 0.5, not {alpha}.")
    return alpha


def check_resamples(resamples: int, least: int = 100) -> int:
    """The number of resamples, or an error when they are too few for a percentile."""
    if resamples < least:
        raise UsageError(f"{resamples} resamples are too few for an interval; use at least {least}.")
    return resamples


def noise_gap(panel: Panel) -> float:
    """Standard errors up to this are rounding, not spread."""
    return TIE_TOLERANCE * 1e-3 * max(panel.range[1] - panel.range[0], float(np.finfo(float).tiny))
