"""Who passes after calibrating: the column `passes`, and what is said of scores on the mark."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from polyjudge.answers.audit.gates import gates
from polyjudge.answers.calibrate import calibrate
from polyjudge.answers.humans.compare import humans
from polyjudge.base.errors import PanelError, UsageError
from polyjudge.calibrate.consensus import ConsensusCalibrator
from polyjudge.calibrate.passes import count_near, count_tipped, estimate_rates, split_at_mark
from polyjudge.panel import Panel


def whole(n: int = 100, k: int = 3, m: int = 4, seed: int = 0) -> np.ndarray:
    g = np.random.default_rng(seed)
    shift = np.round(g.normal(0, 1, (k, m)))
    return np.clip(g.integers(1, 6, (n, 1, k, m)) + shift, 1, 5).astype(float)


def rows(y: np.ndarray) -> pd.DataFrame:
    return Panel.from_array(y, languages=["de", "en", "th"], judges=list("ABCD")).to_frame()


def calibrated_rates(y: np.ndarray, mark: float) -> np.ndarray:
    raw = (y >= mark).mean((0, 1))
    centred = raw - raw.mean(0) - raw.mean(1, keepdims=True) + raw.mean()
    return np.clip(raw - centred, 0, 1)


@pytest.mark.parametrize("shape", ["long", "wide"])
def test_the_mean_of_passes_is_the_calibrated_rate(shape: str, tmp_path: Path) -> None:
    y = whole()
    frame = rows(y)
    want = pd.DataFrame(calibrated_rates(y, 4), index=["de", "en", "th"], columns=list("ABCD"))
    if shape == "wide":
        frame = frame.pivot(index=["task", "language"], columns="judge", values="score").reset_index()
    made = calibrate(frame, output=tmp_path / "out.csv", threshold=">=4")
    table = pd.read_csv(tmp_path / "out.csv")
    if shape == "wide":
        found = table.groupby("language")[[f"passes_{x}" for x in "ABCD"]].mean()
        assert found.to_numpy() == pytest.approx(want.to_numpy(), abs=1e-9)
        return
    assert list(table.columns) == [*frame.columns, "calibrated", "passes"]
    found = table.pivot_table(index="language", columns="judge", values="passes")
    assert found.to_numpy() == pytest.approx(want.to_numpy(), abs=1e-9)
    # Highest scores first, ties alike.
    for _, cell in table.groupby(["language", "judge"]):
        share = cell.groupby("score")["passes"].agg(["min", "max"])
        assert (share["min"] == share["max"]).all()
        assert (np.diff(share["max"]) >= 0).all()
        assert ((share["max"] > 0) & (share["max"] < 1)).sum() <= 1
    assert any("calibrating may move them over it" in f.text for f in made.findings)
    assert made.findings[-1].text.endswith("holds the scores and the columns calibrated and passes.")


def test_repeats_are_rows_of_their_own(tmp_path: Path) -> None:
    g = np.random.default_rng(1)
    frame = pd.concat([rows(whole()).assign(run=run) for run in (1, 2)])
    frame["score"] = np.clip(frame["score"] + g.integers(0, 2, len(frame)), 1, 5)
    calibrate(frame, output=tmp_path / "out.csv", threshold=">=4", replicate="run")
    table = pd.read_csv(tmp_path / "out.csv")
    means = frame.groupby(["task", "language", "judge"])["score"].mean().unstack(["language", "judge"])
    y = means.to_numpy().reshape(-1, 1, 3, 4)
    found = table.pivot_table(index="language", columns="judge", values="passes")
    assert found.to_numpy() == pytest.approx(calibrated_rates(y, 4), abs=1e-9)


def test_missing_scores_pass_nowhere(tmp_path: Path) -> None:
    y = whole()
    y[np.random.default_rng(2).random(y.shape) < 0.1] = np.nan
    frame = rows(whole()).assign(score=y[:, 0].ravel())
    calibrate(frame, output=tmp_path / "out.csv", threshold=">=4")
    table = pd.read_csv(tmp_path / "out.csv")
    assert (table["passes"].isna() == table["score"].isna()).all()
    rates = estimate_rates(Panel.from_array(y).passes(4, ">=")).calibrated
    assert rates is not None
    found = table.pivot_table(index="language", columns="judge", values="passes").to_numpy().ravel()
    assert found == pytest.approx(rates.share, abs=1e-9)


def test_none_or_all_pass() -> None:
    y = np.full((10, 1, 2, 2), 3.0)
    y[0] = 2.0
    for mark, share in ((1.0, 1.0), (3.5, 0.0)):
        frame = split_at_mark(Panel.from_array(y, scale=(1, 5)), mark, ">=")
        passing = np.where(y > frame["cut"][0] + frame["tiny"][0], 1.0, 0.0)
        passing = np.where(np.abs(y - frame["cut"][0]) <= frame["tiny"][0], frame["share"][0], passing)
        assert passing.mean() == share


def test_what_is_said_of_scores_on_a_mark() -> None:
    said = [f.key for f in calibrate(rows(whole())).findings]
    assert "gate-whole" in said
    smooth = rows(whole() + np.random.default_rng(3).normal(0, 0.5, (100, 1, 3, 4)))
    assert not [f for f in calibrate(smooth).findings if f.key.startswith("gate")]
    panel = Panel.from_array(np.array([3.0, 4.0, 4.3, 5.0] * 4).reshape(4, 1, 2, 2))
    beta = np.array([[0.2, -0.2], [-0.2, 0.2]])
    assert count_near(panel, beta, 4.0) == 0.25
    assert count_near(panel, 2 * beta, 4.0) == 0.5
    assert count_near(panel, 0 * beta, 4.0) == 0


def test_ties_that_calibrating_tipped_are_counted() -> None:
    y = np.random.default_rng(5).integers(1, 6, (100, 1, 3, 4)).astype(float)
    panel = Panel.from_array(y, scale=(1, 5))
    moved = ConsensusCalibrator().fit(panel).transform(panel)
    shift = (moved.scores - y).mean((0, 1))
    assert (np.abs(shift) > 1e-3).all()
    assert (np.abs(shift) < 0.5).all()
    assert count_tipped(moved, 4.0) == (y == 4).sum()
    assert count_tipped(panel, 4.0) == 0
    assert count_tipped(moved, 4.4) == 0
    smooth = Panel.from_array(y + np.random.default_rng(4).normal(0, 0.5, y.shape))
    assert count_tipped(ConsensusCalibrator().fit(smooth).transform(smooth), 4.0) == 0
    findings = gates(moved, ">=4", level=0.95).findings
    assert [finding.key for finding in findings] == ["gates", "tipped-ties"]
    text = findings[-1].text
    assert text.startswith(
        f"{(y == 4).sum():,} of {y.size:,} scores stood on the pass mark 4 before they were calibrated"
    )


def test_people_beside_calibrated_scores_are_told_of_tipped_ties() -> None:
    """Single judges then agree otherwise with them, only because of ties that were tipped."""
    y = np.random.default_rng(5).integers(1, 6, (100, 1, 3, 4)).astype(float)
    panel = Panel.from_array(y, scale=(1, 5))
    labels = pd.DataFrame({"task": panel.tasks, "label": (np.arange(100) % 10 > 0).astype(float)}).merge(
        pd.DataFrame({"language": panel.languages}), how="cross"
    )
    moved = ConsensusCalibrator().fit(panel).transform(panel)
    said = [f for f in humans(moved, labels, threshold=">=4").findings if f.key == "tipped-ties"]
    assert len(said) == 1
    assert said[0].text.startswith(f"{(y == 4).sum():,} of ")
    assert not [f for f in humans(panel, labels, threshold=">=4").findings if f.key == "tipped-ties"]


def test_a_threshold_goes_with_nothing_else(tmp_path: Path) -> None:
    frame = rows(whole())
    with pytest.raises(UsageError, match="leave out --labels and --extend"):
        calibrate(frame, threshold=">=4", labels=frame.assign(label=1))
    with pytest.raises(UsageError, match="outside the scale"):
        calibrate(frame, threshold=">=40", output=tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()
    empty = frame[(frame["language"] != "de") | (frame["judge"] != "A")]
    with pytest.raises(PanelError, match="some judge has no score in some language"):
        calibrate(empty, threshold=">=4", output=tmp_path / "out.csv")
    with pytest.raises(UsageError, match="a column passes already"):
        calibrate(frame.assign(passes=1), threshold=">=4", output=tmp_path / "out.csv")
