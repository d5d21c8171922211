"""What goes back out for CI: JUnit XML, Parquet, the GitHub Action run step by step, and two audits compared."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import duckdb
import numpy as np
import pytest
import yaml

import polyjudge as pj
from polyjudge.core.errors import PanelError, UsageError
from polyjudge.samples import sample_csv

ROOT = Path(__file__).parents[2]
SEVERITIES = ("info", "notice", "warning", "serious")


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ci") / "scores.csv"
    path.write_bytes(sample_csv())
    return path


def test_junit_and_parquet(scores: Path, tmp_path: Path, cli: Any) -> None:
    done = cli(
        "audit",
        scores,
        "-o",
        tmp_path / "out",
        "--junit",
        tmp_path / "out.xml",
        "--fail-on",
        "warning",
        "--resamples",
        "100",
    )
    assert done.returncode == 1
    told = json.loads((tmp_path / "out" / "audit.json").read_text())["findings"]
    suite = ET.parse(tmp_path / "out.xml").getroot()
    severe = [f for f in told if SEVERITIES.index(f["severity"]) >= 2]
    assert (int(suite.get("tests", 0)), int(suite.get("failures", 0))) == (len(told), len(severe))
    assert [c.get("name") for c in suite.iter("testcase")] == [f"{f['severity']}: {f['code']}" for f in told]
    assert len(list(suite.iter("failure"))) == len(severe) > 0
    rows = duckdb.sql(f"SELECT count(*), count(low), count(high) FROM '{tmp_path}/out/cells.parquet'").fetchall()
    assert rows == [(48, 48, 48)]


def test_junit_holds_hostile_text() -> None:
    from polyjudge.core.sections import Report, find
    from polyjudge.report.junit import junit

    evil = "]]><script>\x00\ud800&"
    report = Report(command="audit", title="x", findings=(find("serious", "note", text=evil),))
    root = ET.fromstring(junit(report, "info"))
    assert "<script>" in next(root.iter("failure")).get("message", "")


def steps() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    return found


@pytest.mark.parametrize(("fail_on", "code"), [("serious", 1), ("never", 0)])
def test_the_action_step_by_step(scores: Path, tmp_path: Path, fail_on: str, code: int) -> None:
    """As a runner does it, with the program of this checkout in place of the installed one."""
    given = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
    inputs = {k: v.get("default", "") for k, v in given.items()}
    inputs |= {
        "scores": str(scores),
        "fail-on": fail_on,
        "output": "audit",
        "options": "--resamples 100 --judges 'Aster,Cobalt'",
    }
    outputs: dict[str, str] = {}

    def filled(text: str) -> str:
        def value(match: re.Match[str]) -> str:
            kind, _, name = match[1].partition(".")
            return inputs[name] if kind == "inputs" else outputs[name.split(".")[-1]]

        return re.sub(r"\$\{\{ ([\w.-]+) \}\}", value, text)

    program = tmp_path / "temp" / "polyjudge" / "bin" / "polyjudge"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m polyjudge "$@"\n')
    program.chmod(0o755)
    files = {"GITHUB_OUTPUT": tmp_path / "outputs", "GITHUB_STEP_SUMMARY": tmp_path / "summary"}
    env = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "RUNNER_TEMP": str(tmp_path / "temp"),
        **{k: str(v) for k, v in files.items()},
    }
    last = None
    for step in steps():
        if step["name"] in ("Install", "Comment"):
            continue  # the wheel has a test of its own; a comment needs a pull request
        own = {k: filled(v) for k, v in step.get("env", {}).items()}
        last = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", step["run"]],
            cwd=tmp_path,
            env={**env, **own},
            capture_output=True,
            text=True,
        )
        if step["name"] != "Result":
            assert last.returncode == 0, last.stderr
            outputs |= dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines())
    assert last is not None
    assert last.returncode == code
    assert (tmp_path / "summary").read_text() == (tmp_path / "audit" / "summary.md").read_text()
    assert json.loads((tmp_path / "audit" / "audit.json").read_text())["summary"]["judges"] == ["Aster", "Cobalt"]
    assert ET.parse(tmp_path / "audit.xml").getroot().tag == "testsuites"


def test_the_action_never_puts_an_input_into_its_scripts() -> None:
    assert not [s["name"] for s in steps() if "${{" in s["run"]]


# --- two audits ---


def audit(shift: float = 0.0, seed: int = 5, tasks: int = 60) -> dict[str, Any]:
    panel, _ = pj.simulate_panel(tasks=tasks, languages=3, judges=4, seed=seed, interaction=np.zeros((3, 4)))
    moved = np.array(panel.scores)
    moved[:, 0, 0] += shift
    return pj.audit(panel.with_scores(moved), resamples=100).to_dict()


def test_a_planted_change_is_found_and_nothing_else() -> None:
    found = pj.difference(audit(seed=5), audit(30.0, seed=6))
    assert found.cells.loc[found.cells["clear"], ["language", "judge"]].to_numpy().tolist()[0] == [
        "language1",
        "judge1",
    ]
    top = found.findings[0]
    assert (top.code, top.values["judge"], top.values["language"]) == ("difference.cells", "judge1", "language1")
    # In a complete panel a shift of 30 in one cell moves its interaction by 30 x 2/3 x 3/4.
    assert top.values["low"] < 15 < top.values["high"]


def test_noise_alone_is_seldom_a_change() -> None:
    alarms = sum(
        bool(pj.difference(audit(seed=i, tasks=30), audit(seed=100 + i, tasks=30)).cells["clear"].any())
        for i in range(12)
    )
    assert alarms <= 3  # at a level of 95%, more than 3 of 12 comes about once in 450 times


def test_other_judges_cannot_be_compared() -> None:
    panel, _ = pj.simulate_panel(tasks=20, languages=3, judges=4, seed=1)
    less = pj.audit(panel.select(judges=list(panel.judges[:3])), resamples=100).to_dict()
    with pytest.raises(PanelError, match="--judges judge1,judge2,judge3"):
        pj.difference(pj.audit(panel, resamples=100).to_dict(), less)


def test_the_command(scores: Path, tmp_path: Path, cli: Any) -> None:
    assert cli("audit", scores, "-o", tmp_path / "a", "--resamples", "100").returncode == 0
    done = cli("diff", tmp_path / "a", tmp_path / "a" / "audit.json", "--json", "--fail-on", "notice")
    assert done.returncode == 0
    told = json.loads(done.stdout)
    assert told["same_scores"] is True
    assert not any(c["clear"] for c in told["cells"])
    assert cli("diff", tmp_path / "a", tmp_path / "a").returncode == 0
    (tmp_path / "x.json").write_text("[]")
    assert cli("diff", tmp_path / "x.json", tmp_path / "a").returncode == 2
    with pytest.raises(UsageError):
        pj.difference({}, {})
