"""What a calibrator of several criteria does to scores: the adjustment of each row's own criterion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from polyjudge.panel.adjustment import Adjustment, check_unseen, label_columns, tick
from polyjudge.panel.errors import CalibratorError, UsageError, foreign_errors
from polyjudge.panel.labels import clean
from polyjudge.panel.records import label_texts

MARK = "\x1f"
"""Stands between criterion and language where both are one label."""
KEY = "polyjudge_criterion"
"""Column of such labels while a table is adjusted."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ByCriterion:
    """Adjustments of several criteria. `column` names the criterion of a row; "" where each has a score column."""

    column: str
    parts: Mapping[str, Adjustment]

    @property
    def adjustment_(self) -> ByCriterion:
        return self

    def clipped(self, limits: tuple[float, float]) -> ByCriterion:
        """The same, cut to the score scale."""
        return ByCriterion(column=self.column, parts={c: part.clipped(limits) for c, part in self.parts.items()})

    def of(self, criterion: Any) -> Adjustment:
        """The adjustment of one criterion."""
        self.check_seen([criterion], "error")
        return self.parts[str(criterion).strip()]

    def check_seen(self, criteria: Iterable[Any], unseen: str) -> None:
        """Raise an error that names the criteria which the calibrator does not know, unless they are to be kept."""
        check_unseen(unseen)
        new = list(dict.fromkeys(str(c).strip() for c in criteria if str(c).strip() not in self.parts))
        if new and unseen == "error":
            raise CalibratorError(
                f"The calibrator has never seen the criterion {', '.join(repr(clean(c)) for c in new[:5])}; it knows "
                f"{', '.join(clean(c) for c in list(self.parts)[:12])}. Fit it on scores that include it, or leave "
                "such rows unchanged with unseen='keep' (--unseen keep)."
            )

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
        """One adjusted score."""
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
        """As `Adjustment.table`: pandas, polars, pyarrow, Ibis or Spark, and the same kind back."""
        check_unseen(unseen)
        if not self.column:
            for criterion, part in self.parts.items():
                how = {**names, "score": criterion}
                table = part.table(table, column=f"{criterion}_{column}", unseen=unseen, **how)
            return table
        if hasattr(table, "collect") and type(table).__module__.startswith("polars"):
            return self.table(table.collect(), column=column, unseen=unseen, **names).lazy()
        there = list(table.column_names if hasattr(table, "column_names") else table.columns)
        if self.column not in there:
            raise UsageError(f"The table has no column {self.column!r}, which names the criterion of a row.")
        language = label_columns(tuple(map(str, there)), tuple(sorted(names.items()))).language
        keyed = self._keyed(table, language, unseen)
        out = self.joint.table(keyed, column=column, unseen=unseen, **{**names, "language": KEY})
        return out.drop(columns=KEY) if isinstance(out, pd.DataFrame) else _without_key(out)

    def _keyed(self, table: Any, language: str, unseen: str) -> Any:
        """The table with criterion and language as one column, once its criteria are known."""
        kind = type(table).__module__.split(".")[0]
        if kind == "ibis":
            with foreign_errors("the table"):
                seen = table.select(c=table[self.column].cast("string")).distinct().limit(1000).to_pyarrow()
            self.check_seen(seen.column("c").to_pylist(), unseen)
            criterion, language = (table[c].cast("string") for c in (self.column, language))
            return table.mutate(**{KEY: criterion.strip() + MARK + language})
        if kind == "pyspark":
            from pyspark.sql import functions as f

            criterion = f.trim(f.col(tick(self.column)).cast("string"))
            with foreign_errors("Spark"):
                self.check_seen([r[0] for r in table.select(criterion).distinct().collect()], unseen)
            return table.withColumn(KEY, f.concat(criterion, f.lit(MARK), f.col(tick(language)).cast("string")))
        of = [table[c] for c in (self.column, language)]
        texts = [label_texts(x.to_pandas() if kind == "pyarrow" else pd.Series(x.to_list())) for x in of]
        criteria, languages = texts
        criteria = np.char.strip(criteria.astype(str)).astype(object)
        self.check_seen(pd.unique(criteria), unseen)
        key = [f"{c}{MARK}{x}" for c, x in zip(criteria, languages, strict=True)]
        if kind == "pandas":
            return table.assign(**{KEY: key})
        if kind == "pyarrow":
            import pyarrow as pa

            return table.append_column(KEY, pa.array(key))
        import polars as pl

        return table.with_columns(pl.Series(KEY, key))


def _without_key(table: Any) -> Any:
    if hasattr(table, "drop_columns"):  # pyarrow
        return table.drop_columns([KEY])
    return table.drop(KEY)
