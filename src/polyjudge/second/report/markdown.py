"""The first screen of any report as Markdown, fit for a pull request."""

from __future__ import annotations

import re

from polyjudge.second.panel.labels import visible
from polyjudge.second.panel.say import word
from polyjudge.second.report.sections import Block, Chart, Grid, Report
from polyjudge.second.report.tables import numeric, rows

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

    return SPECIAL.sub(safe, visible(text))


def markdown(report: Report) -> str:
    """A report as Markdown: what was read, verdict, picture, findings, what to do next, and what it depends on."""
    out = [f"## {escape(word(report.title))}", ""]
    out += [f"{escape(word(s))}  " for s in report.read] + [""]
    out += [f"**{escape(word(s))}**  " for s in report.verdict] + [""]
    for block in [*report.picture, *(b for s in report.unfolded for b in s.blocks)]:
        out += _block(block)
    out += [f"- {escape(word(s))}" for s in report.uses] + ([""] if report.uses else [])
    rest = report.unsaid
    told = [f for f in rest if f.severity != "info" and not report.brief]
    out += [f"- **{f.severity}** {escape(word(f))}" for f in told] + ([""] if told else [])
    quiet = [f for f in rest if f not in told]
    if quiet:
        remarks = (f"- {escape(word(f))}" for f in quiet)
        out += ["<details><summary>Remarks</summary>", "", *remarks, "", "</details>", ""]
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
    head, body = rows(block, ROWS)
    if isinstance(block, Grid):
        sides = "|---|" + "---:|" * (len(head) - 1)
        note = [escape(word(block.note)), ""] if block.note else []
    elif body:
        sides = "|" + "|".join("---:" if numeric(c) else "---" for c in block.columns) + "|"
        note = []
    else:
        return []
    return [escape(word(block.caption)), "", _row(head), sides, *map(_row, body), "", *note]


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(escape(c) for c in cells) + " |"
