"""Calibrated scores beyond the scale: counted, and cut when asked, in every engine alike."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from refusals import lacks

Run = Callable[..., Any]


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    """Scores at the ends of a 1-5 scale, with an interaction that pushes some beyond it."""
    rng = np.random.default_rng(0)
    values = np.clip(np.round(rng.normal(3, 1.5, (40, 2, 3)) + np.array([[0, 0, 0], [2, 0, -2]])), 1, 5)
    path = tmp_path / "scores.csv"
    pj.Panel.from_array(values, declared_range=(1, 5)).to_long().to_csv(path, index=False)
    return path


def test_scores_beyond_the_scale_are_counted_and_cut(cli: Run, scores: Path, tmp_path: Path) -> None:
    plain = cli(
        "calibrate", scores, "--range", "1:5", "-o", tmp_path / "plain.csv", "--save", tmp_path / "cal.json", "--json"
    )
    found = json.loads(plain.stdout)
    values = pd.read_csv(tmp_path / "plain.csv")["calibrated"]
    assert found["outside"] == ((values < 1 - 1e-6) | (values > 5 + 1e-6)).sum() > 0
    cut = cli("calibrate", scores, "--range", "1:5", "--clip", "-o", tmp_path / "cut.csv")
    assert cut.returncode == 0, cut.stderr
    expected = values.clip(1, 5)
    assert pd.read_csv(tmp_path / "cut.csv")["calibrated"].to_numpy() == pytest.approx(expected.to_numpy())
    again = cli("apply", tmp_path / "cal.json", scores, "--clip", "1:5", "-o", tmp_path / "applied.csv")
    assert again.returncode == 0, again.stderr
    assert pd.read_csv(tmp_path / "applied.csv")["calibrated"].to_numpy() == pytest.approx(expected.to_numpy())


def test_the_scale_is_meant_not_the_scores_seen(cli: Run, tmp_path: Path) -> None:
    """Scores from 28 to 100 are on a scale of 0 to 100: 25 is no score beyond it. An open scale has no ends."""
    values = pj.simulate_panel(60, 5, 4, seed=4, interaction=12.0)[0].scores + 25
    path = tmp_path / "s.csv"
    pj.Panel.from_array(np.clip(values, 0, 100).round()).to_long().to_csv(path, index=False)
    done = cli("calibrate", path, "-o", tmp_path / "plain.csv")
    found = pd.read_csv(tmp_path / "plain.csv")["calibrated"]
    beyond = int(((found < -1e-6) | (found > 100 + 1e-6)).sum())
    assert beyond > 0
    assert not lacks(done.stdout, beyond, "1,200", 0, 100, "--clip")
    assert cli("calibrate", path, "-o", tmp_path / "cut.csv", "--clip").returncode == 0
    np.testing.assert_allclose(pd.read_csv(tmp_path / "cut.csv")["calibrated"], found.clip(0, 100))
    pj.Panel.from_array(values * 10).to_long().to_csv(path, index=False)
    assert "--clip" not in cli("calibrate", path, "-o", tmp_path / "open.csv").stdout
    refused = cli("calibrate", path, "-o", tmp_path / "open2.csv", "--clip")
    assert refused.returncode == 2
    assert "--range LOW:HIGH" in refused.stderr


def test_a_missing_score_stays_missing_when_cut(scores: Path) -> None:
    frame = pd.read_csv(scores)
    frame.loc[3, "score"] = np.nan
    adjustment = pj.ConsensusCalibrator().fit(pj.read_panel(scores)).adjustment_.clipped((1.0, 5.0))
    out = adjustment.table(frame)["calibrated"]
    assert np.isnan(out[3])
    assert out.drop(3).between(1, 5).all()


def test_other_methods_are_saved_without_naming_shrinkage(cli: Run, scores: Path, tmp_path: Path) -> None:
    done = cli("calibrate", scores, "--method", "sparse", "-o", tmp_path / "out.csv")
    assert done.returncode == 0, done.stderr
    assert cli("calibrate", scores, "--method", "sparse", "--shrink", "-o", tmp_path / "o.csv").returncode == 2


def test_a_wrong_scale_of_apply_is_named_by_its_own_flag(cli: Run, scores: Path, tmp_path: Path) -> None:
    cli("calibrate", scores, "--save", tmp_path / "cal.json")
    done = cli("apply", tmp_path / "cal.json", scores, "-o", tmp_path / "a.csv", "--clip", "5")
    assert done.returncode == 2
    assert not lacks(done.stderr, "--clip", 5)
