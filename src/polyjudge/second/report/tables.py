"""Entries of tables and grids as text, the same for every renderer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyjudge.second.panel import numbers as n
from polyjudge.second.panel.arrays import is_frame
from polyjudge.second.panel.labels import clean, label
from polyjudge.second.report.sections import Column, Grid, Table

NUMERIC = frozenset({"points", "share", "percent", "count", "rank", "p", "ratio", "money", "number"})
MOST_NAMES = 8
"""Of a list in one entry so many names are shown."""
MARKS = {"culprit": "[{}]", "clear": "* {}", "pointwise": ". {}", "small": "{}", "top": "{}", "": "{}"}
"""How an entry of a grid is marked in plain text; before the number, so that digits stay in line."""


@dataclass(frozen=True)
class Cell:
    """One entry: its text, its interval, and whether it is true by arithmetic."""

    text: str
    interval: str = ""
    pale: bool = False

    @property
    def whole(self) -> str:
        """Text and interval."""
        return f"{self.text} {self.interval}" if self.interval else self.text


def cells(table: Table) -> list[list[Cell]]:
    """The shown rows of a table."""
    size = min(len(table), table.most)
    used = {x for c in table.columns for x in (c.name, c.low, c.high, c.se, c.pale, *c.like) if x}
    frame = table.frame.head(size) if is_frame(table.frame) else table.frame
    values = {name: list(frame[name])[:size] for name in used}
    written = [_column(values, size, column) for column in table.columns]
    return [list(row) for row in zip(*written, strict=True)]


def rows(block: Table | Grid, most: int | None = None) -> tuple[list[str], list[list[str]]]:
    """Head and body of a table or a grid, as text."""
    if isinstance(block, Table):
        return [c.title for c in block.columns], [[c.whole for c in row] for row in cells(block)[:most]]
    text, columns = entries(block), block.values.columns
    body = [[label(str(r)), *(text[r, c] for c in columns)] for r in block.values.index]
    return ["", *(label(str(c)) for c in columns)], body


def numeric(column: Column) -> bool:
    """Whether a column holds numbers, to be set to the right."""
    return column.kind in NUMERIC and not column.words


def left_out(table: Table) -> int:
    """Rows that are not shown."""
    return max(0, len(table) - table.most)


def _column(frame: Mapping[str, list[Any]], size: int, column: Column) -> list[Cell]:
    pale = [bool(p) for p in frame[column.pale]] if column.pale else [False] * size
    values = frame[column.name]
    if not numeric(column):
        return [Cell(_text(v, column), pale=p) for v, p in zip(values, pale, strict=True)]
    ends = [frame[c] if c else [None] * size for c in (column.low, column.high, column.se)]
    write = _writer(frame, column)
    return [
        Cell(write(v, column.sign), _interval(v, low, high, se, column, write), p)
        for v, low, high, se, p in zip(values, *ends, pale, strict=True)
    ]


def _interval(value: Any, low: Any, high: Any, se: Any, column: Column, write: n.Writer) -> str:
    if n.missing(value):
        return ""
    if column.low:
        if n.missing(low) and n.missing(high):
            return "(no interval)"
        if column.kind == "points" and not column.sign and low == high == value:
            return "(all equal)"  # equal scores say nothing of how far others may lie: an interval of no width would
        return f"[{write(low, column.sign)}, {write(high, column.sign)}]"
    return f"± {write(se, False)}" if column.se else ""


def _writer(frame: Mapping[str, list[Any]], column: Column) -> n.Writer:
    digits = column.digits
    kinds: dict[str, Callable[[Any, bool], str]] = {
        "share": lambda v, sign: n.percent(v, 1 if digits is None else digits, sign),
        "percent": lambda v, sign: n.number(v, 1 if digits is None else digits, sign),
        "count": lambda v, sign: n.number(v, 0, sign),
        "rank": lambda v, _: n.rank(v),
        "p": lambda v, _: n.p_value(v, column.floor),
        "ratio": lambda v, sign: n.number(v, 3 if digits is None else digits, sign),
        "money": lambda v, _: n.money(v),
    }
    if column.kind in kinds:
        return kinds[column.kind]
    if digits is not None:
        return lambda v, sign: n.number(v, digits, sign)
    names = [c for c in (column.name, column.low, column.high, *column.like) if c]
    return n.writer([v if isinstance(v, (int, float)) else np.nan for c in names for v in frame[c]])


def _text(value: Any, column: Column) -> str:
    if n.absent(value) or (isinstance(value, float) and math.isnan(value)):
        return n.NONE
    if isinstance(value, (tuple, list)):
        more = f" and {len(value) - MOST_NAMES} more" if len(value) > MOST_NAMES else ""
        return (", ".join(_text(v, column) for v in value[:MOST_NAMES]) or n.NONE) + more
    if value in column.words:
        return column.words[value]
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return f"{value:,}" if isinstance(value, int) else f"{value:g}"
    return label(str(value)) if column.kind in ("label", "judge") else clean(value, 400)


def entries(grid: Grid) -> dict[tuple[Any, Any], str]:
    """Text of each entry of a grid, with its mark, by row and column."""
    values = grid.values
    column = Column(name="all", title="", kind=grid.kind, digits=grid.digits, sign=grid.sign)
    flat = {"all": values.to_numpy().ravel().tolist()}
    shown = grid.texts
    texts = shown.to_numpy().ravel() if shown is not None else [c.text for c in _column(flat, values.size, column)]
    marks = grid.marks.to_numpy().ravel() if grid.marks is not None else [""] * values.size
    places = [(r, c) for r in values.index for c in values.columns]
    return {place: MARKS[mark].format(text) for place, text, mark in zip(places, texts, marks, strict=True)}
