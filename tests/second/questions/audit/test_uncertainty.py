"""Uncertainty of the interaction: formulas, referees, weights, coverage on known truth, degenerate panels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import polyjudge.second as pj
from polyjudge.second.estimate import resample
from polyjudge.second.estimate.bands import free_radius, gaussian_radius, noise_sigma, score_sigma
from polyjudge.second.estimate.kernels import double_centre
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.questions.audit import uncertainty
from refusals import refused


@pytest.fixture(scope="module")
def panel() -> pj.Panel:
    return pj.simulate_panel(tasks=40, languages=4, judges=5, seed=11)[0]


def test_intervals_are_scipys(panel: pj.Panel) -> None:
    frame = uncertainty(panel).to_frame()
    deviations = double_centre(panel.scores).reshape(40, -1)
    test = stats.ttest_1samp(deviations, 0.0)
    limits = test.confidence_interval(0.95)
    np.testing.assert_allclose(frame["interaction"], deviations.mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(frame["se"], stats.sem(deviations), rtol=1e-9)
    np.testing.assert_allclose(frame["low"], limits.low, atol=1e-9)
    np.testing.assert_allclose(frame["high"], limits.high, atol=1e-9)


def test_band_is_the_studentised_maximum(panel: pj.Panel) -> None:
    """The critical value equals that of a plain loop over the same resamples."""
    from polyjudge.second.estimate.kernels import draw_blocks

    d = double_centre(panel.scores).reshape(40, -1)
    maxima = []
    for counts in draw_blocks(40, 200, 5):
        for c in counts:
            sample = np.repeat(d, c, axis=0)
            t = (sample.mean(axis=0) - d.mean(axis=0)) / stats.sem(sample)
            maxima.append(np.abs(t).max())
    result = uncertainty(panel, resamples=200, seed=5)
    assert result.critical == pytest.approx(np.quantile(maxima, 0.95, method="higher"))
    frame = result.to_frame()
    np.testing.assert_allclose(frame["band_high"] - frame["interaction"], result.critical * frame["se"])
    assert (frame["clear"] == (np.abs(frame["interaction"]) > result.critical * frame["se"])).all()


def test_verdicts_are_nested(panel: pj.Panel) -> None:
    frame = uncertainty(panel).to_frame()
    own = (frame["low"] > 0) | (frame["high"] < 0)
    assert set(frame["verdict"]) <= {"clear", "pointwise", "unclear"}
    assert (own == (frame["verdict"] != "unclear")).all()
    assert (frame["clear"] == (frame["verdict"] == "clear")).all()


def test_equal_weights_change_nothing_and_weights_act_as_a_ratio(panel: pj.Panel) -> None:
    values = double_centre(panel.scores)
    plain = resample.mean_and_se(values, np.ones(40))
    for a, b in zip(plain, resample.mean_and_se(values, np.full(40, 7.0)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    w = np.random.default_rng(0).integers(1, 9, 40).astype(float)
    mean, se = resample.mean_and_se(values, w)
    np.testing.assert_allclose(mean, np.average(values, axis=0, weights=w))
    share = (w / w.sum())[:, None, None]  # a heavy unit draws the mean towards itself
    by_hand = np.sqrt(((share * (values - mean)) ** 2 / (1 - share)).sum(axis=0))
    np.testing.assert_allclose(se, by_hand, rtol=1e-12)


def test_weighted_bootstrap_is_the_plain_loop(panel: pj.Panel) -> None:
    from polyjudge.second.estimate.kernels import draw_blocks

    d = double_centre(panel.scores).reshape(40, -1)
    w = np.random.default_rng(1).integers(1, 9, 40).astype(float)
    fast = list(resample.bootstrap_t(d, w, 10, 3))
    (counts,) = draw_blocks(40, 10, 3)
    centre = np.average(d, axis=0, weights=w)
    for c, mean, se in zip(counts, fast[0][0], fast[0][1], strict=True):
        pick = np.repeat(np.arange(40), c)
        share = (w[pick] / w[pick].sum())[:, None]
        m = (share * d[pick]).sum(axis=0)
        s = np.sqrt(40 / 39 * (share**2 * (d[pick] - m) ** 2).sum(axis=0))
        np.testing.assert_allclose(mean, m - centre, atol=1e-10)
        np.testing.assert_allclose(se, s, rtol=1e-8)


def test_hashed_units_give_the_bound_of_their_tasks() -> None:
    """Twice the tasks in units of two: the noise sd stays that of one task, the radius that of all tasks."""
    panel, _ = pj.simulate_panel(tasks=4000, languages=3, judges=3, interaction=0.0, seed=2)
    pairs = panel.scores.reshape(2000, 2, 3, 3).mean(axis=1)
    units = pj.Panel.from_array(pairs, weights=np.full(2000, 2.0))
    assert noise_sigma(units) == pytest.approx(noise_sigma(panel), rel=0.05)
    assert uncertainty(units).tasks == 4000
    assert np.isnan(score_sigma(units))


@pytest.mark.real_data
def test_published_bound(devai: pj.Panel, published: dict) -> None:
    result = uncertainty(devai)
    assert result.sigma_scores == pytest.approx(published["bound"]["sigma_all_scores"], abs=1e-6)
    assert result.bounds["radius"][2:4].tolist() == pytest.approx([3.44, 9.96], abs=0.005)
    cells = result.to_frame().set_index(["language", "judge"])["interaction"]
    for language, row in published["beta_hat"].items():
        for judge, value in row.items():
            assert cells[language, judge] == pytest.approx(value, abs=1e-9)


def test_bounds_hold_their_formulas() -> None:
    assert gaussian_radius(22.24, 52, 8, 6, 0.95) <= 20.61 / 2 < gaussian_radius(22.24, 51, 8, 6, 0.95)
    x, n, c = free_radius(100, 55, 8, 6, 0.95), 55, (7 / 8) * (5 / 6)
    assert 48 * 2 * np.exp(-n * x**2 / (8 * c**2 * 100**2)) == pytest.approx(0.05)


def test_few_tasks_use_bonferroni_and_constants_the_sign_test() -> None:
    two = uncertainty(pj.Panel.from_array(np.random.default_rng(0).normal(size=(2, 2, 2))))
    assert two.band_method == "studentised bootstrap and Bonferroni t"
    assert np.isfinite(two.critical)
    cells = np.array([[0.0, 4.0], [4.0, 0.0]])
    same = uncertainty(pj.Panel.from_array(np.broadcast_to(cells, (12, 2, 2)).copy()))
    assert same.clear == 4
    assert (same.to_frame()["se"] == 0).all()
    few = uncertainty(pj.Panel.from_array(np.broadcast_to(cells, (4, 2, 2)).copy()))
    assert few.clear == 0
    none = uncertainty(pj.Panel.from_array(np.full((12, 2, 2), 3.0)))
    assert none.clear == 0


def test_bad_arguments_are_named(panel: pj.Panel) -> None:
    for options in ({"level": 1.5}, {"resamples": 5}):
        with refused(UsageError, *next(iter(options.items()))):
            uncertainty(panel, **options)


def test_same_seed_same_band(panel: pj.Panel) -> None:
    assert uncertainty(panel, seed=3).to_dict() == uncertainty(panel, seed=3).to_dict()
    assert uncertainty(panel, seed=3).critical != uncertainty(panel, seed=4).critical


def test_a_cell_without_failed_calls_borrows_the_spread_of_its_judge() -> None:
    """Where a few failed calls carry a judge's spread, a cell that holds none of them looks too sure."""
    scores = np.random.default_rng(3).normal(50, 1, (20, 4, 4))
    scores[2, 0, 1] = scores[9, 1, 1] = 0.0
    cells = uncertainty(pj.Panel.from_array(scores)).to_frame()
    half = ((cells["high"] - cells["low"]) / 2 / cells["se"]).to_numpy().reshape(4, 4)
    assert half[2, 1] > 1.5 * half[0, 1]  # a cell of the failing judge, without a failure
    assert half[0, 1] == pytest.approx(2.093, abs=0.001)
