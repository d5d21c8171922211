"""Any answer on a terminal: the first screen in at most thirty lines, and everything with `full`.

facts
Winner   the topics of the first screen, wrapped at column 9
Systems  the board, at most eight rows
Next     what to do, commands to paste
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from polyjudge.base.text import name, visible
from polyjudge.report.model import Chart, Finding, Report, Section, Table
from polyjudge.report.text import about, cells, fresh, heads, in_python, numeric, topics, unsaid

WIDTH = 100
INDENT = 9
LINES = 30
"""Of the first screen."""
BOARD = 8
"""Rows of the board."""
ROWS = 20
"""Rows of a table with `full`; the page, CSV and JSON have more."""
LONG = 48
"""Columns of a text beyond which the answers of a table stand one below the other."""
FILES = ("calibrate", "apply", "label make", "label read", "collect")
"""Commands whose -o is their own output, not a page."""
STYLES = {"bold": "1", "dim": "2", "command": "36", "serious": "1;31", "warning": "1;33", "notice": "1", "info": "1"}


def screen(report: Report, full: bool = False, python: bool = False, width: int | None = None) -> str:
    """The answer as plain text. python: advice is Python, for somebody who holds the result in a session."""
    return "\n".join(_screen(report, full, python, width or WIDTH, False))


def show(report: Report, full: bool = False) -> None:
    """Print the answer: as wide as the terminal up to 100 columns, in colour unless NO_COLOR is set or it is a pipe."""
    tty = sys.stdout.isatty()
    width = max(40, min(WIDTH, shutil.get_terminal_size().columns)) if tty else WIDTH
    colour = tty and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    text = "\n".join(_screen(report, full, False, width, colour))
    coding = getattr(sys.stdout, "encoding", None) or "utf-8"
    print(text.encode(coding, "backslashreplace").decode(coding))


def _screen(report: Report, full: bool, python: bool, width: int, colour: bool) -> list[str]:
    def paint(text: str, style: str) -> str:
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if colour and text else text

    lines = [line for fact in report.facts for line in wrap(fact, width)]
    if not report.facts:
        lines = [paint(visible(report.title), "bold")]
    said = topics(report)
    lines += [""] if said else []
    for topic, found in said:
        lines += _topic(topic, found, width, python, paint)
    nexts = _next(report, width, python, paint)
    tail = _tail(report, full, python)
    room = LINES - len(lines) - len(nexts) - len(tail) - bool(nexts) - bool(tail) - 3
    if report.board is not None and report.board.size:
        most = max(room, 3) if not full else ROWS if report.board.most <= 200 else report.board.most
        lines += ["", *_board(report.board, most, width, paint, full)]
    if nexts:
        lines += ["", *nexts]
    if full:
        lines += _full(report, width, paint)
    return [*lines, "", *(paint(line, "dim") for line in tail)] if tail else lines


def _tail(report: Report, full: bool, python: bool) -> list[str]:
    if python:
        return ["All details: .report().tables and .to_dict(). As a page: .to_html('page.html')"]
    if full or not (report.findings or report.sections) or (report.command in FILES and not report.sections):
        return []
    return ["All details: --full." + ("" if report.command in FILES else " As a page: -o DIR")]


def _topic(topic: str, found: Sequence[Finding], width: int, python: bool, paint: Any) -> list[str]:
    """A word at the left, and what is said of it at column 9, each finding on a line of its own."""
    indent = INDENT if topic else 0
    out: list[str] = []
    for finding in found:
        text = _advice(finding.text) if python else finding.text
        for line in wrap(text, width - indent):
            head = visible(topic)[: INDENT - 1] if not out else ""
            out.append((paint(head, finding.severity) + " " * (indent - columns(head)) if indent else "") + line)
    return out


def _advice(text: str) -> str:
    """A sentence whose command at its end is written in Python."""
    return re.sub(r"polyjudge [a-z]+ [^\n]*$", lambda found: in_python(found[0]), text)


def _board(table: Table, most: int, width: int, paint: Any, full: bool) -> list[str]:
    """The board; where its first column is a rank, the title says what the columns are."""
    ranked = next(iter(table.columns.values()), "").startswith("rank")
    return [paint(visible(table.title), "bold"), *_rows(table, most, width, paint, not ranked, full)]


def _rows(table: Table, most: int, width: int, paint: Any, headed: bool, full: bool) -> list[str]:
    """The rows of a table in columns, what is left out counted; answers with texts one below the other."""
    kinds = list(table.shown.values())
    texts = [x for row in cells(table, most) for x, k in zip(row, kinds, strict=True) if k == "text"]
    if any(columns(x) > LONG for x in texts):
        most = most if full else max(1, (most + 1) // (1 + kinds.count("text")))
        body = _answers(table, kinds, most, width, paint, full)
    else:
        most = most if full else min(most, BOARD)
        body = _grid(cells(table, most), heads(table) if headed else [], kinds, width - 2, paint)
    left = table.size - most
    return [
        *(f"  {line}".rstrip() for line in body),
        *([f"  and {left:,} more{': --json, or -o DIR' if full else ''}"] if left > 0 else []),
    ]


def _answers(table: Table, kinds: Sequence[str], most: int, width: int, paint: Any, full: bool) -> list[str]:
    """Each row: names and numbers in one line, then its texts, each cut to a line unless all is asked for."""
    out = []
    top = heads(table)
    at = max(columns(h) for h, k in zip(top, kinds, strict=True) if k == "text") + 4
    for row in cells(table, most):
        said = [x if k == "name" else f"{h} {x}" for h, k, x in zip(top, kinds, row, strict=True) if k != "text" and x]
        out.append(paint(cut("  ".join(said), width - 2), "bold"))
        for head, kind, text in zip(top, kinds, row, strict=True):
            if kind == "text" and text:
                lines = wrap(text, width - 2 - at) if full else [cut(text, width - 2 - at)]
                out += [("  " + _pad(head, at - 2, False) if i == 0 else " " * at) + x for i, x in enumerate(lines)]
    return out


def _next(report: Report, width: int, python: bool, paint: Any) -> list[str]:
    """Commands in a column, what they are for beside them, or under them where the line is too narrow."""
    said = [(visible(in_python(s.command) if python else s.command), visible(s.text)) for s in report.next]
    short = [columns(c) for c, t in said if INDENT + columns(c) + 2 + columns(t) <= width and c]
    at = max(short, default=0)
    out = []
    for i, (command, text) in enumerate(said):
        head = paint("Next" if i == 0 else "", "bold") + " " * (INDENT - (4 if i == 0 else 0))
        gap = max(at - columns(command), 0) + 4
        if not command:
            out += [(head if j == 0 else " " * INDENT) + line for j, line in enumerate(wrap(text, width - INDENT))]
        elif INDENT + columns(command) + gap + columns(text) <= width:
            out.append(head + paint(command, "command") + (" " * gap + text if text else ""))
        else:
            out.append(head + paint(command, "command"))
            out += [" " * (INDENT + 4) + line for line in wrap(text, width - INDENT - 4) if text]
    return out


# --- everything ---


def _full(report: Report, width: int, paint: Any) -> list[str]:
    out = []
    rest = unsaid(report)
    if rest:
        out += ["", paint("Also found", "bold")]
        for f in rest:
            lines = wrap(f.text, width - INDENT - 1)
            out += [f"{paint(f.severity, f.severity)}{' ' * (10 - len(f.severity))}{lines[0]}"]
            out += [" " * (INDENT + 1) + line for line in lines[1:]]
    for section in report.sections:
        out += _section(section, report, width, paint)
    foot = about(report)
    return [*out, "", *wrap(foot, width)] if foot else out


def _section(section: Section, report: Report, width: int, paint: Any) -> list[str]:
    out = ["", paint(visible(section.title), "bold")]
    out += [line for text in fresh(section, report) for line in wrap(text, width)]
    for chart in section.charts:
        if chart.kind in ("heatmap", "matrix") and len(chart.frame):
            out += ["", f"  {visible(chart.title)}", *_matrix(chart, width, paint)]
    for table in section.tables:
        if table.size and not (report.board and table.name == report.board.name):
            out += ["", f"  {visible(table.title)}"]
            out += _rows(table, ROWS, width, paint, True, True)
            out += ["  " + line for line in wrap(table.note, width - 2) if table.note]
    return out


def _matrix(chart: Chart, width: int, paint: Any) -> list[str]:
    """The numbers of a heatmap or matrix as a grid; in a heatmap a dot is what is small, or not known."""
    frame = chart.frame
    text = frame["text"] if "text" in frame else frame["value"].map(lambda v: "" if v != v else f"{v:.2f}")
    shown = {(r, c): visible(str(t)) for r, c, t in zip(frame["row"], frame["column"], text, strict=True)}
    rows, names = list(dict.fromkeys(frame["row"])), list(dict.fromkeys(frame["column"]))
    dot = "·" if "least" in chart.options else ""
    body = [[name(r, 20), *(shown.get((r, c), "") or dot for c in names)] for r in rows]
    grid = _grid(body, ["", *(name(c, 14) for c in names)], ["name", *["points"] * len(names)], width - 2, paint)
    legend = [f"· less than {chart.options['least']:g} either way, or not known"] if dot else []
    return ["  " + line for line in [*grid, *legend]]


def _grid(body: Sequence[Sequence[str]], top: Sequence[str], kinds: Sequence[str], width: int, paint: Any) -> list[str]:
    """Cells in columns. Numbers are never broken: columns that do not fit the width go on below, after the names."""
    body = [[cut(x, LONG) for x in row] for row in body]
    count = len(body[0]) if body else len(top)
    every = [*([top] if top else []), *body]
    wide = [max([columns(row[i]) for row in every] + [1]) for i in range(count)]
    lead = next((i for i, kind in enumerate(kinds) if kind.split()[0] not in ("name", "rank")), count)
    while lead > 1 and sum(wide[:lead]) + 2 * lead > width / 2:
        lead -= 1
    out: list[str] = []
    for taken in _packed(wide, width, max(lead, 1)):
        if out:
            out.append("")
        for j, row in enumerate(every):
            line = "  ".join(_pad(row[i], wide[i], numeric(kinds[i])) for i in taken).rstrip()
            out.append(paint(line, "dim") if top and j == 0 else line)
    return out


def _packed(wide: Sequence[int], width: int, lead: int) -> list[list[int]]:
    """Columns that are beside each other, the first ones (names) in each group."""
    groups: list[list[int]] = [list(range(lead))]
    for i in range(lead, len(wide)):
        if len(groups[-1]) > lead and sum(wide[j] + 2 for j in groups[-1]) + wide[i] > width:
            groups.append(list(range(lead)))
        groups[-1].append(i)
    return groups if wide else []


def _pad(text: str, width: int, right: bool) -> str:
    space = " " * (width - columns(text))
    return space + text if right else text + space


# --- how wide text is ---


def columns(text: str) -> int:
    """Columns that a text takes on a terminal: two for wide characters, none for marks upon others.

    >>> columns("abc"), columns("日本"), columns("e\u0301")
    (3, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(_width(c) for c in text)


def _width(c: str) -> int:
    if unicodedata.combining(c) or unicodedata.category(c) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(c) in "WF" else 1


def cut(text: str, most: int) -> str:
    """Text of at most so many columns."""
    if columns(text) <= most:
        return text
    out = ""
    for c in text:
        if columns(out + c) >= most:
            break
        out += c
    return out + "…"


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most so many columns, broken at spaces, inside a word only where it alone is too long."""
    out, line = [], ""
    for part in re.split(r"( +)", visible(text, keep="\n").replace("\n", " ")):
        if columns(line + part.rstrip()) <= width:
            line += part
            continue
        if line.strip():
            out.append(line.rstrip())
        line = ""
        for piece in _pieces(part.lstrip(), width):
            if line:
                out.append(line)
            line = piece
    return [*out, line.rstrip()] if line.strip() or not out else out


def _pieces(word: str, width: int) -> Iterable[str]:
    piece = ""
    for c in word:
        if columns(piece + c) > width:
            yield piece
            piece = ""
        piece += c
    yield piece
