"""The gain of a fit without labels: no bias, coverage, unit weights, and shrinkage that is worth more."""

from __future__ import annotations

import numpy as np
import pytest

from polyjudge.second.calibrate.shrinkage import best_keep, unbiased_gain
from polyjudge.second.estimate.kernels import double_centre
from polyjudge.second.simulate import simulate_panel


@pytest.mark.statistical
@pytest.mark.parametrize(("n", "k", "m", "sd"), [(20, 15, 20, 1.5), (20, 8, 6, 5.0), (10, 8, 6, 0.0), (55, 2, 2, 1.5)])
def test_interval_covers_the_gain_of_the_fit(n: int, k: int, m: int, sd: float) -> None:
    inside, bias, scale = [], [], []
    for seed in range(200):
        panel, truth = simulate_panel(n, k, m, seed=seed, interaction=sd)
        values = double_centre(panel.scores)
        fit, beta = values.mean(axis=0), truth.interaction.to_numpy()
        for keep in (1.0, best_keep(values, panel.weights)):
            gain = unbiased_gain(values, panel.weights, keep=keep)
            true = float((2 * keep * fit * beta - (keep * fit) ** 2).mean())
            inside.append(gain.low <= true <= gain.high)
            bias.append((gain.estimate - true) * (keep == 1.0))
            scale.append(gain.se)
    assert np.mean(inside) >= 0.93 - 2 * np.sqrt(0.07 * 0.93 / 400)
    assert abs(np.mean(bias)) < 0.3 * np.mean(scale)


@pytest.mark.statistical
def test_shrinking_gains_more_than_not() -> None:
    worth = []
    for seed in range(100):
        panel, truth = simulate_panel(10, 8, 6, seed=seed, interaction=1.5)
        values = double_centre(panel.scores)
        fit, beta = values.mean(axis=0), truth.interaction.to_numpy()
        shrunk = best_keep(values, panel.weights) * fit
        worth.append(((fit - beta) ** 2).mean() - ((shrunk - beta) ** 2).mean())
    assert np.mean(worth) > 2 * np.std(worth) / 10


def test_leave_one_out_is_done_in_closed_form_for_any_weights() -> None:
    rng = np.random.default_rng(0)
    values, weights = rng.normal(1.0, 1.0, (7, 5)), rng.uniform(1, 4, 7)

    def plain(v: np.ndarray, w: np.ndarray) -> float:
        share = w / w.sum()
        centre = share @ v
        noise = len(v) / (len(v) - 1) * (share**2 @ (v - centre) ** 2)
        return float((centre**2 - 2 * noise).mean())

    gain = unbiased_gain(values, weights)
    parts = np.array([plain(np.delete(values, t, 0), np.delete(weights, t)) for t in range(7)])
    jackknife = 6 / 7 * ((parts - parts.mean()) ** 2).sum()
    assert gain.estimate == pytest.approx(plain(values, weights))
    scaled = (values - weights / weights.sum() @ values) * (weights / weights.sum())[:, None]
    gram = 7 / 6 * scaled @ scaled.T
    extra = 6 * ((gram**2).sum() - np.trace(gram) ** 2 / 6) / 25
    assert gain.se == pytest.approx(np.sqrt(jackknife + extra))


def test_two_units_have_no_interval() -> None:
    assert np.isnan(unbiased_gain(np.eye(2), np.ones(2)).low)
