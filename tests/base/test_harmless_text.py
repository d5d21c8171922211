"""Text that is made harmless, and numbers with as many digits as they need."""

from __future__ import annotations

import csv
import io

import pandas as pd
import pytest

from polyjudge.base.numbers import percent
from polyjudge.base.text import redact, spreadsheet
from polyjudge.report import text


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_a_name_that_begins_like_a_formula_is_quoted_in_csv(start: str) -> None:
    name = f"{start}SUM(A1)"
    assert spreadsheet(name) == f"'{name}"
    written = text.csv(pd.DataFrame({"judge": [name]}))
    kept = name.replace("\r", "\n")  # a bare carriage return would end the row
    assert list(csv.reader(io.StringIO(written, newline="")))[1] == [f"'{kept}"]


@pytest.mark.parametrize("start", ["=", "+", "-", "@"])
def test_a_single_character_is_no_formula(start: str) -> None:
    assert spreadsheet(start) == start


@pytest.mark.parametrize(
    "key", ["password", "passwd", "pwd", "secret", "client_secret", "token", "private_key", "apikey", "API_KEY"]
)
@pytest.mark.parametrize("sign", ["=", ": "])
def test_what_follows_the_name_of_a_secret_is_redacted(key: str, sign: str) -> None:
    assert "hunter2" not in redact(f"could not connect: {key}{sign}hunter2&x=1")


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0.913, "91.3%"), (0.998, "99.8%"), (0.95, "95%"), (0.087, "8.7%"), (0.613, "61%"), (-0.957, "-95.7%")],
)
def test_shares_near_the_ends_have_a_decimal(share: float, shown: str) -> None:
    assert percent(share) == shown
