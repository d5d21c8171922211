"""The store of a collection run: one SQLite file with the plan, the prompts and every answer, error and batch.

Every answer and every value about the run carries a checksum, which finds what was damaged on disk; there is no key in
it, so it proves nothing against somebody who means to change a store. A store is opened only when its tables are the
ones written here, and nothing else is in it: no trigger, no view, no table of others.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import queue
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

from polyjudge.second.collect.secrets import redact
from polyjudge.second.panel.errors import CollectError, PolyjudgeError
from polyjudge.second.panel.labels import clean

SCHEMA = 2
FILE, LOCK = "store.sqlite", "store.lock"
ADAPTIVE = "adaptive"
"""Where a store keeps the plan and the state of an adaptive run."""
KEY = "task, system, replicate, repeat, language, judge, part"
_TABLES = """
create table meta (key text primary key, value text not null, checksum text not null) without rowid;
create table prompts (hash text primary key, text text not null) without rowid;
create table items (
    task text, system text, replicate text, place integer not null, grp text not null,
    cluster text not null, requirements text not null, digests text not null,
    primary key (task, system, replicate)) without rowid;
create table answers (
    task text, system text, replicate text, repeat integer, language text, judge text, part text,
    prompt text not null, answer text not null, score real, expected real, how text not null, detail text,
    logprobs text, input_tokens integer, output_tokens integer, cached_tokens integer, estimated integer not null,
    cost real, latency real, attempt integer not null, reminded integer not null, model text, stop text,
    at real not null, checksum text not null,
    primary key (task, system, replicate, repeat, language, judge, part)) without rowid;
create table errors (
    id integer primary key, task text, system text, replicate text, repeat integer, language text, judge text,
    part text, attempt integer not null, kind text not null, error text not null, answer text, input_tokens integer,
    output_tokens integer, cached_tokens integer, estimated integer not null, cost real, latency real,
    at real not null);
create index errors_by_item on errors (task, system, replicate);
create table batches (
    id integer primary key, judge text not null, token text not null, remote text, state text not null,
    calls integer not null, reserved real not null, created real not null, ended real, note text);
create table batch_calls (
    batch integer not null, custom text not null, task text, system text, replicate text, repeat integer,
    language text, part text, attempt integer not null, again integer not null,
    primary key (batch, custom)) without rowid;
"""


class Name(NamedTuple):
    """What tells items apart."""

    task: str
    system: str
    replicate: str

    def __str__(self) -> str:
        return "/".join(part for part in self if part)


class Key(NamedTuple):
    """What is asked: a part of an item, in a language, of a judge, for the n-th time."""

    task: str
    system: str
    replicate: str
    repeat: int
    language: str
    judge: str
    part: str

    @property
    def name(self) -> Name:
        return Name(self.task, self.system, self.replicate)


class Usage(NamedTuple):
    """Tokens of one attempt and what they cost. `estimated`: the provider did not say, or the attempt failed."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    estimated: bool = False
    cost: float | None = None


@dataclass(frozen=True)
class Answer:
    """An answer as it is stored. `score` is None when it could not be read; `how` says how or why."""

    key: Key
    prompt_hash: str
    prompt: str
    answer: str
    score: float | None
    how: str
    detail: tuple[float | None, ...] | None
    usage: Usage
    latency: float
    attempt: int
    model: str
    stop: str
    reminded: bool = False
    expected: float | None = None
    logprobs: str | None = None


@dataclass(frozen=True)
class Failure:
    """An attempt that gave no answer (`kind`: rate limit, server, timeout, connection, ...) or one that could not be
    read and was asked again (`kind`: unreadable)."""

    key: Key
    attempt: int
    kind: str
    error: str
    usage: Usage
    latency: float
    answer: str | None = None


@dataclass(frozen=True)
class Statement:
    """Any other change, made together with the records beside it."""

    sql: str
    values: tuple[Any, ...]


Record = Answer | Failure | Statement


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


# --- opening ---


def open_store(folder: Path) -> sqlite3.Connection:
    """Open a run's store for reading. Works on folders that cannot be written to."""
    path = folder / FILE
    if not path.is_file():
        raise CollectError(f"{clean(folder, 200)} is not a collection run: it has no {FILE}.")
    with damaged(path):
        return _checked(path, _connect_reader)


def create_store(folder: Path) -> sqlite3.Connection:
    """Open a run's store for writing; a new one is made whole before it has its name."""
    path = folder / FILE
    try:
        if not path.exists():
            handle, name = tempfile.mkstemp(prefix=".store-", suffix=".part", dir=folder)
            os.close(handle)
            try:
                with sqlite3.connect(name, isolation_level=None) as con:
                    con.execute("pragma journal_mode = memory")  # an unfinished one is thrown away
                    con.executescript(f"begin; {_TABLES}")
                    write_meta(con, "schema", SCHEMA)
                    con.execute("commit")
                con.close()
                os.replace(name, path)
            finally:
                Path(name).unlink(missing_ok=True)
    except (OSError, sqlite3.Error) as error:
        raise CollectError(f"Cannot make {clean(path, 200)}: {clean(error, 120)}. Is the folder writable?") from None
    with damaged(path):
        con = _checked(
            path, lambda file: sqlite3.connect(file, check_same_thread=False, isolation_level=None, timeout=60)
        )
        con.execute("pragma journal_mode = wal")
        con.execute("pragma synchronous = full")  # with a write-ahead log: what is committed survives a power cut
    return con


def _checked(path: Path, connect: Callable[[Path], sqlite3.Connection]) -> sqlite3.Connection:
    """A connection to a store whose tables are ours and nothing else."""
    try:
        if path.stat().st_size == 0:
            raise CollectError(
                f"{clean(path, 200)} is empty: its content is lost. Restore it, or remove it to begin anew."
            )
    except OSError as error:
        raise CollectError(f"Cannot read {clean(path, 200)}: {error.strerror}.") from None
    con = connect(path)
    try:
        con.execute("pragma trusted_schema = off")
        con.execute("pragma cell_size_check = on")
        found = _objects(con)
        if "meta" not in found or "answers" not in found:
            raise CollectError(f"{clean(path, 200)} is a database, but not the store of a run.")
        row = con.execute("select value from meta where key = 'schema'").fetchone()
        if row is None or row[0] != str(SCHEMA):
            raise CollectError(
                f"{clean(path, 200)} has schema {clean(row and row[0])}; this version of polyjudge reads {SCHEMA}."
            )
        wrong = sorted(name for name in {*found, *_wanted()} if found.get(name) != _wanted().get(name))
        if wrong:
            raise CollectError(
                f"{clean(path, 200)} is damaged, or somebody changed it: {clean(', '.join(wrong), 200)} is not as "
                "polyjudge writes it. Restore it from a copy, or start a new run in another folder."
            )
    except BaseException:
        con.close()
        raise
    return con


def _objects(con: sqlite3.Connection) -> dict[str, tuple[str, str]]:
    """Tables, indices, triggers and views of a store, as they were written."""
    rows = con.execute("select name, type, sql from sqlite_master where name not like 'sqlite!_%' escape '!'")
    return {name: (kind, " ".join(str(sql).split())) for name, kind, sql in rows}


@cache
def _wanted() -> dict[str, tuple[str, str]]:
    con = sqlite3.connect(":memory:")
    con.executescript(_TABLES)
    found = _objects(con)
    con.close()
    return found


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


# --- values about the run ---


def read_meta(con: sqlite3.Connection, key: str) -> Any:
    """A value of the meta table, or None."""
    row = con.execute("select value, checksum from meta where key = ?", [key]).fetchone()
    if row is None:
        return None
    if row[1] != checksum(key, row[0]):
        raise CollectError(
            f"The store is damaged: its entry {key!r} does not match its checksum. Restore it from a copy."
        )
    return json.loads(row[0])


def meta_statement(key: str, value: Any) -> Statement:
    """The change of a value about the run."""
    text = redact(json.dumps(value, ensure_ascii=False))
    return Statement("insert or replace into meta values (?, ?, ?)", (key, text, checksum(key, text)))


def item_statement(
    name: Name, place: int, group: str, cluster: str, requirements: Sequence[tuple[str, str]], digests: dict[str, str]
) -> Statement:
    """An item that is being asked about."""
    texts = json.dumps(requirements, ensure_ascii=False), json.dumps(digests)
    return Statement("insert or replace into items values (?, ?, ?, ?, ?, ?, ?, ?)",
                     (*name, place, group, cluster, *texts))  # fmt: skip


def write_meta(con: sqlite3.Connection, key: str, value: Any) -> None:
    """Keep a value in the meta table."""
    change = meta_statement(key, value)
    con.execute(change.sql, change.values)


def check_answers(con: sqlite3.Connection) -> None:
    """Compare every answer with its checksum."""
    query = f"select {KEY}, prompt, answer, score, expected, how, detail, checksum from answers"
    for row in con.execute(query):
        if row[-1] != checksum(*row[:-1]):
            raise CollectError(
                f"The store is damaged: the answer of {clean(row[5])} to {clean(row[0])} in {clean(row[4])} does not "
                "match its checksum, so its score cannot be trusted. Restore the store from a copy."
            )


# --- the folder ---


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the run folder: a new or empty one, or one with a store. A second process is refused; the lock of a killed
    one is gone with it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        others = [p.name for p in folder.iterdir() if p.name != LOCK and not p.name.startswith(".store-")]
        if others and FILE not in others:
            raise CollectError(
                f"{clean(folder, 200)} holds other files ({clean(sorted(others)[0])}) and is not a collection run. "
                "Choose a new folder with -o."
            )
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        file = os.fdopen(os.open(folder / LOCK, flags, 0o666), "r+")
    except (OSError, ValueError) as error:
        if isinstance(error, CollectError):
            raise
        why = getattr(error, "strerror", None) or clean(error)
        raise CollectError(f"Cannot write to {clean(folder, 200)}: {why}. Choose another folder with -o.") from None
    with file:
        taken, owner = _take_lock(file), file.read(20).strip()
        if not taken:
            raise CollectError(
                f"{clean(folder, 200)} is in use by another collection{f' (process {clean(owner)})' if owner else ''}. "
                "Wait for it or stop it; two processes must not write to one run."
            )
        if owner and not owner.isdigit():
            raise CollectError(
                f"{clean(folder / LOCK, 200)} is a file of somebody else. Choose another folder with -o."
            )
        file.seek(0)
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


class Writer:
    """Writes records on a thread of its own. What waits together shares one commit, so a slow disk bounds the time of a
    commit and not the rate; and one insert, for between two statements the thread waits for its turn to run."""

    def __init__(self, con: sqlite3.Connection) -> None:
        self._con = con
        self._queue: queue.SimpleQueue[tuple[Sequence[Record], Sequence[asyncio.Future[None]]] | None]
        self._queue = queue.SimpleQueue()
        self._recent: dict[str, None] = {}
        self._prompts: list[tuple[Any, ...]] = []
        self._answers: list[tuple[Any, ...]] = []
        self._most = con.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER)
        self._thread = threading.Thread(target=self._work, name="polyjudge-writer")
        self._thread.start()

    def put(self, records: Sequence[Record], saved: Sequence[asyncio.Future[None]] = ()) -> None:
        """Queue records that are written together; `saved` are settled once all of them are safe, or none can be."""
        self._queue.put((records, saved))

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
                with self._con:
                    self._con.execute("begin")
                    for record in chain.from_iterable(records for records, _ in work):
                        self._write(record)
                    self._insert("prompts", self._prompts)
                    self._insert("answers", self._answers)
            except Exception as error:
                problem = error
                self._recent.clear()
            self._prompts.clear()
            self._answers.clear()
            waiting = [future for _, saved in work for future in saved]
            if waiting:
                with suppress(RuntimeError):  # the loop is gone after Ctrl-C; the records are safe all the same
                    waiting[0].get_loop().call_soon_threadsafe(_settle, waiting, problem)

    def _insert(self, table: str, rows: list[tuple[Any, ...]]) -> None:
        """Rows that are not there yet, in as few statements as the database allows."""
        while rows:
            part = rows[: self._most // len(rows[0])]
            values = ", ".join([f"({', '.join('?' * len(rows[0]))})"] * len(part))
            self._con.execute(f"insert or ignore into {table} values {values}", list(chain.from_iterable(part)))
            del rows[: len(part)]

    def _write(self, record: Record) -> None:
        if isinstance(record, Answer):
            self._answer(record)
        elif isinstance(record, Failure):
            kept = (*record.key, record.attempt, record.kind, _clean(record.error), _clean(record.answer))
            row = (*kept, *record.usage, record.latency, time.time())
            self._con.execute(f"insert into errors values (null{', ?' * 18})", row)
        else:
            self._con.execute(record.sql, record.values)

    def _answer(self, r: Answer) -> None:
        if r.prompt_hash not in self._recent:
            self._prompts.append((r.prompt_hash, storable(r.prompt)))
            self._recent[r.prompt_hash] = None
            if len(self._recent) > 5000:
                self._recent.pop(next(iter(self._recent)))
        detail = None if r.detail is None else json.dumps(r.detail)
        kept = (*r.key, r.prompt_hash, _clean(r.answer) or "", r.score, r.expected, r.how, detail)
        row = (
            *kept, _clean(r.logprobs), *r.usage, r.latency, r.attempt, r.reminded, _clean(r.model), _clean(r.stop),
            time.time(), checksum(*kept),
        )  # fmt: skip
        self._answers.append(row)


def _settle(waiting: list[asyncio.Future[None]], problem: BaseException | None) -> None:
    for saved in waiting:
        if saved.done():
            continue
        if problem is None:
            saved.set_result(None)
        else:
            why = f"The store cannot be written: {problem}. Make room or repair the disk, then run it again."
            saved.set_exception(CollectError(why))


def storable(text: str) -> str:
    """Text without lone surrogates, which a database cannot hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _clean(text: str | None) -> str | None:
    """Text that may be stored: no key of the environment in it, no lone surrogates."""
    return None if text is None else redact(storable(text))
