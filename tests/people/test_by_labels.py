"""LabelCalibrator: what it corrects, what it says it removes, how it is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from polyjudge.answers.calibrate import apply, calibrate
from polyjudge.base.errors import CalibratorError, UsageError
from polyjudge.calibrate.by_labels import LabelCalibrator
from polyjudge.calibrate.saved import _checksum, load_calibrator
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


def fall(panel: Panel, frame: pd.DataFrame, truth: np.ndarray) -> tuple[LabelCalibrator, float]:
    made = LabelCalibrator().fit(panel, frame)
    return made, 1 - error(made.transform(panel), truth) / error(panel.scores.mean(3), truth)


def test_it_removes_what_it_says() -> None:
    held = []
    for seed in range(10):
        made, gone = fall(*planted(seed=seed))
        assert made.removes_ is not None
        assert gone > 0.7
        held.append(made.removes_[1] - 0.01 <= gone <= made.removes_[2] + 0.01)  # truth, not labels
    assert sum(held) >= 9


@pytest.mark.statistical
def test_what_it_says_covers() -> None:
    held = []
    for seed in range(60):
        made, gone = fall(*planted(labels=20, errors=4.0, seed=seed))
        if made.removes_ is not None:
            held.append(made.removes_[1] <= gone <= made.removes_[2])
    assert len(held) > 30
    assert np.mean(held) >= 0.93 - 2 * (0.93 * 0.07 / len(held)) ** 0.5


def test_nothing_to_correct_is_shrunk_away() -> None:
    shifts = []
    for seed in range(12):
        panel, frame, _ = planted(errors=0.0, seed=seed)
        shifts.append([float(np.ptp(LabelCalibrator(shrink=x).fit(panel, frame).shift_)) for x in (True, False)])
    shrunk, plain = np.mean(shifts, axis=0)
    assert shrunk < 0.7 * plain


def test_two_languages_are_moved_as_far_as_labels_tell() -> None:
    panel, frame, truth = planted(k=2, errors=0.0)
    assert np.ptp(LabelCalibrator().fit(panel, frame).moved_) < 1
    shifted = panel.scores + np.array([0, 20.0])[:, None]
    strong = Panel.from_array(shifted, languages=panel.languages, tasks=panel.tasks, scale=(0, 120))
    made, gone = fall(strong, frame, truth)
    assert made.moved_[0] - made.moved_[1] == pytest.approx(20, abs=2)
    assert made.removes_ is not None
    assert gone > made.removes_[1] > 0.5


def test_two_languages_with_few_labels_are_not_harmed() -> None:
    change = []
    for seed in range(20):
        panel, frame, truth = planted(k=2, labels=20, errors=6.0, seed=seed)
        made = LabelCalibrator().fit(panel, frame)
        change.append((error(made.transform(panel), truth), error(panel.scores.mean(3), truth)))
    after, before = np.sum(change, axis=0)
    assert after < 0.25 * before


def test_the_map_moves_no_difference_between_languages() -> None:
    panel, frame, _ = planted(errors=0.0)
    bent = Panel.from_array(
        100 * (panel.scores / 100) ** 3, languages=panel.languages, tasks=panel.tasks, scale=(0, 100)
    )
    made = LabelCalibrator().fit(bent, frame)
    before, after = bent.scores.mean((0, 1, 3)), made.transform(bent).mean((0, 1))
    assert after - before == pytest.approx(made.moved_, abs=1e-6)


def test_one_language_has_its_mean_residual() -> None:
    panel, frame, truth = planted(k=1)
    made = LabelCalibrator().fit(panel, frame)
    assert made.removes_ is None
    assert made.transform(panel).mean() == pytest.approx(truth.mean(), abs=2)


def untold(panel: Panel, frame: pd.DataFrame) -> str:
    made = LabelCalibrator().fit(panel, frame)
    assert made.removes_ is None
    return made.findings()[0].text


def test_too_few_labels_say_nothing() -> None:
    panel, frame, _ = planted(labels=9)
    assert untold(panel, frame).endswith("cannot be told yet: label 20 per language.")


def test_labels_that_are_nearly_all_alike_ask_for_no_more() -> None:
    panel, frame, _ = planted(labels=40)
    frame["label"] = 0.0
    frame.loc[[3, 70, 120], "label"] = 100.0
    assert untold(panel, frame).endswith("cannot be told: nearly all labels are alike.")
    assert LabelCalibrator().fit(panel, frame).ask_ == 0
    alike = np.ones((40, 1, 3, 1))
    alike[:20] = 0
    same = Panel.from_array(alike, languages=["a", "b", "c"], scale=(0, 1))
    rows = [(task, x, alike[i, 0, 0, 0]) for i, task in enumerate(same.tasks[5:35], 5) for x in same.languages]
    text = untold(same, pd.DataFrame(rows, columns=["task", "language", "label"]))
    assert text.endswith("on nearly all labelled answers people and panel say the same.")


def harsh_labels(frame: pd.DataFrame, who: list[str], size: float = 8.0, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    harsh = {w: rng.normal(0, size) for w in sorted(set(who))}
    return frame.assign(annotator=who, label=frame["label"] + [harsh[w] for w in who])


def test_annotators_of_single_languages_widen_the_error() -> None:
    panel, frame, _ = planted(errors=4.0)
    frame = harsh_labels(frame, [f"{x}-{i % 2}" for i, x in enumerate(frame["language"])])
    named, unnamed = (LabelCalibrator().fit(panel, x) for x in (frame, frame.drop(columns="annotator")))
    assert named.variance_.mean() > 2 * unnamed.variance_.mean()
    assert named.removes_ is None
    text = named.findings()[0].text
    assert "30 more labels per language by the same people would narrow this by" in text
    assert "one more annotator by 1" in text
    assert unnamed.removes_ is not None


def test_harshness_cancels_where_the_same_people_label_everywhere() -> None:
    panel, frame, truth = planted(errors=4.0)
    frame = harsh_labels(frame, [f"p{i % 2}" for i in range(len(frame))], 12)
    made, gone = fall(panel, frame, truth)
    assert made.removes_ is not None
    assert made.removes_[1] > 0.3
    assert gone > 0.5


def test_one_annotator_a_language_is_confounded() -> None:
    panel, frame, _ = planted(errors=4.0)
    text = untold(panel, harsh_labels(frame, list(frame["language"])))
    assert "each language has one annotator" in text
    assert text.endswith("Let one person label 20 answers in two languages.")
    one_person = frame.assign(annotator="same")
    assert LabelCalibrator().fit(panel, one_person).people_ is None


def test_the_same_wherever_eigenvectors_point(monkeypatch: pytest.MonkeyPatch) -> None:
    panel, frame, _ = planted(errors=4.0)
    frame = harsh_labels(frame, [f"p{i % 2}" for i in range(len(frame))], 4)
    first = LabelCalibrator().fit(panel, frame).removes_
    eigh = np.linalg.eigh
    monkeypatch.setattr(np.linalg, "eigh", lambda x: (eigh(x)[0], -eigh(x)[1]))
    again = LabelCalibrator().fit(panel, frame).removes_
    assert first is not None
    assert again == pytest.approx(first, abs=1e-9)


def test_a_file_of_the_version_before_is_applied_as_it_was_fitted(tmp_path: Path) -> None:
    fields = {
        "format": "polyjudge-calibrator", "version": 2, "kind": "labels", "polyjudge": "0.3.0", "shrink": True,
        "clip": True, "level": 0.95, "seed": 0, "languages": ["a", "b"], "noun": "language", "scale": [0, 100],
        "line": [0.0, 1.0], "scores": [10.0, 50.0, 90.0], "mapped": [20.0, 50.0, 95.0], "shift": [3.0, -3.0],
        "labelled": [20, 20], "removes": [0.5, 0.2, 0.8],
    }  # fmt: skip
    path = tmp_path / "old.json"
    path.write_text(json.dumps({**fields, "checksum": _checksum(fields)}))
    made: Any = load_calibrator(path)
    assert made.transform([30.0, 99.0], language=["a", "b"]) == pytest.approx([32.0, 98.0])
    assert "removes 50% [20, 80]" in made.findings()[0].text


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
