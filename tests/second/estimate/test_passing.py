"""Counting by sorted scores against comparing every score."""

from __future__ import annotations

import numpy as np
import pytest

from polyjudge.second.estimate import passing
from polyjudge.second.estimate.passing import FEW, Moved, Passing


@pytest.mark.parametrize("digits", [0, 6])
def test_counts_are_those_of_comparing(digits: int) -> None:
    rng = np.random.default_rng(4)
    n, cells, g, draws = FEW + 20, 3, 12, 7
    scores = np.round(rng.normal(5, 2, (n, cells)), digits)
    column, weights = rng.integers(g, size=n), rng.integers(1, 4, n).astype(float)
    limits = np.round(rng.normal(5, 2, (draws, 4, cells)), digits)
    limits[0, :2] = [[-99.0], [99.0]]  # all and none
    times = rng.integers(0, 3, (2, draws, g)).astype(float)
    found = Passing(scores, column, weights)(limits, times)
    counted = (times[:, :, column] * weights)[:, :, None, :, None] * (scores > limits[:, :, None])
    np.testing.assert_allclose(found, counted.sum(axis=3))


@pytest.mark.parametrize("at_once", [5, 2_000_000])
@pytest.mark.parametrize("digits", [0, 6])
def test_marks_that_change_are_those_between_the_thresholds(
    digits: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passing, "AT_ONCE", at_once)
    rng = np.random.default_rng(5)
    scores = np.round(rng.normal(5, 2, (30, 2)), digits)
    scores[rng.random(scores.shape) < 0.2] = np.nan
    first, limits = (np.round(rng.normal(5, 2, shape), digits) for shape in (3, (4, 3)))
    limits[1] = first  # nothing changes
    for cell in range(2):
        marks = np.tile((scores[:, cell] > first[:, None]).astype(float), (4, 1))
        parts = list(Moved(scores)(cell, first, limits))
        assert len(parts) > 1 or at_once > 5
        for rows, begins, units, gain in parts:
            row = np.repeat(np.arange(rows.start, rows.stop), np.diff(begins))
            np.add.at(marks, (row, units), gain)
        np.testing.assert_array_equal(marks, scores[:, cell] > limits.reshape(-1, 1))
