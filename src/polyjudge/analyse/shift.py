"""Shared shift: how far the panel mean is from the humans in each language (METHODS section 13).

Everything here is a mean over tasks, so each estimate has a contribution of every task ("influence"): the square root
of their sum of squares is the standard error, and estimates that share tasks are correlated through them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from polyjudge.analyse.gold import Gold
from polyjudge.errors import PanelError
from polyjudge.kernels import Array
from polyjudge.panel import Panel
from polyjudge.results import Result


@dataclass(frozen=True, eq=False)
class ShiftEstimate:
    """g*(l), the mean of panel mean minus human over the labelled tasks of l, for the languages with labels.

    `languages` are positions in the panel (q of them), `difference` is (n, q) with 0 where `used` is False,
    `influence` is (n, q).
    """

    languages: NDArray[np.int64]
    used: NDArray[np.bool_]
    difference: Array
    weight: Array
    shift: Array
    influence: Array

    @property
    def labels(self) -> NDArray[np.int64]:
        """Labelled tasks of each language."""
        out: NDArray[np.int64] = self.used.sum(axis=0)
        return out

    @property
    def variance(self) -> Array:
        out: Array = (self.influence**2).sum(axis=0)
        return out

    @property
    def centred(self) -> Array:
        """e(l): the shift less its mean over the labelled languages."""
        out: Array = self.shift - self.shift.mean()
        return out

    @property
    def centred_influence(self) -> Array:
        out: Array = self.influence - self.influence.mean(axis=1, keepdims=True)
        return out

    def resample(self, multiplicity: Array) -> Array:
        """Shifts (R, q) with unit t counted `multiplicity[r, t]` times; NaN where no labelled task was drawn."""
        weight = multiplicity @ self.weight
        with np.errstate(invalid="ignore", divide="ignore"):
            out: Array = np.where(weight > 0, (multiplicity @ (self.weight * self.difference)) / weight, np.nan)
        return out


def estimate_shift(panel: Panel, gold: Gold, fewest: int = 2) -> ShiftEstimate:
    """The shift of every language with at least `fewest` labels on entries that every judge has scored."""
    if gold.kind != "score":
        raise PanelError("A shift needs human scores; preferences have no scale to be shifted on.")
    used = gold.there & ~np.isnan(panel.scores).any(axis=2)
    languages = np.flatnonzero(used.sum(axis=0) >= fewest)
    used = used[:, languages]
    difference = np.where(used, panel.scores[:, languages].mean(axis=2) - gold.values[:, languages], 0.0)
    weight = used * panel.weights[:, None]
    total = weight.sum(axis=0)
    shift = (weight * difference).sum(axis=0) / total
    count = used.sum(axis=0)
    spread = np.sqrt(count / np.maximum(count - 1, 1))
    influence = weight * (difference - shift) / total * spread
    return ShiftEstimate(languages, used, difference, weight, shift, influence)


@dataclass(frozen=True, repr=False, eq=False)
class SharedShift(Result):
    """Columns: language, labels, shift (panel mean minus human, points), low, high; centred (less the mean over
    languages), centred_low, centred_high. Intervals are 95%, by t over the labelled tasks."""

    table: pd.DataFrame
    notes: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        return self.table


def shared_shift(panel: Panel, gold: Gold, level: float = 0.95) -> SharedShift:
    """The shared shift of each language against labels set beside the panel (`align_gold`, `judge_as_gold`)."""
    estimate = estimate_shift(panel, gold, fewest=1)
    k = len(panel.languages)
    columns = {name: np.full(k, np.nan) for name in ("shift", "low", "high", "centred", "centred_low", "centred_high")}
    at, labels = estimate.languages, estimate.labels
    enough = labels > 1
    columns["shift"][at] = estimate.shift
    half = t_quantile(labels - 1, level) * np.sqrt(estimate.variance)
    columns["low"][at] = np.where(enough, estimate.shift - half, np.nan)
    columns["high"][at] = np.where(enough, estimate.shift + half, np.nan)
    if len(at) > 1:
        own = (estimate.centred_influence**2).sum(axis=0)
        spread = (np.eye(len(at)) - 1 / len(at)) ** 2 * estimate.variance
        with np.errstate(invalid="ignore", divide="ignore"):
            df = own**2 / (spread**2 / np.maximum(labels - 1, 1)).sum(axis=1)
        half = t_quantile(np.minimum(df, labels.sum()), level) * np.sqrt(own)
        columns["centred"][at] = estimate.centred
        sure = enough.all()  # one label anywhere leaves the mean over languages without a spread
        columns["centred_low"][at] = estimate.centred - half if sure else np.nan
        columns["centred_high"][at] = estimate.centred + half if sure else np.nan
    counts: NDArray[np.int64] = np.zeros(k, np.int64)
    counts[at] = labels
    notes = [f"{panel.languages[i]} has one label: no interval." for i in at[~enough]]
    lost = int(gold.there.sum() - counts.sum())
    if lost:
        notes.append(f"{lost} labels stand where a judge's score is missing; the panel mean is not comparable there.")
    table = pd.DataFrame({"language": panel.languages, "labels": counts, **columns})
    return SharedShift(table, tuple(notes))


def t_quantile(df: NDArray[np.int64] | Array, level: float) -> Array:
    """Two-sided quantile of Student's t; NaN where there is no degree of freedom."""
    out: Array = np.where(df > 0, stdtrit(np.maximum(df, 1e-9), (1 + level) / 2), np.nan)
    return out
