"""The raw cell means, consensus-based calibration and its upper bound."""

from __future__ import annotations

from functools import partial

import numpy as np

from polyjudge.calibrate.consensus import ConsensusCalibrator
from polyjudge.calibrate.methods.base import REGISTRY, method, method_of
from polyjudge.calibrate.methods.block import Block
from polyjudge.core.arrays import Array
from polyjudge.estimate.gain import best_keep
from polyjudge.estimate.incomplete import estimate_interaction
from polyjudge.estimate.kernels import double_centre


@method("raw", subtracts=True, part=np.zeros_like)
def raw(block: Block) -> Array:
    """Nothing is subtracted."""
    return np.zeros_like(block.left_out)


@method("cbc", subtracts=True, identity="full-fit", calibrator=ConsensusCalibrator, part=double_centre)
def cbc(block: Block) -> Array:
    """The interaction estimated from the drawn tasks."""
    return block.interaction


@method("shrunken", subtracts=True, part=double_centre, keep=best_keep)
def shrunken(block: Block) -> Array:
    """The interaction of the drawn tasks less the share of it that is noise (empirical Bayes)."""
    d = estimate_interaction(block.panel).influence.reshape(len(block.panel.tasks), -1)
    total = block.drawn.sum(axis=1)
    size = (block.interaction**2).sum(axis=(-2, -1))
    square = np.maximum(block.drawn @ (d * d).sum(axis=1) / total - size, 0.0)
    noise = square / max(len(d) - 1, 1)
    kept = np.maximum(0.0, 1 - np.divide(noise, size, out=np.ones_like(size), where=size > 0))
    out: Array = kept[:, None, None] * block.interaction
    return out


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
