"""Prediction-powered means: few labels, and predictions for all tasks (docs/methods.md, section 13)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from polyjudge.panel.arrays import Array
from polyjudge.panel.errors import UsageError
from polyjudge.panel.records import Record


@dataclass(frozen=True, repr=False, eq=False)
class PoweredMean(Record):
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
    ends: tuple[float, float] | None = None,
    clusters: ArrayLike | None = None,
    unlabelled_clusters: ArrayLike | None = None,
) -> PoweredMean:
    """Mean of the labelled quantity over all tasks, from `labels`, their `predictions`, and `unlabelled` predictions.

    The predictions' weight is tuned for the smallest variance and kept in [0, 1]. If the tuned interval were wider than
    that of the labels alone, the labels alone are taken. The labelled tasks must be a random part of all tasks. The
    interval is Student's t with one degree of freedom less than labels (or clusters of them).

    ends : lowest and highest label there can be. Labels that all lie there (pass or fail), or are all equal, say little
        about their spread: two more at each end are counted in for the interval (Agresti and Coull), which is never
        empty and stays within the ends
    clusters, unlabelled_clusters : index of each task's cluster, which is then what varies
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
    own = [np.arange(len(y)) if clusters is None else np.asarray(clusters)]
    own.append(-1 - np.arange(len(rest)) if unlabelled_clusters is None else np.asarray(unlabelled_clusters))
    cluster = np.unique(np.concatenate(own), return_inverse=True)[1]  # one numbering: a cluster may be in both parts
    centre, se, df = _spread(y, f, rest, w, v, weight, ends, cluster[: len(y)], cluster[len(y) :])
    half = float(stdtrit(df, (1 + level) / 2)) * se
    low, high = centre - half, centre + half
    if ends is not None:
        low, high, estimate = (min(max(x, ends[0]), ends[1]) for x in (low, high, estimate))
    return PoweredMean(estimate, se, min(low, estimate), max(high, estimate), weight)


def at_ends(y: Array, ends: tuple[float, float]) -> bool:
    """Whether labels are all at the ends of their scale, or all equal."""
    gap = 1e-9 * (ends[1] - ends[0])
    binary = ((np.abs(y - ends[0]) <= gap) | (np.abs(y - ends[1]) <= gap)).all()
    return bool(binary or np.ptp(y) <= gap)


def _spread(
    y: Array, f: Array, rest: Array, w: Array, v: Array, weight: float,
    ends: tuple[float, float] | None, g: NDArray[np.int64], h: NDArray[np.int64],
) -> tuple[float, float, int]:  # fmt: skip
    """Centre, standard error and degrees of freedom of the interval.

    g, h : cluster of each label and of each other prediction; what a cluster adds to both is added before it is squared
    """
    df = int(np.count_nonzero(np.bincount(g))) - 1
    if ends is not None and at_ends(y, ends):
        more = np.array([ends[0], ends[0], ends[1], ends[1]])
        y, w = np.concatenate([y, more]), np.concatenate([w, np.full(4, w.mean())])
        f = np.concatenate([f, np.full(4, f.mean())])
        df += 4
        g = np.concatenate([g, max(g.max(), h.max(initial=0)) + 1 + np.arange(4)])
    corrected = y - weight * f
    centre, parts = float(w @ corrected / w.sum()), _parts(corrected, w, g)
    if weight and len(rest):
        centre += weight * float(v @ rest / v.sum())
        parts, others = (np.pad(x, (0, max(g.max(), h.max()) + 1 - len(x))) for x in (parts, _parts(rest, v, h)))
        parts = parts + weight * others
    return centre, float(parts @ parts) ** 0.5, max(df, 1)


def tuned_weight(y: Array, f: Array, rest: Array, w: Array, v: Array) -> float:
    """The weight of the predictions with the smallest estimated variance, in [0, 1]; 0 where they cannot help."""
    if len(rest) == 0:
        return 0.0
    both, weights = np.concatenate([f, rest]), np.concatenate([w, v])
    spread = float(weights @ (both - weights @ both / weights.sum()) ** 2 / weights.sum())
    variance = spread * len(both) / (len(both) - 1)
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


def _mean_variance(x: Array, w: Array) -> float:
    """Variance of the weighted mean of independent values."""
    part = _parts(x, w, np.arange(len(x)))
    return float(part @ part)


def _parts(x: Array, w: Array, cluster: NDArray[np.int64]) -> Array:
    """What each cluster adds to the error of a weighted mean: their squares sum to its variance."""
    total = w.sum()
    n = int(np.count_nonzero(np.bincount(cluster)))
    out: Array = np.bincount(cluster, w * (x - w @ x / total) / total) * (n / max(n - 1, 1)) ** 0.5
    return out
