"""The store of a collection run, read: one SQLite file with the plan, the prompts and every answer, error and batch.

`collect` writes it (schema 2). Every answer and every value about the run carries a checksum, so that what was changed
on disk is found. Stores of schema 1 are read through views of the same shape.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from polyjudge.panel.errors import CollectError, PolyjudgeError
from polyjudge.panel.labels import clean

SCHEMA = 2
FILE = "store.sqlite"
KEY = "task, system, replicate, repeat, language, judge, part"
ANSWER = (
    f"{KEY}, prompt, answer, score, expected, how, detail, logprobs, input_tokens, output_tokens, cached_tokens, "
    "estimated, cost, latency, attempt, reminded, model, stop, at, checksum"
)
_COLUMNS = {
    1: {"meta": "key value", "answers": "task replicate language judge part score detail how",
        "items": "task replicate place"},
    2: {"meta": "key value checksum", "answers": ANSWER.replace(",", ""),
        "items": "task system replicate place digests", "errors": "judge kind cost estimated",
        "batches": "judge token remote state", "batch_calls": "batch custom"},
}  # fmt: skip
_OLD = (  # schema 1 kept the system before the replicate, with a mark between them
    "substr(replicate, 1, max(instr(replicate, char(31)) - 1, 0)) as system, "
    "substr(replicate, instr(replicate, char(31)) + 1) as replicate"
)
_VIEWS = {
    1: f"""
create temp view a as select task, {_OLD}, 0 as repeat, language, judge, part, prompt, answer, score,
    null as expected, how, detail, input_tokens, output_tokens, cached_tokens, input_tokens is null as estimated,
    null as cost, attempt, 0 as reminded, model, stop, null as checksum from main.answers;
create temp view i as select task, {_OLD}, place, grp, '' as cluster, requirements
    from main.items;
create temp view e as select task, {_OLD}, 0 as repeat, language, judge, part, kind, error,
    input_tokens, output_tokens, 0 as cached_tokens, 0 as estimated, null as cost, at from main.errors;
""",
    2: f"""
create temp view a as select {ANSWER} from main.answers;
create temp view i as select task, system, replicate, place, grp, cluster, requirements from main.items;
create temp view e as select {KEY}, kind, error, input_tokens, output_tokens, cached_tokens, estimated, cost, at
    from main.errors;
""",
}
"""Answers, items and errors in one shape, whatever the schema."""


def checksum(*values: Any) -> str:
    """Short hash over stored values."""
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


@contextmanager
def damaged(path: Path) -> Iterator[None]:
    """Whatever a damaged or foreign store raises, as an error that says so."""
    try:
        yield
    except PolyjudgeError:
        raise
    except (sqlite3.Error, ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise CollectError(
            f"{clean(path, 200)} is damaged, or is not the store of a run ({clean(error, 120)}). Restore it from a "
            "copy, or start a new run in another folder."
        ) from None


def open_store(folder: Path) -> sqlite3.Connection:
    """Open a run's store for reading and check its version. Works on folders that cannot be written to."""
    path = folder / FILE
    if not path.is_file():
        raise CollectError(f"{clean(folder, 200)} is not a collection run: it has no {FILE}.")
    with damaged(path):
        check_size(path)
        con = _connect_reader(path)
        try:
            prepare(con, path)
        except BaseException:
            con.close()
            raise
    return con


def check_size(path: Path) -> None:
    try:
        if path.stat().st_size == 0:
            raise CollectError(
                f"{clean(path, 200)} is empty: its content is lost. Restore it, or remove it to begin anew."
            )
    except OSError as error:
        raise CollectError(f"Cannot read {clean(path, 200)}: {error.strerror}.") from None


def _connect_reader(path: Path) -> sqlite3.Connection:
    log = path.with_name(FILE + "-wal")
    uri = f"{path.resolve().as_uri()}?mode=ro"
    if os.access(path.parent, os.W_OK):
        return sqlite3.connect(uri, uri=True, timeout=60, check_same_thread=False)
    if not log.exists() or log.stat().st_size == 0:
        return sqlite3.connect(uri + "&immutable=1", uri=True, check_same_thread=False)
    with tempfile.TemporaryDirectory(prefix="polyjudge-") as copy:  # a log beside it must be read too, which writes
        for file in (path, log):
            shutil.copyfile(file, Path(copy) / file.name)
        con = sqlite3.connect(":memory:", check_same_thread=False)
        source = sqlite3.connect(Path(copy) / FILE)
        source.backup(con)
        source.close()
        return con


def prepare(con: sqlite3.Connection, path: Path) -> int:
    """Check that it is a store, and make the views. Returns its schema."""
    con.execute("pragma trusted_schema = off")
    tables = {name for name, type_ in con.execute("select name, type from sqlite_master") if type_ == "table"}
    if not {"meta", "answers", "items", "errors"} <= tables:
        raise CollectError(f"{clean(path, 200)} is a database, but not the store of a run.")
    row = con.execute("select value from meta where key = 'schema'").fetchone()
    found = row[0] if row else None
    if found not in ("1", "2"):
        raise CollectError(
            f"{clean(path, 200)} has schema {clean(found)}; this version of polyjudge reads schemas 1 and {SCHEMA}."
        )
    for table, columns in _COLUMNS[int(found)].items():
        have = {entry[1] for entry in con.execute(f"pragma table_info({table})")}
        if not set(columns.split()) <= have:
            raise CollectError(f"{clean(path, 200)} is damaged: its table {table} lacks columns.")
    if con.execute("pragma query_only").fetchone()[0] == 0:
        con.executescript(_VIEWS[int(found)])
    return int(found)


def read_meta(con: sqlite3.Connection, key: str) -> Any:
    """A value of the meta table, or None."""
    versioned = any(entry[1] == "checksum" for entry in con.execute("pragma table_info(meta)"))
    row = con.execute(f"select value, {'checksum' if versioned else 'null'} from meta where key = ?", [key]).fetchone()
    if row is None:
        return None
    if row[1] is not None and row[1] != checksum(key, row[0]):
        raise CollectError(
            f"The store is damaged: its entry {key!r} does not match its checksum. Restore it from a copy."
        )
    return json.loads(row[0])


def check_answers(con: sqlite3.Connection) -> None:
    """Compare every answer with its checksum."""
    query = f"select {KEY}, prompt, answer, score, expected, how, detail, checksum from a"
    for row in con.execute(query):
        if row[-1] is not None and row[-1] != checksum(*row[:-1]):
            raise CollectError(
                f"The store is damaged: the answer of {clean(row[5])} to {clean(row[0])} in {clean(row[4])} does not "
                "match its checksum, so its score cannot be trusted. Restore the store from a copy."
            )
