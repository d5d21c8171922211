"""Files of strangers are data: the name that was given is read, views reach nothing, nothing runs or grows for ever."""

from __future__ import annotations

import gzip
import os
import sqlite3
import tracemalloc
import zipfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.panel.budget import budget, parse_memory
from polyjudge.second.panel.errors import PanelError, PolyjudgeError, UsageError
from polyjudge.second.panel.files import matches
from polyjudge.second.panel.labels import clean, redact
from polyjudge.second.panel.reading import Unclear
from polyjudge.second.read import duck, limits
from polyjudge.second.read.writers import write_calibrated
from refusals import refused


@cache
def simulated() -> pd.DataFrame:
    panel, _ = pj.simulate_panel(tasks=5, languages=["en", "de"], judges=["a", "b"], seed=1)
    return panel.to_long()


def frame(add: float = 0.0) -> pd.DataFrame:
    return simulated().assign(score=simulated()["score"] + add)


def mean(source: Any, **options: Any) -> float:
    return float(np.mean(pj.read_panel(source, **options).scores))


# --- the name that was given ---


WRITERS = {
    "csv": lambda t, p: t.to_csv(p, index=False),
    "parquet": lambda t, p: t.to_parquet(p, index=False),
    "jsonl": lambda t, p: t.to_json(p, orient="records", lines=True),
}


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of files that a pattern would find, with other scores."""
    folder = tmp_path_factory.mktemp("others")
    for ending, write in WRITERS.items():
        for other in ("r1", "rx", "a", "y"):
            write(frame(1000), folder / f"{other}.{ending}")
    return folder


@pytest.mark.parametrize("name", ["r[1]", "r*", "r?", "[!x]", "~", "r{1,2}", "a::b", "r\\x"])
@pytest.mark.parametrize("ending", WRITERS)
def test_a_name_that_exists_is_literal(others: Path, monkeypatch: pytest.MonkeyPatch, name: str, ending: str) -> None:
    monkeypatch.chdir(others)
    path = others / f"{name}.{ending}"
    WRITERS[ending](frame(), path)
    wanted = float(frame()["score"].mean())
    try:
        assert mean(str(path)) == pytest.approx(wanted)
        assert mean(path.name) == pytest.approx(wanted)
    finally:
        path.unlink()


def test_a_folder_whose_name_looks_like_a_pattern(tmp_path: Path) -> None:
    for name, add in (("d[1]", 0), ("d1", 1000)):
        (tmp_path / name).mkdir()
        frame(add).to_parquet(tmp_path / name / "x.parquet", index=False)
    assert mean(tmp_path / "d[1]") == pytest.approx(mean(frame()))


def test_a_folder_called_score_is_not_the_score(tmp_path: Path) -> None:
    folder = tmp_path / "score=7"
    folder.mkdir()
    frame().to_parquet(folder / "x.parquet", index=False)
    for source in (tmp_path, folder, folder / "x.parquet", tmp_path / "*" / "*.parquet"):
        assert mean(str(source)) == pytest.approx(mean(frame()))


def test_folders_add_columns_when_asked_for(tmp_path: Path) -> None:
    for language, rows in frame().groupby("language"):
        folder = tmp_path / f"language={language}"
        folder.mkdir()
        rows.drop(columns="language").to_parquet(folder / "x.parquet", index=False)
    with refused(Unclear, "language", "task", "judge", "score"):
        pj.read_panel(tmp_path)
    pattern = "language={language}/*"
    assert mean(tmp_path, language_from=pattern) == pytest.approx(mean(frame()))
    assert mean(str(tmp_path / "*" / "*.parquet"), language_from=pattern) == pytest.approx(mean(frame()))


# --- what never ends ---


def test_a_pattern_of_the_whole_disk_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with refused(UsageError, "no-such-name-*.csv", 0.05):
        matches("/**/no-such-name-*.csv", seconds=0.05)


def test_patterns_match_what_a_shell_matches(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv", ".hidden.csv", "sub/c.csv", "sub/deep/d.csv", ".git/e.csv", "b.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "loop").symlink_to(tmp_path)
    import glob

    for pattern in (
        "*.csv",
        "**/*.csv",
        "[ab].*",
        "sub/*/d.csv",
        "s*/c.csv",
        "**/d.csv",
        "sub/**/*.csv",
        "a.csv",
        "?.csv",
    ):
        found = {str(p) for p in matches(str(tmp_path / pattern))}
        wanted = {p for p in glob.glob(str(tmp_path / pattern), recursive=True) if "/loop/" not in p}
        assert found == wanted, pattern


@pytest.mark.skipif(os.name == "nt", reason="POSIX devices")
@pytest.mark.parametrize("kind", ["pipe", "zero"])
def test_devices_and_pipes_are_refused_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "scores.csv"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    with refused(PanelError, "scores.csv", "pipe"):
        pj.read_panel(path)


def database(path: Path, view: str) -> None:
    """A DuckDB file with a table of scores, a view of them, and a hostile view."""
    con = duckdb.connect(str(path))
    table = frame()
    con.register("rows", table)
    con.execute("CREATE TABLE scores AS SELECT * FROM rows")
    con.execute("CREATE VIEW seen AS SELECT * FROM scores")
    con.execute(f"CREATE VIEW hostile AS {view}")
    con.close()


ENDLESS = (
    "WITH RECURSIVE q(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM q) "
    "SELECT i AS task, i AS language, i AS judge, i AS score FROM q"
)


def test_an_endless_view_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duck, "SECONDS", 0.1)
    database(tmp_path / "x.duckdb", ENDLESS)
    with sqlite3.connect(tmp_path / "x.sqlite") as db:
        db.execute(f"CREATE VIEW hostile AS {ENDLESS}")
    for name in ("x.duckdb::hostile", "x.sqlite::hostile"):
        with refused(PanelError, name.split("::")[0], "0.1 seconds"):
            pj.read_panel(tmp_path / name)


# --- what reaches further ---


@pytest.mark.parametrize(
    "source",
    ["read_csv('SECRET')", "read_text('SECRET')", "read_parquet('SECRET')", "glob('/*')", "'SECRET'"],
)
def test_a_view_reaches_no_other_file(tmp_path: Path, source: str) -> None:
    """The database may come from anybody: reading it must not read anything else."""
    secret = tmp_path / "secret.csv"
    frame().to_csv(secret, index=False)
    frame().to_parquet(tmp_path / "secret.parquet", index=False)
    place = str(secret.with_suffix(".parquet") if "parquet" in source else secret)
    database(tmp_path / "x.duckdb", f"SELECT *, 1 AS extra FROM {source.replace('SECRET', place)}")
    with refused(PanelError, "x.duckdb", "Permission Error"):
        pj.read_panel(tmp_path / "x.duckdb::hostile")


def test_tables_and_views_of_a_database_are_read_and_written(tmp_path: Path) -> None:
    database(tmp_path / "x.duckdb", "SELECT 1 AS a")
    cal = pj.ConsensusCalibrator().fit(pj.read_panel(frame()))
    for source in (f"{tmp_path}/x.duckdb::scores", f"duckdb://{tmp_path}/x.duckdb::seen"):
        assert mean(source) == pytest.approx(mean(frame()))
        write_calibrated(cal, source, tmp_path / "out.csv")
        assert pd.read_csv(tmp_path / "out.csv")["score"].tolist() == pytest.approx(frame()["score"].tolist())


@pytest.mark.parametrize("scheme", ["duckdb", "sqlite", "polars", "csv", "file", "postgre"])
def test_a_mistyped_address_creates_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    monkeypatch.chdir(tmp_path)
    for address in (f"{scheme}://absent.db::scores", f"{scheme}://{tmp_path}/absent.db::scores"):
        with pytest.raises(PolyjudgeError):
            pj.read_panel(address)
    assert os.listdir(tmp_path) == []


def test_the_configuration_is_locked(tmp_path: Path) -> None:
    database(tmp_path / "x.duckdb", "SELECT 1 AS a")
    con = duck.open_file(str(tmp_path / "x.duckdb"), "scores").con
    for statement in ("SET enable_external_access = true", "INSTALL httpfs", f"ATTACH '{tmp_path}/new.duckdb'"):
        with pytest.raises(duckdb.Error):
            con.execute(statement)


def test_sqlite_runs_no_function_with_effects(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "x.sqlite") as db:
        frame().to_sql("scores", db, index=False)
    con = duck._open_sqlite(tmp_path / "x.sqlite")
    assert con.execute("PRAGMA trusted_schema").fetchone() == (0,)
    with pytest.raises(sqlite3.OperationalError):
        con.execute("DELETE FROM scores")
    con.close()
    assert mean(f"{tmp_path}/x.sqlite::scores") == pytest.approx(mean(frame()))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT name AS task, file AS language, 'a' AS judge, seq AS score FROM pragma_database_list",
        "SELECT task, language, judge, effect(score) AS score FROM plain",
    ],
)
def test_a_sqlite_view_calls_nothing_that_its_author_chose(tmp_path: Path, query: str) -> None:
    with sqlite3.connect(tmp_path / "x.sqlite") as db:
        frame().to_sql("plain", db, index=False)
        db.create_function("effect", 1, lambda x: x)
        db.execute(f"CREATE VIEW scores AS {query}")
    called = []
    con = duck._open_sqlite(tmp_path / "x.sqlite")
    con.create_function("effect", 1, called.append)  # as an extension of the system would offer one
    with pytest.raises(sqlite3.Error, match="unsafe use"):
        con.execute("SELECT * FROM scores").fetchall()
    con.close()
    assert not called
    with pytest.raises(PolyjudgeError):
        pj.read_panel(f"{tmp_path}/x.sqlite::scores")


def test_the_spill_folder_is_private() -> None:
    con = duck.connect()
    folder = con.sql("SELECT current_setting('temp_directory')").fetchall()[0][0]
    assert os.stat(folder).st_mode & 0o777 == 0o700
    assert str(os.getpid()) != folder.rpartition("-")[2]


def test_readings_share_an_engine_and_see_nothing_of_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = duck.connect(1), duck.connect(1)
    assert list(duck._engine) == [duck._memory()]
    one.execute("CREATE TEMP TABLE spooled AS SELECT 1 AS a")
    one.execute("CREATE TEMP TYPE language_codes AS ENUM ('a')")
    for query in ("FROM spooled", "SELECT 'a'::language_codes"):
        with pytest.raises(duckdb.Error):
            other.execute(query)
    monkeypatch.setenv("POLYJUDGE_MEMORY", "512MB")
    (limit,) = duck.connect(1).execute("SELECT current_setting('memory_limit')").fetchall()[0]
    assert limit == "384.0 MiB"
    assert one.execute("SELECT a FROM spooled").fetchall() == [(1,)]


def test_an_engine_that_failed_is_replaced() -> None:
    duck.connect(1)
    (engine,) = duck._engine.values()
    engine.close()
    assert duck.connect(1).execute("SELECT 1").fetchall() == [(1,)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes of this kind")
def test_a_forked_process_reads(recwarn: pytest.WarningsRecorder) -> None:
    wanted = mean(frame())
    child = os.fork()
    if child == 0:
        os._exit(int(bool(duck._engine) or mean(frame()) != wanted))
    assert os.waitpid(child, 0)[1] == 0


# --- what grows ---


def test_a_bomb_behind_honest_rows_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "scores.csv.gz"
    assert limits.WINDOW == 1 << 20
    monkeypatch.setattr(limits, "WINDOW", 1 << 16)
    honest = frame().to_csv(index=False).encode() + os.urandom(3 << 16).hex().encode()
    with path.open("wb") as file:
        file.write(gzip.compress(honest))
        file.write(gzip.compress(b"a" * (300 << 16), 9))
    with refused(PanelError, "scores.csv.gz", 200):
        pj.read_panel(path)


@pytest.mark.slow
def test_a_log_that_explodes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one whose parts are larger than they say: it is read in a process that may not take more than the budget."""
    if not find_spec("inspect_ai"):  # only the process that reads needs to load it
        pytest.skip("needs inspect-ai")
    path = tmp_path / "bomb.eval"
    large = b'{"a": "' + b"x" * (300 << 20) + b'"}'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("header.json", large)
    monkeypatch.setenv("POLYJUDGE_MEMORY", "512MB")
    path.write_bytes(path.read_bytes().replace(len(large).to_bytes(4, "little"), (1000).to_bytes(4, "little")))
    with refused(PanelError, "bomb.eval"):
        pj.read_panel(path)


def test_long_labels_are_refused(tmp_path: Path) -> None:
    table = frame()
    for axis in ("task", "language", "judge"):
        with refused(PanelError, axis, 5000, f"--{axis}"):
            pj.read_panel(table.assign(**{axis: table[axis].where(table[axis] != table[axis].iloc[0], "x" * 5000)}))


def test_cleaning_a_long_text_reads_its_beginning_alone() -> None:
    text = "\x00" * 50_000_000
    tracemalloc.start()
    try:
        assert len(clean(text)) == 60
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("score", [1e31, 1e100, -1e200, 1e308])
def test_scores_beyond_every_scale_are_refused(score: float) -> None:
    table = frame()
    table.loc[0, "score"] = score
    with refused(PanelError, f"{abs(score):g}"):
        pj.read_panel(table)
    with refused(UsageError, "range", f"{abs(score):g}"):
        pj.read_panel(frame(), range=(0, abs(score)))


# --- words ---


@pytest.mark.parametrize(
    "text",
    ["cannot reach postgres://me:p@ss@host/db", "pwd=hunter2@x;host=h", "private_key=hunter2 and more",
     "PASSWORD = hunter2", "sslpassword=hunter2&x=1", "api_key=hunter2", "postgres://u:a/b@hunter2@host/d"],
)  # fmt: skip
def test_passwords_are_left_out(text: str) -> None:
    said = redact(text)
    assert "hunter2" not in said
    assert "p@ss" not in said


def test_memory_is_what_the_user_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POLYJUDGE_MEMORY", raising=False)
    assert budget() >= 256 << 20
    monkeypatch.setenv("POLYJUDGE_MEMORY", "2GB")
    assert budget() == 2 << 30
    for text in ("", "4 apples", "-1GB", "1", "9" * 400 + "GB"):
        with refused(UsageError, "256MB"):
            parse_memory(text)
