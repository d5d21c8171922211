"""The same panel from a table of a real PostgreSQL server, started for the test in a folder of its own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from conftest import need
from polyjudge.second.panel.errors import PanelError, UsageError
from refusals import refused

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Address of a private server on a Unix socket; nothing listens on the network."""
    programs = need("postgres")
    # A short path: a socket's path may have about 100 characters.
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


@pytest.fixture(scope="module")
def long() -> pd.DataFrame:
    panel, _ = pj.simulate_panel(tasks=80, languages=["fr", "de", "en"], judges=["B", "A"], replicates=2, seed=3)
    return panel.to_long()


@pytest.fixture(scope="module")
def filled(server: str, long: pd.DataFrame) -> str:
    import psycopg

    with psycopg.connect(server) as con, con.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE scores (task text, language text, judge text, replicate text, score double precision)"
        )
        with cursor.copy("COPY scores FROM STDIN") as copy:
            for row in long[["task", "language", "judge", "replicate", "score"]].itertuples(index=False):
                copy.write_row(tuple(row))
        cursor.execute("CREATE TABLE odd AS SELECT task, language, judge, replicate, score::text FROM scores")
        cursor.execute("UPDATE odd SET score = 'abc' WHERE task = 'task05' AND language = 'de' AND judge = 'A'")
        cursor.execute(
            "CREATE TABLE doubled AS SELECT * FROM scores UNION ALL SELECT * FROM scores WHERE task = 'task07'"
        )
    return server


def table(server: str, name: str) -> Any:
    import ibis

    return ibis.connect(server).table(name)


@pytest.mark.parametrize("max_units", [1000, 20])
def test_postgres_and_duckdb_give_the_same_panel(filled: str, long: pd.DataFrame, max_units: int) -> None:
    mine = pj.read_panel(long, max_units=max_units)
    for source in (f"{filled}::scores", table(filled, "scores")):
        theirs = pj.read_panel(source, max_units=max_units)
        assert theirs.languages == ("de", "en", "fr")
        theirs = theirs.select(mine.tasks, mine.languages, mine.judges, mine.replicates)
        np.testing.assert_array_equal(theirs.weights, mine.weights)
        np.testing.assert_allclose(theirs.scores, mine.scores, rtol=1e-13)


def test_bad_input(filled: str) -> None:
    with refused(PanelError, "score", 2, "task task05, language de, judge A", "abc", "--map"):
        pj.read_panel(f"{filled}::odd")
    for max_units in (1000, 20):
        with refused(PanelError, "task07, de, A, replicate1 (2 rows)", "--duplicates"):
            pj.read_panel(f"{filled}::doubled", max_units=max_units)
    assert pj.read_panel(f"{filled}::doubled", duplicates="mean").n_scores == 80 * 12 + 12
    with refused(UsageError, "ADDRESS::TABLE"):
        pj.read_panel(filled)
    with refused(PanelError, "nothing"):
        pj.read_panel(f"{filled}::nothing")
    with refused(UsageError, "duplicates='first'"):
        pj.read_panel(f"{filled}::doubled", duplicates="first")


def test_numbers_as_labels_are_the_same_everywhere(filled: str, long: pd.DataFrame) -> None:
    import psycopg

    with psycopg.connect(filled) as con, con.cursor() as cursor:
        for kind in ("float8", "float4", "numeric(12, 2)"):
            name = kind[:7].replace("(", "")
            cursor.execute(
                f"CREATE TABLE by_{name} AS SELECT substr(task, 5)::{kind} AS task, language, judge, replicate, score "
                "FROM scores"
            )
        cursor.execute(
            "CREATE TABLE lost AS SELECT task + 9007199254740992 AS task, language, judge, score FROM by_float8"
        )
    want = sorted(str(int(task[4:])) for task in set(long["task"]))
    for name in ("float8", "float4", "numeric"):
        assert sorted(pj.read_panel(f"{filled}::by_{name}").tasks) == want
    with refused(PanelError, "task", "2^53"):
        pj.read_panel(f"{filled}::lost")


def test_the_password_is_not_shown() -> None:
    with pytest.raises(PanelError) as caught:
        pj.read_panel("postgresql://me:secret-word@127.0.0.1:1/db::scores")
    assert "secret-word" not in str(caught.value)


def test_apply_from_a_table(filled: str, long: pd.DataFrame, tmp_path: Path) -> None:
    from polyjudge.second.read.writers import write_calibrated

    panel = pj.read_panel(long)
    cal = pj.ConsensusCalibrator().fit(panel)
    done = write_calibrated(cal, f"{filled}::scores", tmp_path / "out.parquet")
    assert done.rows == len(long)
    back = pj.read_panel(tmp_path / "out.parquet", score="calibrated").select(
        panel.tasks, panel.languages, panel.judges
    )
    np.testing.assert_array_equal(back.replicate_scores, cal.transform(panel).replicate_scores)
    lazy = cal.apply(table(filled, "scores")).to_pandas().set_index(["task", "language", "judge", "replicate"])
    wanted = cal.apply(long).set_index(["task", "language", "judge", "replicate"])
    np.testing.assert_array_equal(lazy["calibrated"].loc[wanted.index], wanted["calibrated"])


def test_a_session_only_reads(filled: str) -> None:
    """Whatever runs in it, a database that scores are read from stays as it is."""
    from polyjudge.second.read import warehouse

    held = warehouse.open_foreign(f"{filled}::scores", None)
    con = held._find_backend().con
    with pytest.raises(Exception, match="read-only"), con.cursor() as cursor:
        cursor.execute("DELETE FROM scores")
    con.rollback()


def test_a_view_that_writes_does_not(filled: str) -> None:
    """It switches the session's setting off at the first reading, to write at the next."""
    import psycopg

    with psycopg.connect(filled, autocommit=True) as con:
        con.execute("CREATE TABLE victims (x int)")
        con.execute(
            "CREATE FUNCTION evil() RETURNS text LANGUAGE plpgsql AS $$ BEGIN "
            "PERFORM set_config('default_transaction_read_only', 'off', false); "
            "BEGIN PERFORM set_config('transaction_read_only', 'off', true); EXCEPTION WHEN OTHERS THEN NULL; END; "
            "BEGIN INSERT INTO victims VALUES (1); EXCEPTION WHEN OTHERS THEN NULL; END; RETURN 'x'; END $$"
        )
        con.execute(
            "CREATE VIEW trap AS SELECT task, language, judge, score, evil() AS e FROM scores WHERE evil() = 'x'"
        )
        with suppress(pj.PolyjudgeError):
            pj.read_panel(f"{filled}::trap", system="")
        assert con.execute("SELECT count(*) FROM victims").fetchone() == (0,)
        con.execute("DROP VIEW trap")
        con.execute("DROP TABLE victims")


def test_a_table_beside_the_source(filled: str, long: pd.DataFrame) -> None:
    """Made on the server in one transaction; the source and the tables of others stay."""
    import psycopg

    from polyjudge.second.read.writers import write_calibrated

    panel = pj.read_panel(long)
    cal = pj.ConsensusCalibrator().fit(panel)
    done = write_calibrated(cal, f"{filled}::scores", "::")
    assert done.path.endswith("::scores_calibrated")
    assert (done.rows, done.missing) == (len(long), 0)
    back = pj.read_panel(f"{filled}::scores_calibrated", score="calibrated").select(
        panel.tasks, panel.languages, panel.judges
    )
    np.testing.assert_allclose(back.scores, cal.transform(panel).scores, rtol=1e-12)
    with refused(UsageError, "scores_calibrated", "--overwrite"):
        write_calibrated(cal, f"{filled}::scores", f"{filled}::scores_calibrated")
    write_calibrated(cal, f"{filled}::public.scores", "::", overwrite=True)
    for name, word in (("scores", "read"), ("odd", "write")):
        with refused(UsageError, name, "-o ::NAME", word):
            write_calibrated(cal, f"{filled}::scores", f"::{name}", overwrite=True)
    with refused(PanelError, "score", "abc", "--map"):
        write_calibrated(cal, f"{filled}::odd", "::new")
    with refused(UsageError, "server"):
        write_calibrated(cal, f"{filled}::odd", "::new", map="abc=")
    with psycopg.connect(filled) as con, con.cursor() as cursor:
        cursor.execute("SELECT to_regclass('new'), (SELECT count(*) FROM scores), (SELECT count(*) FROM odd)")
        assert cursor.fetchone() == (None, len(long), len(long))


def test_readings_that_only_our_engine_can_do(filled: str, long: pd.DataFrame, tmp_path: Path) -> None:
    """Words, wide tables and labels inside others: the rows are copied out and read as files are."""
    import psycopg

    from polyjudge.second.read.writers import write_calibrated

    wide = long[long["replicate"] == long["replicate"].iloc[0]].pivot(
        index=["task", "language"], columns="judge", values="score"
    )
    with psycopg.connect(filled) as con, con.cursor() as cursor:
        cursor.execute("CREATE TABLE wide (task text, place text, a_points float8, b_points float8)")
        for (task, language), row in wide.iterrows():
            cursor.execute("INSERT INTO wide VALUES (%s, %s, %s, %s)", (task, f"eu/{language}", row["A"], row["B"]))
    options: dict[str, Any] = {"wide": "{judge}_points", "language_from": "place:eu/{language}"}
    panel = pj.read_panel(f"{filled}::wide", **options)
    assert (panel.languages, panel.judges) == (("de", "en", "fr"), ("a", "b"))
    assert "panel.copied" in [note.code for note in panel.notes]
    np.testing.assert_array_equal(panel.cell_means, pj.read_panel(table(filled, "wide"), **options).cell_means)
    done = write_calibrated(pj.ConsensusCalibrator().fit(panel), f"{filled}::wide", tmp_path / "out.csv", **options)
    assert (done.rows, done.missing) == (len(wide), 0)
    assert list(pd.read_csv(tmp_path / "out.csv").columns[-2:]) == ["a_points_calibrated", "b_points_calibrated"]
    odd = pj.read_panel(f"{filled}::odd", map={"abc": None})
    assert odd.n_scores == len(long) - 2
    with refused(UsageError, "--format"):
        pj.read_panel(f"{filled}::scores", format="inspect")


@pytest.mark.parametrize("password", ["s@cr/et", "sec#ret?x", "pa ss:wo", "50%off@", "plain%40x"])
def test_no_part_of_a_password_is_shown(password: str) -> None:
    """Nobody listens there. A raw sign in the password once made a part of it the host, which the message named."""
    with pytest.raises(pj.PolyjudgeError) as caught:
        pj.read_panel(f"postgres://me:{password}@127.0.0.1:1/db::t")
    message = str(caught.value)
    assert "127.0.0.1" in message
    for part in re.split("[@/#?:% ]", password):
        assert not part or part not in message.split("127.0.0.1")[0].split()
        assert f"'{part}'" not in message
