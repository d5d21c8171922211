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
    new = pj.AnchoredCalibrator(weights, shift="all").fit(panel, gold).transform(panel)
    again = pj.anchor(new, gold, resamples=10)
    assert again.shift is not None
    np.testing.assert_allclose(again.shift.table["shift"], 0, atol=1e-9)
    np.testing.assert_allclose(pj.ConsensusCalibrator().fit(new).interaction_, 0, atol=1e-9)


def test_centred_keeps_the_mean_shift(labelled: tuple[pj.Panel, pd.DataFrame]) -> None:
    panel, gold = labelled
    calibrator = pj.AnchoredCalibrator(shift="centred").fit(panel, gold)
    again = pj.anchor(calibrator.transform(panel), gold, resamples=10)
    assert again.shift is not None
    np.testing.assert_allclose(again.shift.table["shift"], calibrator.shift_.mean(), atol=1e-9)


def test_none_is_plain_consensus_with_the_shift_reported(labelled: tuple[pj.Panel, pd.DataFrame]) -> None:
    panel, gold = labelled
    calibrator = pj.AnchoredCalibrator().fit(panel, gold)
    np.testing.assert_array_equal(
        calibrator.transform(panel).scores, pj.ConsensusCalibrator().fit_transform(panel).scores
    )
    assert (calibrator.shift_se_ > 0).all()
    assert calibrator.labels_.sum() == len(gold)


def test_a_trusted_judge_gives_every_language_its_level() -> None:
    panel, _ = pj.simulate_panel(tasks=50, languages=3, judges=4, seed=3)
    new = pj.AnchoredCalibrator(shift="all").fit(panel, trusted="judge2").transform(panel)
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
    assert shift[0] == calibrator.correction_.loc["language1", "judge1"]
    pd.testing.assert_series_equal(loaded.shift_, calibrator.shift_)
    for change in ({"remove_shift": "most"}, {"shift": [1.0]}, {"shift": [None, 1.0, 2.0]}, {"labels": [1.0]}):
        data = json.loads((tmp_path / "cal.json").read_text()) | change
        del data["checksum"]
        (tmp_path / "bad.json").write_text(json.dumps(data))
        with refused(CalibratorError, "bad.json", *change):
            pj.load_calibrator(tmp_path / "bad.json")


def test_languages_without_labels_are_refused_only_when_needed(labelled: tuple[pj.Panel, pd.DataFrame]) -> None:
    panel, gold = labelled
    part = gold[gold["language"] != "language2"]
    with refused(CalibratorError, "language2", "shift='none'"):
        pj.AnchoredCalibrator(shift="all").fit(panel, part)
    calibrator = pj.AnchoredCalibrator().fit(panel, part)
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
