"""One bootstrap of units, for statistics that are no contrast of means (METHODS 17)."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

MOST_GROUPS = 2000
"""Units beyond this are drawn in random groups of equal size: as good, and fast."""


def groups_of(units: int, seed: int = 0) -> NDArray[np.int64]:
    """The group of each unit that is drawn as one: itself, or one of `MOST_GROUPS` random groups."""
    if units <= MOST_GROUPS:
        return np.arange(units)
    return np.random.default_rng(seed).permutation(units) % MOST_GROUPS


@lru_cache(maxsize=1)
def bootstrap(units: int, draws: int = 400, seed: int = 0) -> NDArray[np.float64]:
    """How often each of so many units (or groups of units) is drawn, (draws, units); several answers ask the same."""
    drawn = np.random.default_rng(seed).multinomial(units, np.full(units, 1 / units), draws).astype(np.float64)
    drawn.setflags(write=False)
    return drawn
