"""What a screen or a page can hold of a report on hundreds of judges or languages: the rest is in the JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from polyjudge.panel.say import say
from polyjudge.report.sections import Block, Chart, Grid, Report, Section, Table

MOST_LABELS = 100
"""A chart with more judges, languages, systems or tasks than this on an axis is not drawn."""
MOST_MARKS = 30_000
MOST_ROWS, MOST_COLUMNS = 60, 40
"""A grid is cut to as many rows and columns: those with the largest values."""
AXES = ("judge", "language", "system", "task", "judge_i", "judge_j")


def fitted(report: Report) -> Report:
    """The report with its grids cut, and without the charts that would hold too much."""
    return replace(
        report,
        picture=tuple(_blocks(report.picture)),
        beside=tuple(_blocks(report.beside)),
        sections=tuple(_section(s) for s in report.sections),
        judges=report.judges[:MOST_LABELS],
    )


def _section(section: Section) -> Section:
    blocks = tuple(_blocks(section.blocks))
    lost = len(section.blocks) - len(blocks)
    return replace(section, blocks=blocks, says=(*section.says, *([say("not-drawn", charts=lost)] if lost else [])))


def _blocks(blocks: tuple[Block, ...]) -> Iterator[Block]:
    for block in blocks:
        if not isinstance(block, Chart):
            yield _cut(block)
        elif _drawable(block):
            yield replace(block, instead=_cut(block.instead))
        elif block.instead is not None:
            yield _cut(block.instead)


def _drawable(chart: Chart) -> bool:
    return not any(
        len(frame) > MOST_MARKS
        or any(frame[axis].nunique() > MOST_LABELS for axis in AXES if axis in frame and len(frame) > MOST_LABELS)
        for data in chart.data
        for value in data.values()
        for frame in _frames(value)
    )


def _frames(value: Any) -> Iterator[pd.DataFrame]:
    if isinstance(value, pd.DataFrame):
        yield value
    elif is_dataclass(value):
        yield from (x for f in fields(value) if isinstance(x := getattr(value, f.name), pd.DataFrame))


def _cut(grid: Table | Grid | None) -> Any:
    """A grid with as many rows and columns as can be read; anything else as it is."""
    if not isinstance(grid, Grid):
        return grid
    rows, columns = grid.values.shape
    if rows <= MOST_ROWS and columns <= MOST_COLUMNS:
        return grid
    size = np.nan_to_num(np.abs(grid.values.to_numpy(dtype=float)), nan=-1.0)
    row = np.sort(np.argsort(-size.max(axis=1), kind="stable")[:MOST_ROWS])
    column = np.sort(np.argsort(-size[row].max(axis=0), kind="stable")[:MOST_COLUMNS])
    shape = {"rows": len(row), "of_rows": rows, "columns": len(column), "of_columns": columns}
    frames = {name: frame for name in ("values", "texts", "marks") if (frame := getattr(grid, name)) is not None}
    parts: Any = {name: frame.iloc[row, column] for name, frame in frames.items()}
    return replace(grid, **parts, note=say("grid-cut", note=grid.note, **shape))
