"""What a reproduction says on a screen: verdicts, what differs, what does not hold."""

from __future__ import annotations

from typing import Any

import pandas as pd

from polyjudge.core.schema import envelope
from polyjudge.core.sections import Column, Report, Section, Table
from polyjudge.paper.ledger import VERDICTS
from polyjudge.paper.result import Reproduction
from polyjudge.paper.tables import shown

BENCHMARKS = {"devai": "DevAI", "mrewardbench": "M-RewardBench"}


def build(result: Reproduction) -> Report:
    """The ledger in short."""
    rows = result.ledger.rows
    counts = pd.DataFrame(
        [(v, result.ledger.counts[v], meaning) for v, meaning in VERDICTS.items()],
        columns=["verdict", "values", "meaning"],
    )
    anchors = [t.frame for t in result.tables if t.name == "human_anchor"]
    sections = [
        *_differs(result.ledger.differs),
        *_needs(rows[rows["verdict"] == "needs data"]),
        *(_anchor(frame) for frame in anchors),
        Section(
            name="corrections",
            title="What does not hold, what is arithmetic, and what can be said instead",
            says=tuple(
                f"{c.claim}. published: {c.published} | instead: {c.correct} | why: {c.why}" for c in result.corrections
            ),
            folded=False,
        ),
        Section(name="notes", title="Notes", says=result.notes, folded=False),
    ]
    columns = (
        Column(name="verdict", title="verdict"),
        Column(name="values", title="values", kind="count"),
        Column(name="meaning", title="meaning"),
    )
    return Report(
        command="reproduce",
        title=f"{BENCHMARKS[result.ledger.benchmark]}: {len(rows)} published values",
        picture=(Table(name="verdicts", caption="Verdicts", frame=counts, columns=columns),),
        sections=tuple(sections),
        payload=lambda: envelope("reproduce", result.to_dict()),
    )


def _differs(rows: pd.DataFrame) -> list[Section]:
    if rows.empty:
        return []
    names = ("number", "place", "published", "computed", "difference", "tolerance")
    frame = pd.DataFrame({n: [_value(x) for x in rows[n]] for n in names})
    columns = tuple(Column(name=n, title=n) for n in names)
    table = Table(name="differs", caption="Values that differ", frame=frame, columns=columns)
    return [Section(name="differs", title="These values differ", blocks=(table,), folded=False)]


def _needs(rows: pd.DataFrame) -> list[Section]:
    if rows.empty:
        return []
    groups = rows.groupby("reading", sort=False)
    says = tuple(f"{len(g)} values ({', '.join(g['place'].unique())}): {reading}" for reading, g in groups)
    return [Section(name="needs", title="What needs data that is not here", says=says, folded=False)]


def _anchor(rows: pd.DataFrame) -> Section:
    frame = pd.DataFrame({"language": rows["language"], "sampled": rows["rows"]})
    for name, (a, b) in {
        "as published": ("raw_published", "calibrated_published"),
        "with tolerance": ("raw", "calibrated"),
    }.items():
        frame[name] = [f"{x} to {y}" for x, y in zip(rows[a], rows[b], strict=True)]
    for name, column in {"ties": "ties", "counted by rounding": "counted", "truly changed": "changed"}.items():
        frame[name] = rows[column]
    columns = tuple(Column(name=n, title=n, kind="label" if n == "language" else "text") for n in frame.columns)
    caption = "Decisions that agree with the human preference, before and after calibration"
    table = Table(name="human_anchor", caption=caption, frame=frame, columns=columns)
    return Section(name="anchor", title="Human anchor", blocks=(table,), folded=False)


def _value(value: Any) -> str:
    return shown(value) if not isinstance(value, float) else f"{value:.6g}"
