"""AnchoredCalibrator: what it removes, what it refuses, that it survives a file; which map from judges to humans is
chosen, and that every engine does the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import polyjudge.second as pj
from polyjudge.second.calibrate.label_maps import bend
from polyjudge.second.panel.adjustment import Adjustment
from polyjudge.second.panel.errors import CalibratorError, UsageError
from polyjudge.second.panel.say import word
from polyjudge.second.read.writers import write_calibrated
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
    assert again.humans is not None
    np.testing.assert_allclose(again.humans.of_panel["shift"], 0, atol=1e-9)
    np.testing.assert_allclose(pj.ConsensusCalibrator().fit(new).interaction_, 0, atol=1e-9)


def test_centred_keeps_the_mean_shift(labelled: tuple[pj.Panel, pd.DataFrame]) -> None:
    panel, gold = labelled
    calibrator = pj.AnchoredCalibrator(shift="centred", pool=False, map="shift").fit(panel, gold)
    again = pj.anchor(calibrator.transform(panel), gold, resamples=10)
    assert again.humans is not None
    np.testing.assert_allclose(again.humans.of_panel["shift"], calibrator.shift_.mean(), atol=1e-9)


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
    shift = loaded.adjustment_.shift[0, 0] * calibrator.slope_["judge1"]
    assert shift == pytest.approx(calibrator.correction_.loc["language1", "judge1"])
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


def test_the_stated_fall_begins_at_the_scores_as_they_were() -> None:
    """Judges stretch the scale: the error of languages is mostly that, and the map takes it off."""
    held = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        human = 50 + rng.normal(0, 8, 12) + 15 * rng.normal(size=(200, 12))
        scores = (50 + 1.8 * (human - 50) + rng.normal(0, 3, 12))[..., None] + rng.normal(0, 6, (200, 12, 2))
        panel = pj.Panel.from_array(scores)
        cal = pj.AnchoredCalibrator(map="slope").fit(panel, gold_of(panel, human, 40))
        raw, new = (np.std((p.scores.mean(axis=2) - human)[40:].mean(axis=0)) for p in (panel, cal.transform(panel)))
        assert cal.fall_ is not None
        assert cal.fall_.before[0] == pytest.approx(raw, rel=0.1)
        held.append(cal.fall_.removed[1] <= 1 - new**2 / raw**2 <= cal.fall_.removed[2])
    assert sum(held) >= 10


def test_the_fall_of_pass_or_fail_is_said_in_percent() -> None:
    rng = np.random.default_rng(0)
    human = (rng.random((200, 4)) < 0.5).astype(float)
    scores = np.repeat(human[..., None], 2, axis=2)
    scores[:, 0] = np.maximum(scores[:, 0], rng.random((200, 2)) < 0.7)
    panel = pj.Panel.from_array(scores)
    cal = pj.AnchoredCalibrator().fit(panel, gold_of(panel, human, 60)[lambda t: t["language"] != "language4"])
    said = {s.code: s for s in cal.cautions(panel)}
    assert cal.fall_ is not None
    assert said["calibrate.fall"].values["before"] == pytest.approx(100 * cal.fall_.before[0])
    assert said["calibrate.no-labels"].values["half"] == pytest.approx(196 * cal.shift_se_["language4"])
    assert "percentage points" in word(said["calibrate.fall"])


def test_one_judge_can_be_anchored() -> None:
    rng = np.random.default_rng(5)
    truth = rng.normal(50, 10, (60, 3))
    panel = pj.Panel.from_array((truth + np.array([5, 0, -5]))[..., None] + rng.normal(0, 1, (60, 3, 1)))
    t, l = (a.ravel() for a in np.indices((60, 3)))  # noqa: E741
    gold = pd.DataFrame({"task": np.array(panel.tasks)[t], "language": np.array(panel.languages)[l]})
    cal = pj.AnchoredCalibrator(map="shift").fit(panel, gold.assign(score=truth[t, l]))
    np.testing.assert_allclose(cal.shift_, [5, 0, -5], atol=0.6)
    assert pj.AnchoredCalibrator.from_dict(cal.to_dict()).shift_.equals(cal.shift_)


# --- maps from judges to humans ---


def gold_of(panel: pj.Panel, human: Any, labels: int) -> pd.DataFrame:
    t, i = (a.ravel() for a in np.indices((labels, len(panel.languages))))
    frame = pd.DataFrame({"task": np.array(panel.tasks)[t], "language": np.array(panel.languages)[i]})
    return frame.assign(score=human[t, i])


def bent_panel(seed: int = 0, straight: bool = False) -> tuple[pj.Panel, Any]:
    """Judges who are blunt in the middle of the scale, and languages with shifts."""
    rng = np.random.default_rng(seed)
    truth = rng.uniform(0, 100, (200, 4))
    seen = truth if straight else 50 + np.sign(truth - 50) * (np.abs(truth - 50) / 50) ** 3 * 50
    scores = seen[..., None] + np.array([4.0, 0, -4, 0])[:, None] + rng.normal(0, 1.5, (200, 4, 3))
    return pj.Panel.from_array(np.clip(scores, 0, 100), declared_range=(0, 100)), truth


def levels_panel(seed: int = 1, steps: int = 4) -> tuple[pj.Panel, Any]:
    """Judges who give the highest levels too easily, in the third language most."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, steps + 2, (300, 3)).astype(float)
    easy = np.array([0.5, 0.5, 0.8])[:, None]
    scores = np.clip(truth[..., None] + (rng.random((300, 3, 4)) < easy) + (truth > 2)[..., None], 1, steps + 1)
    return pj.Panel.from_array(scores, declared_range=(1, steps + 1)), truth


def test_left_out_labels_choose_the_map() -> None:
    panel, truth = bent_panel()
    cal = pj.AnchoredCalibrator().fit(panel, gold_of(panel, truth, 80))
    assert cal.map_ == "isotonic"
    left = {}
    for kind in ("shift", "slope", "auto"):
        new = pj.AnchoredCalibrator(map=kind).fit(panel, gold_of(panel, truth, 80)).transform(panel)
        left[kind] = float(((new.scores[80:].mean(axis=2) - truth[80:]) ** 2).mean())
    assert left["auto"] < 0.5 * min(left["slope"], left["shift"])
    panel, truth = bent_panel(straight=True)
    cal = pj.AnchoredCalibrator().fit(panel, gold_of(panel, truth, 80))
    assert (cal.map_, cal.curve_) == ("shift", None)


def test_few_levels_become_the_humans_means_within_the_scale() -> None:
    panel, truth = levels_panel()
    cal = pj.AnchoredCalibrator().fit(panel, gold_of(panel, truth, 100))
    assert cal.map_ == "ordinal"
    assert cal.curve_ is not None
    assert cal.curve_.shape == (3, 4, 5)
    assert 1 < cal.curve_.min() < cal.curve_.max() < 5
    new = cal.transform(panel)
    plain = pj.AnchoredCalibrator(map="shift").fit(panel, gold_of(panel, truth, 100)).transform(panel)
    errors = [((x.scores[100:] - truth[100:, :, None]) ** 2).mean() for x in (new, plain)]  # of single judges
    assert errors[0] < 0.9 * errors[1]
    np.testing.assert_allclose(new.scores.mean(axis=(0, 2)), truth.mean(axis=0), atol=0.25)
    assert "calibrate.ordinal" in [c.code for c in cal.cautions(panel)]


def test_the_mean_of_a_cell_falls_by_its_correction_on_the_logit_scale() -> None:
    curve, share = np.array([[0.1, 0.9]]), np.array([[[0.3, 0.7]], [[0.8, 0.2]], [[0.5, 0.5]]])
    out = bend(curve, np.array([[0.2], [-0.1], [2.0]]), share, (0.0, 1.0))
    means = (share * out).sum(axis=-1).ravel()
    np.testing.assert_allclose(means[:2], [0.3 * 0.1 + 0.7 * 0.9 - 0.2, 0.8 * 0.1 + 0.2 * 0.9 + 0.1], atol=1e-9)
    assert 0 <= means[2] < 0.01  # beyond the scale: as near as it allows
    assert (np.diff(out) > 0).all()


@pytest.fixture
def curved() -> Adjustment:
    rng = np.random.default_rng(3)
    curve = np.sort(rng.uniform(0, 100, (2, 3, 6)), axis=-1)
    curve[0, 0, 2:4] = curve[0, 0, 2]
    return Adjustment(
        languages=("en", "d'e"), judges=("a", "b", "c"), shift=np.zeros((2, 3)), curve=curve, span=(-10.0, 90.0)
    )


@pytest.fixture
def rows() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    scores = np.r_[rng.uniform(-30, 120, 300), -10.0, 90.0, 10.0, np.nan, 30.0]
    labels = {"language": rng.choice(["en", "d'e"], len(scores)), "judge": rng.choice(["a", "b", "c"], len(scores))}
    return pd.DataFrame({"task": [f"t{i}" for i in range(len(scores))], **labels, "score": scores})


def wanted(adjustment: Adjustment, rows: pd.DataFrame) -> list[float]:
    assert adjustment.curve is not None
    grid = np.linspace(*adjustment.span, adjustment.curve.shape[2])
    return [
        float(np.interp(r.score, grid, adjustment.curve[adjustment.languages.index(r.language), "abc".index(r.judge)]))
        for r in rows.itertuples()
    ]


@pytest.mark.parametrize("limits", [None, (20.0, 60.0)])
def test_every_engine_follows_the_curve(
    curved: Adjustment, rows: pd.DataFrame, limits: tuple[float, float] | None, tmp_path: Path
) -> None:
    cut = curved if limits is None else curved.clipped(limits)
    true = np.array(wanted(curved, rows))
    true = true if limits is None else np.clip(true, *limits)
    tables = {
        "pandas": lambda: cut.table(rows),
        "polars": lambda: cut.table(pl.from_pandas(rows)).to_pandas(),
        "pyarrow": lambda: cut.table(pa.Table.from_pandas(rows)).to_pandas(),
        "ibis": lambda: cut.table(ibis.memtable(rows.assign(score=rows["score"].astype(object)))).to_pandas(),
    }
    for name, made in tables.items():
        np.testing.assert_allclose(made()["calibrated"].astype(float), true, atol=1e-9, err_msg=name)
    one = [cut.one(r.score, r.language, r.judge) for r in rows.itertuples()]
    np.testing.assert_allclose(one, true, atol=1e-9)
    rows.to_csv(tmp_path / "in.csv", index=False)
    write_calibrated(cut, tmp_path / "in.csv", tmp_path / "out.csv")
    np.testing.assert_allclose(pd.read_csv(tmp_path / "out.csv")["calibrated"], true, atol=1e-9)


def test_unknown_cells_keep_their_score(curved: Adjustment, rows: pd.DataFrame, tmp_path: Path) -> None:
    new = rows.assign(judge="new").dropna()
    with refused(CalibratorError, "new"):
        curved.table(new)
    np.testing.assert_array_equal(curved.table(new, unseen="keep")["calibrated"], new["score"])
    kept = curved.table(ibis.memtable(new), unseen="keep").to_pandas()
    np.testing.assert_array_equal(kept["calibrated"], new["score"])
    new.to_csv(tmp_path / "in.csv", index=False)
    write_calibrated(curved, tmp_path / "in.csv", tmp_path / "out.csv", unseen="keep")
    np.testing.assert_allclose(pd.read_csv(tmp_path / "out.csv")["calibrated"], new["score"])


def test_a_panel_with_systems_is_bent_score_by_score() -> None:
    rng = np.random.default_rng(5)
    scores = rng.integers(1, 6, (20, 3, 2, 2)).astype(float)
    panel = pj.Panel.from_array(scores, systems=["x", "y", "z"], declared_range=(1, 5))
    curve = np.broadcast_to(np.array([1.0, 1.0, 2.0, 4.0, 5.0]), (2, 2, 5))
    new = panel.bent(curve, (1.0, 5.0))
    np.testing.assert_array_equal(new.system_scores, np.array([1, 1, 2, 4, 5.0])[scores.astype(int) - 1])
    np.testing.assert_allclose(new.scores, new.system_scores.mean(axis=1))  # type: ignore[union-attr]


def test_a_mark_moves_along_the_curve(curved: Adjustment) -> None:
    marks = curved.marks(50.0)
    for i, j in np.ndindex(marks.shape):
        for nudge in (-1e-6, 1e-6):
            above = curved.one(marks[i, j] + nudge, curved.languages[i], curved.judges[j]) > 50.0
            assert above == (nudge > 0) or not -10 < marks[i, j] < 90
    assert (curved.marks(-1.0) < -10).all()
    assert (curved.marks(101.0) == 90).all()


@pytest.mark.parametrize("make", [bent_panel, levels_panel])
def test_a_file_gives_the_curve_back(make: Any, tmp_path: Path) -> None:
    panel, truth = make()
    cal = pj.AnchoredCalibrator().fit(panel, gold_of(panel, truth, 80))
    cal.save(tmp_path / "cal.json")
    loaded = pj.load_calibrator(tmp_path / "cal.json")
    np.testing.assert_array_equal(loaded.transform(panel).scores, cal.transform(panel).scores)
    data = json.loads((tmp_path / "cal.json").read_text())
    del data["checksum"]
    falling = [[[5.0, 1.0]] * len(panel.judges)] * len(panel.languages)
    for change in ({"curve": None}, {"curve": falling}, {"curve": [[[1.0]]]}, {"span": [5, 1]}, {"taken": "bent"}):
        (tmp_path / "bad.json").write_text(json.dumps(data | change))
        with refused(CalibratorError, "bad.json", next(iter(change))):
            pj.load_calibrator(tmp_path / "bad.json")


def test_means_of_several_tasks_are_not_bent() -> None:
    panel, truth = bent_panel()
    heavy = pj.Panel.from_array(panel.scores, weights=np.full(200, 2.0), declared_range=(0, 100))
    assert pj.AnchoredCalibrator().fit(heavy, gold_of(heavy, truth, 80)).map_ in ("shift", "slope")
    with refused(UsageError, "isotonic"):
        pj.AnchoredCalibrator(map="isotonic").fit(heavy, gold_of(heavy, truth, 80))
