"""What a nightly job sees: 0 where all is well, 1 where the answer is not yes, something changed or a goal missed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from common import Run
from polyjudge.panel import Panel


def scores(n: int = 80, k: int = 3, m: int = 4, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.round(np.clip(60 + rng.normal(0, 10, (n, 1, 1)) + rng.normal(0, 2, (n, k, m)), 0, 100))


def write(path: Path, array: np.ndarray) -> Path:
    Panel.from_array(array, scale=(0.0, 100.0)).to_frame().to_csv(path, index=False)
    return path


@pytest.mark.parametrize(("change", "code"), [(0.0, 0), (9.0, 1)])
def test_drift_ends_with_1_where_something_changed(cli: Run, tmp_path: Path, change: float, code: int) -> None:
    old = scores()
    new = old.copy()
    new[:, 1, 2] += change
    done = cli("drift", write(tmp_path / "old.csv", old), write(tmp_path / "new.csv", np.clip(new, 0, 100)))
    assert done.returncode == code, done.stdout


def test_drift_ends_with_1_where_a_large_change_could_hide(cli: Run, tmp_path: Path) -> None:
    """Six tasks of great noise: nothing certain, and nothing ruled out."""
    rng = np.random.default_rng(1)
    old, new = (np.round(rng.uniform(0, 100, (6, 2, 3))) for _ in range(2))
    assert cli("drift", write(tmp_path / "old.csv", old), write(tmp_path / "new.csv", new)).returncode == 1


@pytest.mark.parametrize(("matters", "code"), [("20", 0), ("0.001", 1)])
def test_swap_ends_with_1_unless_the_answer_is_yes(cli: Run, tmp_path: Path, matters: str, code: int) -> None:
    path = write(tmp_path / "scores.csv", scores(n=200))
    done = cli("swap", path, "--judges", "J1=J2", "--matters", matters)
    assert done.returncode == code, done.stdout


@pytest.mark.parametrize(("goal", "code"), [("accuracy>=0.5", 0), ("accuracy>=0.99", 1)])
def test_humans_ends_with_1_where_a_requirement_is_not_met(cli: Run, tmp_path: Path, goal: str, code: int) -> None:
    rng = np.random.default_rng(0)
    human = rng.random(200) < 0.5
    judge = np.where(rng.random(200) < 0.9, human, ~human)
    frame = pd.DataFrame({"case": range(200), "human": human * 1, "judge": judge * 1})
    frame.to_csv(tmp_path / "cases.csv", index=False)
    done = cli("humans", tmp_path / "cases.csv", "--require", goal)
    assert done.returncode == code, done.stdout + done.stderr


def test_a_pass_rate_changes_by_percentage_points(cli: Run, tmp_path: Path) -> None:
    """On a scale of 1 to 5, so that points and percentage points cannot be mistaken for each other."""
    rng = np.random.default_rng(2)
    array = np.clip(np.round(3.4 + rng.normal(0, 0.8, (300, 1, 1)) + rng.normal(0, 0.2, (300, 2, 3))), 1, 5)
    array[:, :, 1] = np.where((array[:, :, 1] == 4) & (rng.random((300, 2)) < 0.6), 3, array[:, :, 1])
    path = tmp_path / "scores.csv"
    Panel.from_array(array, scale=(1.0, 5.0)).to_frame().to_csv(path, index=False)
    done = cli("swap", path, "--judges", "J1=J2", "--threshold", ">=4", "--matters", "0.3", "--json")
    said = done.stdout
    assert "pass rate" in said
    assert "percentage point" in said
