"""Variance components of a complete panel, and the test of what differs from task to task beyond replicate noise.

See docs/methods.md, section 6.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from polyjudge.estimate.incomplete import sum_clusters
from polyjudge.estimate.kernels import double_centre
from polyjudge.estimate.resample import leave_out, mean_and_se
from polyjudge.panel.arrays import Array
from polyjudge.panel.panel import Panel

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


def sums_of_squares(panel: Panel) -> tuple[Array, Array]:
    """Sums of squares of the seven terms on the cell level (replicates averaged) and their degrees of freedom."""
    n, k, m = panel.shape
    per_task, cell, weight = _ingredients(panel)
    squares = _squares(per_task.sum(axis=0), cell.sum(axis=0), weight.sum(), k, m)
    return squares, _degrees(np.asarray(float(n)), k, m)


def _degrees(n: Array, k: int, m: int) -> Array:
    """Degrees of freedom of the seven terms for every number of units: (...) -> (..., 7)."""
    a = n - 1
    both = (k - 1) * (m - 1)
    return a[..., None] ** [1, 0, 0, 1, 1, 0, 1] * [1, k - 1, m - 1, k - 1, m - 1, both, both]


def _ingredients(panel: Panel) -> tuple[Array, Array, Array]:
    """Per unit: four weighted sums of squares (n, 4), weighted scores (n, k, m), and the weight (n,)."""
    _, k, m = panel.shape
    w = panel.weights
    y = panel.scores - panel.cell_means.mean()
    per_task = np.stack(
        [
            (y**2).sum(axis=(1, 2)),
            m * (y.mean(axis=2) ** 2).sum(axis=1),
            k * (y.mean(axis=1) ** 2).sum(axis=1),
            k * m * y.mean(axis=(1, 2)) ** 2,
        ],
        axis=1,
    )
    return per_task * w[:, None], y * w[:, None, None], w


def _squares(per_task: Array, cell: Array, weight: Array, k: int, m: int) -> Array:
    """The seven sums of squares from summed ingredients: (..., 4), (..., k, m), (...) -> (..., 7)."""
    w = np.asarray(weight, float)
    means = cell / w[..., None, None]
    everything, task_language, task_judge, task = np.moveaxis(per_task, -1, 0)
    cells = w * (means**2).sum(axis=(-2, -1))
    language = w * m * (means.mean(axis=-1) ** 2).sum(axis=-1)
    judge = w * k * (means.mean(axis=-2) ** 2).sum(axis=-1)
    grand = w * k * m * means.mean(axis=(-2, -1)) ** 2
    out = np.stack(
        [
            task - grand,
            language - grand,
            judge - grand,
            task_language - task - language + grand,
            task_judge - task - judge + grand,
            cells - language - judge + grand,
            everything - task_language - task_judge - cells + task + language + judge - grand,
        ],
        axis=-1,
    )
    return np.maximum(out, 0.0)


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


def components(panel: Panel, squares: Array, noise: tuple[Array, Array, Array] | None, n: Array | None = None) -> Array:
    """Variance components (may be negative) from sums of squares: (..., 7) -> (..., 7 or 8)."""
    units, k, m = panel.shape
    tasks = panel.weights.sum() if n is None else n * panel.weights.mean()
    units_left = np.asarray(units if n is None else n, float)
    t, l, b, tl, tb, lb, e = np.moveaxis(squares / _degrees(units_left, k, m), -1, 0)  # noqa: E741
    out = [
        (t - tl - tb + e) / (k * m),
        (l - tl - lb + e) / (tasks * m),
        (b - tb - lb + e) / (tasks * k),
        (tl - e) / m,
        (tb - e) / k,
        (lb - e) / tasks,
    ]
    if noise is None:
        return np.stack([*out, e], axis=-1)
    sigma = noise[0] / noise[1]
    return np.stack([*out, e - sigma * noise[2], sigma], axis=-1)


def components_left_out(panel: Panel) -> Array:
    """The components with each task (or group of tasks) left out: (g, 7 or 8)."""
    n, k, m = panel.shape
    per_task, cell, weight = (leave_out(x, cluster=panel.cluster) for x in _ingredients(panel))
    left = np.maximum(leave_out(np.ones(n), cluster=panel.cluster), 2.0)  # one task left of two has no spread to divide
    squares = _squares(per_task, cell, weight, k, m)
    noise = replicate_noise(panel)
    if noise is None:
        return components(panel, squares, None, left)
    ss, df = leave_out(noise[3], cluster=panel.cluster), leave_out(noise[4], cluster=panel.cluster)
    return components(panel, squares, (ss, np.maximum(df, 1.0), np.full(len(ss), float(noise[2]))), left)
