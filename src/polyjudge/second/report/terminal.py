"""Any report as terminal text: the first screen, and everything with `full`."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from typing import IO, Any

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text as RichText

from polyjudge.second.panel.errors import OutputClosed
from polyjudge.second.panel.labels import clean, short, visible
from polyjudge.second.panel.say import Words, say, word
from polyjudge.second.report.in_python import in_python
from polyjudge.second.report.sections import Block, Chart, Column, Finding, Folded, Grid, Report, Section, Table
from polyjudge.second.report.tables import cells, entries, left_out, numeric

PLAIN_WIDTH = 96
"""Width of the output when it does not go to a terminal."""
SEVERITY = {"serious": "bold red", "warning": "yellow", "notice": "cyan", "info": "dim"}
VERDICT = {"serious": "bold red", "warning": "bold yellow", "notice": "bold cyan", "info": "bold green"}
STYLE = {"culprit": "bold red", "clear": "bold", "pointwise": "", "small": "dim", "top": "bold green", "": "dim"}
LABEL = 14
"""Widest label of a grid's column."""
ROWS = 20
"""Rows of a table on a terminal."""


def show(report: Report, *, full: bool = False, console: Console | None = None, details: str = "details") -> None:
    """Print a report: what was read, verdict, picture, findings, what to do next; with `full` every section."""
    console = console or make_console()
    titled = full or not report.brief
    if titled:
        console.print(Text(word(report.title), style="bold"))
    _lines(console, "Read", report.read, apart=titled)
    _lines(console, "Verdict", report.verdict, "bold")
    for block in report.picture:
        console.print()
        _block(console, block)
    _lines(console, "Use", report.uses)
    _findings(console, report, full)
    for section in report.sections if full else report.unfolded:
        _section(console, section)
    _next(console, report, in_python if details == "details.python" else str)
    if not full and (isinstance(report.sections, Folded) or any(s.folded for s in report.sections)):
        console.print()
        console.print(Text(word(say(details, command=report.command)), style="dim"))


def text(report: Report, *, full: bool = False, details: str = "details", width: int | None = None) -> str:
    """A report as plain text. `details` is the code of the words that say where the rest is."""
    out = io.StringIO()
    console = make_console(out)
    console.width = width or console.width
    show(report, full=full, console=console, details=details)
    return out.getvalue().rstrip("\n")


def Text(shown: str, style: str = "") -> RichText:
    """Text of which a terminal sees letters alone: nothing in it can move the cursor or reach the clipboard."""
    return RichText(visible(shown, keep="\n"), style=style)


def _labelled(console: Console, rows: list[tuple[RichText, RenderableType]]) -> None:
    grid = RichTable.grid(padding=(0, 1))
    grid.add_column(min_width=8, no_wrap=True)
    grid.add_column()
    for head, line in rows:
        grid.add_row(head, line)
    console.print(grid)


def _lines(console: Console, head: str, sentences: tuple[Words, ...], style: str = "", apart: bool = True) -> None:
    if sentences:
        if apart:
            console.print()
        lines = [Text(word(s), style=VERDICT[s.severity] if isinstance(s, Finding) else style) for s in sentences]
        _labelled(console, [(Text(head if i == 0 else "", style="bold"), line) for i, line in enumerate(lines)])


def _findings(console: Console, report: Report, full: bool) -> None:
    rest = report.unsaid
    shown = rest if full else [f for f in rest if f.severity != "info" and not report.brief]
    if not rest or (report.brief and not full):
        return
    shown = rest if len(rest) == len(shown) + 1 else shown  # to announce one takes as much room as to say it
    console.print()
    if shown:
        console.print(Text("Findings", style="bold"))
    said = [word(f) + (" (true by arithmetic)" if f.arithmetic else "") for f in shown]
    heads = [Text(f.severity, style=SEVERITY[f.severity]) for f in shown]
    _labelled(console, list(zip(heads, map(Text, said), strict=True)))
    if len(shown) < len(rest):
        console.print(Text(word(say("more-findings", count=len(rest) - len(shown))), style="dim"))


def _section(console: Console, section: Section) -> None:
    console.print()
    console.print(Text(word(section.title), style="bold"))
    if section.absent is not None:
        _say(console, word(section.absent), "dim")
    for sentence in section.says:
        _say(console, word(sentence))
    for block in section.blocks:
        _block(console, block)


def _next(console: Console, report: Report, written: Callable[[str], str]) -> None:
    """What to do, with the command as it is `written` here (as it is, where that gives nothing)."""
    if not report.next:
        return
    console.print()
    for i, step in enumerate(report.next):
        number = f"{i + 1}. " if len(report.next) > 1 else ""
        head, why = Text("" if i else "Do next", style="bold"), f"{number}{word(step.why)}"
        command = (written(step.command) or step.command) if step.command else ""
        line = f"{why.rstrip('.:')}:  {command}"
        if command and cell_len(line) + 9 <= console.width:
            _labelled(console, [(head, Text(line))])
            continue
        _labelled(console, [(head, Text(why))])
        if command:  # to be pasted: never broken by us
            console.print(Text(f"{'':12}{command}"), soft_wrap=True)


def _say(console: Console, sentence: str, style: str = "") -> None:
    console.print(Padding(Text(sentence, style=style), (0, 0, 0, 2), expand=False))


def _block(console: Console, block: Block) -> None:
    if isinstance(block, Chart):
        if block.instead is not None:
            if not isinstance(block.instead, Grid):  # a grid is read at a glance
                _say(console, word(block.alt), "dim")
            _block(console, block.instead)
    elif isinstance(block, Grid):
        _grid(console, block)
    else:
        _table(console, block)


def _table(console: Console, table: Table) -> None:
    """Numbers are never broken: columns that do not fit the width continue in a further table."""
    if not len(table):
        return
    every = cells(table)
    rows = every[:ROWS]
    _say(console, word(table.caption))
    widths = [_width(column, [row[i].whole for row in rows]) + 3 for i, column in enumerate(table.columns)]
    for taken in _packed(widths[1:], console.width - 2 - widths[0]):
        taken = [0, *(i + 1 for i in taken)]
        out = RichTable(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for i in taken:
            side: Any = "right" if numeric(table.columns[i]) else "left"
            out.add_column(clean(table.columns[i].title), justify=side, overflow="fold", width=widths[i] - 3)
        for row in rows:
            out.add_row(*(Text(row[i].whole, style="dim italic" if row[i].pale else "") for i in taken))
        console.print(Padding(out, (0, 0, 0, 2), expand=False))
    rest = len(every) - len(rows) + left_out(table)
    if rest:
        _say(console, word(say("more-rows", rows=rest)), "dim")


def _packed(widths: list[int], room: int) -> Iterator[list[int]]:
    """Places of the columns that stand beside each other in as much room, at least one of them."""
    taken: list[int] = []
    for i, width in enumerate(widths):
        if taken and sum(widths[j] for j in taken) + width > room:
            yield taken
            taken = []
        taken.append(i)
    yield taken


def _width(column: Column, texts: list[str]) -> int:
    """Room for a column: all of a number, at most 30 of a text, and a title in no more than two or three lines."""
    title = max(cell_len(part) for part in [*clean(column.title).split(), "x" * (cell_len(column.title) // 3 + 2)])
    body = max([cell_len(x) for x in texts], default=0)
    return max(title, body if numeric(column) else min(body, 30))


def _grid(console: Console, grid: Grid) -> None:
    """Columns that do not fit the width continue in a further table."""
    _say(console, word(grid.caption))
    text = entries(grid)
    columns, index = list(grid.values.columns), list(grid.values.index)
    heads, names = short(map(str, columns), LABEL), short(map(str, index), LABEL + 6)
    first = max([cell_len(x) for x in names.values()] + [8])
    widths = [max([cell_len(heads[str(c)]), *(cell_len(text[r, c]) for r in index)]) + 3 for c in columns]
    for places in _packed(widths, console.width - first - 4):
        taken = [columns[i] for i in places]
        table = RichTable(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
        table.add_column(str(grid.values.index.name or ""), no_wrap=True)
        for c in taken:
            table.add_column(heads[str(c)], justify="right", no_wrap=True)
        for r in index:
            style = {c: STYLE[str(grid.marks.at[r, c])] if grid.marks is not None else "" for c in taken}
            table.add_row(Text(names[str(r)]), *(Text(text[r, c], style=style[c]) for c in taken))
        console.print(Padding(table, (0, 0, 0, 2), expand=False))
    if grid.note:
        _say(console, word(grid.note), "dim")


# --- a console that honours NO_COLOR and pipes ---


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
        force_jupyter=False,  # in a notebook Rich would show the text at once, and what asked for it would get none
        markup=False,
        emoji=False,
        highlight=False,
        no_color=None if terminal else True,
        force_terminal=None if terminal else False,
        safe_box=True,
    )
