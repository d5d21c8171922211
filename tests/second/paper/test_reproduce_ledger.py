"""The ledger covers every published number, and its verdicts can fail."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from conftest import shared_file
from polyjudge.second.paper import published
from polyjudge.second.paper.ledger import REACH, Answer, settle


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
    assert Answer(1.004).verdict(1.0, 0.005) == "reproduced"
    assert Answer(1.006).verdict(1.0, 0.005) == "differs"
    assert Answer(1.006, kind="identity").verdict(1.0, 0.005) == "differs"
    assert Answer(1.0, kind="artefact").verdict(1.0, 0.0) == "artefact"
    assert Answer(None, kind="artefact").verdict(1.0, 0.0) == "needs data"
    assert Answer(math.nan).verdict(1.0, 1.0) == "differs"
    assert Answer("Gemini").verdict("Gemini", 0.0) == "reproduced"
    assert Answer("Qwen", kind="label").verdict("Gemini", 0.0) == "differs"
    assert Answer("none").verdict(None, 0.0) == "reproduced"
    assert Answer("English").verdict(None, 0.0) == "differs"
    # With own draws: half a unit, and the measured scatter of two runs.
    reach = REACH * math.sqrt(2) * 0.01
    assert Answer(1.004 + reach, scatter=0.01).verdict(1.0, 0.005) == "reproduced"
    assert Answer(1.006 + reach, scatter=0.01).verdict(1.0, 0.005) == "differs"


def test_half_a_unit_of_the_last_digit() -> None:
    for path, value, shown, half in (
        (("rank_reversal", "rows", "0", "3"), 9.7e-08, 9.7e-08, 5e-10),
        (("rank_reversal", "rows", "0", "2"), 400.7898, 400.8, 0.05),
        (("bound", "tasks_for_half_of_max_beta"), 52, 52, 0.5),
        (("held_out", "methods", "cbc", "2"), 0.9675, 0.968, 0.0005),
        (("decisions", "cbc", "accuracy_interval", "0"), 0.999539, 0.9995, 0.00005),
        (("decisions", "raw", "regret"), 3.226045, 3.23, 0.005),
    ):
        assert published.printed("devai", path, value) == pytest.approx((shown, half))
    assert Answer(0.00185).verdict(0.0019, 5e-5) == "reproduced"
    assert Answer(0.00184).verdict(0.0019, 5e-5) == "differs"


def test_what_the_paper_does_not_contain_is_not_ascribed_to_it() -> None:
    for benchmark, path in (
        ("devai", ("fit", "sst")),
        ("devai", ("information", "observed")),
        ("devai", ("unseen_language", "raw", "Hindi")),
        ("devai", ("held_out", "seed")),
        ("mrewardbench", ("panel", "missing_margins")),
        ("mrewardbench", ("panel", "subsets", "alpacaeval-easy")),
    ):
        assert "not in the paper" in published.place(benchmark, path)  # type: ignore[arg-type]
    assert published.place("devai", ("unseen_language", "raw", "Spanish")) == "Section 5.3, Limitations"


def test_a_forgotten_number_is_an_error() -> None:
    values = dict(published.leaves(published.load("devai")))
    answers = {path: Answer(None) for path in values}
    assert settle("devai", answers).counts["needs data"] == len(values)
    answers.pop(("fit", "r2_full"))
    with pytest.raises(AssertionError, match="fit > r2_full"):
        settle("devai", answers)
