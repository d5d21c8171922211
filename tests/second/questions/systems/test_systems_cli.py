"""`polyjudge systems`: the same result in the terminal, as JSON, and as files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polyjudge.second as pj
from polyjudge.second.panel.say import word
from polyjudge.second.report import report_of

Cli = Callable[..., Any]


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    likes = np.zeros((3, 3))
    likes[0, 0] = 8
    panel, _ = pj.simulate_panel(
        60, ["en", "de"], ["GPT-4o", "b", "c"], systems=["gpt-x", "two", "three"], judge_system=likes, seed=1
    )
    path = tmp_path / "scores.csv"
    panel.to_long().to_csv(path, index=False)
    return path


def test_json_and_files(scores: Path, cli: Cli, tmp_path: Path) -> None:
    done = cli("systems", scores, "--resamples", 100, "--json", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {r["system"] for r in found["leaderboard"]["systems"]} == {"gpt-x", "two", "three"}
    assert found["favour"]["self_preference"]["low"] > 0
    assert found["signal"]["verdict"] == "agree"
    names = {p.name for p in (tmp_path / "out").iterdir()}
    assert {"report.html", "summary.md", "systems.json", "leaderboard.csv", "signal.csv", "favour.csv"} <= names


def test_terminal_and_families(scores: Path, cli: Cli) -> None:
    done = cli("systems", scores, "--resamples", 100, "--full", "--families", "gpt-x=Other")
    assert done.returncode == 0, done.stderr
    assert "gpt-x" in done.stdout
    wrong = cli("systems", scores, "--families", "gpt-x")
    assert wrong.returncode == 2
    assert "NAME=MAKER" in wrong.stderr


def test_without_systems_it_says_how_to_name_them(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "plain.csv"
    pj.simulate_panel(10, 2, 3)[0].to_long().to_csv(path, index=False)
    done = cli("systems", path)
    assert done.returncode == 2
    assert "--system NAME" in done.stderr


@pytest.mark.parametrize("sees", [0.0, 1.0])
def test_every_sentence_has_words(sees: float) -> None:
    evil = "{x} \x1b[31m<b>"
    panel, _ = pj.simulate_panel(150, 2, ["GPT-4o {", "b", "c"], systems=[evil, "gpt 1", "three"], sees=sees, seed=1)
    result = pj.systems(panel, resamples=100)
    report = report_of(result, panel)
    assert report is not None
    says = [*report.read, *report.verdict, *report.findings, *(s.why for s in report.next)]
    says += [x for section in report.sections for x in section.says]
    says += [block.caption for section in report.sections for block in section.blocks]
    for item in says:
        text = word(item)
        assert text
        assert "\x1b" not in text
    once = [word(x) for x in (*report.verdict, *(f for f in report.findings if f not in report.verdict))]
    assert len(set(once)) == len(once)
    assert ("signal-disagree" in {f.code for f in result.findings}) == (sees == 0)
