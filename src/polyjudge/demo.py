"""The demo: an audit of a panel whose truth is known, and how close the estimates came."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from polyjudge.answers.audit.audit import Audit, audit
from polyjudge.base.files import check_new, write_text
from polyjudge.base.numbers import points
from polyjudge.base.text import shell, tell
from polyjudge.report.model import Finding, Report, Result, Section, Step, Table
from polyjudge.simulate import sample, sample_frame, sample_labels, sample_next_week, sample_panel


@dataclass(frozen=True, repr=False)
class Demo(Result):
    """truth : what (off or system), language, judge, system, planted, estimated, low, high, held"""

    truth: pd.DataFrame
    findings: tuple[Finding, ...]
    audit_: Audit

    def report(self) -> Report:
        """The report of the audit, with how close it came to the planted truth."""
        report = self.audit_.report()
        table = Table(
            "truth",
            "Planted truth and estimates",
            self.truth,
            {"what": "text", "language": "name", "judge": "name", "system": "name", "planted": "+points",
             "estimated": "+points low high", "held": "yes"},
            titles={"held": "interval holds it"},
        )  # fmt: skip
        section = Section(
            "truth", "How close the estimates came to the planted truth", (self.findings[-1].text,), (table,)
        )
        return replace(
            report,
            command="demo",
            title="polyjudge demo",
            next=(Step("polyjudge demo --write scores.csv", "write these scores to a file"), *report.next),
            findings=self.findings,
            sections=(*report.sections, section),
        )


def demo(*, write: Path | None = None, files: Path | None = None, overwrite: bool = False) -> Demo | None:
    """Audit a panel whose truth is known, or write it to a file.

    The panel is made up: 60 tasks, 4 systems, 6 languages and 5 judges, and what is wrong with it is planted. The
    screen ends with how close the estimates came.

    write : write the panel to this CSV file instead of auditing it
    files : write the panel, people's labels of some answers and next week's scores to this folder
    overwrite : replace files that are already there

    Examples:
        polyjudge demo
        polyjudge demo --write scores.csv
        polyjudge demo --files sample
        polyjudge demo -o demo/
    """
    if write is not None:
        _write_tables({write: sample_frame()}, overwrite)
        tell(f"wrote {shell(write)}. Now: polyjudge audit {shell(write)}")
        return None
    if files is not None:
        scores, labels, next_week = (files / name for name in ("scores.csv", "labels.csv", "next_week.csv"))
        _write_tables({scores: sample_frame(), labels: sample_labels(), next_week: sample_next_week()}, overwrite)
        tell(f"wrote scores.csv, labels.csv and next_week.csv to {shell(files)}. Now: polyjudge audit {shell(scores)}")
        return None
    result = audit(sample_panel())
    truth = _truth(result)
    held, number = int(truth["held"].sum()), len(truth)
    intervals = f"all {number}" if held == number else f"{held} of the {number}"
    worst = (truth["estimated"] - truth["planted"]).abs().max()
    said = Finding(
        "info",
        "demo.truth",
        f"The scores are made up, so the truth is known: the estimates are within {points(worst, worst)} points of "
        f"what was planted, and {intervals} intervals (of systems and of what is off) hold it.",
        topic="Truth",
        head=f"{held} of {number} intervals hold it",
    )
    return Demo(truth, (*result.findings, said), result)


def _write_tables(tables: dict[Path, pd.DataFrame], overwrite: bool) -> None:
    """Write tables as CSV; none of them where one would replace a file."""
    for path in tables:
        check_new(path, overwrite)
    for path, table in tables.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, table.to_csv(index=False, lineterminator="\n"))


def _truth(result: Audit) -> pd.DataFrame:
    """Planted and estimated, for every cell and for every system's distance to the leader."""
    planted = sample()
    off = result.off.reset_index(drop=True)
    at = (
        [planted.panel.languages.index(x) for x in off["language"]],
        [planted.panel.judges.index(x) for x in off["judge"]],
    )
    cells = pd.DataFrame({
        "what": "off", "language": off["language"], "judge": off["judge"], "system": "", "planted": planted.off[at],
        "estimated": off["off"], "low": off["all_low"], "high": off["all_high"],
    })  # fmt: skip
    board = result.systems[result.systems["language"] == "all"].reset_index(drop=True)
    quality = dict(zip(planted.panel.systems, planted.systems - planted.systems.max(), strict=True))
    systems = pd.DataFrame({
        "what": "system behind the leader", "language": "", "judge": "", "system": board["system"],
        "planted": board["system"].map(quality), "estimated": board["behind_leader"], "low": board["low"],
        "high": board["high"],
    })[1:]  # fmt: skip
    both = pd.concat([systems, cells], ignore_index=True)
    both["held"] = (both["low"] <= both["planted"]) & (both["planted"] <= both["high"])
    return both.loc[np.argsort(-both["planted"].abs().round(9), kind="stable")].reset_index(drop=True)
