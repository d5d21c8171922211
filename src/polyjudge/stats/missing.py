"""Whether missing scores depend on judge and language: then they may be failures, not chance (METHODS 14, 33)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Mask = NDArray[np.bool_]
LEAST = 0.02
"""Share of missing scores by which a cell differs from the others before it counts."""


@dataclass(frozen=True)
class MissingRates:
    """Shares of missing scores (languages, judges): in each cell, in the others on average, and which certainly lack
    more than the others."""

    rate: Array
    elsewhere: Array
    uneven_mask: Mask


def missing_rates(scores: Array, units: int, weight: Array) -> MissingRates | None:
    """Shares of missing scores of each cell; None where nothing is missing, or there is one cell.

    scores : (tasks, systems, languages, judges), NaN where missing
    weight : (tasks,)
    """
    seen = np.isfinite(scores)
    rate = 1 - np.average(seen.mean(1), axis=0, weights=weight)
    if seen.all() or rate.size < 2:
        return None
    elsewhere = (rate.sum() - rate) / (rate.size - 1)
    standard_error = np.sqrt(np.maximum(elsewhere * (1 - elsewhere), 1e-4) / units)
    is_certain = (rate - elsewhere) / standard_error > 4
    return MissingRates(rate, elsewhere, is_certain & (rate - elsewhere > LEAST) & (rate < 1))


def depends_on_cell(scores: Array, unit: Index, weight: Array) -> bool:
    """Whether scores are certainly missing more often in one cell than in the others."""
    rates = missing_rates(scores, len(np.unique(unit)), weight)
    return rates is not None and bool(rates.uneven_mask.any())
