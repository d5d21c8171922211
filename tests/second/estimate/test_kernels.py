"""Kernels against scipy and against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, rankdata

from polyjudge.second.estimate import kernels
from polyjudge.second.panel.arrays import tie_gap


@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(2, 9), st.booleans())
@settings(max_examples=60, deadline=None)
def test_tau_is_scipys_tau_b(seed: int, k: int, m: int, ties: bool) -> None:
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, 3, (k, m)).astype(float) if ties else rng.normal(size=(k, m))
    tau = kernels.kendall_tau(cells, tie_gap(0, 3))
    for a in range(k):
        for b in range(k):
            assert tau[a, b] == pytest.approx(kendalltau(cells[a], cells[b]).statistic, nan_ok=True, abs=1e-6)


def test_near_ties_are_ties() -> None:
    cells = np.array([[1.0, 1.0 + 1e-12, 5.0], [1.0, 1.0 - 1e-12, 5.0]])
    assert kernels.mean_tau(cells, tie_gap(0, 5)) == pytest.approx(1.0)
    assert kernels.mean_tau(cells, 0.0) < 0.5


def test_no_defined_pair_gives_zero() -> None:
    assert kernels.mean_tau(np.ones((3, 4)), 1e-9) == 0.0


@given(st.integers(0, 10_000), st.integers(1, 8))
@settings(max_examples=40, deadline=None)
def test_ranks_are_scipys(seed: int, m: int) -> None:
    values = np.random.default_rng(seed).integers(0, 4, (5, m)).astype(float)
    np.testing.assert_allclose(kernels.ranks(values, 1e-9), rankdata(-values, axis=-1))


def test_draws_do_not_depend_on_how_they_are_cut() -> None:
    whole = np.concatenate(list(kernels.draw_blocks(20, 150, seed=3)))
    assert whole.shape == (150, 20)
    assert (whole.sum(axis=1) == 20).all()
    np.testing.assert_array_equal(whole[:100], np.concatenate(list(kernels.draw_blocks(20, 100, seed=3))))
    assert not np.array_equal(whole, np.concatenate(list(kernels.draw_blocks(20, 150, seed=4))))
