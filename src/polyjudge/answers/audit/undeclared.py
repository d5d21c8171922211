"""Are tasks that are named alike scored alike, though no cluster was declared? (METHODS 17)

Such tasks (doc0-q0, doc0-q1) are no independent ones, and intervals are then too narrow.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtri

from polyjudge.base.text import names
from polyjudge.panel import Panel
from polyjudge.report.model import Finding

Array = NDArray[np.float64]
Index = NDArray[np.int64]
FEWEST_TASKS = 12
MOST_COLUMNS = 300
WIDER = 0.3
"""How much larger than by single tasks the variance of a mean must be."""


def clusters(panel: Panel) -> Finding | None:
    """A note where the beginnings of task names tell groups that are certainly scored alike."""
    if panel.clustered or panel.units != len(panel.tasks) or panel.units < FEWEST_TASKS or np.ptp(panel.weight) > 0:
        return None
    stems = [re.split(r"[-_/.:# ]+(?=[^-_/.:# ]+$)", t)[0] for t in panel.tasks]
    labels, group, sizes = np.unique(stems, return_inverse=True, return_counts=True)
    no_stems = all(stem == task for stem, task in zip(stems, panel.tasks, strict=True))
    if not 2 <= len(labels) <= len(stems) / 2 or no_stems:
        return None
    if not _are_scored_alike(_centred_scores(panel), group.ravel(), sizes):
        return None
    text = (
        f"Tasks whose names begin alike ({names(labels, 3)}) are scored alike, so intervals may be too narrow. If they "
        "belong together, as questions on one document do, name a column that says so: --cluster COLUMN."
    )
    return Finding("notice", "clusters", text, "Off")


def _centred_scores(panel: Panel) -> Array:
    """Scores (tasks, columns) less the means of columns and tasks; 0 where missing."""
    x = panel.scores.reshape(len(panel.tasks), -1)
    x = x[:, np.unique(np.linspace(0, x.shape[1] - 1, MOST_COLUMNS).astype(int))]
    seen = np.isfinite(x)
    x = np.where(seen, x - np.nanmean(np.where(seen.any(0), x, 0.0), axis=0), 0.0)
    task_mean = x.sum(1, keepdims=True) / np.maximum(seen.sum(1, keepdims=True), 1)
    return np.where(seen, x - task_mean, 0.0)


def _are_scored_alike(x: Array, group: Index, sizes: Index) -> bool:
    """An F test of groups of rows, and a size: whether means are certainly, and much, less sure than rows say."""
    n, g = len(x), len(sizes)
    sums = np.zeros((g, x.shape[1]))
    np.add.at(sums, group, x)
    inner = x - (sums / sizes[:, None])[group]
    within, between = float((inner**2).sum()), float((sums**2 / sizes[:, None]).sum())
    if within <= 1e-12 * max(between, 1e-300):
        return False
    ratio = (between / (g - 1)) / (within / (n - g))
    independent = within**2 / float(((inner.T @ inner) ** 2).sum())  # as many columns as these are worth
    usual_size = (n - float((sizes**2).sum()) / n) / (g - 1)
    correlation = (ratio - 1) / (ratio - 1 + usual_size)
    is_certain = ratio >= fdtri(independent * (g - 1), independent * (n - g), 0.999)
    return bool(is_certain and correlation * (n / g - 1) >= WIDER)
