"""Anchored calibration: remove the interaction and, on request, the shift of the panel against human labels.

Everything estimated here is a mean over tasks, so it has a contribution of every task ("influence"): the root of their
sum of squares is the standard error, and estimates that share tasks are correlated through them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from polyjudge.calibrate.base import as_panel, read_numbers
from polyjudge.calibrate.consensus import ConsensusCalibrator, Weights
from polyjudge.calibrate.robust import Location
from polyjudge.calibrate.shrinkage import Shrink
from polyjudge.estimate.incomplete import sum_clusters
from polyjudge.panel.arrays import Array
from polyjudge.panel.errors import CalibratorError, PanelError, UsageError
from polyjudge.panel.gold import Gold, align_gold
from polyjudge.panel.labels import clean
from polyjudge.panel.panel import Panel
from polyjudge.read.scores import read_gold

Remove = Literal["none", "centred", "all"]
REMOVE: tuple[Remove, ...] = ("none", "centred", "all")


@dataclass(frozen=True, eq=False, kw_only=True)
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
    cluster: NDArray[np.int64]

    @property
    def labels(self) -> NDArray[np.int64]:
        """Labelled tasks of each language."""
        out: NDArray[np.int64] = self.used.sum(axis=0)
        return out

    @property
    def variance(self) -> Array:
        out: Array = (self.summed(self.influence) ** 2).sum(axis=0)
        return out

    def summed(self, influence: Array) -> Array:
        """Influence values (n, ...) summed over clusters, so that their squares give a cluster-robust variance."""
        return sum_clusters(influence, self.cluster)

    @property
    def clusters(self) -> NDArray[np.int64]:
        """(q,) clusters of labelled tasks in each language; the tasks themselves where none were declared."""
        out: NDArray[np.int64] = (self.summed(self.used.astype(np.float64)) > 0).sum(axis=0)
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
    count = (sum_clusters(used.astype(np.float64), panel.cluster) > 0).sum(axis=0)
    spread = np.sqrt(count / np.maximum(count - 1, 1))
    influence = weight * (difference - shift) / total * spread
    return ShiftEstimate(
        languages=languages,
        used=used,
        difference=difference,
        weight=weight,
        shift=shift,
        influence=influence,
        cluster=panel.cluster,
    )


class AnchoredCalibrator(ConsensusCalibrator):
    """Consensus-based calibration that knows human scores.

    Parameters
    ----------
    shift : what to remove besides the interaction. "none" leaves the shared shift of each language in, as CBC does.
        "centred" removes what a language's shift differs from the mean shift, so that languages become comparable.
        "all" removes the whole shift, so that the panel mean stands where the humans do.

    Fitted attributes beyond those of CBC: `shift_` (panel mean minus human by language, points; NaN without labels),
    `shift_se_`, `labels_`. Labelled tasks must be a random part of all tasks.

    >>> from polyjudge import simulate_panel
    >>> panel, _ = simulate_panel(tasks=20, languages=2, judges=3)
    >>> gold = [(t, l, 50.0 + i) for i, t in enumerate(panel.tasks) for l in panel.languages]
    >>> labels = pd.DataFrame(gold, columns=["task", "language", "score"])
    >>> anchored = AnchoredCalibrator(shift="all").fit(panel, labels).transform(panel)
    >>> bool(np.allclose(anchored.scores.mean(axis=(0, 2)), 59.5))
    True
    """

    kind = "anchored"
    shift_: pd.Series[float]
    shift_se_: pd.Series[float]
    labels_: pd.Series[int]
    _estimate: ShiftEstimate | None = None

    def __init__(
        self,
        weights: Weights = "uniform",
        shrinkage: Shrink = "none",
        location: Location = "mean",
        *,
        shift: Remove = "none",
    ) -> None:
        super().__init__(weights, shrinkage, location)
        if shift not in REMOVE:
            raise UsageError(f"shift must be 'none', 'centred' or 'all', not {shift!r}.")
        self.shift: Remove = shift

    def fit(self, panel: Any, gold: Any = None, trusted: str | None = None, **columns: Any) -> Self:
        """Estimate the interaction from the panel and the shift from labels, or from a `trusted` judge of the panel."""
        panel = as_panel(panel, columns)
        if (gold is None) == (trusted is None):
            raise UsageError(
                "AnchoredCalibrator needs a table of human scores (gold) or a trusted judge, one of the two."
            )
        if trusted is not None:
            if trusted not in panel.judges:
                raise PanelError(f"No judge {clean(trusted)!r} in this panel.")
            labels = Gold("score", panel.scores[:, :, panel.judges.index(trusted)], panel.languages)
        else:
            gold = read_gold(gold) if isinstance(gold, str | Path) else gold
            labels = align_gold(panel, gold, kind=None if isinstance(gold, Gold) else "score")
        estimate = self._estimate = estimate_shift(panel, labels)
        super().fit(panel)
        index = self.interaction_.index
        at = index[estimate.languages]
        self.shift_ = pd.Series(np.nan, index=index, name="shift")
        self.shift_se_ = pd.Series(np.nan, index=index, name="shift_se")
        self.labels_ = pd.Series(0, index=index, name="labels")
        self.shift_[at], self.shift_se_[at] = estimate.shift, np.sqrt(estimate.variance)
        self.labels_[at] = estimate.labels
        bare = [clean(x) for x in index[self.shift_.isna()]]
        if bare and self.shift != "none":
            raise CalibratorError(
                f"The shift of {', '.join(bare)} is not known: each language needs at least two human scores on tasks "
                "that every judge has scored. Label some, leave the language out (panel.select), or use shift='none'."
            )
        return self

    @property
    def name(self) -> str:
        return f"{super().name}-anchored" + ("" if self.shift == "none" else f"-{self.shift}")

    def resampled(self, panel: Panel, drawn: Array) -> Array:
        """Interaction and shift of R resamples; a resample without labels of a language has no shift there."""
        out = super().resampled(panel, drawn)
        if self._estimate is None or len(self._estimate.used) != len(panel.tasks):
            raise CalibratorError("An anchored calibrator is compared on the panel and labels it was fitted on.")
        if self.shift == "none":
            return out
        shift = np.nan_to_num(self._estimate.resample(drawn / panel.weights))
        out -= out.mean(axis=-1, keepdims=True)
        removed = shift - (shift.mean(axis=1, keepdims=True) if self.shift == "centred" else 0.0)
        out[:, self._estimate.languages] += removed[..., None]
        return out

    @property
    def correction_(self) -> pd.DataFrame:
        """What is subtracted from each cell: the interaction, and the shift that was asked for."""
        if self.shift == "none":
            return self.interaction_
        removed = self.shift_ - (self.shift_.mean() if self.shift == "centred" else 0.0)
        # variance weights leave a constant per language in the interaction; the labels decide that constant here
        return self.interaction_.sub(self.interaction_.mean(axis=1), axis=0).add(removed, axis=0)

    def _fields(self) -> dict[str, Any]:
        known = self.shift_.notna()
        return super()._fields() | {
            "remove_shift": self.shift,
            "shift": [float(x) if ok else None for x, ok in zip(self.shift_, known, strict=True)],
            "shift_se": [float(x) if ok else None for x, ok in zip(self.shift_se_, known, strict=True)],
            "labels": [int(x) for x in self.labels_],
        }

    @classmethod
    def _read(cls, data: dict[str, Any], languages: pd.Index[str], judges: pd.Index[str]) -> Self:
        out = super()._read(data, languages, judges)
        if data["remove_shift"] not in REMOVE:
            raise ValueError("remove_shift is unknown")
        out.shift = data["remove_shift"]
        for name in ("shift", "shift_se", "labels"):
            given = data[name]
            numbers = read_numbers({name: [0 if x is None else x for x in given]}, name, (len(languages),))
            values = [np.nan if x is None else number for x, number in zip(given, numbers, strict=True)]
            setattr(out, f"{name}_", pd.Series(values, index=languages, name=name))
        out.labels_ = out.labels_.astype(np.int64)
        if out.shift != "none" and out.shift_.isna().any():
            raise ValueError("a shift is missing that is to be removed")
        return out
