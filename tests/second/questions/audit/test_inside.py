"""Audits of one language, of one judge, and of languages that share no tasks: what stays inside a language."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.report import report_of, terminal


def frame(kind: str) -> pd.DataFrame:
    table = pj.simulate_panel(30, 3, 3, systems=4, seed=1)[0].to_long()
    if kind == "language":
        return table[table["language"] == "language1"]
    if kind == "judge":
        return table[table["judge"] == "judge1"]
    table = table.assign(task=table["task"] + table["language"])
    if kind == "joined":
        return table
    turn = table["task"].map({t: f"judge{1 + i % 3}" for i, t in enumerate(sorted(set(table["task"])))})
    return table[table["judge"] == turn]


@pytest.mark.parametrize("kind", ["language", "judge", "apart"])
def test_what_stays_inside_a_language_is_audited(kind: str, tmp_path: Path, cli: Callable) -> None:
    audit = pj.audit(frame(kind), resamples=100)
    assert audit.systems is not None
    assert (audit.explanation, audit.uncertainty, audit.certificate) == (None, None, None)
    assert audit.left_out["languages"].values["why"] == kind
    assert "verdict.inside" in [s.code for s in audit.advice.verdict]
    json.dumps(audit.to_dict(), allow_nan=False)
    report = report_of(audit)
    assert report is not None
    assert "nan" not in terminal.text(report, full=True)
    frame(kind).to_csv(tmp_path / "s.csv", index=False)
    done = cli("audit", tmp_path / "s.csv", "--resamples", 100, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert {"report.html", "leaderboard.csv"} <= {p.name for p in (tmp_path / "out").iterdir()}


def test_without_systems_the_tasks_of_one_language_are_judged() -> None:
    panel, _ = pj.simulate_panel(40, 1, 3, seed=1)
    audit = pj.audit(panel, resamples=100)
    assert audit.systems is None
    assert audit.signal is not None
    alone = pj.audit(panel.select(judges=panel.judges[:1]), resamples=100)
    assert alone.advice.verdict
    goal = pj.audit(panel, resamples=100, goal="rank-judges").advice.uses
    assert goal["rank-judges"].code == "use.inside"
