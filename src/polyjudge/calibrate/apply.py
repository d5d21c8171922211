"""Applying a calibrator to a table: the same kind of table comes back, with one column more and rows in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from polyjudge.core.columns import Columns, find_columns
from polyjudge.core.errors import PanelError, UsageError
from polyjudge.core.labels import clean

if TYPE_CHECKING:
    from polyjudge.calibrate.consensus import ConsensusCalibrator


def apply_table(
    cal: ConsensusCalibrator,
    table: Any,
    *,
    column: str = "calibrated",
    unseen: str = "error",
    language: str | None = None,
    judge: str | None = None,
    score: str | None = None,
) -> Any:
    """`table` (pandas, polars, pyarrow, Ibis or Spark) with the calibrated scores as a new column.

    Ibis and Spark tables stay where they are: the answer is an expression over them. With `unseen="keep"` rows of a
    language or judge that the calibrator does not know keep their score.
    """
    if unseen not in ("error", "keep"):
        raise UsageError(f"unseen must be 'error' or 'keep', not {unseen!r}.")
    kind = type(table).__module__.split(".")[0]
    if kind == "polars" and hasattr(table, "collect"):
        options = {"language": language, "judge": judge, "score": score}
        return apply_table(cal, table.collect(), column=column, unseen=unseen, **options).lazy()
    names = [str(n) for n in (table.column_names if kind == "pyarrow" else table.columns)]
    columns = find_columns(  # the columns of systems, replicates and clusters pass through unread
        names, language=language, judge=judge, score=score, replicate="", system="", cluster="", require_task=False
    )
    if column in names:
        raise UsageError(f"The table already has a column {column!r}. Choose another name: column=...")
    if kind == "pandas":
        return table.assign(**{column: _calibrated(cal, [table[c] for c in _roles(columns)], unseen)})
    if kind == "pyarrow":
        import pyarrow as pa

        parts = [table.column(c).to_pandas() for c in _roles(columns)]
        return table.append_column(column, pa.array(_calibrated(cal, parts, unseen), from_pandas=True))
    if kind == "polars":
        import polars as pl

        parts = [pd.Series(table[c].to_list()) for c in _roles(columns)]
        values = _calibrated(cal, parts, unseen)
        return table.with_columns(pl.Series(column, values, nan_to_null=True))
    if kind == "ibis":
        return _ibis(cal, table, columns, column, unseen)
    if kind == "pyspark":
        from polyjudge.sources.spark_writer import calibrated_frame

        return calibrated_frame(cal, table, columns, column, unseen)
    raise UsageError(f"apply takes a pandas, polars, pyarrow, Ibis or Spark table, not {type(table).__name__}.")


def _roles(columns: Columns) -> tuple[str, str, str]:
    return columns.language, columns.judge, columns.score


def _calibrated(cal: ConsensusCalibrator, labels_and_score: list[Any], unseen: str) -> Any:
    """Score minus shift, row by row. A missing score stays missing."""
    language, judge, score = labels_and_score
    try:
        values = pd.to_numeric(score, errors="raise").to_numpy(dtype=float, na_value=np.nan)
    except (ValueError, TypeError) as error:
        raise PanelError(f"The score column holds text that is not a number: {clean(error, 120)}.") from None
    if np.isinf(values).any():
        raise PanelError(f"Row {int(np.flatnonzero(np.isinf(values))[0]) + 1} has an infinite score.")
    shift, _ = cal.shift_for(language, judge, "keep" if unseen == "keep" else "error")
    return values - shift


def _ibis(cal: ConsensusCalibrator, table: Any, columns: Columns, column: str, unseen: str) -> Any:
    import ibis

    from polyjudge.sources.warehouse import warehouse_errors

    language, judge = (table[c].cast("string") for c in (columns.language, columns.judge))
    known = [str(x) for x in cal.correction_.index], [str(x) for x in cal.correction_.columns]
    if unseen == "error":
        with warehouse_errors("the table"):
            for word, value, labels in (("language", language, known[0]), ("judge", judge, known[1])):
                strange = table.select(label=value).filter(lambda t, labels=labels: ~t.label.isin(labels)).distinct()
                new = strange.limit(20).to_pyarrow().column("label").to_pylist()
                if new:
                    raise cal.unseen_error(word, sorted(map(str, new)))
    rows = []
    for name, values in zip(known[0], cal.correction_.to_numpy(), strict=True):
        cells = [(judge == b, ibis.literal(float(x), "float64")) for b, x in zip(known[1], values, strict=True)]
        rows.append((language == name, ibis.cases(*cells, else_=ibis.literal(0.0, "float64"))))
    shift = ibis.cases(*rows, else_=ibis.literal(0.0, "float64"))
    return table.mutate(**{column: table[columns.score].cast("float64") - shift})
