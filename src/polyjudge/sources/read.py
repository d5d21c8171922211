"""`read_panel`: from wherever the scores are to a validated Panel."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from polyjudge.core.columns import Columns, Doubt, doubts, find_columns
from polyjudge.core.errors import PanelError, UsageError
from polyjudge.core.labels import clean
from polyjudge.core.panel import Panel
from polyjudge.sources.engine import Duplicates, Engine

Incomplete = Literal["estimate", "drop", "error"]
MAX_UNITS = 100_000


def read_panel(
    source: Any,
    *,
    task: str | None = None,
    language: str | None = None,
    judge: str | None = None,
    score: str | None = None,
    replicate: str | None = None,
    group: str | None = None,
    system: str | None = None,
    cluster: str | None = None,
    weight: str | None = None,
    table: str | None = None,
    range: tuple[float, float] | None = None,
    duplicates: Duplicates = "error",
    languages: Sequence[str] | None = None,
    judges: Sequence[str] | None = None,
    incomplete: Incomplete = "estimate",
    max_units: int = MAX_UNITS,
    engine: Literal["duckdb", "spark"] = "duckdb",
) -> Panel:
    """Read scores into a Panel: one grouped pass in the engine that holds the rows.

    Parameters
    ----------
    source : path or glob of CSV (.gz), Parquet or JSON lines files; a DuckDB or SQLite file (`FILE::TABLE`); a
        `postgres://` address (`ADDRESS::TABLE`); a pandas, polars or pyarrow table; an Ibis table of any backend; a
        Spark data frame; a collection run; a folder of Inspect logs
    task, language, judge, score, replicate, group, system, cluster : names of columns; found by their usual names when
        not given, except `group` (strata of tasks, or requirement types inside tasks), which must be named. A system is
        what is judged, a replicate a repeat of one measurement, a cluster tasks that share a source or template. ""
        says that the table has no system, replicate or cluster whatever its columns are called
    weight : column with the number of tasks behind each task, as `Panel.to_long` writes it for a panel of units
    table : table of a database
    range : (low, high) of the score scale; a score outside it is an error
    duplicates : rows with the same task, system, language, judge and replicate: "error", their "mean", or the "first"
    languages, judges : read only these, in this order. Without them labels keep the order of their first appearance, or
        are sorted where rows have no order (Spark, warehouses)
    incomplete : entries without a score: "estimate" keeps them as missing for the methods that can work with them,
        "drop" leaves out the tasks that lack one, "error" stops with a table of what is missing
    max_units : beyond this many tasks, tasks are hashed into that many units inside the engine
    engine : "duckdb", or "spark" to read files with a Spark session

    >>> import pandas as pd
    >>> frame = pd.DataFrame(
    ...     [(t, l, j, i) for i, (t, l, j) in enumerate((t, l, j) for t in "ab" for l in ("en", "fr") for j in "xy")],
    ...     columns=["task", "language", "judge", "score"],
    ... )
    >>> read_panel(frame).shape
    (2, 2, 2)
    """
    limits = _check_options(range, duplicates, incomplete, max_units)
    if isinstance(source, Panel):
        return source
    names: dict[str, Any] = {
        "task": task, "language": language, "judge": judge, "score": score, "replicate": replicate, "group": group,
        "system": system, "cluster": cluster,
    }  # fmt: skip
    notes: tuple[str, ...] = ()
    if isinstance(source, (str, Path)) and os.path.isdir(source) and engine == "duckdb":
        if holds_parquet(Path(source)):
            source = os.path.join(source, "**", "*.parquet")
        else:
            from polyjudge.sources.runs import read_folder

            found = read_folder(source, group)
            source, limits, notes = found.frame, limits or found.declared_range, found.notes
    from polyjudge.sources.assemble import assemble

    opened, columns, all_columns = _open(source, table, names, weight, engine)
    notes += tuple(_doubt_note(doubt) for doubt in doubts(all_columns, columns, names.values()) if doubt.role)
    return assemble(
        opened,
        columns,
        limits=limits,
        duplicates=duplicates,
        languages=None if languages is None else [str(x) for x in languages],
        judges=None if judges is None else [str(x) for x in judges],
        incomplete=incomplete,
        max_units=max_units,
        notes=notes,
    )


def _check_options(limits: Any, duplicates: str, incomplete: str, max_units: int) -> tuple[float, float] | None:
    if duplicates not in ("error", "mean", "first"):
        raise UsageError(f"duplicates must be 'error', 'mean' or 'first', not {duplicates!r}.")
    if incomplete not in ("estimate", "drop", "error"):
        raise UsageError(f"incomplete must be 'estimate', 'drop' or 'error', not {incomplete!r}.")
    if max_units < 2:
        raise UsageError(f"max_units must be at least 2, not {max_units}.")
    if limits is None:
        return None
    try:
        low, high = (float(x) for x in limits)
    except (TypeError, ValueError):
        raise UsageError(f"range must be two numbers (low, high), not {limits!r}.") from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise UsageError(f"range must be two finite numbers, the lower one first, not {limits!r}.")
    return low, high


def holds_parquet(folder: Path) -> bool:
    """A folder of Parquet files, as `polyjudge apply` and Spark write it, and no collection run."""
    return any(folder.rglob("*.parquet")) and not (folder / "store.sqlite").exists()


def _doubt_note(doubt: Doubt) -> str:
    """What was made of a column whose name leaves room for another reading, and how to change it."""
    name = clean(doubt.column)
    if doubt.role == "system":
        return (
            f"{name} is taken as the system, the thing that is judged; if it repeats a measurement: --replicate {name}"
        )
    return f"{name} is taken as repeats of one measurement; if it is what is judged: --system {name}"


def _open(
    source: Any, table: str | None, names: dict[str, Any], weight: str | None, engine: str
) -> tuple[Engine, Columns, Sequence[str]]:
    """The engine that holds the rows, with its columns chosen, and the names of all columns."""
    if engine not in ("duckdb", "spark"):
        raise UsageError(f"engine must be 'duckdb' or 'spark', not {engine!r}.")
    if isinstance(source, (str, Path)):
        text = str(source)
        if engine == "spark" or "://" in text:
            from polyjudge.sources import warehouse

            held = warehouse.connect(text, table, engine)
            return *warehouse.open_engine(held, names, weight), held.columns
        from polyjudge.sources import duck
        from polyjudge.sources.duck_engine import DuckEngine

        opened = duck.open_file(text, table)
        columns = find_columns(opened.columns, **names)
        _check_weight(weight, opened.columns)
        return DuckEngine(opened, columns, weight=weight), columns, opened.columns
    kind = type(source).__module__.split(".")[0]
    if kind in ("ibis", "pyspark"):
        from polyjudge.sources import warehouse

        held = warehouse.as_table(source)
        return *warehouse.open_engine(held, names, weight), held.columns
    if kind == "duckdb" or kind == "_duckdb":
        source = source.to_arrow_table()
    if kind == "polars" and hasattr(source, "collect"):
        source = source.collect()
    if not (hasattr(source, "columns") or hasattr(source, "column_names")):
        raise UsageError(
            f"read_panel takes a path, a pandas, polars or pyarrow table, an Ibis table or a Spark data frame, not "
            f"{type(source).__name__}."
        )
    from polyjudge.sources import duck
    from polyjudge.sources.duck_engine import DuckEngine

    opened = duck.open_frame(source)
    columns = find_columns(opened.columns, **names)
    _check_weight(weight, opened.columns)
    return DuckEngine(opened, columns, source, weight), columns, opened.columns


def _check_weight(weight: str | None, columns: Sequence[str]) -> None:
    if weight is not None and weight not in columns:
        raise PanelError(f"There is no column {weight!r} (given for weight).")
