"""Shrinkage: the amount that pays on left-out tasks, against planted truth, and never a loss beyond noise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import stdtrit

import polyjudge.second as pj
from polyjudge.second.calibrate.shrinkage import Spread, shrinkage
from polyjudge.second.estimate.incomplete import estimate_interaction
from polyjudge.second.estimate.kernels import double_centre
from polyjudge.second.panel.errors import UsageError
from refusals import refused


def errors(interaction: float, panels: int = 60, **options: object) -> tuple[float, float, float]:
    """Mean squared error shrunk and plain, and coverage of the shrunk intervals."""
    shrunk, plain, hits = [], [], []
    for seed in range(panels):
        panel, truth = pj.simulate_panel(interaction=interaction, seed=seed, **options)  # type: ignore[arg-type]
        off = pj.ConsensusCalibrator(shrinkage="auto").fit(panel)
        error = off.interaction_ - truth.interaction
        shrunk.append((error**2).to_numpy().mean())
        plain.append(((pj.ConsensusCalibrator().fit(panel).interaction_ - truth.interaction) ** 2).to_numpy().mean())
        hits.append((error.abs() <= stdtrit(len(panel.tasks) - 1, 0.975) * off.se_).to_numpy().mean())
    return float(np.mean(shrunk)), float(np.mean(plain)), float(np.mean(hits))


@pytest.mark.parametrize("shape", [(8, 6), (4, 3)])
def test_eight_tasks(shape: tuple[int, int]) -> None:
    k, m = shape
    for interaction, most in ((0.5, 0.75), (2.0, 0.75), (20.0, 1.05)):
        shrunk, plain, coverage = errors(interaction, tasks=8, languages=k, judges=m)
        assert shrunk <= most * plain
        assert coverage >= 0.93


@pytest.mark.parametrize("options", [{"noise": "heavy"}, {"noise": "heteroskedastic"}, {"missing": 0.2}])
@pytest.mark.statistical
def test_never_a_loss_beyond_noise(options: dict[str, object]) -> None:
    for interaction in (0.0, 1.0, 4.0, 12.0):
        shrunk, plain, _ = errors(interaction, panels=30, tasks=12, languages=4, judges=3, **options)
        assert shrunk <= 1.02 * plain


def test_two_by_two_is_left_alone() -> None:
    """One free cell cannot borrow from others: shrinking it would be a loss for some truths."""
    panel, _ = pj.simulate_panel(8, 2, 2, seed=1, interaction=0.1)
    assert shrinkage(panel).amount == 0
    both = [pj.ConsensusCalibrator(shrinkage=x).fit(panel).interaction_ for x in ("auto", "none")]  # type: ignore[arg-type]
    np.testing.assert_allclose(*both, rtol=1e-12)


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.2]))
@settings(max_examples=20, deadline=None)
def test_auto_has_the_largest_expected_gain(seed: int, missing: float) -> None:
    panel, _ = pj.simulate_panel(20, 4, 4, seed=seed, interaction=2, missing=missing)
    spread = Spread.of(estimate_interaction(panel), panel.weights)

    def gain(kept: np.ndarray) -> float:
        x = kept @ spread.centre
        noise = spread.caution * np.trace(kept @ spread.covariance)
        return float(2 * (spread.centre @ x - noise) - x @ x)

    best = gain(spread.kept("auto"))
    if spread.off(spread.kept("auto")) == 0:  # under LEAST: left alone on purpose
        return
    for share in np.linspace(0, 1, 21):
        shape = np.linalg.inv(np.eye(9) + share / max(1 - share, 1e-12) * spread.shape)
        assert best >= gain(shape) - 1e-4 * abs(best) - 1e-9


def test_complete_panels_shrink_by_one_number() -> None:
    """The closed form: 1 - caution * trace V / |beta|^2, as leave-one-task-out gains have their largest value there."""
    panel, _ = pj.simulate_panel(10, 5, 4, seed=3, interaction=3)
    spread = Spread.of(estimate_interaction(panel), panel.weights)
    expected = spread.caution * np.trace(spread.covariance) / (spread.centre @ spread.centre)
    assert shrinkage(panel).amount == pytest.approx(expected, abs=0.01)
    deviations = double_centre(panel.scores) - double_centre(panel.cell_means)
    trace = (deviations**2).sum() / 9 / 10
    assert np.trace(spread.covariance) == pytest.approx(trace)


def test_left_out_gain_is_that_of_the_definition() -> None:
    panel, _ = pj.simulate_panel(7, 3, 4, seed=5, interaction=3)
    d = double_centre(panel.scores)
    expected = []
    for t in range(7):
        beta = np.delete(d, t, axis=0).mean(axis=0)
        expected.append((2 * d[t] * beta - beta**2).mean())
    spread = Spread.of(estimate_interaction(panel), panel.weights)
    assert spread.left_out_gains(np.eye(6)).mean() == pytest.approx(np.mean(expected))
    kept = spread.kept("auto")
    gain = (spread.left_out_gains(kept) - spread.left_out_gains(np.eye(6))).mean()
    assert shrinkage(panel).gain == pytest.approx(gain)


@pytest.mark.statistical
def test_devai_with_holes_is_not_made_worse(devai_like: pj.Panel) -> None:
    truth = double_centre(devai_like.cell_means)
    axes = devai_like.tasks, devai_like.languages, devai_like.judges
    for share in (0.05, 0.3):
        plain, shrunk = [], []
        for seed in range(30):
            mask = np.random.default_rng(seed).random(devai_like.shape) < share
            panel = pj.Panel.from_array(np.where(mask, np.nan, devai_like.scores), *axes)
            plain.append(np.abs(pj.ConsensusCalibrator().fit(panel).interaction_ - truth).to_numpy().mean())
            shrunk.append(
                np.abs(pj.ConsensusCalibrator(shrinkage="auto").fit(panel).interaction_ - truth).to_numpy().mean()
            )
        assert np.mean(shrunk) <= 1.02 * np.mean(plain)


def test_the_calibrator_shrinks_and_remembers(tmp_path) -> None:  # type: ignore[no-untyped-def]
    panel, _ = pj.simulate_panel(8, 5, 4, seed=2, interaction=1)
    plain = pj.ConsensusCalibrator().fit(panel)
    half = pj.ConsensusCalibrator(shrinkage=0.5).fit(panel)
    np.testing.assert_allclose(half.interaction_, plain.interaction_ / 2, atol=1e-12)
    np.testing.assert_allclose(half.judge_effect_, plain.judge_effect_, atol=1e-12)
    assert half.shrunk_ == pytest.approx(0.5)
    auto = pj.ConsensusCalibrator(shrinkage="auto").fit(panel)
    assert auto.shrunk_ == shrinkage(panel).amount
    auto.save(tmp_path / "cal.json")
    again = pj.load_calibrator(tmp_path / "cal.json")
    assert again.shrunk_ == auto.shrunk_
    assert again.shrinkage == "auto"
    np.testing.assert_array_equal(again.se_, auto.se_)
    assert pj.ConsensusCalibrator(shrinkage="none").fit(panel).to_dict() == plain.to_dict()


@pytest.mark.parametrize("amount", [-0.1, 1.5, "much", True, float("nan"), None])
def test_bad_amounts(amount: object) -> None:
    with refused(UsageError, "shrinkage", amount):
        pj.ConsensusCalibrator(shrinkage=amount)  # type: ignore[arg-type]


def test_identical_tasks_and_no_interaction() -> None:
    """No noise, no interaction: nothing to shrink and no division by zero."""
    flat = pj.Panel.from_array(np.tile(np.add.outer([1.0, 2, 3], [5.0, 6, 9]), (4, 1, 1)))
    cal = pj.ConsensusCalibrator(shrinkage="auto").fit(flat)
    assert shrinkage(flat).amount == 0
    assert np.isfinite(cal.se_.to_numpy()).all()
    assert np.abs(cal.interaction_.to_numpy()).max() < 1e-12


def test_words() -> None:
    few, _ = pj.simulate_panel(8, 8, 6, seed=1, interaction=0.3)
    assert shrinkage(few).advice.values["proven"] is False
    helps, _ = pj.simulate_panel(30, 8, 6, seed=1, interaction=0.3)
    assert shrinkage(helps).advice.values["proven"] is True
    large, _ = pj.simulate_panel(200, 4, 4, seed=1, interaction=20)
    assert shrinkage(large).advice.code == "shrink.no"
    found = shrinkage(helps)
    assert found.low < found.gain < found.high
