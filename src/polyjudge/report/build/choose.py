"""What is said about choosing and swapping judges."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from polyjudge.analyse.choose import ALL, Choice
from polyjudge.core.sections import Block, Chart, Column, Finding, Grid, Report, Say, Section, Table, find, ranked, say
from polyjudge.report.build.shared import LANGUAGE, frame_of, pivot

if TYPE_CHECKING:
    from polyjudge.analyse.swap import Swap
    from polyjudge.core.panel import Panel

BEST = (
    Column(name="size", title="judges", kind="count"),
    Column(name="judges", title="best panel of that size"),
    Column(name="held_out", title="reliability, left-out tasks", kind="ratio", digits=3, low="low", high="high"),
    Column(name="in_sample", title="same tasks (flatters)", kind="ratio", digits=3),
)
FRONTIER = (
    Column(name="judges", title="panel"),
    Column(name="cost", title="cost a task", kind="number"),
    Column(name="error", title="error of a system difference", kind="points", low="error_low", high="error_high"),
    Column(name="reliability", title="reliability", kind="ratio", digits=3, low="low", high="high"),
)
LABELS = (
    Column(name="squared_error", title="squared error to labels", kind="points"),
    Column(name="agreement", title="agrees with labels", kind="share"),
)
COPIES = (
    Column(name="judge_i", title="judge", kind="judge"),
    Column(name="judge_j", title="and", kind="judge"),
    Column(name="correlation", title="correlation of errors", kind="ratio", digits=2, low="low", high="high"),
    Column(name="family", title="of one maker"),
    Column(name="copy", title="near copies", kind="yes"),
)
WEIGHT = (Column(name="judge", title="judge", kind="judge"), Column(name="weight", title="weight", kind="share"))
WEIGHTS = {
    "reliability": Column(
        name="gain", title="reliability gained, left-out tasks", kind="ratio", digits=3, low="low", high="high"
    ),
    "labels": Column(name="gain", title="points nearer, left-out tasks", kind="points", low="low", high="high"),
}
CHANGES = (
    Column(name="kind", title="what"),
    LANGUAGE,
    Column(name="first", title="system", kind="label"),
    Column(name="second", title="against", kind="label"),
    Column(name="change", title="change", kind="points", sign=True, low="low", high="high"),
    Column(name="inside", title="within limits", kind="yes"),
)


def build(result: Choice | Swap, panel: Panel | None = None) -> Report:
    """The panel to keep, or whether a swap is safe."""
    return _choice(result, panel) if isinstance(result, Choice) else _swap(result, panel)


def _choice(c: Choice, panel: Panel | None) -> Report:
    kept = c.recommended.iloc[0]
    size = int(kept["judges"].count(" + ")) + 1
    at = c.best[(c.best["language"] == ALL) & (c.best["size"] == size)].iloc[0]
    verdict = [
        say(
            "choose.keep",
            rule=c.rule,
            judges=kept["judges"].split(" + "),
            held_out=at["held_out"],
            low=at["low"],
            high=at["high"],
            cost=kept["cost"],
            full=c.full_cost,
            priced=c.priced,
            error=kept["error"],
        )
    ]
    others = c.recommended.iloc[1:]
    if len(others):
        first = others.iloc[0]
        verdict.append(say("choose.language", language=first["language"], judges=first["judges"], more=len(others) - 1))
    findings = tuple(ranked(_copies(c)))
    return Report(
        **frame_of("choose", c, panel),
        title=say("choose.title"),
        verdict=tuple(verdict),
        picture=(_best(c),),
        beside=(_frontier_chart(c),),
        findings=findings,
        sections=(_frontier(c), _languages(c), _trust(c)),
    )


def _copies(c: Choice) -> list[Finding]:
    named = c.copies[c.copies["copy"]]
    return [
        find(
            "notice",
            "choose-copies",
            first=r.judge_i,
            second=r.judge_j,
            value=r.correlation,
            low=r.low,
            high=r.high,
            family=r.family,
        )
        for r in named.itertuples()
    ]


def _best(c: Choice) -> Table:
    return Table(name="best", caption=say("choose.best"), frame=c.best[c.best["language"] == ALL], columns=BEST)


def _frontier_chart(c: Choice) -> Chart:
    every = c.subsets[c.subsets["language"] == ALL]
    return Chart(
        name="frontier-chart",
        draw="frontier",
        data=({"subsets": every, "frontier": c.frontier, "kept": c.recommended["judges"].iloc[0]},),
        caption=say("choose.frontier"),
        alt=say("choose.frontier-chart", count=len(every), best=len(c.frontier)),
    )


def _frontier(c: Choice) -> Section:
    columns = (*FRONTIER, *(LABELS if "squared_error" in c.frontier else ()))
    if (c.frontier["cost"] % 1 == 0).all():  # without prices the cost is a number of scores
        columns = tuple(replace(x, kind="count") if x.name == "cost" else x for x in columns)
    table = Table(name="frontier", caption=say("choose.frontier"), frame=c.frontier, columns=columns)
    says = (say("choose.searched", all=c.exhaustive),)
    return Section(name="frontier", title="Cost against error", says=says, blocks=(table,))


def _languages(c: Choice) -> Section:
    single = c.subsets[(c.subsets["size"] == 1) & (c.subsets["language"] != ALL)].rename(columns={"judges": "judge"})
    blocks: list[Block] = [_heatmap(single, "single", "Agreement of each judge with the others", 1.0)]
    if single["cost"].nunique() > 1 and (single["cost"] > 0).all():
        value = single[["reliability", "low", "high"]].div(single["cost"], axis=0)
        relative = single.assign(**value / value["reliability"].max())
        blocks.append(_heatmap(relative, "per-cost", "Agreement for each unit of cost, 1 is the best", 100.0))
    by = c.best[c.best["language"] != ALL]
    blocks.append(
        Table(name="best-by-language", caption=say("choose.best-language"), frame=by, columns=(LANGUAGE, *BEST))
    )
    return Section(name="languages", title="By language", blocks=tuple(blocks))


def _heatmap(cells: pd.DataFrame, name: str, title: str, percent: float) -> Chart:
    shown = cells.assign(verdict="")
    share: dict[str, Any] = {"kind": "ratio", "digits": 2} if percent == 1 else {"kind": "percent", "digits": 0}
    return Chart(
        name=name,
        draw="signal_heatmap",
        data=({"cells": shown, "least": 0.0, "title": title, "note": "by language"},),
        caption=say(f"choose.{name}"),
        alt=say("choose.heatmap-alt", low=cells["reliability"].min(), high=cells["reliability"].max()),
        instead=Grid(name=name, caption=say(f"choose.{name}"), values=percent * pivot(cells, "reliability"), **share),
    )


def _trust(c: Choice) -> Section:
    says: list[Say] = [say("choose.scope", systems=c.systems, level=c.level)]
    blocks: list[Block] = [Table(name="copies", caption=say("choose.copies"), frame=c.copies, columns=COPIES)]
    if c.copies["correlation"].isna().all():
        says.append(say("choose.few-for-copies"))
        blocks = []
    for kind, frame in c.weighting.groupby("kind", sort=False):
        caption = say("choose.weights", kind=kind)
        name = f"weights-{kind}"
        blocks.append(Table(name=name, caption=caption, frame=frame, columns=(*WEIGHT, WEIGHTS[str(kind)])))
    if c.weighting.empty:
        says.append(say("choose.equal"))
    return Section(name="trust", title="Copies and weights", says=tuple(says), blocks=tuple(blocks))


def _swap(s: Swap, panel: Panel | None) -> Report:
    worst = s.changes.iloc[int(s.changes["change"].abs().to_numpy().argmax())]
    severity = {"accepted": "info", "refused": "serious", "open": "warning"}[s.answer]
    answer = find(
        severity,  # type: ignore[arg-type]
        f"swap.{s.answer}",
        out=s.out,
        into=s.into,
        matters=s.matters,
        tasks=s.tasks,
        needed=s.needed,
        change=worst["change"],
        low=worst["low"],
        high=worst["high"],
        kind=worst["kind"],
        language=worst["language"],
        first=worst["first"],
        second=worst["second"],
    )
    ordered = s.changes.reindex(s.changes["change"].abs().sort_values(ascending=False, kind="stable").index)
    caption = say("swap.changes", share=s.share, level=2 * s.level - 1)
    return Report(
        **frame_of("swap", s, panel),
        title=say("swap.title", out=s.out, into=s.into),
        verdict=(answer, say("swap.scope", share=s.share)),
        findings=(answer,),
        sections=(
            Section(
                name="changes",
                title="What would change",
                blocks=(Table(name="changes", caption=caption, frame=ordered, columns=CHANGES),),
            ),
        ),
    )
