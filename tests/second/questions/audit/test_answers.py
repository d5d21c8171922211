"""The answers behind a cell: which ones, and their texts, from the scores' own file or from another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.read.spoken import read_texts
from polyjudge.second.report import report_of, terminal
from refusals import refused

HOSTILE = "<script>alert(1)</script> \x1b[31m{judge} [bold]x"


def frame(systems: bool = True) -> pd.DataFrame:
    fault = np.zeros((4, 4))
    fault[3, 1] = -20
    options = {"systems": 3} if systems else {}
    table = pj.simulate_panel(30, 4, 4, interaction=fault, seed=1, **options)[0].to_long()
    key = table["task"] + (table["system"] if systems else "")
    return table.assign(response=HOSTILE + " answer " + key, explanation="because of " + table["judge"])


CELL = ("language4", "judge2")


@pytest.mark.parametrize("systems", [True, False])
def test_the_answers_of_a_cell_come_with_their_texts(systems: bool, tmp_path: Path) -> None:
    frame(systems).to_csv(tmp_path / "s.csv", index=False)
    audit = pj.audit(tmp_path / "s.csv", resamples=100, cell=CELL)
    found = audit.answers
    assert found is not None
    assert len(found) == 10
    assert set(found["judge"]) == {"judge2"}
    assert (found["gap"] < 0).all()
    for row in found.itertuples():
        assert row.response.endswith(row.task + (row.system if systems else ""))
        assert row.reason == "because of judge2"
        assert row.score < row.others
    text = terminal.text(report_of(audit))  # type: ignore[arg-type]
    assert "\x1b[31m" not in text
    assert found["task"].iloc[0] in text
    page = audit.to_html() or ""
    assert "<script>alert(1)</script>" not in page
    assert "because of judge2" in page


def test_the_mean_of_the_others_is_that_of_the_same_answer() -> None:
    table = frame()
    found = pj.audit(table, resamples=100, cell=CELL).explanation.worst  # type: ignore[union-attr]
    first = found.iloc[0]
    same = table[(table["task"] == first["task"]) & (table["system"] == first["system"])]
    same = same[same["language"] == "language4"].set_index("judge")["score"]
    assert first["score"] == pytest.approx(same["judge2"])
    assert first["others"] == pytest.approx(same.drop("judge2").mean())


def test_texts_that_are_elsewhere_are_joined_by_what_they_name(tmp_path: Path, cli: Callable) -> None:
    table = frame()
    table.drop(columns=["response", "explanation"]).to_csv(tmp_path / "s.csv", index=False)
    items = table[["task", "system", "language", "response"]].drop_duplicates()
    items.to_json(tmp_path / "items.jsonl", orient="records", lines=True)
    assert pj.audit(tmp_path / "s.csv", resamples=100, cell=CELL).answers is None
    done = cli("audit", tmp_path / "s.csv", "--resamples", 100, "--cell", "language4,judge2", "--items",
               tmp_path / "items.jsonl", "-o", tmp_path / "out")  # fmt: skip
    assert done.returncode == 0, done.stderr
    worst = pd.read_csv(tmp_path / "out" / "worst.csv")
    assert worst["response"].str.contains(" answer ").all()
    panel = pj.read_panel(tmp_path / "s.csv")
    wanted = worst[["task", "system", "language", "judge"]]
    with refused(UsageError, "x.csv", "response"):
        items[["task"]].to_csv(tmp_path / "x.csv", index=False)
        read_texts(panel, wanted, tmp_path / "x.csv")
    with refused(UsageError, "y.csv", "tasks"):
        items[["response"]].to_csv(tmp_path / "y.csv", index=False)
        read_texts(panel, wanted, tmp_path / "y.csv")


def test_a_source_that_is_gone_has_no_texts(tmp_path: Path) -> None:
    frame().to_csv(tmp_path / "s.csv", index=False)
    panel = pj.read_panel(tmp_path / "s.csv")
    (tmp_path / "s.csv").unlink()
    assert pj.audit(panel, resamples=100, cell=CELL).answers is None
