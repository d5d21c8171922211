"""What is said of several criteria of one panel."""

from __future__ import annotations

import pandas as pd

from polyjudge.panel.labels import short
from polyjudge.panel.numbers import points
from polyjudge.panel.panel import Panel
from polyjudge.panel.say import Words, say
from polyjudge.questions.audit.audit import Inside
from polyjudge.questions.audit.by_criterion import Criteria
from polyjudge.questions.systems import view as systems
from polyjudge.report.build import fields, frame_of, table
from polyjudge.report.result import report_of
from polyjudge.report.sections import Block, Report, Section, Step

FIRST = "criterion:text | may be best = first:text"
FEW = f"{FIRST} | agreement/low/high:ratio.2"
BRIEF = f"{FEW} | furthest off = cell:text"
ROWS = (
    f"{FEW} | judge | in = language:label | off by = excess/_low/_high:+points | gaps change by at most = delta:points"
)
NARROW = (16, 10, 13, 8)
"""Characters of the names of a criterion, system, judge and language on the first screen: each row is one line."""
ALIKE = "criterion = criterion_a:label | and = criterion_b:label | correlation/low/high:ratio.2 | the same = alike:yes"


def build_criteria(result: Criteria, panel: Panel | None = None) -> Report:
    """A row for each criterion: who wins, whether judges agree, what is off; which say the same; then each in short."""
    frame = frame_of("audit", result, panel)
    names = list(result.audits)
    each = {name: report_of(one) for name, one in result.audits.items()}
    first = each[names[0]]
    frame["read"] = (say("criteria.read", criteria=len(names), first=names[0]), *(first.read if first else ()))
    crossed = bool(result.table["delta"].notna().any())
    head = BRIEF if crossed else FEW if result.table["agreement"].notna().any() else FIRST
    rows = table("criteria", say("criteria.rows", level=result.level, cells=crossed), _brief(result), head)
    whole = table("criteria-all", say("criteria.rows", level=result.level, cells=False), result.table, ROWS)
    same = table("alike", say("criteria.alike", level=result.level), result.same, ALIKE)
    blocks: tuple[Block, ...] = (same,)
    if result.mean is not None:
        blocks = (*blocks, systems.board(result.mean))
    return Report(
        **frame,
        title=say("criteria.title", criteria=len(names), judges=len(panel.judges) if panel is not None else None),
        verdict=tuple(_said(result)),
        picture=(rows,),
        next=_criteria_steps(result),
        findings=tuple(result.findings),
        brief=True,
        sections=(
            *((Section(name="criteria", title="Each criterion", blocks=(whole,)),) if crossed else ()),
            Section(name="alike", title="Do the criteria say the same?", says=(say("criteria.how"),), blocks=blocks),
            *(_one(name, one) for name, one in each.items() if one is not None),
        ),
    )


def _tops(result: Criteria) -> dict[str, list[str]]:
    """By criterion the systems that may be best."""
    return {name: a.systems.leaderboard.top_set() for name, a in result.audits.items() if a.systems is not None}


def _brief(result: Criteria) -> pd.DataFrame:
    """The table of criteria with short names, and the cell that is furthest off in one column."""
    t, tops = result.table, _tops(result)
    columns = (t["criterion"], (x for top in tops.values() for x in top), t["judge"].dropna(), t["language"].dropna())
    criterion, system, judge, language = (short(x, width) for x, width in zip(columns, NARROW, strict=True))

    def first(name: str) -> str:
        top = [system[x] for x in tops.get(name, [])]
        return all_of if len(all_of := ", ".join(top)) < 20 else f"{top[0]} + {len(top) - 1} more"

    def cell(row: pd.Series) -> str | None:
        if pd.isna(row["excess"]):
            return None
        return f"{judge[row['judge']]}, {language[row['language']]}: {points(row['excess'], sign=True)}"

    return t.assign(
        criterion=t["criterion"].map(criterion), first=t["criterion"].map(first), cell=t.apply(cell, axis=1)
    )


def _said(result: Criteria) -> list[Words]:
    t = result.table
    out: list[Words] = []
    wins: dict[frozenset[str], tuple[list[str], list[str]]] = {}
    for name, top in _tops(result).items():
        wins.setdefault(frozenset(top), (top, []))[1].append(name)
    if wins:
        mean = None if result.mean is None else result.mean.top_set()
        out.append(say("criteria.wins", wins=list(wins.values()), mean=mean))
    alone = [a for a in result.audits.values() if isinstance(a, Inside) and len(a.summary.judges) == 1]
    if alone:
        out.append(alone[0].left_out["languages"])
    else:
        known = t[t["agreement"].notna()]
        values = {}
        if len(known):
            least = known.iloc[int(known["agreement"].astype(float).argmin())]
            values = fields(least, "criterion", "agreement", "low", "high")
        # Two judges, or those of one maker, agree as well; what that is worth the last sentence says.
        alike = {name for name, a in result.audits.items() if a.signal and a.signal.why in ("two judges", "one maker")}
        unsure = [x for x in t.loc[t["verdict"] != "agree", "criterion"] if x not in alike]
        out.append(say("criteria.agreement", unsure=unsure, known=len(known) > 0, **values))
    off = t[t["excess"].notna()]
    if len(off):
        worst = _furthest(off, "excess")
        place = fields(worst, "criterion", "judge", "language", "excess", "excess_low", "excess_high")
        out.append(say("criteria.off", count=len(off), criteria=len(t), **place))
    elif t["delta"].notna().any():
        out.append(say("criteria.calm", **fields(_furthest(t[t["delta"].notna()], "delta"), "criterion", "delta")))
    twins = result.same[result.same["alike"]]
    if len(twins):
        pair = fields(twins.iloc[0], "criterion_a", "criterion_b", "correlation", "low", "high")
        out.append(say("criteria.same", count=len(twins), **pair))
    return [*out, say("verdict.shared")]


def _furthest(rows: pd.DataFrame, column: str) -> pd.Series:
    """The row farthest from 0 in a column."""
    return rows.iloc[int(rows[column].astype(float).abs().argmax())]


def _one(name: str, report: Report) -> Section:
    """One criterion in short: its own verdict and picture."""
    blocks = tuple(b for b in report.picture if not hasattr(b, "draw"))
    return Section(
        name=f"criterion-{name}", title=say("criteria.one", criterion=name), says=report.verdict, blocks=blocks
    )


def _criteria_steps(result: Criteria) -> tuple[Step, ...]:
    one = next(iter(result.audits.values()))
    source = one.summary.source or "SCORES"
    most = max(result.audits.values(), key=lambda a: a.labels or 0)
    enough = f" -n {most.labels}" if most.labels else ""
    return (Step(why=say("step.labels", labels=most.labels), command=f"polyjudge label make {source}{enough}"),)
