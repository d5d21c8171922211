"""How far a panel is from human labels: language means and squared errors (docs/methods.md, section 13).

Language means by prediction-powered inference, with the panel as predictor; the squared error of every judge, raw and
calibrated on other tasks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtr

from polyjudge.second.estimate.crossfit import CrossFit
from polyjudge.second.estimate.few_labels import powered_means, stratified_means, t_interval
from polyjudge.second.estimate.label_budget import predictor
from polyjudge.second.estimate.powered import PoweredMean, ppi_mean
from polyjudge.second.estimate.resample import holm, mean_and_se, resampled
from polyjudge.second.estimate.severity import gold_weights
from polyjudge.second.estimate.shares import quantiles
from polyjudge.second.panel.arrays import Array, ratio, unit_mean
from polyjudge.second.panel.gold import Gold
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.records import long_table
from polyjudge.second.panel.say import Say, say
from polyjudge.second.questions.anchor.choices import label_means
from polyjudge.second.report.result import Result

FEW_LABELS = 20
"""Below this even intervals by Student's t lean on the shape of the scores and on a weight tuned on few labels."""


class LanguageMeans(Result):
    """Per language: labels, tasks, estimate, low, high, weight (panel and labels together); labels_only, labels_low,
    labels_high; panel_only, panel_low, panel_high. The panel-only interval is about chance alone: it does not know the
    panel's shift, so it can be narrow and wrong."""

    table: pd.DataFrame
    balance: pd.DataFrame
    """Are the labelled tasks like the others? language, labelled, others (panel means), difference, p (Holm)"""
    quantity: str
    level: float
    notes: tuple[Say, ...]


def language_means(panel: Panel, gold: Gold, *, level: float = 0.95) -> LanguageMeans:
    """Mean human score (or preference) of every language, from the labels and the panel mean on all tasks.

    For preferences the predictor is the decision of the panel mean: +1, -1 or 0. Intervals are those of `ppi_mean`.
    """
    quantity, guess = predictor(panel, gold)
    ends = panel.range if gold.kind == "score" else (-1.0, 1.0)
    known = ~np.isnan(guess)
    rows, notes = [], []
    for i, language in enumerate(panel.languages):
        labelled, other = known[:, i] & gold.there[:, i], known[:, i] & ~gold.there[:, i]
        w = panel.weights
        count = int(labelled.sum())
        row: dict[str, object] = {"language": language, "labels": count, "tasks": int(known[:, i].sum())}
        y = gold.values[labelled, i]
        both = alone = whole = None
        if count >= 2:
            about: dict[str, Any] = {"label_weights": w[labelled], "unlabelled_weights": w[other]}
            about |= {"clusters": panel.cluster[labelled], "unlabelled_clusters": panel.cluster[other]}
            given = y, guess[labelled, i], guess[other, i]
            both, alone = (ppi_mean(*given, level=level, ends=ends, powered=p, **about) for p in (True, False))
        if count < FEW_LABELS:
            notes.append(say("labels.no-estimate" if both is None else "labels.few", language=language, labels=count))
        everyone = known[:, i]
        if everyone.sum() > 1:
            f, clusters = guess[everyone, i], panel.cluster[everyone]
            whole = ppi_mean(f, f, [], level=level, label_weights=w[everyone], clusters=clusters)
        row |= _columns(both, "estimate", "low", "high") | {"weight": np.nan if both is None else both.weight}
        row |= _columns(alone, "labels_only", "labels_low", "labels_high")
        if count == 1:
            row["labels_only"] = float(y[0])
        rows.append(row | _columns(whole, "panel_only", "panel_low", "panel_high"))
    even = _balance(panel, gold)
    table = pd.DataFrame(rows)
    if gold.stratum is not None:  # drawn by a design: its weights count, and labels need not be like other tasks
        table = _by_design(panel, gold, guess, table, level)
    elif odd := even.loc[even["p"] <= 1 - level, "language"].tolist():
        notes.append(say("labels.not-random", languages=odd))
    return LanguageMeans(table=table, balance=even, quantity=quantity, level=level, notes=tuple(notes))


def _by_design(panel: Panel, gold: Gold, guess: Array, table: pd.DataFrame, level: float) -> pd.DataFrame:
    """The table with means over the strata that labels were drawn from."""
    assert gold.stratum is not None
    scores = panel.scores if gold.kind == "score" else guess[..., None]
    ends = panel.range if gold.kind == "score" else (-1.0, 1.0)
    both = powered_means(gold.values, scores, gold.stratum, panel.weights, panel.cluster)
    alone = stratified_means(gold.values[..., None], gold.stratum, panel.weights, panel.cluster)
    for names, found in ((("estimate", "low", "high"), both), (("labels_only", "labels_low", "labels_high"), alone)):
        limits = t_interval(found.mean, np.sqrt(found.variance), found.df, level)
        for name, values in zip(names, (found.mean, *limits), strict=True):
            table[name] = np.clip(values[:, 0], *ends)
    return table.drop(columns="weight")


def _columns(found: PoweredMean | None, *names: str) -> dict[str, float]:
    """Estimate and limits under these names; NaN where there is none."""
    values = (np.nan,) * 3 if found is None else (found.estimate, found.low, found.high)
    return dict(zip(names, values, strict=True))


def _balance(panel: Panel, gold: Gold) -> pd.DataFrame:
    """Panel means of labelled tasks against those of the others, by Welch's t test, Holm-adjusted over languages."""
    rows = []
    for i, language in enumerate(panel.languages):
        mean = panel.scores[:, i].mean(axis=1)
        parts = []
        for part in (gold.there[:, i], ~gold.there[:, i]):
            part = part & ~np.isnan(mean)
            code = np.unique(panel.cluster[part], return_inverse=True)[1]
            enough = len(code) and code.max() > 0
            se = mean_and_se(mean[part], panel.weights[part], code) if enough else (np.nan, np.nan)
            parts.append((float(se[0]), float(se[1]), int(code.max()) if enough else 0))
        (a, sa, na), (b, sb, nb) = parts
        variance = sa**2 + sb**2
        p = 1.0
        if variance > 0:
            df = variance**2 / (sa**4 / max(na, 1) + sb**4 / max(nb, 1))
            p = float(2 * stdtr(df, -abs(a - b) / variance**0.5))
        rows.append((language, a, b, a - b, p))
    frame = pd.DataFrame(rows, columns=["language", "labelled", "others", "difference", "p"])
    return frame.assign(p=holm(frame["p"].to_numpy()))


# --- squared error ---


class PanelGain(Result):
    """The fall of the mean squared error over all cells by calibration, with labels and without (identity I7).

    Columns: fit ("other tasks" is cross-fitted, "same tasks" in sample), with_labels, label_free, each with low and
    high. When humans label every task the two agree to rounding, whatever the labels say. In sample there is no
    interval: that gain is arithmetic.
    """

    table: pd.DataFrame


def error_tables(
    panel: Panel, gold: Gold, fit: CrossFit, resamples: int, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame, PanelGain]:
    """Squared errors overall and by language, and the panel's gain with and without labels.

    Intervals resample tasks and take the calibration as fitted.
    """
    k, m = panel.shape[1:]
    outside = fit.removed
    mean = panel.scores.mean(axis=2, keepdims=True)  # missing where a judge's score is
    error = np.concatenate([mean, panel.scores], axis=2) - gold.values[:, :, None]
    shift = np.concatenate([outside.mean(axis=2, keepdims=True), outside], axis=2)
    there = ~np.isnan(error)
    rows = np.flatnonzero(gold.there.any(axis=1))
    squares = np.stack([error[rows] ** 2, (error - shift)[rows] ** 2], axis=1)
    weight = gold_weights(panel, gold)[rows]
    point, draws, count = label_means(squares, there[rows], weight, panel, resamples, seed, rows)
    count, names = count.round().astype(int), ["panel mean", *panel.judges]
    moved = (there & (np.abs(shift) > panel.tie_gap)).sum(axis=0)
    overall = _frame(point[:, k], draws[:, :, k], there.any(axis=1).sum(axis=0) > 1)
    table = pd.DataFrame({"decision": names, **overall, "changed": moved.sum(axis=0), "labels": count[k]})
    table["identity"] = [True, *[False] * m]  # the panel mean counts only where every judge has a score
    by_language = long_table(
        {"language": panel.languages, "decision": names},
        **_frame(point[:, :k], draws[:, :, :k], there.sum(axis=0) > 1),
        changed=moved,
        labels=count[:k],
    )
    own = (outside * (2 * fit.interactions - outside)).mean(axis=(1, 2))
    terms = np.stack([own * fit.usable, fit.usable], axis=1)
    free = resampled(lambda sums: sums[:, 0] / np.maximum(sums[:, 1], 1e-300), terms, panel, resamples, seed)
    return table, by_language, _panel_gain(panel, fit, error, point[:, :k], draws[:, :, :k], *free)


def _frame(errors: Array, draws: Array, enough: Array) -> dict[str, Any]:
    """Raw, calibrated and gain with intervals from (2, ...) errors and (R, 2, ...) draws."""
    out: dict[str, Any] = {}
    for word, value, values in (
        ("raw", errors[0], draws[:, 0]),
        ("calibrated", errors[1], draws[:, 1]),
        ("gain", errors[0] - errors[1], draws[:, 0] - draws[:, 1]),
    ):
        low, high = (np.where(enough, x, np.nan) for x in quantiles(values))
        out |= {word: value, f"{word}_low": low, f"{word}_high": high}
    return out


def _panel_gain(
    panel: Panel, fit: CrossFit, error: Array, errors: Array, draws: Array, free: Array, free_draws: Array
) -> PanelGain:
    fall, falls = _mean_fall(errors[0] - errors[1]), _mean_fall(draws[:, 0] - draws[:, 1])
    low, high = quantiles(falls)
    free_low, free_high = quantiles(free_draws)
    whole = unit_mean(fit.interactions, panel.weights * fit.usable)
    weight = np.where(np.isnan(error[..., 1:]), 0.0, panel.weights[:, None, None])
    first = ratio((weight * np.nan_to_num(error[..., 1:])).sum(axis=0), weight.sum(axis=0), np.nan)
    same = float(_mean_fall(np.insert(2 * whole * first - whole**2, 0, 0.0, axis=1)))
    none = (np.nan, np.nan)
    rows = [
        ("other tasks", float(fall), float(low), float(high), float(free), float(free_low), float(free_high)),
        ("same tasks", same, *none, float((whole**2).mean()), *none),
    ]
    columns = ("with_labels", "with_labels_low", "with_labels_high", "label_free", "label_free_low", "label_free_high")
    return PanelGain(table=pd.DataFrame(rows, columns=["fit", *columns]))


def _mean_fall(fall: Array) -> Array:
    """Mean over the judges' cells of labelled languages: (..., k, 1 + m) -> (...)."""
    cells = fall[..., 1:]
    there = ~np.isnan(cells)
    out: Array = np.where(there, cells, 0.0).sum(axis=(-1, -2)) / np.maximum(there.sum(axis=(-1, -2)), 1)
    return out
