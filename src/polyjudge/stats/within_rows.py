"""Least squares of systems inside rows, with covariates such as the length or the place of an answer (METHODS 36).

A row holds what one judge gave to several systems on one task. Its own level is absorbed, so only differences inside
rows count. Every coefficient has one number per unit, as cells have in `cells.py`; here it is by influence.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polyjudge.stats.cells import Values, sum_by

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
TINY = 1e-7
"""An eigenvalue below this share of the largest one is zero: that combination is not estimable."""


def centre_rows(values: Array, seen: Mask) -> Array:
    """Values (rows, systems) less the mean of what is seen in their row; 0 where nothing is seen."""
    n_seen = np.maximum(seen.sum(1, keepdims=True), 1)
    filled = np.where(seen, values, 0.0)
    return np.where(seen, filled - filled.sum(1, keepdims=True) / n_seen, 0.0)


def fit_within_rows(
    scores: Array, unit: NDArray[np.int64], units: int, weight: Array, covariates: Sequence[Array] = ()
) -> Values:
    """Values (units, systems + covariates) of the coefficients: y = row + system + sum of g_k x_k + error.

    A = Z'WZ and r = Z'Wy are sums over rows, Z the row-centred dummies and covariates; theta = A+ r. The value of unit
    u is theta + U A+ (r_u - A_u theta), and r_u - A_u theta is the sum of Z'W e over the rows of u, e the residual.

    scores, covariates : (rows, systems), NaN where missing; a score without all its covariates is left out
    """
    n_systems = scores.shape[1]
    seen = np.isfinite(scores)
    for covariate in covariates:
        seen = seen & np.isfinite(covariate)
    seen = seen & (seen.sum(1, keepdims=True) > 1)
    x = [centre_rows(covariate, seen) for covariate in covariates]
    y = centre_rows(scores, seen)
    w = weight[:, None]
    normal = _normal_matrix(seen, x, w)
    right = np.concatenate([(w * y).sum(0), [float((w * column * y).sum()) for column in x]])

    inverse, null = _invert(normal)
    theta = inverse @ right

    fitted = centre_rows(np.broadcast_to(theta[:n_systems], y.shape), seen)
    for slope, column in zip(theta[n_systems:], x, strict=True):
        fitted = fitted + slope * column
    residual = w * (y - fitted)
    score = np.column_stack([residual, *((column * residual).sum(1) for column in x)])
    influence = units * sum_by(score, unit, units) @ inverse
    return Values(theta + influence, null, "within rows")


def _normal_matrix(seen: Mask, x: Sequence[Array], w: Array) -> Array:
    """Z'WZ of row-centred dummies of systems and covariates, without making Z."""
    n_systems, n_covariates = seen.shape[1], len(x)
    observed = seen.astype(float)
    root = np.sqrt(w / np.maximum(observed.sum(1, keepdims=True), 1.0))
    normal = np.zeros((n_systems + n_covariates, n_systems + n_covariates))
    normal[:n_systems, :n_systems] = np.diag((w * observed).sum(0)) - (root * observed).T @ (root * observed)
    for k, column in enumerate(x):
        across = (w * column).sum(0)
        normal[n_systems + k, :n_systems] = across
        normal[:n_systems, n_systems + k] = across
        for other in range(k + 1):
            product = float((w * column * x[other]).sum())
            normal[n_systems + k, n_systems + other] = normal[n_systems + other, n_systems + k] = product
    return normal


def _invert(normal: Array) -> tuple[Array, Array]:
    """The inverse of a normal matrix on what it determines, and its null space."""
    eigenvalues, vectors = np.linalg.eigh(normal)
    live = eigenvalues > TINY * max(eigenvalues[-1], 1e-300)
    return (vectors[:, live] / eigenvalues[live]) @ vectors[:, live].T, vectors[:, ~live]
