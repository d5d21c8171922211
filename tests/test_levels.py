"""A sample of the claims of validation/scenarios.csv: few panels, so a limit is missed only by what is far off."""

from __future__ import annotations

import math

import pytest

from validation.__main__ import claims, measure, scenarios

PANELS = 24
pytestmark = pytest.mark.statistical


@pytest.mark.parametrize("row", scenarios(), ids=lambda row: row["id"])
def test_a_claim_holds_on_a_sample(row: dict[str, str]) -> None:
    assert row["id"] in claims()
    bound, upper = float(row["limit"][2:]), row["limit"].startswith("<=")
    for variant, share in measure(row["id"], range(5000, 5000 + PANELS)).items():
        rate = bound if upper else 1 - bound  # of what should be rare
        times = round(PANELS * (share if upper else 1 - share))
        tail = sum(math.comb(PANELS, i) * rate**i * (1 - rate) ** (PANELS - i) for i in range(times, PANELS + 1))
        assert times == 0 or tail > 1e-4, (variant, share, row["limit"])
