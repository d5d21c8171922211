"""What `extend` added to a calibrator."""

from __future__ import annotations

from polyjudge.calibrate.extend import Extension, Newcomer
from polyjudge.panel.panel import Panel
from polyjudge.panel.say import say
from polyjudge.report.build import frame_of, notes, table
from polyjudge.report.sections import Report, Section


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
    head = f"{other} | interaction/low/high:+points | before shrinking = plain:+points | tasks:count"
    cells = table("newcomer", "Points beyond both levels", n.table, head)
    title = say("extend.title", kind=n.kind, label=n.label)
    return Section(name=f"new-{n.kind}", title=title, blocks=(cells,), folded=False)
