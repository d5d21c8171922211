"""The command about judges as a user runs it, and the replay of a plan."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polyjudge.second as pj
from refusals import lacks

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60 tasks x 3 systems x 2 languages x 4 judges."""
    rng = np.random.default_rng(0)
    values = 50 + 10 * rng.normal(size=(60, 3, 1, 1)) + 6 * rng.normal(size=(60, 3, 2, 4))
    panel = pj.Panel.from_array(values, systems=["x", "y", "z"], judges=["a", "b", "c", "d"], declared_range=(0, 100))
    path = tmp_path_factory.mktemp("judges") / "scores.csv"
    panel.to_long().to_csv(path, index=False)
    return path


def test_choose_says_whom_to_keep_and_writes_it(cli: Run, scores: Path, tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text("judge,price\na,1\nb,1\nc,1\nd,9\n")
    done = cli("judges", scores, "--prices", tmp_path / "prices.csv", "--budget", 18, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "report.html").stat().st_size > 10_000
    result = json.loads((tmp_path / "out" / "judges.json").read_text())
    assert result["rule"] == "budget"
    assert result["recommended"][0]["judges"] == "a + b + c"
    assert {p.name for p in (tmp_path / "out").iterdir()} >= {"summary.md", "subsets.csv", "best.csv", "frontier.csv"}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("nonsense", ("price", "a, b, c, d")),
        ("judge;price\na;1", ("p.csv",)),
        ('{"a": "x"}', ("p.json",)),
        ("judge,price\na,1\n", ("price", "b, c, d")),
    ],
)
def test_bad_prices_are_one_clear_error(cli: Run, scores: Path, tmp_path: Path, text: str, named: Any) -> None:
    path = tmp_path / ("p.json" if text.startswith("{") else "p.csv")
    path.write_text(text)
    done = cli("judges", scores, "--prices", path)
    assert done.returncode == 2
    assert not lacks(done.stderr, *named)
    assert cli("judges", scores, "--prices", tmp_path / "absent.csv").returncode == 2


def test_swap_answers_and_fails_when_asked(cli: Run, scores: Path) -> None:
    done = cli("judges", scores, "--swap", "a=b", "--matters", 50, "--json")
    found = json.loads(done.stdout)
    assert (found["asked"], found["answer"]) == ("swap", "accepted")
    assert found["blind_spot"] == pytest.approx(1 - 0.05 ** (1 / 60))
    assert cli("judges", scores, "--swap", "a=b", "--matters", 0.01, "--fail-on", "warning").returncode == 1
    assert cli("judges", scores, "--swap", "a=nobody").returncode == 2
    assert cli("judges", scores, "--swap", "a").returncode == 2
    assert cli("judges", scores, "--guard").returncode == 2


def test_replay_counts_what_would_have_been_bought(cli: Run, scores: Path) -> None:
    done = cli("plan", "--replay", scores, "--matters", 5, "--json")
    result = json.loads(done.stdout)
    assert result["planned_looks"] == [30, 60]
    assert 0 < result["share"] <= 1
    assert len(result["questions"]) == 2 * 6
    assert cli("plan", "--replay", scores, "--questions", "gate").returncode == 2
    assert cli("plan", "--replay", scores, "--questions", "gate", "--at", 50, "--guard").returncode == 0
