"""Calibrated scores go back in the shape they came in: wide, nested, Excel, words, and tables of a database."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.panel.errors import CalibratorError, PanelError, PolyjudgeError, UsageError
from polyjudge.second.read.writers import Written, write_calibrated
from refusals import refused
from user_files import MAKERS

CASES: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    # what is read, how; what is written, and how it is read back
    ("wide_judges.csv", {}, "out.csv", {"wide": "{judge}_calibrated"}),
    ("wide_judges.csv", {}, "out.parquet", {"wide": "{judge}_calibrated"}),
    ("wide_languages.csv", {}, "out.csv", {"wide": "score_{language}_calibrated"}),
    ("wide_both.csv", {}, "out.jsonl", {"wide": "{judge}_{language}_calibrated"}),
    ("wide_rows.csv", {}, "out.csv.gz", {"wide": "{language}/{judge}_calibrated"}),
    ("nested.jsonl", {"task": "sample.id"}, "out.jsonl", {"task": "sample.id", "score": "calibrated"}),
    ("nested_wide.jsonl", {}, "out.jsonl", {"wide": "scores_calibrated.{judge}"}),
    ("document.json", {}, "out.json", {"score": "calibrated"}),
    ("judgments.jsonl", {}, "out.jsonl", {"score": "calibrated"}),
    ("judgments.jsonl", {}, "out.csv", {"score": "calibrated"}),
    ("scores.xlsx", {}, "out.xlsx", {"score": "calibrated"}),
    ("sheets.xlsx", {}, "out.xlsx", {"score": "calibrated"}),
    ("booleans.jsonl", {}, "out.jsonl", {"score": "calibrated"}),
    ("pass_fail.csv", {}, "out.csv", {"score": "calibrated"}),
    ("grades.csv", {"map": "A=4,B=3,C=2,D=1,F=0"}, "out.csv", {"score": "calibrated"}),
    ("percent.csv", {}, "out.csv", {"score": "calibrated"}),
    ("european.csv", {}, "out.csv", {"score": "calibrated"}),
    ("gaps.csv", {}, "out.csv", {"score": "calibrated"}),
    ("packed.jsonl.gz", {}, "out.json", {"score": "calibrated"}),
    ("by_language/*.csv", {}, "out.csv", {}),
    ("by_judge/*.csv", {"judge_from": "{judge}.csv"}, "out.csv", {}),
    ("task_names.csv", {"language_from": "subset:mmlu/{language}/all"}, "out.csv", {}),
    ("lone_model.csv", {"judge": "model"}, "out.csv", {"judge": "model", "score": "calibrated"}),
]


def written(folder: Path, name: str, options: dict[str, Any], out: str) -> tuple[pj.Panel, Path, Written]:
    """The calibrated panel, the file that was written, and what was said about it."""
    MAKERS[name](folder)
    panel = pj.read_panel(folder / name, **options)
    cal = pj.ConsensusCalibrator().fit(panel)
    done = write_calibrated(cal, folder / name, folder / out, **options)
    return cal.transform(panel), folder / out, done


@pytest.mark.parametrize(("name", "options", "out", "back"), CASES, ids=[f"{c[0]} to {c[2]}" for c in CASES])
def test_the_shape_comes_back(
    name: str, options: dict[str, Any], out: str, back: dict[str, Any], tmp_path: Path
) -> None:
    wanted, path, done = written(tmp_path, name, options, out)
    assert done.missing == wanted.counts.size - int(wanted.counts.sum())
    if not back:  # the label is in no column: what is there is as it was, and one column more
        frame = pd.read_csv(path)
        assert frame.columns[-1] == "calibrated"
        np.testing.assert_allclose(np.sort(frame["calibrated"]), np.sort(wanted.scores, axis=None), atol=1e-12)
        return
    again = pj.read_panel(path, **back)
    again = again.select(wanted.tasks, wanted.languages, wanted.judges)
    np.testing.assert_allclose(again.scores, wanted.scores, atol=1e-12)


def test_columns_that_were_there_stay_as_they_were(tmp_path: Path) -> None:
    _, path, done = written(tmp_path, "wide_judges.csv", {}, "out.csv")
    before, after = pd.read_csv(tmp_path / "wide_judges.csv", dtype=str), pd.read_csv(path, dtype=str)
    assert done.rows == len(before)
    assert list(after.columns) == [*before.columns, *(f"{j}_calibrated" for j in ("claude", "gemini", "gpt-4o"))]
    pd.testing.assert_frame_equal(after[before.columns], before)


def test_nested_records_keep_everything(tmp_path: Path) -> None:
    _, path, done = written(tmp_path, "judgments.jsonl", {}, "out.jsonl")
    before = [json.loads(line) for line in (tmp_path / "judgments.jsonl").read_text().splitlines()]
    after = [json.loads(line) for line in path.read_text().splitlines()]
    assert done.rows == sum(len(r["judgments"]) for r in before)
    for row in after:
        for judgment in row["judgments"]:
            assert isinstance(judgment.pop("calibrated"), float)
    assert after == before


def test_sheets_stay_apart_and_text_is_no_formula(tmp_path: Path) -> None:
    from python_calamine import CalamineWorkbook

    _, path, _ = written(tmp_path, "sheets.xlsx", {}, "out.xlsx")
    book = CalamineWorkbook.from_path(str(path))
    assert book.sheet_names == ["en", "de", "pt-BR"]
    header = book.get_sheet_by_name("de").to_python()[0]
    assert header == ["task", "judge", "score", "calibrated"]
    MAKERS["long.csv"](tmp_path)
    frame = pd.read_csv(tmp_path / "long.csv").assign(comment="=1+1")
    frame.to_csv(tmp_path / "long.csv", index=False)
    cal = pj.ConsensusCalibrator().fit(pj.read_panel(frame))
    write_calibrated(cal, tmp_path / "long.csv", tmp_path / "long.xlsx")
    sheet = CalamineWorkbook.from_path(str(tmp_path / "long.xlsx")).get_sheet_by_index(0).to_python()
    assert sheet[1][sheet[0].index("comment")] == "=1+1"


def test_a_table_beside_the_source(tmp_path: Path) -> None:
    wanted, _, done = written(tmp_path, "eval.duckdb::scores", {}, "eval.duckdb::fair")
    file = tmp_path / "eval.duckdb"
    assert done.path == f"{file}::fair"
    again = pj.read_panel(f"{file}::fair", score="calibrated")
    np.testing.assert_allclose(again.scores, wanted.scores, atol=1e-12)
    cal = pj.ConsensusCalibrator().fit(pj.read_panel(f"{file}::scores"))
    assert write_calibrated(cal, f"{file}::scores", "::").path == f"{file}::scores_calibrated"
    with refused(UsageError, "fair", "--overwrite"):
        write_calibrated(cal, f"{file}::scores", "::fair")
    write_calibrated(cal, f"{file}::scores", "::FAIR", overwrite=True)
    with refused(UsageError, "scores", "-o ::NAME"):
        write_calibrated(cal, f"{file}::scores", "::scores", overwrite=True)
    with duckdb.connect(str(file)) as con:
        con.execute("CREATE TABLE mine AS SELECT 1 AS x")
        con.execute("CREATE VIEW seen AS SELECT 1 AS x")
        before = con.sql("SELECT * FROM scores").fetchall()
    for name in ("mine", "seen"):
        with refused(UsageError, name, "-o ::NAME"):
            write_calibrated(cal, f"{file}::scores", f"::{name}", overwrite=True)
    with refused(CalibratorError, "language", "en"):
        write_calibrated(pj.ConsensusCalibrator().fit(pj.sample_panel()), f"{file}::scores", "::other")
    with duckdb.connect(str(file)) as con:
        assert con.sql("SELECT * FROM scores").fetchall() == before
        names = {r[0] for r in con.sql("SELECT table_name FROM duckdb_tables()").fetchall()}
    assert names == {"scores", "FAIR", "scores_calibrated", "mine"}


def test_an_error_that_is_kept_does_not_lock_the_database(tmp_path: Path) -> None:
    """As in a notebook, which keeps the last traceback: another program can write to the file at once."""
    _, _, done = written(tmp_path, "eval.duckdb::scores", {}, "eval.duckdb::fair")
    source = done.path.replace("::fair", "::scores")
    kept: list[BaseException] = []
    for use in (
        lambda: write_calibrated(pj.ConsensusCalibrator().fit(pj.read_panel(source)), source, "::fair"),
        lambda: pj.read_panel(source, judge="nobody"),
    ):
        try:
            use()
        except PolyjudgeError as error:
            kept.append(error)
        program = "import duckdb, sys; duckdb.connect(sys.argv[1]).execute('CREATE OR REPLACE TABLE z AS SELECT 1')"
        other = subprocess.run([sys.executable, "-c", program, str(tmp_path / "eval.duckdb")], capture_output=True)
        assert other.returncode == 0, other.stderr
    assert len(kept) == 2
    assert all(error.__traceback__ for error in kept)


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    for name in ("winners.csv", "long.csv", "document.json", "wide_judges.csv"):
        MAKERS[name](tmp_path)
    cal = pj.ConsensusCalibrator().fit(pj.read_panel(tmp_path / "long.csv"))
    with refused(UsageError, "margins", "--save"):
        write_calibrated(
            pj.ConsensusCalibrator().fit(pj.read_panel(tmp_path / "winners.csv")),
            tmp_path / "winners.csv",
            tmp_path / "out.csv",
        )
    with refused(UsageError, "DuckDB", "PostgreSQL"):
        write_calibrated(cal, tmp_path / "long.csv", "::new")
    with refused(UsageError, "other.duckdb::new"):
        write_calibrated(cal, tmp_path / "long.csv", "other.duckdb::new")
    with refused(UsageError, ".json", ".csv"):
        write_calibrated(cal, tmp_path / "document.json", tmp_path / "out.jsonl")
    pd.read_csv(tmp_path / "wide_judges.csv").assign(claude_x="text").to_csv(tmp_path / "taken.csv", index=False)
    with refused(UsageError, "taken.csv", "claude_x", "--column"):
        write_calibrated(cal, tmp_path / "taken.csv", tmp_path / "out.csv", column="x")
    MAKERS["grades.csv"](tmp_path)
    with refused(PanelError, "grades.csv", "score", "line 2", "F", "--map"):
        write_calibrated(cal, tmp_path / "grades.csv", tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_commands(cli: Any, tmp_path: Path) -> None:
    MAKERS["wide_judges.csv"](tmp_path)
    MAKERS["grades.csv"](tmp_path)
    done = cli("calibrate", tmp_path / "wide_judges.csv", "-o", tmp_path / "a.csv", "--save", tmp_path / "cal.json")
    assert done.returncode == 0, done.stderr
    done = cli(
        "apply",
        tmp_path / "cal.json",
        tmp_path / "grades.csv",
        "-o",
        tmp_path / "b.xlsx",
        "--map",
        "A=4,B=3,C=2,D=1,F=0",
    )
    assert done.returncode == 0, done.stderr
    again = pj.read_panel(tmp_path / "b.xlsx", score="calibrated", range=(-20, 20))
    cal = pj.load_calibrator(tmp_path / "cal.json")
    raw = pj.read_panel(tmp_path / "grades.csv", map={"A": 4, "B": 3, "C": 2, "D": 1, "F": 0})
    np.testing.assert_allclose(again.scores, cal.transform(raw).scores, atol=1e-12)


def test_a_book_is_written_whatever_the_clock_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock before 1980, which zip files cannot hold; and the same scores give the same bytes."""
    import time

    from polyjudge.second.read.writers import write_calibrated

    panel, _ = pj.simulate_panel(tasks=4, languages=2, judges=2, seed=1)
    panel.to_frame().to_csv(tmp_path / "s.csv", index=False)
    cal = pj.ConsensusCalibrator().fit(panel)
    for name, year in (("a.xlsx", 1971), ("b.xlsx", 2026)):
        moment = time.struct_time((year, 1, 1, 0, 0, 0, 0, 1, 0))
        monkeypatch.setattr(time, "localtime", lambda *_, moment=moment: moment)
        write_calibrated(cal, tmp_path / "s.csv", tmp_path / name)
    assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "b.xlsx").read_bytes()
