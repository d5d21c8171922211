"""How scores go with the length of answers, from arrays. See docs/methods.md, section 25."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyjudge.estimate.incomplete import sum_clusters
from polyjudge.panel.arrays import Array, mean_there
from polyjudge.panel.fill import fill_systems


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
