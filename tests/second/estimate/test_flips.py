"""Tails of flipped sums: against all 2^n flips, and against the exact law of two shares."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import fisher_exact

from polyjudge.second.estimate.flips import FLIPS, flip_critical, flip_tail, share_p, sign_flips


@pytest.mark.parametrize("kind", ["normal", "heavy", "whole", "sparse"])
def test_tails_are_those_of_all_flips(kind: str) -> None:
    rng = np.random.default_rng(5)
    d = {
        "normal": rng.normal(size=(16, 3)),
        "heavy": rng.standard_t(2, (16, 3)),
        "whole": rng.integers(-2, 3, (16, 3)).astype(float),
        "sparse": rng.integers(-1, 2, (16, 3)) * 1.0,
    }[kind]
    sums = np.array(list(product((-1.0, 1.0), repeat=16))) @ d
    for level in (0.1, 0.01, 0.001):
        at = np.quantile(sums, 1 - level, axis=0, method="higher")
        exact = (sums >= at - 1e-9).mean(axis=0)
        np.testing.assert_allclose(flip_tail(d, at), exact, rtol=0.3)
    for level in (0.02, 0.001):
        critical = flip_critical(d, level)
        beyond = (sums >= critical - 1e-9).mean(axis=0)
        assert (beyond <= 1.3 * level).all()


def test_no_flips_are_rarer_than_all_alike() -> None:
    d = np.ones((10, 1))
    assert flip_tail(d, np.array([10.0]))[0] == pytest.approx(2.0**-10, rel=0.01)
    assert np.isinf(flip_critical(d, 1e-4))[0]
    assert flip_tail(np.zeros((10, 1)), np.zeros(1))[0] == 1.0


def test_shares_are_compared_exactly() -> None:
    before, after = np.array([[0.0, 0.1, 0.5]]), np.array([[0.3, 0.1, 0.9]])
    found = share_p(before, after, np.full((1, 3), 20), np.full((1, 3), 10))
    for i in range(3):
        one = [
            fisher_exact(
                [[after[0, i] * 10, 10 - after[0, i] * 10], [before[0, i] * 20, 20 - before[0, i] * 20]], side
            )[1]
            for side in ("greater", "less")
        ]
        assert found[0, i] == pytest.approx(min(1.0, 2 * min(one)), rel=1e-9)


@pytest.mark.parametrize("block", [FLIPS, 100])
def test_flips_do_not_depend_on_how_many_are_drawn_at_once(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(2).normal(0.1, 1.0, (700, 3, 4))
    whole = sign_flips(np.zeros_like(values), values, 0.0, 0.05, 7)[2]
    monkeypatch.setattr("polyjudge.second.estimate.flips.BLOCK", block)
    parts = sign_flips(np.zeros_like(values), values, 0.0, 0.05, 7)[2]
    np.testing.assert_array_equal(whole.p_cell, parts.p_cell)
    np.testing.assert_allclose(whole.critical, parts.critical, rtol=1e-12)
