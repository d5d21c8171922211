"""What probes say: who notices damage where, and what that makes of the interaction."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from polyjudge.core.sections import Block, Chart, Column, Grid, Report, Section, Step, Table, Words, ranked, say
from polyjudge.report.build.shared import JUDGE, LANGUAGE, frame_of, pivot, value

if TYPE_CHECKING:
    from polyjudge.analyse.probes import Probe
    from polyjudge.core.panel import Panel

CELLS = (
    LANGUAGE,
    JUDGE,
    value("reaction", "fall for each step", "reaction_low", "reaction_high", sign=True),
    value("false_reaction", "change under placebo", "false_reaction_low", "false_reaction_high", sign=True),
    Column(name="sensitivity", title="prefers clean", kind="share", low="sensitivity_low", high="sensitivity_high"),
    Column(name="sight", title="sight"),
    value("interaction", "interaction", sign=True),
    Column(name="verdict", title="verdict"),
)

JUDGES = (
    JUDGE,
    value("false_reaction", "change under placebo", "false_reaction_low", "false_reaction_high", sign=True),
    Column(name="false", title="form moves it", kind="yes"),
)


def build(result: Probe, panel: Panel | None = None) -> Report:
    """Who sees, who is blind, and whether calibrating is safe."""
    return Report(
        **frame_of("probe", result, panel),
        title=say("probe.title"),
        verdict=sayings(result),
        picture=(sight(result),),
        beside=(_interaction(result),),
        next=_steps(result),
        findings=tuple(ranked(result.findings)),
        sections=(replace(section(result), says=()),),
    )


def sayings(p: Probe) -> tuple[Words, ...]:
    """At most three sentences."""
    sight = p.cells["sight"]
    out: list[Words] = [
        say(
            "probe.seen",
            sees=int((sight == "sees").sum()),
            blind=int((sight == "blind").sum()),
            of=len(p.cells),
            usual=p.usual,
            reacts=p.usual_low > 0,
        )
    ]
    large = p.cells[p.cells["large"]]
    if len(large):
        count = {v: int((large["verdict"] == v).sum()) for v in ("severity", "blind", "competence", "cannot tell")}
        out.append(say("probe.large", of=len(large), **{k.replace(" ", "_"): n for k, n in count.items()}))
    elif p.own_interaction:
        out.append(say("probe.none-large", matters=p.matters))
    return (*out, say("probe.scope", tasks=p.tasks))


def _grid(p: Probe) -> Grid:
    marks = np.where(p.cells["sight"] == "blind", "culprit", np.where(p.cells["sight"] == "sees", "", "small"))
    return Grid(
        name="reaction",
        caption=say("probe.grid"),
        values=pivot(p.cells, "reaction"),
        sign=True,
        digits=1,
        marks=pivot(p.cells.assign(mark=marks), "mark"),
        note=say("probe.grid-note"),
    )


def sight(p: Probe) -> Chart:
    """How often each judge prefers the clean version, blind places framed; in text the reactions."""
    cells = p.cells.assign(
        reliability=p.cells["sensitivity"],
        low=p.cells["sensitivity_low"],
        high=p.cells["sensitivity_high"],
        verdict=p.cells["sight"],
    )
    title, note = "Chance that the clean version scores higher", "framed: blind; 0.5 is chance"
    return Chart(
        name="probe-sight",
        draw="signal_heatmap",
        data=({"cells": cells, "least": 0.5, "title": title, "note": note},),
        caption=say("probe.chart"),
        alt=say("probe.chart-alt", low=p.cells["sensitivity"].min(), high=p.cells["sensitivity"].max()),
        instead=_grid(p),
    )


def _interaction(p: Probe) -> Chart:
    cells = p.cells[["language", "judge", "interaction"]]
    return Chart(
        name="probe-interaction",
        draw="interaction_heatmap",
        data=({"result": cells},),
        caption=say("probe.interaction", own=p.own_interaction),
        alt=say(
            "probe.interaction-alt",
            largest=float(p.cells["interaction"].abs().max()),
            count=int(p.cells["large"].sum()),
        ),
    )


def section(p: Probe) -> Section:
    """Every cell with its numbers, what form does to the judges, and what probes cannot show."""
    caption = say("probe.cells", level=p.level)
    blocks: list[Block] = [Table(name="cells", caption=caption, frame=p.cells, columns=CELLS, most=400)]
    if p.placebos:
        blocks.append(Table(name="placebo", caption=say("probe.placebo"), frame=p.judges, columns=JUDGES))
    return Section(name="probes", title="Do the judges notice damage?", says=sayings(p), blocks=tuple(blocks))


def _steps(p: Probe) -> tuple[Step, ...]:
    blind = p.cells[p.cells["sight"] == "blind"]
    if not len(blind) or p.usual_low <= 0:
        return ()
    places = list(zip(blind["language"], blind["judge"], strict=True))
    drops = [word for place in places for word in ("--drop", ",".join(map(str, place)))]
    return (Step(why=say("probe.next-drop"), command=shlex.join(["polyjudge", "audit", "SCORES", *drops])),)
