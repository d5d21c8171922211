"""ComBat with empirical-Bayes shrinkage, pooled (docs/methods.md, section 7): languages are the batches."""

from __future__ import annotations

import numpy as np

from polyjudge.calibrate.methods import Block, Map, method
from polyjudge.panel.arrays import Array


@method("combat-eb", complete=True)
def combat(block: Block) -> Map:
    """Remove each language's shrunken location and scale of the residuals after grand mean and judge effect.

    Every sum over training rows follows from the cells' means and variances, so no row is touched per resample.
    """
    train = block.train
    total = block.drawn.sum(axis=1)[:, None]  # (R, 1) tasks drawn
    grand = train.mean(axis=(-2, -1), keepdims=True)
    fixed = grand + (train.mean(axis=-2, keepdims=True) - grand)  # G + a(b)
    shift = (train - fixed).mean(axis=-1)  # c(l), (R, k)
    rows = total * train.shape[-1]  # N(l)
    # Sum of squares of r - c(l) in a cell: its own variance plus the square of its mean, the interaction.
    square = _cell_variances(block) + (train - fixed - shift[..., None]) ** 2
    spread = square.mean(axis=-1)  # variance of r - c(l) in each language, (R, k)
    pooled = spread.mean(axis=-1, keepdims=True)  # V
    between = shift.var(axis=-1, keepdims=True)  # T2
    location = shift * _shrink(between, pooled / rows)
    scale = np.sqrt(np.where(pooled > 0, spread / np.where(pooled > 0, pooled, 1.0), 1.0))  # s(l)
    scale = np.maximum(1e-6, 1 + (scale - 1) * _shrink(scale.var(axis=-1, keepdims=True), 1 / rows))
    scale = np.broadcast_to(scale[..., None], train.shape)
    return Map(shift=location[..., None] + fixed * (1 - scale), scale=scale)


def _cell_variances(block: Block) -> Array:
    """Population variance of the training scores in every cell, (R, k, m)."""
    # Scores are centred on the cell means of the whole panel first, so that squares do not cancel.
    n, k, m = block.panel.shape
    centred = (block.panel.scores - block.panel.cell_means).reshape(n, k * m)
    share = block.drawn / block.drawn.sum(axis=1, keepdims=True)
    out: Array = np.maximum(share @ centred**2 - (share @ centred) ** 2, 0.0)
    return out.reshape(-1, k, m)


def _shrink(signal: Array, noise: Array) -> Array:
    """signal / (signal + noise), 0 where both are 0."""
    whole = signal + noise
    return np.where(whole > 0, signal / np.where(whole > 0, whole, 1.0), 0.0)
