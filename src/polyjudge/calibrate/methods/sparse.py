"""Sparse calibration as a method of `compare`: only the cells that explain the interaction of the drawn tasks move."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polyjudge.calibrate.methods.base import method
from polyjudge.calibrate.methods.block import Block
from polyjudge.calibrate.sparse import SparseCalibrator
from polyjudge.core.arrays import Array
from polyjudge.estimate.incomplete import estimate_interaction
from polyjudge.estimate.sparse import Units, choose_each, sized

MOST_UNITS = 2000
"""The explanation is chosen from at most this many units; the sizes come from all of them."""


@method("sparse", subtracts=True, calibrator=SparseCalibrator)
def sparse(block: Block) -> Array:
    """The excess of the cells that the drawn tasks name. The choice counts a task once, however often it was drawn."""
    panel = block.panel
    estimate = estimate_interaction(panel)
    part: NDArray[np.int64] = np.arange(len(panel.tasks))
    if len(part) > MOST_UNITS:
        part = np.sort(np.random.default_rng(len(part)).permutation(len(part))[:MOST_UNITS])
    units = Units.of(estimate.influence[part], estimate.cell_influence[part], panel.weights[part], most=len(part))
    excess, named = sized(units, block.interaction, choose_each(units, block.drawn[:, part] > 0))
    return np.where(named, excess, 0.0)
