"""How much of the scores is what: R2 of two models, variance components, and the three-way test.

See docs/methods.md, section 6.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import fdtrc, stdtr

from polyjudge.estimate.incomplete import sum_clusters
from polyjudge.estimate.kernels import double_centre
from polyjudge.estimate.resample import check_level, jackknife, leave_out, mean_and_se
from polyjudge.panel.arrays import Array
from polyjudge.panel.errors import PanelError
from polyjudge.panel.panel import Panel
from polyjudge.panel.say import Say, say
from polyjudge.report.result import Result

FEWEST_WHOLE = 0.5
"""Variance components need tasks without holes; at least this share of them must be so."""

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


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Variance(Result):
    """Shares of the variance of a single score, and the fit of the additive models.

    `components`: component, variance, share, low, high (jackknife over tasks), sum_of_squares, df. A component whose
    estimate came out below zero is shown as 0.
    """

    components: pd.DataFrame
    r2_simplified: float
    r2_full: float
    r2_increment: float
    """What task:language adds to the simplified model."""
    sse_simplified: float
    sse_full: float
    sst: float
    fit_method: str
    three_way_f: float | None
    three_way_p: float | None
    """By t over tasks: the noise may differ between cells and between tasks."""
    three_way_p_equal: float | None
    """By F, which takes the noise as equal everywhere."""
    three_way_df: tuple[int, int] | None
    three_way_meaning: Say
    replicate_sd: float | None
    """Sd over replicates of one (task, language, judge), averaged."""
    replicate_ratio: float | None
    """`replicate_sd` over the largest |interaction|."""
    level: float
    notes: tuple[Say, ...]

    def share(self, component: str) -> float:
        """The share of one component."""
        return float(self.components.set_index("component").at[component, "share"])  # type: ignore[arg-type]


def variance(panel: Panel, *, level: float = 0.95) -> Variance:
    """Fit and variance components of a panel.

    >>> from polyjudge import simulate_panel
    >>> v = variance(simulate_panel(replicates=3, seed=1)[0])
    >>> bool(v.r2_simplified < v.r2_full < 1)
    True
    """
    check_level(level)
    notes = []
    if not panel.complete:
        whole = np.isnan(panel.scores).sum(axis=(1, 2)) == 0
        if whole.sum() < max(2, FEWEST_WHOLE * len(whole)):
            raise PanelError(
                f"Variance components need tasks without missing scores, and only {int(whole.sum())} of {len(whole)} "
                "are so."
            )
        notes.append(say("variance.whole-tasks", whole=int(whole.sum()), tasks=len(whole)))
        panel = panel.select(tasks=[t for t, keep in zip(panel.tasks, whole, strict=True) if keep])
    sst, simplified, full, how = fit(panel)
    table, (f, equal, df) = _components(panel, level)
    p = None if f is None else three_way_p(panel)
    sd = ratio = None
    if panel.replicate_scores is None:
        meaning = say("three-way.no-replicates")
    else:
        sd = _replicate_sd(panel)
        largest = float(np.abs(double_centre(panel.cell_means)).max())
        ratio = None if sd is None or largest <= panel.tie_gap else sd / largest
        meaning = say("three-way.no-noise" if p is None else "three-way.some" if p <= 1 - level else "three-way.none")
    if np.ptp(panel.observed_range) <= panel.tie_gap:
        notes.append(say("variance.constant"))
        sst = simplified = full = 0.0
    total = sst if sst > 0 else np.nan
    return Variance(
        components=table,
        r2_simplified=1 - simplified / total,
        r2_full=1 - full / total,
        r2_increment=(simplified - full) / total,
        sse_simplified=simplified,
        sse_full=full,
        sst=sst,
        fit_method=how,
        three_way_f=f,
        three_way_p=p,
        three_way_p_equal=None if p is None else equal,
        three_way_df=df,
        three_way_meaning=meaning,
        replicate_sd=sd,
        replicate_ratio=ratio,
        level=level,
        notes=tuple(notes),
    )


# --- fit ---


def fit(panel: Panel) -> tuple[float, float, float, str]:
    """Total and residual sums of squares of the simplified and the full model on replicate-level rows."""
    rows = panel.scores[..., None] if panel.replicate_scores is None else panel.replicate_scores
    if np.isnan(rows).any():
        return (*_least_squares(rows, panel.weights), "least squares")
    w = panel.weights
    share = w / w.sum()
    _, k, m, r = rows.shape
    y = rows - np.tensordot(share, rows, 1).mean()
    cell = np.tensordot(share, y.mean(axis=3), 1)
    task, task_language = y.mean(axis=(1, 2, 3)), y.mean(axis=(2, 3))
    total = float(np.tensordot(w, y**2, 1).sum())
    explained = w.sum() * (r * (cell**2).sum() + k * m * (np.tensordot(share, y.mean(axis=(1, 2)), 1) ** 2).sum())
    explained += k * m * r * float(w @ task**2)
    extra = task_language - task[:, None] - cell.mean(axis=1)
    simplified = max(total - float(explained), 0.0)
    return total, simplified, max(simplified - m * r * float((w @ extra**2).sum()), 0.0), "closed form"


def _least_squares(rows: Array, weights: Array) -> tuple[float, float, float]:
    """The same by least squares on the rows that are there."""
    from scipy.sparse import csr_array, hstack
    from scipy.sparse.linalg import lsmr

    t, l, b, f = np.nonzero(~np.isnan(rows))  # noqa: E741
    n, k, m, r = rows.shape
    root = np.sqrt(weights[t])
    y = rows[t, l, b, f]
    y = y - np.average(y, weights=weights[t])

    def dummies(code: NDArray[np.int64], size: int) -> csr_array:
        return csr_array((root, code, np.arange(len(code) + 1)), shape=(len(code), size))

    def residual(*blocks: csr_array) -> float:
        design = hstack(blocks, format="csr")
        solution = lsmr(design, y * root, atol=1e-13, btol=1e-13, conlim=0, maxiter=20_000)
        return float(solution[3] ** 2)

    simple = (dummies(t, n), dummies(l * m + b, k * m), dummies(f, r))
    return float(weights[t] @ y**2), residual(*simple), residual(*simple, dummies(t * k + l, n * k))


# --- components ---


def _components(
    panel: Panel, level: float
) -> tuple[pd.DataFrame, tuple[float | None, float | None, tuple[int, int] | None]]:
    squares, df = sums_of_squares(panel)
    noise = replicate_noise(panel)
    estimate = components(panel, squares, None if noise is None else noise[:3])
    parts = components_left_out(panel)
    shares = np.maximum(_shares(estimate), 0.0)
    # The interval comes from the untruncated estimates, so that a share of 0 has an upper limit too.
    _, low, high = jackknife(_shares(estimate), _shares(parts), level)
    names = list(COMPONENTS)
    ss, dfs = [*squares], [*df]
    f: tuple[float | None, float | None, tuple[int, int] | None] = (None, None, None)
    if noise is None:
        names = [*COMPONENTS[:6], "task:language:judge + noise"]
    else:
        within, within_df, inverse = (float(x) for x in noise[:3])
        ss = [*(squares / inverse), within]  # on the scale of single rows, as the noise is
        dfs.append(int(within_df))
        if within > 0 and within_df > 0:
            ratio = float(squares[6] / df[6] / (within / within_df * inverse))
            f = ratio, float(fdtrc(df[6], within_df, ratio)), (int(df[6]), int(within_df))
    table = pd.DataFrame(
        {
            "component": names,
            "variance": np.maximum(estimate, 0.0),
            "share": shares,
            "low": np.clip(low, 0, 1),
            "high": np.clip(high, 0, 1),
            "sum_of_squares": ss,
            "df": dfs,
        }
    )
    return table, f


def _shares(estimate: Array) -> Array:
    """Shares of the sum of the positive components: (..., c) -> (..., c)."""
    total = np.maximum(estimate, 0.0).sum(axis=-1, keepdims=True)
    return np.where(total > 0, estimate / np.where(total > 0, total, 1.0), 0.0)


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
    positive: Array = np.maximum(out, 0.0)
    return positive


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


def _replicate_sd(panel: Panel) -> float | None:
    """Sd over replicates (ddof 1), averaged over the entries that have two or more."""
    assert panel.replicate_scores is not None
    count = (~np.isnan(panel.replicate_scores)).sum(axis=3)
    several = count > 1
    if not several.any():
        return None
    square = np.nansum((panel.replicate_scores - panel.scores[..., None]) ** 2, axis=3)
    sd = np.sqrt(square[several] / (count[several] - 1))
    weight = np.broadcast_to(panel.weights[:, None, None], count.shape)[several]
    return float(np.average(sd, weights=weight))
