"""What `extend` added to a calibrator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyjudge.core.sections import Column, Report, Section, Table, say
from polyjudge.report.build.shared import frame_of, notes, value

if TYPE_CHECKING:
    from polyjudge.calibrate.extend import Extension, Newcomer
    from polyjudge.core.panel import Panel


def build(result: Extension, panel: Panel | None = None) -> Report:
    """Each newcomer's cells with intervals, and the advice."""
    return Report(
        **frame_of("extend", result, panel),
        title="New in the calibrator",
        verdict=tuple(n.words for n in result.newcomers),
        sections=(
            *(_newcomer(n) for n in result.newcomers),
            Section(name="notes", title="Notes", says=notes(result.notes), folded=False),
        ),
    )


def _newcomer(n: Newcomer) -> Section:
    other = "judge" if n.kind == "language" else "language"
    columns = (
        Column(name=other, title=other, kind="judge" if other == "judge" else "label"),
        value("interaction", "interaction", "low", "high", sign=True),
        value("plain", "before shrinking", sign=True),
        Column(name="tasks", title="tasks", kind="count"),
    )
    title = say("extend.title", kind=n.kind, label=n.label)
    table = Table(name="newcomer", caption="Points beyond both levels", frame=n.table, columns=columns)
    return Section(name=f"new-{n.kind}", title=title, blocks=(table,), folded=False)
