"""Verdicts on pairs in the order in which the two answers were shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Shown:
    """Verdicts of a panel of pairs, one for each unit, language, judge and order of two systems.

    unit, language, judge : (q,) codes of the panel's axes
    first, second : (q,) codes of `systems`: the one shown first, and the other
    margin : (q,) of the first over the second, mean of `rows` verdicts: 1 where the first won, 0 for a tie, -1
    """

    systems: tuple[str, ...]
    unit: Codes
    language: Codes
    judge: Codes
    first: Codes
    second: Codes
    margin: NDArray[np.float64]
    rows: Codes

    @staticmethod
    def of(verdicts: pd.DataFrame, tasks: Sequence[str], languages: Sequence[str], judges: Sequence[str]) -> Shown:
        """From rows of task, language, judge, first, second, margin; those of other tasks, languages or judges do not
        count."""
        systems = tuple(dict.fromkeys([*verdicts["first"], *verdicts["second"]]))
        axes = {"task": tasks, "language": languages, "judge": judges, "first": systems, "second": systems}
        codes = {c: verdicts[c].map({name: i for i, name in enumerate(names)}) for c, names in axes.items()}
        rows = verdicts.assign(**codes).dropna().astype(dict.fromkeys(axes, np.int64))
        found = rows.groupby(list(axes))["margin"].agg(["mean", "size"]).reset_index()
        return Shown(systems, *(found[c].to_numpy() for c in (*axes, "mean", "size")))

    def take(self, units: Codes, languages: Codes, judges: Codes, systems: Sequence[str] | None = None) -> Shown:
        """The verdicts of a part of the panel, with the codes of that part."""
        keep = np.ones(len(self.unit), bool)
        codes: dict[str, Codes] = {}
        for axis, kept in (("unit", units), ("language", languages), ("judge", judges)):
            old = getattr(self, axis)
            place = np.full(max(int(old.max(initial=0)), int(kept.max(initial=0))) + 1, -1)
            place[kept] = np.arange(len(kept))
            codes[axis] = place[old]
            keep &= codes[axis] >= 0
        if systems is not None:
            known = np.isin(np.array(self.systems, object), list(systems))
            keep &= known[self.first] & known[self.second]
        every = {f.name: codes.get(f.name, getattr(self, f.name)) for f in fields(self) if f.name != "systems"}
        return Shown(self.systems, **{name: values[keep] for name, values in every.items()})
