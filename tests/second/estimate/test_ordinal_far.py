"""The model of levels on a handful of scores, where levels drift apart without end."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from polyjudge.second.estimate.ordinal import fit_ordinal


@pytest.mark.parametrize("seed", [30, 1114])
def test_levels_that_drift_apart_end_in_numbers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    units, cells, levels = int(rng.integers(2, 7)), int(rng.integers(2, 9)), int(rng.integers(3, 7))
    counts = np.eye(levels)[rng.integers(0, levels, (units, cells))]
    counts = counts[..., counts.sum(axis=(0, 1)) > 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fit_ordinal(counts)
    assert np.isfinite(found.cells).all()
    assert np.isfinite(found.influence).all()
