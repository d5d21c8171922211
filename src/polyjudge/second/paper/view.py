"""What a reproduction says (verdicts, what differs, what does not hold) and what a report of any panel does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import pandas as pd

from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import say
from polyjudge.second.paper import printed as tables
from polyjudge.second.paper.ablations import Ablation
from polyjudge.second.paper.any_panel import PaperReport
from polyjudge.second.paper.ledger import COMPUTED, VERDICTS, Reproduction
from polyjudge.second.paper.top_judge import Decisions
from polyjudge.second.paper.unseen import Unseen
from polyjudge.second.report.build import frame_of, notes, table
from polyjudge.second.report.schema import envelope
from polyjudge.second.report.sections import Column, Report, Section, Step, Table, find

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

KINDS = {
    **dict.fromkeys(("raw", "zero_shot", "tau", "sd", "consistency"), "ratio"),
    **dict.fromkeys(("shots", "judges", "subsets", "tasks"), "count"),
    **dict.fromkeys(("share", "accuracy", "chosen_share"), "share"),
    **dict.fromkeys(("regret", "error", "bound", "bound_all_scores"), "points"),
    **dict.fromkeys(("language", "group", "method"), "label"),
    **{"gain": "+points", "chosen": "judge", "judge": "judge"},
}
CAPTIONS = {"Unseen": "Agreement with the others", "Decisions": "Choice of the top judge", "Ablation": "Agreement"}


def build_protocol(result: Unseen | Decisions | Ablation, panel: Panel | None = None) -> Report:
    """The tables of a protocol, under what is arithmetic in it or no truth."""
    name = type(result).__name__
    must = (getattr(result, part, None) for part in ("identity", "target", "scope"))
    frames = {part: frame for part, frame in vars(result).items() if isinstance(frame, pd.DataFrame)}
    return Report(
        **frame_of("compare", result, panel),
        title=say(f"{name.lower()}.title", **{x: getattr(result, x, "") for x in ("what", "by")}),
        verdict=tuple(said for said in must if said is not None) + notes(getattr(result, "notes", ())),
        picture=tuple(table(part, f"{CAPTIONS[name]} on left-out tasks", f, *_heads(f)) for part, f in frames.items()),
    )


def _heads(frame: pd.DataFrame) -> Iterator[str]:
    """The columns, each with its interval where it has one."""
    for name in frame.columns:
        if not name.endswith(("low", "high")):
            own = "/_low/_high" if f"{name}_low" in frame else "/low/high" if name == "tau" else ""
            yield f"{name.replace('_', ' ')} = {name}{own}:{KINDS[name]}"


VIEWS = {
    "Reproduction": build,
    "PaperReport": build_report,
    **dict.fromkeys(CAPTIONS, build_protocol),
}
