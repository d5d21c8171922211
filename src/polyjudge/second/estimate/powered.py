"""Prediction-powered means: few labels, and predictions for all tasks (docs/methods.md, section 13)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtrit

from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.records import Record

RESAMPLES, SEED = 499, 7
MANY = 300
"""Labels from which Student's t, corrected for skewness, holds without resampling."""


class PoweredMean(Record):
    """A mean from labels and predictions. `weight` is the trust in the predictions: 0 is labels alone, 1 full trust."""

    estimate: float
    se: float
    low: float
    high: float
    weight: float


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
    powered: bool = True,
) -> PoweredMean:
    """Mean of the labelled quantity over all tasks, from `labels`, their `predictions`, and `unlabelled` predictions.

    The predictions' weight is tuned for the smallest variance and kept in [0, 1]. If the tuned interval were wider than
    that of the labels alone, the labels alone are taken. The labelled tasks must be a random part of all tasks. Each
    limit is the farther one of Student's t (one degree of freedom less than labels, or clusters of them), of
    bootstrap-t, and of t corrected for the skewness of all predictions, which tell of rare labels that few labels miss.

    ends : lowest and highest label there can be. Labels that all lie there (pass or fail), or are all equal, say little
        about their spread: two more at each end are counted in for the interval (Agresti and Coull), which is never
        empty and stays within the ends. Where nearly all are equal one more at each other end is
    clusters, unlabelled_clusters : index of each task's cluster, which is then what varies
    powered : False is the mean of the labels alone; the predictions then only tell of their skewness
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
    own = [np.arange(len(y)) if clusters is None else np.asarray(clusters)]
    own.append(-1 - np.arange(len(rest)) if unlabelled_clusters is None else np.asarray(unlabelled_clusters))
    cluster = np.unique(np.concatenate(own), return_inverse=True)[1]  # one numbering: a cluster may be in both parts
    data = _Data(y, f, rest, w, v, cluster[: len(y)], cluster[len(y) :])
    weight = tuned_weight(y, f, rest, w, v)
    skewness = _skewness(np.concatenate([f, rest])) if weight else 0.0
    alone = _interval(data, 0.0, skewness, ends, level)
    if not (weight and powered):
        return alone
    both = _interval(data, weight, skewness, ends, level)
    return both if both.high - both.low <= alone.high - alone.low else alone


@dataclass(frozen=True, eq=False)
class _Data:
    """Labels, their predictions and the others', weights of both, and the cluster of each."""

    y: Array
    f: Array
    rest: Array
    w: Array
    v: Array
    g: NDArray[np.int64]
    h: NDArray[np.int64]


def _interval(d: _Data, weight: float, skewness: float, ends: tuple[float, float] | None, level: float) -> PoweredMean:
    """The mean for a given weight of the predictions, with its limits."""
    more, moved = _added(d.y, ends)
    estimate, se, df = _spread(d, weight)
    centre, below, above = estimate, *(float(stdtrit(df, (1 + level) / 2)),) * 2
    if len(more):
        g = np.concatenate([d.g, max(d.g.max(), d.h.max(initial=0)) + 1 + np.arange(len(more))])
        y, w = np.concatenate([d.y, more]), np.concatenate([d.w, np.full(len(more), d.w.mean())])
        f = np.concatenate([d.f, np.full(len(more), d.f.mean())])
        middle, se, df = _spread(replace(d, y=y, f=f, w=w, g=g), weight)
        centre, below = middle if moved else estimate, float(stdtrit(df, (1 + level) / 2))
        above = below
    elif se > 0:
        below, above = _reach(d, weight, skewness, estimate, se, below, level)
    low, high = centre - below * se, centre + above * se
    if ends is not None:
        low, high, estimate = (min(max(x, ends[0]), ends[1]) for x in (low, high, estimate))
    low, high = min(low, estimate), max(high, estimate)
    return PoweredMean(estimate=estimate, se=se, low=low, high=high, weight=weight)


def at_ends(y: Array, ends: tuple[float, float]) -> bool:
    """Whether labels are all at the ends of their scale, or all equal."""
    gap = 1e-9 * (ends[1] - ends[0])
    binary = ((np.abs(y - ends[0]) <= gap) | (np.abs(y - ends[1]) <= gap)).all()
    return bool(binary or np.ptp(y) <= gap)


def _added(y: Array, ends: tuple[float, float] | None) -> tuple[Array, bool]:
    """Labels to count in for the interval, and whether its centre moves with them.

    Nearly all labels are equal when one resample in eighty would have no other.
    """
    if ends is None:
        return np.zeros(0), False
    if at_ends(y, ends):
        return np.repeat(ends, 2), True
    values, counts = np.unique(y, return_counts=True)
    usual, share = values[counts.argmax()], counts.max() / len(y)
    gap = 1e-9 * (ends[1] - ends[0])
    return np.array([x for x in ends if abs(x - usual) > gap and share ** len(y) > 1 / 80]), False


def _reach(
    d: _Data, weight: float, skewness: float, estimate: float, se: float, t: float, level: float
) -> tuple[float, float]:
    """Standard errors from the estimate to the lower and the upper limit: at least `t` of them."""
    n = int(np.count_nonzero(np.bincount(d.g)))
    z = float(ndtri((1 + level) / 2))
    turn = (skewness or _skewness(d.y) * (n > MANY)) * (2 * z * z + 1) / (6 * n**0.5)
    below, above = max(t, t - turn), max(t, t + turn)
    if n > MANY:
        return below, above
    low, high = np.quantile(_studentised(d, weight > 0, estimate, se), [(1 - level) / 2, (1 + level) / 2])
    return max(below, float(high)), max(above, float(-low))


def _skewness(x: Array) -> float:
    spread = float(x.std())
    return float(((x - x.mean()) ** 3).mean()) / spread**3 if spread > 0 else 0.0


def _studentised(d: _Data, tuned: bool, estimate: float, se: float) -> Array:
    """(R,) error over standard error in resamples of the labels' clusters, the weight tuned anew in each."""
    code = np.unique(d.g, return_inverse=True)[1]
    n = int(code.max()) + 1
    first = np.stack([np.bincount(code, d.w * x) for x in (np.ones(len(d.y)), d.y, d.f, d.y * d.f, d.f * d.f)])
    drawn, shocks = _draws(n)
    total, sy, sf, syf, sff = first @ drawn.T
    size, others = float(d.v.sum()), (float(d.v @ d.rest), float(d.v @ d.rest**2))
    omega = np.zeros(RESAMPLES)
    if tuned:
        mean = (sf + others[0]) / (total + size)
        variance = (sff + others[1]) / (total + size) - mean**2
        omega = np.clip((syf / total - sy * sf / total**2) / ((1 + len(d.y) / len(d.rest)) * variance), 0.0, 1.0)
    w, a, b = first[:3]
    pairs = np.stack([a * a, b * b, w * w, a * b, a * w, b * w]) @ drawn.T
    pool = float((_parts(d.rest, d.v, d.h) ** 2).sum()) if tuned else 0.0

    def variance_of(weight: Array) -> Array:
        centre = (sy - weight * sf) / total
        square = pairs[0] + weight**2 * pairs[1] + centre**2 * pairs[2]
        square += 2 * (weight * (centre * pairs[5] - pairs[3]) - centre * pairs[4])
        return np.maximum(square, 0.0) / total**2 * n / max(n - 1, 1) + weight**2 * pool

    omega = np.where(variance_of(0 * omega) < variance_of(omega), 0.0, omega)
    level = others[0] / size + pool**0.5 * shocks if tuned else 0.0
    error = (sy - omega * sf) / total + omega * level - estimate
    return error / np.maximum(np.sqrt(variance_of(omega)), se / 10)


@lru_cache(maxsize=64)
def _draws(n: int) -> tuple[Array, Array]:
    """(R, n) how often each of n clusters is drawn, and (R,) normal values."""
    rng = np.random.default_rng([SEED, n])
    return rng.multinomial(n, np.full(n, 1 / n), RESAMPLES).astype(float), rng.standard_normal(RESAMPLES)


def _spread(d: _Data, weight: float) -> tuple[float, float, int]:
    """Estimate, standard error and degrees of freedom; what a cluster adds to both parts is added before squaring."""
    corrected = d.y - weight * d.f
    centre, parts = float(d.w @ corrected / d.w.sum()), _parts(corrected, d.w, d.g)
    if weight and len(d.rest):
        centre += weight * float(d.v @ d.rest / d.v.sum())
        size = max(d.g.max(), d.h.max()) + 1
        parts, others = (np.pad(x, (0, size - len(x))) for x in (parts, _parts(d.rest, d.v, d.h)))
        parts = parts + weight * others
    return centre, float(parts @ parts) ** 0.5, max(int(np.count_nonzero(np.bincount(d.g))) - 1, 1)


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


def _parts(x: Array, w: Array, cluster: NDArray[np.int64]) -> Array:
    """What each cluster adds to the error of a weighted mean: their squares sum to its variance."""
    total = w.sum()
    n = int(np.count_nonzero(np.bincount(cluster)))
    return np.bincount(cluster, w * (x - w @ x / total) / total) * (n / max(n - 1, 1)) ** 0.5
