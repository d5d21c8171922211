"""The store of a run: one SQLite file that holds the plan, the prompts and every answer and error."""

from __future__ import annotations

import json
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

from polyjudge.core.errors import CollectError

SCHEMA = 1
FILE = "store.sqlite"
LOCK = "lock"
SYSTEM_MARK = "\x1f"
"""Stands between an item's system and its replicate in the store's column `replicate`, when the items have systems."""
_TABLES = """
create table if not exists meta (key text primary key, value text not null) without rowid;
create table if not exists prompts (hash text primary key, text text not null) without rowid;
create table if not exists items (
    task text, replicate text, place integer not null, grp text not null, requirements text not null,
    primary key (task, replicate)) without rowid;
create table if not exists answers (
    task text, replicate text, language text, judge text, part text, prompt text not null, answer text not null,
    score real, how text not null, detail text, input_tokens integer, output_tokens integer, cached_tokens integer,
    latency real, attempt integer not null, model text, stop text, at real not null,
    primary key (task, replicate, language, judge, part)) without rowid;
create table if not exists errors (
    id integer primary key, task text, replicate text, language text, judge text, part text, attempt integer not null,
    kind text not null, error text not null, answer text, input_tokens integer, output_tokens integer, latency real,
    at real not null);
"""


class Key(NamedTuple):
    """What is asked: a part of an item, in a language, of a judge."""

    task: str
    replicate: str
    language: str
    judge: str
    part: str


@dataclass(frozen=True)
class Answer:
    """An answer as it is stored. `score` is None when it could not be read; `how` says how or why."""

    key: Key
    prompt_hash: str
    prompt: str
    answer: str
    score: float | None
    how: str
    detail: tuple[int | None, ...] | None
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    latency: float
    attempt: int
    model: str
    stop: str


@dataclass(frozen=True)
class Failure:
    """An attempt that gave no answer (`kind`: rate limit, server, timeout, connection, ...) or one that could not be
    read and was asked again (`kind`: unreadable)."""

    key: Key
    attempt: int
    kind: str
    error: str
    answer: str | None
    input_tokens: int | None
    output_tokens: int | None
    latency: float


def open_store(folder: Path, create: bool = False) -> sqlite3.Connection:
    """Open a run's store and check its version."""
    path = folder / FILE
    if not create and not path.is_file():
        raise CollectError(f"{folder} is not a collection run: it has no {FILE}.")
    try:
        con = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=60)
        if create:
            con.execute("pragma journal_mode = wal")
            # With a write-ahead log, full means: what is committed survives a power cut.
            con.execute("pragma synchronous = full")
            con.executescript(_TABLES)
            con.execute("insert or ignore into meta values ('schema', ?)", [str(SCHEMA)])
        found = con.execute("select value from meta where key = 'schema'").fetchone()
    except sqlite3.Error as error:
        raise CollectError(f"Cannot open {path}: {error}. Is it a run's store, and is the folder writable?") from None
    if found is None or found[0] != str(SCHEMA):
        raise CollectError(
            f"{path} has schema {found[0] if found else 'none'}; this version of polyjudge reads schema {SCHEMA}."
        )
    return con


def read_meta(con: sqlite3.Connection, key: str) -> Any:
    """A value of the meta table, or None."""
    row = con.execute("select value from meta where key = ?", [key]).fetchone()
    return None if row is None else json.loads(row[0])


def write_meta(con: sqlite3.Connection, key: str, value: Any) -> None:
    """Keep a value in the meta table."""
    con.execute("insert or replace into meta values (?, ?)", [key, json.dumps(value, ensure_ascii=False)])


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the run folder. A second process is refused; the lock of a killed one is gone with it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / LOCK).open("a+")
    except OSError as error:
        raise CollectError(f"Cannot write to {folder}: {error.strerror}. Choose another folder with -o.") from None
    with file:
        if not _take_lock(file):
            file.seek(0)
            owner = file.read(20).strip()
            raise CollectError(
                f"{folder} is in use by another collection{f' (process {owner})' if owner else ''}. Wait for it or "
                "stop it; two processes must not write to one run."
            )

        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def _take_lock(file: IO[str]) -> bool:
    try:
        import fcntl
    except ImportError:  # not on Windows
        import msvcrt

        try:
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def storable(text: str) -> str:
    """Text without lone surrogates, which a database cannot hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


class Writer:
    """Writes answers on a thread of its own. Answers that wait together share one commit, so a slow disk bounds the
    time of a commit and not the rate. `done` is called (on that thread) once the record is safe."""

    def __init__(self, con: sqlite3.Connection) -> None:
        self._con = con
        self._queue: queue.SimpleQueue[tuple[Answer | Failure, Callable[[BaseException | None], None]] | None]
        self._queue = queue.SimpleQueue()
        self._prompts = {row[0] for row in con.execute("select hash from prompts")}
        self._thread = threading.Thread(target=self._work, name="polyjudge-writer")
        self._thread.start()

    def put(self, record: Answer | Failure, done: Callable[[BaseException | None], None]) -> None:
        """Queue a record."""
        self._queue.put((record, done))

    def close(self) -> None:
        """Write what is queued and stop."""
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        last = False
        while not last:
            batch = [self._queue.get()]
            while not self._queue.empty():
                batch.append(self._queue.get())
            last = batch[-1] is None
            work = [entry for entry in batch if entry is not None]
            if not work:
                continue
            problem: BaseException | None = None
            try:
                self._con.execute("begin")
                for record, _ in work:
                    self._write(record)
                self._con.execute("commit")
            except Exception as error:
                problem = error
                if self._con.in_transaction:
                    self._con.execute("rollback")
            for _, done in work:
                done(problem)

    def _write(self, record: Answer | Failure) -> None:
        now = time.time()
        if isinstance(record, Failure):
            self._con.execute(
                "insert into errors values (null, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *record.key, record.attempt, record.kind, record.error, record.answer, record.input_tokens,
                    record.output_tokens, record.latency, now,
                ),
            )  # fmt: skip
            return
        if record.prompt_hash not in self._prompts:
            self._con.execute("insert or ignore into prompts values (?, ?)", (record.prompt_hash, record.prompt))
            self._prompts.add(record.prompt_hash)
        self._con.execute(
            "insert into answers values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *record.key, record.prompt_hash, record.answer, record.score, record.how,
                None if record.detail is None else json.dumps(record.detail), record.input_tokens,
                record.output_tokens, record.cached_tokens, record.latency, record.attempt, record.model, record.stop,
                now,
            ),
        )  # fmt: skip
