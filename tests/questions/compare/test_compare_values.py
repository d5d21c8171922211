"""The values of comparisons: see `values`."""

from __future__ import annotations

from typing import Any

import pytest

import polyjudge as pj
from polyjudge.estimate.bands import uncertainty
from polyjudge.questions.compare.recovery import recovery
from values import Cases, binary, human_scores, simulated

CASES = Cases(__file__)


@CASES
def compare_methods() -> Any:
    return pj.compare(simulated(30, 3, 4, seed=12), ["raw", "cbc", "shrunken", "sparse"], resamples=60)


@CASES
def compare_labels() -> Any:
    panel = simulated(30, 3, 3, clusters=10, missing=0.05, seed=13)
    return pj.compare(panel, resamples=60, gold=human_scores(panel, annotators=1))


@CASES
def compare_binary() -> Any:
    return pj.compare(binary(3, 2), resamples=60, seed=0)


@CASES
def compare_recovered() -> Any:
    panel, truth = pj.simulate_panel(30, 3, 3, seed=55)
    return recovery(uncertainty(panel, resamples=100), truth.interaction)


@pytest.mark.parametrize("name", CASES)
def test_values_are_as_they_were(name: str) -> None:
    assert CASES.changed(name) == []
