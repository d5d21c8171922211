"""Counting by sorted scores against comparing every score."""

from __future__ import annotations

import numpy as np
import pytest

from polyjudge.estimate.passing import Passing


@pytest.mark.parametrize("digits", [0, 6])
@pytest.mark.parametrize("kinds", [1, 3])
def test_counts_are_those_of_comparing(kinds: int, digits: int) -> None:
    rng = np.random.default_rng(4)
    n, cells, g, draws = 40, 3, 12, 7
    scores = np.round(rng.normal(5, 2, (n, cells)), digits)
    kind = rng.integers(kinds, size=n)
    scores[kind == 1, 1] = np.nan
    scores[rng.random(scores.shape) < 0.1] = np.nan
    column, weights = rng.integers(g, size=n), rng.integers(1, 4, n).astype(float)
    limits = np.round(rng.normal(5, 2, (draws, 4, cells)), digits)
    limits[0, :2] = [[-99.0], [99.0]]  # all and none
    times = rng.integers(0, 3, (2, draws, g)).astype(float)
    found = Passing(scores, column, weights, kind if kinds > 1 else None)(limits, times)
    assert found.shape == (2, draws, 4, kinds, cells)
    counted = (times[:, :, column] * weights)[:, :, None, :, None] * (scores > limits[:, :, None])
    for k in range(kinds):
        np.testing.assert_allclose(found[..., k, :], counted[..., (kind == k) | (kinds == 1), :].sum(axis=3))
