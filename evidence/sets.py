"""One set: what judges and people said of the same items, as arrays on a scale of 0 to 100."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from polyjudge.panel.arrays import Array, mean_there
from polyjudge.panel.errors import PanelError
from polyjudge.panel.panel import Panel

AXES = ("task", "system", "language")


@dataclass(frozen=True, eq=False)
class Evidence:
    """Scores of judges and labels of people.

    scores : task, system, language, judge, score (0 to 100)
    labels : task, system, language, annotator, label (0 to 100)
    makers : judge -> who made it; judges that are not named are their own
    alike : whether languages have the same tasks
    apart : whether people labelled each language; if not, no language error can be had
    """

    name: str
    scores: pd.DataFrame
    labels: pd.DataFrame
    makers: Mapping[str, str] = field(default_factory=dict)
    alike: bool = True
    apart: bool = True

    def __post_init__(self) -> None:
        for name, frame, value in (("scores", self.scores, "score"), ("labels", self.labels, "label")):
            lacking = {*AXES, value, "judge" if name == "scores" else "annotator"} - set(frame.columns)
            if lacking:
                raise PanelError(f"The {name} of {self.name} have no column {sorted(lacking)[0]}.")
            values = frame[value].to_numpy(float)
            if not len(frame) or np.nanmin(values) < -1e-9 or np.nanmax(values) > 100 + 1e-9:
                raise PanelError(f"The {name} of {self.name} must be numbers from 0 to 100.")

    @cached_property
    def tasks(self) -> list[str]:
        return sorted(self.scores["task"].astype(str).unique())

    @cached_property
    def systems(self) -> list[str]:
        return sorted(self.scores["system"].astype(str).unique())

    @cached_property
    def languages(self) -> list[str]:
        return sorted(set(self.scores["language"]) & set(self.labels["language"]))

    @cached_property
    def judges(self) -> list[str]:
        return sorted(self.scores["judge"].unique())

    @cached_property
    def array(self) -> Array:
        """(n, s, k, m) scores."""
        return self._filled(self.scores, "score", "judge", self.judges)

    @cached_property
    def people(self) -> Array:
        """(n, s, k) mean labels."""
        return mean_there(self.raters, 3)

    @cached_property
    def raters(self) -> Array:
        """(n, s, k, r) labels by annotator; annotators of all languages side by side, numbered in each."""
        labels = self.labels[["language", "annotator"]].drop_duplicates().sort_values(["language", "annotator"])
        place = labels.assign(rater=labels.groupby("language").cumcount())
        joined = self.labels.merge(place, on=["language", "annotator"])
        return self._filled(joined, "label", "rater", list(range(int(place["rater"].max()) + 1)))

    def _filled(self, frame: pd.DataFrame, value: str, last: str, order: list[str] | list[int]) -> Array:
        at = [
            pd.Index(axis).get_indexer(pd.Index(frame[name].astype(str)))
            for name, axis in zip(AXES, (self.tasks, self.systems, self.languages), strict=True)
        ]
        at.append(pd.Index(order).get_indexer(pd.Index(frame[last])))
        keep = np.all([x >= 0 for x in at], axis=0)
        shape = len(self.tasks), len(self.systems), len(self.languages), len(order)
        total, count = np.zeros(shape), np.zeros(shape)
        places = tuple(x[keep] for x in at)
        np.add.at(total, places, frame[value].to_numpy(float)[keep])
        np.add.at(count, places, 1.0)
        out: Array = np.where(count > 0, total / np.maximum(count, 1), np.nan)
        return out

    @cached_property
    def panel_mean(self) -> Array:
        """(n, s, k) mean over the judges, where all of them scored."""
        out: Array = self.array.mean(axis=3)
        return out

    def panel(self, language: str | None = None) -> Panel:
        """The panel of all languages, or of one."""
        at = slice(None) if language is None else [self.languages.index(language)]
        scores = self.array[:, :, at]
        known = ~np.isnan(scores)
        some, there = (np.asarray(known.any(axis=axes)) for axes in ((1, 2, 3), (0, 2, 3)))
        names = [x for x, keep in zip(self.systems, there, strict=True) if keep]
        kept = [x for x, keep in zip(self.tasks, some, strict=True) if keep]
        where = self.languages if language is None else [language]
        part = scores[some][:, there]
        if len(names) == 1:
            return Panel.from_array(part[:, 0], kept, where, self.judges, declared_range=(0.0, 100.0))
        return Panel.from_array(part, kept, where, self.judges, systems=tuple(names), declared_range=(0.0, 100.0))
