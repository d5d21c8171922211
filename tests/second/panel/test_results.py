"""Results as plain JSON values: nothing that JSON cannot hold, and no NaN."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from polyjudge.second.panel.records import plain
from polyjudge.second.report.result import Result


class Sample(Result):
    table: pd.DataFrame
    inner: dict[str, object]

    def to_frame(self) -> pd.DataFrame:
        return self.table


def test_everything_becomes_json() -> None:
    table = pd.DataFrame({"x": [1.0, np.nan], "n": pd.array([1, None], dtype="Int64"), "s": ["a", None]})
    inner = {"array": np.array([[1.0, np.inf]]), "set": {1}, "flag": np.bool_(True), "none": pd.NA}
    sample = Sample(table=table, inner=inner)
    data = json.loads(json.dumps(sample.to_dict(), allow_nan=False))
    assert data["table"][0] == {"x": 1.0, "n": 1, "s": "a"}
    assert data["table"][1] == {"x": None, "n": None, "s": None}
    assert data["inner"] == {"array": [[1.0, None]], "set": [1], "flag": True, "none": None}
    assert "Sample" in repr(sample)


def test_named_indexes_become_columns() -> None:
    frame = pd.DataFrame({"x": [1]}, index=pd.Index(["en"], name="language"))
    assert plain(frame) == [{"language": "en", "x": 1}]
    assert plain(frame["x"]) == {"en": 1}
    odd = {
        "float": [1.5, np.inf],
        "text": ["x", None],
        "count": pd.array([1, None], dtype="Int64"),
        "day": pd.to_datetime(["2020-01-01", "2020-01-02"]),
        "flag": [True, False],
        "list": [[1, 2], (3, np.nan)],
    }
    first, second = plain(pd.DataFrame(odd))
    assert list(first.values()) == [1.5, "x", 1, "2020-01-01 00:00:00", True, [1, 2]]
    assert (type(first["count"]), type(first["flag"])) == (int, bool)
    assert list(second.values()) == [None, None, None, "2020-01-02 00:00:00", False, [3, None]]


def test_a_result_without_a_table_is_one_row() -> None:
    class Numbers(Result):
        low: float
        notes: tuple[str, ...]

    assert Numbers(low=1.5, notes=("a",)).to_frame().to_dict("records") == [{"low": 1.5, "notes": ["a"]}]
