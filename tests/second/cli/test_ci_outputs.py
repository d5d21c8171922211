"""What goes back out for CI: JUnit XML, Parquet, the GitHub Action run step by step."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import duckdb
import pytest
import yaml

import polyjudge.second as pj
from polyjudge.second.samples import sample_csv

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
    from polyjudge.second.report.junit import junit
    from polyjudge.second.report.sections import Report, find

    evil = "]]><script>\x00\ud800&"
    report = Report(command="audit", title="x", findings=(find("serious", "note", text=evil),))
    root = ET.fromstring(junit(report, "info"))
    assert "<script>" in next(root.iter("failure")).get("message", "")


def steps() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    return found


class Runner:
    """Runs the steps of action.yml as GitHub's runner does: real bash, its files, the contexts filled in."""

    def __init__(self, folder: Path, inputs: dict[str, str], event: str = "push") -> None:
        given = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
        self.inputs = {k: str(v.get("default", "")) for k, v in given.items()} | inputs
        self.folder, self.outputs, self.event = folder, dict[str, str](), event
        self.context = {
            "github.token": "t0ken",
            "github.repository": "owner/name",
            "github.event_name": event,
            "github.event.pull_request.number": "17" if event == "pull_request" else "",
        }
        self.files = {n: folder / n for n in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_ENV")}
        for file in self.files.values():
            file.touch()
        (folder / "bin").mkdir()
        stub = folder / "bin" / "gh"
        stub.write_text('#!/bin/sh\nprintf \'%s\\n\' "$GH_TOKEN" "$@" >> "$RECORD"\n')
        stub.chmod(0o755)
        packages = sysconfig.get_paths()["purelib"]
        self.env = {
            **{k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "PYTHONPATH")},
            **{k: str(v) for k, v in self.files.items()},
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "RECORD": str(folder / "record"),
            "RUNNER_TEMP": str(folder / "temp"),
            "GITHUB_ACTION_PATH": str(ROOT),
            "PYTHONPATH": packages,  # what the package needs is here already: nothing is fetched
            "PIP_NO_DEPS": "1",
            "PIP_NO_INDEX": "1",
            "PIP_NO_COMPILE": "1",
        }

    def _value(self, name: str) -> str:
        kind, _, rest = name.partition(".")
        if kind == "inputs":
            return self.inputs[rest]
        return self.outputs[rest.split(".")[-1]] if kind == "steps" else self.context[name]

    def _wanted(self, step: dict[str, Any]) -> bool:
        """The step's condition: comparisons joined by &&."""
        parts = [p.split(" == ") for p in step.get("if", "").split(" && ") if p]
        return all(self._value(name) == wanted.strip("'") for name, wanted in parts)

    def run(self) -> list[tuple[str, int]]:
        """Each step that was run, with its code. A step that fails ends the job."""
        done: list[tuple[str, int]] = []
        for step in steps():
            if not self._wanted(step):
                continue
            own = {
                k: re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda m: self._value(m[1]), v)
                for k, v in step.get("env", {}).items()
            }
            last = subprocess.run(
                ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
                cwd=self.folder,
                env={**self.env, **own},
                capture_output=True,
                text=True,
            )
            done.append((step["name"], last.returncode))
            if last.returncode:
                break
            self.outputs |= dict(x.split("=", 1) for x in self.files["GITHUB_OUTPUT"].read_text().splitlines())
        return done


def test_the_action_on_a_pull_request(scores: Path, wheel: Path, tmp_path: Path) -> None:
    """Installed from a wheel, audited, commented, failed by a finding; every step of it."""
    options = "--resamples 100 --judges 'Aster,Cobalt'"
    given = {"scores": str(scores), "output": "audit", "options": options, "package": str(wheel)}
    runner = Runner(tmp_path, given | {"python": sys.executable}, "pull_request")
    assert runner.run() == [("Install", 0), ("Audit", 0), ("Comment", 0), ("Result", 1)]
    assert (tmp_path / "temp" / "polyjudge" / "bin" / "polyjudge").exists()
    said = (tmp_path / "record").read_text().splitlines()
    assert said == ["t0ken", "pr", "comment", "17", "--repo", "owner/name", "--body-file=audit/summary.md"]
    assert runner.files["GITHUB_STEP_SUMMARY"].read_text() == (tmp_path / "audit" / "summary.md").read_text()
    assert json.loads((tmp_path / "audit" / "audit.json").read_text())["summary"]["judges"] == ["Aster", "Cobalt"]
    assert ET.parse(tmp_path / "audit.xml").getroot().tag == "testsuites"


def test_the_action_on_a_push_and_on_a_bad_file(tmp_path: Path) -> None:
    """No comment without a pull request; `never` passes; a file that cannot be read fails with 2."""
    panel, _ = pj.simulate_panel(tasks=6, languages=2, judges=2, seed=1)
    panel.to_long().to_csv(tmp_path / "scores.csv", index=False)
    cases = [("good", tmp_path / "scores.csv", 0), ("bad", tmp_path / "none.csv", 2), ("option", "--help", 2)]
    for name, file, code in cases:
        folder = tmp_path / name
        folder.mkdir()
        runner = Runner(folder, {"scores": str(file), "fail-on": "never"})  # everything else by default
        program = folder / "temp" / "polyjudge" / "bin" / "polyjudge"
        program.parent.mkdir(parents=True)  # the wheel is installed in the test above
        program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT / "src"}" exec "{sys.executable}" -m polyjudge "$@"\n')
        program.chmod(0o755)
        runner.inputs |= {"python": "true"}
        (program.parent / "pip").write_text('#!/bin/sh\necho "$@" >> "$RECORD.pip"\n')
        (program.parent / "pip").chmod(0o755)
        assert runner.run() == [("Install", 0), ("Audit", 0), ("Result", code)]
        assert not (folder / "record").exists()
        installed = (folder / "record.pip").read_text().splitlines()
        assert installed[0] == f"install --quiet --require-hashes -r {ROOT}/requirements/run.txt"
        assert installed[1] == f"install --quiet --no-deps --no-build-isolation -- {ROOT}"


def test_the_action_never_puts_an_input_into_its_scripts() -> None:
    assert not [s["name"] for s in steps() if "${{" in s["run"]]
