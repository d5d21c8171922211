"""LabelCalibrator: what it corrects, what it says it removes, how it is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from polyjudge.answers.calibrate import apply, calibrate
from polyjudge.base.errors import CalibratorError, UsageError
from polyjudge.calibrate.by_labels import LabelCalibrator
from polyjudge.calibrate.saved import load_calibrator
from polyjudge.panel import Panel


def planted(
    k: int = 5, tasks: int = 200, labels: int = 40, errors: float = 8.0, seed: int = 0
) -> tuple[Panel, pd.DataFrame, np.ndarray]:
    """A panel of two judges with language errors, and labels with noise."""
    rng = np.random.default_rng(seed)
    truth = 50 + rng.normal(0, 10, (tasks, 1, k))
    e = rng.normal(0, errors, k)
    judge = truth[..., None] + e[:, None] + rng.normal(0, 4, (tasks, 1, k, 2))
    panel = Panel.from_array(judge, languages=[f"l{i}" for i in range(k)], scale=(0, 100))
    rows = [
        (panel.tasks[t], f"l{i}", truth[t, 0, i] + rng.normal(0, 5))
        for i in range(k)
        for t in rng.permutation(tasks)[:labels]
    ]
    return panel, pd.DataFrame(rows, columns=["task", "language", "label"]), truth


def error(x: np.ndarray, truth: np.ndarray) -> float:
    """Variance over languages of the mean error."""
    return float((x - truth).mean((0, 1)).var())


def test_it_removes_what_it_says() -> None:
    panel, frame, truth = planted()
    made = LabelCalibrator().fit(panel, frame)
    gone = 1 - error(made.transform(panel), truth) / error(panel.scores.mean(3), truth)
    assert made.removes_ is not None
    assert made.removes_[1] <= gone <= made.removes_[2]
    assert gone > 0.8


@pytest.mark.statistical
def test_what_it_says_covers() -> None:
    held = []
    for seed in range(60):
        panel, frame, truth = planted(labels=20, errors=4.0, seed=seed)
        made = LabelCalibrator().fit(panel, frame)
        gone = 1 - error(made.transform(panel), truth) / error(panel.scores.mean(3), truth)
        assert made.removes_ is not None
        held.append(made.removes_[1] <= gone <= made.removes_[2])
    assert np.mean(held) >= 0.9 - 2 * (0.9 * 0.1 / 60) ** 0.5


def test_nothing_to_correct_is_shrunk_away() -> None:
    shifts = []
    for seed in range(12):
        panel, frame, _ = planted(errors=0.0, seed=seed)
        shifts.append([float(np.ptp(LabelCalibrator(shrink=x).fit(panel, frame).shift_)) for x in (True, False)])
    shrunk, plain = np.mean(shifts, axis=0)
    assert shrunk < 0.7 * plain


def test_two_languages_are_corrected_only_where_it_surely_helps() -> None:
    panel, frame, _ = planted(k=2, errors=0.0)
    assert np.ptp(LabelCalibrator().fit(panel, frame).shift_) == 0
    shifted = panel.scores + np.array([0, 20.0])[:, None]
    strong = Panel.from_array(shifted, languages=panel.languages, tasks=panel.tasks, scale=(0, 120))
    made = LabelCalibrator().fit(strong, frame)
    assert np.ptp(made.shift_) > 5
    assert made.removes_ is not None
    assert made.removes_[1] > 0


def test_one_language_has_its_mean_residual() -> None:
    panel, frame, truth = planted(k=1)
    made = LabelCalibrator().fit(panel, frame)
    assert made.removes_ is None
    assert made.transform(panel).mean() == pytest.approx(truth.mean(), abs=2)


def test_too_few_labels_say_nothing() -> None:
    panel, frame, _ = planted(labels=19)
    assert LabelCalibrator().fit(panel, frame).removes_ is None


def test_annotators_widen_what_is_said() -> None:
    panel, frame, _ = planted(errors=4.0)
    rng = np.random.default_rng(0)
    who = [f"{x}-{i % 2}" for i, x in enumerate(frame["language"])]
    harsh = {w: rng.normal(0, 8) for w in sorted(set(who))}
    frame = frame.assign(annotator=who, label=frame["label"] + [harsh[w] for w in who])
    named, unnamed = (LabelCalibrator().fit(panel, x) for x in (frame, frame.drop(columns="annotator")))
    assert named.v_.mean() > 2 * unnamed.v_.mean()
    assert named.removes_[1] < unnamed.removes_[1]  # type: ignore[index]


def test_another_scale_is_mapped() -> None:
    panel, frame, truth = planted()
    made = LabelCalibrator().fit(panel, frame.assign(label=frame["label"] / 10 - 20))
    assert error(made.transform(panel), truth / 10 - 20) < 0.3 * error(panel.scores.mean(3) / 10, truth / 10)
    clipped = made.transform(panel)
    assert clipped.min() >= made.scale_[0]
    assert clipped.max() <= made.scale_[1]


def test_values_by_language() -> None:
    panel, frame, _ = planted()
    made = LabelCalibrator().fit(panel, frame)
    mean = panel.scores.mean(3)
    assert made.transform(mean[:, 0, 1], language="l1") == pytest.approx(made.transform(panel)[:, 0, 1])
    assert made.transform(mean[0, 0], language=panel.languages) == pytest.approx(made.transform(panel)[0, 0])
    with pytest.raises(CalibratorError, match="l9"):
        made.transform(mean[0, 0], language="l9")
    with pytest.raises(UsageError, match="language="):
        made.transform(mean[0, 0])
    with pytest.raises(CalibratorError, match="fit"):
        LabelCalibrator().transform(panel)


def files(folder: Path) -> tuple[Panel, Path, Path, Path]:
    """Scores, labels, and scores with a column of labels, as files."""
    panel, frame, _ = planted()
    scores, labels, both = (folder / f"{x}.csv" for x in ("scores", "labels", "both"))
    panel.to_frame().to_csv(scores, index=False)
    frame.to_csv(labels, index=False)
    panel.to_frame().merge(frame.rename(columns={"label": "human"}), how="left").to_csv(both, index=False)
    return panel, scores, labels, both


def test_commands_fit_save_and_apply_it(tmp_path: Path) -> None:
    panel, scores, labels, both = files(tmp_path)
    out, again, saved = (tmp_path / x for x in ("out.csv", "again.csv", "cal.json"))
    found = calibrate(scores, labels=labels, output=out, save=saved)
    made: Any = load_calibrator(saved)
    assert "removes" in found.findings[0].text
    assert pd.read_csv(out)["corrected"].to_numpy() == pytest.approx(made.transform(panel).ravel())
    apply(scores, saved, output=again)
    assert again.read_text() == out.read_text()
    with pytest.raises(UsageError, match=r"name a \.csv file"):
        apply(scores, saved, output=tmp_path / "again.parquet")
    own: Any = calibrate(both, method="labels").calibrator_
    assert own.shift_ == pytest.approx(made.shift_)
    saved.write_text(saved.read_text().replace('"shift": [', '"shift": [1', 1))
    with pytest.raises(CalibratorError, match="checksum"):
        load_calibrator(saved)
    options: list[Any] = [{"extend": saved}, {"method": "cbc-weighted"}, {"level": 2.0}]
    for more in options:
        with pytest.raises(UsageError, match=r"Labels correct|at least 0\.5"):
            calibrate(scores, labels=labels, **more)


def test_weights_of_judges_are_applied(tmp_path: Path) -> None:
    panel, scores, labels, _ = files(tmp_path)
    weights, out, cal, by = (tmp_path / x for x in ("weights.csv", "out.csv", "cal.json", "by.json"))
    pd.DataFrame({"judge": panel.judges, "weight": [3, 1]}).to_csv(weights, index=False)
    made = calibrate(scores, save=cal).calibrator_
    apply(scores, cal, output=out, weights=weights)
    expected = made.transform(panel).scores @ np.array([0.75, 0.25])
    assert pd.read_csv(out)["weighted"].to_numpy() == pytest.approx(expected.ravel())
    calibrate(scores, labels=labels, save=by)
    with pytest.raises(UsageError, match="weights do not go"):
        apply(scores, by, output=out, weights=weights, overwrite=True)
    for text, words in (("judge,weight\nJ1,1\n", "no weight for J2"), ("judge,weight\nJ1,1\nJ2,-1\n", "from 0 on")):
        weights.write_text(text)
        with pytest.raises(UsageError, match=words):
            apply(scores, cal, output=out, weights=weights, overwrite=True)


def test_corrected_answers_as_a_table() -> None:
    panel, frame, _ = planted()
    made = LabelCalibrator().fit(panel, frame)
    table = made.corrected(panel)
    assert table.columns.tolist() == ["task", "system", "language", "panel", "corrected"]
    first = table[(table["task"] == "t3") & (table["language"] == "l2")].iloc[0]
    assert first["panel"] == pytest.approx(panel.scores[2, 0, 2].mean())
    assert first["corrected"] == pytest.approx(made.transform(panel)[2, 0, 2])
