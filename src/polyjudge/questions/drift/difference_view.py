"""What changed between two audits, as a report."""

from __future__ import annotations

from polyjudge.panel.panel import Panel
from polyjudge.panel.say import Words, say
from polyjudge.questions.drift.difference import Difference
from polyjudge.report.build import by_size, frame_of, table
from polyjudge.report.sections import Report, Section


def build(result: Difference, panel: Panel | None = None) -> Report:
    """Clear changes first, then every cell, judge and language."""
    read: list[Words] = [say("difference.read", old=result.tasks_old, new=result.tasks_new)]
    if result.same_scores:
        read.append(say("difference.same"))
    says: list[Words] = [say("difference.how")]
    for code, found in (("difference.arrived", result.arrived), ("difference.gone", result.gone)):
        if found:
            says.append(say(code, codes=list(dict.fromkeys(found))))
    sections = []
    for name, title in (("cells", "Places"), ("judges", "Judges"), ("languages", "Languages")):
        frame = by_size(getattr(result, name), "change")
        keys = [c for c in ("language", "judge") if c in frame]
        head = "before = old:+points | now = new:+points | change/low/high:+points | clear:yes"
        changes = table(name, say(f"difference.table.{name}"), frame, *keys, head)
        sections.append(Section(name=name, title=title, says=tuple(says) if name == "cells" else (), blocks=(changes,)))
    return Report(
        **frame_of("diff", result, panel) | {"read": tuple(read)},
        title=say("difference.title"),
        verdict=tuple(result.findings) or (say("difference.none"),),
        findings=tuple(result.findings),
        sections=tuple(sections),
    )
