"""An answer as text that other programs read: cells of tables, JSON, Markdown, JUnit, CSV, Python.

`cell` is how a number or a name is written in every table, on a terminal, on a page and in Markdown.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from polyjudge._version import __version__
from polyjudge.base import numbers
from polyjudge.base.text import markdown as _markdown
from polyjudge.base.text import name, spreadsheet, visible
from polyjudge.report.model import SEVERITIES, Finding, Report, Result, Section, Table

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = 3
"""Version of the JSON. It rises when a field changes its meaning or goes."""
TOPICS = ("People", "Winner", "Judges", "Off")
"""Their order on the first screen; others follow."""

# --- cells of tables ---


def cell(kind: str, row: Mapping[str, Any], column: str, digits: int | None = None) -> str:
    """One value of a row as it is shown: `kind` as in `Table.columns`; `digits` that this column has.

    >>> cell("+points low high", {"x": -10.77, "low": -11.02, "high": -10.52}, "x")
    '-10.8 [-11.0, -10.5]'
    >>> cell("rank high", {"low": 2, "high": 6}, "low"), cell("yes", {"x": False}, "x"), cell("p", {"x": 0.0312}, "x")
    ('2-6', '', '0.031')
    """
    kind, *ends = kind.split()
    value = row[column]
    if kind in ("name", "text"):
        return "" if _absent(value) else name(value, 60 if kind == "name" else 2000)
    if kind == "yes":
        return "yes" if not _absent(value) and bool(value) else ""
    if kind == "rank" and not numbers.missing(value):
        low, high = int(value), int(row[ends[0]]) if ends and not numbers.missing(row[ends[0]]) else int(value)
        return str(low) if low == high else f"{low}-{high}"
    if numbers.missing(value):
        return "" if ends else numbers.NONE
    bottom, top = (row[ends[0]], row[ends[1]]) if len(ends) == 2 else (None, None)
    if ends and value == 0 and (numbers.missing(bottom) or bottom == top == 0):
        return ""  # the leader's difference from itself
    if ends and not (numbers.missing(bottom) or numbers.missing(top)):
        if kind == "percent":
            return numbers.percent_ci(value, bottom, top)
        return numbers.ci(value, bottom, top, sign=kind.startswith("+"), digits=digits)
    if kind == "percent":
        return numbers.percent(value)
    if kind == "p":
        return numbers.p_value(value).removeprefix("p = ").removeprefix("p ")
    if kind == "count":
        return f"{round(value):,}"
    if kind == "number":
        return numbers.number(value)
    shown = numbers.points(value, sign=kind.startswith("+"))
    return shown if digits is None or ends else numbers.number(value, digits, kind.startswith("+"))


def _absent(value: Any) -> bool:
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def cells(table: Table, most: int | None = None) -> list[list[str]]:
    """The rows of a table as text, at most so many."""
    data = {c: _plain(x) for c, x in table.whole.items()}
    digits = {c: _digits(data, c, kind) for c, kind in table.shown.items()}
    rows = (dict(zip(data, row, strict=True)) for row in zip(*(x[:most] for x in data.values()), strict=True))
    return [[cell(kind, row, c, digits[c]) for c, kind in table.shown.items()] for row in rows]


def _plain(column: Any) -> list[Any]:
    """A column as numbers and texts of Python."""
    return column.tolist() if hasattr(column, "tolist") else list(column)


def _digits(data: Mapping[str, Sequence[Any]], column: str, kind: str) -> int | None:
    """Decimals that a column has in all rows: of points three significant digits of the largest, of intervals what the
    narrowest supports; none where the widest supports much less."""
    kind, *ends = kind.lstrip("+").split()
    if kind in ("points", "number") and len(ends) == 2:
        pairs = zip(data[ends[0]], data[ends[1]], strict=True)
        found = {numbers.ci_digits(a, b) for a, b in pairs if not (numbers.missing(a) or numbers.missing(b) or a == b)}
        if kind == "number":  # a correlation or a slope
            return min(2, max(found, default=2))
        return max(found) if found and max(found) - min(found) <= 1 else None
    if kind != "points":
        return None
    most = max([abs(float(x)) for x in data[column] if not numbers.missing(x)], default=0.0)
    return min(6, max(0, 2 - math.floor(math.log10(most)))) if most > 0 else 0


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame."""
    columns = [str(c) for c in frame.columns]
    return [dict(zip(columns, row, strict=True)) for row in frame.itertuples(index=False, name=None)]


def heads(table: Table) -> list[str]:
    """The headings of the columns that are shown."""
    return [table.titles.get(c, c.replace("_", " ")) for c in table.shown]


def numeric(kind: str) -> bool:
    """Whether a column of this kind stands at the right."""
    return kind.split()[0] not in ("name", "text", "yes", "rank")


# --- the first screen, in parts ---


def topics(report: Report) -> list[tuple[str, list[Finding]]]:
    """What the first screen says: topics in their order, each with its findings. Where nothing has a topic, all of it
    under ""; a topic of spaces alone is shown without a word."""
    said: dict[str, list[Finding]] = {}
    for finding in report.findings:
        if finding.topic:
            said.setdefault(finding.topic.strip(), []).append(finding)
    if not said and report.findings:
        return [("", list(report.findings))]
    order = [t for t in TOPICS if t in said] + [t for t in said if t not in TOPICS]
    return [(t, said[t]) for t in order]


def unsaid(report: Report) -> list[Finding]:
    """Findings that neither the first screen nor a section nor a table says."""
    shown = {f.text for _, found in topics(report) for f in found} | {x for s in report.sections for x in s.text}
    shown |= _texts_in_tables(report)
    return [f for f in report.findings if not any(_without_criterion(f) in text for text in shown)]


def _without_criterion(finding: Finding) -> str:
    """The sentence without the name of its criterion in front: a longer sentence of that criterion may hold it."""
    return finding.text.removeprefix(f"{name(finding.where.get('criterion', ''))}: ")


def _texts_in_tables(report: Report) -> set[str]:
    """The sentences in tables of sections."""
    tables = [table for section in report.sections for table in section.tables]
    return {
        text
        for table in tables
        for column, kind in table.shown.items()
        if kind == "text"
        for text in table.data[column]
        if isinstance(text, str)  # a cell may be empty
    }


def fresh(section: Section, report: Report) -> list[str]:
    """The sentences of a section that the first screen has not said."""
    said = {f.text for _, found in topics(report) for f in found}
    return [line for line in section.text if line not in said]


def about(report: Report) -> str:
    """Seed, level, input and the like, in one line: the foot of a page."""
    said = {
        k: f"{v:g}" if isinstance(v, float) else visible(str(v)) for k, v in report.about.items() if v not in (None, "")
    }
    return ", ".join(f"{visible(k)} {v}" for k, v in said.items() if k not in ("version", "polyjudge"))


PYTHON = {"label make": "draw_labels", "label read": "read_labels"}
SAME = ("audit", "check", "compare", "drift", "humans", "plan", "probe", "swap")


def in_python(command: str) -> str:
    """A command to paste as Python, where there is a function of its name; else the command.

    >>> in_python("polyjudge audit scores.csv --cell th,mistral --separate"), in_python("polyjudge collect plan.yaml")
    ("pj.audit('scores.csv', cell='th,mistral', separate=True)", 'polyjudge collect plan.yaml')
    """
    try:
        words = shlex.split(command.removeprefix("polyjudge "))
    except ValueError:
        return command
    function = PYTHON.get(" ".join(words[:2])) or (words[0] if words[:1] and words[0] in SAME else "")
    if not command.startswith("polyjudge ") or not (function or words[:1] == ["calibrate"]):
        return command
    given, options = [], {}
    words = words[2 if function in PYTHON.values() else 1 :]
    while words:
        word = words.pop(0)
        if not word.startswith("-") or len(word) < 2:
            given.append(repr(word))
            continue
        key = word.lstrip("-").replace("-", "_")
        if key == "o" and words[:1] and function in SAME:
            return command  # writes files, which the function does not
        value = _value(words.pop(0)) if words and not words[0].startswith("-") else "True"
        if key != "full":
            options["output" if key == "o" else key] = value
    if not function:
        return f"pj.ConsensusCalibrator().fit({given[0] if given else 'panel'})"
    return f"pj.{function}({', '.join([*given, *(f'{k}={v}' for k, v in options.items())])})"


def _value(text: str) -> str:
    return text if re.fullmatch(r"-?\d{1,15}(\.\d{1,15})?", text) else repr(text)


# --- JSON ---

HIDDEN = re.compile("[\ud800-\udfff\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\x7f-\x9f]")
"""Halves of surrogate pairs, direction and other invisible characters."""


def plain(value: Any) -> Any:
    """Anything of a result as what JSON holds: a frame is a list of its rows, what is no number is null.

    >>> plain({"a": (1, float("nan"))})
    {'a': [1, None]}
    """
    if value is None or isinstance(value, (str, bool, int)):
        return str(value) if type(value).__name__ == "str_" else value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Result):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {_key(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(x) for x in (sorted(value, key=str) if isinstance(value, (set, frozenset)) else value)]
    kind = type(value).__name__
    if kind == "DataFrame":
        columns = {str(c): plain(value[c].tolist()) for c in value.columns}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if kind == "Series":
        return {_key(k): plain(v) for k, v in zip(value.index.tolist(), value.tolist(), strict=True)}
    if kind in ("NAType", "NaTType"):
        return None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value) if not f.name.endswith("_")}
    return plain(value.tolist()) if hasattr(value, "tolist") else str(value)  # NumPy; else paths, dates and the like


def _key(key: Any) -> str:
    return ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def to_json(given: Report | Result, indent: int | None = 1) -> str:
    """A result (or a report) as JSON: version of the program and of the format, command, findings, all else."""
    report = given if isinstance(given, Report) else given.report()
    frame: dict[str, Any] = {"polyjudge": __version__, "schema": SCHEMA, "command": report.command}
    frame |= {"facts": list(report.facts), "findings": [_finding(f) for f in report.findings]}
    frame |= {"next": plain(report.next), "about": plain(report.about)}
    if isinstance(given, Report):
        frame["tables"] = {t.name: plain(t.frame) for t in report.tables}
    else:
        frame |= {k: v for k, v in given.to_dict().items() if k not in frame}
    return dumps(frame, indent)


def dumps(value: Any, indent: int | None = None) -> str:
    """JSON that every encoding can hold: characters that hide, or turn the direction of text, stand as their codes."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    return HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _finding(finding: Finding) -> dict[str, Any]:
    return {"severity": finding.severity, "key": finding.key, "topic": finding.topic.strip(), "text": finding.text} | (
        {"where": dict(finding.where)} if finding.where else {}
    )


# --- CSV, Markdown, JUnit ---


def csv(frame: pd.DataFrame) -> str:
    """A frame as CSV in which a spreadsheet finds no formula."""
    safe = frame.rename(columns=lambda c: spreadsheet(str(c)))
    for i, kind in enumerate(frame.dtypes):
        if kind.kind not in "bifuc":
            safe.isetitem(i, [_without_carriage_return(spreadsheet(x)) for x in frame.iloc[:, i]])
    return str(safe.to_csv(index=False, lineterminator="\n"))


def _without_carriage_return(cell: object) -> object:
    """A line break that CSV quotes: a carriage return alone is written bare, and readers end the row there."""
    return cell.replace("\r\n", "\n").replace("\r", "\n") if isinstance(cell, str) else cell


def escape(text: object) -> str:
    r"""Text that Markdown shows as it is: no markup, HTML, mention or link comes of it.

    >>> escape("*a* <b> @all http://x")
    '\\*a\\* &lt;b> &#64;all http:\\/\\/x'
    """
    text = _markdown(text).replace("$", r"\$").replace("@", "&#64;").replace("://", r":\/\/")
    return re.sub(r"(?i)\bwww\.", r"www\\.", text)


def markdown(report: Report) -> str:
    """The first screen as Markdown, fit for a pull request: summary.md."""
    out = [f"## {escape(report.title)}", "", *(f"{escape(line)}  " for line in report.facts), ""]
    for topic, found in topics(report):
        lead = f"**{escape(topic)}:** " if topic else ""
        out += [f"{lead if i == 0 else ''}{escape(f.text)}  " for i, f in enumerate(found)] + [""]
    out += markdown_table(report.board, 8) if report.board is not None else []
    out += [f"- {_code(step.command)}{f': {escape(step.text)}' if step.text else ''}" for step in report.next] + [""]
    for table in report.tables:
        if table.in_summary:
            out += _folded("Table", markdown_table(table))  # names of users stay out of HTML: in the title below
    more = unsaid(report)
    if more:
        out += _folded("Also found", [f"- {escape(f.text)}" for f in more])
    foot = about(report)
    out += [f"<sub>polyjudge {__version__} {report.command}{': ' + escape(foot) if foot else ''}</sub>", ""]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out))


def _folded(title: str, lines: Sequence[str]) -> list[str]:
    """Lines that are shown on a click; the title is ours."""
    return [f"<details><summary>{title}</summary>", "", *lines, "", "</details>", ""]


def markdown_table(table: Table, most: int = 30) -> list[str]:
    """A table as lines of Markdown; what is left out is counted."""
    sides = "|".join("---:" if numeric(k) else "---" for k in table.shown.values())
    rows = [heads(table), *cells(table, most)]
    lines = ["| " + " | ".join(escape(x) for x in row) + " |" for row in rows]
    left = table.size - most
    more = [f"and {left:,} more", ""] if left > 0 else []
    return [f"**{escape(table.title)}**", "", lines[0], f"|{sides}|", *lines[1:], "", *more]


def _code(command: str) -> str:
    shown = visible(command)
    fence = "`" * (max([len(run) for run in re.findall("`+", shown)], default=0) + 1)
    return f"{fence} {shown} {fence}" if "`" in shown else f"`{shown}`"


def junit(report: Report, fail_on: str) -> str:
    """Findings as JUnit XML: a case for each, failed from this severity on ("never": none)."""
    limit = SEVERITIES.index(fail_on) if fail_on in SEVERITIES else len(SEVERITIES)
    failed = [SEVERITIES.index(f.severity) >= limit for f in report.findings]
    counts = {"tests": str(max(len(failed), 1)), "failures": str(sum(failed)), "errors": "0"}
    suites = ET.Element("testsuites", counts)
    suite = ET.SubElement(suites, "testsuite", {"name": f"polyjudge {report.command}", **counts})
    where = {"classname": f"polyjudge.{report.command}"}
    for finding, fails in zip(report.findings, failed, strict=True):
        case = ET.SubElement(suite, "testcase", {**where, "name": _case_name(finding)})
        if fails:
            ET.SubElement(case, "failure", {"message": visible(finding.text), "type": finding.severity})
        else:
            ET.SubElement(case, "system-out").text = visible(finding.text)
    if not failed:
        ET.SubElement(suite, "testcase", {**where, "name": "no findings"})
    ET.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def _case_name(finding: Finding) -> str:
    """The name of a case: what is looked at and of whom, not how severe it is, so that a history of runs stays one."""
    return visible(", ".join([finding.key, *finding.where.values()]))
