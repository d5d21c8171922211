"""Mean scores and pass rates inside each language, for panels that cannot be compared between languages."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from polyjudge.estimate.resample import mean_of_known
from polyjudge.estimate.shares import wilson
from polyjudge.panel.arrays import Array, mean_there
from polyjudge.panel.errors import PanelError
from polyjudge.panel.labels import clean
from polyjudge.panel.panel import Panel
from polyjudge.panel.records import long_table


def means_inside(panel: Panel, level: float, threshold: float | None, at_least: bool) -> pd.DataFrame:
    """Mean score, and share that passes, of each language and judge, over the tasks (clusters) it has."""
    axes = {"language": panel.languages, "judge": panel.judges}
    mean, half, tasks = _over_tasks(panel.scores, panel, level)
    columns = {"mean": mean, "low": mean - half, "high": mean + half, "tasks": tasks}
    if threshold is not None:
        low, high = panel.observed_range
        if not low <= threshold <= high:
            raise PanelError(
                f"The pass mark {clean(threshold)} lies outside the scores, which run from {low:g} to {high:g}: give a "
                "mark between them (--at)."
            )
        single = panel.scores[:, None] if panel.system_scores is None else panel.system_scores
        edge = threshold + (-panel.tie_gap if at_least else panel.tie_gap)
        passes = np.where(np.isnan(single), np.nan, single > edge)
        rate = mean_there(passes, 1)
        share, _, clusters = _over_tasks(rate, panel, level)
        # Answers of one task vary less than whole tasks, so the interval of so many tasks is safe.
        ends = wilson(share, np.maximum(clusters, 1), ndtri((1 + level) / 2))
        columns |= {"pass_rate": share, "pass_low": ends[0], "pass_high": ends[1]}
    return long_table(axes, **columns)


def _over_tasks(values: Array, panel: Panel, level: float) -> tuple[Array, Array, NDArray[np.int64]]:
    """Mean over tasks (n, k, m) -> (k, m), half its interval, and the number of clusters behind it."""
    mean, se, _, count = mean_of_known(values, panel)
    half = np.where(count > 1, stdtrit(np.maximum(count - 1, 1), (1 + level) / 2) * se, np.nan)
    return mean, half, count
