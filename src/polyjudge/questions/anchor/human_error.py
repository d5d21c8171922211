"""Squared error against human scores, raw and calibrated on other tasks; and the judge nearest to the humans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from polyjudge.estimate.crossfit import CrossFit
from polyjudge.estimate.kernels import draw_blocks
from polyjudge.panel.arrays import Array
from polyjudge.panel.gold import Gold
from polyjudge.panel.panel import Panel
from polyjudge.panel.records import long_table
from polyjudge.questions.anchor.agreement import quantiles
from polyjudge.report.result import Result


@dataclass(frozen=True, repr=False, eq=False)
class PanelGain(Result):
    """The fall of the mean squared error over all cells by calibration, with labels and without (identity I7).

    Columns: fit ("other tasks" is cross-fitted, "same tasks" in sample), with_labels, label_free, each with low and
    high. When humans label every task the two agree to rounding, whatever the labels say. In sample there is no
    interval: that gain is arithmetic.
    """

    table: pd.DataFrame


def error_tables(
    panel: Panel, gold: Gold, fit: CrossFit, resamples: int, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame, PanelGain, pd.DataFrame]:
    """Squared errors overall and by language, the panel's gain with and without labels, and the nearest judges.

    Intervals resample tasks and take the calibration as fitted.
    """
    n, k, m = panel.shape
    outside = fit.outside(panel.weights)[fit.fold]
    mean = panel.scores.mean(axis=2, keepdims=True)  # missing where a judge's score is
    error = np.concatenate([mean, panel.scores], axis=2) - gold.values[:, :, None]
    shift = np.concatenate([outside.mean(axis=2, keepdims=True), outside], axis=2)
    there = ~np.isnan(error)
    squares = np.stack([error**2, (error - shift) ** 2], axis=1)
    squares = np.where(there[:, None], squares, 0.0).reshape(n, -1)
    counts = there.reshape(n, -1).astype(np.float64)
    gain = (outside * (2 * fit.interactions.reshape(n, k, m) - outside)).mean(axis=(1, 2)) * fit.usable

    def sums(weights: Array) -> tuple[Array, Array, Array]:
        """Sums of squares (R, 2, k, 1 + m), entries (R, k, 1 + m) and the label-free gain (R,)."""
        free = weights @ gain / np.maximum(weights @ fit.usable.astype(np.float64), 1e-300)
        shape = (-1, k, m + 1)
        return (weights @ squares).reshape(-1, 2, *shape[1:]), (weights @ counts).reshape(shape), free

    point = sums(panel.weights[None])
    blocks = [sums(c * panel.weights) for c in draw_blocks(n, resamples, seed, panel.cluster)]
    total, entries, free = (np.concatenate([b[i] for b in blocks]) for i in range(3))
    names = ["panel mean", *panel.judges]
    moved = (there & (np.abs(shift) > panel.tie_gap)).sum(axis=0)
    labelled = there.sum(axis=0)
    overall = _frame(
        _ratio(point[0].sum(axis=2), point[1].sum(axis=1)[:, None])[0],
        _ratio(total.sum(axis=2), entries.sum(axis=1)[:, None]),
        there.any(axis=1).sum(axis=0) > 1,
    )
    table = pd.DataFrame({"decision": names, **overall, "changed": moved.sum(axis=0)})
    table["labels"] = point[1][0].sum(axis=0).round().astype(int)
    table["identity"] = [True, *[False] * m]  # the panel mean counts only where every judge has a score
    errors, drawn = _ratio(point[0], point[1][:, None])[0], _ratio(total, entries[:, None])
    by_language = long_table(
        {"language": panel.languages, "decision": names},
        **_frame(errors, drawn, labelled > 1),
        changed=moved,
        labels=point[1].round().astype(int),
    )
    gained = _panel_gain(panel, fit, error, errors, drawn, point[2][0], free)
    return table, by_language, gained, _nearest(panel, gold, errors, drawn)


def _ratio(total: Array, count: Array) -> Array:
    return np.where(count > 0, total / np.where(count > 0, count, 1.0), np.nan)


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
    panel: Panel, fit: CrossFit, error: Array, errors: Array, draws: Array, free: float, free_draws: Array
) -> PanelGain:
    fall, falls = _mean_fall(errors[0] - errors[1]), _mean_fall(draws[:, 0] - draws[:, 1])
    low, high = quantiles(falls)
    free_low, free_high = quantiles(free_draws)
    whole = (panel.weights * fit.usable) @ fit.interactions / (panel.weights * fit.usable).sum()
    whole = whole.reshape(fit.cells)
    weight = np.where(np.isnan(error[..., 1:]), 0.0, panel.weights[:, None, None])
    first = _ratio((weight * np.nan_to_num(error[..., 1:])).sum(axis=0), weight.sum(axis=0))
    same = float(_mean_fall(np.insert(2 * whole * first - whole**2, 0, 0.0, axis=1)))
    none = (np.nan, np.nan)
    rows = [
        ("other tasks", float(fall), float(low), float(high), float(free), float(free_low), float(free_high)),
        ("same tasks", same, *none, float((whole**2).mean()), *none),
    ]
    columns = ("with_labels", "with_labels_low", "with_labels_high", "label_free", "label_free_low", "label_free_high")
    return PanelGain(pd.DataFrame(rows, columns=["fit", *columns]))


def _mean_fall(fall: Array) -> Array:
    """Mean over the judges' cells of labelled languages: (..., k, 1 + m) -> (...)."""
    cells = fall[..., 1:]
    there = ~np.isnan(cells)
    out: Array = np.where(there, cells, 0.0).sum(axis=(-1, -2)) / np.maximum(there.sum(axis=(-1, -2)), 1)
    return out


def _nearest(panel: Panel, gold: Gold, errors: Array, draws: Array) -> pd.DataFrame:
    """The judge with the smallest squared error in each language, and how often it is in resamples of the tasks."""
    rows = []
    for i, language in enumerate(panel.languages):
        row: dict[str, Any] = {"language": language, "labels": int(gold.there[:, i].sum())}
        for which, word in enumerate(("raw", "calibrated")):
            mine, drawn = errors[which, i, 1:], draws[:, which, i, 1:]
            if np.isnan(mine).all():
                row |= {word: None, f"{word}_error": np.nan, f"{word}_sure": np.nan}
                continue
            best = int(np.nanargmin(mine))
            known = ~np.isnan(drawn).any(axis=1)
            sure = (drawn[known].argmin(axis=1) == best).mean() if known.any() and row["labels"] > 1 else np.nan
            row |= {word: panel.judges[best], f"{word}_error": float(mine[best]), f"{word}_sure": float(sure)}
        rows.append(row)
    return pd.DataFrame(rows)
