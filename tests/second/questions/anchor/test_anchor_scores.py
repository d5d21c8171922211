"""Human scores: shared shift, who is helped or hurt, the panel's gain, and what the panel is worth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import polyjudge.second as pj
from anchor_truth import lone_judge, verdict_rates
from polyjudge.second.estimate.few_labels import stratified_means, t_interval
from polyjudge.second.estimate.kernels import double_centre
from polyjudge.second.estimate.severity import strata_of
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.gold import Gold, align_gold, judge_as_gold
from polyjudge.second.panel.say import word
from polyjudge.second.questions.anchor.helped import cell_factors, whom_it_helps
from polyjudge.second.questions.anchor.humans import language_error
from polyjudge.second.questions.anchor.worth import panel_worth
from polyjudge.second.report import report_of
from refusals import refused


def human_frame(panel: pj.Panel, gold: Gold) -> pd.DataFrame:
    t, l = np.nonzero(gold.there)  # noqa: E741
    return pd.DataFrame(
        {
            "task": np.array(panel.tasks)[t],
            "language": np.array(panel.languages)[l],
            "score": gold.values[t, l],
        }
    )


@pytest.mark.statistical
def test_the_hurt_judge_is_named_on_200_panels() -> None:
    rates = verdict_rates(200, 200)
    assert rates["hurt called helped"] <= 0.05 * rates["hurt"]
    assert rates["helped called hurt"] <= 0.05 * rates["helped"]
    assert rates["named"] >= 0.95 * 200


def test_with_five_labels_most_cells_cannot_be_told() -> None:
    rates = verdict_rates(5, 100)
    assert rates["open"] > 0.9
    assert rates["hurt called helped"] <= 0.05 * rates["hurt"]
    assert rates["helped called hurt"] <= 0.05 * rates["helped"]


@pytest.mark.statistical
def test_without_interaction_verdicts_are_rare() -> None:
    """All judges share a shift in one language and there is no interaction: any verdict, in any cell, is wrong."""
    panels, wrong = 300, 0
    for seed in range(panels):
        panel, gold, _ = lone_judge(seed, 100, tasks=120, error=0.0)
        shifted = panel.with_scores(panel.scores - 10.0 * (np.arange(5) == 0)[:, None])
        wrong += whom_it_helps(shifted, gold, resamples=2).unclear < 25
    assert 0.005 * panels <= wrong <= 0.07 * panels  # 5% and its simulation error; never a verdict would be no test


@pytest.mark.statistical
def test_gain_is_unbiased_and_its_interval_holds_it() -> None:
    estimates, held = [], 0
    for seed in range(200):
        panel, gold, gain = lone_judge(seed, 60, tasks=80, k=3, m=3)
        result = whom_it_helps(panel, gold, resamples=200, seed=seed)
        estimates.append(result.cells["gain"].to_numpy().reshape(3, 3))
        row = result.cells.iloc[0]
        held += row["low"] <= gain[0, 0] <= row["high"]
        assert (result.cells["band_low"] <= result.cells["gain"]).all()
        assert (result.cells["gain"] <= result.cells["band_high"]).all()
    spread = np.std(estimates, axis=0) / np.sqrt(200)
    assert (np.abs(np.mean(estimates, axis=0) - gain) < 4 * spread).all()
    assert 0.9 <= held / 200 <= 0.99


def test_cells_by_hand() -> None:
    panel, gold, _ = lone_judge(3, 50, tasks=50, k=3, m=4)
    result = whom_it_helps(panel, gold, resamples=20)
    beta = pj.ConsensusCalibrator().fit(panel).interaction_.to_numpy()
    shift = np.nanmean(panel.scores.mean(axis=2) - gold.values, axis=0)
    np.testing.assert_allclose(result.cells["interaction"].to_numpy().reshape(3, 4), beta, atol=1e-9)
    np.testing.assert_allclose(result.cells["centred_shift"].to_numpy()[::4], shift - shift.mean(), atol=1e-9)
    factors = cell_factors(panel, gold)
    # products of a task with the mean of the others, task by task
    n = 50
    each = double_centre(panel.scores)
    products = np.zeros((3, 4))
    for s in range(n):
        products += (n * beta - each[s]) / (n - 1) * each[s] / n
    cross = np.zeros((3, 4, 3))
    for language in range(3):
        labelled = np.flatnonzero(gold.there[:, language])
        for s in labelled:
            difference = panel.scores[s, language].mean() - gold.values[s, language]
            cross[:, :, language] += (n * beta - each[s]) / (n - 1) * difference / len(labelled)
    own = np.stack([cross[i, :, i] for i in range(3)])
    by_hand = products + 2 * (own - cross.mean(axis=2))
    np.testing.assert_allclose(factors.gain, by_hand, atol=1e-9)


def test_the_panel_total_is_the_label_free_gain_when_all_is_labelled() -> None:
    for seed in range(5):
        panel, gold, _ = lone_judge(seed, 40, tasks=40, k=3, m=4)
        assert gold.there.all()
        result = pj.anchor(panel, gold, resamples=10)
        assert result.panel_gain is not None
        for row in result.panel_gain.table.to_dict("records"):
            assert row["with_labels"] == pytest.approx(row["label_free"], abs=1e-9)
        same = result.panel_gain.table.iloc[1]["label_free"]
        beta = pj.ConsensusCalibrator().fit(panel).interaction_.to_numpy()
        assert same == pytest.approx((beta**2).mean())
        cells = whom_it_helps(panel, gold, resamples=10).cells
        plugged = (cells["interaction"] * (cells["interaction"] + 2 * cells["centred_shift"])).mean()
        assert plugged == pytest.approx(same)


def test_labels_settle_open_cells_when_they_can() -> None:
    panel, gold, _ = lone_judge(0, 12)
    cells = whom_it_helps(panel, gold, resamples=20).cells
    first = cells.iloc[0]
    assert first["verdict"] == "cannot tell"
    assert first["open_because"] == "labels"
    panel, gold, _ = lone_judge(0, 12 + int(first["more_labels"]) + 10)
    assert whom_it_helps(panel, gold, resamples=20).cells.iloc[0]["verdict"] == "hurt"
    assert (cells.loc[cells["open_because"] == "tasks", "more_labels"].isna()).all()


def test_rounding_is_no_verdict() -> None:
    base = np.arange(30.0)[:, None, None] / 3 + np.zeros((30, 3, 4)) + np.arange(4) / 7 + np.arange(3)[:, None] / 9
    panel = pj.Panel.from_array(base)
    gold = Gold("score", base.mean(axis=2) + np.array([0.0, 1.0, 2.0]), panel.languages)
    result = whom_it_helps(panel, gold, resamples=20)
    assert result.unclear == 12


# --- shift ---


def test_shift_is_the_mean_difference_with_its_t_interval() -> None:
    panel, gold, _ = lone_judge(2, 30, tasks=60)
    table = language_error(panel, gold).of_panel
    for i in range(5):
        difference = (panel.scores.mean(axis=2) - gold.values)[gold.there[:, i], i]
        low, high = stats.t.interval(0.95, 29, difference.mean(), stats.sem(difference))
        row = table.iloc[i]
        assert row["shift"] == pytest.approx(difference.mean())
        # its spread is steadied by the other languages: nearly Student's own interval
        assert row["high"] - row["shift"] == pytest.approx(row["shift"] - row["low"])
        assert row["high"] - row["low"] == pytest.approx(high - low, rel=0.15)


@pytest.mark.parametrize("labels", [5, 40])
@pytest.mark.statistical
def test_shift_intervals_cover(labels: int) -> None:
    held = []
    for seed in range(350):
        panel, gold, _ = lone_judge(seed, labels, tasks=60, k=3, m=3)
        # the average judge effect is zero, so the first language's true shift is the shared error times two thirds
        difference = panel.scores.mean(axis=2, keepdims=True) - gold.values[..., None]
        fit = stratified_means(difference, strata_of(panel, gold), panel.weights, panel.cluster)
        low, high = t_interval(fit.mean, np.sqrt(fit.variance), fit.df)
        truth = np.array([-10 * 2 / 3, 0.0, 0.0])
        held += ((low[:, 0] <= truth) & (truth <= high[:, 0])).tolist()
    shown = language_error(panel, gold).of_panel
    np.testing.assert_allclose(shown[["low", "high"]], np.hstack([low, high]))
    assert 0.93 <= np.mean(held) <= 0.97


def test_a_trusted_judge_stands_in_for_humans() -> None:
    panel, _, _ = lone_judge(4, 50, tasks=60)
    others, gold = judge_as_gold(panel, "judge1")
    assert others.judges == ("judge2", "judge3", "judge4", "judge5")
    result = pj.anchor(panel, trusted="judge1", resamples=20)
    assert result.humans is not None
    expected = (others.scores.mean(axis=2) - gold.values).mean(axis=0)
    np.testing.assert_allclose(result.humans.of_panel["shift"], expected)
    assert "gold.trusted" in [n.code for n in result.notes]
    assert result.trusted == "judge1"
    with refused(pj.PanelError, "nobody", "judge5"):
        pj.anchor(panel, trusted="nobody")
    with refused(pj.PanelError, "trusted"):
        pj.anchor(panel.select(judges=["judge1", "judge2"]), trusted="judge1")


# --- worth of the panel ---


def test_alpha_is_krippendorffs_by_its_definition() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(12, 1)) + rng.normal(size=(12, 4))
    values[rng.random(values.shape) < 0.2] = np.nan
    rows = [v[~np.isnan(v)] for v in values]
    rows = [r for r in rows if len(r) > 1]
    pooled = np.concatenate(rows)
    observed = sum(sum((a - b) ** 2 for a in r for b in r) / (len(r) - 1) for r in rows) / len(pooled)
    expected = sum((a - b) ** 2 for a in pooled for b in pooled) / (len(pooled) * (len(pooled) - 1))
    panel = pj.Panel.from_array(np.stack([values, np.ones_like(values)], axis=1))
    gold = Gold("score", np.zeros(panel.shape[:2]), panel.languages)
    alpha = panel_worth(panel, gold, resamples=10).table["alpha"].to_numpy()
    assert alpha[0] == pytest.approx(1 - observed / expected)
    assert np.isnan(alpha[1])  # all values are equal


def test_error_correlation_is_the_mean_correlation() -> None:
    rng = np.random.default_rng(2)
    errors = rng.normal(size=(50, 1)) + rng.normal(size=(50, 4))
    i, j = np.triu_indices(4, 1)
    expected = np.corrcoef(errors.T)[i, j].mean()
    panel = pj.Panel.from_array(np.stack([errors, np.ones_like(errors)], axis=1))
    gold = Gold("score", np.zeros((50, 2)), panel.languages)
    table = panel_worth(panel, gold, resamples=10).table
    assert table["correlation"].to_numpy()[:2] == pytest.approx([expected, np.nan], nan_ok=True)
    assert table["effective"][0] == pytest.approx(4 / (1 + 3 * expected))


def test_a_panel_of_copies_is_worth_one_judge() -> None:
    rng = np.random.default_rng(3)
    one = rng.normal(50, 10, (80, 3, 1))
    copies = pj.Panel.from_array(np.repeat(one, 4, axis=2))
    gold = Gold("score", rng.normal(50, 10, (80, 3)), copies.languages)
    table = panel_worth(copies, gold, resamples=20).table
    assert table["alpha"].to_numpy() == pytest.approx(1.0)
    assert table["effective"].to_numpy() == pytest.approx(1.0)
    assert set(table["without"]) == {"", *copies.judges}
    independent = pj.Panel.from_array(50 + rng.normal(0, 10, (400, 3, 4)))
    flat = Gold("score", np.full((400, 3), 50.0), independent.languages)
    whole = panel_worth(independent, flat, resamples=200).table.set_index(["language", "without"]).loc[("all", "")]
    assert whole["effective_low"] < 4 < whole["effective_high"]


def test_worth_with_preferences() -> None:
    rng = np.random.default_rng(4)
    panel = pj.Panel.from_array(np.rint(rng.normal(0.5, 2, (60, 2, 3))))
    gold = Gold("preference", rng.choice([-1.0, 1.0], (60, 2)), panel.languages)
    table = panel_worth(panel, gold, resamples=50).table
    assert table["correlation"].between(-1, 1).all()
    two = panel_worth(panel.select(judges=["judge1", "judge2"]), gold, resamples=10)
    assert set(two.table["without"]) == {""}


def test_unit_weights_count_like_repeated_tasks() -> None:
    panel, gold, _ = lone_judge(9, 20, tasks=30, k=3, m=3)
    times = np.random.default_rng(0).integers(1, 4, 30)
    heavy = pj.Panel(panel.scores, panel.tasks, panel.languages, panel.judges, weights=times.astype(float))
    many = pj.Panel.from_array(np.repeat(panel.scores, times, axis=0))
    copies = Gold("score", np.repeat(gold.values, times, axis=0), panel.languages)
    for part in ("u", "v"):
        np.testing.assert_allclose(getattr(cell_factors(heavy, gold), part), getattr(cell_factors(many, copies), part))
    for name in ("alpha", "correlation"):
        one, other = (panel_worth(p, g, resamples=5).table[name] for p, g in ((heavy, gold), (many, copies)))
        np.testing.assert_allclose(one, other, atol=1e-12)
    one, other = (language_error(p, g).of_panel["shift"] for p, g in ((heavy, gold), (many, copies)))
    np.testing.assert_allclose(one, other)


# --- anchor with scores ---


def test_squared_errors_by_hand() -> None:
    panel, gold, _ = lone_judge(5, 30, tasks=40, k=3, m=3)
    result = pj.anchor(panel, human_frame(panel, gold), resamples=50)
    assert result.measure == "squared error"
    table = result.to_frame().set_index("decision")
    assert "majority" not in table.index
    raw = np.nanmean((panel.scores[:, :, 1] - gold.values) ** 2)
    assert table.loc["judge2", "raw"] == pytest.approx(raw)
    assert table.loc["judge2", "raw_low"] < raw < table.loc["judge2", "raw_high"]
    mean = table.loc["panel mean"]
    assert mean["raw"] == pytest.approx(mean["calibrated"])
    assert mean["changed"] == 0
    judges = table.loc[list(panel.judges), "gain"].mean()
    assert result.panel_gain is not None
    assert judges == pytest.approx(result.panel_gain.table["with_labels"].iloc[0])
    json.dumps(result.to_dict(), allow_nan=False)


def test_a_threshold_turns_scores_into_decisions() -> None:
    panel, gold, _ = lone_judge(6, 30, tasks=40, k=3, m=3)
    result = pj.anchor(panel, human_frame(panel, gold), threshold=50, resamples=20)
    assert result.measure == "agreement"
    above = (panel.scores[:, :, 0] > 50) == (gold.values > 50)
    assert result.to_frame().set_index("decision").loc["judge1", "raw"] == pytest.approx(above[gold.there].mean())
    assert result.helped is not None


def test_labels_on_another_scale() -> None:
    panel, gold, _ = lone_judge(7, 30, tasks=40, k=3, m=3)
    panel = pj.Panel(panel.scores, panel.tasks, panel.languages, panel.judges, declared_range=(-50, 150))
    frame = human_frame(panel, gold)
    with refused(pj.PanelError, -50, 150, "--label-scale"):
        align_gold(panel, frame.assign(score=frame["score"] * 10))
    small = frame.assign(score=(frame["score"] + 50) / 200 * 4 + 1)
    assert "gold.narrow" in [n.code for n in align_gold(panel, small).notes]
    carried = align_gold(panel, small, scale=(1, 5))
    np.testing.assert_allclose(carried.values, gold.values)
    with refused(pj.PanelError, 2, 3, "scale"):
        align_gold(panel, small, scale=(2, 3))
    with refused(UsageError, "5:1", "scale"):
        align_gold(panel, small, scale=(5, 1))


def test_too_few_labels_leave_parts_out_and_say_so() -> None:
    panel, gold, _ = lone_judge(8, 30, tasks=40, k=3, m=3)
    frame = human_frame(panel, gold)
    one = pj.anchor(panel, frame.head(1), resamples=10)
    assert one.helped is None
    assert [getattr(note, "code", "why helped is not told") for note in one.notes] == [
        "gold.bare",
        "why helped is not told",
    ]
    assert one.humans is not None
    assert np.isnan(one.humans.of_panel["low"]).all()
    assert "labels.one" in [n.code for n in one.humans.notes]
    assert one.table["raw_low"].isna().all()
    part = frame[frame["language"] != "language2"]
    result = pj.anchor(panel, part, resamples=10)
    assert result.helped is not None
    missing = result.helped.cells[result.helped.cells["language"] == "language2"]
    assert set(missing["open_because"]) == {"no labels"}
    assert missing["gain"].isna().all()


def test_command_shows_every_part(tmp_path: Path, cli: Any) -> None:
    panel, gold, _ = lone_judge(0, 60, tasks=80, k=3, m=4)
    panel.to_long().to_csv(tmp_path / "scores.csv", index=False)
    human_frame(panel, gold).to_csv(tmp_path / "gold.csv", index=False)
    out = cli(
        "anchor", tmp_path / "scores.csv", tmp_path / "gold.csv", "--resamples", 100, "--full", "-o", tmp_path / "out"
    )
    assert out.returncode == 0, out.stderr
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"anchor.json", "anchor.csv", "helped.csv", "language_error.csv", "panel_worth.csv"} <= written
    report = report_of(pj.anchor(panel, human_frame(panel, gold), resamples=100))
    assert report is not None
    said = {s.code: s.values for s in (*report.verdict, *(s for part in report.sections for s in part.says))}
    assert said["anchor.invariance"]["holds"]
    assert [said["anchor.hurt"][x] for x in ("language", "judge")] == ["language1", "judge1"]
    shown = {part.name for part in report.sections}
    assert {"humans", "agreement", "gain", "helped", "means", "worth"} <= shown
    assert all(word(part.title) in out.stdout for part in report.sections)


def test_intervals_of_the_gain_have_the_level_asked_for() -> None:
    panel, _ = pj.simulate_panel(60, 3, 3, seed=1)
    rows = [(t, lang, 50.0 + 3 * np.sin(i)) for i, t in enumerate(panel.tasks) for lang in panel.languages]
    gold = align_gold(panel, pd.DataFrame(rows, columns=["task", "language", "score"]))
    wide, narrow = (whom_it_helps(panel, gold, level=x, resamples=500).cells for x in (0.99, 0.5))
    ratio = (wide["high"] - wide["low"]) / (narrow["high"] - narrow["low"])
    assert ratio.median() > 2.5  # 3.8 for a normal law
