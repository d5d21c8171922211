"""What is said of several criteria of one panel."""

from __future__ import annotations

import pandas as pd

from polyjudge.panel.panel import Panel
from polyjudge.panel.say import Words, say
from polyjudge.questions.audit.audit import Inside
from polyjudge.questions.audit.by_criterion import Criteria
from polyjudge.questions.systems import view as systems
from polyjudge.report.build import fields, frame_of, table
from polyjudge.report.sections import Block, Report, Section, Step

FIRST = "criterion:label | may be best = first:text"
FEW = f"{FIRST} | agreement/low/high:ratio.2"
ROWS = (
    f"{FEW} | judge | in = language:label | off by = excess/_low/_high:+points | gaps change by at most = delta:points"
)
ALIKE = "criterion = criterion_a:label | and = criterion_b:label | correlation/low/high:ratio.2 | the same = alike:yes"


def build_criteria(result: Criteria, panel: Panel | None = None) -> Report:
    """A row for each criterion: who wins, whether judges agree, what is off; which say the same; then each in short."""
    frame = frame_of("audit", result, panel)
    names = list(result.audits)
    head = ROWS if result.table["delta"].notna().any() else FEW if result.table["agreement"].notna().any() else FIRST
    rows = table("criteria", say("criteria.rows", level=result.level), result.table, head)
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
            Section(name="alike", title="Do the criteria say the same?", says=(say("criteria.how"),), blocks=blocks),
            *(_one(name, result) for name in names),
        ),
    )


def _said(result: Criteria) -> list[Words]:
    t = result.table
    out: list[Words] = []
    if t["first"].ne("").any():
        wins = {name: list(rows["criterion"]) for name, rows in t.groupby("first", sort=False)}
        mean = None if result.mean is None else result.mean.top_set()
        out.append(say("criteria.wins", wins=wins, mean=mean))
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


def _one(name: str, result: Criteria) -> Section:
    """One criterion in short: its own verdict and picture."""
    from polyjudge.report import report_of

    report = report_of(result.audits[name])
    assert report is not None
    blocks = tuple(b for b in report.picture if not hasattr(b, "draw"))
    return Section(
        name=f"criterion-{name}", title=say("criteria.one", criterion=name), says=report.verdict, blocks=blocks
    )


def _criteria_steps(result: Criteria) -> tuple[Step, ...]:
    one = next(iter(result.audits.values()))
    source = one.summary.source or "SCORES"
    return (Step(why=say("step.labels"), command=f"polyjudge label make {source} -o labels"),)
