"""What labels say: errors by language, who wins, which judge, pass rates; against planted truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.panel.scale import scale_of
from polyjudge.second.questions.anchor.view import in_unit
from polyjudge.second.report import report_of


def _gold(panel: pj.Panel, truth: np.ndarray, there: np.ndarray) -> pd.DataFrame:
    t, i = np.nonzero(there)
    frame = pd.DataFrame({"task": np.array(panel.tasks)[t], "language": np.array(panel.languages)[i]})
    return frame.assign(score=truth[t, i])


def test_errors_are_the_planted_ones_and_open_languages_ask_for_labels() -> None:
    rng = np.random.default_rng(0)
    shift = np.array([-10.0, 0.0, 10.0, 0.0])
    truth = rng.uniform(20, 80, (200, 4))
    panel = pj.Panel.from_array(
        truth[..., None] + shift[:, None] + rng.normal(0, 10, (200, 4, 3)), declared_range=(-50, 150)
    )
    there = np.zeros((200, 4), bool)
    there[:60], there[8:, 3] = True, False  # the last language has eight labels
    result = pj.anchor(panel, _gold(panel, truth + rng.normal(0, 12, truth.shape), there), resamples=20, matters=2)
    assert result.humans is not None
    table = result.humans.table.set_index(["judge", "language"]).loc["panel mean"]
    assert ((table["error_low"] <= shift) & (shift <= table["error_high"])).all()
    assert table["weight"].iloc[3] < table["weight"].iloc[0]
    assert table["settled"].tolist()[:3:2] == [True, True]
    assert not table["settled"].iloc[3]
    assert result.humans.next_labels > 50
    report = report_of(result)
    assert report is not None
    assert any("--more" in step.command for step in report.next)
    codes = [getattr(s, "code", "") for s in report.verdict]
    assert "humans.open" in codes
    wide = pj.anchor(panel, _gold(panel, truth, there), resamples=20, matters=90)
    assert wide.humans is not None
    assert wide.humans.next_labels == 0


def test_what_is_not_there_cannot_be_removed_and_a_table_of_labels_gets_no_more_pages(tmp_path: Path, cli: Any) -> None:
    """Judges without a language error: the share that calibrating removes was 0 by 0, called 100% in most panels."""
    said = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        truth = rng.uniform(20, 80, (80, 4))
        panel = pj.Panel.from_array(truth[..., None] + rng.normal(0, 10, (80, 4, 3)))
        gold = _gold(panel, truth + rng.normal(0, 12, truth.shape), np.arange(80)[:, None] < [30] * 4)
        humans = pj.anchor(panel, gold, resamples=2).humans
        assert humans is not None
        said.append(humans.free is not None)
    assert sum(said) <= 2
    panel.to_frame().to_csv(tmp_path / "scores.csv", index=False)
    gold.to_csv(tmp_path / "gold.csv", index=False)
    shown = cli("anchor", tmp_path / "scores.csv", tmp_path / "gold.csv", "--matters", 1, "--resamples", 20).stdout
    assert "--items ITEMS --per-language" in shown
    assert "--more" not in shown


def test_systems_are_ranked_as_humans_would() -> None:
    """The judges favour the second system by 20 points; humans like the first best."""
    rng = np.random.default_rng(1)
    truth = rng.normal(50, 8, (120, 1, 2)) + np.array([5.0, 0.0, -5.0])[:, None]
    scores = truth[..., None] + np.array([0.0, 20.0, 0.0])[:, None, None] + rng.normal(0, 5, (120, 3, 2, 2))
    panel = pj.Panel.from_array(scores, systems=["A", "B", "C"])
    rows = [
        (panel.tasks[t], "ABC"[s], panel.languages[i], truth[t, s, i])
        for t in range(40) for s in range(3) for i in range(2)
    ]  # fmt: skip
    gold = pd.DataFrame(rows, columns=["task", "system", "language", "score"])
    humans = pj.anchor(panel, gold, resamples=20).humans
    assert humans is not None
    assert humans.board is not None
    board = humans.board.set_index("system")
    assert board["rank_panel"].to_dict() == {"A": 2, "B": 1, "C": 3}
    assert board["rank"].to_dict() == {"A": 1, "B": 2, "C": 3}
    expected = truth.mean(axis=(0, 2))
    assert ((board.loc[list("ABC"), "low"] <= expected) & (expected <= board.loc[list("ABC"), "high"])).all()
    assert board["tied"].to_dict() == {"A": True, "B": False, "C": False}


def test_the_best_judge_of_a_language_is_named_where_it_is_another() -> None:
    rng = np.random.default_rng(2)
    truth = rng.normal(50, 12, (150, 4))
    noise = np.full((4, 2), 8.0)
    noise[:, 1], noise[3] = 16.0, (30.0, 4.0)  # the second judge is worse, but in the last language much better
    panel = pj.Panel.from_array(truth[..., None] + noise * rng.normal(0, 1, (150, 4, 2)))
    result = pj.anchor(panel, _gold(panel, truth, np.arange(150)[:, None] < np.full(4, 80)), resamples=20)
    assert result.humans is not None
    best = result.humans.judges[result.humans.judges["best"]].set_index("language")
    assert best["judge"].drop("(all)").tolist() == ["judge1", "judge1", "judge1", "judge2"]
    assert best.loc["language4", "sure"] > 0.9
    said = next(s for s in report_of(result).verdict if getattr(s, "code", "") == "humans.judges")  # type: ignore[union-attr]
    others = dict(said.values["other"])  # type: ignore[union-attr]
    assert others.get("language4") == "judge2" or said.values["best"] == "judge2"  # type: ignore[union-attr]


def test_pass_rates_are_corrected_two_ways() -> None:
    """Judges pass 90% of the good and 40% of the bad; three in ten answers are good."""
    rng = np.random.default_rng(3)
    good = rng.random((2000, 2)) < 0.3
    passed = rng.random((2000, 2, 1)) < np.where(good, 0.9, 0.4)[..., None]
    panel = pj.Panel.from_array(passed.astype(float).repeat(2, axis=2))
    there = rng.random((2000, 2)) < 0.3
    result = pj.anchor(panel, _gold(panel, good.astype(float), there), resamples=100)
    table = result.passing
    assert table is not None
    for i, language in enumerate(panel.languages):
        row = table[(table["language"] == language) & (table["decision"] == "panel mean")].iloc[0]
        mine, says = good[there[:, i], i], passed[there[:, i], i, 0]
        tp, fn = (mine & says).sum(), (mine & ~says).sum()
        fp, tn = (~mine & says).sum(), (~mine & ~says).sum()
        sens, spec = tp / (tp + fn), tn / (tn + fp)
        assert row["sensitivity"] == pytest.approx(sens)
        assert row["specificity"] == pytest.approx(spec)
        assert row["balanced"] == pytest.approx((sens + spec) / 2)
        mcc = (tp * tn - fp * fn) / np.sqrt(float(tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
        assert row["mcc"] == pytest.approx(mcc)
        own = passed[:, i].mean()
        assert row["own"] == pytest.approx(own)
        assert row["rogan_gladen"] == pytest.approx((own + spec - 1) / (sens + spec - 1))
        truth = good[:, i].mean()
        assert row["low"] <= truth <= row["high"]
        assert row["powered_low"] <= truth <= row["powered_high"]
        assert row["powered_high"] - row["powered_low"] < row["high"] - row["low"]
    assert pj.anchor(panel, _gold(panel, good.astype(float), there), resamples=20, threshold=0.5).passing is not None


def test_a_panel_that_is_off_everywhere_alike_is_not_said_to_be_off_in_one_language() -> None:
    rng = np.random.default_rng(3)
    truth = rng.uniform(20, 80, (100, 4))
    panel = pj.Panel.from_array(truth[..., None] + 10 + rng.normal(0, 10, (100, 4, 2)))
    human = truth + rng.normal(0, 8, truth.shape)
    human += human.mean() - human[:30].mean(axis=0) + truth[:30].mean(axis=0) - truth.mean()
    report = report_of(pj.anchor(panel, _gold(panel, human, np.arange(100)[:, None] < [30] * 4), resamples=2))
    assert report is not None
    said = next(s for s in report.verdict if getattr(s, "code", "") == "humans.error")
    assert said.values["every"][:2] == pytest.approx((10, 10), abs=2)


def test_pass_or_fail_is_said_in_percent_and_kept_as_it_was() -> None:
    rng = np.random.default_rng(4)
    truth = rng.random((120, 3)) < 0.5
    scores = np.where(rng.random((120, 3, 3)) < 0.85, truth[..., None], ~truth[..., None])
    panel = pj.Panel.from_array(scores.astype(float))
    gold = _gold(panel, truth.astype(float), np.arange(120)[:, None] < [40] * 3)
    rows = [gold.assign(annotator=gold["language"] + f"-{a}") for a in range(2)]
    result = pj.anchor(panel, pd.concat(rows), resamples=5)
    report = report_of(result, panel)
    assert report is not None
    assert result.humans is not None
    own, shown = result.humans.table.iloc[:3].set_index("language"), report.picture[0].frame.set_index("language")
    for name in ("error", "error_low", "error_high"):
        assert (shown[name] / own[name]).tolist() == pytest.approx([100] * 3)
    means = result.means.table.set_index("language")["estimate"]
    assert (shown["estimate"] / means[shown.index]).tolist() == pytest.approx([100] * 3)
    assert report.unit == "percentage points"
    values = next(s.values for s in report.verdict if getattr(s, "code", "") in ("humans.open", "humans.settled"))
    assert values["matters"] == pytest.approx(5)
    kept = report.payload()["humans"]
    assert kept["matters"] == pytest.approx(0.05)
    decisions, raw = (r.table["raw"].iloc[0] for r in (in_unit(result, scale_of(panel)), result))
    assert decisions == pytest.approx(1e4 * raw)
