"""The values of comparisons: see `values`."""

from __future__ import annotations

from typing import Any

import pytest

import polyjudge as pj
from polyjudge.estimate.bands import uncertainty
from polyjudge.panel import budget
from polyjudge.panel.errors import PanelError
from polyjudge.questions.compare.recovery import recovery
from refusals import refused
from values import Cases, Said, binary, bound, holed, human_scores, simulated

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


@CASES
def compare_notes() -> Any:
    """Tasks that are too few to gain or to be left out, methods that need all scores, none that has a gain."""
    few, holes = simulated(2, 2, 2, seed=56), simulated(8, 2, 3, missing=0.1, seed=1)
    with bound(budget, MOST_COMPARED=1):
        wide = pj.compare(simulated(6, 2, 3, seed=58), ["raw", "cbc"], resamples=20)
    return Said((
        pj.compare(few, ["raw", "cbc"], resamples=20),
        pj.compare(holed(simulated(3, 2, 2, seed=57), (0, 0, 0)), ["raw", "cbc"], resamples=40),
        pj.compare(holes, "all", resamples=20),
        pj.compare(simulated(4, 8, 8, interaction=0.0, noise_sd=15, seed=4), ["raw", "cbc"], resamples=20),
        pj.compare(few, ["raw"], resamples=20),
        wide,
    ))  # fmt: skip


def test_holes_that_leave_nothing_to_compare_are_named() -> None:
    with refused(PanelError, "12%", "--languages", "--judges"):
        pj.compare(holed(simulated(2, 2, 2, seed=1), (0, 0, 0)), ["raw", "cbc"], resamples=20)


@pytest.mark.parametrize("name", CASES)
def test_values_are_as_they_were(name: str) -> None:
    assert CASES.changed(name) == []
