"""Reading panels: every source gives the same panel, and every bad input its own clear error."""

from __future__ import annotations

import gzip
import json
import re
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import polyjudge.second as pj
from polyjudge.second.panel.columns import find_columns
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.reading import Unclear
from refusals import lacks, refused

HEADER = "task,language,judge,score\n"


@pytest.fixture(scope="module")
def long() -> pd.DataFrame:
    panel, _ = pj.simulate_panel(tasks=7, languages=["en", "de", "fr"], judges=["B", "A"], replicates=2, seed=3)
    frame = panel.to_long()
    frame["note"] = "x"
    return frame.sample(frac=1, random_state=5, ignore_index=True)


@pytest.fixture(scope="module")
def expected(long: pd.DataFrame) -> pj.Panel:
    return pj.read_panel(long)


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def rows(tasks: str = "ab", languages: tuple[str, ...] = ("en", "de"), judges: str = "xy") -> str:
    triples = [(t, lang, j) for t in tasks for lang in languages for j in judges]
    return "".join(f"{t},{lang},{j},{i}\n" for i, (t, lang, j) in enumerate(triples))


# --- sources ---


def in_duckdb(frame: pd.DataFrame, path: Path) -> str:
    with duckdb.connect(str(path / "s.duckdb")) as con:
        con.register("frame", pa.Table.from_pandas(frame))
        con.execute("CREATE TABLE scores AS SELECT * FROM frame")
        con.execute("CREATE TABLE other AS SELECT 1 AS x")
    return f"{path / 's.duckdb'}::scores"


def in_sqlite(frame: pd.DataFrame, path: Path) -> str:
    with sqlite3.connect(path / "s.sqlite") as db:
        frame.to_sql("scores", db, index=False)
    return str(path / "s.sqlite")


def in_gz(frame: pd.DataFrame, path: Path) -> Path:
    with gzip.open(path / "s.csv.gz", "wt", encoding="utf-8", newline="") as file:
        frame.to_csv(file, index=False)
    return path / "s.csv.gz"


def in_many(frame: pd.DataFrame, path: Path, suffix: str) -> str:
    for i, part in enumerate(np.array_split(np.arange(len(frame)), 3)):
        name = path / f"part{i}.{suffix}"
        chunk = frame.iloc[part]
        chunk.to_parquet(name) if suffix == "parquet" else chunk.to_csv(name, index=False)
    return str(path / f"part*.{suffix}")


def saved(frame: pd.DataFrame, path: Path, how: str, **options: Any) -> Path:
    getattr(frame, how)(path, **options)
    return path


SOURCES: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "csv": lambda f, p: saved(f, p / "s.csv", "to_csv", index=False),
    "tsv": lambda f, p: saved(f, p / "s.tsv", "to_csv", index=False, sep="\t"),
    "semicolons": lambda f, p: saved(f, p / "s.csv", "to_csv", index=False, sep=";"),
    "csv with BOM and CRLF": lambda f, p: saved(
        f, p / "s.csv", "to_csv", index=False, encoding="utf-8-sig", lineterminator="\r\n"
    ),
    "csv.gz": in_gz,
    "csv files": lambda f, p: in_many(f, p, "csv"),
    "parquet": lambda f, p: saved(f, p / "s.parquet", "to_parquet"),
    "parquet files": lambda f, p: in_many(f, p, "parquet"),
    "jsonl": lambda f, p: saved(f, p / "s.jsonl", "to_json", orient="records", lines=True, double_precision=15),
    "json": lambda f, p: saved(f, p / "s.json", "to_json", orient="records", double_precision=15),
    "duckdb": in_duckdb,
    "sqlite": in_sqlite,
    "pandas": lambda f, p: f,
    "pandas categories": lambda f, p: f.astype({"judge": "category", "language": "category"}),
    "polars": lambda f, p: pl.from_pandas(f),
    "polars lazy": lambda f, p: pl.from_pandas(f).lazy(),
    "pyarrow": lambda f, p: pa.Table.from_pandas(f),
    "ibis memtable": lambda f, p: ibis.memtable(f),
    "ibis sqlite": lambda f, p: ibis.sqlite.connect(in_sqlite(f, p)).table("scores"),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_gives_the_same_panel(kind: str, long: pd.DataFrame, expected: pj.Panel, tmp_path: Path) -> None:
    panel = pj.read_panel(SOURCES[kind](long, tmp_path))
    assert panel.tasks == expected.tasks
    assert panel.languages == expected.languages
    assert panel.judges == expected.judges
    assert panel.replicates == expected.replicates
    assert panel.replicate_scores is not None
    tolerance = 1e-13 if "json" in kind else 0  # pandas writes JSON with 15 digits
    np.testing.assert_allclose(panel.replicate_scores, expected.replicate_scores, rtol=tolerance, atol=0)


def test_labels_keep_the_order_of_first_appearance(long: pd.DataFrame, expected: pj.Panel) -> None:
    for axis, labels in (("task", expected.tasks), ("language", expected.languages), ("judge", expected.judges)):
        assert labels == tuple(dict.fromkeys(long[axis]))


def test_an_engine_without_row_order_sorts_labels(long: pd.DataFrame, expected: pj.Panel, tmp_path: Path) -> None:
    table = ibis.duckdb.connect(in_duckdb(long, tmp_path).split("::")[0]).table("scores")
    panel = pj.read_panel(table)
    assert panel.languages == ("de", "en", "fr")
    assert panel.tasks == tuple(sorted(expected.tasks))
    same = panel.select(expected.tasks, expected.languages, expected.judges, expected.replicates)
    assert same.fingerprint == expected.fingerprint


def test_a_given_order_selects_and_orders(long: pd.DataFrame, expected: pj.Panel) -> None:
    panel = pj.read_panel(long, languages=["fr", "en"], judges=["A", "B"])
    assert panel.languages == ("fr", "en")
    np.testing.assert_array_equal(panel.scores, expected.select(panel.tasks, ["fr", "en"], ["A", "B"]).scores)
    assert {"count": 1, "all": 3, "axis": "language"} in [n.values for n in panel.notes]
    with refused(PanelError, "xx", "de, en, fr"):
        pj.read_panel(long, languages=["xx", "en"])


def test_panel_to_long_and_back(expected: pj.Panel) -> None:
    assert pj.read_panel(expected.to_long()).fingerprint == expected.fingerprint


def test_devai_interaction_is_the_published_one(devai: pj.Panel, published: dict[str, Any]) -> None:
    cal = pj.ConsensusCalibrator().fit(devai)
    reference = pd.DataFrame(published["beta_hat"]).T.loc[list(devai.languages), list(devai.judges)]
    np.testing.assert_allclose(cal.interaction_.to_numpy(), reference, rtol=0, atol=1e-9)


# --- groups, replicates, duplicates, incomplete ---


def test_groups_of_tasks_and_of_rows(expected: pj.Panel) -> None:
    frame = expected.to_long()
    frame["kind"] = np.where(frame["task"].isin(expected.tasks[:3]), "hard", "easy")
    grouped = pj.read_panel(frame, group="kind")
    assert grouped.grouping is not None
    assert grouped.grouping.task is not None
    assert grouped.slice("hard").tasks == expected.tasks[:3]
    parts = pd.concat([frame.assign(kind="a"), frame.assign(kind="b", score=frame["score"] + 1)])
    rows_grouped = pj.read_panel(parts, group="kind")
    assert rows_grouped.grouping is not None
    assert rows_grouped.grouping.task is None
    np.testing.assert_allclose(rows_grouped.slice("b").scores, expected.scores + 1)
    for panel in (grouped, rows_grouped):  # a part of what was collected until it was settled is that too
        assert [replace(panel, looks=3).slice(g).looks for g in panel.grouping.labels] == [3, 3]  # type: ignore[union-attr]
    np.testing.assert_allclose(rows_grouped.scores, expected.scores + 0.5)


def test_groups_survive_hashing(expected: pj.Panel) -> None:
    frame = expected.to_long()
    frame["kind"] = np.where(frame["task"].isin(expected.tasks[:3]), "hard", "easy")
    panel = pj.read_panel(frame, group="kind", max_units=4)
    assert panel.grouping is not None
    hard = panel.slice("hard")
    assert hard.n_tasks == 3
    np.testing.assert_allclose(hard.cell_means, expected.select(expected.tasks[:3]).cell_means)


DOUBLED = HEADER + rows() + "a,en,x,100\n"


def test_duplicates(tmp_path: Path) -> None:
    path = write(tmp_path / "s.csv", DOUBLED)
    with refused(PanelError, "s.csv", "a, en, x (2 rows)", "--duplicates"):
        pj.read_panel(path)
    mean = pj.read_panel(path, duplicates="mean")
    assert mean.scores[0, 0, 0] == 50
    assert mean.counts[0, 0, 0] == 2
    assert "panel.averaged" in [n.code for n in mean.notes]
    first = pj.read_panel(path, duplicates="first")
    assert first.scores[0, 0, 0] == 0
    assert "panel.first-kept" in [n.code for n in first.notes]
    with refused(UsageError, "duplicates", "last", "first"):
        pj.read_panel(path, duplicates="last")  # type: ignore[arg-type]


def test_incomplete(tmp_path: Path) -> None:
    lines = rows("abcd").splitlines(keepends=True)
    path = write(tmp_path / "s.csv", HEADER + "".join(lines[1:]).replace("b,de,y,7", "b,de,y,"))
    panel = pj.read_panel(path)
    assert not panel.complete
    assert int(np.isnan(panel.scores).sum()) == 2
    assert ("panel.no-score", {"count": 1}) in [(n.code, n.values) for n in panel.notes]
    with refused(PanelError, "de x y", 1, 4, 2, 16):
        pj.read_panel(path, incomplete="error")
    dropped = pj.read_panel(path, incomplete="drop")
    assert set(dropped.tasks) == {"c", "d"}
    assert ("panel.dropped", 2, 4) in [(n.code, n.values["count"], n.values.get("tasks")) for n in dropped.notes]


# --- units ---


def test_hashed_units_keep_cell_means_and_count_tasks(tmp_path: Path) -> None:
    panel, _ = pj.simulate_panel(tasks=500, languages=3, judges=4, seed=1)
    path = tmp_path / "s.parquet"
    panel.to_long().to_parquet(path)
    units = pj.read_panel(path, max_units=40)
    assert units.shape == (40, 3, 4)
    assert units.n_tasks == 500
    np.testing.assert_allclose(units.cell_means, panel.cell_means, atol=1e-11)
    import hashlib

    place = [int(hashlib.md5(t.encode()).hexdigest()[:8], 16) % 40 for t in panel.tasks]
    np.testing.assert_array_equal(units.weights, np.bincount(place, minlength=40))
    other = pj.read_panel(ibis.duckdb.connect().read_parquet(path), max_units=40)
    np.testing.assert_allclose(
        other.select(judges=units.judges, languages=units.languages).scores, units.scores, rtol=1e-13
    )


@pytest.mark.parametrize("through", ["file", "ibis"])
def test_hashed_units_find_a_duplicate_beside_a_hole(tmp_path: Path, through: str) -> None:
    """The counts agree when a task stands twice and another is missing; the checksum does not."""
    panel, _ = pj.simulate_panel(tasks=60, languages=2, judges=2, seed=1)
    frame = panel.to_long()
    units = pj.read_panel(frame, max_units=3)
    assert units.n_tasks == 60
    import hashlib

    unit = [int(hashlib.md5(t.encode()).hexdigest()[:8], 16) % 3 for t in panel.tasks]
    a, b = (panel.tasks[i] for i in np.flatnonzero(np.array(unit) == 0)[:2])
    hole = (frame["task"] == a) & (frame["language"] == "language1") & (frame["judge"] == "judge1")
    frame.loc[hole, "task"] = b
    path = tmp_path / "s.parquet"
    frame.to_parquet(path)
    source: Any = path if through == "file" else ibis.duckdb.connect().read_parquet(path)
    with refused(PanelError, f"{b}, language1, judge1 (2 rows)"):
        pj.read_panel(source, max_units=3)
    mean = pj.read_panel(source, max_units=3, duplicates="mean")
    assert mean.n_tasks == 59
    assert ("panel.dropped", 1) in [(n.code, n.values.get("count")) for n in mean.notes]
    with refused(PanelError, "incomplete", "--incomplete drop"):
        pj.read_panel(frame[~hole], max_units=3, incomplete="error")


# --- bad input ---

BAD: dict[str, tuple[str | bytes, dict[str, Any], tuple[object, ...]]] = {
    "missing column": (
        "item,language,score\na,en,1\n",
        {},
        (Unclear, "s.csv", "judge", "item", "--judge NAME", "--judges NAME"),
    ),
    "ambiguous column": (
        "task,language,backbone,evaluator,score\na,en,x,y,1\n",
        {},
        (Unclear, "s.csv", "--judge backbone", "--judge evaluator"),
    ),
    "named column absent": (HEADER + rows(), {"judge": "who"}, ("who", "judge", "'task', 'language'")),
    "one column twice": (HEADER + rows(), {"judge": "language", "language": "language"}, ("language", "judge", "both")),
    "two columns of one name": ("task,language,judge,score,score\na,en,x,1,2\n", {}, ("s.csv", "score", "two")),
    "text score": (
        HEADER + rows() + "c,en,x,abc\nc,en,y,so\n",
        {},
        ("s.csv", "score", "line 10", "abc", "line 11", "so"),
    ),
    "comma that may divide thousands": (
        "task;language;judge;score\na;en;x;1,500\n",
        {},
        ("s.csv", "score", "--decimal comma"),
    ),
    "infinite score": (HEADER + rows() + "c,en,x,-inf\n", {}, ("s.csv", "line 10", "-inf")),
    "one task": (HEADER + rows(tasks="a"), {}, ("task", 2, 1, "a")),
    "outside the range": (HEADER + rows(), {"range": (0, 5)}, ("s.csv", "0:5", "line 8", 6, "line 9", 7, "--range")),
    "range upside down": (HEADER + rows(), {"range": (5, 0)}, (UsageError, "range", (5, 0))),
    "empty file": ("", {}, ("s.csv", "empty")),
    "blank file": ("\n\n", {}, ("s.csv", "empty")),
    "header only": (HEADER, {}, ("s.csv", "rows")),
    "no score at all": (HEADER + "a,en,x,\nb,en,x,\n", {}, ("s.csv", "score", "empty")),
    "no label": (HEADER + rows() + "c,,x,1\n", {}, ("s.csv", "line 10", "label")),
    "not UTF-8": (HEADER.encode() + b"t\xe9,en,x,1\n", {}, ("s.csv", "line 2", "UTF-8")),
    "not UTF-8 in the header": ("tâsk,language,judge,score\n".encode("latin-1"), {}, ("s.csv", "line 1", "UTF-8")),
    "UTF-16": ((HEADER + rows()).encode("utf-16"), {}, ("s.csv", "UTF-16")),
    "too many fields": (HEADER + rows() + "c,en,x,1,2\n", {}, ("s.csv", "line 10", 5, 4)),
    "too few fields": (HEADER + rows() + "c,en\n", {}, ("s.csv", "line 10", 2, 4)),
    "open quote": (HEADER + '"c,en,x,1\n' + rows(), {}, ("s.csv", "line 2", "quote")),
    "mixed line ends": (HEADER + "a,en,x,1\r\nb,en,x,2\nb,en,y,2\n", {}, ("s.csv", "line ends")),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_has_its_own_error(case: str, tmp_path: Path) -> None:
    text, options, named = BAD[case]
    kind, named = (named[0], named[1:]) if isinstance(named[0], type) else (PanelError, named)
    with refused(kind, *named) as error:
        pj.read_panel(write(tmp_path / "s.csv", text), **options)
    assert "\n\n" not in error.message


def test_bad_files(tmp_path: Path) -> None:
    with refused(PanelError, "absent.csv"):
        pj.read_panel(tmp_path / "absent.csv")
    with refused(PanelError, "*.csv"):
        pj.read_panel(str(tmp_path / "*.csv"))
    with refused(PanelError, "s.parquet", "bytes"):
        pj.read_panel(write(tmp_path / "s.parquet", "not parquet at all"))
    (tmp_path / "folder").mkdir()
    with refused(PanelError, "folder", "*.csv"):
        pj.read_panel(tmp_path / "folder")
    write(tmp_path / "a.csv", HEADER + rows())
    write(tmp_path / "b.jsonl", "{}")
    with refused(PanelError, "[ab].*", "csv, json"):
        pj.read_panel(str(tmp_path / "[ab].*"))
    with refused(PanelError, "c.jsonl", "line 3", "byte 10"):
        pj.read_panel(write(tmp_path / "c.jsonl", '{"task":"t","score":1}\n{"task":\n'))
    with refused(UsageError, "int"):
        pj.read_panel(3)
    with refused(PanelError, "d.csv.gz", "gzip"):
        pj.read_panel(write(tmp_path / "d.csv.gz", b"\x1f\x8b\x08broken"))


def test_truncated_parquet_is_an_error(tmp_path: Path, long: pd.DataFrame) -> None:
    path = tmp_path / "s.parquet"
    long.to_parquet(path)
    write(path, path.read_bytes()[:-20])
    with refused(PanelError, "s.parquet"):
        pj.read_panel(path)


def test_databases(tmp_path: Path, long: pd.DataFrame) -> None:
    name = in_duckdb(long, tmp_path).split("::")[0]
    with refused(PanelError, "s.duckdb", 2, "other, scores", "FILE::TABLE"):
        pj.read_panel(name)
    with refused(PanelError, "nothing", "other, scores"):
        pj.read_panel(name, table="nothing")
    with sqlite3.connect(tmp_path / "odd.sqlite") as db:
        long.to_sql("scores", db, index=False)
        db.execute("UPDATE scores SET score = 'abc' WHERE rowid = 4")
    with refused(PanelError, "odd.sqlite", "row 4", "abc"):
        pj.read_panel(tmp_path / "odd.sqlite")


def test_frames_with_odd_values(long: pd.DataFrame) -> None:
    text = long.astype({"score": object})
    text.loc[2, "score"] = "abc"
    with refused(PanelError, "score", "row 3", "abc"):
        pj.read_panel(text)
    with refused(PanelError, "row 5", "inf"):
        pj.read_panel(long.assign(score=long["score"].where(long.index != 4, np.inf)))
    with refused(PanelError, "row 5", "nan"):
        pj.read_panel(
            pl.DataFrame(long).with_columns(
                score=pl.when(pl.arange(pl.len()) == 4).then(float("nan")).otherwise("score")
            )
        )
    with refused(PanelError, "score", "timestamp"):
        pj.read_panel(long.assign(score=pd.Timestamp("2024-01-01")))
    missing = pj.read_panel(long.assign(score=long["score"].where(long.index != 4)))
    assert ("panel.no-score", {"count": 1}) in [(n.code, n.values) for n in missing.notes]
    with refused(PanelError, "score", "two"):
        pj.read_panel(pd.concat([long, long[["score"]]], axis=1))


def test_a_column_that_changes_type_between_files(tmp_path: Path, long: pd.DataFrame) -> None:
    long.iloc[:40].to_parquet(tmp_path / "p1.parquet")
    long.iloc[40:].astype({"score": str}).to_parquet(tmp_path / "p2.parquet")
    with refused(PanelError, "score", "p1.parquet", "p2.parquet"):
        pj.read_panel(str(tmp_path / "p*.parquet"))


def test_whole_numbers_in_one_file_and_fractions_in_the_next_are_not_rounded(tmp_path: Path) -> None:
    frame = pj.simulate_panel(tasks=4, languages=2, judges=2, seed=0)[0].to_long()
    first, second = frame.iloc[:8].copy(), frame.iloc[8:]
    first["score"] = first["score"].round().astype("int64")
    first.to_parquet(tmp_path / "p1.parquet")
    second.to_parquet(tmp_path / "p2.parquet")
    panel = pj.read_panel(str(tmp_path / "p*.parquet"))
    np.testing.assert_array_equal(panel.scores.ravel()[8:], second["score"])


def test_files_with_other_columns_or_encodings(tmp_path: Path) -> None:
    write(tmp_path / "a1.csv", HEADER + rows())
    write(tmp_path / "a2.csv", "task,language,judge,value\n" + rows("cd"))
    with refused(PanelError, "a1.csv", "a2.csv", "score"):
        pj.read_panel(str(tmp_path / "a*.csv"))
    write(tmp_path / "b1.csv", HEADER + rows())
    write(tmp_path / "b2.csv", HEADER.encode() + "é,en,x,1\n".encode("latin-1"))
    with refused(PanelError, "b*.csv", "line 2", "UTF-8"):
        pj.read_panel(str(tmp_path / "b*.csv"))


def test_a_file_that_changes_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from polyjudge.second.read.duck_engine import DuckEngine

    path = tmp_path / "s.parquet"
    frame = pj.simulate_panel(tasks=4, languages=2, judges=2, seed=0)[0].to_long()
    frame.to_parquet(path)
    tasks = DuckEngine.tasks

    def grow(self: DuckEngine, labels: Any) -> Any:
        with path.open("ab") as file:
            file.write(b"more")
        return tasks(self, labels)

    monkeypatch.setattr(DuckEngine, "tasks", grow)
    with refused(PanelError, "s.parquet"):
        pj.read_panel(path)


def test_a_table_that_grows_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from polyjudge.second.read.ibis_engine import IbisEngine

    frame = pj.simulate_panel(tasks=4, languages=2, judges=2, seed=0)[0].to_long()
    con = ibis.duckdb.connect(in_duckdb(frame, tmp_path).split("::")[0])
    tasks = IbisEngine.tasks

    def grow(self: IbisEngine, labels: Any) -> Any:
        con.raw_sql("INSERT INTO scores SELECT * REPLACE ('late' AS task) FROM scores WHERE task = 'task1'")
        return tasks(self, labels)

    monkeypatch.setattr(IbisEngine, "tasks", grow)
    with refused(PanelError, "grew"):
        pj.read_panel(con.table("scores"))


def test_labels_that_look_alike_are_refused_unless_they_are_listed(tmp_path: Path) -> None:
    """Kept apart, the scores of one language would be torn into two, each with half of its judges."""
    path = write(tmp_path / "s.csv", HEADER + rows(languages=("English", "english ", "de")))
    with refused(Unclear, "s.csv", "English", "english", "--alike same", "--alike different"):
        pj.read_panel(path)
    wanted = ("English", "english ", "de")
    assert pj.read_panel(path, languages=wanted).languages == wanted
    assert pj.read_panel(path, alike="different").languages == wanted


def test_long_and_right_to_left_labels_stay_intact(tmp_path: Path) -> None:
    names = ("x" * 200, "العربية\u200f", 'quo"te,and\nline', "=cmd()", " 01 ", "O'Neil")
    frame = pd.DataFrame(
        [(t, lang, j, 1.0) for t in names for lang in names for j in names],
        columns=["task", "language", "judge", "score"],
    )
    frame.to_csv(tmp_path / "s.csv", index=False)
    frame.to_parquet(tmp_path / "s.parquet")
    for path in ("s.csv", "s.parquet"):
        panel = pj.read_panel(tmp_path / path)
        assert panel.tasks == panel.languages == panel.judges == names


def test_numbers_as_labels_are_kept_as_written(tmp_path: Path) -> None:
    panel = pj.read_panel(write(tmp_path / "s.csv", HEADER + re.sub("(?m)^1,", "01,", rows(tasks="12"))))
    assert panel.tasks == ("01", "2")


def test_columns_by_usual_names() -> None:
    found = find_columns(["Backbone", "lang", "item_id", "rating", "epoch"])
    assert (found.judge, found.language, found.task, found.score, found.replicate) == (
        "Backbone", "lang", "item_id", "rating", "epoch",
    )  # fmt: skip


def test_command_line_shows_one_paragraph(cli: Any, tmp_path: Path) -> None:
    done = cli("audit", write(tmp_path / "s.csv", HEADER + rows() + "c,en,x,abc\n"))
    assert done.returncode == 2
    assert done.stderr.startswith("polyjudge: ")
    assert not lacks(done.stderr, "score", "s.csv", "line 10", "abc")
    assert "Traceback" not in done.stderr
    done = cli("audit", write(tmp_path / "s.csv", HEADER + rows()), "--range", "0-5")
    assert done.returncode == 2
    assert not lacks(done.stderr, "--range", "0-5")


def test_nothing_is_fetched_from_a_network() -> None:
    from polyjudge.second.read.duck import connect

    with connect() as con:
        shown = con.sql(
            "SELECT name, value FROM duckdb_settings() WHERE name IN "
            "('autoinstall_known_extensions', 'autoload_known_extensions')"
        ).fetchall()
    assert {v for _, v in shown} == {"false"}


def test_json_with_text_and_missing_keys(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in pj.simulate_panel(3, 2, 2, seed=0)[0].to_long().to_json(
        orient="records", lines=True).splitlines()]  # fmt: skip
    lines[3]["score"] = "high"
    path = write(tmp_path / "s.jsonl", "\n".join(map(json.dumps, lines)))
    with refused(PanelError, "s.jsonl", "line 4", "high"):
        pj.read_panel(path)
    del lines[3]["score"]
    panel = pj.read_panel(write(tmp_path / "s.jsonl", "\n".join(map(json.dumps, lines))))
    assert int(np.isnan(panel.scores).sum()) == 1


def test_parquet_written_in_row_groups_keeps_row_order(tmp_path: Path, long: pd.DataFrame, expected: pj.Panel) -> None:
    pq.write_table(pa.Table.from_pandas(long), tmp_path / "s.parquet", row_group_size=5)
    assert pj.read_panel(tmp_path / "s.parquet").fingerprint == expected.fingerprint


@pytest.mark.parametrize(
    "texts",
    [["1", "0", "-3", "007"], ["0.5", "1.0", "1.234", "12.345", "-0"], ["", None, "85"], ["56.123456789012345"],
     ["123456789012345678901.5"], ["1", "1,5"], ["2", "n/a"],
     ["1e3"], ["8/10"], ["50%"], ["+4"], [".5"], ["1_0"], ["\u0663"], [f"{i}" for i in range(1001)]],
)  # fmt: skip
def test_few_plain_numbers_have_the_profile_that_the_engine_finds(texts: list[str | None]) -> None:
    """What is looked at one by one is what a query would have said, or is left to it."""
    from polyjudge.second.read.formats.values import Profile, plain_profile, profile_sql

    rows = [(text, i % 3 + 1) for i, text in enumerate(texts)]
    counts, word = profile_sql("t", {})
    con = duckdb.connect()
    con.execute(
        "CREATE TABLE x AS SELECT unnest(?::VARCHAR[]) AS t, unnest(?::INTEGER[]) AS n", [*zip(*rows, strict=True)]
    )
    cursor = con.execute(f"SELECT {counts}, bool_or({word}) AS words FROM x")
    found = dict(zip((column[0] for column in cursor.description), cursor.fetchone(), strict=True))
    odd = found.pop("words") or found["plain"] < sum(n for text, n in rows if text)
    here = plain_profile(rows)
    assert here == (None if odd or len(texts) > 1000 or texts[0] in ("1e3", "+4", ".5") else Profile(**found))
