"""What a page consists of: sections with paragraphs, figures and tables. Text only; escaping is the template's work."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from polyjudge.core.labels import clean, label
from polyjudge.report.numbers import Writer, writer

NAMES = ("judge", "language", "task", "group", "tied_with", "nearest", "chosen")
"""Columns whose names begin so hold labels of the panel: shown as charts show them. Other text is shown in full."""
POINTS = -1
"""As `digits` of a column: as many decimals as the size of its numbers asks for."""
MOST_ROWS = 200
"""Rows of a table on the page. The rest is in the page's JSON."""


@dataclass(frozen=True)
class Column:
    """How a column of a frame is shown. `low` and `high` name the columns of its interval, `se` that of its error."""

    title: str
    digits: int | None = None
    sign: bool = False
    low: str = ""
    high: str = ""
    se: str = ""
    percent: bool = False
    show: Callable[[Any], str] | None = None

    @property
    def numeric(self) -> bool:
        return self.digits is not None or self.show is p_value


@dataclass(frozen=True)
class Cell:
    text: str
    sort: str = ""
    interval: str = ""
    grey: bool = False


@dataclass(frozen=True)
class Row:
    cells: tuple[Cell, ...]
    judges: tuple[str, ...] = ()
    """Labels of the judges this row is about: the page highlights it with them."""


@dataclass(frozen=True)
class Table:
    """A table. The first column heads its rows."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    left_out: int = 0


@dataclass(frozen=True)
class Figure:
    """One or more charts with the same meaning in words and, folded, in numbers."""

    name: str
    charts: tuple[Any, ...]
    caption: str
    text: str
    """What the chart shows, for those who do not see it."""
    table: Table | None = None
    scopes: tuple[str, ...] = ()
    """Values of the chart's own choice (languages of the rank probabilities)."""
    scope: str = ""


@dataclass(frozen=True)
class Section:
    name: str
    title: str
    lead: tuple[str, ...] = ()
    blocks: tuple[Figure | Table, ...] = ()
    points: tuple[str, ...] = ()
    absent: str = ""
    """Why there is nothing to show."""

    @property
    def figures(self) -> list[Figure]:
        return [b for b in self.blocks if isinstance(b, Figure)]


@dataclass(frozen=True)
class Page:
    title: str
    subtitle: str
    verdict: tuple[str, ...]
    findings: tuple[tuple[str, str], ...]
    """(severity, text), most severe first"""
    sections: tuple[Section, ...]
    judges: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    """How the page was made: seed, versions, fingerprint."""
    command: str
    payload: Mapping[str, Any] = field(default_factory=dict)

    @property
    def figures(self) -> list[Figure]:
        return [f for s in self.sections for f in s.figures]


def number(value: Any, digits: int, sign: bool = False, percent: bool = False) -> str:
    """A number as text; a dash where there is none."""
    if value is None or value is pd.NA or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    return f"{value:{'+' if sign else ''}.{digits}{'%' if percent else 'f'}}"


def p_value(value: Any) -> str:
    """A p-value to two significant digits; never a bare zero."""
    if value is None or value is pd.NA or not math.isfinite(value):
        return "–"
    return "<1e-15" if value < 1e-15 else f"{value:.2g}"


def table(
    frame: pd.DataFrame,
    caption: str,
    columns: Mapping[str, Column],
    *,
    judges: Sequence[str] = ("judge",),
    grey: Callable[[pd.Series[Any]], set[str]] | None = None,
    most: int = MOST_ROWS,
) -> Table:
    """A table of some columns of a frame.

    Parameters
    ----------
    judges : columns that name judges; their rows are highlighted with the judge
    grey : for a row, the columns to show pale
    """
    rows = []
    writers = {
        name: writer(frame[[c for c in (name, column.low, column.high) if c]].astype(float))
        for name, column in columns.items()
        if column.digits == POINTS
    }
    for _, row in frame.head(most).iterrows():
        pale = grey(row) if grey else set()
        cells = tuple(_cell(row, name, c, name in pale, writers.get(name)) for name, c in columns.items())
        rows.append(Row(cells, tuple(label(str(row[j])) for j in judges if j in frame.columns)))
    return Table(caption, tuple(columns.values()), tuple(rows), max(0, len(frame) - most))


def _cell(row: pd.Series[Any], name: str, column: Column, grey: bool, write: Writer | None) -> Cell:
    value = row[name]

    def text(number_: Any, sign: bool = column.sign) -> str:
        if write is not None:
            return write(float(number_), sign)
        return number(number_, column.digits or 0, sign, column.percent)

    if column.show is not None:
        return Cell(column.show(value), _sort(value), grey=grey)
    if column.digits is None:
        return Cell(_text(value, name), grey=grey)
    interval = ""
    if column.low and _sort(value):
        ends = [text(row[c]) for c in (column.low, column.high)]
        interval = f"[{ends[0]}, {ends[1]}]" if ends != ["–", "–"] else "no interval"
    elif column.se:
        interval = f"± {text(row[column.se], False)}"
    return Cell(text(value), _sort(value), interval, grey)


def _sort(value: Any) -> str:
    return repr(float(value)) if isinstance(value, (int, float, np.number)) and math.isfinite(value) else ""


def _text(value: Any, column: str) -> str:
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (tuple, list)):
        return ", ".join(_text(v, column) for v in value) or "–"
    return label(str(value)) if column.startswith(NAMES) else clean(value, 400)
