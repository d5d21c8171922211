"""Language means from few labels: prediction-powered inference with the panel as predictor.

See docs/methods.md, section 13.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit

from polyjudge.analyse.agreement import decide
from polyjudge.core.arrays import Array
from polyjudge.core.errors import UsageError
from polyjudge.core.gold import Gold
from polyjudge.core.panel import Panel
from polyjudge.core.results import Result

FEW_LABELS = 20
"""Below this even intervals by Student's t lean on the shape of the scores and on a weight tuned on few labels."""


@dataclass(frozen=True, repr=False, eq=False)
class PoweredMean(Result):
    """A mean from labels and predictions. `weight` is the trust in the predictions: 0 is labels alone, 1 full trust."""

    estimate: float
    se: float
    low: float
    high: float
    weight: float

    def to_frame(self) -> pd.DataFrame:
        return pd.DataFrame([self.to_dict()])


def ppi_mean(
    labels: ArrayLike,
    predictions: ArrayLike,
    unlabelled: ArrayLike,
    *,
    level: float = 0.95,
    label_weights: ArrayLike | None = None,
    unlabelled_weights: ArrayLike | None = None,
) -> PoweredMean:
    """Mean of the labelled quantity over all tasks, from `labels`, their `predictions`, and `unlabelled` predictions.

    The predictions' weight is tuned for the smallest variance and kept in [0, 1]. If the tuned interval were wider than
    that of the labels alone, the labels alone are taken. The labelled tasks must be a random part of all tasks.
    """
    y, f, rest = (np.asarray(x, float).ravel() for x in (labels, predictions, unlabelled))
    if len(y) != len(f):
        raise UsageError(f"{len(y)} labels and {len(f)} predictions for them.")
    if len(y) < 2:
        raise UsageError("A mean with an interval needs at least two labels.")
    if not (np.isfinite(y).all() and np.isfinite(f).all() and np.isfinite(rest).all()):
        raise UsageError("Labels and predictions must be finite numbers.")
    w = np.ones(len(y)) if label_weights is None else np.asarray(label_weights, float)
    v = np.ones(len(rest)) if unlabelled_weights is None else np.asarray(unlabelled_weights, float)
    weight = tuned_weight(y, f, rest, w, v)
    estimate, se = _powered(y, f, rest, w, v, weight)
    alone = _powered(y, f, rest, w, v, 0.0)
    if alone[1] < se:
        weight, (estimate, se) = 0.0, alone
    half = float(ndtri((1 + level) / 2)) * se
    return PoweredMean(estimate, se, estimate - half, estimate + half, weight)


def tuned_weight(y: Array, f: Array, rest: Array, w: Array, v: Array) -> float:
    """The weight of the predictions with the smallest estimated variance, in [0, 1]; 0 where they cannot help."""
    if len(rest) == 0:
        return 0.0
    both, weights = np.concatenate([f, rest]), np.concatenate([w, v])
    variance = _mean_square(both, weights) * len(both) / (len(both) - 1)
    if variance <= 0:
        return 0.0
    together = float(w @ ((y - w @ y / w.sum()) * (f - w @ f / w.sum())) / w.sum())
    return float(np.clip(together / ((1 + len(y) / len(rest)) * variance), 0.0, 1.0))


def _powered(y: Array, f: Array, rest: Array, w: Array, v: Array, weight: float) -> tuple[float, float]:
    """Estimate and standard error for a given weight."""
    corrected = y - weight * f
    estimate = float(w @ corrected / w.sum())
    variance = _mean_variance(corrected, w)
    if weight and len(rest):
        estimate += weight * float(v @ rest / v.sum())
        variance += weight**2 * _mean_variance(rest, v)
    return estimate, variance**0.5


def _mean_square(x: Array, w: Array) -> float:
    return float(w @ (x - w @ x / w.sum()) ** 2 / w.sum())


def _mean_variance(x: Array, w: Array) -> float:
    """Variance of the weighted mean of independent values."""
    return float(w**2 @ (x - w @ x / w.sum()) ** 2 / w.sum() ** 2)


@dataclass(frozen=True, repr=False, eq=False)
class LanguageMeans(Result):
    """Per language: labels, tasks, estimate, low, high, weight (panel and labels together); labels_only, labels_low,
    labels_high; panel_only, panel_low, panel_high. The panel-only interval is about chance alone: it does not know the
    panel's shift, so it can be narrow and wrong."""

    table: pd.DataFrame
    quantity: str
    level: float
    notes: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        return self.table


def language_means(panel: Panel, gold: Gold, *, level: float = 0.95) -> LanguageMeans:
    """Mean human score (or preference) of every language, from the labels and the panel mean on all tasks.

    For preferences the predictor is the decision of the panel mean: +1, -1 or 0. Intervals are those of `ppi_mean`,
    widened for few labels: Student's t, and variances with the number of labels less one.
    """
    quantity, guess = predictor(panel, gold)
    known = ~np.isnan(guess)
    rows, notes = [], []
    for i, language in enumerate(panel.languages):
        labelled, other = known[:, i] & gold.there[:, i], known[:, i] & ~gold.there[:, i]
        w = panel.weights
        count = int(labelled.sum())
        row: dict[str, object] = {"language": language, "labels": count, "tasks": int(known[:, i].sum())}
        y = gold.values[labelled, i]
        if count >= 2:
            both = ppi_mean(
                y,
                guess[labelled, i],
                guess[other, i],
                level=level,
                label_weights=w[labelled],
                unlabelled_weights=w[other],
            )
            half = _small_sample(count, level) * both.se
            row |= {"estimate": both.estimate, "low": both.estimate - half, "high": both.estimate + half}
            row |= {"weight": both.weight, **_plain("labels", y, w[labelled], level)}
            if count < FEW_LABELS:
                notes.append(f"{language} has only {count} labels; its intervals lean on the shape of the scores.")
        else:
            row |= dict.fromkeys(
                ("estimate", "low", "high", "weight", "labels_only", "labels_low", "labels_high"), np.nan
            )
            if count == 1:
                row["labels_only"] = float(y[0])
            notes.append(f"{language} has {'one label' if count else 'no labels'}: no estimate.")
        everyone = known[:, i]
        row |= _plain("panel", guess[everyone, i], w[everyone], level)
        rows.append(row)
    return LanguageMeans(pd.DataFrame(rows), quantity, level, tuple(notes))


def predictor(panel: Panel, gold: Gold) -> tuple[str, Array]:
    """What the labels measure, and the panel's guess of it (n, k), NaN where a judge's score is missing."""
    if gold.kind == "score":
        return "mean human score", panel.scores.mean(axis=2)
    decided = decide(panel.scores, panel.tie_gap)[..., 0].astype(np.float64)
    unknown = np.isnan(panel.scores).any(axis=2)
    return "mean human preference (share of +1 less share of -1)", np.where(unknown, np.nan, decided)


def _small_sample(count: int, level: float) -> float:
    """Student's t for a standard error that divides by `count` where it should by `count` - 1."""
    return float(stdtrit(count - 1, (1 + level) / 2) * np.sqrt(count / (count - 1)))


def _plain(word: str, x: Array, w: Array, level: float) -> dict[str, float]:
    mean = float(w @ x / w.sum()) if len(x) else np.nan
    half = _small_sample(len(x), level) * _mean_variance(x, w) ** 0.5 if len(x) > 1 else np.nan
    return {f"{word}_only": mean, f"{word}_low": mean - half, f"{word}_high": mean + half}
