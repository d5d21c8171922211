"""How much of the scores is what: R2 of two models, variance components, the three-way test, and main effects.

See docs/methods.md, section 6.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import fdtrc, stdtrit

from polyjudge.second.estimate.components import (
    COMPONENTS,
    degrees,
    panel_components,
    replicate_noise,
    sums_of_squares,
    three_way_p,
)
from polyjudge.second.estimate.incomplete import sampling_panel
from polyjudge.second.estimate.kernels import double_centre, ranks
from polyjudge.second.estimate.resample import bootstrap_means, check_level, jackknife, mean_and_se
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import Say, say
from polyjudge.second.report.result import Result

FEWEST_WHOLE = 0.5
"""Variance components need tasks without holes; at least this share of them must be so."""


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
    """Sums of squares, as published: what the models leave, and in all."""
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

    >>> from polyjudge.second import simulate_panel
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
    sst, simplified, full = fit(panel)
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


def fit(panel: Panel) -> tuple[float, float, float]:
    """Total and residual sums of squares of the simplified and the full model on replicate-level rows."""
    rows = panel.scores[..., None] if panel.replicate_scores is None else panel.replicate_scores
    if np.isnan(rows).any():
        return _least_squares(rows, panel.weights)
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
    return total, simplified, max(simplified - m * r * float((w @ extra**2).sum()), 0.0)


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
    squares, df = sums_of_squares(panel.scores, panel.weights), degrees(len(panel.tasks), panel.shape[1:])
    noise = replicate_noise(panel)
    estimate, parts = panel_components(panel)
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


# --- main effects ---
# The mean over judges of one broken cell looks like a shift of its whole language. The median does not move with it;
# where the two disagree no shift is shared.


def language_effect(panel: Panel, level: float, matters: float, resamples: int, seed: int) -> pd.DataFrame:
    """Shared shift of each language: language, effect (mean over judges), se, low, high, rank; median (over judges, of
    what a language adds to each one's own mean), median_low, median_high; odd (the judge farthest from the median) and
    disagrees: mean and median surely differ, by what matters or more. Languages are tested together. A judge that is
    the odd one where they differ is left out of the medians.
    """
    frame = main_effect(panel, "language", level)
    panel = sampling_panel(panel)
    n, k, m = panel.shape

    def own(means: Array) -> Array:
        out: Array = means - means.mean(axis=-2, keepdims=True)
        return out

    seen, drawn = own(panel.cell_means), own(bootstrap_means(panel.scores, panel.weights, resamples, seed))
    inflate = np.sqrt(n / (n - 1))
    middle = np.median(seen, axis=1)
    gap = seen.mean(axis=1) - middle
    error = (drawn.mean(axis=2) - np.median(drawn, axis=2)).std(axis=0) * inflate
    sure = np.abs(gap) > stdtrit(n - 1, 1 - (1 - level) / (2 * k)) * error + panel.tie_gap
    odd = np.abs(seen - middle[:, None]).argmax(axis=1)
    frame["disagrees"] = sure & (np.abs(gap) >= matters)
    # A judge that makes the mean of a language still draws the median of few others towards it.
    kept = ~np.isin(np.arange(m), odd[frame["disagrees"]])
    if kept.sum() > 1:
        seen, drawn = seen[:, kept], drawn[..., kept]
    middle = np.median(seen, axis=1)
    half = stdtrit(n - 1, (1 + level) / 2) * np.median(drawn, axis=2).std(axis=0) * inflate
    frame["median"], frame["median_low"], frame["median_high"] = middle, middle - half, middle + half
    frame["odd"] = np.array(panel.judges, object)[odd]
    return frame


def main_effect(panel: Panel, of: Literal["judge", "language"], level: float) -> pd.DataFrame:
    """Overall mean of each judge or language less the grand mean, from its value in every task: judge or language,
    effect, se, low, high, rank."""
    panel = sampling_panel(panel)
    scores, labels = panel.scores, panel.judges if of == "judge" else panel.languages
    values: Array = scores.mean(axis=1 if of == "judge" else 2) - scores.mean(axis=(1, 2))[:, None]
    effect, se = mean_and_se(values, panel.weights)
    half = stdtrit(len(values) - 1, (1 + level) / 2) * se
    frame = pd.DataFrame({of: labels, "effect": effect, "se": se, "low": effect - half, "high": effect + half})
    frame["rank"] = ranks(effect, panel.tie_gap)
    return frame
