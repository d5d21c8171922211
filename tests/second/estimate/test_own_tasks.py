"""Languages that no tasks join: least squares on answers and cells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import stdtr

import polyjudge.second as pj
from polyjudge.second.estimate import incomplete
from polyjudge.second.estimate.bands import uncertainty
from polyjudge.second.estimate.designs import Elimination, basis
from polyjudge.second.estimate.deviations import Units, _clear, _one_by_one, _outvoted, choose, half_masks, sized
from polyjudge.second.estimate.incomplete import (
    estimate_interaction,
    informed_share,
    informing,
    informing_interaction,
    language_strata,
    stand_in,
)
from polyjudge.second.estimate.kernels import double_centre, draw_block
from polyjudge.second.estimate.resample import mean_and_se
from polyjudge.second.panel.arrays import Array
from polyjudge.second.questions.audit.orders import order_judges

SIZES = (8, 20, 60)


def unjoined(holes: float = 0.0, seed: int = 0, **more: object) -> pj.Panel:
    """Each task in one of three languages, 8, 20 and 60 of them, by four judges."""
    panel, _ = pj.simulate_panel(sum(SIZES), 3, 4, seed=seed)
    there = np.repeat(np.arange(3), SIZES)[:, None] == np.arange(3)
    kept = np.random.default_rng(seed).random(panel.scores.shape) >= holes
    return pj.Panel.from_array(np.where(there[..., None] & kept, panel.scores, np.nan), **more)


def own_means(panel: pj.Panel) -> Array:
    """c(l, j): mean over the tasks of l of the score less the mean over the judges of the same answer."""
    return np.nanmean(panel.scores - np.nanmean(panel.scores, axis=2, keepdims=True), axis=0)


@pytest.mark.filterwarnings("ignore:Mean of empty slice")
def test_it_is_the_difference_of_differences() -> None:
    panel = unjoined()
    found = estimate_interaction(panel)
    assert found.design == "answers"
    np.testing.assert_allclose(found.interaction, double_centre(own_means(panel)), atol=1e-10)
    np.testing.assert_allclose(found.cells, np.nanmean(panel.scores, axis=0), atol=1e-10)
    np.testing.assert_allclose(found.tasks, np.repeat(np.array(SIZES)[:, None], 4, axis=1))


@pytest.mark.filterwarnings("ignore:Mean of empty slice")
def test_its_error_adds_over_languages() -> None:
    """Var beta(l) = (1 - 1/k)^2 v(l) + sum of the others' v / k^2, v the variance of a mean over the own tasks."""
    panel = unjoined()
    parts = panel.scores - np.nanmean(panel.scores, axis=2, keepdims=True)
    v = np.stack([np.nanvar(parts[:, i], axis=0, ddof=1) / n for i, n in enumerate(SIZES)])
    expected = 4 / 9 * v + (v.sum(axis=0) - v) / 9
    np.testing.assert_allclose(estimate_interaction(panel).se ** 2, expected, rtol=1e-9)
    square = (4 / 9 * v) ** 2 / (np.array(SIZES)[:, None] - 1)
    rest = (v / 9) ** 2 / (np.array(SIZES)[:, None] - 1)
    df = expected**2 / (square + rest.sum(axis=0) - rest)
    np.testing.assert_allclose(informing_interaction(panel) - 1, df, rtol=1e-9)
    np.testing.assert_allclose(informed_share(panel), np.array(SIZES) / 88)
    assert (informing(panel)[:, 0] == SIZES).all()
    assert (df[2] < 59).all()  # the few tasks of another language make much of the error


def test_holes_inside_a_language_are_least_squares() -> None:
    """The same as a regression on a dummy for every answer and every cell."""
    panel = unjoined(holes=0.15, seed=3)
    t, l, j = np.nonzero(~np.isnan(panel.scores))  # noqa: E741
    design = np.hstack([t[:, None] == np.arange(88), (l * 4 + j)[:, None] == np.arange(12)]).astype(float)
    fitted = np.linalg.lstsq(design, panel.scores[t, l, j], rcond=None)[0]
    found = estimate_interaction(panel)
    np.testing.assert_allclose(found.interaction, double_centre(fitted[88:].reshape(3, 4)), atol=1e-8)
    residual = panel.scores[t, l, j] - design @ fitted
    freedom = len(t) - np.linalg.matrix_rank(design)
    assert found.noise_sd == pytest.approx(np.sqrt((residual**2).sum() / freedom), rel=1e-8)


@pytest.mark.parametrize("holes", [0.0, 0.15])
def test_influence_and_resampling(holes: float) -> None:
    panel = unjoined(holes, seed=5)
    found = estimate_interaction(panel)
    np.testing.assert_allclose(found.influence.mean(axis=0), found.interaction, atol=1e-9)
    np.testing.assert_allclose(stand_in(panel).cell_means, found.cells, atol=1e-9)
    np.testing.assert_allclose(double_centre(found.cell_influence), found.influence, atol=1e-9)
    cells, interaction = found.resample(np.ones((1, 88)))
    np.testing.assert_allclose(cells[0], found.cells, atol=1e-9)
    np.testing.assert_allclose(interaction[0], found.interaction, atol=1e-9)
    strata = panel.strata
    assert strata is not None
    drawn = draw_block(88, 400, 7, 0, None, strata)
    assert all((drawn[:, strata == i].sum(axis=1) == n).all() for i, n in enumerate(SIZES))
    spread = found.resample(drawn)[1].std(axis=0)
    np.testing.assert_allclose(spread, found.se, rtol=0.25)
    nothing = np.where(strata == 0, 0, 1)[None]
    assert np.isnan(found.resample(nothing)[1]).all()


def test_clusters_are_drawn_whole_and_across_languages() -> None:
    names = [f"c{i // 4}" for i in range(88)]
    codes = np.unique(names, return_inverse=True)[1]
    inside = unjoined(clusters=tuple(sorted(set(names))), cluster=codes)
    assert inside.strata is not None
    drawn = draw_block(88, 50, 7, 0, inside.cluster, inside.strata)
    assert (np.ptp(drawn.reshape(50, 22, 4), axis=2) == 0).all()
    across = unjoined(clusters=tuple(map(str, range(22))), cluster=np.arange(88) % 22)
    assert across.strata is None
    assert uncertainty(across, resamples=100).cells["se"].gt(0).all()


def test_tasks_that_some_languages_share() -> None:
    panel = unjoined()
    scores = panel.scores.copy()
    scores[:5, 1] = scores[:5, 0] - 3.0
    some = pj.Panel.from_array(scores)
    found = estimate_interaction(some)
    assert found.design == "answers"
    assert some.strata is None
    np.testing.assert_allclose(found.influence.mean(axis=0), found.interaction, atol=1e-9)
    assert some.own[:, :2].sum(axis=0).tolist() == [28, 28]
    assert some.own[:, 2].sum() == 60
    assert some.lost.sum() == (20 + 3) * 4


def test_many_languages_are_solved_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = estimate_interaction(unjoined())
    drawn = draw_block(88, 50, 7, 0, None, unjoined().strata)
    known = exact.resample(drawn)
    monkeypatch.setattr(incomplete, "DENSE_ANSWERS", 1)
    steps = estimate_interaction(unjoined())
    np.testing.assert_allclose(steps.interaction, exact.interaction, atol=1e-8)
    np.testing.assert_allclose(steps.se, exact.se, rtol=1e-6)
    for seen, expected in zip(steps.resample(drawn), known, strict=True):
        np.testing.assert_allclose(seen, expected, atol=0.4 * exact.se.max())


def test_a_normal_matrix_acts_as_its_patterns_do() -> None:
    """The normal matrix of patterns, their action and their residuals say the same."""
    weights = np.random.default_rng(1).integers(0, 3, (7, 3, 4)).astype(float)
    times, task = np.arange(1.0, 8.0), Elimination(weights, "answers")
    flat = basis(3, 4, "answers")
    assert len(flat) == 9
    normal = task.normal(times)
    cells = np.random.default_rng(2).normal(size=(3, 4))
    expected = np.tensordot(times, task.residual(cells[None, None])[:, 0], 1)
    np.testing.assert_allclose(task.apply(cells, times), expected, atol=1e-10)
    np.testing.assert_allclose((normal @ cells.ravel()).reshape(3, 4), expected, atol=1e-10)


def planted(sizes: tuple[int, ...], off: float, seed: int) -> pj.Panel:
    """Each task in one language; the first judge is off in the first one. Task, judge and answer differ besides."""
    rng = np.random.default_rng([seed, 29])
    of, k = np.repeat(np.arange(len(sizes)), sizes), len(sizes)
    n = len(of)
    scores = 50 + rng.normal(0, 8, (n, 1, 1)) + rng.normal(0, 4, 4) + rng.normal(0, 3, (n, 1, 4))
    scores = scores + rng.normal(0, 5, (k, 1)) + rng.normal(0, 4, (n, k, 1)) + rng.normal(0, 5, (n, k, 4))
    scores[:, 0, 0] -= off
    return pj.Panel.from_array(np.where((of[:, None] == np.arange(k))[..., None], scores, np.nan))


def named(panel: pj.Panel) -> NDArray[np.bool_]:
    estimate = estimate_interaction(panel)
    strata = language_strata(panel, panel.cluster)
    units = Units.of(estimate.influence, estimate.cell_influence, panel.weights, panel.cluster, strata=strata)
    return sized(units, estimate.interaction[None], [choose(units)])[1][0]


@pytest.mark.statistical
@pytest.mark.parametrize(("sizes", "off", "least"), [((20, 8, 60), 9, 75), ((60, 8, 20), 9, 80), ((8, 20, 60), 0, 0)])
def test_few_tasks_name_no_sound_cell(sizes: tuple[int, ...], off: float, least: int) -> None:
    """A language of few tasks knows its noise badly, and the one of most tasks may be the one that is off."""
    found = np.array([named(planted(sizes, off, seed)).ravel() for seed in range(100)])
    sound = found[:, 1:] if off else found
    assert sound.any(axis=1).sum() <= 8  # 5% is the promise; more is chance in 6 of 100 such tests
    assert (found[:, 0] & ~sound[:, 1:].any(axis=1)).sum() >= least


def test_degrees_of_freedom_are_those_of_the_few() -> None:
    """One cell 3.2 standard errors off: clear with 87 degrees of freedom, not with the 7 of its own eight tasks."""
    strata = np.repeat([0, 1], [8, 80])
    values = np.zeros((88, 1, 1))
    values[:8, 0, 0] = 11 * np.random.default_rng(1).permutation(np.repeat([-1.0, 1.0], 4))
    error = mean_and_se(values, np.ones(88))[1]
    values += 3.2 * error
    units = Units(values, np.full(88, 1 / 88), np.ones((1, 1)), np.ones((1, 1)))
    everything, tail = np.ones((1, 88), bool), 0.025 / 12
    assert _clear(units, values, everything, tail).all()
    few = replace(units, strata=strata)
    assert not _clear(few, values, everything, tail).any()
    assert _clear(few, values, everything, 2 * stdtr(7, -3.5)).all()


def test_a_part_counts_each_language_as_the_whole_does() -> None:
    panel = unjoined()
    estimate = estimate_interaction(panel)
    strata = language_strata(panel)
    assert strata is not None
    units = Units.of(estimate.influence, estimate.cell_influence, panel.weights, strata=strata, most=60)
    assert len(units.values) == 8 + 20 + 20  # a language of few tasks keeps them; 60 tasks are 20 groups
    kept = half_masks(len(units.values), 5, 3, units.strata)
    each = [np.bincount(units.strata[row] - units.strata.min())[-3:].tolist() for row in kept]
    assert all(sorted(row) == [4, 10, 10] for row in each)
    for row in units.shares(kept):
        sums = [row[units.strata == x].sum() for x in np.unique(strata)]
        assert sorted(sums) == pytest.approx([8 / 88, 20 / 88, 60 / 88])
    whole = Units.of(estimate.influence, estimate.cell_influence, panel.weights, strata=strata)
    half = half_masks(88, 1, 5, whole.strata)[0]
    seen = np.tensordot(whole.shares(half[None])[0], whole.values, 1)
    order = np.argsort(strata, kind="stable")  # groups follow strata
    alone = pj.Panel.from_array(panel.scores[order][half])
    grown = 1 - 1 / np.sqrt([[87 / 88 * n / (n - 1)] for n in SIZES])  # values are stretched to an honest spread
    expected = estimate_interaction(alone).interaction
    assert np.abs(seen - expected).max() < 3 * np.abs(grown).max() * np.abs(expected - estimate.interaction).max()


def test_a_line_of_many_tasks_does_not_outvote_the_others() -> None:
    weights = _outvoted(np.array([[8.0, 8.0], [2.0, 2.0], [4.0, 4.0]]))
    np.testing.assert_allclose(weights, [[5.4, 5.4], [2, 2], [4, 4]])
    means = np.zeros((3, 3))
    means[0, 0] = -9
    order = _one_by_one(means, np.array([[60.0], [8], [20]]) * np.ones(3), 1)
    assert order.tolist() == [0]


def test_the_few_tasks_of_a_language_do_not_seem_to_carry_all() -> None:
    """Normal noise, 60, 8 and 20 tasks: no failed calls are suspected, and no interval is widened for them."""
    found = [order_judges(planted((60, 8, 20), 0, seed), resamples=100) for seed in range(10)]
    assert np.mean([order.carried.max() for order in found]) < 0.45
    assert not any(order.contaminated.any() for order in found)
