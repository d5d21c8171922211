"""Languages that no tasks join: least squares on answers and cells."""

from __future__ import annotations

import numpy as np
import pytest

import polyjudge as pj
from polyjudge.estimate import incomplete
from polyjudge.estimate.bands import uncertainty
from polyjudge.estimate.designs import Elimination, basis
from polyjudge.estimate.incomplete import (
    estimate_interaction,
    informed_share,
    informing,
    informing_interaction,
    stand_in,
)
from polyjudge.estimate.kernels import double_centre, draw_block
from polyjudge.panel.arrays import Array

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
    assert informed_share(panel) == pytest.approx(1 / 3)
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
