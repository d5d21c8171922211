"""Incomplete panels: against dense least squares, the closed form, planted truth and the released scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polyjudge.second as pj
from polyjudge.second.estimate import incomplete
from polyjudge.second.estimate.incomplete import CellRates, Holes, InteractionEstimate, entry_weights, estimate_interaction
from polyjudge.second.estimate.kernels import double_centre
from polyjudge.second.panel.arrays import Array


def dense_least_squares(panel: pj.Panel, design: str) -> Array:
    """The interaction from an explicit regression with a column for every term."""
    n, k, m = panel.shape
    t, l, b = np.nonzero(panel.counts)  # noqa: E741
    rows = np.arange(len(t))
    x = np.zeros((len(t), n * k + n * m + n + k * m))
    if design == "paired":
        x[rows, t * k + l] = 1
        x[rows, n * k + t * m + b] = 1
    else:
        x[rows, n * k + n * m + t] = 1
    x[rows, n * k + n * m + n + l * m + b] = 1
    root = np.sqrt(panel.counts[t, l, b])
    solution = np.linalg.lstsq(x * root[:, None], panel.scores[t, l, b] * root, rcond=None)[0]
    return double_centre(solution[-k * m :].reshape(k, m))


@given(st.integers(0, 10_000), st.integers(2, 4), st.integers(2, 4), st.integers(1, 3), st.sampled_from([0.1, 0.3]))
@settings(max_examples=40, deadline=None)
def test_both_designs_are_least_squares(seed: int, k: int, m: int, replicates: int, missing: float) -> None:
    panel, _ = pj.simulate_panel(8, k, m, replicates, seed, missing=missing)
    for design in ("paired", "additive"):
        try:
            estimate = estimate_interaction(panel)
        except pj.PanelError:
            continue
        if design == "additive" and not panel.complete:
            estimate = InteractionEstimate(panel, "additive")
        expected = dense_least_squares(panel, estimate.design)
        np.testing.assert_allclose(estimate.interaction, expected, atol=1e-9)
        np.testing.assert_allclose(double_centre(estimate.cells), estimate.interaction, atol=1e-9)
        np.testing.assert_allclose(estimate.influence.mean(axis=0), estimate.interaction, atol=1e-9)
        np.testing.assert_allclose(estimate.cell_influence.mean(axis=0), estimate.cells, atol=1e-9)


def test_weights_are_replicates_and_tasks_of_a_unit() -> None:
    rng = np.random.default_rng(0)
    array = rng.normal(50, 10, (7, 3, 3, 3))
    array[rng.random(array.shape) < 0.3] = np.nan
    panel = pj.Panel.from_array(array)
    assert len(np.unique(panel.counts)) > 2
    np.testing.assert_allclose(
        estimate_interaction(panel).interaction, dense_least_squares(panel, estimate_interaction(panel).design)
    )
    scores, _ = pj.simulate_panel(6, 3, 3, seed=2, missing=0.1)
    doubled = pj.Panel.from_array(np.repeat(scores.scores, [2, 1, 1, 1, 1, 1], axis=0))
    weighted = pj.Panel.from_array(scores.scores, weights=np.array([2.0, 1, 1, 1, 1, 1]))
    a, b = estimate_interaction(doubled), estimate_interaction(weighted)
    np.testing.assert_allclose(a.interaction, b.interaction, atol=1e-10)
    np.testing.assert_allclose(a.cells, b.cells, atol=1e-10)
    share = weighted.weights / weighted.weights.sum()
    np.testing.assert_allclose(np.tensordot(share, b.cell_influence, 1), b.cells, atol=1e-9)


def test_complete_panels_give_the_closed_form_to_the_bit(devai_like: pj.Panel) -> None:
    estimate = estimate_interaction(devai_like)
    assert estimate.design == "complete"
    np.testing.assert_array_equal(estimate.cells, devai_like.cell_means)
    np.testing.assert_array_equal(estimate.influence, double_centre(devai_like.scores))
    fitted = pj.ConsensusCalibrator().fit(devai_like).interaction_.to_numpy()
    np.testing.assert_allclose(fitted, double_centre(devai_like.cell_means), atol=1e-12)
    draws = np.random.default_rng(0).multinomial(55, np.full(55, 1 / 55), size=5)
    cells, interaction = estimate.resample(draws)
    np.testing.assert_allclose(cells[3], np.average(devai_like.scores, axis=0, weights=draws[3]))
    np.testing.assert_allclose(interaction[3], double_centre(cells[3]))


def test_least_squares_of_a_full_panel_is_the_closed_form() -> None:
    panel, _ = pj.simulate_panel(20, 4, 5, seed=3)
    for design in ("paired", "additive"):
        forced = incomplete.InteractionEstimate(panel, design)  # type: ignore[arg-type]
        np.testing.assert_allclose(forced.cells, panel.cell_means, atol=1e-9)
        np.testing.assert_allclose(forced.influence, double_centre(panel.scores), atol=1e-9)
        np.testing.assert_allclose(forced.cell_influence, panel.scores, atol=1e-9)


def test_resampling_refits(monkeypatch: pytest.MonkeyPatch) -> None:
    panel, _ = pj.simulate_panel(30, 3, 4, seed=4, missing=0.15)
    estimate = estimate_interaction(panel)
    draws = np.random.default_rng(1).multinomial(30, np.full(30, 1 / 30), size=4)
    cells, interaction = estimate.resample(draws)
    for r, draw in enumerate(draws):
        again = pj.Panel.from_array(np.repeat(panel.scores, draw, axis=0))
        refit = estimate_interaction(again)
        np.testing.assert_allclose(interaction[r], refit.interaction, atol=1e-9)
        np.testing.assert_allclose(cells[r], refit.cells, atol=1e-9)
    # Too many patterns to keep: conjugate gradients for the estimate, one step for the replicates.
    monkeypatch.setattr(incomplete, "DENSE_BYTES", 0)
    large = estimate_interaction(panel)
    np.testing.assert_allclose(large.interaction, estimate.interaction, atol=1e-8)
    np.testing.assert_allclose(large.influence, estimate.influence, atol=1e-4)
    step, _ = large.resample(np.ones((1, 30)))
    np.testing.assert_allclose(step[0], estimate.cells, atol=1e-8)


def test_an_unidentified_replicate_is_not_a_number() -> None:
    panel, _ = pj.simulate_panel(6, 3, 3, seed=5, missing=0.2)
    one = np.zeros((1, 6))
    one[0, np.isnan(panel.scores).sum(axis=(1, 2)).argmax()] = 6
    cells, interaction = estimate_interaction(panel).resample(one)
    assert np.isnan(cells).all()
    assert np.isnan(interaction).all()


@given(st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_task_language_and_judge_terms_do_not_matter(seed: int) -> None:
    panel, _ = pj.simulate_panel(15, 3, 4, seed=seed, missing=0.2)
    estimate = estimate_interaction(panel)
    if estimate.design != "paired":
        return
    rng = np.random.default_rng(seed)
    moved = panel.scores + 30 * rng.normal(size=(15, 3, 1)) + 30 * rng.normal(size=(15, 1, 4))
    np.testing.assert_allclose(
        estimate_interaction(panel.with_scores(moved)).interaction, estimate.interaction, atol=1e-8
    )


def available_means(panel: pj.Panel) -> Array:
    return double_centre(np.nanmean(panel.scores, axis=0))


def drop(panel: pj.Panel, share: float, seed: int) -> pj.Panel:
    mask = np.random.default_rng(seed).random(panel.shape) < share
    return pj.Panel(np.where(mask, np.nan, panel.scores), panel.tasks, panel.languages, panel.judges)


@pytest.mark.statistical
@pytest.mark.parametrize(("share", "most", "naive"), [(0.05, 0.19, 0.34), (0.30, 0.61, 1.04)])
def test_devai_with_holes(devai: pj.Panel, share: float, most: float, naive: float) -> None:
    truth = double_centre(devai.cell_means)
    error, plain = [], []
    for seed in range(100):
        panel = drop(devai, share, seed)
        error.append(np.abs(estimate_interaction(panel).interaction - truth).mean())
        plain.append(np.abs(available_means(panel) - truth).mean())
    assert np.mean(error) <= most
    assert np.mean(plain) == pytest.approx(naive, rel=0.1)


@pytest.mark.statistical
def test_unbiased_where_available_means_are_not() -> None:
    """Hard tasks lose entries of one cell: missing given the task, which available means take for interaction."""
    errors, naive = [], []
    for seed in range(60):
        panel, truth = pj.simulate_panel(80, 4, 3, seed=seed, task_sd=15, task_language_sd=6, task_judge_sd=6)
        rng = np.random.default_rng(seed)
        scores = panel.scores.copy()
        hard = truth.task_effect.to_numpy() < 0
        scores[hard & (rng.random(80) < 0.6), 1, 2] = np.nan
        scores[rng.random(scores.shape) < 0.05] = np.nan
        holed = pj.Panel.from_array(scores)
        errors.append(estimate_interaction(holed).interaction - truth.interaction.to_numpy())
        naive.append(available_means(holed) - truth.interaction.to_numpy())
    mean, se = np.mean(errors, axis=0), np.std(errors, axis=0, ddof=1) / np.sqrt(60)
    assert np.abs(mean / se).max() < 4
    assert np.mean(naive, axis=0)[1, 2] > 1.5  # planted: easier tasks left in the cell


@pytest.mark.statistical
def test_interval_coverage() -> None:
    """Pointwise 95% intervals from the influence values, over simulated panels with holes."""
    from scipy.stats import t

    hits = []
    for seed in range(150):
        panel, truth = pj.simulate_panel(40, 4, 4, seed=seed, missing=0.25, noise="heteroskedastic")
        estimate = estimate_interaction(panel)
        radius = t.ppf(0.975, np.maximum(estimate.tasks - 1, 1)) * estimate.se
        hits.append(np.abs(estimate.interaction - truth.interaction.to_numpy()) <= radius)
    assert 0.93 <= np.mean(hits) <= 0.97


def test_a_preference_sized_panel_is_estimated() -> None:
    panel, _ = pj.simulate_panel(1500, 7, 5, seed=0)
    scores = panel.scores.copy()
    scores.reshape(-1)[np.random.default_rng(0).choice(scores.size, 35, replace=False)] = np.nan
    holed = pj.Panel.from_array(scores)
    estimate = estimate_interaction(holed)
    assert np.isfinite(estimate.se).all()
    complete = estimate_interaction(panel).interaction
    # 35 of 52,500 scores are gone: what they can move is small beside the standard error.
    assert np.abs(estimate.interaction - complete).max() < 0.2 * estimate.se.min()


def test_a_task_without_any_score_changes_nothing() -> None:
    panel, _ = pj.simulate_panel(12, 3, 3, seed=6, missing=0.15)
    wider = pj.Panel.from_array(np.concatenate([panel.scores, np.full((2, 3, 3), np.nan)]))
    a, b = estimate_interaction(panel), estimate_interaction(wider)
    np.testing.assert_allclose(a.cells, b.cells, atol=1e-9)
    np.testing.assert_allclose(b.cell_influence.mean(axis=0), b.cells, atol=1e-9)
    np.testing.assert_allclose(b.se, a.se, rtol=0.01)
    cells, _ = b.resample(np.ones((1, 14)))
    np.testing.assert_allclose(cells[0], a.cells, atol=1e-9)
    rates = [
        CellRates(Holes(entry_weights(p).reshape(len(p.tasks), -1), p.weights), np.ones((1, len(p.tasks))))(
            (p.scores > 50).reshape(len(p.tasks), -1).astype(float)
        )
        for p in (panel, wider)
    ]
    np.testing.assert_allclose(*rates, atol=1e-9)
