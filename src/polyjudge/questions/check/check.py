"""What a source holds and how it was understood: coverage, scale, doubts. Nothing is estimated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from polyjudge.estimate.identify import settle_incomplete
from polyjudge.panel.contents import about
from polyjudge.panel.errors import PanelError
from polyjudge.panel.panel import Panel
from polyjudge.panel.reading import Reading
from polyjudge.panel.records import long_table
from polyjudge.panel.say import Words, say
from polyjudge.read.formats import TABLES, readers
from polyjudge.report.result import Result
from polyjudge.report.sections import Finding


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Check(Result):
    """How scores were read, and what they cover. Without a panel there are questions to answer first."""

    reading: Reading
    readable: bool
    tasks: int = 0
    systems: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    replicates: tuple[str, ...] = ()
    scores: int = 0
    missing: int = 0
    """Entries (task, language, judge) without a score."""
    entries: int = 0
    low: float = float("nan")
    high: float = float("nan")
    scale: str = ""
    """"binary", "likert", "percent" or "open"."""
    coverage: pd.DataFrame
    """language, judge, tasks, scored, share"""
    answers: pd.DataFrame
    """command, able, why (not, or what is left out)"""
    notes: tuple[Words, ...] = ()
    fingerprint: str = ""
    findings: list[Finding]

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "reading": self.reading.to_dict()}

    def to_frame(self) -> pd.DataFrame:
        """The roles: role, column, how, labels, distinct."""
        rows = [(r.role, r.column, r.how, ", ".join(r.labels), r.distinct) for r in self.reading.roles]
        return pd.DataFrame(rows, columns=["role", "column", "how", "labels", "distinct"])


def check_panel(panel: Panel) -> Check:
    """What a panel that was read covers."""
    reading = panel.reading or Reading(source="", format="array")
    scored = (~np.isnan(panel.scores)).sum(axis=0)
    n = len(panel.tasks)
    cells = {"language": panel.languages, "judge": panel.judges}
    coverage = long_table(cells, tasks=n, scored=scored, share=scored / n)
    able = answers(panel)
    findings = [Finding(d.code, d.values, "notice") for d in reading.doubts]
    lacking = able[~able["able"] & (able["command"] != "systems")]
    if len(lacking):
        few = [axis for axis in ("judge", "language") if len(getattr(panel, f"{axis}s")) < 2]
        values = {"commands": list(lacking["command"]), "why": lacking["why"].iloc[0], "few": few}
        inside = bool(able["able"].iloc[0])  # audit answers what it can
        findings.insert(0, Finding("check.unable", values, "notice" if inside else "serious"))
    return Check(reading=reading, readable=True, coverage=coverage, answers=able, findings=findings, **about(panel))


CROSSED = ("audit", "compare", "calibrate", "judges", "drift")
"""Commands that need languages and judges joined by tasks."""


def answers(panel: Panel) -> pd.DataFrame:
    """What each command will be able to answer: the same that it asks for itself."""
    rows: list[tuple[str, bool, str]] = []
    try:
        part = settle_incomplete(panel)
        gone = [x for axis in ("languages", "judges") for x in getattr(panel, axis) if x not in getattr(part, axis)]
        rows += [(c, True, str(say("check.without", labels=gone)) if gone else "") for c in CROSSED]
    except PanelError as error:
        inside = panel.apart or min(panel.shape[1:]) < 2  # what stays inside a language, or is asked of one judge
        able = {"audit": inside, "drift": inside, "judges": inside and len(panel.judges) > 1}
        rows += [(c, able.get(c, False), str(say("check.inside") if able.get(c) else error)) for c in CROSSED]
    rows.append(("systems", bool(panel.systems), "" if panel.systems else str(say("check.no_systems"))))
    return pd.DataFrame(rows, columns=["command", "able", "why"])


def check_reading(reading: Reading) -> Check:
    """A source that cannot be read before questions are answered."""
    asked = [Finding(q.code, q.values, "serious") for q in reading.questions]
    doubts = [Finding(d.code, d.values, "notice") for d in reading.doubts]
    empty = pd.DataFrame(columns=["language", "judge", "tasks", "scored", "share"])
    none = pd.DataFrame(columns=["command", "able", "why"])
    return Check(reading=reading, readable=False, coverage=empty, answers=none, findings=[*asked, *doubts])


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Formats(Result):
    """The formats that are read."""

    tools: pd.DataFrame
    """name, title, files, reads, needs, of eval tools"""
    tables: pd.DataFrame
    """name, holds"""

    @staticmethod
    def known() -> Formats:
        """Those that there are."""
        columns = ["name", "title", "files", "reads", "needs"]
        tools = pd.DataFrame([[getattr(t, c) for c in columns] for t in readers().values()], columns=columns)
        return Formats(tools=tools, tables=pd.DataFrame(TABLES.items(), columns=["name", "holds"]))

    def to_frame(self) -> pd.DataFrame:
        """The tools: name, title, files, reads, needs."""
        return self.tools
