"""The same panel from every place: frames, files, databases, warehouses; more tasks than rows of a panel."""

# ruff: noqa: E501

from __future__ import annotations

import gzip
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common import need, workbook
from polyjudge.base.errors import PanelError, PolyjudgeError, UsageError
from polyjudge.panel import Panel
from polyjudge.read import read_panel, read_table, rows
from read.test_odd_files import B, W

WANT = read_panel(B)


def same(panel: Panel, want: Panel = WANT) -> None:
    for axis in ("tasks", "systems", "languages", "judges"):
        assert getattr(panel, axis) == getattr(want, axis)
    np.testing.assert_allclose(panel.scores, want.scores, rtol=1e-12)


def test_import_is_light() -> None:
    code = "import sys, polyjudge.read; sys.exit('duckdb' in sys.modules or 'pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    "kind",
    ["pandas", "nullable", "NA", "category", "polars", "lazy", "arrow", "records", "columns", "index", "objects"],
)
def test_frames(kind: str) -> None:
    if kind == "NA":
        frame = B.convert_dtypes()
        frame.loc[3, "score"] = pd.NA
        panel = read_panel(frame)
        assert np.isnan(panel.scores).sum() == 1
        return
    pl = pytest.importorskip("polars") if kind in ("polars", "lazy") else None
    pa = pytest.importorskip("pyarrow")
    made: dict[str, Callable[[], Any]] = {
        "pandas": lambda: B, "nullable": B.convert_dtypes, "category": lambda: B.astype({"judge": "category", "score": "category"}),
        "polars": lambda: pl.from_pandas(B), "lazy": lambda: pl.from_pandas(B).lazy(),  # type: ignore[union-attr]
        "arrow": lambda: pa.Table.from_pandas(B), "records": lambda: B.to_dict("records"), "columns": lambda: B.to_dict("list"),
        "index": lambda: B.set_index(["task", "language", "judge"]), "objects": lambda: B.astype(object),
    }  # fmt: skip
    same(read_panel(made[kind]()))


def test_a_hugging_face_dataset() -> None:
    pa = pytest.importorskip("pyarrow")
    asked = {"with_format": lambda self, kind: self, "__getitem__": lambda self, rows: pa.Table.from_pandas(B)}
    same(read_panel(type("Dataset", (), {**asked, "__module__": "datasets.arrow_dataset"})()))
    with pytest.raises(UsageError, match="dictionary of datasets"):
        read_panel(type("DatasetDict", (dict,), {})(train=1))


@pytest.mark.parametrize("kind", [".parquet", ".csv.gz", ".jsonl.gz", ".duckdb", ".sqlite", ".db", ".xlsx", "-"])
def test_files(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"scores{kind}"
    if kind == ".parquet":
        B.to_parquet(path)
    elif kind == ".csv.gz":
        path.write_bytes(gzip.compress(B.to_csv(index=False).encode()))
    elif kind == ".jsonl.gz":
        path.write_bytes(gzip.compress(B.to_json(orient="records", lines=True).encode()))
    elif kind in (".duckdb", ".db"):
        import duckdb

        with duckdb.connect(str(path)) as con:
            con.register("b", B)
            con.execute("CREATE TABLE scores AS SELECT * FROM b; CREATE TABLE other (x INTEGER)")
        with pytest.raises(PanelError, match=r"2 tables.*scores"):
            read_panel(path)
        path = Path(f"{path}::scores")
    elif kind == ".sqlite":
        with sqlite3.connect(path) as db:
            B.to_sql("scores", db, index=False)
        db.close()
        data = bytearray(path.read_bytes())
        data[100:3000] = b"\xff" * 2900
        (tmp_path / "bad.sqlite").write_bytes(data)
        with pytest.raises(PolyjudgeError):
            read_panel(tmp_path / "bad.sqlite")
    elif kind == ".xlsx":
        workbook(path, {"Sheet1": B, "Empty": B.head(0)})
        pytest.importorskip("python_calamine")
        workbook(tmp_path / "two.xlsx", {"a": B, "b": B})
        same(read_panel(f"{tmp_path / 'two.xlsx'}::b"))
        with pytest.raises(PanelError, match="2 sheets"):
            read_panel(tmp_path / "two.xlsx")
    else:
        import io

        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(B.to_csv(index=False).encode())))
        path = Path("-")
    same(read_panel(path))


def test_a_database_reaches_nothing_else(tmp_path: Path) -> None:
    import duckdb

    (tmp_path / "secret.csv").write_text("task,judge,score\nq,a,1\n")
    with duckdb.connect(str(tmp_path / "s.duckdb")) as con:
        con.execute(f"CREATE VIEW v AS SELECT * FROM read_csv('{tmp_path / 'secret.csv'}')")
    with pytest.raises(PanelError):
        read_panel(tmp_path / "s.duckdb")


# --- properties ---


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([".csv", ".parquet", ".jsonl", "frame"]), st.floats(0, 0.3))
def test_row_order_and_format_do_not_matter(seed: int, kind: str, holes: float) -> None:
    rng = np.random.default_rng(seed)
    frame = B[rng.random(len(B)) >= holes]
    want = read_panel(frame)
    mixed = frame.sample(frac=1, random_state=seed)[list(rng.permutation(frame.columns))]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"s{kind}"
        if kind == ".csv":
            mixed.to_csv(path, index=False)
        elif kind == ".parquet":
            mixed.to_parquet(path, row_group_size=7)
        elif kind == ".jsonl":
            mixed.to_json(path, orient="records", lines=True)
        same(read_panel(mixed if kind == "frame" else path), want)


# --- more tasks than a panel has rows ---


@pytest.fixture
def small_panels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "MOST_TASKS", 100)
    monkeypatch.setattr(rows, "UNITS", 40)


def many(holes: float = 0.0, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    index = pd.MultiIndex.from_product([[f"t{i}" for i in range(300)], ["s1", "s2"], ["de", "en"], ["a", "b", "c"]])
    frame = index.to_frame(index=False, name=["task", "system", "language", "judge"])
    frame["score"] = np.round(rng.normal(50, 15, len(frame)), 1)
    return frame[rng.random(len(frame)) >= holes]


def means(panel: Panel) -> Any:
    weight = np.where(np.isfinite(panel.scores), panel.weight[:, None, None, None], 0.0)
    return np.nansum(panel.scores * weight, axis=0) / weight.sum(0)


@pytest.mark.parametrize("holes", [0.0, 0.002, 0.2])
def test_hashed_units_keep_every_mean(holes: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = many(holes)
    want = read_panel(frame)
    monkeypatch.setattr(rows, "MOST_TASKS", 100)
    monkeypatch.setattr(rows, "UNITS", 40)
    panel = read_panel(frame)
    assert panel.units == 40
    assert panel.weight.sum() == 300
    assert panel.facts.replace(f"{panel.units} clusters", "") == want.facts
    np.testing.assert_allclose(means(panel), means(want), rtol=1e-12)
    for how in (">", ">="):
        np.testing.assert_allclose(means(panel.passes(50, how)), means(want.passes(50, how)), rtol=1e-12)
    np.testing.assert_allclose(means(panel.passes(40, "floor")), means(want.passes(40, "floor")), rtol=1e-12)
    frame.sample(frac=1, random_state=3).to_parquet(tmp_path / "s.parquet", row_group_size=100)
    again = read_panel(tmp_path / "s.parquet")
    np.testing.assert_array_equal(again.scores, panel.scores)
    np.testing.assert_array_equal(again.weight, panel.weight)
    clustered = read_panel(frame.assign(cluster=frame["task"].str[:2]))
    assert clustered.units <= 10


@pytest.mark.usefixtures("small_panels")
def test_hashed_units_refuse_what_small_panels_refuse() -> None:
    frame = many()
    wide = frame.pivot(index=["task", "system", "language"], columns="judge", values="score").reset_index()
    np.testing.assert_allclose(means(read_panel(wide)), means(read_panel(frame)), rtol=1e-12)
    for bad, words in (
        (frame.assign(score=frame["score"].where(frame.index != 5, 9999)), "9999"),
        (
            frame.assign(score=np.where(frame["judge"] == "a", frame["score"] // 20 + 1, frame["score"].round())),
            "one scale",
        ),
        (pd.concat([frame, frame.assign(score=1.0)]), "2 scores"),
        (frame.assign(judge=frame["judge"].where(frame.index != 5)), "no judge"),
        (pd.concat([frame.assign(criterion="a"), frame.assign(criterion="b")]), "--criteria a"),
        (frame.assign(cluster=np.arange(len(frame)) % 5), "two clusters"),
    ):
        with pytest.raises(PolyjudgeError, match=words):
            read_panel(bad)
    people = read_panel(pd.concat([frame, frame[frame["judge"] == "a"].assign(judge="human")]))
    assert people.judges == ("a", "b", "c")
    both = read_panel(frame.assign(judge=frame["judge"].replace({"c": "x/a"})))
    assert both.judges == ("a", "b", "x/a")
    later = frame["judge"].where((frame["judge"] != "a") | (frame["task"] < "t2"), "x/a")
    one = read_panel(frame.assign(judge=later))
    assert one.judges == ("a", "b", "c")
    np.testing.assert_allclose(means(one), means(read_panel(frame)), rtol=1e-12)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_threads_do_not_matter(threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "MOST_TASKS", 100)
    from polyjudge.read import table

    frame = many(0.1)
    want = read_panel(frame)
    plain = table.connect

    def connect(*args: Any) -> Any:
        con = plain(*args)
        con.execute(f"SET threads = {threads}")
        return con

    monkeypatch.setattr(table, "connect", connect)
    frame.to_parquet(tmp_path / "s.parquet", row_group_size=50)
    np.testing.assert_array_equal(read_panel(tmp_path / "s.parquet").scores, want.scores)


def test_a_wide_table_of_many_judges_is_quick(tmp_path: Path) -> None:
    judges = [f"judge {i}" for i in range(800)]
    frame = pd.DataFrame(np.random.default_rng(0).integers(0, 101, (60, 800)), columns=judges)
    frame.insert(0, "task", [f"q{i}" for i in range(60)])
    frame.to_csv(tmp_path / "w.csv", index=False)
    panel = read_panel(tmp_path / "w.csv")
    assert panel.shape == (60, 1, 1, 800)
    assert panel.scores[3, 0, 0, 7] == frame.loc[3, "judge 7"]


def test_one_criterion_of_several_is_read_in_units(small_panels: None) -> None:
    frame = many(0.1)
    both = pd.concat([frame.assign(criterion="a"), frame.assign(criterion="b", score=100 - frame["score"])])
    panel = read_panel(both, criteria=("a",))
    np.testing.assert_allclose(means(panel), means(read_panel(frame)), rtol=1e-12)
    np.testing.assert_allclose(means(panel.passes(50)), means(read_panel(frame).passes(50)), rtol=1e-12)


def test_a_text_of_json_is_no_date(tmp_path: Path) -> None:
    B.assign(system=["x", "2026-01-02"] * 36).to_json(tmp_path / "s.jsonl", orient="records", lines=True)
    assert read_panel(tmp_path / "s.jsonl").systems == ("2026-01-02", "x")


def test_side_tables(tmp_path: Path) -> None:
    W.to_csv(tmp_path / "w.csv", index=False)
    assert list(read_table(tmp_path / "w.csv").columns) == list(W.columns)


# --- other engines ---


def test_ibis_on_this_machine() -> None:
    ibis = pytest.importorskip("ibis")
    same(read_panel(ibis.memtable(B)))


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Address of a private server on a Unix socket; nothing listens on the network."""
    pytest.importorskip("psycopg")
    programs = need("postgres")
    folder = Path(tempfile.mkdtemp(prefix="pj", dir="/tmp"))
    as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    if as_user:
        shutil.chown(folder, "postgres", "postgres")

    def run(program: str, *args: str) -> None:
        done = subprocess.run(
            [*as_user, f"{programs}/{program}", *args], capture_output=True, text=True, timeout=120, cwd="/"
        )
        assert done.returncode == 0, done.stderr + done.stdout

    data = str(folder / "data")
    run("initdb", "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C.UTF-8")
    run("pg_ctl", "-D", data, "-w", "-l", str(folder / "log"), "-o", f"-k {folder} -h '' -F", "start")
    try:
        yield f"postgresql://tester@/postgres?host={folder}"
    finally:
        run("pg_ctl", "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.postgres
def test_postgres(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import psycopg

    frame = many(0.1)
    with psycopg.connect(server, autocommit=True) as con, con.cursor() as cursor:
        cursor.execute("CREATE TABLE scores (task text, system text, language text, judge text, score float8)")
        with cursor.copy("COPY scores FROM STDIN") as copy:
            for row in frame.itertuples(index=False, name=None):
                copy.write_row(row)
    same(read_panel(f"{server}::scores"), read_panel(frame))
    monkeypatch.setattr(rows, "MOST_TASKS", 100)
    monkeypatch.setattr(rows, "UNITS", 40)
    np.testing.assert_allclose(read_panel(f"{server}::scores").scores, read_panel(frame).scores, rtol=1e-9)
    with pytest.raises(PolyjudgeError, match="Name the table"):
        read_panel(server)
    with pytest.raises(PolyjudgeError):
        read_panel(f"{server}::nothing")


@pytest.mark.spark
@pytest.mark.slow
def test_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark")
    need("java")
    from pyspark.sql import SparkSession

    from polyjudge.read import write_scores

    os.environ["JDK_JAVA_OPTIONS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    session = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    try:
        frame = many(0.1)
        frame.to_parquet(tmp_path / "s.parquet")
        theirs = session.read.parquet(str(tmp_path / "s.parquet"))
        same(read_panel(theirs), read_panel(frame))
        monkeypatch.setattr(rows, "MOST_TASKS", 100)
        monkeypatch.setattr(rows, "UNITS", 40)
        mine, big_one = read_panel(frame), read_panel(theirs)
        np.testing.assert_allclose(big_one.scores, mine.scores, rtol=1e-9)
        np.testing.assert_array_equal(big_one.unit, mine.unit)
        np.testing.assert_allclose(big_one.passes(50).scores, mine.passes(50).scores, rtol=1e-9)
        subtract = pd.DataFrame(
            [(x, j, 1.5) for x in ("de", "en") for j in "abc"], columns=["language", "judge", "subtract"]
        )
        assert write_scores(theirs, tmp_path / "o.csv", subtract) == (len(frame), 0)
        assert (pd.read_csv(tmp_path / "o.csv").eval("score - calibrated").round(9) == 1.5).all()
    finally:
        session.stop()
