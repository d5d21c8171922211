"""What is said about systems: whether the judges see them, which one wins, and who favours whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from polyjudge.analyse.leaderboard import ALL
from polyjudge.analyse.signal import PANEL
from polyjudge.core.sections import Block, Chart, Column, Finding, Grid, Report, Say, Section, Step, Table, say
from polyjudge.report.build.shared import frame_of, pivot

if TYPE_CHECKING:
    from polyjudge.analyse.favour import Favour
    from polyjudge.analyse.leaderboard import Leaderboard
    from polyjudge.analyse.signal import Signal
    from polyjudge.analyse.systems import Systems
    from polyjudge.core.panel import Panel

RANKS = (
    Column(name="system", title="system", kind="label"),
    Column(name="language", title="language", kind="label"),
    Column(name="mean", title="mean", kind="points", low="low", high="high"),
    Column(name="rank", title="rank", kind="rank", low="rank_low", high="rank_high"),
    Column(name="top_set", title="may be best", kind="yes"),
)
SWAPS = (
    Column(name="system_i", title="system", kind="label"),
    Column(name="system_j", title="against", kind="label"),
    Column(name="higher_in", title="higher in", kind="label"),
    Column(name="gap_higher", title="by", kind="points", sign=True),
    Column(name="lower_in", title="lower in", kind="label"),
    Column(name="gap_lower", title="by", kind="points", sign=True),
    Column(name="p", title="p", kind="p"),
)
SEEN = (
    Column(name="language", title="language", kind="label"),
    Column(name="verdict", title="verdict"),
    Column(name="one", title="one judge", kind="ratio", digits=2, low="one_low", high="one_high"),
    Column(name="panel", title="panel", kind="ratio", digits=2, low="panel_low", high="panel_high"),
    Column(
        name="leaderboard", title="on the means", kind="ratio", digits=2, low="leaderboard_low", high="leaderboard_high"
    ),
    Column(name="within", title="within tasks", kind="ratio", digits=2, low="within_low", high="within_high"),
)
ACROSS = Column(name="across", title="across families", kind="ratio", digits=2, low="across_low", high="across_high")
SLOPES = (
    Column(name="language", title="language", kind="label"),
    Column(name="judge", title="judge", kind="judge"),
    Column(name="slope", title="spread over its mean", kind="ratio", digits=2, low="low", high="high"),
    Column(name="own", title="beyond the language's", kind="ratio", digits=2, low="band_low", high="band_high"),
)
EFFECTS = (
    Column(name="system", title="system", kind="label"),
    Column(name="language", title="language", kind="label"),
    Column(name="judge", title="judge", kind="judge"),
    Column(name="effect", title="points", kind="points", sign=True, low="band_low", high="band_high"),
)
MOST_EFFECTS = 20


def build(result: Systems, panel: Panel | None = None) -> Report:
    """First whether the judges see; then who wins; then where that depends on judge or language."""
    return Report(
        **frame_of("systems", result, panel),
        title=say("systems.title"),
        verdict=sayings(result),
        picture=(board(result.leaderboard),),
        beside=(ranks_chart(result.leaderboard),),
        next=steps(result, panel),
        findings=result.findings,
        sections=sections(result),
    )


def sayings(result: Systems) -> tuple[Say | Finding, ...]:
    """At most three sentences: do the judges see, who wins, does that hang on a judge or who changes places."""
    if result.signal.verdict == "blind":
        every = [f for f in result.signal.findings if f.code == "signal-blind" and f.values["all"]]
        return tuple(every) or (seen(result.signal),)
    out = [seen(result.signal)]
    best = result.leaderboard
    top = best.top_set()
    others = best.systems["system"].nunique() - len(top)
    out.append(say("systems.top", top=top, others=others, settled=best.settled))
    moves = [f for f in best.findings if f.code.startswith(("systems-hang", "systems-swap"))]
    return (*out, moves[0] if moves else say("systems.no-swap"))


def seen(s: Signal) -> Say:
    """Whether the judges see, in one sentence."""
    return say(
        f"signal.{s.verdict.replace(' ', '-')}",
        one=s.mean_one,
        low=s.mean_one_low,
        high=s.mean_one_high,
        panel=s.mean_panel,
        panel_low=s.mean_panel_low,
        panel_high=s.mean_panel_high,
        most=float(s.languages["one_high"].max()),
        blind=s.blind_languages,
        languages=len(s.languages),
        by_task=s.by_task,
    )


def steps(result: Systems, panel: Panel | None) -> tuple[Step, ...]:
    """What to do next."""
    out = []
    scores = (panel.reading.words() if panel is not None and panel.reading is not None else "") or "SCORES"
    if result.signal.verdict == "blind" or result.signal.blind:
        out.append(Step(why=say("systems.next-probe"), command="polyjudge probe make ITEMS -o probes.jsonl"))
    elif not result.leaderboard.settled or len(result.leaderboard.top_set()) > 1:
        out.append(Step(why=say("systems.next-plan"), command=f"polyjudge plan --from {scores} --separate POINTS"))
    return tuple(out)


def board(b: Leaderboard) -> Table:
    """The leaderboard over all languages."""
    whole = b.systems[b.systems["language"] == ALL]
    return Table(name="leaderboard", caption=say("systems.board"), frame=whole, columns=(RANKS[0], *RANKS[2:]), most=40)


def sections(result: Systems, pictured: bool = False) -> tuple[Section, ...]:
    """Signal, leaderboard by language, who favours whom. `pictured`: the signal's heatmap stands elsewhere."""
    return (
        signal_section(result.signal, pictured),
        leaderboard_section(result.leaderboard, pictured),
        favour_section(result.favour),
    )


def signal_chart(s: Signal) -> Chart:
    """Reliability by language and judge as a heatmap."""
    judges = s.cells[s.cells["judge"] != PANEL]
    low, high = float(judges["reliability"].min()), float(judges["reliability"].max())
    grid = Grid(
        name="signal-grid",
        caption=say("signal.grid"),
        values=pivot(judges, "reliability"),
        kind="ratio",
        digits=2,
        marks=pivot(judges.assign(mark=judges["verdict"].map({"blind": "culprit"}).fillna("")), "mark"),
        note=say("signal.grid-note"),
    )
    return Chart(
        name="signal",
        draw="signal_heatmap",
        data=({"cells": judges, "least": s.least},),
        caption=say("signal.grid"),
        alt=say("signal.chart", low=low, high=high, least=s.least),
        instead=grid,
    )


def signal_section(s: Signal, pictured: bool = False) -> Section:
    """Reliability by language and judge as a heatmap, its sources, and slopes."""
    columns = (*SEEN[:4], *((ACROSS,) if "across" in s.languages else ()), *(SEEN[4:] if not s.by_task else ()))
    blocks: list[Block] = [
        *(() if pictured else (signal_chart(s),)),
        Table(name="signal-languages", caption=say("signal.table", level=s.level), frame=s.languages, columns=columns),
    ]
    says = [say("signal.scope", by_task=s.by_task, least=s.least)]
    if len(s.slopes):
        far = s.slopes.reindex((s.slopes["own"] - 1).abs().sort_values(ascending=False, kind="stable").index)
        blocks.append(Table(name="slopes", caption=say("signal.slopes"), frame=far, columns=SLOPES, most=20))
        says.append(say("signal.slope-scope"))
    return Section(name="signal", title=say("signal.title"), says=tuple(says), blocks=tuple(blocks), folded=pictured)


def ranks_chart(b: Leaderboard) -> Chart:
    """The ranks that each system may have, by language."""
    size = int(b.systems["system"].nunique())
    return Chart(
        name="leaderboard-ranks",
        draw="rank_intervals",
        data=({"frame": b.systems, "size": size},),
        caption=say("systems.ranks"),
        alt=say("systems.ranks-chart", systems=size, top=b.top_set(), level=b.level),
        instead=Table(name="leaderboard-languages", caption=say("systems.ranks"), frame=b.systems, columns=RANKS),
    )


def leaderboard_section(b: Leaderboard, folded: bool = False) -> Section:
    """Rank intervals by language, and who changes places."""
    blocks: list[Block] = [ranks_chart(b)]
    if len(b.swaps):
        for kind in ("language", "judge"):
            rows = b.swaps[b.swaps["kind"] == kind]
            if len(rows):
                caption = say("systems.swaps", kind=kind)
                blocks.append(Table(name=f"swaps-{kind}", caption=caption, frame=rows, columns=SWAPS, most=12))
    says = [say("systems.scope", level=b.level), say("systems.calibration", missing=b.missing)]
    if b.contaminated:
        says.append(say("systems.contaminated", count=b.contaminated))
    return Section(
        name="leaderboard", title=say("systems.board"), says=tuple(says), blocks=tuple(blocks), folded=folded
    )


def favour_section(f: Favour) -> Section:
    """The largest effects of each kind, and self-preference."""
    blocks: list[Block] = []
    for kind, rows in f.effects.groupby("kind", sort=False):
        if len(rows):
            far = rows.reindex(rows["effect"].abs().sort_values(ascending=False, kind="stable").index)
            columns = tuple(c for c in EFFECTS if c.name == "effect" or bool((far[c.name] != "").all()))
            caption = say("favour.effects", kind=str(kind), clear=int(rows["clear"].sum()), of=len(rows))
            name = f"favour-{str(kind).replace(':', '-')}"
            blocks.append(Table(name=name, caption=caption, frame=far, columns=columns, most=MOST_EFFECTS))
    kin = f.families
    own_of = {role: set(kin[kin["role"] == role]["family"]) for role in ("judge", "system")}
    shared = own_of["judge"] & own_of["system"]
    own = f.self_preference
    says = [
        say("favour.none-own")
        if own is None
        else say(
            "favour.own", effect=own.effect, low=own.low, high=own.high, own=own.own, judges=list(own.judges),
            separable=own.separable, clear=own.clear,
        )
    ]  # fmt: skip
    if shared:
        table = (
            Column(name="name", title="name", kind="label"),
            Column(name="role", title="role"),
            Column(name="family", title="family", kind="label"),
        )
        blocks.append(Table(name="families", caption=say("favour.families"), frame=pd.DataFrame(kin), columns=table))
    return Section(name="favour", title=say("favour.title"), says=tuple(says), blocks=tuple(blocks))
