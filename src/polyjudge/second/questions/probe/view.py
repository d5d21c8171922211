"""What probes say: who notices damage where, and what that makes of the interaction."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from polyjudge.second.panel.labels import shell_line
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import Words, say
from polyjudge.second.panel.scale import Scale
from polyjudge.second.report.build import chart, frame_of, pivot, table
from polyjudge.second.report.sections import Block, Chart, Grid, Report, Section, Step, ranked
from polyjudge.second.report.unit import shown_scale, times

if TYPE_CHECKING:
    from polyjudge.second.questions.probe.reaction import Probe

PLACEBO = "change under placebo = false_reaction/_low/_high:+points"
SIZES = product(("reaction", "false_reaction", "rise", "usual"), ("", "_low", "_high"))
IN_POINTS = frozenset(map("".join, SIZES)) | {"interaction", "matters"}
CELLS = (
    f"language | judge | fall for each step = reaction/_low/_high:+points | {PLACEBO} "
    "| prefers clean = sensitivity/_low/_high:share | at an end = at_end:share | sight | interaction:+points | verdict"
)


def build(result: Probe, panel: Panel | None = None) -> Report:
    """Who sees, who is blind, and whether calibrating is safe."""
    scale, frame = shown_scale(result, panel), frame_of("probe", result, panel)
    result = in_unit(result, scale)
    return Report(
        **frame,
        unit=scale.unit,
        title=say("probe.title"),
        verdict=sayings(result),
        picture=(sight(result),),
        beside=(_interaction(result),) if result.cells["interaction"].notna().any() else (),
        next=_steps(result),
        findings=tuple(ranked(result.findings)),
        sections=(replace(section(result), says=()),),
    )


def in_unit(p: Probe, scale: Scale) -> Probe:
    """The reading as it is shown: of pass or fail in percentage points."""
    if scale.factor == 1.0:
        return p
    sizes = ("value", "low", "high")
    found = tuple(
        replace(f, values={n: x * scale.factor if n in sizes else x for n, x in f.values.items()}) for f in p.findings
    )
    return replace(times(p, scale.factor, names=IN_POINTS), findings=found)


def sayings(p: Probe) -> tuple[Words, ...]:
    """At most three sentences."""
    from polyjudge.second.questions.probe.reaction import AT_END

    seen = {name: int((p.cells["sight"] == name).sum()) for name in ("sees", "blind")}
    full = int(((p.cells["sight"] == "cannot tell") & (p.cells["at_end"] >= AT_END)).sum())
    out: list[Words] = [say("probe.seen", **seen, of=len(p.cells), usual=p.usual, reacts=p.usual_low > 0, at_end=full)]
    found = p.counted
    if found["of"]:
        out.append(
            say("probe.large", **{n: found[n] for n in ("of", "severity", "blind", "competence", "cannot_tell")})
        )
    elif p.own_interaction:
        out.append(say("probe.none-large", matters=p.matters))
    return (*out, say("probe.scope", tasks=p.tasks))


def sight(p: Probe) -> Chart:
    """How often each judge prefers the clean version, blind places framed; in text the reactions."""
    share = p.cells["sensitivity"]
    ends = {"low": p.cells["sensitivity_low"], "high": p.cells["sensitivity_high"]}
    marks = np.where(p.cells["sight"] == "blind", "culprit", np.where(p.cells["sight"] == "sees", "", "small"))
    grid = Grid(
        name="reaction",
        caption=say("probe.grid"),
        values=pivot(p.cells, "reaction"),
        sign=True,
        digits=1,
        marks=pivot(p.cells.assign(mark=marks), "mark"),
        note=say("probe.grid-note"),
    )
    return chart(
        "probe-sight",
        "signal_heatmap",
        say("probe.chart"),
        say("probe.chart-alt", low=share.min(), high=share.max()),
        grid,
        cells=p.cells.assign(reliability=share, verdict=p.cells["sight"], **ends),
        least=0.5,
        title="Chance that the clean version scores higher",
        note="framed: blind; 0.5 is chance",
    )


def _interaction(p: Probe) -> Chart:
    largest, count = float(p.cells["interaction"].abs().max()), int(p.cells["large"].sum())
    return chart(
        "probe-interaction",
        "interaction_heatmap",
        say("probe.interaction", own=p.own_interaction),
        say("probe.interaction-alt", largest=largest, count=count),
        cells=p.cells[["language", "judge", "interaction"]],
    )


def section(p: Probe) -> Section:
    """Every cell with its numbers, what form does to the judges, and what probes cannot show."""
    blocks: list[Block] = [table("cells", say("probe.cells", level=p.level), p.cells, CELLS, most=400)]
    if p.placebos:
        head = f"judge | {PLACEBO} | form moves it = false:yes"
        blocks.append(table("placebo", say("probe.placebo"), p.judges, head))
    if len(p.susceptibility):
        head = "kind | language | judge | rise = rise/_low/_high:+points | surely = rises:yes"
        blocks.append(table("susceptibility", say("probe.susceptibility"), p.susceptibility, head, most=400))
    return Section(name="probes", title="Do the judges notice damage?", says=sayings(p), blocks=tuple(blocks))


def _steps(p: Probe) -> tuple[Step, ...]:
    blind = p.counted["blind_places"]
    if not blind or p.usual_low <= 0:
        return ()
    drops = [word for place in blind for word in ("--drop", ",".join(map(str, place)))]
    return (Step(why=say("step.without-blind"), command=shell_line(["polyjudge", "audit", "SCORES", *drops])),)


VIEWS = {"Probe": build}
