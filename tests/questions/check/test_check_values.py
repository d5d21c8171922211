"""The values of checks: see `values`."""

from __future__ import annotations

from typing import Any

import pytest

import polyjudge as pj
from polyjudge.questions.check.check import Formats
from values import Cases, simulated

CASES = Cases(__file__)


@CASES
def check_systems() -> Any:
    return pj.check(simulated(20, 3, 3, 2, systems=3, missing=0.1, seed=30))


@CASES
def check_frame() -> Any:
    frame = simulated(12, 2, 3, seed=31).to_long().rename(columns={"judge": "model_name", "language": "lang"})
    return pj.check(frame)


@CASES
def check_one_judge() -> Any:
    whole = simulated(12, 2, 2, seed=32)
    return pj.check(whole.select(judges=whole.judges[:1]))


@CASES
def check_formats() -> Any:
    return Formats.known()


@CASES
def check_unclear() -> Any:
    frame = simulated(12, 2, 3, seed=68).to_long().rename(columns={"judge": "a", "language": "b"})
    return pj.check(frame)


@pytest.mark.parametrize("name", CASES)
def test_values_are_as_they_were(name: str) -> None:
    assert CASES.changed(name) == []
