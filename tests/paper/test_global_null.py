"""The test of all reversals together counts draws that reach the observed number, not only those beyond it."""

from __future__ import annotations

import numpy as np

from polyjudge import cbc
from polyjudge.paper.protocols import global_null


def test_draws_with_as_many_reversals_count_against_it() -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal(0, 5, (12, 3, 4)) + np.arange(4)
    observed = cbc.reversing(scores.mean(0))
    p, null = global_null(scores, draws=200, seed=1)
    assert (null == observed).sum() > 5  # ties matter here
    assert p == (1 + (null >= observed).sum()) / 201


def test_no_reversal_is_no_evidence() -> None:
    scores = np.random.default_rng(0).normal(0, 0.1, (20, 3, 4)) + 10 * np.arange(4)
    assert global_null(scores, draws=100)[0] == 1.0
