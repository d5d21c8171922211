"""Calibration fitted on other tasks: folds by task, and the interaction of all tasks outside each fold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polyjudge.errors import PanelError
from polyjudge.kernels import Array, double_centre
from polyjudge.panel import Panel

FOLDS = 5


@dataclass(frozen=True, eq=False)
class CrossFit:
    """Folds of a panel's tasks. `interactions` is D_t (n, k*m), 0 where a task lacks a score; `usable` marks the rest.

    A task that is not scored by every judge in every language has no D_t, so it takes no part in a fit; it is still
    calibrated, with the interaction of the other folds.
    """

    fold: NDArray[np.int64]
    folds: int
    interactions: Array
    usable: NDArray[np.bool_]
    cells: tuple[int, int]

    def outside(self, weights: Array) -> Array:
        """The interaction of the tasks outside each fold, with task weights (..., n): -> (..., folds, k, m).

        NaN for a fold with no weight outside it.
        """
        weights = weights * self.usable
        by_fold = np.stack([weights * (self.fold == f) for f in range(self.folds)], axis=-2)
        total = by_fold @ self.interactions
        mass = by_fold.sum(axis=-1)
        total = total.sum(axis=-2, keepdims=True) - total
        mass = mass.sum(axis=-1, keepdims=True) - mass
        with np.errstate(invalid="ignore", divide="ignore"):
            out: Array = np.where(mass[..., None] > 0, total / np.where(mass > 0, mass, 1.0)[..., None], np.nan)
        return out.reshape(*out.shape[:-1], *self.cells)


def crossfit(panel: Panel, seed: int, folds: int = FOLDS) -> CrossFit:
    """Cut the tasks into folds, the same for the same seed, and prepare the fits outside them."""
    n, k, m = panel.shape
    usable: NDArray[np.bool_] = np.isnan(panel.scores).sum(axis=(1, 2)) == 0
    if usable.sum() < 2:
        raise PanelError(
            f"Only {int(usable.sum())} of {n} tasks are scored by every judge in every language; a calibration fitted "
            "on other tasks needs at least two. Drop the judges or languages that lack scores (panel.select)."
        )
    folds = min(folds, int(usable.sum()))
    fold = np.empty(n, np.int64)
    order = np.random.default_rng([seed, n]).permutation(n)
    # complete tasks are dealt first, so that every fold has some whatever is missing
    order = np.concatenate([order[usable[order]], order[~usable[order]]])
    fold[order] = np.arange(n) % folds
    interactions = np.zeros((n, k * m))
    interactions[usable] = double_centre(panel.scores[usable]).reshape(-1, k * m)
    return CrossFit(fold, folds, interactions, usable, (k, m))
