"""Values: one number per sampling unit and cell, by means or by least squares with pseudo-values (METHODS 14, 17)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Values:
    """v : (units, ...) one number per unit and cell; NaN in a cell that was never seen. Mean over units: the estimate.
    null : (cells, r) a contrast K of cells can be estimated only where K @ null is 0
    design : own terms of a row that were absorbed ("complete", "task:language + task:judge", "task:language", "task")
    seen : (units,) number of the group of units that saw the same languages, where languages share no tasks; else None
    """

    v: Array
    null: Array
    design: str = "complete"
    seen: NDArray[np.int64] | None = None

    @property
    def units(self) -> int:
        """Number of units."""
        return len(self.v)

    @property
    def mean(self) -> Array:
        """The estimate of each cell."""
        return self.v.mean(0)

    @property
    def present(self) -> NDArray[np.bool_]:
        """Cells that were seen."""
        return np.isfinite(self.v).all(0)
