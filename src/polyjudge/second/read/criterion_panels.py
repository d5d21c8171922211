"""Scores by several criteria: a column of them, a score column for each, or the metrics of an eval tool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from polyjudge.second.panel.columns import spelled
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.reading import Unclear
from polyjudge.second.read import duck
from polyjudge.second.read.formats.roles import Asked
from polyjudge.second.read.opener import Opened, open_table
from polyjudge.second.read.scores import is_foreign, read_panel

USUAL = ("criterion", "criteria", "criterion_name", "dimension", "aspect", "metric", "metric_name", "rubric_item")
MOST = 40
"""Criteria of one panel, at most: a column with more values holds something else."""


def read_criteria(
    source: Any, *, criterion: str | None = None, criteria: Sequence[str] | None = None, **columns: Any
) -> dict[str, Panel]:
    """A panel for each criterion: criterion -> Panel; one panel under "" where there is only one.

    criterion : column that names the criterion of a row
    criteria : score columns, one for each criterion
    columns : as for `read_panel`. Where neither is given, a column of a usual name ("criterion", "dimension", ...), the
        metrics of an eval tool, or several score columns that a table has beside one judge column are found.
    """
    if criterion is not None and criteria is not None:
        raise UsageError("criterion (--criterion) and criteria (--criteria) both say where criteria stand: give one.")
    if isinstance(source, Panel):
        return {"": source}
    if criteria is not None:
        return _each(source, "score", list(criteria), columns)
    column = criterion if criterion is not None else _found(source, columns)
    if column is not None and is_foreign(source, columns.get("engine", "duckdb")):
        raise UsageError(
            f"Criteria in a column are read from files and frames. Read one criterion: a query where {column} = ..."
        )
    if column is not None:
        each, flag = criteria_of(open_table(source, Asked.of(columns)), column), {"--criterion": column}
        return {c: _said(read_panel(source, only={column: c}, **columns), "", flag) for c in each}
    try:
        return {"": read_panel(source, **columns)}
    except Unclear as unclear:
        for question in unclear.reading.questions:
            if question.code == "read.metrics":
                return _each(source, "metric", list(question.values["metrics"]), columns)
            if question.code == "read.several" and question.values["role"] == "score":
                return _each(source, "score", list(question.values["columns"]), columns)
        raise


def _each(source: Any, name: str, values: list[str], columns: dict[str, Any]) -> dict[str, Panel]:
    if not values:
        raise UsageError("criteria (--criteria) must name at least one score column.")
    flag = {"--criteria": ",".join(values)} if name == "score" else {}
    return {c: _said(read_panel(source, **{**columns, name: c}), f"--{name}", flag) for c in values}


def _said(panel: Panel, drop: str, flag: dict[str, str]) -> Panel:
    """The panel whose command reads all criteria again."""
    if panel.reading is None:
        return panel
    options = {f: v for f, v in panel.reading.options.items() if f != drop}
    return replace(panel, reading=replace(panel.reading, options={**options, **flag}))


def _found(source: Any, columns: dict[str, Any]) -> str | None:
    """The column of a usual name, where it holds several criteria and plays no other role."""
    if is_foreign(source, columns.get("engine", "duckdb")) or columns.get("reading") or columns.get("metric"):
        return None
    taken = {v for v in columns.values() if isinstance(v, str)}
    try:
        opened = open_table(source, Asked.of(columns))
        named = [c for c in opened.source.columns if spelled(c) in USUAL and c not in taken]
        several = len(named) == 1 and not opened.sure and len(criteria_of(opened, named[0])) > 1
    except PanelError:  # said when the scores are read
        return None
    return named[0] if several else None


def criteria_of(opened: Opened, column: str) -> list[str]:
    """The criteria that a column names."""
    if column not in opened.source.columns:
        raise PanelError(f"{opened.source.where} has no column {clean(column)!r}.")
    with duck.engine_errors(opened.source.where):
        duck.spool(opened.source, [column])
        query = f"SELECT DISTINCT trim(CAST({duck.name(column)} AS VARCHAR)) AS v FROM {opened.source.relation}"
        found = sorted(v for (v,) in opened.source.con.execute(query).fetchall() if v)
    if len(found) > MOST:
        raise PanelError(
            f"The column {clean(column)!r} of {opened.source.where} has {len(found)} values, too many for criteria (at "
            f"most {MOST}). Name another column: --criterion."
        )
    if not found:
        raise PanelError(f"The column {clean(column)!r} of {opened.source.where} is empty.")
    return found
