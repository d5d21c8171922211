"""What an answer says, as data: a report of findings, sections, tables and charts. How it looks is decided elsewhere.

An answer is a frozen dataclass that inherits from `Result` and has `findings` and `report()`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from polyjudge.base.errors import UsageError
from polyjudge.base.later import Later

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

Severity = Literal["info", "notice", "warning", "serious"]
SEVERITIES: tuple[Severity, ...] = ("info", "notice", "warning", "serious")


@dataclass(frozen=True)
class Finding:
    """One thing that is found: how serious, a stable key, and one or two sentences of plain, harmless text."""

    severity: Severity
    key: str
    text: str
    topic: str = ""
    """The word at the left of the first screen ("Winner", "Judges", "Off", "People"); empty: not on that screen."""
    where: Mapping[str, str] = field(default_factory=dict)
    """language, judge, system (and its rival), criterion: what it is about."""
    head: str = ""
    """What the card on the page shows large, a few words ("Too close to call"); empty: the first sentence."""


@dataclass(frozen=True)
class Table:
    """A frame (or its columns alone: a screen needs no more), and how its columns are written.

    columns : name of a column -> its format. Columns that are not named are not shown. A format is a kind: "name",
        "text", "count", "points", "+points" (with sign), "number", "percent", "p", "rank", "yes" (True is shown as
        yes, False as nothing); a value with its interval names the columns of the ends: "+points low high".
    titles : name of a column -> its heading, where that is not its name with spaces
    """

    name: str
    title: str
    data: pd.DataFrame | Mapping[str, Sequence[Any]]
    columns: Mapping[str, str]
    titles: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    most: int = 200
    """Rows shown on a page; a terminal shows fewer, CSV and JSON all."""
    in_summary: bool = False
    """Whether summary.md has it too, folded."""

    @property
    def frame(self) -> pd.DataFrame:
        """The frame."""
        import pandas as pd

        return self.data if isinstance(self.data, pd.DataFrame) else pd.DataFrame(self.data)

    @property
    def shown(self) -> dict[str, str]:
        """The columns that are shown, with their formats."""
        return {c: kind for c, kind in self.columns.items() if c in self.data}

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(next(iter(self.whole.values()), ()))

    @property
    def whole(self) -> dict[str, Any]:
        """All columns, also those that are not shown."""
        return {str(c): x for c, x in self.data.items()}


ChartKind = Literal["intervals", "heatmap", "ranks", "matrix", "lines", "bars"]


@dataclass(frozen=True)
class Chart:
    """A picture of a frame, by kind.

    intervals : label, value, low, high; optional panel (small multiples), best (yes: coloured), key. options: zero
        (text of the reference line)
    heatmap : row, column, value; optional text, mark ("named", "clear", ""), low, high, beta, key (of its drawer and
        spread). options: limit (full colour), least (smaller values are drawn without weight), named
        (what that mark says)
    ranks : panel, group (x axis), label (line), rank
    matrix : row, column, value; optional group (of the row: its maker)
    lines : label, x, value; optional low, high. options: log
    bars : label, value; optional low, high, group
    """

    name: str
    kind: ChartKind
    title: str
    frame: pd.DataFrame
    alt: str
    """One sentence for those who do not see it."""
    x: str = ""
    y: str = ""
    """Titles of the axes, with units."""
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Section:
    """A part of the page, and of `--full`."""

    name: str
    title: str
    text: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    open: bool = True


@dataclass(frozen=True)
class Step:
    """What to do next: a command (or Python) to paste, and what it is for."""

    command: str
    text: str = ""


@dataclass(frozen=True)
class Report:
    """One answer, ready to be shown.

    command : the command that made it ("audit")
    title : of the page
    facts : the first lines: what was read
    findings : most serious first; those with a topic make the first screen, in the order of the topics
    board : the table that the first screen shows
    next : what to do next
    sections : all else, in the order of the page; made where a page or `--full` is
    drawers : key of a cell or row -> frame of its answers (task, system, language, judge, score, others, prompt,
        response, reason; columns may be missing)
    spreads : key of a cell or row -> distribution of its scores and of the others' (`spread`), drawn in its drawer
    about : seed, level, version, input: for the foot of the page
    """

    command: str
    title: str
    facts: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    board: Table | None = None
    next: tuple[Step, ...] = ()
    sections: Later[tuple[Section, ...]] = Later(())
    drawers: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    spreads: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tables(self) -> tuple[Table, ...]:
        """All tables, the board first."""
        board = () if self.board is None else (self.board,)
        return board + tuple(t for s in self.sections for t in s.tables)

    @property
    def charts(self) -> tuple[Chart, ...]:
        """All charts, in the order of the page."""
        return tuple(c for s in self.sections for c in s.charts)


def spread(groups: Mapping[str, Any], low: float, high: float, bins: int = 20) -> pd.DataFrame:
    """Distributions side by side: label, x, share. On the levels where there are at most `bins` + 1, else in bins.

    groups : label -> array of scores, NaN where missing
    """
    import numpy as np
    import pandas as pd

    every = {k: v[np.isfinite(v)] for k, v in ((k, np.ravel(np.asarray(v, dtype=float))) for k, v in groups.items())}
    levels = np.unique(np.concatenate([np.unique(v) for v in every.values()] or [np.zeros(0)]))
    ends = (low, high)
    if len(levels) > bins + 1:
        edges = np.linspace(low, high, bins + 1)
        levels = (edges[1:] + edges[:-1]) / 2
        counts = [np.histogram(v.clip(low, high), edges)[0] for v in every.values()]
    else:
        counts = [np.bincount(np.searchsorted(levels, v), minlength=len(levels)) for v in every.values()]
    parts = [{"label": k, "x": levels, "share": c / max(c.sum(), 1)} for k, c in zip(every, counts, strict=True)]
    made = pd.concat([pd.DataFrame(part) for part in parts], ignore_index=True) if parts else pd.DataFrame()
    made.attrs["ends"] = ends
    return made


class Result:
    """What every answer can do. Its subclasses are frozen dataclasses with `findings` and `report()`."""

    findings: tuple[Finding, ...]

    @property
    def incomplete(self) -> bool:
        """Whether the answer is not whole, or a promise that was asked for is not kept: the command ends with 1."""
        return False

    def report(self) -> Report:
        """The answer as it is shown."""
        raise TypeError(f"{type(self).__name__} has no report.")

    def to_dict(self) -> dict[str, Any]:
        """Fields as plain data: a frame is a list of its rows. What a name with _ at its end holds is left out."""
        from polyjudge.report.text import plain

        assert dataclasses.is_dataclass(self)
        return {f.name: plain(getattr(self, f.name)) for f in dataclasses.fields(self) if not f.name.endswith("_")}

    def to_html(self, path: str | Path | None = None) -> str | None:
        """The page: written to `path`, or returned as text when none is given."""
        from polyjudge.base.files import write_text
        from polyjudge.report.page import page

        text = page(self.report())
        if path is None:
            return text
        write_text(path, text)
        return None

    def plot(self, name: str = "") -> Any:
        """A chart by its name (Altair): the first one when none is named. `charts` lists the names."""
        found = {c.name: c for c in self.report().charts}
        if not found or (name and name not in found):
            known = ", ".join(found) or "none"
            raise UsageError(f"{type(self).__name__} has no chart {name!r}. Its charts: {known}.")
        from polyjudge.report.charts import draw

        return draw(found[name] if name else next(iter(found.values())))

    @property
    def charts(self) -> tuple[str, ...]:
        """Names that `plot` takes."""
        return tuple(c.name for c in self.report().charts)

    def __repr__(self) -> str:
        from polyjudge.report.terminal import screen

        return screen(self.report(), python=True)

    def _repr_html_(self) -> str:
        from polyjudge.report.page import notebook

        return notebook(self.report())
