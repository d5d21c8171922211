"""Order of pairs: skewed scores, failed calls, scores without spread, and plain t on normal scores."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.stats import false_discovery_control

from polyjudge.second.estimate.pairs import PairOrder, order_pairs

APART = 3.0 * np.array([10, 6, 2, -2, -6, -10])


def skewed(seed: int, n: int) -> np.ndarray:
    """Judges that differ in the first language and tie in seven others, with noise skewed one way or the other."""
    noise = np.random.default_rng(seed).exponential(1.0, (n, 8, 6)) - 1
    values = noise * np.where(np.arange(6) < 3, 1, -1)
    values[:, 0] += APART
    return values


def wrong(order: PairOrder, truth: np.ndarray) -> np.ndarray:
    return order.above & ~(truth[:, :, None] > truth[:, None, :])


@pytest.mark.parametrize("n", [8, 55])
@pytest.mark.statistical
def test_skewed_noise_makes_no_false_reversal(n: int) -> None:
    orders = [order_pairs(skewed(seed, n), np.ones(n), resamples=400, seed=seed) for seed in range(150)]
    false = np.mean([(false_discovery_control(np.maximum(o.p_above, o.p_below)) <= 0.05).any() for o in orders])
    assert false <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 150)  # plain t: 0.32, 0.20
    truth = np.zeros((8, 6))
    truth[0] = APART
    assert np.mean([wrong(o, truth).any(axis=(1, 2)) for o in orders]) <= 0.07
    assert np.mean([o.above[0].sum() for o in orders]) > 14  # what truly differs is found


@pytest.mark.statistical
def test_failed_calls_do_not_make_the_rest_look_sure() -> None:
    rng = np.random.default_rng(3)
    rate = np.zeros((8, 6))
    rate[:, -1] = 0.04
    truth = np.arange(6.0) - 50 * rate
    bad, named = [], []
    for seed in range(60):
        values = rng.normal(np.arange(6.0), 1.0, (20, 8, 6)) - 50 * (rng.random((20, 8, 6)) < rate)
        order = order_pairs(values, np.ones(20), resamples=300, seed=seed)
        bad.append(wrong(order, truth).any())
        named.append(order.contaminated[[4, 8, 11, 13, 14]].all())  # the pairs of the last judge
    assert np.mean(bad) < 0.2  # over all eight languages together, 5% each
    assert np.mean(named) > 0.9


def test_normal_scores_need_no_alarm() -> None:
    values = np.random.default_rng(1).normal(np.arange(4.0), 1.0, (60, 5, 4))
    each = order_pairs(values, np.ones(60))
    assert not each.contaminated.any()
    assert each.critical.mean() == pytest.approx(stats.studentized_range.ppf(0.95, 4, 59) / np.sqrt(2), rel=0.12)
    assert not (each.above & each.above.swapaxes(1, 2)).any()
    assert not each.above[:, :, 3].any()


def test_scores_without_spread_are_judged_by_their_signs() -> None:
    values = np.zeros((12, 2, 3))
    values[..., 0] = 1.0  # always one point above the others, which are always equal
    order = order_pairs(values, np.ones(12))
    assert order.thin.all()
    assert order.above[:, 0, 1].all()
    assert not order.above[:, 1, 2].any()
    few = order_pairs(values[:4], np.ones(4))  # 2^-3 is no evidence
    assert not few.above.any()
    assert order.p_above[0] < 0.01 < 0.9 < order.p_below[0]


def test_a_pair_without_spread_does_not_silence_the_others() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal([3.0, 0.0, 0.0], 1.0, (20, 2, 3))
    values[:, :, 2] = values[:, :, 1]
    values[0, :, 2] += 1  # one task of twenty differs
    order = order_pairs(values, np.ones(20))
    assert order.thin[:, 2].all()
    assert order.above[:, 0, 1].all()
    assert np.isfinite(order.critical).all()


def test_tails_continue_beyond_the_resamples() -> None:
    values = np.random.default_rng(4).normal([0.0, 2.0], 1.0, (60, 3, 2))
    order = order_pairs(values, np.ones(60), resamples=200)
    assert 0 < order.p_below[0] < 1e-6
    assert order.p_above[0] > 0.5
