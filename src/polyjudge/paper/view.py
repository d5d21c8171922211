"""What a reproduction says (verdicts, what differs, what does not hold) and what a report of any panel does."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pandas as pd

from polyjudge.panel.panel import Panel
from polyjudge.panel.say import Words, say, word
from polyjudge.paper import printed as tables
from polyjudge.paper.ablations import Ablation
from polyjudge.paper.any_panel import PaperReport
from polyjudge.paper.ledger import COMPUTED, VERDICTS, Reproduction
from polyjudge.paper.top_judge import Decisions
from polyjudge.paper.unseen import Unseen
from polyjudge.report.build import chart, column, fields, frame_of, notes, table
from polyjudge.report.schema import envelope
from polyjudge.report.sections import Column, Report, Section, Step, Table, find

BENCHMARKS = {"devai": "DevAI", "mrewardbench": "M-RewardBench"}


def build(result: Reproduction, panel: Panel | None = None) -> Report:
    """Counts first, then what differs, what does not hold, the tables, and every row."""
    ledger = result.ledger
    rows, counts = ledger.rows, ledger.counts
    differs = counts["differs"]
    verdict = [say("paper.count", rows=len(rows), computed=sum(counts[v] for v in COMPUTED), **_plain(counts))]
    if result.labels is not None:
        check = result.labels
        cells = check.helped + check.hurt + check.unclear
        verdict.append(say("paper.labels", helped=check.helped, hurt=check.hurt, cells=cells, **check.panel))
    frame = pd.DataFrame([(v, counts[v], m) for v, m in VERDICTS.items()], columns=["verdict", "values", "meaning"])
    title = BENCHMARKS[ledger.benchmark]
    step = Step(
        why="Every row, the tables and the figures as files",
        command=f"polyjudge paper reproduce {ledger.benchmark} -o DIR",
    )
    return Report(
        command="paper-reproduce",
        title=f"{title}: the paper, number by number",
        read=(say("paper.read", title=title, rows=len(rows)),),
        verdict=tuple(verdict),
        picture=(_table("verdicts", "Verdicts", frame, {"values": "count"}),),
        findings=(find("serious", "paper.differs", count=differs),) if differs else (),
        next=(step,),
        sections=tuple(_sections(result)),
        payload=lambda: envelope("paper-reproduce", result.to_dict()),
    )


def build_report(result: PaperReport, panel: Panel | None = None) -> Report:
    """The paper's tables of any panel."""
    n, k, m = result.shape
    step = Step(
        why="The tables as LaTeX, Markdown and CSV, and the figures", command="polyjudge paper report SCORES -o DIR"
    )
    return Report(
        command="paper-report",
        title="As the paper would report it",
        read=(say("paper.report", tasks=n, languages=k, judges=m),),
        verdict=(say("held-out.consistency"),),
        next=(step,),
        sections=(
            *(_table_section(table) for table in result.tables),
            *((Section(name="notes", title="Left out", says=result.notes, folded=False),) if result.notes else ()),
        ),
        payload=lambda: envelope("paper-report", result.to_dict()),
    )


def _table_section(table: tables.Table, folded: bool = False) -> Section:
    blocks = (_table(table.name, table.title, table.frame.map(_whole)),)
    return Section(
        name=table.name, title=table.title, says=(table.note,) if table.note else (), blocks=blocks, folded=folded
    )


def _sections(result: Reproduction) -> list[Section]:
    rows = result.ledger.rows
    out = []
    if len(result.ledger.differs):
        names = ["number", "place", "printed", "computed", "difference", "tolerance", "reading"]
        block = _table("differs", "Values that differ", result.ledger.differs[names])
        out.append(Section(name="differs", title="These values differ", blocks=(block,), folded=False))
    lacking = rows[rows["verdict"] == "needs data"]
    if len(lacking):
        says = tuple(
            say("paper.needs", count=len(g), places=", ".join(g["place"].unique()), reading=reading)
            for reading, g in lacking.groupby("reading", sort=False)
        )
        out.append(Section(name="needs", title="What needs data that is not here", says=says, folded=False))
    wrong = tuple(say("paper.correction", **asdict(c)) for c in result.corrections)
    title = "What does not hold, what is arithmetic, and what can be said instead"
    out.append(Section(name="corrections", title=title, says=wrong, folded=False))
    out.append(Section(name="notes", title="Notes", says=result.notes, folded=False))
    out += [_table_section(table, table.name != "human_anchor") for table in result.tables]
    names = ["place", "number", "printed", "computed", "verdict", "corrected"]
    out.append(Section(name="ledger", title="The ledger", blocks=(_table("ledger", "Every row", rows[names]),)))
    return out


def _table(name: str, caption: str, frame: pd.DataFrame, kinds: dict[str, Any] | None = None) -> Table:
    kinds = kinds or {}
    shown = frame.assign(**{c: [_value(x) for x in frame[c]] for c in frame.columns if c not in kinds})
    columns = tuple(Column(name=c, title=c.replace("_", " "), kind=kinds.get(c, "text")) for c in frame.columns)
    return Table(name=name, caption=caption, frame=shown, columns=columns, most=len(frame))


def _value(value: Any) -> str:
    return tables.shown(value) if not isinstance(value, float) or pd.isna(value) else f"{value:.6g}"


def _whole(value: Any) -> Any:
    return float(f"{value:.4g}") if isinstance(value, float) else value


def _plain(counts: dict[Any, int]) -> dict[str, int]:
    return {str(k).replace(" ", "_"): v for k, v in counts.items()}


# --- the paper's other protocols: newcomers, decisions, ablations ---


def build_protocol(result: Any, panel: Panel | None = None) -> Report:
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
    verdict = (say("decisions.verdict", method=best["method"], decisions=d.decisions, **values), d.target)
    head = "chosen by = method | meets the target = accuracy/_low/_high:share"
    caption = "Decisions on left-out tasks"
    instead = table("compare", caption, d.table, f"{head} | regret, points = regret/_low/_high:points")
    shown = {"frame": d.table, "label": "method", "title": caption, "unit": "share that meets the target"}
    shown |= {"value": "accuracy", "low": "accuracy_low", "high": "accuracy_high", "zero": None}
    alt = say("decisions.chart", method=best["method"], **values)
    every = chart("decisions-chart", "intervals", f"{caption}.", alt, instead, **shown)
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
    instead = table("compare", title, a.table, *(c for c in columns if c.name in a.table))
    frame = a.table.assign(name=[str(x) for x in a.table[first[0]]])
    shown = {
        "label": "name",
        "value": "tau",
        "unit": "mean tau",
        "title": f"{word(title)}: agreement on left-out tasks",
    }
    alt = say("ablation.chart", what=first[0])
    by_size = chart("ablation", "intervals", f"{word(title)}.", alt, instead, frame=frame, **shown)
    last = a.table.iloc[-1]
    values = fields(last, "tau", "low", "high", "gain", "gain_low", "gain_high")
    verdict = (say("ablation.verdict", what=first[0], size=last[first[0]], **values),)
    says: tuple[Words, ...] = (*((a.identity,) if a.identity else ()), a.scope, *notes(a.notes))
    section = Section(name="ablation-section", title=title, says=says, blocks=(by_size,), folded=False)
    return title, verdict, (section,)


PARTS: dict[str, Any] = {"Unseen": _unseen, "Decisions": _decisions, "Ablation": _ablation}

VIEWS = {
    "Reproduction": build,
    "PaperReport": build_report,
    **dict.fromkeys(PARTS, build_protocol),
}
