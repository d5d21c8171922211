"""Variance components of a complete panel, and the test of what differs from task to task beyond replicate noise.

See docs/methods.md, section 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from polyjudge.second.estimate.incomplete import sum_clusters
from polyjudge.second.estimate.kernels import double_centre
from polyjudge.second.estimate.resample import leave_out, mean_and_se
from polyjudge.second.panel.arrays import Array, ratio
from polyjudge.second.panel.panel import Panel

Noise = tuple[Array | float, Array | float]
"""Variance of single scores, and the mean of 1 / replicates."""
COMPONENTS = (
    "task",
    "language",
    "judge",
    "task:language",
    "task:judge",
    "language:judge",
    "task:language:judge",
    "noise",
)


def subsets(axes: int) -> list[tuple[int, ...]]:
    """Of so many axes, all but the empty one; single axes first. The first axis is the task."""
    return [x for size in range(1, axes + 1) for x in combinations(range(axes), size)]


def whole(values: Array) -> Array:
    """The sum over all units."""
    return values.sum(axis=0)


def sums_of_squares(scores: Array, weights: Array, total: Callable[[Array], Array] = whole) -> Array:
    """Sums of squares of all terms of complete scores (n, ...) with unit weights (n,), in the order of `subsets`.

    total : sums over units, (n, ...) -> (..., ...); such as `leave_out`, for all but those of each group
    """
    found: dict[tuple[int, ...], Array] = {}
    for inner in [(), *subsets(scores.ndim - 1)]:
        part = scores - scores.mean()
        for axis in range(1, scores.ndim):
            mean = part.mean(axis=axis, keepdims=True)
            part = part - mean if axis - 1 in inner else mean
        flat = part.reshape(len(part), -1) * np.sqrt(scores.size / part.size)
        term = tuple(axis + 1 for axis in inner)
        found[term] = (total(flat * weights[:, None]) ** 2).sum(axis=-1) / total(weights)
        found[(0, *term)] = total((flat**2).sum(axis=1) * weights) - found[term]
    return np.maximum(np.stack([found[term] for term in subsets(scores.ndim)], axis=-1), 0.0)


def degrees(units: Array | float, sizes: Sequence[int]) -> Array:
    """Degrees of freedom of the same terms for numbers of units (...) and the sizes of the other axes."""
    each = [[sizes[axis - 1] - 1 for axis in term if axis] for term in subsets(len(sizes) + 1)]
    with_task = [0 in term for term in subsets(len(sizes) + 1)]
    return (np.asarray(units, float)[..., None] - 1) ** with_task * [math.prod(x) for x in each]


def components(
    squares: Array, units: Array | float, tasks: Array | float, sizes: Sequence[int], noise: Noise | None = None
) -> Array:
    """Variance components (they may be negative) from sums of squares, (..., terms); with `noise` that of single scores
    is the last, and is taken off the term of all axes.

    units, tasks : (...) behind the sums; sizes : of the other axes
    """
    terms, lengths = subsets(len(sizes) + 1), (tasks, *sizes)
    mean = dict(zip(terms, np.moveaxis(ratio(squares, degrees(units, sizes)), -1, 0), strict=True))
    out = []
    for term in terms:
        beyond = sum((-1) ** (len(x) - len(term)) * mean[x] for x in terms if set(term) <= set(x))
        out.append(beyond / math.prod(lengths[axis] for axis in range(len(lengths)) if axis not in term))
    if noise is not None:
        out = [*out[:-1], out[-1] - noise[0] * noise[1], noise[0]]
    return np.stack(out, axis=-1)


def panel_components(panel: Panel) -> tuple[Array, Array]:
    """Variance components of a complete panel as `COMPONENTS` names them, without noise where it is not known; and with
    each task (or group of tasks) left out, (g, ...)."""
    n, *sizes = panel.shape
    known = replicate_noise(panel)
    found = []
    for total in (whole, partial(leave_out, cluster=panel.cluster)):
        units = np.maximum(total(np.ones(n)), 2.0)  # one task left of two has no spread to divide
        noise = None
        if known is not None:
            df = known[1] if total is whole else np.maximum(total(known[4]), 1.0)
            noise = total(known[3]) / df, known[2]
        squares = sums_of_squares(panel.scores, panel.weights, total)
        found.append(components(squares, units, units * panel.weights.mean(), sizes, noise))
    return found[0], found[1]


def replicate_noise(panel: Panel) -> tuple[Array, Array, Array, Array, Array] | None:
    """Replicate noise around each (task, language, judge), a constant effect of each replicate taken out.

    Sum of squares, its degrees of freedom, mean of 1/replicates; then the first two per unit.
    """
    spread = _within(panel)
    if spread is None:
        return None
    square, count, r = spread
    ss = panel.weights * square.sum(axis=(1, 2))
    df = (count - 1).sum(axis=(1, 2)).astype(float)
    inverse = np.average((1 / count).mean(axis=(1, 2)), weights=panel.weights)
    return ss.sum(), df.sum() - (r - 1), inverse, ss, df


def _within(panel: Panel) -> tuple[Array, NDArray[np.int64], int] | None:
    """Squares over the replicates of each entry, a constant effect of each replicate taken out, (n, k, m); their number
    there; and the replicates of the panel. None without noise to measure."""
    if panel.replicate_scores is None:
        return None
    rows = panel.replicate_scores
    there = ~np.isnan(rows)
    count = there.sum(axis=3)
    within = np.where(there, rows - panel.scores[..., None], 0.0)
    r = rows.shape[3]
    w = panel.weights
    # Least squares on replicate dummies, after taking the cell mean out of both sides.
    gram = np.diag(np.einsum("t,tlbf->f", w, there)) - np.einsum(
        "t,tlbf,tlbg->fg", w, there / np.maximum(count, 1)[..., None], there, optimize=True
    )
    effect = np.linalg.pinv(gram) @ np.einsum("t,tlbf->f", w, within)
    shift = np.where(there, effect, 0.0)
    within = np.where(there, within - effect + shift.sum(axis=3, keepdims=True) / np.maximum(count, 1)[..., None], 0.0)
    return None if (count - 1).sum() <= r - 1 else ((within**2).sum(axis=3), count, r)


def three_way_p(panel: Panel) -> float | None:
    """Does the interaction differ from task to task beyond replicate noise, wherever that noise is large or small?

    Each task has its own squared deviation from the interaction less what its own replicates say noise makes of it; the
    mean over tasks is 0 without a three-way effect, and its error is that over tasks (or clusters). One-sided, by t
    with as many degrees of freedom as equally loud tasks would have: few where a few tasks hold most of the noise.
    """
    spread = _within(panel)
    if spread is None:
        return None
    square, count, r = spread
    n, k, m = panel.shape
    w, several = panel.weights, count > 1
    df = np.maximum(count - 1, 1)
    noise = square / df * (df * several).sum() / ((df * several).sum() - (r - 1))
    # an entry with one replicate takes the noise of its cell, or of all
    total = np.einsum("t,tlb->lb", w, np.where(several, noise, 0.0))
    seen = np.einsum("t,tlb->lb", w, several.astype(np.float64))
    cell = np.divide(total, seen, out=np.full((k, m), total.sum() / seen.sum()), where=seen > 0)
    noise = (np.where(several, noise, cell) / count).mean(axis=(1, 2))
    deviation = double_centre(panel.scores)
    deviation = deviation - np.tensordot(w / w.sum(), deviation, 1)
    own = (deviation**2).sum(axis=(1, 2)) * n / ((n - 1) * (k - 1) * (m - 1)) - noise
    mean, se = mean_and_se(own[:, None], w, panel.cluster)
    if se[0] <= 0:
        return None
    loud = sum_clusters(w * noise, panel.cluster)
    even = max(loud.sum() ** 2 / (loud**2).sum() - 1, 1.0) if loud.any() else float(panel.cluster.max())
    return float(stdtr(even, -mean[0] / se[0]))
