"""Applying a calibrator: exact, order and other columns kept, unseen labels, whole files or none."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import polyjudge.second as pj
from polyjudge.second.panel.errors import CalibratorError, PanelError, UsageError
from polyjudge.second.read.writers import write_calibrated
from refusals import lacks, refused


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    panel, _ = pj.simulate_panel(tasks=9, languages=["en", "de", "fr"], judges=["B", "A"], replicates=2, seed=3)
    frame = panel.to_long()
    frame["comment"] = [f'=run("{i}"),\nline' if i % 5 == 0 else f"ok {i}" for i in range(len(frame))]
    frame["code"] = [f"{i:03d}" for i in range(len(frame))]
    return frame.sample(frac=1, random_state=5, ignore_index=True)


@pytest.fixture(scope="module")
def cal(table: pd.DataFrame) -> pj.ConsensusCalibrator:
    return pj.ConsensusCalibrator().fit(pj.read_panel(table))


@pytest.fixture(scope="module")
def wanted(table: pd.DataFrame, cal: pj.ConsensusCalibrator) -> pd.Series[float]:
    """What `transform` gives, put back into the table's order."""
    done = cal.transform(pj.read_panel(table)).to_long()
    keys = ["task", "language", "judge", "replicate"]
    return table[keys].merge(done, on=keys, how="left")["score"]


def test_save_load_apply_equals_transform_exactly(
    table: pd.DataFrame, cal: pj.ConsensusCalibrator, wanted: pd.Series[float], tmp_path: Path
) -> None:
    cal.save(tmp_path / "cal.json")
    loaded = pj.load_calibrator(tmp_path / "cal.json")
    np.testing.assert_array_equal(loaded.apply(table)["calibrated"], wanted)


@pytest.mark.parametrize("kind", ["pandas", "polars", "polars lazy", "pyarrow", "ibis"])
def test_the_same_kind_of_table_comes_back(
    kind: str, table: pd.DataFrame, cal: pj.ConsensusCalibrator, wanted: pd.Series[float]
) -> None:
    made: Any = {
        "pandas": lambda: table,
        "polars": lambda: pl.from_pandas(table),
        "polars lazy": lambda: pl.from_pandas(table).lazy(),
        "pyarrow": lambda: pa.Table.from_pandas(table, preserve_index=False),
        "ibis": lambda: ibis.memtable(table),
    }[kind]()
    out = cal.apply(made, column="fair")
    assert type(out).__module__.split(".")[0] == type(made).__module__.split(".")[0]
    frame = {
        "pandas": lambda: out,
        "polars": lambda: out.to_pandas(),
        "polars lazy": lambda: out.collect().to_pandas(),
        "pyarrow": lambda: out.to_pandas(),
        "ibis": lambda: out.to_pandas(),
    }[kind]()
    assert list(frame.columns) == [*table.columns, "fair"]
    assert list(frame["code"]) == list(table["code"])
    np.testing.assert_array_equal(frame["fair"], wanted)


@pytest.mark.parametrize("into", ["csv", "csv.gz", "tsv", "parquet", "jsonl", "jsonl.gz", ""])
@pytest.mark.parametrize("out_of", ["csv", "parquet", "jsonl"])
def test_files_keep_columns_and_order(
    out_of: str, into: str, table: pd.DataFrame, cal: pj.ConsensusCalibrator, wanted: pd.Series[float], tmp_path: Path
) -> None:
    source, target = tmp_path / f"in.{out_of}", tmp_path / (f"out.{into}" if into else "out")
    if out_of == "csv":
        table.to_csv(source, index=False)
    elif out_of == "parquet":
        table.to_parquet(source)
    else:
        source.write_text("\n".join(json.dumps(r) for r in table.to_dict("records")))
    done = write_calibrated(cal, source, target)
    assert (done.rows, done.missing, done.unseen) == (len(table), 0, 0)
    if into in ("parquet", ""):
        back = pd.read_parquet(target)
        if not into:  # a folder of files has no order
            back = back.set_index("code").loc[list(table["code"])].reset_index()[[*table.columns, "calibrated"]]
    elif into.startswith("jsonl"):
        text = gzip.decompress(target.read_bytes()).decode() if into.endswith("gz") else target.read_text()
        back = pd.DataFrame([json.loads(line) for line in text.splitlines()])
    else:
        back = pd.read_csv(target, sep="\t" if into == "tsv" else ",", dtype={"code": str})
    assert list(back.columns) == [*table.columns, "calibrated"]
    assert list(back["code"]) == list(table["code"])
    assert list(back["comment"]) == list(table["comment"])
    np.testing.assert_array_equal(back["score"].astype(float), table["score"])
    np.testing.assert_array_equal(back["calibrated"], wanted)
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_calibrated_file_is_a_panel_without_interaction(
    table: pd.DataFrame, cal: pj.ConsensusCalibrator, tmp_path: Path
) -> None:
    table.to_parquet(tmp_path / "in.parquet")
    write_calibrated(cal, tmp_path / "in.parquet", tmp_path / "out")
    again = pj.read_panel(tmp_path / "out", score="calibrated")
    left = pj.ConsensusCalibrator().fit(again).interaction_.to_numpy()
    assert np.abs(left).max() < 1e-11
    assert sorted(p.name for p in (tmp_path / "out").glob("[!.]*")) == ["part-0.parquet"]


def test_order_is_kept_over_many_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polyjudge.second.read.duck.SMALL", 0)  # as large files are: by all threads
    panel, _ = pj.simulate_panel(tasks=12_000, languages=3, judges=4, seed=0)
    frame = panel.to_long().sample(frac=1, random_state=1, ignore_index=True)
    cal = pj.ConsensusCalibrator().fit(panel)
    frame.to_csv(tmp_path / "in.csv", index=False)
    frame.to_parquet(tmp_path / "in.parquet", row_group_size=7_000)
    for name in ("csv", "parquet"):
        write_calibrated(cal, tmp_path / f"in.{name}", tmp_path / "out.parquet")
        back = pd.read_parquet(tmp_path / "out.parquet")
        assert (back["task"].to_numpy() == frame["task"].to_numpy()).all()
        np.testing.assert_array_equal(back["score"], frame["score"])


def test_unseen_labels(table: pd.DataFrame, cal: pj.ConsensusCalibrator, tmp_path: Path) -> None:
    new = table.copy()
    new.loc[[3, 7], "language"] = "xx"
    new.loc[4, "judge"] = "new"
    new.to_csv(tmp_path / "in.csv", index=False)
    with refused(CalibratorError, "xx", "en, fr, de", "--unseen keep"):
        write_calibrated(cal, tmp_path / "in.csv", tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()
    done = write_calibrated(cal, tmp_path / "in.csv", tmp_path / "out.csv", unseen="keep")
    assert done.unseen == 3
    back = pd.read_csv(tmp_path / "out.csv")
    np.testing.assert_array_equal(back.loc[[3, 4, 7], "calibrated"], new.loc[[3, 4, 7], "score"])
    for made in (new, pl.from_pandas(new), pa.Table.from_pandas(new), ibis.memtable(new)):
        with refused(CalibratorError, "xx", "--unseen keep"):
            cal.apply(made)
    kept = cal.apply(ibis.memtable(new), unseen="keep").to_pandas()
    np.testing.assert_array_equal(kept["calibrated"], cal.apply(new, unseen="keep")["calibrated"])


def test_missing_scores_stay_missing(table: pd.DataFrame, cal: pj.ConsensusCalibrator, tmp_path: Path) -> None:
    holes = table.assign(score=table["score"].where(table.index % 7 != 0))
    holes.to_csv(tmp_path / "in.csv", index=False)
    done = write_calibrated(cal, tmp_path / "in.csv", tmp_path / "out.csv")
    back = pd.read_csv(tmp_path / "out.csv")
    assert done.missing == int(holes["score"].isna().sum())
    assert (back["calibrated"].isna() == holes["score"].isna()).all()


def test_bad_input(table: pd.DataFrame, cal: pj.ConsensusCalibrator, tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    table.assign(score=table["score"].astype(object).where(table.index != 2, "abc")).to_csv(source, index=False)
    with refused(PanelError, "score", "in.csv", "line 4", "abc", "--map"):
        write_calibrated(cal, source, tmp_path / "out.csv")
    with refused(PanelError, "abc", 2):
        cal.apply(pd.read_csv(source))
    table.to_csv(source, index=False)
    with refused(UsageError, "code", "in.csv", "--column"):
        write_calibrated(cal, source, tmp_path / "out.csv", column="code")
    with refused(UsageError, "out.docx", ".csv"):
        write_calibrated(cal, source, tmp_path / "out.docx")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("keep me")
    with refused(UsageError, "thesis.txt"):
        write_calibrated(cal, source, tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "keep me"
    with refused(UsageError, "_Odd"):
        cal.apply(_Odd())


class _Odd:
    columns = ("language", "judge", "score")


def test_spreadsheet_safe_marks_text_only(table: pd.DataFrame, cal: pj.ConsensusCalibrator, tmp_path: Path) -> None:
    frame = table.assign(number=-1.5)
    frame.to_csv(tmp_path / "in.csv", index=False)
    write_calibrated(cal, tmp_path / "in.csv", tmp_path / "out.csv", spreadsheet_safe=True)
    back = pd.read_csv(tmp_path / "out.csv")
    assert (back["number"] == -1.5).all()
    risky = table["comment"].str.startswith("=")
    assert (back.loc[risky, "comment"] == "'" + table.loc[risky, "comment"]).all()
    assert (back.loc[~risky, "comment"] == table.loc[~risky, "comment"]).all()


APPLY = """
import contextlib, io, json, resource, sys
from polyjudge.second.cli import main

resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
said = []
saved, source, *targets = sys.argv[1:]
for target in targets:
    sys.argv = ["polyjudge", "apply", saved, source, "-o", target]
    with contextlib.redirect_stderr(io.StringIO()) as told:
        try:
            main()
        except SystemExit as end:
            said.append((end.code, told.getvalue()))
print(json.dumps(said))
"""


def test_a_full_disk_leaves_nothing_behind(cal: pj.ConsensusCalibrator, tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk: the write fails half-way."""
    panel, _ = pj.simulate_panel(tasks=3_000, languages=["en", "de", "fr"], judges=["B", "A"], seed=0)
    source, cal_path = tmp_path / "in.parquet", tmp_path / "cal.json"
    panel.to_long().to_parquet(source)
    cal.save(cal_path)
    folder = tmp_path / "there"
    folder.mkdir()
    targets = [folder / name for name in ("out.csv", "out.parquet", "out")]
    done = subprocess.run(
        [sys.executable, "-c", APPLY, cal_path, source, *targets], capture_output=True, text=True, timeout=120
    )
    said = json.loads(done.stdout)
    assert [code for code, _ in said] == [2, 2, 2], done.stderr
    assert all("disk is full" in words for _, words in said)
    assert list(folder.iterdir()) == []


def test_commands(cli: Any, table: pd.DataFrame, wanted: pd.Series[float], tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    table.to_csv(source, index=False)
    done = cli("calibrate", source, "-o", tmp_path / "out.csv", "--save", tmp_path / "cal.json")
    assert done.returncode == 0, done.stderr
    assert not lacks(done.stdout, len(table), "out.csv")
    done = cli("apply", tmp_path / "cal.json", source, "-o", tmp_path / "again.csv", "--json")
    assert json.loads(done.stdout)["written"]["rows"] == len(table)
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "again.csv").read_bytes()
    back = pd.read_csv(tmp_path / "again.csv")
    np.testing.assert_allclose(back["calibrated"], wanted, rtol=1e-12)  # shrinkage by nothing costs the last digit
    done = cli("calibrate", source)
    assert done.returncode == 2
    assert not lacks(done.stderr, "-o", "--save")


def test_labels_that_are_read_otherwise_the_second_time_stop_the_query() -> None:
    """Unknown labels were counted before: one that is met while writing is a fault, never a score left as it is."""
    cal = pj.ConsensusCalibrator().fit(pj.simulate_panel(6, ["en", "de"], ["a", "b"], seed=1)[0])
    rows = "(VALUES ('en', 'a', 1.0), (NULL, 'a', 2.0)) AS t(l, b, s)"
    asked = cal.adjustment_.sql("l", "b", "s", strict=True)
    assert duckdb.sql(f"SELECT {asked} FROM {rows}").fetchall()[1] == (2.0,)
    with pytest.raises(duckdb.Error, match="counted"):
        duckdb.sql(f"SELECT {asked} FROM (VALUES ('\"en\"', 'a', 1.0)) AS t(l, b, s)").fetchall()
