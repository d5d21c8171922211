"""What a drift check says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyjudge.core.sections import Column, Report, Section, Table, say
from polyjudge.report.build.shared import frame_of

if TYPE_CHECKING:
    from polyjudge.calibrate.drift import Drift
    from polyjudge.core.panel import Panel


def build(result: Drift, panel: Panel | None = None) -> Report:
    """Findings first; then the change of every cell, clearest first, and the shares at the floor."""
    from polyjudge.calibrate.drift import DRAWS

    how = (
        say("drift.paired", paired=result.paired_tasks, alarm=1 - result.level)
        if result.paired_tasks
        else say("drift.samples", before=result.tasks_before, after=result.tasks_after, alarm=1 - result.level)
    )
    frame = frame_of("drift", result, panel)
    frame["read"] = (*frame.get("read", ()), how)
    cells = result.cells
    clear = cells["change"].abs() / cells["se"].where(cells["se"] > 0, 1.0)
    cells = cells.loc[clear.sort_values(ascending=False, kind="stable").index]
    change = Table(
        name="cells",
        caption=say("drift.cells"),
        frame=cells,
        columns=(
            Column(name="language", title="language", kind="label"),
            Column(name="judge", title="judge", kind="judge"),
            Column(name="before", title="before", kind="points", sign=True),
            Column(name="after", title="now", kind="points", sign=True),
            Column(
                name="change",
                title="change",
                kind="points",
                sign=True,
                low="band_low",
                high="band_high",
                like=("before",),
            ),
            Column(name="p", title="p", kind="p", floor=0.0 if result.paired_tasks else 1 / (1 + DRAWS)),
            Column(name="changed", title="changed", kind="yes"),
        ),
    )
    return Report(
        **frame,
        title=say("drift.title"),
        verdict=tuple(result.findings[:1]),
        findings=tuple(result.findings),
        sections=(
            Section(
                name="cells",
                title="Change of the interaction",
                says=(say("drift.global", p=result.p_global),),
                blocks=(change,),
            ),
            Section(name="floor", title="Scores at the floor", blocks=(_floor(result),)),
        ),
    )


def _floor(result: Drift) -> Table:
    """Shares of scores at the lowest value, most changed first."""
    return Table(
        name="floor",
        caption=say("drift.floor"),
        frame=result.floor.sort_values("p", kind="stable") if len(result.floor) else result.floor,
        columns=(
            Column(name="language", title="language", kind="label"),
            Column(name="judge", title="judge", kind="judge"),
            Column(name="before", title="before", kind="share"),
            Column(name="after", title="now", kind="share"),
            Column(name="change", title="change", kind="share", sign=True, low="low", high="high"),
            Column(name="p", title="p", kind="p"),
            Column(name="changed", title="changed", kind="yes"),
        ),
    )
