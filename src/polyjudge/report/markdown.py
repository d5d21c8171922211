"""The first screen of any report as Markdown, fit for a pull request."""

from __future__ import annotations

import re

from polyjudge.core.labels import label
from polyjudge.core.sections import Block, Chart, Grid, Report, Table
from polyjudge.report.tables import NUMERIC, cells, entries
from polyjudge.report.words import word

ROWS = 30
"""Rows of a table; the rest is in the other files."""
ENTITIES = {"&": "&amp;", "@": "&#64;", "#": "&#35;"}
SPECIAL = re.compile(r"[\\`*_{}\[\]<>()|~$&@#]|^\s*[-+=]|(?<=:)//|(?i:\bwww\.)")


def escape(text: str) -> str:
    """Text that Markdown shows as it is: no markup, HTML, mention, link or reference to an issue comes of it.

    >>> print(escape("*a* <b> @all #1 http://x"))
    \\*a\\* \\<b\\> &#64;all &#35;1 http:\\/\\/x
    """

    def safe(match: re.Match[str]) -> str:
        found = match[0]
        if found in ENTITIES:
            return ENTITIES[found]
        if found == "//":
            return r"\/\/"
        return f"{found[:-1]}\\{found[-1]}"

    return SPECIAL.sub(safe, text)


def markdown(report: Report) -> str:
    """A report as Markdown: what was read, verdict, picture, findings, what to do next, and what it depends on."""
    out = [f"## {escape(word(report.title))}", ""]
    out += [f"{escape(word(s))}  " for s in report.read] + [""]
    out += [f"**{escape(word(s))}**  " for s in report.verdict] + [""]
    for block in [*report.picture, *(b for s in report.sections if not s.folded for b in s.blocks)]:
        out += _block(block)
    out += [f"- {escape(word(s))}" for s in report.uses] + ([""] if report.uses else [])
    rest = [f for f in report.findings if f not in report.verdict]
    told = [f for f in rest if f.severity != "info" and not report.brief]
    out += [f"- **{f.severity}** {escape(word(f))}" for f in told] + ([""] if told else [])
    quiet = [f for f in rest if f not in told]
    if quiet:
        out += [
            "<details><summary>Remarks</summary>",
            "",
            *(f"- {escape(word(f))}" for f in quiet),
            "",
            "</details>",
            "",
        ]
    for i, step in enumerate(report.next):
        out.append(f"{i + 1}. {escape(word(step.why))}")
        out += [f"   {_code(step.command)}"] if step.command else []
    facts = ", ".join(f"{name} {value}" for name, value in report.facts.items() if value not in (None, ""))
    out += ["", f"<sub>polyjudge {report.command}: {escape(facts)}</sub>", ""]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out))


def _code(command: str) -> str:
    fence = "`" * (max([len(run) for run in re.findall("`+", command)], default=0) + 1)
    return f"{fence} {command} {fence}" if "`" in command else f"`{command}`"


def _block(block: Block) -> list[str]:
    if isinstance(block, Chart):
        return _block(block.instead) if block.instead is not None else []
    return _grid(block) if isinstance(block, Grid) else _table(block)


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(escape(c) for c in cells) + " |"


def _table(table: Table) -> list[str]:
    rows = cells(table)[:ROWS]
    if not rows:
        return []
    sides = ["---:" if c.kind in NUMERIC and not c.words else "---" for c in table.columns]
    head = [_row([c.title for c in table.columns]), "|" + "|".join(sides) + "|"]
    return [escape(word(table.caption)), "", *head, *(_row([c.whole for c in row]) for row in rows), ""]


def _grid(grid: Grid) -> list[str]:
    text, values = entries(grid), grid.values
    head = [_row(["", *(label(str(c)) for c in values.columns)]), "|---|" + "---:|" * len(values.columns)]
    body = [_row([label(str(r)), *(text[r, c] for c in values.columns)]) for r in values.index]
    note = [escape(word(grid.note)), ""] if grid.note else []
    return [escape(word(grid.caption)), "", *head, *body, "", *note]
