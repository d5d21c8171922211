"""How much each judge reacts to differences between answers: its slope on the mean of the other judges (METHODS 18)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polyjudge.stats.interval import Interval, interval

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Slopes:
    """Slopes of judges; NaN where a judge never varies.

    slope : (judges,) multiple of the mean slope (1: reacts as the judges do on average)
    r : (judges,) correlation with the mean of the others
    by_unit : (units, judges) one number per unit, whose mean is the slope
    interval : of the slopes
    """

    slope: Array
    r: Array
    by_unit: Array
    interval: Interval


def slopes(scores: Array, unit: NDArray[np.int64], weight: Array, level: float = 0.95) -> Slopes:
    """Slopes of the judges of scores (rows, systems, languages, judges).

    Scores are centred within language: what a language does to all of them has no part in a slope. Noise flattens all
    slopes alike, and so cancels in the multiple.
    """
    seen = np.isfinite(scores)
    n_judges, n_units = scores.shape[3], int(unit.max()) + 1
    row_weight = weight[:, None, None]
    centred = _centre_in_language(scores, seen, row_weight)
    total, n_seen = centred.sum(3), seen.sum(3)
    slope, r = np.full(n_judges, np.nan), np.full(n_judges, np.nan)
    influence = np.zeros((n_units, n_judges))
    tiny = 1e-18 * max(float(np.nanmax(np.abs(scores))), 1e-300) ** 2 * scores.size
    for judge in range(n_judges):
        has_others = seen[..., judge] & (n_seen > 1)
        others = np.where(has_others, (total - centred[..., judge]) / np.maximum(n_seen - 1, 1), 0.0)
        own = np.where(has_others, centred[..., judge], 0.0)
        xx, xy, yy = (float((row_weight * p).sum()) for p in (others * others, others * own, own * own))
        if min(xx, yy) > tiny:
            slope[judge], r[judge] = xy / xx, xy / np.sqrt(xx * yy)
            by_row = (row_weight * others * (own - slope[judge] * others)).sum((1, 2)) / xx
            influence[:, judge] = np.bincount(unit, by_row, minlength=n_units) * n_units
    mean = slope.mean()
    if not mean > 0.05:  # also where it is NaN
        unknown = np.full((n_units, n_judges), np.nan)
        return Slopes(np.full(n_judges, np.nan), r, unknown, interval(unknown, level=level))
    slope = slope / mean
    by_unit = slope + (influence - slope * influence.mean(1, keepdims=True)) / mean
    return Slopes(slope, r, by_unit, interval(by_unit, level=level))


def _centre_in_language(scores: Array, seen: NDArray[np.bool_], row_weight: Array) -> Array:
    """Scores less the mean of their language and judge, 0 where missing."""
    filled = np.where(seen, scores, 0.0)
    number = np.maximum((row_weight[..., None] * seen).sum((0, 1)), 1e-300)
    return np.where(seen, filled - (row_weight[..., None] * filled).sum((0, 1)) / number, 0.0)
