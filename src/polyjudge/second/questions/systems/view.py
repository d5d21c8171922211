"""What is said about systems: whether the judges agree about them, which one wins, and who favours whom."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from polyjudge.second.panel.labels import ALL
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import Say, say
from polyjudge.second.panel.scale import Scale
from polyjudge.second.questions.systems.signal import DISAGREE, LEAST, PANEL, Signal
from polyjudge.second.report.build import by_size, chart, fields, frame_of, pivot, table
from polyjudge.second.report.sections import Block, Chart, Finding, Grid, Report, Section, Step, Table
from polyjudge.second.report.unit import less, shown_scale, times

if TYPE_CHECKING:
    from polyjudge.second.questions.systems.favour import Favour
    from polyjudge.second.questions.systems.leaderboard import Leaderboard
    from polyjudge.second.questions.systems.length import Length
    from polyjudge.second.questions.systems.systems import Systems

RANKS = "mean/low/high:points | rank/_low/_high:rank | may be best = top_set:yes"
SWAPS = (
    "system = system_i:label | against = system_j:label | higher in = higher_in:label | by = gap_higher:+points "
    "| lower in = lower_in:label | by = gap_lower:+points | p"
)
SEEN = "language | verdict | one judge = one/_low/_high:ratio.2 | panel/_low/_high:ratio.2"
ACROSS = "across makers = across/_low/_high:ratio.2 | outside the closest = outside/_low/_high:ratio.2"
CONSISTENT = "consistent = consistency/_low/_high:ratio.2"
GROUPED = "judges | correlation of errors = correlation/low/high:ratio.2 | of one maker = family:label"
WITHIN = "on the means = leaderboard/_low/_high:ratio.2 | within tasks = within/_low/_high:ratio.2"
SLOPES = (
    "language | judge | spread over its mean = slope/low/high:ratio.2 "
    "| beyond the language's = own/band_low/band_high:ratio.2"
)
MOST_EFFECTS = 20
SLOPE = "language | judge | slope/low/high:+points"
EQUAL = (
    "system | characters = length:count | as they are = mean/low/high:points "
    "| at equal length = equal/_low/_high:points | rank:rank | at equal length = equal_rank:rank "
    "| may be best = top_set:yes"
)
LEVELS = ("mean", "low", "high", "equal", "equal_low", "equal_high")
"""Of a leaderboard: what is a score, not a difference."""
SAME = 1e-9
"""A gap up to this is a tie, and rounding gives it its sign: no change of places."""


def build(result: Systems, panel: Panel | None = None) -> Report:
    """First whether the judges agree; then who wins; then where that depends on judge or language."""
    scale, frame = shown_scale(result, panel), frame_of("systems", result, panel)
    result = in_unit(result, scale)
    return Report(
        **frame,
        unit=scale.unit,
        title=say("systems.title"),
        verdict=sayings(result),
        picture=(board(result.leaderboard),),
        beside=(ranks_chart(result.leaderboard),),
        next=steps(result, panel),
        findings=result.findings,
        sections=sections(result, panel),
    )


def in_unit(s: Systems, scale: Scale) -> Systems:
    """The systems with means and differences as they are shown: of pass or fail in percent."""
    if scale.factor == 1.0:
        return s
    favour = times(s.favour, scale.factor)
    if favour is not None:
        favour = replace(favour, self_preference=times(favour.self_preference, scale.factor))
    board, length, lowest = times(s.leaderboard, scale.factor), times(s.length, scale.factor), scale.low * scale.factor
    board = replace(board, systems=less(board.systems, lowest, LEVELS))
    if length is not None:
        length = replace(length, systems=less(length.systems, lowest, LEVELS))
    return replace(s, leaderboard=board, favour=favour, length=length)


def sayings(result: Systems) -> tuple[Say | Finding, ...]:
    """Do the judges agree, who wins, does that hang on a judge or who changes places; and what no panel can tell."""
    s, best = result.signal, result.leaderboard
    if s.verdict == DISAGREE:
        every = [f for f in s.findings if f.code == "signal-disagree" and f.values["all"]]
        return tuple(every) or (agreed(s),)
    top = best.top_set()
    others = int((best.systems["language"] == ALL).sum()) - len(top)
    sizes = {"judges": len(best.judges), "makers": len(best.makers)}
    wins = say("systems.top", top=top, others=others, settled=best.settled, **sizes) if top else say("systems.no-whole")
    moves = [f for f in best.findings if f.code.startswith(("systems-hang", "systems-swap"))]
    last = () if s.why in ("one maker", "two judges", "one judge") else (say("systems.shared-error"),)
    first = next((f for f in s.findings if f.code == "signal-unclear"), agreed(s))
    axes = {"languages": len(languages_of(best)) > 1, "judges": len(best.judges) > 1}
    still = (say("systems.no-swap", **axes),) if any(axes.values()) else ()
    return first, wins, *(moves[:1] or still), *last


def languages_of(b: Leaderboard) -> list[str]:
    """The languages of a leaderboard."""
    return [x for x in b.systems["language"].unique() if x != ALL]


def agreed(s: Signal) -> Say:
    """Whether the judges agree, in one sentence."""
    values = {name: getattr(s, f"mean_{name}") for name in ("one", "panel", "panel_low", "panel_high")}
    values |= {"low": s.mean_one_low, "high": s.mean_one_high}
    return say(
        f"signal.{s.verdict.replace(' ', '-')}",
        most=float(s.languages["one_high"].max()),
        odd=s.odd_languages,
        judges=len(s.families),
        **values,
        **fields(s, "why", "makers", "by_task"),
    )


def steps(result: Systems, panel: Panel | None) -> tuple[Step, ...]:
    """What to do next."""
    scores = (panel.reading.words() if panel is not None and panel.reading is not None else "") or "SCORES"
    if result.signal.verdict == DISAGREE or result.signal.odd:
        return (Step(why=say("systems.next-probe"), command="polyjudge probe make ITEMS -o probes.jsonl"),)
    label = Step(why=say("systems.next-label"), command=f"polyjudge label make {scores} --items ITEMS -o labels")
    if result.leaderboard.settled and len(result.leaderboard.top_set()) == 1:
        return (label,)
    return Step(why=say("systems.next-plan"), command=f"polyjudge plan --from {scores} --separate POINTS"), label


def board(b: Leaderboard) -> Table:
    """The leaderboard over all languages."""
    whole = b.systems[b.systems["language"] == ALL]
    return table("leaderboard", say("systems.board"), whole, f"system | {RANKS}", most=40)


def sections(result: Systems, panel: Panel | None = None) -> tuple[Section, ...]:
    """Agreement, leaderboard by language, who favours whom."""
    board = leaderboard_section(result.leaderboard)
    if panel is not None and panel.apart:
        board = replace(board, says=(*board.says, say("systems.apart")))
    placed = () if result.position is None else (result.position.section(),)
    if panel is not None and panel.order_known is False:
        placed = (Section(name="position", title=say("position.title"), absent=say("position.unknown")),)
    return signal_section(result.signal), board, favour_section(result.favour), *placed, *length_sections(result.length)


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
        marks=pivot(judges.assign(mark=judges["verdict"].map({DISAGREE: "culprit"}).fillna("")), "mark"),
        note=say("signal.grid-note"),
    )
    alt = say("signal.chart", low=low, high=high, least=LEAST)
    return chart("signal", "signal_heatmap", say("signal.grid"), alt, grid, cells=judges, least=LEAST)


def signal_section(s: Signal) -> Section:
    """Reliability by language and judge as a heatmap, its sources, and slopes."""
    if s.why == "one judge":
        return Section(name="signal", title=say("signal.title"), says=(agreed(s),))
    more = {"across": ACROSS, "consistency": CONSISTENT, "within": WITHIN}
    head = (SEEN, *(columns for name, columns in more.items() if name in s.languages))
    caption = say("signal.table", level=s.level)
    blocks: list[Block] = [signal_chart(s), table("signal-languages", caption, s.languages, *head)]
    says = [say("signal.scope", by_task=s.by_task, least=LEAST)]
    if len(s.groups):
        blocks.append(table("groups", say("signal.groups"), s.groups, GROUPED))
    if len(s.slopes):
        far = s.slopes.reindex((s.slopes["own"] - 1).abs().sort_values(ascending=False, kind="stable").index)
        blocks.append(table("slopes", say("signal.slopes"), far, SLOPES, most=20))
        says.append(say("signal.slope-scope"))
    return Section(name="signal", title=say("signal.title"), says=tuple(says), blocks=tuple(blocks), folded=False)


def ranks_chart(b: Leaderboard) -> Chart:
    """The ranks that each system may have, by language."""
    size = int(b.systems["system"].nunique())
    caption = say("systems.ranks")
    alt = say("systems.ranks-chart", systems=size, top=b.top_set(), level=b.level)
    frame = b.systems if len(languages_of(b)) > 1 else b.systems[b.systems["language"] != ALL]  # one language is all
    instead = table("leaderboard-languages", caption, frame, f"system | language | {RANKS}")
    return chart("leaderboard-ranks", "rank_intervals", caption, alt, instead, frame=frame, size=size)


def leaderboard_section(b: Leaderboard) -> Section:
    """Rank intervals by language, and who changes places."""
    blocks: list[Block] = [ranks_chart(b)]
    apart = b.swaps[b.swaps["gap_higher"].gt(SAME) & b.swaps["gap_lower"].lt(-SAME)]
    for kind in ("language", "judge"):
        rows = apart[apart["kind"] == kind]
        if len(rows):
            blocks.append(table(f"swaps-{kind}", say("systems.swaps", kind=kind), rows, SWAPS, most=12))
    crossed = min(len(languages_of(b)), len(b.judges)) > 1
    says = [say("systems.scope", level=b.level, judges=len(b.judges))]
    if crossed or b.missing:
        says.append(say("systems.calibration", missing=b.missing, crossed=crossed))
    if b.contaminated:
        says.append(say("systems.contaminated", count=b.contaminated))
    title = say("systems.board")
    return Section(name="leaderboard", title=title, says=tuple(says), blocks=tuple(blocks), folded=False)


def favour_section(f: Favour | None) -> Section:
    """The largest effects of each kind, and self-preference."""
    if f is None:
        return Section(name="favour", title=say("favour.title"), says=(say("favour.one-judge"),))
    blocks: list[Block] = []
    for kind, rows in f.effects.groupby("kind", sort=False):
        far = by_size(rows, "effect")
        named = [name for name in ("system", "language", "judge") if bool((far[name] != "").all())]
        head = " | ".join([*named, "points = effect/band_low/band_high:+points"])
        caption = say("favour.effects", kind=str(kind), clear=int(rows["clear"].sum()), of=len(rows))
        blocks.append(table(f"favour-{str(kind).replace(':', '-')}", caption, far, head, most=MOST_EFFECTS))
    kin, own = f.families, f.self_preference
    if own is None:
        words = say("favour.none-own")
    else:
        shown = fields(own, "effect", "low", "high", "own", "p", "separable", "clear")
        words = say("favour.own", judges=list(own.judges), **shown)
    if set(kin[kin["role"] == "judge"]["family"]) & set(kin[kin["role"] == "system"]["family"]):
        head = "name:label | role | family:label"
        blocks.append(table("families", say("favour.families"), pd.DataFrame(kin), head))
    return Section(name="favour", title=say("favour.title"), says=(words,), blocks=tuple(blocks))


def length_sections(found: Length | None) -> tuple[Section, ...]:
    """How scores go with the length of answers, and who leads at equal length; nothing without the texts."""
    if found is None:
        return ()
    blocks = (
        table("length", say("length.cells", level=found.level), found.cells, SLOPE, most=60),
        table("length-systems", say("length.systems"), found.systems, EQUAL, most=40),
    )
    says = (*found.findings, say("length.scope", known=found.known))
    return (Section(name="length", title=say("length.title"), says=says, blocks=blocks),)


VIEWS = {"Systems": build}
