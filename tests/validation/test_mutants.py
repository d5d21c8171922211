"""The tester tested: alterations of the code apply, and the quick ones are noticed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from validation import SCENARIOS
from validation.promises import PROMISES
from validation.suite import BIAS

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import mutate  # noqa: E402

QUICK = ("nights not paid for", "PPI without the labels at the ends")


def test_every_alteration_still_applies() -> None:
    """A mutant whose text is gone from the source tests nothing."""
    assert len(mutate.MUTANTS) >= 12
    for m in mutate.MUTANTS:
        assert (ROOT / "src" / "polyjudge" / m.file).read_text(encoding="utf-8").count(m.old) == 1, m.name
        assert m.scenario in {s.name for s in SCENARIOS}, m.name
        assert m.quantity in {*PROMISES, BIAS, "bias of the gain (standard errors)"}, m.name


@pytest.mark.parametrize("name", QUICK)
def test_quick_alterations_are_noticed(name: str) -> None:
    mutant = next(m for m in mutate.MUTANTS if m.name == name)
    found = mutate.run(mutant, stages=(40, 400))
    assert found["verdict"] == "fail", found


def test_the_table_says_what_was_missed() -> None:
    one = mutate.MUTANTS[0]
    rows = [(one, {"value": 0.5, "panels": 100, "verdict": v, "limit": 0.9}) for v in ("fail", "pass")]
    text = mutate.table(rows)
    assert "1 of 2 are noticed" in text
    assert "| NO |" in text
