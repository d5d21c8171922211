"""The embedded engine: a private DuckDB connection, and score files, frames and database files as its tables."""

from __future__ import annotations

import atexit
import csv
import glob
import gzip
import io
import json
import math
import os
import re
import shutil
import sqlite3
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from polyjudge.second.panel.adjustment import quote
from polyjudge.second.panel.budget import VARIABLE as MEMORY
from polyjudge.second.panel.budget import budget
from polyjudge.second.panel.errors import PanelError, PolyjudgeError, UsageError
from polyjudge.second.panel.files import check_name, check_ordinary, literal, matches
from polyjudge.second.panel.labels import clean
from polyjudge.second.read.limits import LONG_LINE, SECONDS, memory_limit, named, weigh

ENGINE_MEMORY = 1200 << 20
"""The engine works in this much unless the user gives a budget. What does not fit goes to the temporary folder."""
VIEW_SPILL = "4GB"
"""Rows of a view may take this much of the disk."""
LONGEST_VALUE = 1 << 20
"""Bytes of one value of a database: labels and scores are short."""
SQLITE_MEMORY = 256 << 20
"""Bytes that SQLite itself may take, for sorting and views."""
CHUNK_BYTES = 64 << 20
"""Bytes of rows of a database that are held at once."""

SMALL = 32 << 20
"""Bytes of files that are read by the engine that is running already, with one thread."""

ROW = "polyjudge_row"
SHOWN = ("polyjudge_first", "polyjudge_second", "polyjudge_sign")
"""Of a verdict on a pair: who was shown first, who second, and the sign that makes the score the first one's."""
FILE = "polyjudge_file"
"""Column with the file of a row, in sources that are files."""
NO_HIVE = "hive_partitioning = false"
"""For every reader of files: the engine would take a folder called score=7 for a column."""
CHUNK = 50_000
EXACT = {"DOUBLE": 2**53, "FLOAT": 2**24}
"""Whole numbers up to here are exact as floating point numbers: beyond, two identifiers may become one."""
MOST_ABOVE = 20
"""Lines above a CSV header that are looked at."""


def connect(size: float = math.inf) -> Any:
    """A DuckDB connection of our own: bounded memory, spilling to a temporary folder, never fetching an extension.

    size : bytes that will be read. Up to `SMALL` connections share an engine, because starting one takes longer than
        reading such a file; temporary tables belong to one connection. Beyond, and for whoever attaches a file or
        changes a setting, the engine is theirs alone
    """
    import duckdb

    if size > SMALL:
        con = _start_engine(_memory())
    else:
        try:
            con = _shared_engine().cursor()
            con.execute("SELECT 1")
            _quiet(con)
        except duckdb.Error:  # an engine that met a fault of its own answers nothing more
            _stop_engine()
            con = _shared_engine().cursor()
    _connections[con] = threading.get_ident()
    return con


def _start_engine(memory: int, **settings: Any) -> Any:
    import duckdb

    con = duckdb.connect(config=settings)
    con.execute("SET autoinstall_known_extensions = false")
    con.execute("SET autoload_known_extensions = false")
    con.execute(f"SET memory_limit = '{memory >> 20}MiB'")
    con.execute(f"SET temp_directory = {quote(_spill_folder(os.getpid()))}")
    con.execute("SET enable_external_file_cache = false")  # a file may change between two readings
    _quiet(con)
    return con


def _quiet(con: Any) -> None:
    """No progress bar of the engine's. In a notebook without ipywidgets there is none, and it may not be named."""
    import duckdb

    with suppress(duckdb.Error):
        con.execute("SET enable_progress_bar = false")


def _memory() -> int:
    return budget() * 3 // 4 if os.environ.get(MEMORY) else min(ENGINE_MEMORY, budget() // 2)


_engine: dict[int, Any] = {}
"""The engine that connections share, by the memory it may take; none before the first of them."""
_starting = threading.RLock()


def _shared_engine() -> Any:
    memory = _memory()
    with _starting:
        if memory not in _engine:
            _stop_engine()
            _engine[memory] = _start_engine(memory, threads=1)  # to divide little work is more work
        return _engine[memory]


def _stop_engine() -> None:
    """Let go of it: it ends with the last connection that is open. To close it would close them as well."""
    with _starting:
        _engine.clear()


def _before_fork() -> None:
    """A child has none of the engine's threads, and would wait for them when it ends."""
    _starting.acquire()
    _stop_engine()


atexit.register(_stop_engine)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_starting.release, after_in_child=_starting.release)


_connections: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
"""Those that are open, and the thread that opened each."""


@contextmanager
def released() -> Iterator[None]:
    """When it ends with an error, close what was opened inside.

    A notebook keeps the last traceback and with it every connection: the user's database would stay locked.
    """
    before = set(_connections)
    try:
        yield
    except BaseException:
        for con, thread in list(_connections.items()):
            if con not in before and thread == threading.get_ident():
                con.close()
        raise


def interrupt_all() -> None:
    """End every running query, from another thread."""
    import duckdb

    for con in list(_connections):
        with suppress(duckdb.Error):
            con.interrupt()


@cache
def _spill_folder(process: int) -> str:
    """A folder of this process that nobody else may read; removed when the process ends."""
    try:
        folder = tempfile.mkdtemp(prefix="polyjudge-")
    except OSError as error:
        raise UsageError(f"There is no temporary folder to work in ({error.strerror}). Set TMPDIR to one.") from None
    atexit.register(lambda: shutil.rmtree(folder, ignore_errors=True) if os.getpid() == process else None)
    return folder


@contextmanager
def time_limit(interrupt: Callable[[], None], where: str) -> Iterator[None]:
    """Interrupt the engine when the block takes too long, and let it take no more memory than the budget."""
    late = threading.Event()

    def stop() -> None:
        late.set()
        interrupt()

    timer = threading.Timer(SECONDS, stop)
    timer.daemon = True
    timer.start()
    try:
        with memory_limit():
            yield
    except Exception:
        if late.is_set():
            raise PanelError(
                f"The view {where} did not end within {SECONDS:g} seconds. Copy it into a table and read that."
            ) from None
        raise
    finally:
        timer.cancel()
        timer.join(10)


def name(identifier: str) -> str:
    """A column or table name as an SQL identifier."""
    return '"' + identifier.replace('"', '""') + '"'


@dataclass
class Source:
    """A table of scores in our DuckDB connection, its columns not yet chosen.

    `relation` is what stands after FROM. `row` is the SQL of a row's place in the source (0 is the first), or None when
    rows have no order. `first_line` is the line of row 0 in a text file. `spool` says that reading the relation
    is costly or works only once, so that the chosen columns are copied into a temporary table first. A view is
    somebody's program: it runs once, with a time limit. `as_json` is a JSON file with its values left as JSON.
    `rows_per_line` is how many rows of the relation one row of the source became.
    """

    con: Any
    relation: str
    columns: list[str]
    where: str
    row: str | None = None
    first_line: int | None = None
    spool: bool = False
    files: tuple[Path, ...] = ()
    kind: str = "table"
    is_view: bool = False
    as_json: str = ""
    rows_per_line: int = 1
    table: tuple[str, str] | None = None
    """Schema and name, of a table of a DuckDB file."""
    shown: bool = False
    """Winners of pairs whose order of showing is known: the relation has the columns `SHOWN`."""
    above: Sequence[str] = ()
    """Lines above the header of CSV, which were skipped."""
    delimiter: str = ""
    """What divides the columns of CSV."""
    frame: Any = None
    """The table in memory that it is, if it is one."""
    only: Mapping[str, str] = field(default_factory=dict)
    """Column -> the one value whose rows are copied."""

    @property
    def test(self) -> str:
        """SQL that is true of the rows that are copied."""
        return " AND ".join(f"trim(CAST({name(c)} AS VARCHAR)) = {quote(v)}" for c, v in self.only.items()) or "true"

    def in_time(self, interrupt: Callable[[], None]) -> AbstractContextManager[None]:
        """A limit of time where it is a view."""
        return time_limit(interrupt, self.where) if self.is_view else nullcontext()

    def stamps(self) -> list[tuple[int, int]]:
        """Size and time of change of the files, to see whether they changed while they were read."""
        out = []
        for path in self.files:
            try:
                stat = path.stat()
            except OSError:
                out.append((-1, -1))
            else:
                out.append((stat.st_size, stat.st_mtime_ns))
        return out


@contextmanager
def engine_errors(where: str) -> Iterator[None]:
    """Turn an engine's error into one paragraph a user can act on."""
    import duckdb

    try:
        yield
    except PolyjudgeError:
        raise
    except (duckdb.InterruptException, RuntimeError) as error:
        if "nterrupt" not in str(error):
            raise
        raise KeyboardInterrupt from None
    except (duckdb.Error, UnicodeEncodeError) as error:
        raise PanelError(explain(str(error), where)) from None
    except sqlite3.Error as error:
        raise PanelError(f"{where} cannot be read as an SQLite database: {clean(error, 200)}.") from None
    except MemoryError:
        raise PanelError(f"{where} does not fit into memory. Lower max_units.") from None


def explain(message: str, where: str) -> str:
    """A DuckDB message in our words."""
    line = re.search(r"CSV Error on Line: (\d+)", message)
    at = f"{where}, line {line[1]}" if line else where
    for pattern, words in EXPLAINED.items():
        if found := re.search(pattern, message, re.DOTALL):
            return words.format(*found.groups(), at=at, where=where, temporary=tempfile.gettempdir())
    return f"{where} cannot be read: {clean(message.splitlines()[0] if message else 'unknown error', 300)}"


EXPLAINED = {
    'polyjudge: (.*?) holds ([^\\s"]+)': "Column {0!r} of {where} holds identifiers as floating point numbers beyond "
    "2^53, or 2^24 in single precision ({1}), whose last digits are lost. Write them as text, or as whole numbers.",
    r"(\\ud[89a-f]\w\w)": "{where} holds half of a surrogate pair ({0}), which is no character. Write the character "
    "itself, or leave it out.",
    "not utf-8|nvalid unicode|nvalid UTF": "{at} is not UTF-8 text. Save the file as UTF-8 (files in several "
    "encodings each on their own) and retry.",
    r"Expected Number of Columns: (\d+) Found: (\d+)": "{at} has {1} fields where the header has {0}. Put quotes "
    "around fields that hold the delimiter, or fill the missing fields.",
    "Maximum line size of": f"{{at}} {LONG_LINE}",
    "does not support a full read on this file": f"{{where}} has a line that {LONG_LINE}",
    "unterminated quote": "{at} opens a quote that is never closed. Double the quote inside the field, or close it.",
    "state machine": "{where} is not regular CSV: its line ends are mixed or a quote stands inside a bare field. "
    "Save it again.",
    r"Malformed JSON.*at byte (\d+) in line (\d+)": "{where} is not valid JSON: see line {1} or the one before, "
    "byte {0}.",
    "Malformed JSON": "{where} is not valid JSON. Write one object to a line, with nothing between them, or a list.",
    "No space left|max_temp_directory_size": "The disk is full while reading {where}: free space in {temporary}, "
    "or set TMPDIR.",
    "Out of Memory|could not allocate": f"Reading {{where}} needs more memory than {MEMORY} allows. Set "
    f"{MEMORY}=4GB or more.",
}
"""What DuckDB says (a pattern), and what it means."""


# --- opening ---


def open_file(source: str, table: str | None = None) -> Source:
    """A file, a pattern of files of one kind, or a table of a DuckDB or SQLite file. A name that exists is no pattern.

    No path ever adds a column: a folder called score=7 would override the scores in it.
    """
    check_name(source)
    if "::" in source and table is None and not os.path.exists(source):
        source, table = source.rsplit("::", 1)
    if not source:
        raise PanelError("The name of the scores is empty. Name a file.")
    shown = clean(source, 200)
    paths = matches(source) if glob.has_magic(source) and not os.path.exists(source) else [Path(source)]
    if not paths:
        raise PanelError(f"No file matches {shown}. Put the pattern in quotes so that the shell leaves it alone.")
    return open_paths(paths, shown, table)


def open_paths(paths: list[Path], shown: str, table: str | None = None) -> Source:
    """Files of one kind."""
    for path in paths:
        check_ordinary(path)
    kinds = {_kind(path) for path in paths}
    if len(kinds) > 1:
        raise PanelError(
            f"{shown} matches files of several kinds ({', '.join(sorted(kinds))}). Read one kind at a time."
        )
    kind = kinds.pop()
    if table is not None and kind not in ("duckdb", "sqlite"):
        raise UsageError(f"{shown} is not a database file, so it has no table {table!r}.")
    opener: Callable[[list[Path], str], Source] = {
        "csv": _csv, "json": _json, "parquet": _parquet,
        "duckdb": lambda p, s: _duckdb(p, s, table), "sqlite": lambda p, s: _sqlite(p, s, table),
    }[kind]  # fmt: skip
    with engine_errors(shown):
        out = opener(paths, shown)
    out.files, out.kind = tuple(paths), kind
    return out


def _kind(path: Path) -> str:
    with path.open("rb") as file:
        head = file.read(16)
    if head[:4] == b"PAR1":
        return "parquet"
    if head == b"SQLite format 3\0":
        return "sqlite"
    if head[8:12] == b"DUCK":
        return "duckdb"
    if named(path, "json"):
        return "json"
    if named(path, "parquet", "database"):
        raise PanelError(f"{clean(str(path), 200)} is damaged or not what its name says: its first bytes do not fit.")
    if named(path, "excel") or path.name.lower().endswith(".numbers"):
        raise PanelError(f"{clean(str(path), 200)} is a spreadsheet. Save the sheet with the scores as CSV (UTF-8).")
    if head[:4] == b"PK\3\4":
        raise PanelError(f"{clean(str(path), 200)} is a zip archive. Unpack it and name the file inside.")
    if named(path, "csv") or b"\0" not in head or head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "csv"
    raise PanelError(
        f"{clean(str(path), 200)} is of no known kind. Scores can be CSV, Parquet, JSON lines, or a table of a "
        "DuckDB or SQLite file."
    )


@dataclass(frozen=True)
class Head:
    """The start of a CSV file: its columns and delimiter, and the lines above the header, which are no part of it."""

    columns: list[str]
    delimiter: str
    above: list[str]


def csv_head(path: Path) -> Head:
    """The head of a CSV file, from its first lines."""
    shown = clean(str(path), 200)
    try:
        start = _start(path, 1 << 16)
    except (OSError, EOFError) as error:
        raise PanelError(f"{shown} cannot be read: {clean(error, 120)}.") from None
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise PanelError(f"{shown} is not UTF-8 text but UTF-16. Save the file as UTF-8 and retry.")
    text = start.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    if not text.strip():
        raise PanelError(f"{shown} is empty.")
    whole = list(io.StringIO(text, newline=""))
    lines = [line.rstrip("\r\n") for line in whole]
    above = _above_header(lines)
    delimiter = _delimiter(lines[above])
    header = next(csv.reader(whole[above:], delimiter=delimiter))
    header = [title or f"column{i}" for i, title in enumerate(header)]  # as a data frame's index is written
    if "�" in "".join(header):
        raise PanelError(f"{shown}, line {above + 1} is not UTF-8 text. Save the file as UTF-8 and retry.")
    check_names(header, shown, " If two header lines name a column together, join them: en and gpt become en_gpt.")
    if len(header) == 1 and len(header[0].split()) > 2:
        raise PanelError(
            f"{shown} has one column, {clean(header[0])!r}. Columns are divided by commas, tabs, semicolons or |; save "
            "the file with one of them."
        )
    return Head(header, delimiter, lines[:above])


def check_names(columns: list[str], where: str, more: str = "") -> None:
    """An error when two columns have one name."""
    twice = sorted(n for n in columns if columns.count(n) > 1)
    if twice:
        raise PanelError(f"{where} has two columns named {clean(twice[0])!r}. Rename one of them.{more}")


NUMBER = re.compile(r"\s*[-+]?[0-9]+([.,][0-9]+)?\s*")


def _delimiter(line: str) -> str:
    """What divides the fields of a line: most frequent outside quotes."""
    return max(",\t;|", key=re.sub(r'"[^"]*("|$)', "", line).count)


def _above_header(lines: list[str]) -> int:
    """How many lines stand above the header: comments, Excel's `sep=`, titles over a table, empty lines."""
    for at, line in enumerate(lines[:MOST_ABOVE]):
        after = next((later for later in lines[at + 1 :] if later.strip()), "")
        fields, below = line.split(_delimiter(line)), after.split(_delimiter(after))
        if line.startswith("#"):
            is_header = len(fields) > 2 and len(fields) == len(below) and any(map(NUMBER.fullmatch, below))
        elif not line.strip() or re.fullmatch("sep=.", line.strip()):
            is_header = False
        else:
            rest = lines[at + 1 : MOST_ABOVE + 1]
            is_header = len(fields) > 1 or not any(later.count(_delimiter(later)) > 1 for later in rest)
        if is_header:
            return at
    return 0


def _csv_relation(path: Path, head: Head) -> str:
    """One CSV file with every column as text, as it is written. Nothing is guessed."""
    columns = ", ".join(f"{quote(n)}: 'VARCHAR'" for n in head.columns)
    return (
        f"read_csv({quote(literal(path))}, auto_detect = false, header = true, columns = {{{columns}}}, "
        f"delim = {quote(head.delimiter)}, quote = '\"', escape = '\"', skip = {len(head.above)}, {NO_HIVE})"
    )


def _csv(paths: list[Path], where: str) -> Source:
    for path in paths:
        weigh(path)
    heads = [csv_head(p) for p in paths]
    columns = heads[0].columns
    chosen, parts = ", ".join(map(name, columns)), []
    for path, head in zip(paths, heads, strict=True):
        if set(head.columns) != set(columns):
            odd = sorted(set(head.columns) ^ set(columns))[0]
            raise PanelError(
                f"{clean(str(path), 200)} and {clean(str(paths[0]), 200)} have different columns "
                f"(such as {clean(odd)!r}). Give the files the same columns."
            )
        parts.append(f"SELECT {chosen}, {quote(str(path))} AS {FILE} FROM {_csv_relation(path, head)}")
    above = [line for head in heads for line in head.above]
    first = 2 + len(above) if len(paths) == 1 else None
    relation = f"({' UNION ALL '.join(parts)})"
    found = Source(connect(_size(paths)), relation, columns, where, "rowid", first, spool=True, above=above)
    found.delimiter = heads[0].delimiter
    return found


def _json(paths: list[Path], where: str) -> Source:
    for path in paths:
        if path.name.lower().endswith(".gz"):
            weigh(path)
    con = connect(_size(paths))
    files = _list(paths)
    found = con.sql(
        f"SELECT * FROM read_json({files}, maximum_depth = 1, sample_size = -1, union_by_name = true, {NO_HIVE})"
    )
    columns = list(found.columns)
    is_list = _start(paths[0], 64).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"["
    first = 1 if len(paths) == 1 and not is_list else None
    relation, as_json = (
        f"read_json({files}, columns = {{{', '.join(f'{quote(n)}: {quote(kind)}' for n in columns)}}}, "
        f"filename = {quote(FILE)}, {NO_HIVE})"
        for kind in ("VARCHAR", "JSON")
    )
    return Source(con, relation, columns, where, "rowid", first, spool=True, as_json=as_json)


def _size(paths: list[Path]) -> int:
    """Bytes of files, unpacked as far as one can say beforehand."""
    packed = (".gz", ".parquet", ".pq")
    return sum(path.stat().st_size * (20 if path.name.lower().endswith(packed) else 1) for path in paths)


def _list(paths: list[Path]) -> str:
    return "[" + ", ".join(quote(literal(p)) for p in paths) + "]"


def _start(path: Path, size: int) -> bytes:
    """The first bytes of a file, unpacked."""
    with gzip.open(path, "rb") if path.name.lower().endswith(".gz") else path.open("rb") as file:
        return file.read(size)


def _parquet(paths: list[Path], where: str) -> Source:
    con = connect(_size(paths))
    files = _list(paths)
    _same_types(con, files, paths)
    relation = f"read_parquet({files}, union_by_name = true, {NO_HIVE}, filename = {quote(FILE)})"
    columns = [c for c in con.sql(f"SELECT * FROM {relation} LIMIT 0").columns if c != FILE]
    # Row groups of up to 2^40 rows per file: a place that grows along the file and from file to file.
    return Source(con, relation, columns, where, "(file_index::BIGINT * 1099511627776 + file_row_number)")


def _same_types(con: Any, files: str, paths: list[Path]) -> None:
    """A column must be text in all files, or a number in all files."""
    if len(paths) == 1:
        return
    rows = con.execute(
        f"SELECT name, file_name, type, logical_type FROM parquet_schema({files}) WHERE num_children IS NULL"
    ).fetchall()
    seen: dict[str, tuple[str, str]] = {}
    for column, file, kind, logical in rows:
        is_text = "String" in str(logical) or (kind == "BYTE_ARRAY" and "Decimal" not in str(logical))
        family = "text" if is_text else "whole numbers" if str(kind).startswith("INT") else "numbers"
        before = seen.setdefault(column, (family, file))
        if before[0] != family and "text" in (before[0], family):
            raise PanelError(
                f"Column {clean(column)!r} changes its type between files: it is {before[0]} in "
                f"{clean(before[1], 200)} and {family} in {clean(file, 200)}. Write the files with one type."
            )


def _duckdb(paths: list[Path], where: str, table: str | None) -> Source:
    con = connect()
    con.execute(f"SET max_temp_directory_size = '{VIEW_SPILL}'")
    con.execute(f"ATTACH {quote(os.path.abspath(_one(paths, where)))} AS scores_db (TYPE duckdb, READ_ONLY)")
    # From here on the file is data: its views reach no other file, no network and no setting.
    con.execute("SET enable_external_access = false")
    con.execute("SET lock_configuration = true")
    rows = con.execute(
        "SELECT schema_name, table_name, 'table' FROM duckdb_tables() WHERE database_name = 'scores_db' UNION ALL "
        "SELECT schema_name, view_name, 'view' FROM duckdb_views() WHERE database_name = 'scores_db' AND NOT internal"
    ).fetchall()
    names = {(r[1] if r[0] == "main" else f"{r[0]}.{r[1]}"): r for r in rows}
    schema, table_name, kind = names[_pick(list(names), table, where)]
    relation = f"scores_db.{name(schema)}.{name(table_name)}"
    with time_limit(con.interrupt, where):  # what a view and its macros stand for may be a program without end
        columns = list(con.sql(f"SELECT * FROM {relation} LIMIT 0").columns)
    is_view = kind == "view"
    row = None if is_view else "rowid"
    return Source(con, relation, columns, where, row, spool=is_view, is_view=is_view, table=(schema, table_name))


def _sqlite(paths: list[Path], where: str, table: str | None) -> Source:
    """SQLite has loose types and no hash, so the chosen columns are streamed into our engine in chunks."""
    path = _one(paths, where)
    with closing(_open_sqlite(path)) as db:
        rows = db.execute(
            "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
        ).fetchall()
        chosen = _pick([r[0] for r in rows], table, where)
        columns = [d[0] for d in db.execute(f"SELECT * FROM {name(chosen)} LIMIT 0").description]
    is_view = dict(rows)[chosen] == "view"
    return Source(connect(_size([path])), f"sqlite::{chosen}", columns, where, "rowid", spool=True, is_view=is_view)


def _open_sqlite(path: Path) -> sqlite3.Connection:
    """A database of a stranger: read only, its schema runs no function with effects, its values are bounded."""
    db = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=10, check_same_thread=False)
    db.execute("PRAGMA trusted_schema = OFF")
    db.execute("PRAGMA query_only = ON")
    db.execute(f"PRAGMA hard_heap_limit = {SQLITE_MEMORY}")
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
    return db


def _one(paths: list[Path], where: str) -> Path:
    if len(paths) > 1:
        raise PanelError(f"{where} matches several database files. Name one.")
    return paths[0]


def _pick(tables: list[str], wanted: str | None, where: str) -> str:
    listed = ", ".join(clean(t) for t in tables[:20]) or "none"
    if wanted is None and len(tables) == 1:
        return tables[0]
    if wanted is None:
        raise PanelError(
            f"{where} has {len(tables)} tables ({listed}). Say which one: table=... in Python, FILE::TABLE on the "
            "command line."
        )
    if wanted not in tables:
        raise PanelError(f"{where} has no table {clean(wanted)!r}. Its tables are {listed}.")
    return wanted


def label_sql(column: str, kind: str) -> str:
    """SQL of a label as text. A whole number has no decimal point, as a spreadsheet or a gap in a column leaves it."""
    value, text = name(column), f"CAST({name(column)} AS VARCHAR)"
    if kind.startswith("DECIMAL"):
        return f"CASE WHEN {value} = floor({value}) THEN CAST(CAST({value} AS HUGEINT) AS VARCHAR) ELSE {text} END"
    if kind not in EXACT:
        return text
    lost = f"error('polyjudge: ' || {quote(clean(column))} || ' holds ' || {text})"
    return (
        f"CASE WHEN {text} = 'nan' THEN NULL WHEN abs({value}) >= {EXACT[kind]} THEN {lost} "
        f"WHEN {value} = floor({value}) THEN CAST(TRY_CAST({value} AS BIGINT) AS VARCHAR) ELSE {text} END"
    )


def number_sql(text: str) -> str:
    """SQL of a text as a number, NULL where it is none. The engine alone would read 1_10 as 110."""
    return f"CASE WHEN contains({text}, '_') THEN NULL ELSE try_cast({text} AS DOUBLE) END"


NUMBERS = (
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT",
    "FLOAT", "DOUBLE", "DECIMAL", "REAL", "BIGNUM",
)  # fmt: skip
"""Types of the engine that hold numbers."""


def is_number(kind: str) -> bool:
    """Whether a type holds single numbers."""
    return kind.startswith(NUMBERS) and "[" not in kind


def column_types(source: Source) -> dict[str, str]:
    """The columns of a source with their types."""
    relation = source.con.sql(f"SELECT * FROM {source.relation} LIMIT 0")
    return {n: str(t) for n, t in zip(relation.columns, relation.types, strict=True)}


def open_frame(frame: Any) -> Source:
    """A pandas or pyarrow table, or a stream of batches."""
    columns = list(frame.schema.names) if hasattr(frame, "schema") else [str(n) for n in frame.columns]
    check_names(columns, "The table")
    con = connect(_frame_size(frame, len(columns)))
    return Source(con, "frame::", columns, "the table", "rowid", spool=True, frame=frame)


def _frame_size(frame: Any, columns: int) -> float:
    """Bytes of a table in memory, roughly; a stream has no size."""
    return len(frame) * columns * 16 if hasattr(frame, "__len__") else math.inf


def write_parquet(frame: Any, path: Path) -> None:
    """A data frame as a Parquet file."""
    with connect(_frame_size(frame, len(frame.columns))) as con:
        con.register("polyjudge_frame", _registrable(frame, [str(c) for c in frame.columns]))
        options = "FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false"
        con.execute(f"COPY polyjudge_frame TO {quote(str(path))} ({options})")


def unlocked(source: Source) -> Source:
    """The rows of a database in a connection that may write files: its own one may not reach any.

    Rows pass as Python values into a table of the same types, in chunks.
    """
    out = Source(connect(), "spooled", list(source.columns), source.where, "rowid")
    with engine_errors(source.where), source.in_time(source.con.interrupt):
        found = source.con.sql(f"SELECT * FROM {source.relation}")
        typed = ", ".join(f"{name(c)} {kind}" for c, kind in zip(found.columns, found.types, strict=True))
        out.con.execute(f"CREATE TEMP TABLE spooled ({typed})")
        reader = source.con.execute(f"SELECT * FROM {source.relation}")
        while rows := reader.fetchmany(CHUNK):
            _append(out.con, rows, found.columns)
    source.con.close()
    out.files = source.files
    return out


def _append(con: Any, rows: Any, columns: Sequence[str]) -> None:
    import pandas as pd

    con.register("polyjudge_chunk", pd.DataFrame(rows, columns=list(columns), dtype=object))
    con.execute("INSERT INTO spooled SELECT * FROM polyjudge_chunk")
    con.unregister("polyjudge_chunk")


def head_columns(source: Source, most: int) -> dict[str, list[Any]]:
    """The first rows of a source as they are written, by column."""
    if source.frame is not None:
        return _head_of_frame(source.frame, most)
    if source.relation.startswith("sqlite::"):
        with closing(_open_sqlite(source.files[0])) as db, time_limit(db.interrupt, source.where):
            table = source.relation.removeprefix("sqlite::")
            rows = next(_chunks(db.execute(f"SELECT * FROM {name(table)} WHERE {source.test} LIMIT {most}")), [])
    else:
        chosen = ", ".join(map(name, source.columns))
        with time_limit(source.con.interrupt, source.where):
            sql = f"SELECT {chosen} FROM {source.relation} WHERE {source.test} LIMIT {most}"
            rows = source.con.execute(sql).fetchall()
    return {n: [row[i] for row in rows] for i, n in enumerate(source.columns)}


def _head_of_frame(frame: Any, most: int) -> dict[str, list[Any]]:
    if hasattr(frame, "to_pydict"):
        return dict(frame.slice(0, most).to_pydict())
    if not hasattr(frame, "head"):
        return {}  # a stream of batches cannot be looked at twice
    head = frame.head(most)
    return {str(column): list(head.iloc[:, i]) for i, column in enumerate(head.columns)}


# --- copying the chosen columns ---


def spool(source: Source, columns: Sequence[str]) -> None:
    """Copy the chosen columns into a temporary table where that is needed, rows in their order, and read from it from
    then on."""
    if not source.spool:
        return
    con, chosen = source.con, ", ".join(map(name, columns))
    if source.relation == "frame::":
        con.register("polyjudge_frame", _registrable(source.frame, list(dict.fromkeys([*columns, *source.only]))))
        con.execute(f"CREATE TEMP TABLE spooled AS SELECT {chosen} FROM polyjudge_frame WHERE {source.test}")
        con.unregister("polyjudge_frame")
    elif source.relation.startswith("sqlite::"):
        _spool_sqlite(source, columns)
    else:
        with source.in_time(con.interrupt):
            con.execute(f"CREATE TEMP TABLE spooled AS SELECT {chosen} FROM {source.relation} WHERE {source.test}")
    source.relation, source.spool = "spooled", False


def _registrable(frame: Any, columns: Sequence[str]) -> Any:
    """The chosen columns of a pandas or pyarrow table as something the engine scans. Mixed columns are text."""
    import pandas as pd

    if hasattr(frame, "schema"):
        return frame.select(list(columns)) if hasattr(frame, "slice") else frame
    by_name = {str(c): frame[c] for c in frame.columns}
    return pd.DataFrame({c: _column(by_name[c].reset_index(drop=True).rename(c)) for c in columns})


def _column(series: Any) -> Any:
    """A pandas column whose values are of one kind; objects become text, nested ones JSON."""
    if series.dtype == "category":
        series = series.astype(series.cat.categories.dtype)
    if series.dtype != object:
        return series
    missing = series.isna().to_numpy()
    kinds = {type(v) for v, gone in zip(series, missing, strict=True) if not gone}
    if kinds <= {str} or kinds <= {bool}:
        return series
    if kinds <= {int, float} and any(isinstance(v, float) and abs(v) >= EXACT["DOUBLE"] for v in series):
        return series.astype("float64")  # a label among these is refused: its last digits are lost
    texts = [None if gone else _object_text(v) for v, gone in zip(series, missing, strict=True)]
    import pandas as pd

    return pd.Series(texts, dtype=object)


def _object_text(value: Any) -> str:
    nested = isinstance(value, (dict, list))
    return json.dumps(value, default=str, ensure_ascii=False) if nested else text_of(value)


def text_of(value: Any) -> str:
    """A label as text: a whole number without its decimal point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _spool_sqlite(source: Source, columns: Sequence[str]) -> None:
    """Every value comes as text: Python writes a number so that reading it gives the same number back."""
    con, table = source.con, source.relation.removeprefix("sqlite::")
    con.execute(f"CREATE TEMP TABLE spooled ({', '.join(name(c) + ' VARCHAR' for c in columns)})")
    with closing(_open_sqlite(source.files[0])) as db, source.in_time(db.interrupt):
        cursor = db.execute(f"SELECT {', '.join(map(name, columns))} FROM {name(table)} WHERE {source.test}")
        left = budget()
        for rows in _chunks(cursor):
            left -= sum(len(v) for row in rows for v in row if isinstance(v, (str, bytes)))
            if source.is_view and left < 0:
                raise PanelError(f"The view {source.where} gives more text than memory. Copy it into a table.")
            _append(con, [[_text(v) for v in row] for row in rows], columns)


def _chunks(cursor: Any) -> Iterator[list[Any]]:
    """Rows of a cursor, as many at once as memory holds whatever their length."""
    rows, size = [], 0
    for row in cursor:
        rows.append(row)
        size += sum(len(v) for v in row if isinstance(v, (str, bytes)))
        if len(rows) == CHUNK or size > CHUNK_BYTES:
            yield rows
            rows, size = [], 0
    if rows:
        yield rows


def _text(value: Any) -> str | None:
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return None if value is None else str(value)
