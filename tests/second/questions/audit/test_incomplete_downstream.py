"""Everything after the estimate accepts incomplete panels, with the same estimator and honest error rates."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.estimate.crossfit import crossfit
from polyjudge.second.estimate.incomplete import (
    CellRates,
    Holes,
    StandIn,
    entry_weights,
    estimate_interaction,
    informing,
    stand_in,
)
from polyjudge.second.estimate.kernels import double_centre
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.questions.audit import rank_reversals, tied_sets, uncertainty
from polyjudge.second.questions.audit.pass_rates import gates
from polyjudge.second.questions.audit.robustness import sensitivity
from polyjudge.second.questions.audit.variation import variance
from polyjudge.second.questions.plan.planning import plan
from refusals import lacks, refused

Run = Callable[..., CompletedProcess[str]]


def drop(panel: pj.Panel, share: float, seed: int = 0) -> pj.Panel:
    mask = np.random.default_rng(seed).random(panel.shape) < share
    return pj.Panel(np.where(mask, np.nan, panel.scores), panel.tasks, panel.languages, panel.judges)


def test_the_stand_in_has_the_estimates_means_and_spread() -> None:
    panel, _ = pj.simulate_panel(25, 4, 3, seed=1, missing=0.2)
    estimate, other = estimate_interaction(panel), stand_in(panel)
    assert other.complete
    np.testing.assert_allclose(other.cell_means, estimate.cells, atol=1e-9)
    np.testing.assert_allclose(double_centre(other.scores), estimate.influence, atol=1e-9)
    assert other.range == panel.range
    assert stand_in(panel) is other
    assert type(other) is StandIn  # so that nobody takes it for scores
    full, _ = pj.simulate_panel(5, 2, 2)
    assert stand_in(full) is full
    assert (informing(full) == 5).all()
    assert (informing(panel) < 25).any()


def test_an_audit_with_few_holes_says_what_the_complete_one_says(devai: pj.Panel) -> None:
    plain = pj.Panel(devai.scores, devai.tasks, devai.languages, devai.judges)
    whole = pj.audit(plain, resamples=200, threshold=50)
    part = pj.audit(drop(plain, 0.02), resamples=200, threshold=50)
    a, b = whole.uncertainty.to_frame(), part.uncertainty.to_frame()
    assert np.abs(a["interaction"] - b["interaction"]).mean() < 0.2
    assert np.mean(b["se"] / a["se"]) == pytest.approx(1.01, abs=0.04)
    assert abs(whole.reversals.count - part.reversals.count) <= 1
    assert whole.reversals.top["judge"].tolist()[-1] == part.reversals.top["judge"].tolist()[-1]
    assert whole.gates is not None
    assert part.gates is not None
    assert part.gates.spread_raw == pytest.approx(whole.gates.spread_raw, abs=3)
    assert part.gates.held_out_reduction == pytest.approx(whole.gates.held_out_reduction, abs=3)
    assert part.missingness is not None
    assert whole.missingness is None
    assert any(f.code == "missing-scores" for f in part.findings)
    json.dumps(part.to_dict(), allow_nan=False)
    assert "variance" in part.left_out or part.variance is not None


@pytest.mark.statistical
def test_intervals_and_band_cover() -> None:
    point, band = [], []
    for seed in range(60):
        panel, truth = pj.simulate_panel(40, 4, 3, seed=seed, missing=0.2)
        frame = uncertainty(panel, resamples=200, seed=seed).to_frame()
        true = truth.interaction.to_numpy().ravel()
        point.append((frame["low"] <= true) & (true <= frame["high"]))
        band.append(((frame["band_low"] <= true) & (true <= frame["band_high"])).all())
    assert 0.92 <= np.mean(point) <= 0.98
    assert np.mean(band) >= 0.88


@pytest.mark.statistical
def test_no_reversals_where_there_is_no_interaction() -> None:
    p_global, found = [], 0
    for seed in range(40):
        panel, _ = pj.simulate_panel(30, 4, 4, seed=seed, interaction=0.0, judge_sd=3, missing=0.2)
        result = rank_reversals(panel, draws=99, resamples=100, seed=seed)
        p_global.append(result.p_global)
        found += result.count_selected > 0
    assert np.mean(np.array(p_global) <= 0.1) <= 0.25
    assert found <= 4


def test_planted_reversals_are_found_and_ranked() -> None:
    beta = np.zeros((3, 3))
    beta[0] = [12, -12, 0]
    panel, _ = pj.simulate_panel(60, 3, 3, seed=2, interaction=double_centre(beta), judge_sd=1, missing=0.25)
    result = rank_reversals(panel, draws=199, resamples=100)
    assert result.count_selected >= 1
    assert result.p_global <= 0.05
    ranks = tied_sets(panel)
    assert ranks.top_set("language1") == ["judge1"]


def test_pass_rates_are_least_squares() -> None:
    panel, _ = pj.simulate_panel(12, 3, 3, seed=3, missing=0.2)
    passed = panel.scores > 50
    t, l, b = np.nonzero(panel.counts)  # noqa: E741
    x = np.zeros((len(t), 12 + 9))
    x[np.arange(len(t)), t] = 1
    x[np.arange(len(t)), 12 + l * 3 + b] = 1
    fit = np.linalg.lstsq(x, passed[t, l, b].astype(float), rcond=None)[0]
    expected = (fit[12:] + fit[:12].mean()).reshape(3, 3)
    flat = passed.reshape(12, -1).astype(float)
    weights = entry_weights(panel).reshape(12, -1)
    np.testing.assert_allclose(
        CellRates(Holes(weights, np.ones(12)), np.ones((1, 12)))(flat)[0], expected.ravel(), atol=1e-9
    )
    frame = gates(panel, 50.0, resamples=100).to_frame()
    np.testing.assert_allclose(frame["pass_raw"], np.clip(expected.ravel(), 0, 1), atol=1e-9)
    # A resampling is the same fit of the tasks drawn.
    draw = np.random.default_rng(0).multinomial(12, np.full(12, 1 / 12))
    again = CellRates(Holes(np.repeat(weights, draw, axis=0), np.ones(12)), np.ones((1, 12)))(
        np.repeat(flat, draw, axis=0)
    )
    np.testing.assert_allclose(CellRates(Holes(weights, np.ones(12)), draw[None].astype(float))(flat), again, atol=1e-9)


@pytest.mark.statistical
def test_pass_rates_are_not_fooled_by_hard_tasks_that_are_missing() -> None:
    errors, naive = [], []
    for seed in range(30):
        panel, truth = pj.simulate_panel(80, 3, 3, seed=seed, task_sd=20)
        scores = panel.scores.copy()
        scores[truth.task_effect.to_numpy() < -5, 0, 1] = np.nan
        holed = pj.Panel.from_array(scores)
        right = (panel.scores > 50).mean(axis=0)[0, 1]
        errors.append(gates(holed, 50.0, resamples=100).to_frame()["pass_raw"][1] - right)
        seen = scores[:, 0, 1]
        naive.append((seen[~np.isnan(seen)] > 50).mean() - right)
    assert np.mean(naive) > 0.2
    assert abs(np.mean(errors)) < 0.35 * np.mean(naive)


def test_the_other_analyses() -> None:
    panel, _ = pj.simulate_panel(50, 4, 4, seed=4, missing=0.1)
    checked = sensitivity(panel, resamples=100)
    assert np.isfinite(checked.links["spearman"]).all()
    assert ((checked.pile_up["floor"] >= 0) & (checked.pile_up["floor"] <= 1)).all()
    planned = plan(panel)
    assert planned.decision is None
    assert "plan.no-study" in [note.code for note in planned.notes]
    with refused(pj.PanelError, "variance", 10, 50):
        variance(panel)
    few = drop(pj.simulate_panel(50, 4, 4, seed=4)[0], 0.005)
    assert any(note.code.startswith("variance.") for note in variance(few).notes)


def test_anchors_without_a_single_complete_task() -> None:
    panel, truth = pj.simulate_panel(40, 4, 4, seed=7, missing=0.2)
    assert np.isnan(panel.scores).any(axis=(1, 2)).all()
    level = 50 + truth.task_effect.to_numpy()
    gold = pd.DataFrame(
        [(t, l, level[i]) for i, t in enumerate(panel.tasks) for l in panel.languages],  # noqa: E741
        columns=["task", "language", "score"],
    )
    result = pj.anchor(panel, gold, resamples=50)
    assert "anchor.missing" in [n.code for n in result.notes]
    assert result.helped is not None
    assert np.isfinite(result.to_frame()[["raw", "calibrated"]].to_numpy(dtype=float)).all()
    fit = crossfit(panel, 0)
    outside = fit.outside
    others = [t for t, f in zip(panel.tasks, fit.fold, strict=True) if f != 2]
    expected = pj.ConsensusCalibrator().fit(panel.select(tasks=others)).interaction_
    np.testing.assert_allclose(outside[2], expected, atol=1e-9)


def test_fit_save_transform_and_apply(tmp_path: Path) -> None:
    panel, _ = pj.simulate_panel(30, 3, 3, seed=5, missing=0.2)
    cal = pj.ConsensusCalibrator().fit(panel)
    cal.save(tmp_path / "cal.json")
    out = pj.load_calibrator(tmp_path / "cal.json").transform(panel)
    np.testing.assert_array_equal(np.isnan(out.scores), np.isnan(panel.scores))
    refit = pj.ConsensusCalibrator().fit(out).interaction_.to_numpy()
    assert np.abs(refit).max() < 1e-9  # nothing is left to remove
    assert (cal.counts_.to_numpy() == (~np.isnan(panel.scores)).sum(axis=0)).all()


@pytest.fixture
def lonely(tmp_path: Path) -> Path:
    """Scores with random holes, and Swahili by one judge only."""
    panel, _ = pj.simulate_panel(30, ["English", "German", "Swahili"], ["Ada", "Bob", "Cleo"], seed=6)
    long = drop(panel, 0.05).to_long()
    long = long[~((long["language"] == "Swahili") & (long["judge"] != "Ada"))]
    long.to_csv(tmp_path / "scores.csv", index=False)
    return tmp_path / "scores.csv"


def test_command_line(lonely: Path, cli: Run) -> None:
    done = cli("audit", lonely, "--resamples", "100", "--json")
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert any(not lacks(note, "Swahili", "Ada") for note in data["summary"]["notes"])
    assert any(not lacks(note, 30 * 3 * 3 - len(pd.read_csv(lonely)), 30 * 3 * 3) for note in data["summary"]["notes"])
    assert data["summary"]["languages"] == ["English", "German"]
    assert data["missingness"]["missing"] > 0
    out = lonely.parent / "out.csv"
    done = cli("calibrate", lonely, "-o", out)
    assert done.returncode == 0, done.stderr
    assert not lacks(done.stdout, "Swahili", "Ada")
    assert "Swahili" in out.read_text()  # its rows are kept, unchanged
    refused = cli("audit", lonely, "--incomplete", "error")
    assert refused.returncode == 2
    assert "Traceback" not in refused.stderr


def test_functions_settle_missing_scores_as_the_command_does(lonely: Path, cli: Run) -> None:
    """One policy: a path, a table and a panel give what the command gives."""
    data = json.loads(cli("audit", lonely, "--resamples", "100", "--json").stdout)
    panel = pj.read_panel(lonely)
    assert tuple(pj.audit(lonely, resamples=100).to_dict()["summary"]["notes"]) == tuple(data["summary"]["notes"])
    for source in (panel, pd.read_csv(lonely)):
        found = pj.audit(source, resamples=100).uncertainty.to_dict()
        assert json.loads(json.dumps(found, default=float)) == data["uncertainty"]
    renamed = pd.read_csv(lonely).rename(columns={"judge": "who"})
    assert pj.audit(renamed, judge="who", resamples=100).to_dict()["uncertainty"] == data["uncertainty"]
    with refused(UsageError, "polyjudge.audit", "judge"):
        pj.audit(panel, judge="who")
