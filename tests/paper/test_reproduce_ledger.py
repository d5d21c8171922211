"""The ledger covers every published number, and its verdicts can fail."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from conftest import shared_file
from polyjudge.paper import published
from polyjudge.paper.ledger import Answer, half_unit, settle


def numbers(node: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], float]:
    """Every number of a JSON document by its path (written apart from the package's own walker)."""
    if isinstance(node, bool) or node is None or isinstance(node, str):
        return {}
    if isinstance(node, (int, float)):
        return {path: node}
    children = node.items() if isinstance(node, dict) else ((str(i), v) for i, v in enumerate(node))
    return {k: v for name, child in children for k, v in numbers(child, (*path, name)).items()}


@pytest.mark.parametrize("benchmark", published.BENCHMARKS)
def test_every_published_number_is_in_the_package(benchmark: published.Benchmark) -> None:
    wanted = numbers(json.loads(shared_file(f"published/{benchmark}.json").read_text()))
    assert len(wanted) > 150
    have = dict(published.leaves(published.load(benchmark)))
    assert {p: have.get(p) for p in wanted} == wanted


@pytest.mark.parametrize("benchmark", published.BENCHMARKS)
def test_every_published_value_has_its_place_in_the_paper(benchmark: published.Benchmark) -> None:
    for path, _ in published.leaves(published.load(benchmark)):
        assert published.place(benchmark, path)
    with pytest.raises(KeyError):
        published.place(benchmark, ("no such thing",))


def test_verdicts() -> None:
    assert Answer("x", 1.004, 0.005).verdict(1.0) == "reproduced"
    assert Answer("x", 1.006, 0.005).verdict(1.0) == "differs"
    assert Answer("x", 1.006, 0.005, "identity").verdict(1.0) == "differs"
    assert Answer("x", 1.0, 0.0, "artefact").verdict(1.0) == "artefact"
    assert Answer("x", None, 0.0, "artefact").verdict(1.0) == "needs data"
    assert Answer("x", math.nan, 1.0).verdict(1.0) == "differs"
    assert Answer("x", "Gemini").verdict("Gemini") == "reproduced"
    assert Answer("x", "Qwen").verdict("Gemini") == "differs"
    assert Answer("x", "none").verdict(None) == "reproduced"
    assert Answer("x", "English").verdict(None) == "differs"


def test_half_a_unit_of_the_last_digit() -> None:
    assert half_unit(9.7e-08) == pytest.approx(5e-10)
    assert half_unit(0.0119) == pytest.approx(5e-5)
    assert half_unit(52.0) == pytest.approx(0.5)
    assert Answer("x", 0.00185, half_unit(0.0019)).verdict(0.0019) == "reproduced"
    assert Answer("x", 0.00184, half_unit(0.0019)).verdict(0.0019) == "differs"


def test_a_forgotten_number_is_an_error() -> None:
    values = dict(published.leaves(published.load("devai")))
    answers = {path: Answer("x", None) for path in values}
    assert settle("devai", answers).counts["needs data"] == len(values)
    answers.pop(("fit", "r2_full"))
    with pytest.raises(AssertionError, match="fit > r2_full"):
        settle("devai", answers)
