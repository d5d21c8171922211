"""The array type, the tie rule and the weighted mean that the panel itself needs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

TIE_TOLERANCE = 1e-9
"""Two values closer than this share of the score range count as tied (docs/methods.md, section 7)."""


def unit_mean(scores: Array, weights: Array | None = None) -> Array:
    """Weighted mean over the first axis (units): (n, ...) -> (...)."""
    if weights is None:
        out: Array = scores.mean(axis=0)
        return out
    flat: Array = weights @ scores.reshape(len(scores), -1) / weights.sum()
    return flat.reshape(scores.shape[1:])


def tie_gap(low: float, high: float) -> float:
    """The absolute gap below which two values on the scale [low, high] count as tied."""
    return TIE_TOLERANCE * max(high - low, np.finfo(float).tiny)
