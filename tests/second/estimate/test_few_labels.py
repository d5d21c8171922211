"""Few labels: strata, shrinkage and what a correction removes, against plain computations and planted truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from polyjudge.second.estimate.few_labels import (
    _noise,
    fall_of_error,
    paired_variance,
    powered_means,
    shrink,
    steady_variance,
    stratified_means,
    t_interval,
)


def _one(values: np.ndarray, stratum: np.ndarray, **more: object) -> object:
    return stratified_means(values[..., None], stratum, np.ones(len(values)), **more)  # type: ignore[arg-type]


def test_a_mean_over_strata_weighs_them_by_their_size() -> None:
    stratum = np.repeat([0, 1], [80, 20])[:, None]
    values = np.full((100, 1), np.nan)
    values[:3, 0] = [1.0, 2.0, 3.0]
    values[80:90, 0] = np.arange(10.0)
    found = _one(values, stratum)
    assert found.mean[0, 0] == pytest.approx(0.8 * 2 + 0.2 * 4.5)  # type: ignore[attr-defined]
    assert found.labels.tolist() == [13]  # type: ignore[attr-defined]


def test_one_stratum_is_the_plain_mean_and_its_error() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(5, 2, (40, 1))
    found = stratified_means(values[..., None], np.zeros((40, 1), int), np.ones(40))
    assert found.mean[0, 0] == pytest.approx(values.mean())
    assert found.variance[0, 0] == pytest.approx(values.var(ddof=1) / 40)
    assert found.df[0, 0] == pytest.approx(39)


def test_a_stratum_without_labels_is_left_to_its_neighbour() -> None:
    stratum = np.repeat([0, 1, 2], [50, 30, 20])[:, None]
    values = np.full((100, 1), np.nan)
    values[:5, 0], values[80:85, 0] = 1.0, 4.0
    found = _one(values, stratum)
    assert found.mean[0, 0] == pytest.approx(0.8 * 1 + 0.2 * 4)  # type: ignore[attr-defined]


def test_clusters_are_one_observation() -> None:
    rng = np.random.default_rng(1)
    base = rng.normal(0, 1, 30)
    values = np.repeat(base, 4)[:, None]
    cluster = np.repeat(np.arange(30), 4)
    found = stratified_means(values[..., None], np.zeros((120, 1), int), np.ones(120), cluster)
    assert found.variance[0, 0] == pytest.approx(base.var(ddof=1) / 30)


def test_common_tasks_are_taken_off_differences_between_languages() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(0, 3, (400, 1)) + rng.normal(0, 1, (400, 5))
    found = stratified_means(values[..., None], np.zeros((400, 5), int), np.ones(400))
    assert found.shared[0] == pytest.approx(9 / 400, rel=0.25)
    np.testing.assert_allclose(paired_variance(found), np.maximum(1 / 400, 0.3 * 10 / 400), rtol=0.3)
    apart = np.where(np.arange(400)[:, None] % 5 == np.arange(5), values, np.nan)
    assert stratified_means(apart[..., None], np.zeros((400, 5), int), np.ones(400)).shared[0] == 0


def test_tau_is_that_of_restricted_likelihood() -> None:
    rng = np.random.default_rng(3)
    v = rng.uniform(1, 9, 12)
    y = rng.normal(10, 4, 12) + rng.normal(0, np.sqrt(v))

    def loss(tau: float) -> float:
        p = 1 / (v + tau**2)
        mean = (p * y).sum() / p.sum()
        return float(0.5 * (-np.log(p).sum() + np.log(p.sum()) + (p * (y - mean) ** 2).sum()))

    best = minimize_scalar(loss, bounds=(0, 30), method="bounded").x
    fit = shrink(y, v)
    assert fit.tau == pytest.approx(best, abs=0.05)
    w = fit.tau**2 / (fit.tau**2 + v)
    np.testing.assert_allclose(fit.weight, w)
    np.testing.assert_allclose(fit.estimate, fit.mean + w * (y - fit.mean))


def test_a_language_without_labels_gets_the_mean_and_taus_width() -> None:
    fit = shrink(np.array([1.0, 5.0, 9.0, np.nan]), np.array([0.1, 0.1, 0.1, np.nan]))
    assert fit.estimate[3] == pytest.approx(fit.mean)
    assert fit.se[3] > 3
    assert fit.se[:3].max() < 0.5
    nothing = shrink(np.array([np.nan, np.nan]), np.array([np.nan, np.nan]))
    assert np.isnan(nothing.estimate).all()


def test_shrunken_intervals_cover_when_tau_is_zero_and_when_it_is_not() -> None:
    rng = np.random.default_rng(4)
    for tau in (0.0, 2.0, 8.0):
        held = []
        for _ in range(300):
            e = rng.normal(3, tau, 12)
            fit = shrink(e + rng.normal(0, 3, 12), np.full(12, 9.0))
            held.append((np.abs(fit.estimate - e) <= 1.96 * fit.se).mean())
        assert 0.935 <= np.mean(held) <= 1.0, tau


@pytest.mark.parametrize(("spread", "skewed"), [(1.5, False), (6.0, True)])
@pytest.mark.statistical
def test_the_stated_fall_holds_the_true_one(spread: float, skewed: bool) -> None:
    """Planted errors by language, within noise or beyond it; the truth is that of tasks without labels."""
    rng = np.random.default_rng(5)
    held, errors, widths = [], [], []
    for seed in range(200):
        e = rng.normal(0, spread, 15)
        d = e + 8 * (rng.gamma(1.0, 1.0, (500, 15)) - 1 if skewed else rng.normal(0, 1, (500, 15)))
        known = np.zeros(d.shape, bool)
        known[:40] = True
        found = stratified_means(np.where(known, d, np.nan)[..., None], np.zeros(d.shape, int), np.ones(500))
        fit = shrink(found.mean[:, 0], steady_variance(found))
        rest = d[40:].mean(axis=0)
        left = rest - fit.estimate
        true = max(1 - np.var(left) / np.var(rest), -1.0)  # -1 stands for all that is worse
        fall = fall_of_error(found, fit.estimate, np.full(15, 500.0), seed)
        pairs = ((fall.removed, true), (fall.before, rest.std()), (fall.after, left.std()))
        held.append([low - 1e-9 <= value <= high + 1e-9 for (_, low, high), value in pairs])
        errors.append(fall.removed[0] - true)
        widths.append(fall.removed[2] - fall.removed[1])
    assert (np.mean(held, axis=0) >= 0.92).all(), np.mean(held, axis=0)
    assert abs(np.median(errors)) < 0.06
    assert not skewed or np.median(widths) < 4.6 * np.std(errors), "no wider than the errors are"


@pytest.mark.statistical
def test_what_labels_say_of_the_noise_is_what_it_does() -> None:
    """Strata of a few labels that are rarely off, but then far: how squares and products of the noise vary."""
    rng = np.random.default_rng(9)
    n, k, e = 400, 12, 3 * np.linspace(-1, 1, 12)
    stratum = np.repeat([0, 1, 2], [200, 150, 50])[:, None] * np.ones((1, k), int)
    rows = []
    for _ in range(400):
        d = e + np.array([1.0, 4.0, 12.0])[stratum] * (rng.random((n, k)) < 0.25) * 8
        known = np.zeros((n, k), bool)
        for start, count in ((0, 3), (200, 6), (350, 12)):
            known[start : start + count] = True
        found = stratified_means(np.where(known, d, np.nan)[..., None], stratum, np.ones(n))
        truth = e + 0.25 * 8 * (0.5 * 1 + 0.375 * 4 + 0.125 * 12)
        noise = found.mean[:, 0] - truth
        noise -= noise.mean()
        parts = found.influence - found.influence.mean(axis=1, keepdims=True)
        along, mean, square = _noise(e, parts)
        product, sd = (e * noise).mean() / e.std(), np.linalg.norm(along)
        rows.append(((noise**2).mean() - mean, square + found.loose.sum() / k**2, product, sd))
    over, variance, product, along = np.array(rows).T
    assert abs(over.mean()) < 3 * over.std() / 20
    assert over.std() == pytest.approx(np.sqrt(variance.mean()), rel=0.15)
    assert product.std() == pytest.approx(np.sqrt((along**2).mean()), rel=0.15)


def test_no_correction_removes_nothing_and_a_wrong_one_adds() -> None:
    rng = np.random.default_rng(6)
    d = np.array([-5.0, 0.0, 5.0]) + rng.normal(0, 1, (200, 3))
    found = stratified_means(d[..., None], np.zeros(d.shape, int), np.ones(200))
    tasks = np.full(3, 10_000.0)
    assert fall_of_error(found, np.zeros(3), tasks, 1).removed[0] == pytest.approx(0, abs=0.02)
    right = fall_of_error(found, found.mean[:, 0], tasks, 1)
    assert right.removed[1] > 0.98
    assert right.before[0] == pytest.approx(np.sqrt(50 / 3), rel=0.05)
    assert fall_of_error(found, -found.mean[:, 0], tasks, 1).removed[0] == -1


def test_means_as_humans_would_give_them_are_unbiased_from_uneven_strata() -> None:
    rng = np.random.default_rng(7)
    score = rng.uniform(0, 100, (600, 2, 2))
    truth = 0.5 * score.mean(axis=2) + rng.normal(0, 10, (600, 2))
    stratum = (score.mean(axis=2) > 50).astype(int)
    found = []
    for _ in range(200):
        known = rng.random((600, 2)) < np.where(stratum == 1, 0.12, 0.03)
        fit = powered_means(np.where(known, truth, np.nan), score, stratum, np.ones(600))
        low, high = t_interval(fit.mean[:, 0], np.sqrt(fit.variance[:, 0]), fit.df[:, 0])
        mean = truth.mean(axis=0)
        found.append((fit.mean[:, 0] - mean, (low <= mean) & (mean <= high)))
    error, held = (np.array([f[i] for f in found]) for i in range(2))
    assert np.abs(error.mean(axis=0)).max() < 0.4
    assert held.mean() >= 0.93
