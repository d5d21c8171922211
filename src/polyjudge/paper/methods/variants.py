"""CBC with weighted judges, with robust or shrunken cells, and the oracle that has seen the tasks it is judged by."""

from __future__ import annotations

from functools import partial

import numpy as np

from polyjudge.calibrate.consensus import ConsensusCalibrator
from polyjudge.calibrate.methods import REGISTRY, Block, method, method_of
from polyjudge.estimate.kernels import double_centre
from polyjudge.panel.arrays import Array


@method(
    "cbc-weighted",
    subtracts=True,
    identity="as-cbc",
    calibrator=partial(ConsensusCalibrator, "variance"),
    part=double_centre,
)
def cbc_weighted(block: Block) -> Array:
    """The interaction against a language mean that weights judges by their steadiness over languages.

    w(b) is proportional to 1 / Var_l[Tr(l, b)]; it differs from cbc by a constant per language.
    """
    columns = block.train - block.train.mean(axis=-2, keepdims=True)
    variance = (columns**2).mean(axis=-2, keepdims=True)
    inverse = 1 / np.where(variance <= block.gap**2, 1e-8, variance)
    weights = inverse / inverse.sum(axis=-1, keepdims=True)
    out: Array = columns - (columns * weights).sum(axis=-1, keepdims=True)
    return out


@method("oracle", subtracts=True, identity="oracle", compares_only="it uses the scores it is judged by")
def oracle(block: Block) -> Array:
    """The interaction of the evaluation tasks themselves: an upper bound, not a method."""
    return block.left_out_interaction


for _variant in (
    ConsensusCalibrator(shrinkage="auto"),
    ConsensusCalibrator(location="trimmed"),
    ConsensusCalibrator(location="huber"),
    ConsensusCalibrator(location="median_of_means"),
):
    REGISTRY[_variant.name] = method_of(_variant)
