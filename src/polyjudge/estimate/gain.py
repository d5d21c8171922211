"""What subtracting a fitted matrix is worth without labels: identity I7, estimated without bias and with an interval.

Subtract A(l, b), centred over the judges of each language, from the scores. The squared distance of a judge drawn at
random to any truth that does not depend on the judge falls by mean (2 A b - A^2), b being the true deviation of the
cells from the panel mean of their language. For A = B x with x a mean over tasks the estimate
2 (x' B x - tr B V) - |B x|^2 has no bias, V the covariance of x (docs/methods.md, I7).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from polyjudge.estimate.resample import in_groups
from polyjudge.panel.arrays import Array


@dataclass(frozen=True)
class Gain:
    """Fall of the mean squared distance, in points squared, of the very fit that was made; and the same in sample."""

    estimate: float
    se: float
    low: float
    high: float
    in_sample: float


def unbiased_gain(values: Array, weights: Array, *, keep: float = 1.0, level: float = 0.95) -> Gain:
    """Gain of subtracting `keep` times the mean over units of `values` (n, ...), itself a projection of the scores.

    The interval is a jackknife over units, widened by what the gain of this fit differs from that of an average fit:
    the jackknife sees the error e of the mean once, the gain of the fit made from it falls by it once more (6 tr V^2).
    NaN for fewer than three units.
    """
    values, weights = in_groups(values, weights)
    n = len(values)
    flat = values.reshape(n, -1)
    cells = flat.shape[1]
    share = weights / weights.sum()
    centre = share @ flat
    d = flat - centre
    square = (d * d).sum(axis=1)
    size = float(centre @ centre)
    noise = n / (n - 1) * float(share**2 @ square)

    def gain(size: Array | float, noise: Array | float) -> Array | float:
        return (2 * keep * (size - noise) - keep**2 * size) / cells

    estimate = float(gain(size, noise))
    in_sample = (2 * keep - keep**2) * size / cells
    if n < 3:
        return Gain(estimate, np.nan, np.nan, np.nan, in_sample)
    rest = 1 - share
    moved = -d * (share / rest)[:, None]  # how far the mean moves without each unit
    sizes = ((centre + moved) ** 2).sum(axis=1)
    others = share**2 @ d - d * (share**2)[:, None]
    noises = (share**2 @ square - share**2 * square) - 2 * (moved * others).sum(axis=1)
    noises = (noises + (moved**2).sum(axis=1) * ((share**2).sum() - share**2)) * (n - 1) / (n - 2) / rest**2
    parts = np.asarray(gain(sizes, noises))
    jackknife = (n - 1) / n * float(((parts - parts.mean()) ** 2).sum())
    scaled = d * share[:, None]
    gram = n / (n - 1) * scaled @ scaled.T
    trace = max(float((gram**2).sum()) - float(np.trace(gram)) ** 2 / (n - 1), 0.0)
    se = float(np.sqrt(jackknife + 6 * keep**2 * trace / cells**2))
    half = float(stdtrit(n - 1, (1 + level) / 2)) * se
    return Gain(estimate, se, estimate - half, estimate + half, in_sample)


def best_keep(values: Array, weights: Array) -> float:
    """Share of the mean over units that is best kept: 1 - tr V / |x|^2, at least 0 (James and Stein)."""
    n = len(values)
    flat = values.reshape(n, -1)
    share = weights / weights.sum()
    centre = share @ flat
    size = float(centre @ centre)
    noise = n / (n - 1) * float(share**2 @ ((flat - centre) ** 2).sum(axis=1))
    return max(0.0, 1 - noise / size) if size > 0 else 0.0
