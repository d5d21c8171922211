"""What a source holds and how it was understood: coverage, scale, doubts. Nothing is estimated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from polyjudge.panel.contents import about
from polyjudge.panel.panel import Panel
from polyjudge.panel.reading import Reading
from polyjudge.panel.records import long_table
from polyjudge.panel.say import Words
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
    findings = [Finding(d.code, d.values, "notice") for d in reading.doubts]
    return Check(reading=reading, readable=True, coverage=coverage, findings=findings, **about(panel))


def check_reading(reading: Reading) -> Check:
    """A source that cannot be read before questions are answered."""
    asked = [Finding(q.code, q.values, "serious") for q in reading.questions]
    doubts = [Finding(d.code, d.values, "notice") for d in reading.doubts]
    empty = pd.DataFrame(columns=["language", "judge", "tasks", "scored", "share"])
    return Check(reading=reading, readable=False, coverage=empty, findings=[*asked, *doubts])
