"""Shares with limits: statsmodels is the referee."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import ndtri, stdtrit
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from polyjudge.stats.proportions import (
    Shares,
    estimate_calibrated_shares,
    estimate_shares,
    newcombe_limits,
    wilson_limits,
)


def test_wilson_is_that_of_statsmodels() -> None:
    for hits, number, level in ((43, 50, 0.95), (0, 12, 0.9), (30, 30, 0.99), (1, 400, 0.95)):
        want = proportion_confint(hits, number, 1 - level, method="wilson")
        low, high = wilson_limits(np.array([hits / number]), np.array([number]), float(ndtri((1 + level) / 2)))
        assert (low[0], high[0]) == pytest.approx(want, abs=1e-12)


def test_newcombe_is_that_of_statsmodels() -> None:
    for a, n, b, m in ((43, 50, 30, 48), (10, 10, 3, 9), (0, 20, 4, 25)):
        want = confint_proportions_2indep(a, n, b, m, method="newcomb", compare="diff")
        z = float(ndtri(0.975))
        one, other = (
            (np.array([hits / number]), *wilson_limits(np.array([hits / number]), np.array([number]), z))
            for hits, number in ((a, n), (b, m))
        )
        _, low, high = newcombe_limits(one, other)
        assert (low[0], high[0]) == pytest.approx(want, abs=1e-12)
        _, closer, _ = newcombe_limits(one, other, 0.5)
        assert closer[0] > low[0] or a == n or a == 0


def units(seed: int, n: int = 60, answers: int = 4, cells: int = 6, shared: float = 0.5) -> np.ndarray:
    """Answers that pass, (units, answers, cells), those of a unit correlated."""
    g = np.random.default_rng(seed)
    latent = np.sqrt(shared) * g.normal(size=(n, 1, 1)) + np.sqrt(1 - shared) * g.normal(size=(n, answers, cells))
    return (latent < float(ndtri(0.9))).astype(float)


def test_single_answers_are_wilson_with_as_many_answers() -> None:
    y = units(0, answers=1)[:, 0]
    made = estimate_shares(y, np.full(6, 60.0))
    want = wilson_limits(y.mean(0), np.full(6, 60.0), float(ndtri(0.975)))
    assert np.array(made.limits()) == pytest.approx(np.array(want), abs=1e-12)
    assert (made.limits(0.95, 6)[0] < made.limits()[0]).all()


def test_answers_of_a_unit_count_for_less() -> None:
    y = units(1, shared=0.8)
    made = estimate_shares(y.mean(1), np.full(6, 240.0))
    variance, binomial = y.mean(1).var(0, ddof=1), y.mean((0, 1)) * (1 - y.mean((0, 1)))
    pooled = variance.sum() / (binomial / 4).sum()
    assert 1 < pooled < 4
    effect = np.clip(np.maximum(pooled, np.where(binomial * 240 >= 10, variance / binomial * 4, 0)), 1, 4)
    assert made.number == pytest.approx(240 / effect * 60 / 63)
    low, high = made.limits()
    want = wilson_limits(y.mean((0, 1)), made.number, float(stdtrit(59, 0.975)))
    assert np.array([low, high]) == pytest.approx(np.array(want))
    copies = np.repeat(y[:, :1], 4, axis=1)
    assert estimate_shares(copies.mean(1), np.full(6, 240.0)).number == pytest.approx(60 * 60 / 63)


def test_where_all_pass_answers_of_a_unit_may_be_one() -> None:
    made = estimate_shares(np.ones((20, 3)), np.full(3, 80.0))
    assert made.number == pytest.approx(20 * 20 / 23)
    assert (made.limits()[0] > 0.7).all()
    assert made.limits()[1] == pytest.approx([1, 1, 1], abs=1e-12)
    assert np.isnan(estimate_shares(np.ones((5, 3)), np.full(3, 5.0)).limits()).all()


@pytest.mark.parametrize("estimate", [estimate_shares, estimate_calibrated_shares])
def test_a_task_that_fails_as_a_whole_may_not_have_been_drawn(estimate: Callable[..., Shares]) -> None:
    values = np.ones((60, 2))
    values[:5, 0], values[5:10, 1] = 0.75, 0.75  # single answers fail, no task does
    shares = estimate(values, np.array([240.0, 240.0]))
    low, high = shares.limits()
    assert low == pytest.approx(shares.share * 0.05 ** (1 / 60))
    low_of_two, _ = shares.limits(n_comparisons=2)
    assert (low_of_two < low).all()
    assert ((shares.share < high) & (high < 1)).all()


def test_differences_of_units_that_pass_together_are_known_better() -> None:
    y = units(2, answers=1, cells=2, shared=0.9)[:, 0]
    g = np.random.default_rng(0)
    apart = y.copy()
    apart[:, 1] = g.permutation(apart[:, 1])
    pair = np.array([0]), np.array([1])
    near, far = (estimate_shares(x, np.full(2, 60.0)).difference(*pair) for x in (y, apart))
    assert near[0] == pytest.approx(far[0])
    assert near[2] - near[1] < far[2] - far[1]
    low, high = estimate_shares(y, np.full(2, 60.0)).limits()
    r = np.corrcoef(y.T)[0, 1]
    one, other = ((y[:, i].mean(), low[i], high[i]) for i in range(2))
    want = newcombe_limits(one, other, r**2)
    assert np.array(near)[:, 0] == pytest.approx(np.array(want), abs=1e-12)


@pytest.mark.statistical
def test_limits_cover() -> None:
    held = np.zeros(3)
    for seed in range(150):
        y = units(seed, n=20, cells=12)
        made = estimate_shares(y.mean(1), np.full(12, 80.0))
        centred = y.mean(1).reshape(20, 3, 4)
        centred = centred.mean(1, keepdims=True) + centred.mean(2, keepdims=True) - centred.mean((1, 2), keepdims=True)
        calibrated = estimate_calibrated_shares(centred.reshape(20, 12), np.full(12, 80.0))
        for i, (low, high) in enumerate((made.limits(), calibrated.limits())):
            held[i] += ((low <= 0.9) & (high >= 0.9)).mean()
        _, low, high = made.difference(np.array([0]), np.array([5]))
        held[2] += bool(low[0] <= 0 <= high[0])
    assert (held / 150 > 0.92).all()
