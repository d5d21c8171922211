"""The page: one file without network that shows an answer to people who scroll; and the same for a notebook.

Cards, the board, charts as HTML (`figures`), tables with CSV, drawers with single answers. The templates (Jinja, with
autoescape) hold what it looks like; every text passes `visible` on its way.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from polyjudge._version import __version__
from polyjudge.base import numbers
from polyjudge.base.text import name, visible
from polyjudge.report import figures
from polyjudge.report.model import SEVERITIES, Chart, Finding, Report, Section
from polyjudge.report.text import about, csv, dumps, fresh, in_python, records, topics, unsaid

if TYPE_CHECKING:
    import jinja2
    import pandas as pd

DRAWERS = 600_000
"""Characters for the texts of single answers; longer ones are cut until all fit."""
CSV = 500_000
"""Characters for tables as CSV; what does not fit is in the files beside the page."""
LONGEST = 4000
"""Characters of a prompt or response in a drawer."""


def page(report: Report) -> str:
    """The page as text: one file, no network, everything in it."""
    style, script = _read("page.css"), _read("page.js")
    report = replace(report, drawers=dict(report.drawers), spreads=dict(report.spreads))  # some are made when asked for
    keys = sorted(k for k, frame in {**report.spreads, **report.drawers}.items() if len(frame))
    opens = {key: f"d{i}" for i, key in enumerate(keys)}
    return (
        _templates()
        .get_template("page.html")
        .render(
            report=report,
            style=style,
            script=script,
            digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
            data=_data(report, opens),
            version=__version__,
            about=about(report),
            also=unsaid(report),
            sections=[_section(s, report, opens) for s in report.sections],
            **_top(report, opens),
        )
    )


def notebook(report: Report) -> str:
    """The cards, the board and the heatmaps as HTML without scripts, for a cell of a notebook."""
    shown = [c for c in report.charts if c.kind == "heatmap" and len(c.frame)][:2]
    return (
        _templates()
        .get_template("notebook.html")
        .render(
            report=report,
            style=_read("page.css"),
            charts=[figures.figure(c) for c in shown],
            **_top(report, {}, python=True),
        )
    )


def _top(report: Report, opens: Mapping[str, str], python: bool = False) -> dict[str, Any]:
    """What both show first: cards, what to do next, the board."""
    steps = [(in_python(s.command) if python else s.command, s.text) for s in report.next]
    board = report.board if report.board is not None and report.board.size else None
    drawn = figures.board(board, _languages(report), opens) if board is not None else None
    return {
        "cards": [_card(topic, found) for topic, found in topics(report)],
        "steps": steps,
        "board": drawn,
        "board_table": figures.table(board) if board is not None else None,
        "own": next(
            (_section(s, report, opens, drawn is not None) for s in report.sections if board and s.name == board.name),
            None,
        ),
    }


def _card(topic: str, found: list[Finding]) -> dict[str, Any]:
    """A word, what is large (the few words that a finding has for this, else its first sentence), and the rest."""
    first = found[0]
    head, rest = first.head, first.text
    if head and rest.startswith((f"{head}:", f"{head}.")):  # said once
        rest = rest[len(head) + 1 :].lstrip()
    if not head:
        cut = re.match(r"(.{12,}?)\.\s+(?=[A-Z0-9\"'(])", first.text)
        whole = cut is not None and not cut[1].endswith(("vs", "e.g", "i.e"))
        head, rest = (cut[1], first.text[cut.end() :]) if cut and whole else (first.text.removesuffix("."), "")
    worst = max((SEVERITIES.index(f.severity) for f in found), default=0)
    size = "short" if len(head) < 40 else "middle" if len(head) < 95 else "long"
    said = ([rest] if rest else []) + [f.text for f in found[1:]]
    return {"topic": topic, "head": head, "size": size, "text": said, "warn": worst >= 2}


def _languages(report: Report) -> Chart | None:
    """The small multiples that belong to the board: intervals by panel in the section of the board's name."""
    assert report.board is not None
    for section in report.sections:
        for chart in section.charts:
            if section.name == report.board.name and chart.kind == "intervals" and "panel" in chart.frame.columns:
                return chart if len(chart.frame) else None
    return None


def _section(section: Section, report: Report, opens: Mapping[str, str], drawn: bool = False) -> dict[str, Any]:
    """A section, without what the cards have said and, where the board is drawn above it, what that shows."""
    mine = report.board is not None and section.name == report.board.name
    charts = [c for c in section.charts if len(c.frame) and not (drawn and c.kind == "intervals")]
    tables = [t for t in section.tables if t.size and not (report.board and t.name == report.board.name)]
    text = fresh(section, report)
    return {
        "name": section.name,
        "title": section.title,
        "text": text,
        "charts": [figures.figure(c, opens) for c in charts],
        "tables": [figures.table(t) for t in tables],
        "open": section.open,
        "mine": mine,
        "empty": not charts and not tables and not text,
    }


# --- what drawers and CSV buttons need, as one block of JSON ---


def _data(report: Report, opens: Mapping[str, str]) -> str:
    """JSON that cannot end its script element: titles, answers and distributions of drawers, and tables as CSV."""
    heads = _heads(report)
    for longest, most in ((LONGEST, 50), (1500, 20), (600, 12), (250, 8), (120, 4), (0, 0)):
        drawers = {
            number: {
                "title": heads[key][0],
                "lead": heads[key][1],
                "answers": [_answer(r, longest) for r in records(report.drawers[key].head(most))]
                if key in report.drawers
                else [],
                "spread": _spread(report.spreads[key]) if key in report.spreads else None,
            }
            for key, number in opens.items()
        }
        if len(dumps(drawers)) <= DRAWERS:
            break
    tables: dict[str, str] = {}
    room = CSV
    for table in report.tables:
        if table.name not in tables and len(table.frame) * max(len(table.frame.columns), 1) * 2 < room:
            text = csv(table.frame)
            if len(text) <= room:
                tables[table.name], room = text, room - len(text)
    return dumps({"drawers": drawers, "csv": tables, "command": report.command}).replace("<", "\\u003c")


def _heads(report: Report) -> dict[str, tuple[str, str]]:
    """Titles of drawers, and what is said under them: "mistral in Thai", "off -12.2 [-12.9, -11.5], beta -5.1"."""
    found = {key: (name(key.removeprefix("system|")), "") for key in {**report.drawers, **report.spreads}}
    for chart in report.charts:
        if chart.kind == "heatmap" and "key" in chart.frame.columns:
            for r in records(chart.frame):
                said = figures.hint(r, chart.name) or numbers.points(r["value"], sign=True)
                found[str(r["key"])] = (f"{name(r['column'])} in {name(r['row'])}", minus(visible(said)))
    return found


TEXTS = ("prompt", "response", "reason")
PLACES = ("task", "system", "language", "judge")


def _answer(row: Mapping[str, Any], longest: int) -> dict[str, Any]:
    """One answer in a drawer: where it is, scores, texts."""
    out: dict[str, Any] = {c: visible(str(row[c])) for c in PLACES if row.get(c) not in (None, "")}
    for c in ("score", "others", "human"):
        value = row.get(c)
        if isinstance(value, str):
            out[c] = visible(value)
        elif not numbers.missing(value):
            out[c] = f"{float(value):.3g}"  # type: ignore[arg-type]
    for c in TEXTS:
        value = row.get(c)
        if isinstance(value, str) and value.strip():
            text = visible(value[: longest + 1], keep="\n")
            out[c] = text if len(value) <= longest else text[:longest] + " …"
    return out


def _spread(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Distributions by label: (place in percent, share)."""
    low, high = frame.attrs.get("ends", (float(frame["x"].min()), float(frame["x"].max())))
    wide = max(high - low, 1e-300)
    out = []
    for label, part in frame.groupby("label", sort=False):
        bars = [[round(100 * (x - low) / wide, 1), round(s, 4)] for x, s in zip(part["x"], part["share"], strict=True)]
        mean = float((part["x"] * part["share"]).sum() / max(part["share"].sum(), 1e-300))
        out.append(
            {"label": name(label), "bars": [b for b in bars if b[1] > 0], "mean": round(100 * (mean - low) / wide, 1)}
        )
    ends = [minus(f"{low:.4g}"), minus(f"{high:.4g}")]
    return [{**line, "ends": ends} for line in out]


# --- templates ---


def _read(file: str) -> str:
    return resources.files("polyjudge.report").joinpath("templates", file).read_text(encoding="utf-8")


@cache
def _templates() -> jinja2.Environment:
    import jinja2

    loader = jinja2.FunctionLoader(_read)
    made = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    made.filters |= {
        "vis": lambda x: minus(visible(str(x))),
        "raw": lambda x: visible(str(x)),
        "say": _say,
        "code": _code,
        "name": name,
    }
    return made


def minus(text: str) -> str:
    """Text with a true minus before numbers.

    >>> minus("-1.5 [-2, 3], gpt-4, 2-6")
    '−1.5 [−2, 3], gpt-4, 2-6'
    """
    return re.sub(r"(?<![\w.)\]-])-(?=\d)", "−", text)


def _say(text: object) -> Any:
    """A sentence: intervals are not broken and a little paler, a command at its end is code."""
    import markupsafe

    said = str(text)
    command = re.search(r"polyjudge [a-z]+ [^\n]*$", said)
    body = minus(visible(said[: command.start()] if command else said))
    shown = re.sub(
        r"\[[−+]?[\d.,]+%?, [−+]?[\d.,]+%?\]", r'<span class="ci">\g<0></span>', str(markupsafe.escape(body))
    )
    return markupsafe.Markup(shown) + (_code(command[0]) if command else "")


def _code(command: str) -> Any:
    """A command; lines are broken between its words."""
    import markupsafe

    words = [f"<span>{markupsafe.escape(word)}</span>" for word in visible(command).split(" ")]
    return markupsafe.Markup(f"<code>{' '.join(words)}</code>")
