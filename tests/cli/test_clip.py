"""Calibrated scores beyond the scale: counted, and cut when asked, in every engine alike."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge as pj

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
    assert (
        cli("calibrate", scores, "--method", "sparse", "--shrinkage", "0.5", "-o", tmp_path / "o.csv").returncode == 2
    )
