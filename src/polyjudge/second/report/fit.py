"""A report as it is shown: what a screen or a page can hold of hundreds of judges or languages (the rest is in the
JSON), in the words of its panel: what its condition is called, and the unit of score differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np

from polyjudge.second.panel.arrays import is_frame
from polyjudge.second.panel.say import LANGUAGE, POINTS, Say, called, measured, say
from polyjudge.second.report.sections import Block, Chart, Column, Folded, Grid, Report, Section, Table
from polyjudge.second.report.unit import MEANS

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
        sections=_each(report.sections, _section),
        judges=report.judges[:MOST_LABELS],
    )


def _each(sections: Sequence[Section], change: Callable[[Section], Section]) -> Sequence[Section]:
    if not isinstance(sections, Folded):
        return tuple(map(change, sections))
    return Folded(lambda: map(change, sections[len(sections.first) :]), *map(change, sections.first))


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
        for frame in filter(is_frame, data.values())
    )


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


# --- in the words of the panel ---

SHOWN = frozenset({"title", "caption", "alt", "note", "absent", "why", "unit", "says", "read", "verdict", "uses"})
"""Fields whose plain texts are words of ours. All other texts are codes, or belong to the user."""


def in_words_of(report: Report, noun: str) -> Report:
    """The same report about `noun` in place of language: a rubric, a prompt version, a domain, a month; and in its own
    unit."""
    words = Tongue(noun, report.unit)
    return report if words == PLAIN else replace(words.of(report, ""), unit=report.unit)


@dataclass(frozen=True)
class Tongue:
    """What the condition is called, and the unit of score differences."""

    noun: str = LANGUAGE
    unit: str = POINTS

    def text(self, text: str) -> str:
        """A text of ours."""
        return measured(called(text, self.noun) if self.noun != LANGUAGE else text, self.unit)

    def of(self, value: Any, field: str) -> Any:
        """A part of a report."""
        if isinstance(value, Say):
            return replace(value, noun=self.noun, unit=self.unit)
        if isinstance(value, str):
            return self.text(value) if field in SHOWN else value
        if isinstance(value, tuple):
            return tuple(self.of(v, field) for v in value)
        if isinstance(value, Folded):
            return _each(value, lambda section: self.of(section, field))
        if is_dataclass(value) and not isinstance(value, type) and type(value).__module__.endswith("report.sections"):
            changed = {f.name: self.of(getattr(value, f.name), f.name) for f in fields(value)}
            if isinstance(value, Column) and self.unit != POINTS and value.name in MEANS:
                changed["title"] += ", %"
            own = {name: x for name, x in (("noun", self.noun), ("unit", self.unit)) if name in changed}
            return replace(value, **changed | own)
        if is_frame(value) and field in ("values", "texts", "marks"):  # of a grid
            return value.rename_axis(index=self._axis(value.index.name), columns=self._axis(value.columns.name))
        if is_frame(value) and field == "frame" and "component" in value:  # called by their axes
            return value.assign(component=[called(str(x), self.noun) for x in value["component"]])
        if isinstance(value, dict) and field == "data":  # of a chart: its arguments
            return {k: self.text(v) if k in SHOWN and isinstance(v, str) else v for k, v in value.items()}
        return value

    def _axis(self, name: Any) -> Any:
        return self.noun if name == LANGUAGE else name

    def picture(self, spec: Any) -> Any:
        """The titles of a picture's axes, legends and hovering texts."""
        if self == PLAIN:
            return spec
        if isinstance(spec, dict):
            shown = ("title", "text", "subtitle")
            return {k: self.text(v) if k in shown and isinstance(v, str) else self.picture(v) for k, v in spec.items()}
        return [self.picture(v) for v in spec] if isinstance(spec, list) else spec


PLAIN = Tongue()
