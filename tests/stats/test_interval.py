"""The one interval (METHODS 17)."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from polyjudge.stats.interval import excess_kurtosis, group_df, interval, moderate, pass_prior, ruled_out

Array = NDArray[np.float64]


def test_one_contrast_is_plain_student() -> None:
    x = np.random.default_rng(0).normal(3, 2, (12, 1))
    found = interval(x)
    low, high = stats.t.interval(0.95, 11, x.mean(), stats.sem(x[:, 0]))
    assert np.allclose([found.low[0], found.high[0], found.low_one[0], found.high_one[0]], [low, high, low, high])
    assert found.p[0] == pytest.approx(stats.ttest_1samp(x[:, 0], 0).pvalue)


def test_two_copies_of_one_contrast_are_no_more_than_one() -> None:
    x = np.random.default_rng(1).normal(3, 2, (12, 1))
    twice = interval(np.hstack([x, -x]), together=1)
    assert twice.df.tolist() == [11, 11]
    assert twice.high[0] == pytest.approx(interval(x).high[0])


def test_equal_variances_are_pooled_and_unequal_ones_are_not() -> None:
    f = np.full(4, 9.0)
    alike = moderate(np.array([1.0, 1.1, 0.9, 1.0]), f)
    assert np.allclose(alike.variance, 1.0)
    assert (alike.df > 1000).all()
    wild = moderate(np.array([0.01, 1.0, 100.0, 10000.0]), f)
    assert (np.diff(wild.variance) > 0).all()
    assert (wild.df < 12).all()


def test_moderation_is_that_of_smyth() -> None:
    """d0 and s0^2 by the moments of log s^2: on many variances of a scaled F they are found again."""
    g = np.random.default_rng(2)
    d0, s0, f = 8.0, 3.0, 14
    sigma2 = d0 * s0 / g.chisquare(d0, 20000)
    s2 = sigma2 * g.chisquare(f, 20000) / f
    got = moderate(s2, np.full(20000, float(f)))
    assert got.df[0] - f == pytest.approx(d0, rel=0.1)
    assert np.allclose(got.variance, (d0 * s0 + f * s2) / (d0 + f), rtol=0.05)
    assert got.own is None


def test_limits_hold_together_by_sidak() -> None:
    x = np.random.default_rng(3).normal(0, 1, (2000, 8))
    found = interval(x)
    assert found.q[0] == pytest.approx(stats.norm.ppf(1 - (1 - 0.95 ** (1 / 8)) / 2), rel=0.01)
    assert found.q_one[0] == pytest.approx(1.96, rel=0.01)
    assert (interval(x, together=1).q < found.q).all()


@pytest.mark.parametrize("units", [0, 1, 2, 5])
def test_fewer_than_six_units_have_no_interval(units: int) -> None:
    found = interval(np.random.default_rng(4).normal(size=(units, 3)))
    assert np.isnan(found.low).all()
    assert np.isnan(found.high_one).all()
    assert not found.clear().any()


def test_contrasts_that_cannot_be_told_count_for_nothing() -> None:
    x = np.random.default_rng(5).normal(size=(20, 4))
    wide = np.insert(x, 2, np.nan, axis=1)
    a, b = interval(x), interval(wide)
    assert np.isnan(b.low[2])
    assert np.allclose(np.delete(b.low, 2), a.low)
    assert np.isnan(interval(np.full((20, 2), np.nan)).q).all()


def test_no_difference_at_all_is_a_point() -> None:
    found = interval(np.zeros((20, 4)))
    assert (found.low == 0).all()
    assert (found.high == 0).all()
    assert not found.clear().any()


def test_prior_of_pass_and_fail_holds_up_a_cell_that_never_failed() -> None:
    g = np.random.default_rng(6)
    p = (g.random((40, 6)) < 0.9).astype(float)
    p[:, 0] = 1.0
    prior = pass_prior(p.mean(0).reshape(2, 3), 40, np.eye(6))
    found = interval(p, prior=prior)
    assert found.se[0] > 0
    assert np.isfinite(found.low).all()
    assert (found.df == 78).all()


def test_pass_and_fail_of_a_noisy_judge_are_as_wide_as_it_is_noisy() -> None:
    """All rates are equal, so the prior takes all for alike; one column is unlike."""
    g = np.random.default_rng(9)
    shared = g.random((60, 1)) < 0.7
    x = np.repeat(shared, 6, axis=1) ^ (g.random((60, 6)) < 0.02)
    gaps = x.astype(float) - x[:, [0]]
    gaps[:, 1] = (g.random(60) < 0.7).astype(float) - x[:, 0]
    found = interval(gaps[:, 1:], prior=np.ones(5))
    own = gaps[:, 1].std(ddof=1) / np.sqrt(60)
    assert found.se[0] == pytest.approx(own)
    assert found.se[1] > gaps[:, 2].std(ddof=1) / np.sqrt(60)


def test_degrees_of_freedom_of_groups_are_those_of_welch() -> None:
    g = np.random.default_rng(7)
    a, b = g.normal(0, 1, 20), g.normal(0, 3, 8)
    x = np.zeros((28, 1))
    x[:20, 0], x[20:, 0] = (a - a.mean()) / np.sqrt(20 * 19), (b - b.mean()) / np.sqrt(8 * 7)
    seen = np.repeat([0, 1], [20, 8])
    df = group_df(x, seen)
    assert df is not None
    assert df[0] == pytest.approx(stats.ttest_ind(a, b, equal_var=False).df)
    assert group_df(x, None) is None


def test_what_is_ruled_out_is_the_exact_binomial_limit() -> None:
    assert ruled_out(0, 60) == pytest.approx(1 - 0.025 ** (1 / 60))
    assert ruled_out(3, 60) == pytest.approx(stats.beta.ppf(0.975, 4, 57))
    assert ruled_out(60, 60) == 1.0
    assert ruled_out(0, 60, together=16) > ruled_out(0, 60)


def test_a_variance_that_is_larger_by_design_is_not_shrunk() -> None:
    g = np.random.default_rng(8)
    size = np.array([1.0, 1, 1, 1, 1, 1, 1, 9])
    x = g.normal(size=(12, 8)) * np.sqrt(size)
    told, untold = interval(x, scale=size), interval(x)
    assert told.se[-1] / told.se[0] == pytest.approx(3, rel=0.05)
    assert untold.se[-1] / untold.se[0] < 2.9 or untold.q[0] > told.q[0]


def noisy_cells(seed: int, sizes: Array, n: int = 10) -> Array:
    """Columns (n, cells) with noise of these sizes."""
    return np.random.default_rng(seed).normal(size=(n, sizes.size)) * sizes.ravel()


def test_a_noisy_cell_keeps_its_own_variance_and_widens_no_other() -> None:
    sizes = np.ones((8, 6))
    sizes[1, 2] = 6
    x = noisy_cells(10, sizes, n=20)
    found = interval(x, grid=(8, 6))
    noisy = int(sizes.argmax())
    assert found.se[noisy] == pytest.approx(x[:, noisy].std(ddof=1) / np.sqrt(20))
    assert found.df[noisy] == pytest.approx(19, rel=0.3)
    others = np.arange(48) != noisy
    alone = interval(x[:, others])
    assert found.se[others].mean() == pytest.approx(alone.se.mean(), rel=0.1)


def test_a_noisy_judge_is_shrunk_to_its_own_level() -> None:
    """All cells of one judge are three times as noisy: shrinking all to one level widens the others."""
    sizes = np.ones((30, 12))
    sizes[:, 2] = 3
    x = noisy_cells(11, sizes)
    with_levels, without = interval(x, grid=(30, 12)), interval(x)
    error = np.log(with_levels.se / (sizes.ravel() / np.sqrt(10)))
    assert np.sqrt((error**2).mean()) < 0.1
    assert np.sqrt((np.log(without.se / (sizes.ravel() / np.sqrt(10))) ** 2).mean()) > 0.15


def test_no_half_width_is_below_what_few_contrasts_say_of_themselves() -> None:
    x = noisy_cells(12, np.ones((2, 4)), n=12)
    found = interval(x)
    own = stats.t.ppf(1 - (1 - 0.95 ** (1 / 8)) / 2, 22) * x.std(0, ddof=1) / np.sqrt(12)
    noisier = x.var(0) > x.var(0).mean()
    assert noisier.sum() == 3
    assert (found.q * found.se >= own * (1 - 1e-9))[noisier].all()


def test_heavy_tails_cost_degrees_of_freedom_and_normal_ones_do_not() -> None:
    g = np.random.default_rng(13)
    normal, heavy = g.normal(size=(60, 40)), np.exp(g.normal(size=(60, 40)))
    assert excess_kurtosis(normal, 40) == 0
    assert excess_kurtosis(heavy, 40) > 3
    own = np.full(40, 2.0)
    df = np.full(40, 59.0)
    tailed = moderate(own, df, tails=excess_kurtosis(heavy, 40) / 60)
    assert tailed.own_df is not None
    assert (tailed.own_df < 59).all()
    assert interval(heavy).df.max() < interval(normal).df.min()


def test_a_kurtosis_of_constant_columns_is_none() -> None:
    assert excess_kurtosis(np.ones((10, 3)), 1) == 0
