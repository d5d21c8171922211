"""The raw cell means, consensus-based calibration and its upper bound."""

from __future__ import annotations

import numpy as np

from polyjudge.kernels import Array
from polyjudge.methods.base import Block, method


@method("raw", subtracts=True)
def raw(block: Block) -> Array:
    """Nothing is subtracted."""
    return np.zeros_like(block.left_out)


@method("cbc", subtracts=True, identity="full fit is 1 by arithmetic (I3)")
def cbc(block: Block) -> Array:
    """The interaction estimated from the drawn tasks."""
    return block.interaction


@method(
    "oracle",
    subtracts=True,
    identity="tau is 1 and the gain positive by arithmetic: it uses the evaluation tasks (I3)",
)
def oracle(block: Block) -> Array:
    """The interaction of the evaluation tasks themselves: an upper bound, not a method."""
    return block.left_out_interaction
