"""Resampling helpers: the jackknife, groups of units, one-sided tails, adjusted p-values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.cluster.hierarchy import linkage

from polyjudge.second.estimate import resample
from polyjudge.second.estimate.covariance import candidate_groups


def test_jackknife_of_a_mean_is_its_standard_error() -> None:
    x = np.random.default_rng(0).normal(size=(40, 3))
    parts = resample.leave_out(x) / 39
    se, low, high = resample.jackknife(x.mean(axis=0), parts, 0.95)
    np.testing.assert_allclose(se, stats.sem(x))
    interval = stats.ttest_1samp(x, 0).confidence_interval(0.95)
    np.testing.assert_allclose((low, high), (interval.low, interval.high))


def test_groups_leave_out_every_unit_once() -> None:
    x = np.arange(1003.0)
    parts = resample.leave_out(x, groups=200)
    assert len(parts) == 200
    assert (x.sum() - parts).sum() == pytest.approx(x.sum())
    sizes = 1003 - resample.leave_out(np.ones(1003), groups=200)
    assert sizes.min() >= 5
    assert sizes.max() <= 6


@pytest.mark.statistical
def test_jackknife_of_a_ratio_covers() -> None:
    inside = 0
    for seed in range(300):
        x = np.random.default_rng(seed).gamma(2, 1, (60, 2))
        sums = resample.leave_out(x)
        _, low, high = resample.jackknife(np.array(x[:, 0].sum() / x[:, 1].sum()), sums[:, 0] / sums[:, 1], 0.95)
        inside += bool(low <= 1 <= high)
    assert inside / 300 == pytest.approx(0.95, abs=0.04)


def test_constant_differences_fall_back_on_signs() -> None:
    p = resample.upper_tail(np.array([2.0, -2.0, 0.0]), np.zeros(3), 5)
    np.testing.assert_allclose(p, [0.5**5, 1.0, 1.0])


def test_bootstrap_means_do_not_depend_on_how_many_are_asked() -> None:
    x = np.random.default_rng(1).normal(size=(20, 2, 2))
    w = np.ones(20)
    many, few = resample.bootstrap_means(x, w, 200, 3), resample.bootstrap_means(x, w, 100, 3)
    np.testing.assert_allclose(many[:64], few[:64])
    assert many.shape == (200, 2, 2)
    np.testing.assert_allclose(many.mean(axis=0), x.mean(axis=0), atol=0.1)


def test_groups_of_units_keep_the_mean_and_its_spread() -> None:
    rng = np.random.default_rng(2)
    x, w = rng.normal(size=(20_000, 2)), rng.integers(1, 9, 20_000).astype(float)
    values, weights = resample.in_groups(x, w)
    assert values.shape == (2000, 2)
    plain, grouped = resample.mean_and_se(x, w), resample.mean_and_se(values, weights)
    np.testing.assert_allclose(grouped[0], plain[0], atol=1e-12)
    np.testing.assert_allclose(grouped[1], plain[1], rtol=0.08)
    np.testing.assert_array_equal(resample.in_groups(x[:50], w[:50])[0], x[:50])


def test_the_false_discovery_rate_is_that_of_scipy() -> None:
    rng = np.random.default_rng(5)
    p = np.concatenate([rng.random((6, 20)) ** 3, np.ones((1, 20)), np.full((1, 20), 0.03)])
    np.testing.assert_array_equal(resample.false_discovery(p), stats.false_discovery_control(p, axis=-1))
    np.testing.assert_array_equal(resample.false_discovery(p[0]), stats.false_discovery_control(p[0]))


def test_judges_join_as_in_average_linkage() -> None:
    r = np.corrcoef(np.random.default_rng(3).normal(size=(9, 30)))
    members = {i: frozenset({i}) for i in range(9)}
    for step, (a, b, *_) in enumerate(linkage(1 - r[np.triu_indices(9, 1)], "average")):
        members[9 + step] = members[int(a)] | members[int(b)]
    wanted = {x for x in list(members.values())[9:] if len(x) <= 7}
    assert {frozenset(np.flatnonzero(g).tolist()) for g in candidate_groups(r)} == wanted
