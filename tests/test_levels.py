"""A sample of the claims of validation/scenarios.csv: few panels, so a limit is missed only by what is far off."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from validation.__main__ import claims, measure, scenarios

PANELS = 24
pytestmark = pytest.mark.statistical


NOT_BUILT_YET = set((Path(__file__).parents[1] / "validation" / "not_built.txt").read_text().split())
"""Rows whose method is not built; may only lose rows."""


@pytest.mark.parametrize(
    "row", [row for row in scenarios() if row["id"] not in NOT_BUILT_YET], ids=lambda row: row["id"]
)
def test_a_claim_holds_on_a_sample(row: dict[str, str]) -> None:
    assert row["id"] in claims()
    bound, is_upper_limit = float(row["limit"][2:]), row["limit"].startswith("<=")
    for variant, measured in measure(row["id"], range(5000, 5000 + PANELS)).items():
        if not math.isnan(measured.error):  # a mean of sizes, no share
            excess = measured.mean - bound if is_upper_limit else bound - measured.mean
            assert excess <= 4 * measured.error, (variant, measured, row["limit"])
            continue
        n = measured.panels
        rate = bound if is_upper_limit else 1 - bound  # of what should be rare
        times = round(n * (measured.mean if is_upper_limit else 1 - measured.mean))
        tail = sum(math.comb(n, i) * rate**i * (1 - rate) ** (n - i) for i in range(times, n + 1))
        assert times == 0 or tail > 1e-4, (variant, measured, row["limit"])


def test_what_is_not_built_is_not_claimed() -> None:
    assert {row["id"] for row in scenarios()} >= NOT_BUILT_YET
    assert not NOT_BUILT_YET & set(claims())
