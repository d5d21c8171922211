"""The array type, the tie rule and the weighted mean that the panel itself needs; and pandas, once it is used."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd
else:

    class _Pandas:
        """pandas, loaded when it is first used: it takes longer to load than a small table takes to check."""

        def __getattr__(self, name: str) -> Any:
            found = getattr(import_module("pandas"), name)
            setattr(self, name, found)
            return found

    pd = _Pandas()

__all__ = [
    "AT_ONCE", "TIE_TOLERANCE", "Array", "is_frame", "mean_there", "pd", "ratio", "row_blocks", "tie_gap", "unit_mean",
]  # fmt: skip

Array = NDArray[np.float64]

TIE_TOLERANCE = 1e-9
"""Two values closer than this share of the score range count as tied (docs/methods.md, section 7)."""


AT_ONCE = 2_000_000
"""Entries that are worked on together, where an array as large as a panel would be made for a moment only."""


def is_frame(value: Any) -> TypeGuard[pd.DataFrame]:
    """Whether this is a data frame; pandas is not loaded to find out."""
    return "pandas" in sys.modules and isinstance(value, pd.DataFrame)


def row_blocks(values: NDArray[Any], width: int = 1) -> Iterator[slice]:
    """Parts of the first axis of at most `AT_ONCE` entries, each of which becomes `width`; one part when they fit."""
    step = max(1, AT_ONCE * len(values) // max(1, values.size * width))
    return (slice(start, start + step) for start in range(0, len(values), step))


def unit_mean(scores: Array, weights: Array) -> Array:
    """Weighted mean over the first axis (units): (n, ...) -> (...)."""
    flat: Array = weights @ scores.reshape(len(scores), -1) / weights.sum()
    return flat.reshape(scores.shape[1:])


def mean_there(values: Array, axis: int | tuple[int, ...], keepdims: bool = False) -> Array:
    """Mean of what is there (not NaN), NaN where nothing is."""
    there = ~np.isnan(values)
    count = there.sum(axis=axis, keepdims=keepdims)
    total = np.where(there, values, 0.0).sum(axis=axis, keepdims=keepdims)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def ratio(top: Array, bottom: Array, otherwise: float = 0.0) -> Array:
    """top / bottom where the bottom is above 0, else `otherwise`."""
    there = bottom > 0
    if there.all():
        return np.asarray(top / bottom)
    return np.divide(top, bottom, out=np.full_like(top, otherwise), where=there)


def tie_gap(low: float, high: float) -> float:
    """The absolute gap below which two values on the scale [low, high] count as tied."""
    return TIE_TOLERANCE * max(high - low, np.finfo(float).tiny)
