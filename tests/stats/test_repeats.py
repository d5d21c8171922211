"""How much a judge's scores of one answer differ when it is asked again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import stdtrit

from polyjudge.stats.repeats import Repeats, estimate_repeats

Array = NDArray[np.float64]


def repeated(y: Array, **more: Any) -> Repeats:
    return estimate_repeats(y, np.arange(len(y)), **{"width": 100.0, **more})


def runs(seed: int, sd: tuple[float, ...], n: int = 60, number: int = 3) -> Array:
    g = np.random.default_rng(seed)
    shape = (n, 2, 2, len(sd), number)
    return 50 + g.normal(0, 10, (n, 2, 2, 1, 1)) + g.normal(size=shape) * np.array(sd)[:, None]


def test_sd_is_pooled_over_answers() -> None:
    y = runs(0, (5.0, 5.0))
    y[:10, ..., 2] = np.nan  # two runs there, three elsewhere
    y[10, 0, 0, 1, 1:] = np.nan  # one run says nothing
    squares = (y - np.nanmean(y, -1, keepdims=True)) ** 2
    freedom = np.isfinite(y).sum(-1) - 1
    want = np.sqrt(np.nansum(squares, (0, 1, 2, 4)) / freedom.sum((0, 1, 2)))
    found = repeated(y)
    assert found.sd == pytest.approx(want, rel=1e-12)
    assert (found.low < 5).all()
    assert (found.high > 5).all()


def test_limits_are_a_jackknife_of_the_logarithm() -> None:
    y = runs(1, (5.0,), n=20)
    variance = y.var(-1, ddof=1).mean((1, 2))[:, 0]
    rest = np.array([np.delete(variance, u).mean() for u in range(20)])
    se = np.sqrt(19 / 20 * ((np.log(rest) - np.log(rest).mean()) ** 2).sum())
    q = stdtrit(19, 0.975)
    found = repeated(y)
    ends = np.sqrt(variance.mean()) * np.exp(np.array([-q, q]) * se / 2)
    assert (found.low[0], found.high[0]) == pytest.approx(tuple(ends), rel=1e-9)


def test_a_judge_whose_repeats_differ_more_is_named() -> None:
    assert repeated(runs(2, (5.0, 20.0, 5.0))).named.tolist() == [False, True, False]
    assert not repeated(runs(2, (5.0, 6.0, 5.0))).named.any()
    assert not repeated(runs(2, (5.0, 20.0, 5.0)), least=25.0).named.any()
    assert not repeated(runs(2, (20.0,))).named.any()


def test_nobody_is_noisier_than_a_judge_that_may_be_as_noisy() -> None:
    y = runs(7, (2.0, 20.0, 0.0, 2.0), n=40)
    assert repeated(y).named.tolist() == [False, True, False, False]
    y[:2, ..., 2, 0] += 60  # differs in two tasks alone: how often it may, these do not tell
    assert repeated(y).high[2] > repeated(y).low[1]
    assert not repeated(y).named.any()


def test_a_judge_that_repeats_itself_may_have_a_blind_spot() -> None:
    y = runs(3, (5.0, 0.0), n=40)
    found = repeated(y)
    assert found.sd[1] == found.low[1] == 0
    assert found.high[1] == pytest.approx(100 * np.sqrt((1 - 0.05 ** (1 / 40)) / 2))
    assert found.named.tolist() == [True, False]


def test_without_repeats_there_is_none() -> None:
    y = runs(4, (5.0, 5.0))
    y[..., 1, 1:] = np.nan
    found = repeated(y)
    assert np.isnan([found.sd[1], found.low[1], found.high[1]]).all()
    assert np.isfinite([found.sd[0], found.low[0], found.high[0]]).all()
    few = repeated(runs(5, (5.0, 5.0), n=5))
    assert np.isfinite(few.sd).all()
    assert np.isnan(few.low).all()


def test_clusters_are_left_out_as_wholes() -> None:
    y = runs(6, (5.0,), n=20)
    alone = repeated(y)
    found = estimate_repeats(np.repeat(y, 3, axis=0), np.repeat(np.arange(20), 3), width=100.0)
    assert (found.low[0], found.high[0]) == pytest.approx((alone.low[0], alone.high[0]), rel=1e-9)


@pytest.mark.statistical
def test_limits_cover() -> None:
    held = 0
    for seed in range(150):
        found = repeated(runs(seed, (5.0, 5.0, 5.0), n=30, number=2))
        held += bool(((found.low < 5) & (found.high > 5)).all())
    assert 0.89 <= held / 150 <= 0.99
