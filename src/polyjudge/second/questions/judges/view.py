"""What is said about choosing and swapping judges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from polyjudge.second.estimate.covariance import FEWEST_FOR_GROUPS
from polyjudge.second.panel.labels import ALL
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import Say, say
from polyjudge.second.questions.judges.choose import Choice
from polyjudge.second.questions.judges.judges import Judges
from polyjudge.second.questions.judges.swap import Swap
from polyjudge.second.report.build import by_size, chart, fields, frame_of, pivot, table
from polyjudge.second.report.sections import Block, Chart, Finding, Grid, Report, Section, find, ranked

if TYPE_CHECKING:
    from polyjudge.second.questions.position import Position

BEST = (
    "judges = size:count | best panel of that size = judges | reliability, left-out tasks = held_out/low/high:ratio.3 "
    "| same tasks (flatters) = in_sample:ratio.3"
)
GROUPS = "judges | correlation of errors = correlation/low/high:ratio.2 | of one maker = family:label"
WEIGHTS = {
    "reliability": "judge | weight:share | reliability gained, left-out tasks = gain/low/high:ratio.3",
    "labels": "judge | weight:share | points nearer, left-out tasks = gain/low/high:points",
}
CHANGES = (
    "what = kind | language | system = first:label | against = second:label | change/low/high:+points "
    "| within limits = inside:yes"
)


def build(result: Judges, panel: Panel | None = None) -> Report:
    """The panel to keep, or whether a swap is safe."""
    frame = frame_of("judges", result, panel)
    if result.choice is not None:
        return _choice(result.choice, result.position, frame)
    assert result.swap is not None
    return _swap(result.swap, frame)


def _choice(c: Choice, placed: Position | None, frame: dict[str, Any]) -> Report:
    kept = c.recommended.iloc[0]
    at = c.best[(c.best["language"] == ALL) & (c.best["size"] == len(c.kept))].iloc[0]
    values = {"rule": c.rule, "full": c.full_cost, "priced": c.priced, **fields(at, "held_out", "low", "high")}
    verdict = [say("choose.keep", judges=c.kept, all=len(c.makers), cost=kept["cost"], **values)]
    others = c.recommended.iloc[1:]
    if len(others):
        first = others.iloc[0]
        verdict.append(say("choose.language", language=first["language"], judges=first["judges"], more=len(others) - 1))
    if "squared_error" not in c.subsets:
        verdict.append(say("choose.shared-error"))
    best, every = (x[x["language"] == ALL] for x in (c.best, c.subsets))
    alt = say("choose.frontier-chart", count=len(every), best=len(c.frontier))
    drawn = {"subsets": every, "frontier": c.frontier, "kept": kept["judges"]}
    return Report(
        **frame,
        title=say("choose.title"),
        verdict=tuple(verdict),
        picture=(table("best", say("choose.best"), best, BEST),),
        beside=(chart("frontier-chart", "frontier", say("choose.frontier"), alt, **drawn),),
        findings=tuple(ranked([*_groups(c), *(() if placed is None else placed.findings)])),
        sections=(_frontier(c), _languages(c), _trust(c), *(() if placed is None else (placed.section(),))),
    )


def _groups(c: Choice) -> list[Finding]:
    out = [find("notice", "choose-one-group", group=c.rests_on)] if c.rests_on else []
    for _, row in c.groups.iterrows():
        values = fields(row, "correlation", "low", "high", "family")
        out.append(find("notice", "choose-group", judges=list(row["members"]), **values))
    return out


def _frontier(c: Choice) -> Section:
    kind = "count" if (c.frontier["cost"] % 1 == 0).all() else "number"  # without prices a number of scores
    head = (
        f"panel = judges | cost a task = cost:{kind} | error of a system difference = error/_low/_high:points "
        "| reliability/low/high:ratio.3"
    )
    if "squared_error" in c.frontier:
        head += " | squared error to labels = squared_error:points | agrees with labels = agreement:share"
    panels = table("frontier", say("choose.frontier"), c.frontier, head)
    says = (say("choose.searched", all=c.exhaustive),)
    return Section(name="frontier", title="Cost against error", says=says, blocks=(panels,))


def _languages(c: Choice) -> Section:
    single = c.subsets[(c.subsets["size"] == 1) & (c.subsets["language"] != ALL)].rename(columns={"judges": "judge"})
    blocks: list[Block] = [_heatmap(single, "single", "Agreement of each judge with the others", 1.0)]
    if single["cost"].nunique() > 1 and (single["cost"] > 0).all():
        value = single[["reliability", "low", "high"]].div(single["cost"], axis=0)
        relative = single.assign(**value / value["reliability"].max())
        blocks.append(_heatmap(relative, "per-cost", "Agreement for each unit of cost, 1 is the best", 100.0))
    by = c.best[c.best["language"] != ALL]
    blocks.append(table("best-by-language", say("choose.best-language"), by, f"language | {BEST}"))
    return Section(name="languages", title="By language", blocks=tuple(blocks))


def _heatmap(cells: pd.DataFrame, name: str, title: str, percent: float) -> Chart:
    caption = say(f"choose.{name}")
    share: dict[str, Any] = {"kind": "ratio", "digits": 2} if percent == 1 else {"kind": "percent", "digits": 0}
    return chart(
        name,
        "signal_heatmap",
        caption,
        say("choose.heatmap-alt", low=cells["reliability"].min(), high=cells["reliability"].max()),
        Grid(name=name, caption=caption, values=percent * pivot(cells, "reliability"), **share),
        cells=cells.assign(verdict=""),
        least=0.0,
        title=title,
        note="by language",
    )


def _trust(c: Choice) -> Section:
    says: list[Say] = [say("choose.scope", systems=c.systems, level=c.level)]
    blocks: list[Block] = []
    if len(c.makers) < FEWEST_FOR_GROUPS:
        says.append(say("choose.few-for-groups"))
    elif len(c.groups):
        blocks.append(table("groups", say("choose.groups"), c.groups, GROUPS))
    for kind, frame in c.weighting.groupby("kind", sort=False):
        blocks.append(table(f"weights-{kind}", say("choose.weights", kind=kind), frame, WEIGHTS[str(kind)]))
    if c.weighting.empty:
        says.append(say("choose.equal"))
    return Section(name="trust", title="Groups and weights", says=tuple(says), blocks=tuple(blocks))


def _swap(s: Swap, frame: dict[str, Any]) -> Report:
    changes = by_size(s.changes, "change")
    worst = fields(changes.iloc[0], "change", "low", "high", "kind", "language", "first", "second")
    severity: Any = {"accepted": "info", "refused": "serious", "open": "warning"}[s.answer]
    answer = find(severity, f"swap.{s.answer}", **fields(s, "out", "into", "matters", "tasks", "needed"), **worst)
    blind = say("swap.blind-spot", **fields(s, "blind_spot", "blind_points", "guard", "share"))
    moves = table("changes", say("swap.changes", share=s.share, level=2 * s.level - 1), changes, CHANGES)
    return Report(
        **frame,
        title=say("swap.title", out=s.out, into=s.into),
        verdict=(answer,) if s.answer == "refused" else (answer, blind),
        findings=(answer,),
        sections=(Section(name="changes", title="What would change", blocks=(moves,)),),
    )


VIEWS = {"Judges": build}
