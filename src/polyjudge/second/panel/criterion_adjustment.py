"""What a calibrator of several criteria does to scores: the adjustment of each row's own criterion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from polyjudge.second.panel.adjustment import Adjustment, Applied, check_unseen, series
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.columns import Columns
from polyjudge.second.panel.errors import CalibratorError, UsageError, foreign_errors
from polyjudge.second.panel.labels import some
from polyjudge.second.panel.records import label_texts

MARK = "\x1f"
"""Stands between criterion and language where both are one label."""
KEY = "polyjudge_criterion"
"""Column of such labels while a table is adjusted."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ByCriterion(Applied):
    """Adjustments of several criteria. `column` names the criterion of a row; "" where each has a score column."""

    column: str
    parts: Mapping[str, Adjustment]

    @property
    def adjustment_(self) -> ByCriterion:
        return self

    def clipped(self, limits: tuple[float, float]) -> ByCriterion:
        return ByCriterion(column=self.column, parts={c: part.clipped(limits) for c, part in self.parts.items()})

    def of(self, criterion: Any) -> Adjustment:
        self.check_seen([criterion], "error")
        return self.parts[str(criterion).strip()]

    def check_seen(self, criteria: Iterable[Any], unseen: str) -> None:
        """Raise an error that names the criteria which the calibrator does not know, unless they are to be kept."""
        check_unseen(unseen)
        new = list(dict.fromkeys(str(c).strip() for c in criteria if str(c).strip() not in self.parts))
        if new and unseen == "error":
            raise CalibratorError(
                f"The calibrator has never seen the criterion {some(new, 5, repr)}; it knows {some(self.parts, 12)}. "
                "Fit it on scores that include it, or leave such rows unchanged with unseen='keep' (--unseen keep)."
            )

    def check_cells(self, criteria: Iterable[Any], cells: list[tuple[str, str, int]], unseen: str) -> int:
        """`Adjustment.check_seen` of cells that each have a criterion."""
        named = [str(criterion).strip() for criterion in criteria]
        self.check_seen(named, unseen)
        strange = sum(int(cell[2]) for cell, own in zip(cells, named, strict=True) if own not in self.parts)
        for criterion, part in self.parts.items():
            own_cells = [cell for cell, own in zip(cells, named, strict=True) if own == criterion]
            strange += part.check_seen(own_cells, unseen)
        return strange

    @cached_property
    def joint(self) -> Adjustment:
        """One adjustment whose languages are "criterion, mark, language"."""
        first = next(iter(self.parts.values()))
        places = [[part.judges.index(j) for j in first.judges] for part in self.parts.values()]
        shift = np.concatenate([p.shift[:, at] for p, at in zip(self.parts.values(), places, strict=True)])
        scales = [np.ones_like(p.shift) if p.scale is None else p.scale for p in self.parts.values()]
        scaled = any(p.scale is not None for p in self.parts.values())
        return Adjustment(
            languages=tuple(f"{c}{MARK}{x}" for c, part in self.parts.items() for x in part.languages),
            judges=first.judges,
            shift=shift,
            scale=np.concatenate([s[:, at] for s, at in zip(scales, places, strict=True)]) if scaled else None,
            limits=first.limits,
        )

    def one(self, score: Any, language: Any, judge: Any, criterion: Any, unseen: str = "error") -> float:
        return self.of(criterion).one(score, language, judge, unseen)

    def row(
        self, row: Mapping[str, Any], column: str = "calibrated", unseen: str = "error", **names: Any
    ) -> dict[str, Any]:
        """One row with the adjusted score as a new field; one for each criterion that has a field of its own."""
        if self.column:
            if self.column not in row:
                raise UsageError(f"The row has no field {self.column!r}, which names its criterion.")
            return self.of(row[self.column]).row(row, column, unseen, **names)
        out = dict(row)
        for criterion, part in self.parts.items():
            made = part.row(row, f"{criterion}_{column}", unseen, **{**names, "score": criterion})
            out[f"{criterion}_{column}"] = made[f"{criterion}_{column}"]
        return out

    def table(self, table: Any, *, column: str = "calibrated", unseen: str = "error", **names: Any) -> Any:
        if self.column:
            return super().table(table, column=column, unseen=unseen, **names)
        for criterion, part in self.parts.items():
            table = part.table(table, column=f"{criterion}_{column}", unseen=unseen, **{**names, "score": criterion})
        return table

    def rows(self, table: Any, columns: Columns, unseen: str) -> Array:
        criteria = np.char.strip(label_texts(series(table, self._named(table))).astype(str)).astype(object)
        self.check_seen(pd.unique(criteria), unseen)
        key = pd.Series(criteria + MARK + label_texts(series(table, columns.language)))
        return self.joint.of_columns(key, series(table, columns.judge), series(table, columns.score), unseen)

    def ibis(self, table: Any, columns: Columns, column: str, unseen: str) -> Any:
        criterion, language = (table[c].cast("string") for c in (self._named(table), columns.language))
        with foreign_errors("the table"):
            seen = table.select(c=criterion).distinct().limit(1000).to_pyarrow()
        self.check_seen(seen.column("c").to_pylist(), unseen)
        keyed = table.mutate(**{KEY: criterion.strip() + MARK + language})
        return self.joint.ibis(keyed, replace(columns, language=KEY), column, unseen).drop(KEY)

    def _named(self, table: Any) -> str:
        """The column of criteria, which must be there."""
        if self.column not in (table.column_names if hasattr(table, "column_names") else table.columns):
            raise UsageError(f"The table has no column {self.column!r}, which names the criterion of a row.")
        return self.column
