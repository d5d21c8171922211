"""Matrix completion by soft-impute: a matrix of few strong patterns behind noisy or missing cells.

Mazumder, Hastie and Tibshirani 2010: fill the missing cells with the present guess, take the threshold off every
singular value, and repeat. On a complete matrix one step is the answer.
"""

from __future__ import annotations

import numpy as np

from polyjudge.calibrate.methods import Block, method
from polyjudge.estimate.incomplete import estimate_interaction
from polyjudge.panel.arrays import Array

ROUNDS = 2000
TOLERANCE = 1e-9


def soft_impute(matrix: Array, threshold: Array | float) -> Array:
    """Matrices (..., k, m) with NaN where a cell is missing -> complete ones, singular values less `threshold` (...).

    >>> soft_impute(np.diag([3.0, 1.0]), 1.0)
    array([[2., 0.],
           [0., 0.]])
    """
    missing = np.isnan(matrix)
    out = np.where(missing, 0.0, matrix)
    size = np.maximum(np.abs(out).max(axis=(-2, -1), keepdims=True), 1e-300)
    for _ in range(ROUNDS):
        left, values, right = np.linalg.svd(np.where(missing, out, matrix), full_matrices=False)
        less = np.maximum(values - np.asarray(threshold)[..., None], 0.0)
        new = (left * less[..., None, :]) @ right
        moved, out = np.abs(new - out) / size, new
        if not missing.any() or moved.max() < TOLERANCE:
            break
    return out


@method("completion", subtracts=True)
def completion(block: Block) -> Array:
    """The interaction of the drawn tasks less what noise alone puts into every singular value (soft-impute).

    The threshold is the largest singular value to be expected of noise: its sd times sqrt(k - 1) + sqrt(m - 1).
    """
    k, m = block.interaction.shape[-2:]
    d = estimate_interaction(block.panel).influence.reshape(len(block.panel.tasks), -1)
    square = block.drawn @ (d * d).sum(axis=1) / block.drawn.sum(axis=1)
    square = np.maximum(square - (block.interaction**2).sum(axis=(-2, -1)), 0.0)
    noise = np.sqrt(square / max(len(d) - 1, 1) / ((k - 1) * (m - 1)))
    return soft_impute(block.interaction, noise * (np.sqrt(k - 1) + np.sqrt(m - 1)))
