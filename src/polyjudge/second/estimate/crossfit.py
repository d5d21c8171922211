"""Calibration fitted on other tasks: folds by task, and the interaction of all tasks outside each fold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polyjudge.second.estimate.incomplete import estimate_interaction
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.panel import Panel

FOLDS = 5


@dataclass(frozen=True, eq=False, kw_only=True)
class CrossFit:
    """Folds of a panel's tasks, (n,). `interactions` is D_t (n, k, m), or the influence values of a panel with missing
    scores; `usable` marks tasks with any score, (n,)."""

    fold: NDArray[np.int64]
    interactions: Array
    usable: NDArray[np.bool_]
    outside: Array
    """(folds, k, m): the interaction of the tasks outside each fold."""
    void: bool = False
    """Whether there was nothing to fit: then it changes no score."""

    @property
    def removed(self) -> Array:
        """(n, k, m): what the calibration fitted on other tasks takes off each score."""
        return self.outside[self.fold]


def crossfit(panel: Panel, seed: int, folds: int = FOLDS) -> CrossFit:
    """Cut the tasks into folds, the same for the same seed, and fit outside them."""
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
    with np.errstate(invalid="ignore", divide="ignore"):
        outside = estimate.resample((fold != np.arange(folds)[:, None]) & usable)[1]
    if np.isnan(outside).any():
        raise PanelError(
            "So many scores are missing that the tasks outside a fold do not identify the interaction; a calibration "
            "fitted on other tasks cannot be had. Drop the judges or languages that lack scores (panel.select)."
        )
    return CrossFit(fold=fold, interactions=estimate.influence, usable=usable, outside=outside)


def no_crossfit(panel: Panel) -> CrossFit:
    """A fit that changes nothing, for a panel that has no interaction to be estimated."""
    n, k, m = panel.shape
    nothing, usable = np.zeros((n, k, m)), np.ones(n, bool)
    return CrossFit(fold=np.arange(n) % 2, interactions=nothing, usable=usable, outside=nothing[:2], void=True)
