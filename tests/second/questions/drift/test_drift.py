"""Drift: a planted change is found, nothing is found where nothing changed, and the rest of what can differ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polyjudge.second as pj
from polyjudge.second.calibrate.history import MOST
from polyjudge.second.panel.errors import CalibratorError, PanelError, UsageError
from polyjudge.second.questions.drift.drift import Drift, drift
from refusals import lacks, refused

TASKS, LANGUAGES, JUDGES, REPLICATES = 55, 8, 6, 3
RUN_NOISE = 4.0
"""Standard deviation of one score between two runs of the same judge on the same task, in points."""


def runs(seed: int, change: float, noise: float = RUN_NOISE, tasks: int = TASKS) -> tuple[pj.Panel, pj.Panel]:
    """Two runs over the same tasks, with the task-specific interaction of the size seen in DevAI (7 points); the
    second has a change in one cell."""
    truth, _ = pj.simulate_panel(tasks, LANGUAGES, JUDGES, seed=seed, noise_sd=0, three_way_sd=7.0)
    rng = np.random.default_rng([seed, 99])
    shape = (*truth.shape, REPLICATES)
    old, new = (truth.scores[..., None] + rng.normal(0, noise, shape) for _ in range(2))
    new[:, 2, 3] += change
    labels = truth.tasks, truth.languages, truth.judges
    return pj.Panel.from_array(old, *labels), pj.Panel.from_array(new, *labels)


def alarms(result: Any) -> bool:
    return any(f.weight >= 2 for f in result.findings)


@pytest.mark.statistical
def test_a_change_of_three_points_is_found_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the size of DevAI, with fewer flips than the default."""
    monkeypatch.setattr("polyjudge.second.estimate.flips.FLIPS", 999)
    found = false = 0
    for seed in range(40):
        old, new = runs(seed, 0.0)
        cal = pj.ConsensusCalibrator().fit(old)
        false += alarms(drift(cal, new))
        if seed >= 30:
            continue
        shifted = new.replicate_scores.copy()  # type: ignore[union-attr]
        shifted[:, 2, 3] += 3.0
        result = drift(cal, pj.Panel.from_array(shifted, new.tasks, new.languages, new.judges))
        top = result.cells.loc[result.cells["p"].idxmin()]
        found += alarms(result) and (top["language"], top["judge"]) == ("language3", "judge4")
    assert found >= 29  # of 30
    assert false <= 6  # 5% of 40 is 2, plus three standard deviations


def with_systems(seed: int, systems: int = 4) -> tuple[pj.Panel, np.ndarray, np.ndarray]:
    """Two runs of the same systems on the same tasks, as arrays."""
    truth, _ = pj.simulate_panel(TASKS, 4, 5, systems=systems, seed=seed, noise_sd=0, three_way_sd=4.0)
    rng = np.random.default_rng([seed, 9])
    assert truth.system_scores is not None
    old, new = (truth.system_scores + rng.normal(0, RUN_NOISE, truth.system_scores.shape) for _ in range(2))
    return truth, old, new


def compared(truth: pj.Panel, old: np.ndarray, new: np.ndarray, systems: Any = None) -> Drift:
    labels = truth.tasks, truth.languages, truth.judges
    cal = pj.ConsensusCalibrator().fit(pj.Panel.from_array(old, *labels, systems=truth.systems))
    return drift(cal, pj.Panel.from_array(new, *labels, systems=systems or truth.systems))


def test_a_system_that_changed_is_no_drift_of_the_judges() -> None:
    truth, old, new = with_systems(1)
    assert compared(truth, old, new).compared_systems == truth.systems
    better = new.copy()
    better[:, 1] += 12 * np.array([0.5, 0.8, 1, 1.2, 1.5])  # judges show it by different amounts
    result = compared(truth, old, better)
    assert not alarms(result)
    assert result.systems["system"].tolist() == ["system2"]
    assert result.compared_systems == ("system1", "system3", "system4")
    assert (result.findings[0].code, result.findings[0].values["systems"]) == ("system-changed", ["system2"])
    there = new.copy()
    there[:, 1, 2] += 12
    assert compared(truth, old, there).systems["language"].tolist() == ["language3"]
    better[:, :, 2, 3] -= 8  # and a judge broke in one language
    result = compared(truth, old, better)
    assert result.kind == "cell"
    assert [f.code for f in result.findings if f.weight >= 2] == ["cell-broke"]


def test_a_judge_that_no_longer_agrees_is_no_change_of_the_systems() -> None:
    truth, old, new = with_systems(1)
    new[..., 3] = new[..., 3].mean(axis=1, keepdims=True)
    result = compared(truth, old, new)
    assert result.systems.empty
    assert [f.code for f in result.findings if f.weight >= 2] == ["agreement-changed"]


def test_judges_are_compared_on_the_systems_that_both_have(tmp_path: Path) -> None:
    truth, old, new = with_systems(1)
    new[:, 3, 2, 3] -= 60  # what replaced the fourth system is hated by one judge
    result = compared(truth, old, new, (*truth.systems[:3], "other"))
    assert (result.new_systems, result.gone_systems) == (("other",), ("system4",))
    assert not alarms(result)
    unlike = compared(truth, old, new, tuple("wxyz"))
    assert not alarms(unlike)
    assert unlike.findings[0].code == "systems-unlike"
    labels = truth.tasks, truth.languages, truth.judges
    cal = pj.ConsensusCalibrator().fit(pj.Panel.from_array(old, *labels, systems=truth.systems))
    cal.save(tmp_path / "cal.json")
    after = pj.Panel.from_array(new[:, :3], *labels, systems=truth.systems[:3])
    a, b = drift(cal, after), drift(pj.load_calibrator(tmp_path / "cal.json"), after)
    np.testing.assert_allclose(a.cells["change"], b.cells["change"], atol=1e-6)


def test_other_tasks_are_compared_as_two_samples() -> None:
    old, _ = runs(1, 0.0)
    other, _ = pj.simulate_panel(200, LANGUAGES, JUDGES, seed=77)
    renamed = pj.Panel.from_array(other.scores, [f"x{i}" for i in range(200)], other.languages, other.judges)
    cal = pj.ConsensusCalibrator().fit(old)
    result = drift(cal, renamed)
    assert result.paired_tasks == 0
    assert any(f.code == "not-paired" for f in result.findings)
    expected = pj.ConsensusCalibrator().fit(renamed).interaction_.to_numpy() - cal.interaction_.to_numpy()
    np.testing.assert_allclose(result.cells["change"].to_numpy().reshape(expected.shape), expected)


def test_two_samples_are_drawn_alike_from_tasks_and_from_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = runs(4, 2.0)
    renamed = pj.Panel.from_array(new.scores, [f"x{t}" for t in new.tasks], new.languages, new.judges)
    cal = pj.ConsensusCalibrator().fit(old)
    by_task = drift(cal, renamed).cells
    monkeypatch.setattr("polyjudge.second.questions.drift.drift.DRAWN", 1)
    by_cell = drift(cal, renamed).cells
    half = [(x["band_high"] - x["band_low"]).to_numpy() for x in (by_task, by_cell)]
    np.testing.assert_allclose(*half, rtol=0.02)
    assert not np.array_equal(*half)  # other draws
    np.testing.assert_allclose(by_task["p"], by_cell["p"], atol=0.015)


@pytest.mark.statistical
def test_two_samples_keep_the_level_and_see_a_large_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polyjudge.second.questions.drift.drift.DRAWS", 1999)
    false = found = 0
    for seed in range(100):
        old, _ = pj.simulate_panel(55, 6, 4, seed=seed, interaction=np.zeros((6, 4)), noise_sd=6)
        new, _ = pj.simulate_panel(70, 6, 4, seed=seed + 5000, interaction=np.zeros((6, 4)), noise_sd=6)
        new = pj.Panel.from_array(new.scores, [f"n{i}" for i in range(70)], new.languages, new.judges)
        cal = pj.ConsensusCalibrator().fit(old)
        false += bool(drift(cal, new).cells["changed"].any())
        if seed >= 40:
            continue
        shifted = new.scores.copy()
        shifted[:, 1, 1] += 12
        found += bool(
            drift(cal, pj.Panel.from_array(shifted, new.tasks, new.languages, new.judges)).cells["changed"].any()
        )
    assert false <= 10  # 5% of 100 is 5, plus two and a half standard deviations
    assert found >= 39  # of 40


def test_the_file_remembers_what_drift_needs(tmp_path: Path) -> None:
    old, new = runs(3, 3.0)
    cal = pj.ConsensusCalibrator().fit(old)
    cal.save(tmp_path / "cal.json")
    loaded = pj.load_calibrator(tmp_path / "cal.json")
    a, b = drift(cal, new), drift(loaded, new)
    assert a.paired_tasks == b.paired_tasks == TASKS
    np.testing.assert_allclose(a.cells["change"], b.cells["change"], atol=1e-6)
    assert a.p_global == pytest.approx(b.p_global, rel=1e-4)
    data = json.loads((tmp_path / "cal.json").read_text())
    del data["memory"], data["checksum"]  # an older file has neither
    (tmp_path / "older.json").write_text(json.dumps(data))
    older = drift(pj.load_calibrator(tmp_path / "older.json"), new)
    assert older.paired_tasks == 0
    assert older.floor.empty
    data["se"] = None
    (tmp_path / "oldest.json").write_text(json.dumps(data))
    with refused(CalibratorError, "standard errors"):
        drift(pj.load_calibrator(tmp_path / "oldest.json"), new)


@pytest.mark.parametrize("memory", [3, {"tasks": 1}, {"tasks": ["a", "a"]}, {"tasks": ["a"], "influence": [[1]]}])
def test_a_damaged_memory_is_an_error(memory: Any, tmp_path: Path) -> None:
    cal = pj.ConsensusCalibrator().fit(runs(3, 0.0)[0])
    (tmp_path / "cal.json").write_text(json.dumps({**cal.to_dict(), "memory": memory}))
    with refused(CalibratorError, "cal.json", "memory"):
        pj.load_calibrator(tmp_path / "cal.json")


def test_a_large_panel_is_not_remembered_task_by_task() -> None:
    panel, _ = pj.simulate_panel(MOST // 10, 4, 3, seed=0)
    cal = pj.ConsensusCalibrator().fit(panel)
    assert cal.memory_ is not None
    assert cal.memory_.influence is None
    assert cal.memory_.floor is not None
    assert drift(cal, panel).paired_tasks == 0


def test_the_same_scores_have_not_changed() -> None:
    old, _ = runs(4, 0.0)
    result = drift(pj.ConsensusCalibrator().fit(old), old)
    assert not result.cells["changed"].any()
    assert np.abs(result.cells["change"]).max() < 1e-6
    assert not alarms(result)


def test_tolerance_hides_small_changes() -> None:
    old, new = runs(5, 12.0)
    cal = pj.ConsensusCalibrator().fit(old)
    assert drift(cal, new).cells["changed"].sum() >= 1
    assert not drift(cal, new, tolerance=11.0).cells["changed"].any()
    for bad in ({"level": 0.0}, {"level": 1.5}, {"tolerance": -1.0}, {"tolerance": float("nan")}):
        with refused(UsageError, *next(iter(bad.items()))):
            drift(cal, new, **bad)


def test_changed_sets_range_and_floor() -> None:
    old, new = runs(6, 0.0)
    cal = pj.ConsensusCalibrator().fit(old)
    fewer = drift(cal, new.select(languages=new.languages[:4], judges=new.judges[1:]))
    assert fewer.gone_languages == new.languages[4:]
    assert fewer.gone_judges == new.judges[:1]
    assert not alarms(fewer)
    part = pj.ConsensusCalibrator().fit(old.select(judges=old.judges[:4]))
    more = drift(part, new)
    assert more.new_judges == new.judges[4:]
    assert any(f.code == "new-judges" and f.severity == "warning" for f in more.findings)
    scores = new.replicate_scores
    assert scores is not None
    scaled = pj.Panel.from_array(scores * 3, new.tasks, new.languages, new.judges)
    assert any(f.code == "range-changed" and f.severity == "warning" for f in drift(cal, scaled).findings)
    low = cal.range_[0]
    sunk = scores.copy()
    sunk[:30, 1, 2] = low
    result = drift(cal, pj.Panel.from_array(sunk, new.tasks, new.languages, new.judges))
    assert any(f.code == "floor-changed" for f in result.findings)
    worst = result.floor.loc[result.floor["change"].idxmax()]
    assert (worst["language"], worst["judge"]) == ("language2", "judge3")
    with refused(PanelError, "no languages"):
        drift(cal, pj.Panel.from_array(scores, new.tasks, [f"q{x}" for x in new.languages], new.judges))


def test_command(cli: Any, tmp_path: Path) -> None:
    old, new = runs(7, 6.0)
    cal = pj.ConsensusCalibrator().fit(old)
    cal.save(tmp_path / "cal.json")
    new.to_long().to_csv(tmp_path / "new.csv", index=False)
    done = cli("drift", tmp_path / "cal.json", tmp_path / "new.csv")
    assert done.returncode == 1, done.stderr
    assert not lacks(done.stdout, "language3", "judge4", TASKS)
    done = cli("drift", tmp_path / "cal.json", tmp_path / "new.csv", "--json", "--fail-on", "never")
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["findings"][0]["code"] == "cell-broke"
    assert data["findings"][0]["values"]["named"] == [["language3", "judge4"]]
    assert data["paired_tasks"] == TASKS


def broke(paired: bool, cells: dict[tuple[int, int], float], seed: int = 3) -> Drift:
    """Drift of a panel with an interaction of its own after some cells broke."""
    rng = np.random.default_rng(seed)
    beta = rng.normal(0, 3, (8, 6))
    languages = ["English", "Hindi", "Turkish", "Chinese", "Arabic", "Japanese", "Spanish", "Swahili"]
    judges = ["Ash", "Birch", "Cedar", "Ember", "Fir", "Holly"]
    before, _ = pj.simulate_panel(60, languages, judges, interaction=beta, seed=seed)
    off = beta.copy()
    for place, points in cells.items():
        off[place] += points
    after, _ = pj.simulate_panel(60, languages, judges, interaction=off, seed=seed + 1)
    if paired:  # the same tasks scored again: what is particular to them returns
        fresh = rng.normal(0, 3, before.scores.shape)
        after = before.with_scores(before.scores + (off - beta) + fresh)
    else:
        after = pj.Panel.from_array(after.scores, [f"new{i}" for i in range(60)], languages, judges)
    return drift(pj.ConsensusCalibrator().fit(before), after)


@pytest.mark.parametrize("paired", [True, False])
def test_one_new_fault_is_named_alone(paired: bool) -> None:
    result = broke(paired, {(1, 3): -15.0})
    assert (result.paired_tasks > 0) == paired
    assert result.kind == "cell"
    assert result.broken[["language", "judge"]].to_numpy().tolist() == [["Hindi", "Ember"]]
    row = result.broken.iloc[0]
    assert row["low"] < -15 < row["high"]
    assert result.findings[0].code == "cell-broke"
    assert result.findings[0].values["alone"] is paired  # of two samples the others' levels are not compared
    assert not any(f.code == "interaction-changed" for f in result.findings)
    assert result.cells["changed"].sum() >= 1


def test_others_that_moved_are_not_said_to_be_as_they_were() -> None:
    """A cell broke, and another judge scores 4 points higher everywhere."""
    rng = np.random.default_rng(4)
    before, _ = pj.simulate_panel(60, 4, 4, interaction=0.0, seed=4)
    moved = before.scores + rng.normal(0, 3, before.scores.shape)
    moved[:, 1, 2] -= 15
    moved[:, :, 0] += 4
    result = drift(pj.ConsensusCalibrator().fit(before), before.with_scores(moved))
    assert result.findings[0].code == "cell-broke"
    assert result.findings[0].values["alone"] is False
    assert "as they were" not in str(result.findings[0])
    assert "judge-offset-changed" in [f.code for f in result.findings]


def test_several_faults_a_judge_and_everything() -> None:
    assert broke(True, {(1, 3): -15.0, (5, 0): 12.0}).findings[0].code == "cells-broke"
    judge = broke(True, {(i, 2): 14.0 * (-1) ** i for i in range(8)})
    assert judge.findings[0].code == "judge-changed"
    assert set(judge.broken["judge"]) == {"Cedar"}
    rng = np.random.default_rng(0)
    everything = {(i, j): float(rng.choice([-9, 9])) for i in range(8) for j in range(6)}
    assert broke(True, everything).findings[0].code == "interaction-changed"
    still = broke(True, {})
    assert still.kind == "none"
    assert still.broken.empty
