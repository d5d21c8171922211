"""ConsensusCalibrator: the published interaction, saving, loading, applying, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.panel.errors import CalibratorError, UsageError
from refusals import refused


@pytest.fixture
def panel() -> pj.Panel:
    return pj.simulate_panel(20, 3, 4, replicates=2, seed=5)[0]


@pytest.fixture
def fitted(panel: pj.Panel) -> pj.ConsensusCalibrator:
    return pj.ConsensusCalibrator().fit(panel)


@pytest.mark.real_data
def test_devai_interaction_is_the_published_one(devai: pj.Panel, published: dict[str, Any]) -> None:
    beta = pj.ConsensusCalibrator().fit(devai).interaction_
    assert beta.shape == (8, 6)
    for language, row in published["beta_hat"].items():
        for judge, value in row.items():
            assert beta.loc[language, judge] == pytest.approx(value, abs=1e-9)
    assert beta.loc["Spanish", "GPT-4o"] == pytest.approx(-20.605825116241785, abs=1e-12)


def test_effects_add_up_to_the_cell_means(panel: pj.Panel, fitted: pj.ConsensusCalibrator) -> None:
    rebuilt = (
        fitted.grand_mean_
        + fitted.judge_effect_.to_numpy()[None, :]
        + fitted.language_effect_.to_numpy()[:, None]
        + fitted.interaction_.to_numpy()
    )
    np.testing.assert_allclose(rebuilt, panel.cell_means, atol=1e-12)
    assert (fitted.counts_.to_numpy() == 20).all()


def test_truth_is_recovered_without_noise() -> None:
    panel, truth = pj.simulate_panel(8, 5, 7, seed=1, noise_sd=0.0)
    beta = pj.ConsensusCalibrator().fit(panel).interaction_
    np.testing.assert_allclose(beta, truth.interaction, atol=1e-11)


def test_weighted_variant_follows_its_formula(panel: pj.Panel) -> None:
    means = panel.cell_means
    w = 1 / means.var(axis=0)
    w /= w.sum()
    by_hand = means - means.mean(axis=0) - (means @ w)[:, None] + means.mean(axis=0) @ w
    beta = pj.ConsensusCalibrator(weights="variance").fit(panel).interaction_
    np.testing.assert_allclose(beta, by_hand, atol=1e-11)


def test_a_constant_judge_gets_the_floor_variance() -> None:
    scores = np.random.default_rng(0).normal(size=(9, 3, 4))
    scores[:, :, 2] = 1.0
    beta = pj.ConsensusCalibrator(weights="variance").fit(pj.Panel.from_array(scores)).interaction_
    assert np.isfinite(beta.to_numpy()).all()


def test_save_and_load_give_the_same_numbers(fitted: pj.ConsensusCalibrator, panel: pj.Panel, tmp_path: Path) -> None:
    fitted.save(tmp_path / "cal.json")
    again = pj.load_calibrator(tmp_path / "cal.json")
    pd.testing.assert_frame_equal(again.interaction_, fitted.interaction_, check_exact=True)
    pd.testing.assert_series_equal(again.judge_effect_, fitted.judge_effect_, check_exact=True)
    assert again.fingerprint_ == panel.fingerprint
    np.testing.assert_array_equal(again.transform(panel).scores, fitted.transform(panel).scores)
    assert [p.name for p in tmp_path.iterdir()] == ["cal.json"]


def test_transform_takes_labels_not_positions(panel: pj.Panel, fitted: pj.ConsensusCalibrator) -> None:
    turned = panel.select(languages=panel.languages[::-1], judges=panel.judges[::-1])
    np.testing.assert_array_equal(fitted.transform(turned).scores[:, ::-1, ::-1], fitted.transform(panel).scores)
    assert fitted.transform(panel).replicate_scores is not None


def test_clip_is_only_on_request() -> None:
    scores = np.zeros((4, 2, 2))
    scores[:, 0, 0] = 1.0
    panel = pj.Panel.from_array(scores)
    calibrator = pj.ConsensusCalibrator().fit(panel)
    assert calibrator.transform(panel).scores.min() == pytest.approx(-0.25)
    clipped = calibrator.transform(panel, clip=True).scores
    assert clipped.min() == 0.0
    assert clipped.max() == pytest.approx(0.75)


def test_unseen_labels_are_refused(panel: pj.Panel, fitted: pj.ConsensusCalibrator) -> None:
    other = pj.Panel.from_array(panel.scores, panel.tasks, ("language1", "Klingon", "language3"), panel.judges)
    with refused(CalibratorError, "Klingon", "language3"):
        fitted.transform(other)


def test_not_fitted() -> None:
    with refused(CalibratorError, "fit(panel)"):
        pj.ConsensusCalibrator().save("nowhere.json")
    with refused(UsageError, "weights", "best"):
        pj.ConsensusCalibrator(weights="best")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"format": "something"}, ("format", "polyjudge-calibrator")),
        ({"version": 99}, (99, pj.__version__)),
        ({"interaction": [[1.0]]}, ("interaction", (3, 4), (1, 1))),
        ({"interaction": None}, ("interaction", (3, 4), ())),
        ({"languages": ["a", "a", "b"]}, ("languages", "differ")),
        ({"judges": "abcd"}, ("judges", "strings")),
        ({"grand_mean": "x"}, ("x",)),
        ({"weights": "best"}, ("weights", "best")),
    ],
)
def test_damaged_files_are_refused(
    change: dict[str, Any], named: tuple[object, ...], fitted: pj.ConsensusCalibrator, tmp_path: Path
) -> None:
    path = tmp_path / "cal.json"
    path.write_text(json.dumps({**fitted.to_dict(), **change}))
    with refused(CalibratorError, "cal.json", *named):
        pj.load_calibrator(path)


def test_nan_in_a_file_is_refused(fitted: pj.ConsensusCalibrator, tmp_path: Path) -> None:
    data = fitted.to_dict()
    data["interaction"][0][0] = float("nan")
    path = tmp_path / "cal.json"
    path.write_text(json.dumps(data))
    with refused(CalibratorError, "cal.json", "finite"):
        pj.load_calibrator(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with refused(CalibratorError, "none.json"):
        pj.load_calibrator(tmp_path / "none.json")
