"""Grouping scores in any engine that Ibis speaks to. Only sums leave it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ibis
import numpy as np
import pandas as pd

from polyjudge.second.panel.columns import Columns
from polyjudge.second.panel.errors import PanelError, foreign_errors
from polyjudge.second.panel.labels import clean
from polyjudge.second.read.engine import GREW, ODD, Cells, Codes, Duplicates, Entries, Found, Labels, Units, cells_of, coded

_NUMBER = r"^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$"
_NOT_FINITE = ["nan", "inf", "+inf", "-inf", "infinity", "+infinity", "-infinity"]
_LARGEST = 1.7976931348623157e308
_HEX = "0123456789abcdef"


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def md5(text: str) -> str:  # type: ignore[empty-body]
    """The engine's own MD5 as hexadecimal text."""


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def conv(text: str, from_base: int, to_base: int) -> str:  # type: ignore[empty-body]
    """Spark's change of base."""


class IbisEngine:
    """An Ibis table with its columns chosen. Its rows have no order."""

    ordered = False

    def __init__(self, table: Any, columns: Columns, backend: str) -> None:
        self.backend, self.where = backend, f"the {backend} table"
        self.grouped, self.clustered = columns.group is not None, columns.cluster is not None
        self.inner = [axis for axis in ("system", "replicate") if getattr(columns, axis) is not None]
        self.rows = self._type(table, columns)

    def _type(self, t: Any, c: Columns) -> Any:
        def label(column: str) -> Any:
            value, kind = t[column], t[column].type()
            if not (kind.is_floating() or kind.is_decimal()):
                return value.cast("string").nullif("")
            if kind.is_decimal():
                return (value == value.floor()).ifelse(
                    value.cast("decimal(38, 0)").cast("string"), value.cast("string")
                )
            exact = 2**24 if kind.is_float32() else 2**53
            text = value.cast("string").nullif("nan").nullif("NaN")  # `isnan` of a Parquet file is wrong in DuckDB
            number = ibis.least(value, float(exact))  # NaN is above all numbers, and no engine makes it a whole one
            self._check_digits(text.isnull().ifelse(0.0, number), column, exact)
            return ((number == number.floor()) & text.notnull()).ifelse(number.cast("int64").cast("string"), text)

        score = t[c.score]
        kind = score.type()
        if kind.is_string():
            raw = score.strip().nullif("")
            infinite = raw.lower().isin(_NOT_FINITE)
            is_number = raw.re_search(_NUMBER)
            number = ibis.cases(
                (is_number, raw.cast("float64")), (infinite, ibis.literal(float("nan"))), else_=ibis.null()
            )
            is_text = raw.notnull() & ~is_number & ~infinite
        elif kind.is_numeric() or kind.is_boolean():
            number = score.ifelse(1.0, 0.0).cast("float64") if kind.is_boolean() else score.cast("float64")
            raw, is_text = score.cast("string"), ibis.literal(False)
        else:
            raise PanelError(f"The score column {c.score!r} holds {clean(kind)}, not numbers.")
        task = label(c.task) if c.task else ibis.literal("")
        columns = {"task": task, "language": label(c.language), "judge": label(c.judge)}
        columns |= {axis: label(getattr(c, axis)) for axis in self.inner}
        if c.cluster:
            columns["cluster"] = label(c.cluster).fill_null(label(c.task))
        if c.group:
            columns["stratum"] = label(c.group).fill_null("(none)")
        columns |= {"score": number.cast("float64"), "raw": raw, "is_text": is_text}
        return t.select(**columns)

    def _check_digits(self, values: Any, column: str, exact: int) -> None:
        """Refuse identifiers that floating point numbers do not hold: two of them may have become one."""
        top = self._fetch(values.abs().max()).as_py()
        if top is not None and top >= exact:
            raise PanelError(
                f"The column {clean(column)!r} of {self.where} holds numbers beyond 2^{exact.bit_length() - 1} "
                f"(at least {top:.0f}), whose last digits are lost. Write them as text, or as whole numbers."
            )

    def keep(self, axis: str, wanted: list[str]) -> None:
        self.rows = self.rows.filter(self.rows[axis].isin(wanted))

    def relabel(self, axis: str, names: Mapping[str, str]) -> None:
        self.rows = self.rows.mutate(**{axis: self.rows[axis].substitute(dict(names))})

    def _fetch(self, expression: Any) -> Any:
        with foreign_errors(self.where):
            return expression.to_pyarrow()

    def _frame(self, expression: Any) -> pd.DataFrame:
        return pd.DataFrame(self._fetch(expression).to_pydict())

    # --- the questions of Engine ---

    def cells(self) -> Cells:
        t = self.rows
        keys = ["language", "judge", *self.inner]
        sums = {"total": t.score.sum(), "low": t.score.min(), "high": t.score.max()}
        sums |= {name: test.ifelse(1, 0).sum() for name, test in (("text", t.is_text), ("unlabelled", t.task.isnull()))}
        found = t.group_by(keys).agg(rows=t.count(), scored=t.score.count(), **sums)
        return cells_of(self._fetch(found).to_pydict())

    def groups(self) -> tuple[list[str], bool]:
        t = self.rows
        found = self._frame(t.select("stratum").distinct())
        spread = t.group_by("task").agg(low=t.stratum.min(), high=t.stratum.max())
        split = int(self._fetch(spread.filter(spread.low != spread.high).count()).as_py())
        return sorted(found["stratum"]), split == 0

    def split_cluster(self) -> str | None:
        spread = self.rows.group_by("task").agg(low=self.rows.cluster.min(), high=self.rows.cluster.max())
        found = self._frame(spread.filter(spread.low != spread.high).order_by("task").limit(1))
        return None if found.empty else str(found["task"].iloc[0])

    def count_tasks(self) -> int:
        return int(self._fetch(self.rows.task.nunique()).as_py())

    def odd_tasks(self, most: int, among: Sequence[str] = ()) -> list[str]:
        task = self.rows.task
        found = self.rows.filter(task.isin(list(among)) if among else task.re_search(ODD))
        return list(self._frame(found.select("task").distinct().limit(most))["task"])

    def tasks(self, labels: Labels) -> Units:
        t = self.rows
        more: dict[str, Any] = {"n": t.count()}
        if labels.by_task:
            more["stratum"] = t.stratum.min()
        if self.clustered:
            more["cluster"] = t.cluster.min()
        found = self._frame(t.group_by("task").agg(**more)).sort_values("task")
        group = pd.Index(labels.group).get_indexer(pd.Index(found["stratum"])) if labels.by_task else None
        clusters, cluster = coded(list(found["cluster"])) if self.clustered else ((), None)
        return Units(len(found), False, tuple(found["task"]), group=group, clusters=clusters, cluster=cluster)

    def _digits(self, text: Any, start: int) -> Any:
        """Eight hexadecimal digits as a number."""
        if self.backend == "pyspark":
            return conv(text.substr(start, 8), 16, 10).cast("int64")
        # In floating point, where 32 bits are exact: some engines multiply in 32-bit integers.
        digits = [
            ibis.literal(_HEX).find(text.substr(start + i, 1)).cast("float64") * 16.0 ** (7 - i) for i in range(8)
        ]
        return sum(digits[1:], digits[0]).cast("int64")

    def _place(self, t: Any, labels: Labels) -> Any:
        each = self._each
        place = self._digits(md5(t.cluster if self.clustered else t.task), 0) % each
        if labels.by_task:
            cases = [(t.stratum == label, ibis.literal(i * each, "int64")) for i, label in enumerate(labels.group)]
            place = place + ibis.cases(*cases, else_=ibis.literal(0, "int64"))
        return place.cast("int64")

    def hashed_units(self, size: int, labels: Labels) -> Units:
        self._each = labels.units_per_group(size)
        more = {"stratum": self.rows.stratum.min()} if labels.by_task else {}
        if self.clustered:
            more["cluster"] = self.rows.cluster.min()
        t = self.rows.group_by("task").agg(n=self.rows.count(), **more)
        t = t.mutate(unit=self._place(t, labels), mark=self._digits(md5(t.task), 8))
        found = self._frame(t.group_by("unit").agg(w=t.count(), mark=t.mark.sum())).sort_values("unit")
        places, mark = found["unit"].to_numpy(np.int64), found["mark"].map(int).to_numpy(np.int64)
        return Units.by_hash(places, found["w"].to_numpy(float), mark, self._each, labels, self.clustered)

    def entries(self, units: Units, labels: Labels, duplicates: Duplicates) -> Entries:
        axes = labels.entry_axes()
        t = self.rows.filter(self.rows.score.notnull())
        keys = ["stratum" if a == "group" else a for a in axes]
        if units.hashed:
            t = t.mutate(unit=self._place(t, labels), mark=self._digits(md5(t.task), 8))
        value = t.score.sum()
        unit, mark = "unit" if units.hashed else "task", units.hashed and duplicates == "error"
        if units.hashed and not mark:  # a unit is a mean over tasks, not over rows
            t = t.group_by(["unit", "task", *keys]).agg(total=t.score.mean())
            value = t.total.sum()
        marked = {"mark": t.mark.sum()} if mark else {}
        found = self._fetch(t.group_by([unit, *keys]).agg(total=value, n=t.count(), **marked))
        codes = {a: self._encode(found.column(key), getattr(labels, a)) for a, key in zip(axes, keys, strict=True)}
        if units.hashed:
            codes["unit"] = units.at(found.column("unit").to_numpy().astype(np.int64), self.where)
        else:
            codes["unit"] = self._encode(found.column("task"), units.labels)
        rows = found.column("n").to_numpy().astype(np.int64)
        marks = np.array([int(x) for x in found.column("mark").to_pylist()], np.int64) if mark else None
        return Entries(codes, found.column("total").to_numpy().astype(float), rows, marks)

    def _encode(self, column: Any, labels: tuple[str, ...]) -> Codes:
        """Places of the values among the labels, through the column's dictionary."""
        encoded = column.combine_chunks().dictionary_encode()
        encoded = encoded.combine_chunks() if hasattr(encoded, "combine_chunks") else encoded
        place = {label: i for i, label in enumerate(labels)}
        try:
            translate = np.array([place[x] for x in encoded.dictionary.to_pylist()], np.int64)
        except KeyError:
            raise PanelError(GREW.format(where=self.where)) from None
        return translate[encoded.indices.to_numpy()] if len(translate) else np.zeros(0, np.int64)

    def shown(self) -> None:
        return None  # winners of pairs are read by DuckDB

    def drop_incomplete(self, labels: Labels) -> int:
        t = self.rows
        per_key = t.group_by(["task", "language", "judge", *self.inner]).agg(c=t.score.count())
        per_task = per_key.group_by("task").agg(there=(per_key.c > 0).ifelse(1, 0).sum())
        partial = per_task.filter(per_task.there < labels.entries_per_task()).select("task")
        dropped = int(self._fetch(partial.count()).as_py())
        self.rows = t.anti_join(partial, "task")
        return dropped

    def find(self, what: str, limits: tuple[float, float] | None = None, most: int = 5) -> list[Found]:
        t = self.rows
        low, high = limits or (0.0, 0.0)
        condition = {
            "text": t.is_text,
            "not finite": t.score.isnan() | (t.score > _LARGEST) | (t.score < -_LARGEST),
            "unlabelled": ibis.or_(*(t[axis].isnull() for axis in ("task", "language", "judge", *self.inner))),
            "outside": (t.score < low) | (t.score > high),
        }[what]
        shown = t.filter(condition).select("raw", "task", "language", "judge")
        rows = self._frame(shown.order_by(["task", "language", "judge"]).limit(most))
        return [Found.at(*row) for row in rows.itertuples(index=False)]

    def find_duplicates(self, most: int = 5) -> list[tuple[Any, ...]]:
        keys = ["task", "language", "judge", *self.inner]
        keys += ["stratum"] if self.grouped else []
        t = self.rows.filter(self.rows.score.notnull())
        counted = t.group_by(keys).agg(n=t.count())
        rows = self._frame(counted.filter(counted.n > 1).order_by([ibis.desc("n"), *keys]).limit(most))
        return list(rows.itertuples(index=False, name=None))

    def finish(self) -> None:
        """The table is not ours to close."""
