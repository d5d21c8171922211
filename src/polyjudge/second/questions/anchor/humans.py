"""What labels say of a panel, by language: its error, what correcting it removes, who wins, which judge to use, and
whether that is settled (docs/methods.md, section 26)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from polyjudge.second.estimate.few_labels import (
    Fall,
    Shrunken,
    Stratified,
    fall_of_error,
    label_weights,
    paired_variance,
    shrink,
    steady_variance,
    stratified_means,
    t_interval,
)
from polyjudge.second.estimate.label_budget import labels_more
from polyjudge.second.estimate.severity import strata_of
from polyjudge.second.panel.arrays import Array, mean_there
from polyjudge.second.panel.gold import Gold
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.records import long_table
from polyjudge.second.panel.say import Say, say
from polyjudge.second.questions.anchor.raters import Annotators
from polyjudge.second.report.result import Result

PANEL = "panel mean"
FEWEST = 10
"""Labels that a correlation in a language needs."""
GROUPS = 40
"""Groups of tasks that are left out in turn."""


class LanguageError(Result):
    """The panel and its judges against the humans, language by language.

    table : language, judge ("panel mean" first), labels, shift (minus human, points) with low and high, error (the same
        shrunk to the mean of all languages, tau and annotators allowed for) with error_low and error_high, weight
        (of the language's own labels), settled
    fall : the language error of the panel mean (root mean square over languages, about their mean) before and after
        subtracting the shrunken errors, on tasks without labels, and the share of its square that goes
    free : share of a single judge's squared language error that calibrating without labels removes, with limits
    judges : language ("(all)" first), judge, labels, correlation with the labels, shrunken, disattenuated, best, sure
    board : system, panel, rank_panel, humans (mean as humans would give it) with low and high, rank, tied
    explained : share of the squared differences between languages that the annotators' severity may explain
    """

    table: pd.DataFrame
    fall: Fall
    free: tuple[float, float, float] | None
    between: float
    """Sd between languages of the panel's error, sampling taken off."""
    explained: tuple[float, float, float]
    judges: pd.DataFrame
    board: pd.DataFrame | None
    next_labels: int
    """Further labels a language that would settle what is open; 0 when nothing is."""
    matters: float
    notes: tuple[Say, ...] = ()

    @property
    def of_panel(self) -> pd.DataFrame:
        """The rows of the panel mean, one for each language."""
        return self.table[self.table["judge"] == PANEL].reset_index(drop=True)

    @property
    def by_annotators(self) -> bool:
        """Whether severity of the annotators may be most of the differences between languages: that cannot be ruled
        out, and it is a good part of them."""
        return self.explained[0] >= 0.25 and self.explained[2] >= 0.5


def language_error(
    panel: Panel,
    gold: Gold,
    raters: Annotators | None = None,
    systems: list[str] | None = None,
    *,
    matters: float | None = None,
    seed: int = 7,
) -> LanguageError:
    """Hold a panel (of answers, where it has systems) against human scores.

    systems : the system of every unit of the panel
    matters : an error within +- this is small; 5% of the scale when not given
    """
    low, high = panel.range
    matters = 0.05 * (high - low) if matters is None else matters
    stratum = strata_of(panel, gold)
    columns = np.concatenate([panel.scores.mean(axis=2, keepdims=True), panel.scores], axis=2)
    difference = columns - gold.values[..., None]
    fit = stratified_means(difference, stratum, panel.weights, panel.cluster)
    severity = np.zeros(len(panel.languages)) if raters is None else raters.variance
    shrunk = [shrink(fit.mean[:, c], steady_variance(fit, c) + severity) for c in range(columns.shape[2])]
    tasks = (stratum >= 0).sum(axis=0).astype(float)
    table, open_ = _table(panel, fit, shrunk, matters)
    between2 = _between(fit, 0)
    return LanguageError(
        table=table,
        fall=fall_of_error(fit, shrunk[0].estimate, tasks, seed),
        free=_free(difference, stratum, panel) if len(panel.judges) > 1 else None,
        between=float(np.sqrt(max(between2, 0.0))),
        explained=_explained(raters, between2),
        judges=_judges(panel, gold, stratum, raters),
        board=None if not systems else _board(panel, gold, systems, stratum),
        next_labels=labels_more(panel, gold, matters) if open_.any() else 0,
        matters=matters,
        notes=_notes(panel, gold, fit),
    )


def _notes(panel: Panel, gold: Gold, fit: Stratified) -> tuple[Say, ...]:
    """Languages with too few labels, and labels that cannot be compared."""
    few = [say("humans.skewed")] if fit.labels[fit.labels > 0].min(initial=99) < 20 else []
    few += [say("labels.one", language=panel.languages[i]) for i in np.flatnonzero(fit.labels == 1)]
    lost = int(gold.there.sum() - fit.labels.sum())
    return (*few, say("labels.no-panel-mean", count=lost)) if lost else tuple(few)


def _table(
    panel: Panel, fit: Stratified, shrunk: list[Shrunken], matters: float
) -> tuple[pd.DataFrame, NDArray[np.bool_]]:
    k = len(panel.languages)
    own_low, own_high = t_interval(fit.mean, np.sqrt(fit.variance), fit.df)
    estimate = np.array([s.estimate for s in shrunk])  # (1 + m, k)
    se = np.sqrt(np.array([s.se for s in shrunk]) ** 2 + fit.shared[:, None])
    half, wide = float(ndtri(0.975)) * se, float(ndtri(1 - 0.025 / k)) * se[0]
    # settled: the panel mean in all languages at once, beyond zero or within what matters
    low, high = estimate[0] - wide, estimate[0] + wide
    settled = (low > 0) | (high < 0) | ((low > -matters) & (high < matters))
    frame = long_table(
        {"judge": [PANEL, *panel.judges], "language": panel.languages},
        labels=np.tile(fit.labels, len(shrunk)),
        shift=fit.mean.T,
        low=own_low.T,
        high=own_high.T,
        error=estimate,
        error_low=estimate - half,
        error_high=estimate + half,
        weight=np.array([s.weight for s in shrunk]),
        settled=np.array([*settled, *[None] * (estimate.size - k)], object),
    )
    frame.insert(0, "language", frame.pop("language"))
    return frame, ~settled & (fit.labels > 0)


def _between(fit: Stratified, column: int) -> float:
    """Variance between languages of the true differences: that of the means less their own error."""
    x, v = fit.mean[:, column], paired_variance(fit, column)
    known = np.isfinite(x)
    return float(np.var(x[known], ddof=1) - v[known].mean()) if known.sum() > 1 else np.nan


def _free(difference: Array, stratum: NDArray[np.int64], panel: Panel) -> tuple[float, float, float] | None:
    """Share of a judge's squared language error that double centring removes: 1 - that of the panel mean by theirs,
    which by arithmetic is not larger.

    None where judges have no clear error by language: there is nothing to remove.
    """

    def errors(keep: NDArray[np.bool_]) -> tuple[float, float]:
        fit = stratified_means(np.where(keep[:, None, None], difference, np.nan), stratum, panel.weights)
        own = [_between(fit, c) for c in range(difference.shape[2])]
        return own[0], float(np.mean(own[1:]))

    group = np.unique(panel.cluster, return_inverse=True)[1]
    g = min(GROUPS, int(group.max()) + 1)
    whole, judge = errors(np.ones(len(difference), bool))
    parts = np.array([errors(group % g != x) for x in range(g)])

    def half(values: Array) -> float:
        return float(stdtrit(g - 1, 0.975) * np.sqrt((g - 1) / g * ((values - values.mean()) ** 2).sum()))

    if not judge > half(parts[:, 1]):
        return None
    point, ends = 1 - whole / judge, half(1 - parts[:, 0] / parts[:, 1])
    value, low, high = (min(max(x, 0.0), 1.0) for x in (point, point - ends, point + ends))
    return value, low, high


def _explained(raters: Annotators | None, between2: float) -> tuple[float, float, float]:
    """Share of the variance between languages that annotators' severity may be, with limits by their spread's."""
    if raters is None or np.isnan(raters.spread[0]) or np.isnan(between2):
        return (np.nan,) * 3
    left = float(raters.variance.mean()) / max(raters.spread[0] ** 2, 1e-300)  # links leave less of it
    parts = (left * s**2 for s in raters.spread)
    value, low, high = (min(p / between2, 1.0) if between2 > p else float(p > 0) for p in parts)
    return value, low, high


def _judges(panel: Panel, gold: Gold, stratum: NDArray[np.int64], raters: Annotators | None) -> pd.DataFrame:
    """Correlation of every judge with the labels, shrunk over languages, and which judge is best where."""
    k, m = len(panel.languages), len(panel.judges)
    weight = label_weights(stratum, gold.there & (stratum >= 0), panel.weights) * panel.weights[:, None]
    z, variance, labels = np.full((k, m), np.nan), np.full((k, m), np.nan), np.zeros((k, m), np.int64)
    for i in range(k):
        for j in range(m):
            known = gold.there[:, i] & ~np.isnan(panel.scores[:, i, j]) & (stratum[:, i] >= 0)
            labels[i, j] = known.sum()
            if known.sum() >= FEWEST:
                w = weight[known, i]
                r = _weighted_correlation(panel.scores[known, i, j], gold.values[known, i], w)
                z[i, j] = np.arctanh(np.clip(r, -0.999, 0.999))
                variance[i, j] = (w**2).sum() / w.sum() ** 2 * 1.1
    perfect = 1.0 if raters is None or np.isnan(raters.reliability) else np.sqrt(max(raters.reliability, 0.05))
    shrunk = [shrink(z[:, j], variance[:, j]) for j in range(m)]
    # (k + 1, m): over all languages, then in each
    estimate = np.array([[s.mean, *s.estimate] for s in shrunk]).T
    se = np.concatenate([np.sqrt(mean_there(variance, 0) / k)[None], np.array([s.se for s in shrunk]).T])
    best, sure = np.zeros(estimate.shape, bool), np.full(estimate.shape, np.nan)
    rng = np.random.default_rng(0)
    for i, known in enumerate([True, *np.isfinite(z).any(axis=1)]):
        if known and np.isfinite(estimate[i]).all():
            first = int(estimate[i].argmax())
            drawn = rng.normal(estimate[i], se[i], (2000, m)).argmax(axis=1)
            best[i, first], sure[i, first] = True, (drawn == first).mean()
    value, low, high = np.tanh([estimate, estimate - 1.96 * se, estimate + 1.96 * se])
    return long_table(
        {"language": ["(all)", *panel.languages], "judge": panel.judges},
        labels=np.concatenate([labels.sum(axis=0)[None], labels]),
        own=np.tanh(np.concatenate([np.full((1, m), np.nan), z])),
        correlation=value,
        low=low,
        high=high,
        disattenuated=np.minimum(value / perfect, 1.0),
        best=best,
        sure=sure,
    )


def _weighted_correlation(a: Array, b: Array, w: Array) -> float:
    x, y = a - w @ a / w.sum(), b - w @ b / w.sum()
    scale = float(np.sqrt((w @ x**2) * (w @ y**2)))
    return float(w @ (x * y)) / scale if scale > 0 else 0.0


def _board(panel: Panel, gold: Gold, systems: list[str], stratum: NDArray[np.int64]) -> pd.DataFrame:
    """Systems as humans would rank them: the panel's mean less its error for the system, shrunk over systems."""
    names, code = np.unique(systems, return_inverse=True)
    mean = panel.scores.mean(axis=2)
    own = np.array(
        [np.nanmean(mean[code == s]) if np.isfinite(mean[code == s]).any() else np.nan for s in range(len(names))]
    )
    error, variance = np.full(len(names), np.nan), np.full(len(names), np.nan)
    count = np.zeros(len(names), np.int64)
    known = gold.there & ~np.isnan(mean) & (stratum >= 0)
    w = label_weights(stratum, known, panel.weights) * panel.weights[:, None]
    d = np.where(w > 0, mean - gold.values, 0.0)
    for s in range(len(names)):
        mine = np.where((code == s)[:, None], w, 0.0)
        total = mine.sum()
        count[s] = int((mine > 0).sum())
        if count[s] > 1:
            error[s] = (mine * d).sum() / total
            part = np.bincount(panel.cluster, (mine * (d - error[s])).sum(axis=1) / total)
            free = max(int((np.bincount(panel.cluster, mine.sum(axis=1)) > 0).sum()) - 1, 1)
            variance[s] = float(part @ part) * (free + 1) / free
    if not np.isfinite(error).any():
        return pd.DataFrame()
    fit = shrink(error, np.where(np.isfinite(variance), np.nanmean(variance * count) / np.maximum(count, 1), np.nan))
    humans = own - fit.estimate
    frame = pd.DataFrame(
        {
            "system": names, "labels": count, "panel": own, "humans": humans,
            "low": humans - 1.96 * fit.se, "high": humans + 1.96 * fit.se,
        }
    )  # fmt: skip
    frame["rank"] = frame["humans"].rank(ascending=False, method="min")
    frame["rank_panel"] = frame["panel"].rank(ascending=False, method="min")
    best = int(np.nanargmax(humans))
    frame["tied"] = humans[best] - humans <= 1.96 * np.sqrt(fit.se**2 + fit.se[best] ** 2)
    return frame.sort_values("rank", kind="stable", ignore_index=True)
