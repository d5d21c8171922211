"""What a source holds and how it was understood: coverage, scale, doubts. Nothing is estimated."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from polyjudge.second.estimate.identify import settle_incomplete
from polyjudge.second.panel.arrays import pd
from polyjudge.second.panel.contents import about
from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.reading import Reading
from polyjudge.second.panel.records import long_table, plain
from polyjudge.second.panel.say import Words, say
from polyjudge.second.read.formats import TABLES, readers
from polyjudge.second.report.result import Result
from polyjudge.second.report.sections import Finding


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
    scored: tuple[tuple[int, ...], ...] = ()
    """Tasks with a score, by language and judge."""
    own: tuple[int, ...] = ()
    """Tasks that each language should have."""
    able: tuple[tuple[str, bool, str], ...] = ()
    """The rows of `answers`."""
    notes: tuple[Words, ...] = ()
    fingerprint: str = ""
    findings: list[Finding]

    @cached_property
    def coverage(self) -> pd.DataFrame:
        """language, judge, tasks, scored, share"""
        scored = np.array(self.scored, np.int64).reshape(len(self.languages), len(self.judges))
        axes = {"language": self.languages, "judge": self.judges}
        tasks = np.repeat(np.array(self.own, np.int64)[:, None], scored.shape[1], axis=1)
        return long_table(axes, tasks=tasks, scored=scored, share=scored / np.maximum(tasks, 1))

    @cached_property
    def answers(self) -> pd.DataFrame:
        """command, able, why (not, or what is left out)"""
        return pd.DataFrame(self.able, columns=["command", "able", "why"])

    @property
    def commands(self) -> list[str]:
        """Those that can answer."""
        return [command for command, able, _ in self.able if able]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, the tables as `coverage` and `answers`."""
        own = {name: value for name, value in super().to_dict().items() if name not in ("scored", "own", "able")}
        return {
            **own,
            "reading": self.reading.to_dict(),
            "coverage": plain(self.coverage),
            "answers": plain(self.answers),
        }

    def roles(self) -> dict[str, list[Any]]:
        """The columns of `to_frame`."""
        rows = [(r.role, r.column, r.how, ", ".join(r.labels), r.distinct) for r in self.reading.roles]
        names = ("role", "column", "how", "labels", "distinct")
        return {name: [row[i] for row in rows] for i, name in enumerate(names)}

    def to_frame(self) -> pd.DataFrame:
        """The roles: role, column, how, labels, distinct."""
        return pd.DataFrame(self.roles())


def check_panel(panel: Panel) -> Check:
    """What a panel that was read covers."""
    reading = panel.reading or Reading(source="", format="array")
    scored = tuple(map(tuple, (~np.isnan(panel.scores)).sum(axis=0).tolist()))
    able = tuple(answers(panel))
    findings = [Finding(d.code, d.values, "notice") for d in reading.doubts]
    lacking = {command: why for command, can, why in able if not can and command != "systems"}
    if lacking:
        few = [axis for axis in ("judge", "language") if len(getattr(panel, f"{axis}s")) < 2]
        values = {"commands": list(lacking), "why": next(iter(lacking.values())), "few": few}
        inside = able[0][1]  # audit answers what it can
        findings.insert(0, Finding("check.unable", values, "notice" if inside else "serious"))
    if panel.apart and len(panel.judges) > 1:
        findings.append(Finding("check.apart", {}, "notice"))
    covered: dict[str, Any] = {"scored": scored, "own": tuple(panel.own.sum(axis=0).tolist()), "able": able}
    return Check(reading=reading, readable=True, findings=findings, **covered, **about(panel))


CROSSED = ("audit", "compare", "calibrate", "judges", "drift")
"""Commands that need languages and judges joined by tasks."""


def answers(panel: Panel) -> list[tuple[str, bool, str]]:
    """What each command will be able to answer: the same that it asks for itself."""
    rows: list[tuple[str, bool, str]] = []
    try:
        part = settle_incomplete(panel)
        gone = [x for axis in ("languages", "judges") for x in getattr(panel, axis) if x not in getattr(part, axis)]
        why = {c: say("check.without", labels=gone) for c in CROSSED if gone}
        why |= dict.fromkeys(("audit", "drift", "judges"), say("check.inside")) if gone and panel.apart else {}
        rows += [(c, True, str(why.get(c, ""))) for c in CROSSED]
    except PanelError as error:
        inside = panel.apart or min(panel.shape[1:]) < 2  # what stays inside a language, or is asked of one judge
        able = {"audit": inside, "drift": inside, "judges": inside and len(panel.judges) > 1}
        rows += [(c, able.get(c, False), str(say("check.inside") if able.get(c) else error)) for c in CROSSED]
    rows.append(("systems", bool(panel.systems), "" if panel.systems else str(say("check.no_systems"))))
    return rows


def check_reading(reading: Reading) -> Check:
    """A source that cannot be read before questions are answered."""
    asked = [Finding(q.code, q.values, "serious") for q in reading.questions]
    doubts = [Finding(d.code, d.values, "notice") for d in reading.doubts]
    return Check(reading=reading, readable=False, findings=[*asked, *doubts])


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
