"""What a collection run holds, and what a plan of one would do."""

from __future__ import annotations

from typing import Any

import pandas as pd

from polyjudge.second.collect.preview import FirstCalls, Preview
from polyjudge.second.collect.summary import Progress, Summary
from polyjudge.second.panel.labels import clean, shell
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import Words, say
from polyjudge.second.questions.plan.view import questions_section
from polyjudge.second.report.build import fields, table
from polyjudge.second.report.schema import envelope
from polyjudge.second.report.sections import Report, Section, Step, Table

LOST = 0.1
"""Share of probe versions that a language may lose without a word."""
UNEVEN = 0.01
"""p-value under which answers are called unevenly lost."""
MOST_OPEN = 5
"""Open questions that are named."""


def _summary(s: Summary, panel: Panel | None = None) -> Report:
    verdict: list[Words] = []
    if s.adaptive is not None:
        verdict.append(_progress(s, s.adaptive))
        if s.adaptive.blind_spot is not None:
            verdict.append(say("replay.blind-spot", **s.adaptive.blind_spot))
        if (parts := int(s.adaptive.answers["part"].max())) > 1:
            verdict.append(say("collect.parts", parts=parts, level=s.adaptive.level))
    elif s.complete:
        calls = int(s.judges["calls"].sum())
        verdict.append(say("collect.complete", calls=calls, missing=s.missing, refused=s.refused))
    else:
        verdict.append(say("collect.left", left=int(s.judges["remaining"].sum()), why=s.stopped))
    verdict += [say("collect.aside", judge=judge, why=why) for judge, why in s.aside.items()]
    verdict += [say("collect.failed", judge=j, count=count) for j, count in s.failed.items() if j not in s.aside]
    if s.dropped:
        verdict.append(say("collect.dropped", count=len(s.dropped)))
    verdict += _notes(s)
    steps, folder = [], shell(s.folder)
    if s.missing:
        steps.append(Step(why=say("collect.retry"), command=f"polyjudge collect PLAN -o {folder} --retry-missing"))
    if s.complete:
        command = f"polyjudge audit {folder}" + (f" --probes {folder}" if s.probes else "")
        steps.append(Step(why=say("collect.next"), command=command))
    answers = [questions_section(s.adaptive.answers, folded=False)] if s.adaptive and s.adaptive.begun else []
    return Report(
        command="collect",
        title=say("collect.title", name=s.name, folder=s.folder),
        verdict=tuple(verdict),
        picture=(_money(s.judges),),
        next=tuple(steps),
        sections=(*answers, *_unreadable(s)),
        payload=lambda: envelope("collect", {**s.to_dict(), "cost": s.cost}),
    )


def _progress(s: Summary, p: Progress) -> Words:
    names = [
        f"{clean(first)} and {clean(second)} in {clean(language)}" if second else f"{clean(first)} in {clean(language)}"
        for language, first, second in p.open[["language", "first", "second"]].head(MOST_OPEN).itertuples(index=False)
    ]
    shown = "; ".join(names) + ("; ..." if len(p.open) > MOST_OPEN else "")
    made = {name: int(s.judges[name].sum()) for name in ("answered", "calls")}
    state = {"look": p.look + 1, "looks": p.looks, "finished": p.finished, "limit": s.stopped == "cost"}
    return say("collect.adaptive", of=len(p.answers), open=len(p.open), names=shown, **made, **state)


def _notes(s: Summary) -> list[Words]:
    out: list[Words] = []
    if s.missing:
        out.append(say("collect.missing", count=s.missing, refused=s.refused))
    if s.limit is not None and s.cost is not None:
        out.append(say("collect.limit", limit=s.limit, cost=s.cost, round=s.round or 0.0))
    out += [say("collect.omitted", judge=judge, what=what) for judge, what in s.omitted.items() if what]
    if not s.complete:
        rows = s.reasons[~s.reasons["judge"].isin(list(s.aside))].itertuples(index=False)
        out += [say("collect.reason", judge=j, kind=k, error=e, count=int(n)) for j, k, e, n in rows]
    if s.batches:
        out.append(say("collect.batches", count=s.batches))
    if len(s.orphans):
        out.append(say("collect.orphans", count=int(s.orphans["answers"].sum())))
    for judge, group in s.models.groupby("judge", sort=False):
        out.append(say("collect.model", judge=judge, names=", ".join(map(clean, group["model"]))))
    estimated = int(s.judges["estimated"].sum())
    if estimated:
        out.append(say("collect.estimated", count=estimated))
    return out


def _unreadable(s: Summary) -> tuple[Section, ...]:
    cells = s.cells[(s.cells["missing"] > 0) | (s.cells["asked_again"] > 0)]
    if cells.empty:
        return ()
    worst = cells.sort_values(["missing_share", "asked_again"], ascending=False, kind="stable")
    says = [
        say("collect.uneven" if p < UNEVEN else "collect.even", what=what, p=p)
        for p, what in ((s.missing_p, "Missing answers"), (s.asked_again_p, "Answers asked again"))
        if p is not None
    ]
    factors = {"group": "group", "task": "task", "length": "length of the prompt", "digits": "numbers in the prompt"}
    says += [
        say("collect.follows", factor=factors[factor], p=p)
        for factor, p, alarm in s.missing_tests.itertuples(index=False)
        if alarm and factor in factors
    ]
    counts = "answers:count | missing:count | lenient:count | asked_again:count"
    head = f"language | judge | {counts} | missing = missing_share:share"
    blocks = (table("unreadable", "By cell, worst first", worst, head),)
    title = "Answers that could not be read"
    return (Section(name="unreadable", title=title, says=tuple(says), blocks=blocks, folded=False),)


def _preview(p: Preview, panel: Panel | None = None) -> Report:
    counts = {"languages": len(p.languages), "judges": len(p.judges)}
    verdict: list[Words] = [say("collect.plan", **counts, **fields(p, "tasks", "items", "calls", "answered"))]
    if p.probes is not None:
        verdict.append(say("collect.probes", **p.probes))
        lost = p.probes["discarded"].items()
        verdict += [say("probe.lost", language=language, share=share) for language, share in lost if share > LOST]
    if p.expected is not None:
        e = p.expected
        verdict.append(say("adaptive.expected", looks=list(e.looks), whole=e.whole, calls=e.calls, money=e.money))
    if p.dropped:
        verdict.append(say("collect.dropped", count=len(p.dropped)))
    if p.unreviewed:
        verdict.append(say("collect.unreviewed", names=", ".join(map(clean, p.unreviewed))))
    if p.one_rubric:
        verdict.append(say("collect.one-rubric", names=", ".join(map(clean, p.one_rubric))))
    verdict += [say("collect.unusable", judge=judge, why=why) for judge, why in p.unusable.items()]
    if p.examples:
        verdict.append(say("collect.examples", count=p.examples))
    judges = p.estimate
    guesses: list[Words] = [say("collect.batch")] if judges["batch"].any() else []
    if judges["cost"].notna().all():
        guesses.append(say("collect.range", low=float(judges["cost_low"].sum()), high=float(judges["cost_high"].sum())))
    prompts = tuple(
        Section(
            name="prompt",
            title=say("collect.prompt", language=row["language"], task=row["task"], part=row["part"] or ""),
            says=tuple(clean(line, 100_000) for line in str(row["prompt"]).splitlines()),
            folded=False,
        )
        for _, row in p.prompts.iterrows()
    )
    title = say("collect.estimate", date=p.price_date)
    estimate = Section(name="estimate", title=title, says=tuple(guesses), folded=False)
    return Report(
        command="collect",
        title=say("collect.plan-title", name=p.name),
        verdict=tuple(verdict),
        picture=(_money(judges.drop(columns=["learnt", "batch"])),),
        next=(Step(why=say("first.offer"), command="polyjudge collect PLAN --check"),),
        sections=(estimate, *prompts),
        payload=lambda: envelope("collect", {"dry_run": True, **p.to_dict()}),
    )


def _money(judges: pd.DataFrame) -> Table:
    total: dict[str, Any] = {c: judges[c].sum() for c in judges.columns if c not in ("judge", "model")}
    total["cost"] = judges["cost"].sum() if judges["cost"].notna().all() else float("nan")
    frame = pd.concat([judges, pd.DataFrame([{"judge": "total", "model": "", **total}])], ignore_index=True)
    frame = frame.drop(columns=[c for c in ("missing", "refused", "estimated") if c in total and not total[c]])
    titles = {"input_tokens": "tokens in = ", "output_tokens": "out = "}
    head = [
        f"{titles.get(c, '')}{c}:{'money' if c.startswith('cost') else 'count'}"
        for c in frame.columns
        if c not in ("judge", "model")
    ]
    return table("judges", "Calls, tokens and cost", frame, "judge", *head)


def _first_calls(f: FirstCalls, panel: Panel | None = None) -> Report:
    """What the first calls found, judge by judge: a problem that all languages share is said once."""
    verdict: list[Words] = [say("first.all", calls=len(f.calls), good=len(f.calls) - len(f.problems))]
    for (judge, problem), rows in f.problems.groupby(["judge", "problem"], sort=False):
        where = [] if len(rows) == (f.calls["judge"] == judge).sum() else list(rows["language"])
        verdict.append(say("first.problem", judge=judge, problem=problem, languages=where, said=rows["said"].iloc[0]))
    verdict += [say("first.note", judge=j, note=n, value=v) for j, n, v in f.notes.itertuples(index=False)]
    if f.one_rubric:
        verdict.append(say("collect.one-rubric", names=", ".join(map(clean, f.one_rubric))))
    columns = "seconds:number.2 | tokens in = input_tokens:count | out = output_tokens:count | cost:money"
    shown = table("calls", "First calls", f.calls, f"judge | language | problem | score:number.2 | {columns}")
    return Report(
        command="collect",
        title=say("first.title", name=f.name),
        verdict=tuple(verdict),
        picture=(shown,),
        payload=lambda: envelope("collect", {"check": True, **f.to_dict()}),
    )


VIEWS = {"Preview": _preview, "Summary": _summary, "FirstCalls": _first_calls}
