"""What changed between two audits, as a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyjudge.core.sections import Column, Report, Section, Table, Words, say
from polyjudge.report.build.shared import frame_of

if TYPE_CHECKING:
    from polyjudge.analyse.difference import Difference
    from polyjudge.core.panel import Panel


def build(result: Difference, panel: Panel | None = None) -> Report:
    """Clear changes first, then every cell, judge and language."""
    read: list[Words] = [say("difference.read", old=result.tasks_old, new=result.tasks_new)]
    if result.same_scores:
        read.append(say("difference.same"))
    says: list[Words] = [say("difference.how")]
    if result.arrived:
        says.append(say("difference.arrived", codes=list(dict.fromkeys(result.arrived))))
    if result.gone:
        says.append(say("difference.gone", codes=list(dict.fromkeys(result.gone))))
    sections = []
    for name, title in (("cells", "Places"), ("judges", "Judges"), ("languages", "Languages")):
        frame = getattr(result, name)
        frame = frame.loc[frame["change"].abs().sort_values(ascending=False, kind="stable").index]
        keys = [c for c in ("language", "judge") if c in frame]
        table = Table(
            name=name,
            caption=say(f"difference.table.{name}"),
            frame=frame,
            columns=(
                *(Column(name=k, title=k, kind="judge" if k == "judge" else "label") for k in keys),
                Column(name="old", title="before", kind="points", sign=True),
                Column(name="new", title="now", kind="points", sign=True),
                Column(name="change", title="change", kind="points", sign=True, low="low", high="high"),
                Column(name="clear", title="clear", kind="yes"),
            ),
        )
        sections.append(Section(name=name, title=title, says=tuple(says) if name == "cells" else (), blocks=(table,)))
    fields = frame_of("diff", result, panel)
    return Report(
        **{**fields, "read": tuple(read)},
        title=say("difference.title"),
        verdict=tuple(result.findings) or (say("difference.none"),),
        findings=tuple(result.findings),
        sections=tuple(sections),
    )
