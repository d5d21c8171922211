"""What a calibrator does to scores, written once for every engine: (score - shift) / scale of each cell, or a rising
curve of each cell."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from polyjudge.second.panel.arrays import Array, pd
from polyjudge.second.panel.columns import Columns, find_columns
from polyjudge.second.panel.errors import CalibratorError, PanelError, UsageError, foreign_errors
from polyjudge.second.panel.labels import clean, some
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.records import label_texts

Labels = tuple[str, ...]
Codes = NDArray[np.int64]


class Fitted(Protocol):
    """Anything that adjusts scores, such as a fitted calibrator."""

    @property
    def adjustment_(self) -> Any: ...


class Applied(ABC):
    """What turns the scores of a table into others: `rows` in memory, `ibis` in the engine that holds them."""

    @abstractmethod
    def rows(self, table: Any, columns: Columns, unseen: str) -> Array:
        """Adjusted scores of a table in memory. A missing score stays missing."""

    @abstractmethod
    def ibis(self, table: Any, columns: Columns, column: str, unseen: str) -> Any:
        """An Ibis table with the adjusted score as a new column: an expression, nothing is read but unknown labels."""

    def table(self, table: Any, *, column: str = "calibrated", unseen: str = "error", **names: str | None) -> Any:
        """`table` (pandas, polars, pyarrow, Ibis or Spark) with the adjusted scores as a new column.

        Ibis and Spark tables stay where they are: the answer is an expression over them. `names` are the columns
        language, judge and score where they have no usual name.
        """
        check_unseen(unseen)
        kind = type(table).__module__.split(".")[0]
        if kind == "polars" and hasattr(table, "collect"):
            return self.table(table.collect(), column=column, unseen=unseen, **names).lazy()
        if kind not in ("pandas", "pyarrow", "polars", "ibis", "pyspark"):
            raise UsageError(f"apply takes a pandas, polars, pyarrow, Ibis or Spark table, not {type(table).__name__}.")
        there = [str(n) for n in (table.column_names if kind == "pyarrow" else table.columns)]
        columns = label_columns(tuple(there), tuple(sorted(names.items())))
        if column in there:
            raise UsageError(f"The table already has a column {column!r}. Choose another name: column=...")
        if kind == "ibis":
            return self.ibis(table, columns, column, unseen)
        if kind == "pyspark":
            out = self.ibis(spark_table(table), columns, column, unseen)
            return table.sparkSession.sql(out.get_backend().compile(out))
        values = self.rows(table, columns, unseen)
        if kind == "pandas":
            return table.assign(**{column: values})
        if kind == "pyarrow":
            import pyarrow as pa

            return table.append_column(column, pa.array(values, from_pandas=True))
        import polars as pl

        return table.with_columns(pl.Series(column, values, nan_to_null=True))


@dataclass(frozen=True, eq=False, kw_only=True)
class Adjustment(Applied):
    """Subtract `shift` (k, m) from the scores of each cell, then divide by `scale` (k, m) unless it is None, then cut
    to `limits` when they are given (which breaks identity I1: the panel mean no longer stays).

    With `curve` (k, m, Q) its values at even steps over `span` take the place of both: straight between the steps, flat
    beyond the ends, nowhere falling.

    A row of an unknown language or judge is an error, or with `unseen="keep"` keeps its score.
    """

    languages: Labels
    judges: Labels
    shift: Array
    scale: Array | None = None
    limits: tuple[float, float] | None = None
    curve: Array | None = None
    span: tuple[float, float] = (0.0, 1.0)

    @property
    def adjustment_(self) -> Adjustment:
        return self

    def clipped(self, limits: tuple[float, float]) -> Adjustment:
        """The same, cut to the score scale."""
        return replace(self, limits=limits)

    def panel(self, panel: Panel, limits: tuple[float, float] | None = None) -> Panel:
        """A panel with adjusted scores; all of its languages and judges must be known."""
        self.check_seen([(a, b, 1) for a in panel.languages for b in panel.judges], "error")
        at = np.ix_([self.languages.index(x) for x in panel.languages], [self.judges.index(x) for x in panel.judges])
        if self.curve is not None:
            return panel.bent(self.curve[at], self.span, limits)
        return panel.adjusted(self.shift[at], None if self.scale is None else self.scale[at], limits)

    def marks(self, mark: float) -> Array:
        """(k, m) raw scores above which, and only above which, the adjusted score is above `mark`."""
        if self.curve is None:
            return self.shift + mark * (1.0 if self.scale is None else self.scale)
        found = np.empty(self.shift.shape)
        for at in np.ndindex(found.shape):
            found[at] = _last_below(self.curve[at], self.span, mark)
        return found

    def _codes(self, languages: Any, judges: Any, unseen: str) -> tuple[Codes, Codes, NDArray[np.bool_]]:
        """Place of the language and of the judge of every row (0 where one is unknown), and which are unknown."""
        texts = [pd.Index(label_texts(pd.Series(labels))) for labels in (languages, judges)]
        row, column = (
            pd.Index(mine).get_indexer(text) for mine, text in zip((self.languages, self.judges), texts, strict=True)
        )
        strange = (row < 0) | (column < 0)
        new = dict.fromkeys(zip(*(text[strange] for text in texts), strict=True))
        self.check_seen([(*cell, 1) for cell in new], unseen)
        return np.where(strange, 0, row), np.where(strange, 0, column), strange

    def check_seen(self, cells: list[tuple[str, str, int]], unseen: str) -> int:
        """Number of rows of unknown languages or judges among counted cells; an error unless they are to be kept."""
        check_unseen(unseen)
        known = set(self.languages), set(self.judges)
        strange = [c for c in cells if c[0] not in known[0] or c[1] not in known[1]]
        if strange and unseen == "error":
            for place, word in enumerate(("language", "judge")):
                new = list(dict.fromkeys(str(c[place]) for c in strange if c[place] not in known[place]))
                if new:
                    raise self.unseen_error(word, new)
        return sum(int(n) for *_, n in strange)

    def unseen_error(self, word: str, unseen: list[str]) -> CalibratorError:
        """What to raise for a language or judge that the calibrator was not fitted on."""
        known = self.languages if word == "language" else self.judges
        return CalibratorError(
            f"The calibrator has never seen the {word} {some(unseen, 5, repr)}; it knows {some(known, 12)}. Fit it on "
            "scores that include it, or leave such rows unchanged with unseen='keep' (--unseen keep)."
        )

    # --- single scores ---

    @cached_property
    def _cells(self) -> dict[tuple[str, str], tuple[float, float, Array]]:
        scale = np.ones_like(self.shift) if self.scale is None else self.scale
        curve = np.zeros((*self.shift.shape, 0)) if self.curve is None else self.curve
        return {
            (a, b): (float(self.shift[i, j]), float(scale[i, j]), curve[i, j])
            for i, a in enumerate(self.languages)
            for j, b in enumerate(self.judges)
        }

    def one(self, score: Any, language: Any, judge: Any, unseen: str = "error") -> float:
        """One adjusted score. A missing one (None or NaN) stays missing: NaN."""
        try:
            value = math.nan if score is None else float(score)
        except (TypeError, ValueError):
            raise PanelError(f"The score {clean(repr(score), 60)} is not a number.") from None
        if math.isinf(value):
            raise PanelError("The score is infinite.")
        cell = self._cells.get((language, judge)) or self._cells.get((str(language), str(judge)))
        if cell is None:
            self.check_seen([(str(language), str(judge), 1)], unseen)
            return value
        if self.curve is not None:
            value = float(np.interp(value, np.linspace(*self.span, len(cell[2])), cell[2]))
        else:
            value = value - cell[0] if self.scale is None else (value - cell[0]) / cell[1]
        return value if self.limits is None or math.isnan(value) else min(max(value, self.limits[0]), self.limits[1])

    def row(
        self, row: Mapping[str, Any], column: str = "calibrated", unseen: str = "error", **names: str | None
    ) -> dict[str, Any]:
        """One row with the adjusted score as a new field."""
        at = label_columns(tuple(map(str, row)), tuple(sorted(names.items())))
        if column in row:
            raise UsageError(f"The row already has a field {column!r}. Choose another name: column=...")
        return {**row, column: self.one(row[at.score], row[at.language], row[at.judge], unseen)}

    # --- engines ---

    def rows(self, table: Any, columns: Columns, unseen: str) -> Array:
        language, judge, score = (series(table, c) for c in (columns.language, columns.judge, columns.score))
        return self.of_columns(language, judge, score, unseen)

    def of_columns(self, language: Any, judge: Any, score: Any, unseen: str) -> Array:
        """Adjusted scores of columns in memory."""
        try:
            values = pd.to_numeric(score, errors="raise").to_numpy(dtype=float, na_value=np.nan)
        except (ValueError, TypeError) as error:
            raise PanelError(f"The score column holds text that is not a number: {clean(error, 120)}.") from None
        if np.isinf(values).any():
            raise PanelError(f"Row {int(np.flatnonzero(np.isinf(values))[0]) + 1} has an infinite score.")
        row, column, strange = self._codes(language, judge, unseen)
        out: Array
        if self.curve is not None:
            step, part = self._steps(values)
            low, high = (self.curve[row, column, step + i] for i in (0, 1))
            out = np.where(strange, values, low + part * (high - low))
        else:
            out = values - np.where(strange, 0.0, self.shift[row, column])
            out = out if self.scale is None else out / np.where(strange, 1.0, self.scale[row, column])
        return out if self.limits is None else np.clip(out, *self.limits)

    def _steps(self, values: Array) -> tuple[Codes, Array]:
        """The step of the curve that each score is in, and how far it is in it (NaN where it is missing)."""
        assert self.curve is not None
        low, high = self.span
        most = self.curve.shape[2] - 1
        place = np.clip((values - low) / ((high - low) / most), 0.0, most)
        step = np.minimum(np.nan_to_num(place).astype(np.int64), most - 1)
        return step, place - step

    def sql(self, language: str, judge: str, number: str, strict: bool = False) -> str:
        """The adjusted score in DuckDB's SQL: constant arrays, not a join, so that rows keep their order.

        `strict`: a row of an unknown cell stops the query. It was counted before; this is for labels that are read
        otherwise the second time.
        """
        stop = "error('a language or judge is not the one that was counted')"
        stop = f"CASE WHEN {language} IS NULL OR {judge} IS NULL THEN 0 ELSE CAST({stop} AS DOUBLE) END"

        def place(labels: Labels, value: str) -> str:
            return f"nullif(list_position([{', '.join(map(quote, labels))}], {value}), 0)"

        m = len(self.judges)
        at = f"({place(self.languages, language)} - 1) * {m} + {place(self.judges, judge)}"

        def pick(table: Array, otherwise: str, at: str = at) -> str:
            values = ", ".join(repr(float(x)) + "::DOUBLE" for x in table.ravel())
            return f"coalesce((CAST([{values}] AS DOUBLE[{table.size}]))[{at}], {stop if strict else otherwise})"

        if self.curve is not None:
            most = self.curve.shape[2] - 1
            width = (self.span[1] - self.span[0]) / most
            place_in = f"least(greatest(({number} - {self.span[0]!r}) / {width!r}, 0), {most})"
            step = f"CAST(least(floor({place_in}), {most - 1}) AS BIGINT)"
            start = pick(self.curve[..., :-1], number, f"(({at}) - 1) * {most} + {step} + 1")
            rise = pick(np.diff(self.curve), "0", f"(({at}) - 1) * {most} + {step} + 1")
            out = f"CASE WHEN {number} IS NULL THEN NULL ELSE {start} + ({place_in} - {step}) * {rise} END"
        else:
            out = f"{number} - {pick(self.shift, '0')}"
            if self.scale is not None:
                out = f"({out}) / {pick(self.scale, '1')}"
        if self.limits is None:
            return out
        low, high = (f"{float(x)!r}::DOUBLE" for x in self.limits)
        return f"CASE WHEN {number} IS NULL THEN NULL ELSE least(greatest({out}, {low}), {high}) END"

    def ibis(self, table: Any, columns: Columns, column: str, unseen: str) -> Any:
        import ibis

        language, judge = (table[c].cast("string") for c in (columns.language, columns.judge))
        if unseen == "error":
            with foreign_errors("the table"):
                for word, value, labels in (("language", language, self.languages), ("judge", judge, self.judges)):
                    new = table.select(label=value).filter(lambda t, labels=labels: ~t.label.isin(labels)).distinct()
                    found = new.limit(20).to_pyarrow().column("label").to_pylist()
                    if found:
                        raise self.unseen_error(word, sorted(map(str, found)))

        def pick(values: Any, otherwise: Any, made: Any = lambda x: ibis.literal(float(x), "float64")) -> Any:
            rows = []
            for name, row in zip(self.languages, values, strict=True):
                cells = [(judge == b, made(x)) for b, x in zip(self.judges, row, strict=True)]
                rows.append((language == name, ibis.cases(*cells, else_=otherwise)))
            return ibis.cases(*rows, else_=otherwise)

        def bend(curve: Array) -> Any:
            grid = np.linspace(*self.span, len(curve))
            rise = np.diff(curve) / np.diff(grid)
            turn = np.r_[True, np.abs(np.diff(rise)) > 1e-12 * (1 + np.abs(rise[:-1]))]
            ends = np.r_[np.flatnonzero(turn)[1:], len(rise)]
            parts = [(score <= float(grid[0]), ibis.literal(float(curve[0]), "float64"))]
            for i, end in zip(np.flatnonzero(turn), ends, strict=True):
                parts.append((score <= float(grid[end]), (score - float(grid[i])) * float(rise[i]) + float(curve[i])))
            return ibis.cases(*parts, else_=ibis.literal(float(curve[-1]), "float64"))

        score = table[columns.score]
        score = (score.strip().nullif("") if score.type().is_string() else score).cast("float64")
        if self.curve is not None:
            out = ibis.ifelse(score.isnull(), ibis.null("float64"), pick(self.curve, score, bend))
        else:
            out = score - pick(self.shift, ibis.literal(0.0, "float64"))
            out = out if self.scale is None else out / pick(self.scale, ibis.literal(1.0, "float64"))
        return table.mutate(**{column: out if self.limits is None else out.clip(*self.limits)})


def _last_below(curve: Array, span: tuple[float, float], mark: float) -> float:
    """The largest score whose value on the curve is not above `mark`; one step before the first where none is."""
    step = (span[1] - span[0]) / (len(curve) - 1)
    low = np.flatnonzero(curve <= mark)
    if not len(low):
        return span[0] - step
    i = int(low[-1])
    if i == len(curve) - 1:
        return span[1]
    return float(span[0] + step * (i + (mark - curve[i]) / (curve[i + 1] - curve[i])))


@lru_cache(maxsize=100)
def label_columns(there: Labels, names: tuple[tuple[str, str | None], ...]) -> Columns:
    """Where language, judge and score are; columns of systems, replicates and clusters pass through unread."""
    unknown = [name for name, _ in names if name not in ("language", "judge", "score")]
    if unknown:
        raise UsageError(f"There is no argument {clean(unknown[0])!r}: name the columns language, judge and score.")
    return find_columns(list(there), **dict(names), replicate="", system="", cluster="", require_task=False)


def check_unseen(unseen: str) -> None:
    """Raise a UsageError unless `unseen` is a way to treat unknown labels."""
    if unseen not in ("error", "keep"):
        raise UsageError(f"unseen must be 'error' or 'keep', not {unseen!r}.")


def quote(text: str) -> str:
    """A string as a literal of DuckDB's SQL."""
    return " || chr(0) || ".join("'" + part.replace("'", "''") + "'" for part in text.split("\0"))


def series(table: Any, column: str) -> pd.Series[Any]:
    """A column of a pandas, polars or pyarrow table."""
    found = table[column]
    if isinstance(found, pd.Series):
        return found
    return found.to_pandas() if hasattr(found, "combine_chunks") else pd.Series(found.to_list())


def spark_table(frame: Any) -> Any:
    """A Spark data frame as an Ibis table."""
    with foreign_errors("Spark"):
        import ibis

        view = f"polyjudge_{abs(id(frame)):x}"
        frame.createOrReplaceTempView(view)
        return ibis.pyspark.connect(frame.sparkSession).table(view)
