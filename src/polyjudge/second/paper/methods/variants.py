"""CBC with weighted judges, with robust or shrunken cells, and the oracle that has seen the tasks it is judged by."""

from __future__ import annotations

import weakref
from functools import partial

import numpy as np

from polyjudge.second.calibrate.consensus import ConsensusCalibrator
from polyjudge.second.calibrate.methods import REGISTRY, Block, Map, method, method_of
from polyjudge.second.estimate.covariance import Moments, correlations, off_and_on, one_factor
from polyjudge.second.estimate.incomplete import estimate_interaction
from polyjudge.second.estimate.kernels import double_centre
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.panel import Panel


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
    return columns - (columns * weights).sum(axis=-1, keepdims=True)


@method("oracle", subtracts=True, identity="oracle", compares_only="it uses the scores it is judged by")
def oracle(block: Block) -> Array:
    """The interaction of the evaluation tasks themselves: an upper bound, not a method."""
    return block.left_out_interaction


@method("completion", subtracts=True)
def completion(block: Block) -> Array:
    """The interaction of the drawn tasks less what noise alone puts into every singular value: of a matrix without
    holes one step of soft-impute (Mazumder, Hastie and Tibshirani 2010).

    The threshold is the largest singular value to be expected of noise: its sd times sqrt(k - 1) + sqrt(m - 1).
    """
    k, m = block.interaction.shape[-2:]
    d = estimate_interaction(block.panel).influence.reshape(len(block.panel.tasks), -1)
    square = block.drawn @ (d * d).sum(axis=1) / block.drawn.sum(axis=1)
    square = np.maximum(square - (block.interaction**2).sum(axis=(-2, -1)), 0.0)
    noise = np.sqrt(square / max(len(d) - 1, 1) / ((k - 1) * (m - 1)))
    left, values, right = np.linalg.svd(block.interaction, full_matrices=False)
    less = np.maximum(values - (noise * (np.sqrt(k - 1) + np.sqrt(m - 1)))[..., None], 0.0)
    return (left * less[..., None, :]) @ right


# --- slopes: where a judge spreads systems less or more than it usually does, deviations are stretched back ---

SEES = 0.1
"""Where the judges' agreement is below this, slopes are noise: the language, or the judge there, is left as it is."""
MOST = 4.0
"""No score is stretched or squeezed by more than this."""

_moments: weakref.WeakKeyDictionary[Panel, Moments] = weakref.WeakKeyDictionary()


@method("slopes", by_name=True)
def slopes(block: Block) -> Map:
    """Deviations from a cell's mean over its slope (docs/methods.md, section 17); the cell's mean stays.

    The slope is the loading of the cell in a one-factor model of the judges' agreement about systems within tasks (or
    about tasks, without systems) over the judge's mean loading. It takes three judges.
    """
    ratio = _ratios(block)
    return Map(shift=block.train * (1 - ratio), scale=ratio)


def _ratios(block: Block) -> Array:
    shape = block.train.shape
    if shape[-1] < 3:
        return np.ones(shape)
    moments = _moments.get(block.panel)
    if moments is None:
        moments = _moments[block.panel] = Moments.of(block.panel, by_task=True)
    v = moments.covariance(block.drawn / block.panel.weights)
    off, on = off_and_on(v)
    sees = off > SEES * on
    loading = np.where(sees[..., None], one_factor(v), np.nan)
    r = correlations(v)
    agrees = (r.sum(axis=-1) - np.diagonal(r, axis1=-2, axis2=-1)) / (shape[-1] - 1)
    known = np.isfinite(loading) & (loading > 0) & (agrees > SEES)
    count = known.sum(axis=-2, keepdims=True)
    mean = np.where(known, loading, 0.0).sum(axis=-2, keepdims=True) / np.maximum(count, 1)
    ratio = np.where(known & (count > 1), loading / np.where(mean > 0, mean, 1.0), 1.0)
    return np.clip(ratio, 1 / MOST, MOST)


for _variant in (
    ConsensusCalibrator(shrinkage="auto"),
    ConsensusCalibrator(location="trimmed"),
    ConsensusCalibrator(location="huber"),
    ConsensusCalibrator(location="median_of_means"),
):
    REGISTRY[_variant.name] = method_of(_variant)
