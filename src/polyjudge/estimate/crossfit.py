"""Calibration fitted on other tasks: folds by task, and the interaction of all tasks outside each fold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polyjudge.estimate.incomplete import InteractionEstimate, estimate_interaction
from polyjudge.panel.arrays import Array
from polyjudge.panel.errors import PanelError
from polyjudge.panel.panel import Panel

FOLDS = 5


@dataclass(frozen=True, eq=False, kw_only=True)
class CrossFit:
    """Folds of a panel's tasks. `interactions` is D_t (n, k*m), or the influence values of a panel with missing scores,
    whose fits outside a fold are least squares within tasks. `usable` marks tasks with any score.
    """

    panel: Panel
    fold: NDArray[np.int64]
    interactions: Array
    usable: NDArray[np.bool_]
    holes: InteractionEstimate | None = None
    """The estimate of a panel with missing scores; None for a complete one."""
    void: bool = False
    """Whether there was nothing to fit: then it changes no score."""

    @property
    def folds(self) -> int:
        return int(self.fold.max()) + 1

    def outside(self, weights: Array) -> Array:
        """The interaction of the tasks outside each fold, with task weights (..., n): -> (..., folds, k, m).

        NaN for a fold outside which nothing can be fitted.
        """
        weights, cells = weights * self.usable, self.panel.shape[1:]
        if self.holes is not None:
            others = np.stack([weights * (self.fold != f) for f in range(self.folds)], axis=-2)
            _, found = self.holes.resample((others / self.panel.weights).reshape(-1, others.shape[-1]))
            return found.reshape(*others.shape[:-1], *cells)
        by_fold = np.stack([weights * (self.fold == f) for f in range(self.folds)], axis=-2)
        total = by_fold @ self.interactions
        mass = by_fold.sum(axis=-1)
        total = total.sum(axis=-2, keepdims=True) - total
        mass = mass.sum(axis=-1, keepdims=True) - mass
        with np.errstate(invalid="ignore", divide="ignore"):
            out: Array = np.where(mass[..., None] > 0, total / np.where(mass > 0, mass, 1.0)[..., None], np.nan)
        return out.reshape(*out.shape[:-1], *cells)


def crossfit(panel: Panel, seed: int, folds: int = FOLDS) -> CrossFit:
    """Cut the tasks into folds, the same for the same seed, and prepare the fits outside them."""
    estimate = estimate_interaction(panel)
    usable: NDArray[np.bool_] = panel.counts.sum(axis=(1, 2)) > 0
    whole: NDArray[np.bool_] = np.isnan(panel.scores).sum(axis=(1, 2)) == 0
    folds = min(folds, int(usable.sum()))
    if panel.clustered:  # the tasks of a cluster are left out together
        whole = np.bincount(panel.cluster, ~whole) == 0
    g = len(whole)
    folds = min(folds, g)
    dealt = np.empty(g, np.int64)
    order = np.random.default_rng([seed, g]).permutation(g)
    # complete tasks are dealt first, so that every fold has some whatever is missing
    order = np.concatenate([order[whole[order]], order[~whole[order]]])
    dealt[order] = np.arange(g) % folds
    fold = dealt[panel.cluster] if panel.clustered else dealt
    interactions, holes = estimate.influence.reshape(len(fold), -1), None if panel.complete else estimate
    fit = CrossFit(panel=panel, fold=fold, interactions=interactions, usable=usable, holes=holes)
    if np.isnan(fit.outside(panel.weights)).any():
        raise PanelError(
            "So many scores are missing that the tasks outside a fold do not identify the interaction; a calibration "
            "fitted on other tasks cannot be had. Drop the judges or languages that lack scores (panel.select)."
        )
    return fit


def no_crossfit(panel: Panel) -> CrossFit:
    """A fit that changes nothing, for a panel that has no interaction to be estimated."""
    n, k, m = panel.shape
    nothing, usable = np.zeros((n, k * m)), np.ones(n, bool)
    return CrossFit(panel=panel, fold=np.arange(n) % 2, interactions=nothing, usable=usable, void=True)
