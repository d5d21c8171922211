"""Terminal helpers: a console that honours NO_COLOR and pipes, tables of frames, and labels that cannot misbehave."""

from __future__ import annotations

import io
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from polyjudge.core.errors import OutputClosed
from polyjudge.core.labels import clean

PLAIN_WIDTH = 96
"""Width of the output when it does not go to a terminal."""

Style = Callable[[Any, str, Any], str]
"""(row, column name, value) -> rich style of one table entry."""


class PlainFile(io.TextIOBase):
    """A text file that gets lines without the spaces a table is filled up with; a file or a pipe needs none."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._rest = ""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Rich draws tables in ASCII when this is not a Unicode encoding."""
        return getattr(self._file, "encoding", None) or "utf-8"

    def write(self, text: str) -> int:
        *lines, self._rest = (self._rest + text).split("\n")
        self._file.write("".join(line.rstrip(" ") + "\n" for line in lines))
        return len(text)

    def flush(self) -> None:
        self._file.flush()


class _Console(Console):
    """A console that leaves a closed pipe to the command line; Rich itself would end with 1, which means a finding."""

    def on_broken_pipe(self) -> None:
        raise OutputClosed


def make_console(file: IO[str] | None = None) -> Console:
    """A console on standard output. Markup and emoji codes are off: text is shown as it is.

    Output that does not go to a terminal is plain: no colours, a fixed width, no trailing spaces. NO_COLOR is honoured.
    Characters that the output's encoding lacks are shown as their codes.
    """
    file = file or sys.stdout
    terminal = file.isatty()
    utf8 = (getattr(file, "encoding", None) or "utf-8").lower().startswith("utf")
    if not utf8 and isinstance(file, io.TextIOWrapper):
        file.reconfigure(errors="backslashreplace")
    return _Console(
        file=file if terminal else PlainFile(file),  # type: ignore[arg-type]  # it has what a console calls
        width=None if terminal else PLAIN_WIDTH,
        markup=False,
        emoji=False,
        highlight=False,
        no_color=None if terminal else True,
        force_terminal=None if terminal else False,
        safe_box=True,
    )


def number(value: Any, digits: int = 2, sign: bool = False) -> str:
    """A number for a table; a dash where there is none."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)) or value is pd.NA:
        return "–"
    value = 0.0 if round(value, digits) == 0 else value  # no minus in front of a zero
    return f"{value:{'+' if sign else ''}.{digits}f}"


def p_value(value: float | None) -> str:
    """A p-value to two significant digits; never a bare zero."""
    if value is None or not math.isfinite(value):
        return "–"
    return "<1e-15" if value < 1e-15 else f"{value:.2g}"


def interval(low: float, high: float, digits: int = 2, sign: bool = False) -> str:
    """An interval as text: [low, high]."""
    return f"[{number(low, digits, sign)}, {number(high, digits, sign)}]"


def rows(frame: pd.DataFrame) -> Iterator[Any]:
    """The rows of a frame as named tuples."""
    return iter(frame.itertuples(index=False))


def heading(console: Console, text: str) -> None:
    """A section heading."""
    console.print()
    console.print(Text(text, style="bold"))


def say(console: Console, text: str, style: str = "") -> None:
    """A paragraph, indented by two."""
    console.print(Padding(Text(text, style=style), (0, 0, 0, 2), expand=False))


def show(
    console: Console,
    frame: pd.DataFrame,
    formats: Mapping[str, Callable[[Any], str]] | None = None,
    style: Style | None = None,
    most: int | None = None,
) -> None:
    """A frame as a table: text left, numbers right, labels cleaned; the rest counted when `most` cuts it."""
    formats = formats or {}
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in frame.columns:
        is_text = frame[name].dtype == object or str(frame[name].dtype) in ("str", "string", "bool", "category")
        table.add_column(clean(name), justify="left" if is_text else "right", overflow="fold")
    shown = frame if most is None else frame.head(most)
    for _, row in shown.iterrows():
        cells = []
        for name in frame.columns:
            value = row[name]
            written = (
                formats[name](value) if name in formats else (number(value) if isinstance(value, float) else value)
            )
            cells.append(Text(clean(written), style=style(row, name, value) if style else ""))
        table.add_row(*cells)
    console.print(Padding(table, (0, 0, 0, 2), expand=False))
    if len(shown) < len(frame):
        say(console, f"... and {len(frame) - len(shown)} more rows (all of them with --json)", "dim")


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on standard error: call it with (done, total). Silent when that is not a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
