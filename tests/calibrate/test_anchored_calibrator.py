"""AnchoredCalibrator: what it removes, what it refuses, and that it survives a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import pytest

import polyjudge as pj
from polyjudge.panel.errors import CalibratorError, UsageError
from refusals import refused


@pytest.fixture
def labelled() -> tuple[pj.Panel, pd.DataFrame]:
    panel, truth = pj.simulate_panel(tasks=80, languages=3, judges=4, seed=2)
    rng = np.random.default_rng(0)
    rows = [
        (t, l, 40 + truth.task_effect[t] + rng.normal(0, 3))
        for t in panel.tasks
        for l in panel.languages  # noqa: E741
        if rng.random() < 0.6
    ]
    return panel, pd.DataFrame(rows, columns=["task", "language", "score"])


@pytest.mark.parametrize("weights", ["uniform", "variance"])
def test_all_puts_the_panel_mean_where_the_humans_are(
    labelled: tuple[pj.Panel, pd.DataFrame], weights: Literal["uniform", "variance"]
) -> None:
    panel, gold = labelled
    new = pj.AnchoredCalibrator(weights, shift="all", pool=False, map="shift").fit(panel, gold).transform(panel)
    again = pj.anchor(new, gold, resamples=10)
    assert again.shift is not None
    np.testing.assert_allclose(again.shift.table["shift"], 0, atol=1e-9)
    np.testing.assert_allclose(pj.ConsensusCalibrator().fit(new).interaction_, 0, atol=1e-9)


def test_centred_keeps_the_mean_shift(labelled: tuple[pj.Panel, pd.DataFrame]) -> None:
    panel, gold = labelled
    calibrator = pj.AnchoredCalibrator(shift="centred", pool=False, map="shift").fit(panel, gold)
    again = pj.anchor(calibrator.transform(panel), gold, resamples=10)
    assert again.shift is not None
    np.testing.assert_allclose(again.shift.table["shift"], calibrator.shift_.mean(), atol=1e-9)


def test_none_is_plain_consensus_with_the_shift_reported(labelled: tuple[pj.Panel, pd.DataFrame]) -> None:
    panel, gold = labelled
    calibrator = pj.AnchoredCalibrator(shift="none").fit(panel, gold)
    np.testing.assert_array_equal(
        calibrator.transform(panel).scores, pj.ConsensusCalibrator().fit_transform(panel).scores
    )
    assert (calibrator.shift_se_ > 0).all()
    assert calibrator.labels_.sum() == len(gold)


def test_a_trusted_judge_gives_every_language_its_level() -> None:
    panel, _ = pj.simulate_panel(tasks=50, languages=3, judges=4, seed=3)
    new = pj.AnchoredCalibrator(shift="all", pool=False).fit(panel, trusted="judge2").transform(panel)
    np.testing.assert_allclose(new.cell_means.mean(axis=1), panel.cell_means[:, 1])
    with refused(pj.PanelError, "judge", "x"):
        pj.AnchoredCalibrator().fit(panel, trusted="x")


def test_a_file_gives_it_back(labelled: tuple[pj.Panel, pd.DataFrame], tmp_path: Path) -> None:
    panel, gold = labelled
    calibrator = pj.AnchoredCalibrator(shift="all").fit(panel, gold)
    calibrator.save(tmp_path / "cal.json")
    loaded = pj.load_calibrator(tmp_path / "cal.json")
    assert isinstance(loaded, pj.AnchoredCalibrator)
    np.testing.assert_array_equal(loaded.transform(panel).scores, calibrator.transform(panel).scores)
    shift, _, unseen = loaded.adjustment_.of_rows(pd.Series(["language1"]), pd.Series(["judge1"]), "error")
    assert unseen == 0
    assert shift[0] * calibrator.slope_["judge1"] == pytest.approx(calibrator.correction_.loc["language1", "judge1"])
    assert vars(loaded.fall_) == vars(calibrator.fall_)
    assert (loaded.pool, loaded.map, loaded.tau_) == (True, "auto", calibrator.tau_)
    pd.testing.assert_series_equal(loaded.shift_, calibrator.shift_)
    for change in (
        {"remove_shift": "most"}, {"shift": [1.0]}, {"shift": [None, 1.0, 2.0]}, {"labels": [1.0]},
        {"map": "bent"}, {"slope": [1.0, 1.0, 1.0, -1.0]}, {"fall": [1.0]},
    ):  # fmt: skip
        data = json.loads((tmp_path / "cal.json").read_text()) | change
        del data["checksum"]
        (tmp_path / "bad.json").write_text(json.dumps(data))
        with refused(CalibratorError, "bad.json", "slope" if "slope" in change else next(iter(change))):
            pj.load_calibrator(tmp_path / "bad.json")


def test_languages_without_labels_are_refused_only_when_needed(labelled: tuple[pj.Panel, pd.DataFrame]) -> None:
    panel, gold = labelled
    part = gold[gold["language"] != "language2"]
    with refused(CalibratorError, "language2", "shift='none'"):
        pj.AnchoredCalibrator(shift="all", pool=False).fit(panel, part)
    calibrator = pj.AnchoredCalibrator(shift="none", pool=False).fit(panel, part)
    assert np.isnan(calibrator.shift_["language2"])
    json.dumps(calibrator.to_dict(), allow_nan=False)


def test_usage(labelled: tuple[pj.Panel, pd.DataFrame]) -> None:
    panel, gold = labelled
    with refused(UsageError, "gold", "trusted"):
        pj.AnchoredCalibrator().fit(panel)
    with refused(UsageError, "shift", "some", "centred"):
        pj.AnchoredCalibrator(shift="some")  # type: ignore[arg-type]
    with refused(pj.PanelError, "score", "task, language, preference"):
        pj.AnchoredCalibrator().fit(panel, gold.rename(columns={"score": "preference"}))


def test_a_language_without_labels_gets_the_mean_of_the_others(labelled: tuple[pj.Panel, pd.DataFrame]) -> None:
    panel, gold = labelled
    cal = pj.AnchoredCalibrator(map="shift").fit(panel, gold[gold["language"] != "language2"])
    others = cal.shift_.drop("language2")
    assert others.min() < cal.shift_["language2"] < others.max()
    assert cal.shift_se_["language2"] > 2 * cal.shift_se_.drop("language2").max()
    said = {s.code: s.values for s in cal.cautions(panel)}
    assert said["calibrate.no-labels"]["languages"] == ["language2"]
    assert said["calibrate.no-labels"]["half"] == pytest.approx(1.96 * cal.shift_se_["language2"])


def test_few_labels_are_pulled_to_the_mean_and_many_are_not() -> None:
    """Planted shifts: fifty tasks labelled in five languages, two in the sixth, whose labels are off by chance."""
    rng = np.random.default_rng(3)
    shift = np.array([-6.0, -3.0, 0.0, 3.0, 6.0, 0.0])
    truth = rng.normal(50, 10, (400, 6))
    scores = truth[..., None] + shift[:, None] + rng.normal(0, 8, (400, 6, 3))
    panel = pj.Panel.from_array(scores)
    there = np.zeros((400, 6), bool)
    there[:50, :5], there[:2, 5] = True, True
    t, l = np.nonzero(there)  # noqa: E741
    gold = pd.DataFrame({"task": np.array(panel.tasks)[t], "language": np.array(panel.languages)[l]})
    cal = pj.AnchoredCalibrator(map="shift").fit(panel, gold.assign(score=truth[t, l]))
    own = pj.AnchoredCalibrator(map="shift", pool=False).fit(panel, gold.assign(score=truth[t, l]))
    mean = cal.shift_[:5].mean()
    np.testing.assert_allclose(cal.shift_[:5], own.shift_[:5], atol=0.4)
    assert abs(cal.shift_.iloc[5] - mean) < abs(own.shift_.iloc[5] - mean)
    assert cal.fall_ is not None
    removed, low, high = cal.fall_.removed
    assert 0.9 < low < removed < high <= 1
    assert {s.code for s in cal.cautions(panel)} >= {"calibrate.fall"}


def test_a_slope_is_taken_only_where_left_out_labels_gain() -> None:
    rng = np.random.default_rng(4)
    truth = rng.normal(50, 10, (120, 4))
    for stretch, slope in ((1.0, 1.0), (2.0, 0.5)):
        scores = (50 + stretch * (truth - 50))[..., None] + rng.normal(0, 0.5, (120, 4, 3))
        panel = pj.Panel.from_array(scores)
        t, l = (a.ravel() for a in np.indices((60, 4)))  # noqa: E741
        gold = pd.DataFrame({"task": np.array(panel.tasks)[t], "language": np.array(panel.languages)[l]})
        cal = pj.AnchoredCalibrator().fit(panel, gold.assign(score=truth[t, l]))
        np.testing.assert_allclose(cal.slope_, slope, atol=0.02)
        left = cal.transform(panel).scores[60:].mean(axis=2) - truth[60:]
        assert np.sqrt((left**2).mean()) < 1.0
        one = cal.transform(71.0, language="language2", judge="judge3")
        assert one == pytest.approx(71 * cal.slope_["judge3"] - cal.correction_.loc["language2", "judge3"])


def test_one_judge_can_be_anchored() -> None:
    rng = np.random.default_rng(5)
    truth = rng.normal(50, 10, (60, 3))
    panel = pj.Panel.from_array((truth + np.array([5, 0, -5]))[..., None] + rng.normal(0, 1, (60, 3, 1)))
    t, l = (a.ravel() for a in np.indices((60, 3)))  # noqa: E741
    gold = pd.DataFrame({"task": np.array(panel.tasks)[t], "language": np.array(panel.languages)[l]})
    cal = pj.AnchoredCalibrator(map="shift").fit(panel, gold.assign(score=truth[t, l]))
    np.testing.assert_allclose(cal.shift_, [5, 0, -5], atol=0.6)
    assert pj.AnchoredCalibrator.from_dict(cal.to_dict()).shift_.equals(cal.shift_)
