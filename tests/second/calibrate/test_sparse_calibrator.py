"""SparseCalibrator: only the named cells move; saved, loaded, applied and compared like the others."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.panel.errors import CalibratorError
from polyjudge.second.questions.audit import explain
from polyjudge.second.questions.drift.drift import drift
from refusals import refused

LANGUAGES = ["English", "Arabic", "Turkish", "Chinese", "Hindi", "Japanese", "Spanish", "Swahili"]


def broken(seed: int = 1, **more: object) -> pj.Panel:
    """An additive panel but for judge b in Spanish."""
    fault = np.zeros((8, 6))
    fault[6, 1] = -20
    return pj.simulate_panel(languages=LANGUAGES, judges=list("abcdef"), interaction=fault, seed=seed, **more)[0]


def test_only_the_broken_cell_moves() -> None:
    panel = broken()
    cal = pj.SparseCalibrator().fit(panel)
    moved = cal.correction_.to_numpy() != 0
    assert cal.kind_ == "cell"
    assert np.argwhere(moved).tolist() == [[6, 1]]
    after = cal.transform(panel)
    assert np.array_equal(after.scores[:, ~moved], panel.scores[:, ~moved])
    assert (after.scores - panel.scores)[:, 6, 1] == pytest.approx(20, abs=3)


def test_a_true_order_is_kept_where_double_centring_erases_it() -> None:
    """Judge b is a little more lenient than c everywhere; Spanish by b broke."""
    rng = np.random.default_rng(3)
    judge = np.array([0.0, 2.0, 0.0, -5.0, 5.0, 9.0])
    scores = rng.normal(50, 12, (60, 1, 1)) + judge + rng.normal(0, 3, (60, 8, 6))
    scores[:, 6, 1] -= 20
    panel = pj.Panel.from_array(scores, languages=LANGUAGES, judges=list("abcdef"))
    sparse = pj.SparseCalibrator().fit(panel).transform(panel).cell_means
    consensus = pj.ConsensusCalibrator().fit(panel).transform(panel).cell_means
    assert (sparse[:, 1] > sparse[:, 2]).all()
    assert (consensus[:, 1] < consensus[:, 2]).all()  # what the sparse reading is for


def test_nothing_moves_in_an_additive_panel() -> None:
    panel, _ = pj.simulate_panel(interaction=0.0, seed=2)
    cal = pj.SparseCalibrator().fit(panel)
    assert cal.kind_ == "none"
    assert np.array_equal(cal.transform(panel).scores, panel.scores)
    assert not (cal.correction_ != 0).any(axis=None)


def test_it_names_what_explain_names(devai_like: pj.Panel) -> None:
    cal = pj.SparseCalibrator().fit(devai_like)
    frame = explain(devai_like).to_frame()
    assert np.array_equal(frame["named"].to_numpy(), cal.named_.to_numpy().ravel())
    assert frame["excess"].to_numpy() == pytest.approx(cal.excess_.to_numpy().ravel())


def test_save_and_load_and_apply(tmp_path: Path) -> None:
    panel = broken()
    cal = pj.SparseCalibrator(seed=3).fit(panel)
    cal.save(tmp_path / "cal.json")
    again = pj.load_calibrator(tmp_path / "cal.json")
    assert isinstance(again, pj.SparseCalibrator)
    assert again.to_dict() == cal.to_dict()
    pd.testing.assert_frame_equal(again.correction_, cal.correction_)
    table = again.apply(panel.to_long())
    assert (
        (table["calibrated"] != table["score"]) == ((table["language"] == "Spanish") & (table["judge"] == "b"))
    ).all()


@pytest.mark.parametrize(
    ("field", "value"),
    [("named", [[1] * 6] * 8), ("excess", [[0.0] * 6] * 7), ("explanation", "ghost"), ("level", 7), ("named", None)],
)
def test_damaged_files_are_refused(tmp_path: Path, field: str, value: object) -> None:
    data = pj.SparseCalibrator().fit(broken()).to_dict() | {field: value}
    (tmp_path / "cal.json").write_text(json.dumps(data))
    with refused(CalibratorError, "cal.json", field):
        pj.load_calibrator(tmp_path / "cal.json")


def test_it_is_watched_for_drift_like_the_others() -> None:
    panel, _ = pj.simulate_panel(languages=LANGUAGES, judges=list("abcdef"), interaction=0.0, seed=1)
    cal = pj.SparseCalibrator().fit(panel)
    assert not drift(cal, panel).cells["changed"].any()
    assert drift(cal, broken()).cells["changed"].any()


def test_compare_ranks_it_above_consensus_where_one_cell_broke() -> None:
    frame = pj.compare(broken(), ["raw", "cbc", "sparse"], resamples=200).to_frame().set_index("method")
    # Not by the gain: it is the distance to the panel mean, and a mended cell goes back to its judge's own level.
    assert frame.loc["sparse", "tau"] > frame.loc["cbc", "tau"] > frame.loc["raw", "tau"]


def test_new_languages_are_left_as_they_are() -> None:
    panel = broken()
    cal = pj.SparseCalibrator().fit(panel.select(languages=LANGUAGES[1:]))
    wider = cal.extend(panel.select(tasks=panel.tasks[:8]))
    assert (wider.correction_.loc["English"] == 0).all()
    assert wider.correction_.loc["Spanish", "b"] == cal.correction_.loc["Spanish", "b"]
