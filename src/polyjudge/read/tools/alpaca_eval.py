"""AlpacaEval annotations: a tested model against a baseline, with a preference from 1 (the first) to 2 (the second).

The tool shows the two in random order, turns the verdict back and keeps nothing of the order: the place is unknown.
"""

from __future__ import annotations

from typing import Any

from polyjudge.read.tools import Record, Rows

TITLE = "AlpacaEval annotations"
FITS = ({"generator_1", "generator_2", "preference", "instruction"},)


def rows(record: Record) -> Rows:
    """One row; 1.5 is a tie, and so is 0 in old files."""
    preference = read_number(record.get("preference"))
    won = None
    if preference == preference:
        won = 0.5 if preference == 0 else 2 - preference
    yield {
        "task": record["instruction"],
        "first": record["generator_1"],
        "second": record["generator_2"],
        "judge": record.get("annotator"),
        "won": won,
        "place": 0,
        "prompt": record["instruction"],
        "response_1": record.get("output_1"),
        "response_2": record.get("output_2"),
        "dataset": record.get("dataset"),
    }


def read_number(value: Any) -> float:
    """A preference as a number; NaN where there is none. A table holds it as text."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")
