"""Anchored calibration: remove the interaction and, on request, the shift of the panel against human labels.

Everything estimated here is a mean over tasks, so it has a contribution of every task ("influence"): the root of their
sum of squares is the standard error, and estimates that share tasks are correlated through them.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from polyjudge.second.calibrate.base import as_panel, read_numbers
from polyjudge.second.calibrate.consensus import ConsensusCalibrator, Weights
from polyjudge.second.calibrate.label_maps import Kind, LabelMap, choose_map
from polyjudge.second.calibrate.robust import Location
from polyjudge.second.calibrate.shrinkage import Shrink
from polyjudge.second.estimate.few_labels import Fall, fall_of_error, shrink, steady_variance, stratified_means
from polyjudge.second.estimate.incomplete import sum_clusters
from polyjudge.second.estimate.severity import gold_weights, strata_of, take_off_severity
from polyjudge.second.panel.adjustment import Adjustment
from polyjudge.second.panel.arrays import Array, mean_there, ratio
from polyjudge.second.panel.errors import CalibratorError, PanelError, UsageError
from polyjudge.second.panel.gold import Gold, align_gold, by_answer
from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import Say, say
from polyjudge.second.panel.scale import scale_of

Remove = Literal["none", "centred", "all"]
REMOVE: tuple[Remove, ...] = ("none", "centred", "all")
Map = Literal["auto", "shift", "slope", "isotonic", "ordinal"]
MAPS: tuple[Map, ...] = ("auto", "shift", "slope", "isotonic", "ordinal")

MUCH = 0.25
"""Share of the difference between languages that annotators' severity may be, from which that is said first."""


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
    cluster: NDArray[np.int64]

    @property
    def labels(self) -> NDArray[np.int64]:
        """Labelled tasks of each language."""
        return self.used.sum(axis=0)

    @property
    def variance(self) -> Array:
        return (self.summed(self.influence) ** 2).sum(axis=0)

    def summed(self, influence: Array) -> Array:
        """Influence values (n, ...) summed over clusters, so that their squares give a cluster-robust variance."""
        return sum_clusters(influence, self.cluster)

    @property
    def clusters(self) -> NDArray[np.int64]:
        """(q,) clusters of labelled tasks in each language; the tasks themselves where none were declared."""
        return (self.summed(self.used.astype(np.float64)) > 0).sum(axis=0)

    @property
    def centred(self) -> Array:
        """e(l): the shift less its mean over the labelled languages."""
        return self.shift - self.shift.mean()

    @property
    def centred_influence(self) -> Array:
        return self.influence - self.influence.mean(axis=1, keepdims=True)

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
    weight = used * panel.weights[:, None] * gold_weights(panel, gold)[:, languages]
    total = weight.sum(axis=0)
    shift = (weight * difference).sum(axis=0) / total
    count = (sum_clusters(used.astype(np.float64), panel.cluster) > 0).sum(axis=0)
    spread = np.sqrt(count / np.maximum(count - 1, 1))
    influence = weight * (difference - shift) / total * spread
    return ShiftEstimate(languages, used, difference, weight, shift, influence, panel.cluster)


class AnchoredCalibrator(ConsensusCalibrator):
    """Calibration by human scores: the interaction of the panel, and what all judges share in a language.

    shift : what to remove besides the interaction. "all" removes the panel's shift against the humans, so that the
        panel mean stands where they do; "centred" what a language's shift differs from the mean shift, so that
        languages become comparable; "none" leaves the shared shift in, as CBC does.
    pool : shrink the shifts of languages to their mean, by REML; the annotators' own severity is part of the error. A
        language without labels gets the mean. Without it each language has its own shift and needs two labels
    map : what is done to a judge's scores before languages are shifted, the same in all of them. "shift": nothing;
        "slope": they are stretched or shrunk to the humans' scale; "isotonic": a rising curve; "ordinal", for few
        levels: the humans' mean of each level, shifted on the logit scale; "auto": the simplest that left-out labels
        say is as good as any (docs/methods.md, section 26)

    Fitted attributes beyond those of CBC: `shift_` (panel mean minus human by language, points, as it is removed),
    `shift_se_`, `labels_`, `map_` (the kind taken), `slope_` (by judge), `curve_` (language x judge x steps of the
    range, or None), `tau_` (sd between languages), `fall_` (the language error before and after, on other tasks).
    Labels of any tasks are taken as drawn at random; those of `label make` by their strata.

    >>> from polyjudge.second import simulate_panel
    >>> panel, _ = simulate_panel(tasks=20, languages=2, judges=3)
    >>> gold = [(t, l, 50.0 + i) for i, t in enumerate(panel.tasks) for l in panel.languages]
    >>> labels = pd.DataFrame(gold, columns=["task", "language", "score"])
    >>> anchored = AnchoredCalibrator(pool=False, map="shift").fit(panel, labels).transform(panel)
    >>> bool(np.allclose(anchored.scores.mean(axis=(0, 2)), 59.5))
    True
    """

    kind = "anchored"
    shift_: pd.Series[float]
    shift_se_: pd.Series[float]
    labels_: pd.Series[int]
    slope_: pd.Series[float]
    map_: Kind = "shift"
    curve_: Array | None = None
    span_: tuple[float, float] = (0.0, 1.0)
    tau_: float = 0.0
    fall_: Fall | None = None
    _estimate: ShiftEstimate | None = None
    _weight: Array | None = None
    _chosen: LabelMap
    _by_annotators: float = 0.0
    _other: tuple[Say, ...] = ()

    def __init__(
        self,
        weights: Weights = "uniform",
        shrinkage: Shrink = "none",
        location: Location = "mean",
        *,
        shift: Remove = "all",
        pool: bool = True,
        map: Map = "auto",
    ) -> None:
        super().__init__(weights, shrinkage, location)
        if shift not in REMOVE:
            raise UsageError(f"shift must be 'none', 'centred' or 'all', not {shift!r}.")
        if map not in MAPS:
            raise UsageError(f"map must be one of {', '.join(MAPS)}, not {map!r}.")
        self.shift: Remove = shift
        self.pool, self.map = pool, map

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
            units, labels = panel, Gold("score", panel.scores[:, :, panel.judges.index(trusted)], panel.languages)
        else:
            from polyjudge.second.read.scores import read_gold

            gold = read_gold(gold) if isinstance(gold, str | Path) else gold
            units, gold = by_answer(panel, gold)
            labels = align_gold(units, gold, kind=None if isinstance(gold, Gold) else "score")
        stratum = strata_of(units, labels)
        self._other = tuple(n for n in labels.notes if n.code == "gold.other-scores")
        labels, severity = take_off_severity(units, labels)
        kind = "shift" if self.shift == "none" or trusted is not None else self.map
        if kind in ("isotonic", "ordinal") and not np.all(panel.weights == 1):
            raise UsageError(f"map={kind!r} bends single scores; this panel has means of several tasks.")
        self._chosen = choose_map(units, labels, stratum, kind)
        self.map_, self.span_, self.curve_ = self._chosen.kind, self._chosen.span, None
        self.slope_ = pd.Series(self._chosen.slope, index=pd.Index(panel.judges, name="judge"), name="slope")
        super().fit(panel)
        mapped = self._chosen.panel(units)
        off = np.where(stratum >= 0, (units.scores - mapped.scores).mean(axis=2), np.nan)
        weight = np.where(np.isnan(off), 0.0, units.weights[:, None])
        moved = ratio((weight * np.nan_to_num(off)).sum(axis=0), weight.sum(axis=0))
        self._fit_shift(mapped, labels, stratum, severity, moved)
        if self._chosen.curve is not None:
            self.curve_ = self._chosen.cells(self.correction_.to_numpy(), units)
        return self

    def __repr__(self) -> str:
        if not hasattr(self, "correction_"):
            return "AnchoredCalibrator(), not fitted"
        k, m = self.correction_.shape
        shown = self.correction_.rename(index=clean, columns=clean).round(3).to_string()
        labels = f"{int(self.labels_.sum())} labels"
        return f"AnchoredCalibrator(map={self.map_!r}), fitted on {k} x {m} cells and {labels}; points off:\n{shown}"

    def _fit(self, panel: Panel) -> None:
        panel = self._chosen.panel(panel)
        if min(panel.shape[1:]) > 1 and not panel.apart:
            super()._fit(panel)
            return
        means = mean_there(panel.scores, 0)  # one judge, or languages without common tasks: nothing to centre
        grand, (k, m) = float(np.nanmean(means)), means.shape
        language, judge = (np.nan_to_num(mean_there(means, axis) - grand) for axis in (1, 0))
        self._keep(panel.matrix(np.zeros((k, m))), language, judge, grand, np.full(m, 1 / m))
        self.se_, self.shrunk_, self.memory_ = None, 0.0, None
        self.counts_ = panel.matrix((~np.isnan(panel.scores)).sum(axis=0))

    def _fit_shift(self, units: Panel, labels: Gold, stratum: NDArray[np.int64], severity: Array, moved: Array) -> None:
        index = self.interaction_.index
        self._estimate = estimate_shift(units, labels, fewest=1)
        difference = units.scores.mean(axis=2) - labels.values
        found = stratified_means(difference[..., None], stratum, units.weights, units.cluster)
        mean, se, self._weight = found.mean[:, 0], np.sqrt(found.variance[:, 0]), None
        if self.pool:
            fit = shrink(mean, steady_variance(found) + severity)
            mean, se = fit.estimate, np.sqrt(fit.se**2 + found.shared[0])
            self.tau_, self._weight = fit.tau, fit.weight
            doubt = float(severity.mean())
            self._by_annotators = doubt / (doubt + fit.tau**2) if doubt > 0 else 0.0
        self.shift_ = pd.Series(mean, index=index, name="shift")
        self.shift_se_ = pd.Series(se, index=index, name="shift_se")
        self.labels_ = pd.Series(found.labels, index=index, name="labels")
        bare = [clean(x) for x in index[self.shift_.isna()]]
        if bare and self.shift != "none":
            raise CalibratorError(
                f"The shift of {', '.join(bare)} is not known: "
                + ("some language" if self.pool else "each language")
                + " needs at least two human scores on tasks that every judge has scored. Label some, leave the "
                "language out (panel.select), or use shift='none'."
            )
        self.fall_ = None
        if self.shift != "none" and len(index) > 1:
            tasks = (stratum >= 0).sum(axis=0).astype(float)
            fall = fall_of_error(found, mean, tasks, 7, moved)
            self.fall_ = fall if np.isfinite(fall.removed[0]) else None

    @property
    def name(self) -> str:
        return f"{super().name}-anchored" + ("" if self.shift == "none" else f"-{self.shift}")

    def resampled(self, panel: Panel, drawn: Array) -> Array:
        """Interaction and shift of R resamples; a resample without labels of a language has no shift there."""
        out = super().resampled(panel, drawn)
        estimate = self._estimate
        if estimate is None or len(estimate.used) != len(panel.tasks):
            raise CalibratorError("An anchored calibrator is compared on the panel and labels it was fitted on.")
        if self.map_ != "shift":
            raise CalibratorError("Only a shift is compared by resampling: fit it with map='shift'.")
        if self.shift == "none":
            return out
        shift = np.nan_to_num(estimate.resample(drawn / panel.weights))
        if self._weight is not None:
            centre = shift.mean(axis=1, keepdims=True)
            shift = centre + self._weight[estimate.languages] * (shift - centre)
        out -= out.mean(axis=-1, keepdims=True)
        removed = shift - (shift.mean(axis=1, keepdims=True) if self.shift == "centred" else 0.0)
        out[:, estimate.languages] += removed[..., None]
        return out

    @property
    def correction_(self) -> pd.DataFrame:
        """What is subtracted from each cell, after its slope: the interaction, and the shift that was asked for."""
        if self.shift == "none":
            return self.interaction_
        removed = self.shift_ - (self.shift_.mean() if self.shift == "centred" else 0.0)
        # variance weights leave a constant per language in the interaction; the labels decide that constant here
        return self.interaction_.sub(self.interaction_.mean(axis=1), axis=0).add(removed, axis=0)

    @property
    def adjustment_(self) -> Adjustment:
        plain, slope = super().adjustment_, self.slope_.to_numpy()
        if self.curve_ is not None:
            return replace(plain, curve=self.curve_, span=self.span_)
        if self.map_ == "shift":
            return plain
        return replace(plain, shift=plain.shift / slope, scale=np.broadcast_to(1 / slope, plain.shift.shape).copy())

    def cautions(self, panel: Panel) -> tuple[Say, ...]:
        """What it does to the language error, what it is unsure of, and what every calibrator says."""
        out: list[Say] = []
        scale = scale_of(panel)
        if self.fall_ is not None:
            before, after = (x[0] * scale.factor for x in (self.fall_.before, self.fall_.after))
            ends = dict(zip(("removed", "low", "high"), self.fall_.removed, strict=True))
            out.append(replace(say("calibrate.fall", before=before, after=after, **ends), unit=scale.unit))
        if self._by_annotators >= MUCH and self.shift != "none":
            out.insert(0, say("calibrate.annotators", share=self._by_annotators))
        bare = [str(x) for x in self.labels_.index[self.labels_ == 0]]
        if bare and self.shift != "none":
            half = 1.96 * float(self.shift_se_[bare].max()) * scale.factor
            out.append(replace(say("calibrate.no-labels", languages=bare, half=half), unit=scale.unit))
        if self.map_ == "slope":
            out.append(say("calibrate.slope", low=float(self.slope_.min()), high=float(self.slope_.max())))
        elif self.map_ != "shift":
            out.append(say(f"calibrate.{self.map_}"))
        return (*self._other, *out, *super().cautions(panel))

    def _fields(self) -> dict[str, Any]:
        known = self.shift_.notna()
        return super()._fields() | {
            "remove_shift": self.shift,
            "pool": self.pool,
            "map": self.map,
            "taken": self.map_,
            "slope": self.slope_.tolist(),
            "curve": None if self.curve_ is None else self.curve_.tolist(),
            "span": list(self.span_),
            "tau": self.tau_,
            "fall": None if self.fall_ is None else [list(x) for x in astuple(self.fall_)],
            "shift": [float(x) if ok else None for x, ok in zip(self.shift_, known, strict=True)],
            "shift_se": [float(x) if ok else None for x, ok in zip(self.shift_se_, known, strict=True)],
            "labels": [int(x) for x in self.labels_],
        }

    @classmethod
    def _read(cls, data: dict[str, Any], languages: pd.Index[str], judges: pd.Index[str]) -> Self:
        out = super()._read(data, languages, judges)
        if data["remove_shift"] not in REMOVE or data["map"] not in MAPS or data["taken"] not in MAPS[1:]:
            raise ValueError("remove_shift, map or taken is unknown")
        out.shift, out.pool, out.map = data["remove_shift"], bool(data["pool"]), data["map"]
        out.slope_ = pd.Series(read_numbers(data, "slope", (len(judges),)), index=judges, name="slope")
        if not (out.slope_ > 0).all():
            raise ValueError("a slope is not above 0")
        out.map_ = data["taken"]
        if (out.map_ in ("isotonic", "ordinal")) != (data["curve"] is not None):
            raise ValueError("the curve does not fit the map that was taken")
        if data["curve"] is not None:
            out.curve_ = read_numbers(data, "curve", (len(languages), len(judges), len(data["curve"][0][0])))
            if out.curve_.shape[2] < 2 or (np.diff(out.curve_) < 0).any():
                raise ValueError("a curve has fewer than two steps, or falls")
            low, high = read_numbers(data, "span", (2,)).tolist()
            if not low < high:
                raise ValueError("the span has its ends in the wrong order")
            out.span_ = low, high
        out.tau_ = float(read_numbers(data, "tau", ()))
        if data["fall"] is not None:
            parts = read_numbers(data, "fall", (3, 3)).tolist()
            out.fall_ = Fall(before=tuple(parts[0]), after=tuple(parts[1]), removed=tuple(parts[2]))
        for name in ("shift", "shift_se", "labels"):
            given = data[name]
            numbers = read_numbers({name: [0 if x is None else x for x in given]}, name, (len(languages),))
            values = [np.nan if x is None else number for x, number in zip(given, numbers, strict=True)]
            setattr(out, f"{name}_", pd.Series(values, index=languages, name=name))
        out.labels_ = out.labels_.astype(np.int64)
        if out.shift != "none" and out.shift_.isna().any():
            raise ValueError("a shift is missing that is to be removed")
        return out
