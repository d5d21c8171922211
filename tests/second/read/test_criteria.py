"""Several criteria in one source: a column of them, a score column for each, or an eval tool's metrics."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import polyjudge.second as pj
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.reading import Unclear
from polyjudge.second.read.criterion_panels import read_criteria
from refusals import refused

CRITERIA = ("accuracy", "clarity", "tone")


def parts() -> dict[str, pd.DataFrame]:
    """Another panel for each criterion."""
    size = (12, ["en", "de"], ["A", "B", "C"])
    return {c: pj.simulate_panel(*size, systems=["s", "t"], seed=i)[0].to_long() for i, c in enumerate(CRITERIA)}


def long_table() -> pd.DataFrame:
    return pd.concat([frame.assign(criterion=c) for c, frame in parts().items()])


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl", ".sqlite", "frame", "arrow"])
def test_a_column_of_criteria_is_found_and_split(tmp_path: Path, suffix: str) -> None:
    table, source = long_table(), tmp_path / f"scores{suffix}"
    if suffix == ".csv":
        table.to_csv(source, index=False)
    elif suffix == ".parquet":
        table.to_parquet(source)
    elif suffix == ".jsonl":
        table.to_json(source, orient="records", lines=True)
    elif suffix == ".sqlite":
        with closing(sqlite3.connect(source)) as db:
            table.to_sql("scores", db, index=False)
    found = read_criteria({"frame": table, "arrow": pa.Table.from_pandas(table)}.get(suffix, source))
    assert set(found) == set(CRITERIA)
    for c, frame in parts().items():
        alone = pj.read_panel(frame).select(languages=found[c].languages, judges=found[c].judges)
        np.testing.assert_allclose(found[c].system_scores, alone.system_scores)
        assert found[c].reading is not None
        assert "--criterion criterion" in found[c].reading.command()


def test_score_columns_are_criteria_when_said_and_asked_about_else(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    keys = ["task", "system", "language", "judge"]
    long_table().pivot(index=keys, columns="criterion", values="score").reset_index().to_csv(path, index=False)
    found = read_criteria(path, criteria=["clarity", "tone"])
    alone = pj.read_panel(parts()["tone"]).select(languages=found["tone"].languages)
    np.testing.assert_allclose(found["tone"].system_scores, alone.system_scores)
    with refused(Unclear, "--criteria", "accuracy,clarity,tone"):
        read_criteria(path)


def test_one_criterion_is_one_panel() -> None:
    frame = parts()["tone"]
    assert list(read_criteria(frame)) == [""]
    assert list(read_criteria(frame.assign(criterion="tone"))) == [""]
    assert list(read_criteria(pj.read_panel(frame))) == [""]


def test_what_cannot_be_is_refused() -> None:
    table = long_table()
    with refused(UsageError, "--criterion", "--criteria"):
        read_criteria(table, criterion="criterion", criteria=["score"])
    with refused(PanelError, "nothing"):
        read_criteria(table, criterion="nothing")
    many = pd.concat([parts()["tone"].assign(aspect=f"a{i}") for i in range(41)])
    with refused(PanelError, "aspect", 41, 40):
        read_criteria(many, criterion="aspect")
