"""How much each judge reacts to differences between answers: its slope on the mean of the other judges (METHODS 18)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polyjudge.stats.interval import Interval, interval

Array = NDArray[np.float64]


def slopes(scores: Array, unit: NDArray[np.int64], weight: Array, level: float = 0.95) -> tuple[Array, Array, Interval]:
    """Slope of each judge as a multiple of the mean slope (1: reacts as the judges do on average), its correlation with
    the mean of the others, and the intervals of the slopes; NaN where a judge never varies.

    Scores (rows, systems, languages, judges) are centred within language: what a language does to all of them has no
    part in a slope. Noise flattens all slopes alike, and so cancels in the multiple.
    """
    seen = np.isfinite(scores)
    m, units, w = scores.shape[3], int(unit.max()) + 1, weight[:, None, None]
    z = np.where(seen, scores, 0.0)
    number = np.maximum((w[..., None] * seen).sum((0, 1)), 1e-300)
    z = np.where(seen, z - (w[..., None] * z).sum((0, 1)) / number, 0.0)
    total, others = z.sum(3), seen.sum(3)
    slope, r = np.full(m, np.nan), np.full(m, np.nan)
    influence = np.zeros((units, m))
    tiny = 1e-18 * max(float(np.nanmax(np.abs(scores))), 1e-300) ** 2 * scores.size
    for b in range(m):
        use = seen[..., b] & (others > 1)
        x = np.where(use, (total - z[..., b]) / np.maximum(others - 1, 1), 0.0)
        own = np.where(use, z[..., b], 0.0)
        xx, xy, yy = (float((w * p).sum()) for p in (x * x, x * own, own * own))
        if min(xx, yy) > tiny:
            slope[b], r[b] = xy / xx, xy / np.sqrt(xx * yy)
            each = (w * x * (own - slope[b] * x)).sum((1, 2)) / xx
            influence[:, b] = np.bincount(unit, each, minlength=units) * units
    mean = slope.mean()
    if not mean > 0.05:  # also where it is NaN
        return np.full(m, np.nan), r, interval(np.full((units, m), np.nan), level=level)
    slope = slope / mean
    return slope, r, interval(slope + (influence - slope * influence.mean(1, keepdims=True)) / mean, level=level)
