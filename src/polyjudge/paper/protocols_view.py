"""What the paper's other protocols say: newcomers, decisions, ablations."""

from __future__ import annotations

from typing import Any

from polyjudge.panel.panel import Panel
from polyjudge.panel.say import Words, say, word
from polyjudge.paper.ablations import Ablation
from polyjudge.paper.top_judge import Decisions
from polyjudge.paper.unseen import Unseen
from polyjudge.report.build import chart, column, fields, frame_of, notes, table
from polyjudge.report.sections import Report, Section


def build(result: Any, panel: Panel | None = None) -> Report:
    """The report of any protocol."""
    title, verdict, sections = PARTS[type(result).__name__](result)
    return Report(**frame_of("compare", result, panel), title=title, verdict=verdict, sections=sections)


Parts = tuple[Words, tuple[Words, ...], tuple[Section, ...]]
"""Title, verdict and sections."""


def _unseen(u: Unseen) -> Parts:
    o = u.overall
    values = {f"zero{end}": o[f"zero_shot{end}"] for end in ("", "_low", "_high")}
    values |= {f"raw{end}": o[f"raw{end}"] for end in ("", "_low", "_high")}
    verdict: list[Words] = [say("unseen.verdict", what=u.what, **values)]
    if u.enough is not None:
        verdict.append(say("unseen.enough", enough=u.enough, full=u.full))
    head = f"{u.what} | tau, raw = raw/_low/_high:ratio | tau, no task scored = zero_shot/_low/_high:ratio"
    each = table("compare", "Agreement with the others on left-out tasks", u.table, head)
    says: tuple[Words, ...] = (u.identity, *((say("unseen.judge"),) if u.what == "judge" else ()), *notes(u.notes))
    title = f"Each {u.what} as a newcomer"
    sections = [Section(name="newcomer", title=title, says=says, blocks=(each,), folded=False)]
    if len(u.curve) > 1:
        sections.append(_curve(u))
    return say("unseen.title", what=u.what), tuple(verdict), tuple(sections)


def _curve(u: Unseen) -> Section:
    head = "scored tasks = shots:count | tau/low/high:ratio | share of the gain of all tasks = share:share"
    if "consistency" in u.curve:
        head += " | consistency/_low/_high:ratio"
    first, last = u.curve.iloc[0], u.curve.iloc[-1]
    values = {"first": first["tau"], "few": int(first["shots"]), "last": last["tau"], "many": int(last["shots"])}
    caption, alt = "Agreement by number of scored tasks", say("unseen.curve-chart", **values)
    instead = table("curve", caption, u.curve, head)
    line = chart("few-shot", "few_shot_curve", f"{caption}.", alt, instead, **fields(u, "curve", "what", "full"))
    return Section(name="curve", title="With some of its tasks scored", blocks=(line,), folded=False)


def _decisions(d: Decisions) -> Parts:
    best = d.table.sort_values("accuracy", ascending=False).iloc[0]
    values = {"accuracy": best["accuracy"], "low": best["accuracy_low"], "high": best["accuracy_high"]}
    verdict = (
        say("decisions.verdict", method=best["method"], decisions=d.decisions, **values),
        d.target,
    )
    met = (
        "chosen by = method | meets the target = accuracy/_low/_high:share | regret, points = regret/_low/_high:points"
    )
    caption = "Decisions on left-out tasks"
    every = chart(
        "decisions-chart",
        "intervals",
        f"{caption}.",
        say("decisions.chart", method=best["method"], **values),
        table("compare", caption, d.table, met),
        frame=d.table,
        label="method",
        value="accuracy",
        low="accuracy_low",
        high="accuracy_high",
        title=caption,
        unit="share that meets the target",
        zero=None,
    )
    head = (
        "chosen by = method | language | meets the target = accuracy:share | regret, points = regret:points "
        "| chosen most often = chosen:judge | in = chosen_share:share"
    )
    each = table("languages", "Decisions by language", d.languages, head)
    how = (say("decisions.interval"),)
    sections = (
        Section(name="decisions", title="All languages", says=how, blocks=(every,), folded=False),
        Section(name="languages", title="By language", blocks=(each,)),
    )
    return say("decisions.title"), verdict, sections


def _ablation(a: Ablation) -> Parts:
    title = say("ablation.title", by=a.by)
    first = [c for c in ("judges", "subsets", "group", "tasks") if c in a.table]
    columns = [
        *(column(f"{c}:{'label' if c == 'group' else 'count'}") for c in first),
        column("tau, raw = raw/_low/_high:ratio"),
        column("tau, calibrated = tau/low/high:ratio"),
        column("sd:ratio"),
        column("gain, points squared = gain/_low/_high:+points"),
        column("mean error of the interaction = error/_low/_high:points"),
        column("bound:points"),
    ]
    by_size = chart(
        "ablation",
        "intervals",
        f"{word(title)}.",
        say("ablation.chart", what=first[0]),
        table("compare", title, a.table, *(c for c in columns if c.name in a.table)),
        frame=a.table.assign(name=[str(x) for x in a.table[first[0]]]),
        label="name",
        value="tau",
        unit="mean tau",
        title=f"{word(title)}: agreement on left-out tasks",
    )
    last = a.table.iloc[-1]
    values = fields(last, "tau", "low", "high", "gain", "gain_low", "gain_high")
    verdict = (say("ablation.verdict", what=first[0], size=last[first[0]], **values),)
    says: tuple[Words, ...] = (*((a.identity,) if a.identity else ()), a.scope, *notes(a.notes))
    section = Section(name="ablation-section", title=title, says=says, blocks=(by_size,), folded=False)
    return title, verdict, (section,)


PARTS: dict[str, Any] = {"Unseen": _unseen, "Decisions": _decisions, "Ablation": _ablation}
