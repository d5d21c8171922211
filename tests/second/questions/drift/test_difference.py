"""Two audits compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polyjudge.second as pj
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.questions.drift.difference import difference
from polyjudge.second.samples import sample_csv
from refusals import lacks, refused


def audit(shift: float = 0.0, seed: int = 5, tasks: int = 60) -> dict[str, Any]:
    panel, _ = pj.simulate_panel(tasks=tasks, languages=3, judges=4, seed=seed, interaction=np.zeros((3, 4)))
    moved = np.array(panel.scores)
    moved[:, 0, 0] += shift
    return pj.audit(panel.with_scores(moved), resamples=100).to_dict()


def test_a_planted_change_is_found_and_nothing_else() -> None:
    found = difference(audit(seed=5), audit(30.0, seed=6))
    assert found.cells.loc[found.cells["clear"], ["language", "judge"]].to_numpy().tolist()[0] == [
        "language1",
        "judge1",
    ]
    top = found.findings[0]
    assert (top.code, top.values["judge"], top.values["language"]) == ("difference.cells", "judge1", "language1")
    # In a complete panel a shift of 30 in one cell moves its interaction by 30 x 2/3 x 3/4.
    assert top.values["low"] < 15 < top.values["high"]


@pytest.mark.statistical
def test_noise_alone_is_seldom_a_change() -> None:
    alarms = sum(
        bool(difference(audit(seed=i, tasks=30), audit(seed=100 + i, tasks=30)).cells["clear"].any()) for i in range(12)
    )
    assert alarms <= 3  # at a level of 95%, more than 3 of 12 comes about once in 450 times


def test_other_judges_cannot_be_compared() -> None:
    panel, _ = pj.simulate_panel(tasks=20, languages=3, judges=4, seed=1)
    less = pj.audit(panel.select(judges=list(panel.judges[:3])), resamples=100).to_dict()
    with refused(PanelError, "judge4", "--judges judge1,judge2,judge3"):
        difference(pj.audit(panel, resamples=100).to_dict(), less)


def test_the_command_tells_audits_from_a_calibrator(tmp_path: Path, cli: Any) -> None:
    scores = tmp_path / "scores.csv"
    scores.write_bytes(sample_csv())
    assert cli("audit", scores, "-o", tmp_path / "a", "--resamples", "100").returncode == 0
    done = cli("drift", tmp_path / "a", tmp_path / "a" / "audit.json", "--json", "--fail-on", "notice")
    assert done.returncode == 0
    told = json.loads(done.stdout)
    assert told["same_scores"] is True
    assert not any(c["clear"] for c in told["cells"])
    assert cli("drift", tmp_path / "a", tmp_path / "a").returncode == 0
    assert cli("drift", tmp_path / "a", tmp_path / "a", "--runs", "365").returncode == 2
    assert cli("drift", tmp_path / "a", scores).returncode == 2
    assert cli("calibrate", scores, "--save", tmp_path / "cal.json").returncode == 0
    done = cli("drift", tmp_path / "cal.json", scores, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["paired_tasks"] > 0
    (tmp_path / "x.json").write_text("[]")
    assert cli("drift", tmp_path / "x.json", tmp_path / "a").returncode == 2
    (tmp_path / "other.json").write_text(json.dumps(json.loads(done.stdout) | {"command": "drift"}))
    told = cli("drift", tmp_path / "a", tmp_path / "other.json").stderr
    assert not lacks(told, "other.json", "audit -o DIR")


def test_what_is_no_audit_is_named() -> None:
    with refused(UsageError, "first", "audit -o DIR"):
        difference({}, {})
    for part in ("uncertainty", "summary"):
        with refused(UsageError, "second", "audit -o DIR"):
            difference(audit(tasks=20), {k: v for k, v in audit(tasks=20).items() if k != part})
