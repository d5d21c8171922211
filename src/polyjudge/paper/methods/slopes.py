"""Slopes: where a judge spreads systems less or more than it usually does, deviations are stretched back."""

from __future__ import annotations

import weakref

import numpy as np

from polyjudge.calibrate.methods import Block, Map, method
from polyjudge.estimate.covariance import Moments, correlations, off_and_on, one_factor
from polyjudge.panel.arrays import Array
from polyjudge.panel.panel import Panel

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
