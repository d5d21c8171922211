"""Shared shift: how far the panel mean is from the humans in each language, with intervals.

See docs/methods.md, section 13.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from polyjudge.calibrate.anchored import estimate_shift
from polyjudge.panel.arrays import Array
from polyjudge.panel.gold import Gold
from polyjudge.panel.panel import Panel
from polyjudge.panel.say import Say, say
from polyjudge.report.result import Result


@dataclass(frozen=True, repr=False, eq=False)
class SharedShift(Result):
    """Columns: language, labels, shift (panel mean minus human, points), low, high; centred (less the mean over
    languages), centred_low, centred_high. Intervals are 95%, by t over the labelled tasks."""

    table: pd.DataFrame
    notes: tuple[Say, ...]


def shared_shift(panel: Panel, gold: Gold, level: float = 0.95) -> SharedShift:
    """The shared shift of each language against labels set beside the panel (`align_gold`, `judge_as_gold`)."""
    estimate = estimate_shift(panel, gold, fewest=1)
    k = len(panel.languages)
    columns = {name: np.full(k, np.nan) for name in ("shift", "low", "high", "centred", "centred_low", "centred_high")}
    at, labels, independent = estimate.languages, estimate.labels, estimate.clusters
    enough = independent > 1
    columns["shift"][at] = estimate.shift
    half = t_quantile(independent - 1, level) * np.sqrt(estimate.variance)
    columns["low"][at] = np.where(enough, estimate.shift - half, np.nan)
    columns["high"][at] = np.where(enough, estimate.shift + half, np.nan)
    if len(at) > 1:
        own = (estimate.summed(estimate.centred_influence) ** 2).sum(axis=0)
        spread = (np.eye(len(at)) - 1 / len(at)) ** 2 * estimate.variance
        with np.errstate(invalid="ignore", divide="ignore"):
            df = own**2 / (spread**2 / np.maximum(independent - 1, 1)).sum(axis=1)
        half = t_quantile(np.minimum(df, independent.sum()), level) * np.sqrt(own)
        columns["centred"][at] = estimate.centred
        sure = enough.all()  # one label anywhere leaves the mean over languages without a spread
        columns["centred_low"][at] = estimate.centred - half if sure else np.nan
        columns["centred_high"][at] = estimate.centred + half if sure else np.nan
    counts: NDArray[np.int64] = np.zeros(k, np.int64)
    counts[at] = labels
    notes = [say("labels.one", language=panel.languages[i]) for i in at[~enough]]
    lost = int(gold.there.sum() - counts.sum())
    if lost:
        notes.append(say("labels.no-panel-mean", count=lost))
    table = pd.DataFrame({"language": panel.languages, "labels": counts, **columns})
    return SharedShift(table, tuple(notes))


def t_quantile(df: NDArray[np.int64] | Array, level: float) -> Array:
    """Two-sided quantile of Student's t; NaN where there is no degree of freedom."""
    return np.where(df > 0, stdtrit(np.maximum(df, 1e-9), (1 + level) / 2), np.nan)
