"""The panel that agrees best with people: weights of the judges, from 50 labelled answers on (METHODS 19)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polyjudge.calibrate.labelled import Array, Codes, Labelled, panel_mean
from polyjudge.panel import Panel
from polyjudge.stats.cells import mean_seen
from polyjudge.stats.labels import judge_weights

if TYPE_CHECKING:
    import pandas as pd

FEWEST = 50  # labelled answers below which nothing is weighted


def weights_by_labels(panel: Panel, found: Labelled, seed: int = 0) -> pd.DataFrame:
    """judge, weight; empty where there is one judge, or too few answers that have a label and all scores.

    Where systems are compared, scores are centred inside task and language and labels are cleared of what the panel's
    mean there explains (no mean of the labels of a task: that would leak); else both are centred inside languages.
    """
    import pandas as pd

    x, y, unit = _centred(panel, found)
    if panel.shape[3] < 2 or len(y) < FEWEST:
        return pd.DataFrame(columns=["judge", "weight"])
    return pd.DataFrame({"judge": panel.judges, "weight": judge_weights(x, y, unit, seed=seed)})


def _centred(panel: Panel, found: Labelled) -> tuple[Array, Array, Codes]:
    """Judges' scores (answers, judges) and labels of the answers that have them all, centred alike; their units."""
    s, y = panel.scores, found.y
    at = np.isfinite(y) & np.isfinite(s).all(3)
    language = np.broadcast_to(np.arange(s.shape[2]), y.shape)[at]
    unit = np.broadcast_to(panel.unit[:, None, None], y.shape)[at]
    if panel.has_systems:
        own, level = mean_seen(s, 1), mean_seen(panel_mean(panel), 1)  # of each task
        y, level = _within(y[at], language), _within(np.broadcast_to(level[:, None], y.shape)[at], language)
        size = float(level @ level)
        return (s - own[:, None])[at], y - level * (float(level @ y) / size if size > 1e-12 else 0.0), unit
    x = np.stack([_within(s[..., j][at], language) for j in range(s.shape[3])], axis=1)
    return x, _within(y[at], language), unit


def _within(x: Array, group: Codes) -> Array:
    """x less its mean in each group."""
    n = np.bincount(group)
    return np.asarray(x - (np.bincount(group, x) / np.maximum(n, 1))[group])
