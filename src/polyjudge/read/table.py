"""Where scores stand, as one table that is asked in SQL: by a DuckDB connection that reaches no other file."""

from __future__ import annotations

import atexit
import csv
import glob
import gzip
import io
import json
import os
import re
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyjudge.base import limits
from polyjudge.base.errors import PanelError, TooLarge, UsageError
from polyjudge.base.later import framed
from polyjudge.base.signals import Terminated, kept_back
from polyjudge.base.text import count, name, names, redact
from polyjudge.read.columns import usual

if TYPE_CHECKING:
    import pandas as pd

SMALL = 64 << 20
"""Bytes of a file that one thread reads: to divide little work is more work."""
PEEK = 1 << 18
"""Bytes at the start of a file that are looked at."""
KINDS = {
    "csv": (".csv", ".tsv", ".txt", ".tab", ".psv"), "json": (".json", ".jsonl", ".ndjson"),
    "parquet": (".parquet", ".pq"), "excel": (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"),
    "database": (".duckdb", ".ddb", ".db", ".sqlite", ".sqlite3", ".db3"), "eval": (".eval",),
}  # fmt: skip
SECONDS = 60.0
"""A view of a database file is somebody's program: it may run so long."""


def engine() -> Any:
    """DuckDB, loaded whole."""
    with kept_back():
        import duckdb
    return duckdb


def quote(text: object) -> str:
    """Text as an SQL string."""
    return "'" + str(text).replace("'", "''") + "'"


def pattern(path: Path) -> str:
    """A path as an SQL string that names this file alone."""
    return quote(glob.escape(str(path)))


def ident(column: str) -> str:
    """A column as an SQL identifier."""
    return '"' + column.replace('"', '""') + '"'


@dataclass
class Table:
    """A table whose columns are not chosen yet.

    relation : what stands after FROM, in SQL of DuckDB
    columns : name -> (SQL of the column, its type as DuckDB calls it); a field of a record has a dotted name
    spool : reading it is costly, so that the chosen columns are copied once
    notes : what had to be done to read it
    """

    con: Any
    relation: str
    columns: dict[str, tuple[str, str]]
    where: str
    spool: bool = False
    notes: list[str] = field(default_factory=list)
    ibis: Any = None
    """The table of another engine; `relation` stands for it."""
    tool: str = ""

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        with engine_errors(self.where):
            return list(self.con.execute(sql).fetchall())

    def frame(self, columns: Mapping[str, str], rest: str) -> pd.DataFrame:
        """Columns, by name, of what stands after FROM."""
        return framed(self.rows(f"SELECT {', '.join(columns.values())} FROM {rest}"), list(columns))

    def arrays(self, sql: str) -> dict[str, Any]:
        """The columns of a query as arrays."""
        with engine_errors(self.where):
            found: dict[str, Any] = self.con.execute(sql).fetchnumpy()
        return found

    def run(self, sql: str, *values: Any) -> None:
        """A statement without a result."""
        with engine_errors(self.where):
            self.con.execute(sql, *values)

    def keep(self, into: str, sql: str) -> str:
        """What stands after FROM for the rows of a query: a temporary table here, the query elsewhere."""
        if self.ibis is not None:
            return f"({sql}) AS {into}"
        self.run(f"CREATE OR REPLACE TEMP TABLE {into} AS {sql}")
        return into


@contextmanager
def engine_errors(where: str) -> Iterator[None]:
    """What the engine says about a file, as one sentence."""
    duckdb = engine()

    try:
        yield
    except duckdb.OutOfMemoryException:
        raise TooLarge(
            f"{where} needs more memory or room for temporary files than there is. Allow more ({limits.VARIABLE}=16GB)."
        ) from None
    except RuntimeError as error:
        if str(error) != "Query interrupted":
            raise
        ended = signal.getsignal(signal.SIGTERM) is signal.SIG_IGN  # the engine hides what the signal raised
        raise (Terminated if ended else KeyboardInterrupt) from None
    except (duckdb.Error, UnicodeDecodeError) as error:
        text = str(error)
        line = re.search(r"Line: (\d+)", text)
        at = f", line {line[1]}" if line else ""
        found = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text)
        first = re.sub(r"\s+", " ", redact(text).split("\n")[0])
        said = f" cannot be read: {name(first, 160)}."
        if found:
            said = f" has {found[2]} fields, the header {found[1]}. Mend that line, or quote its text."
        elif "Invalid unicode" in text:
            said = " is not in UTF-8. Save the file in UTF-8."
        elif "state machine" in text:
            said = " has several kinds of line ends, or quotation marks that are not closed. Save it anew as CSV."
        elif "unterminated quote" in text:
            said = ": a quotation mark is not closed. Mend that line."
        elif line and "Maximum line size" in text:
            said = " is too long, or a quotation mark before it is not closed."
        raise PanelError(f"{where}{at}{said}") from None


def label_sql(value: str, kind: str) -> str:
    """SQL of a label as text: an empty one is none, a whole number has no decimal point."""
    text = f"trim(CAST({value} AS VARCHAR))"
    if kind.startswith(("DOUBLE", "FLOAT", "DECIMAL")):
        return f"nullif(regexp_replace({text}, '[.]0+$', ''), 'nan')"
    return f"nullif({text}, '')"


def stacked(table: Table, values: Sequence[str], raw: str, more: str = "") -> str:
    """A query of values one below the other, each with its place."""
    if table.ibis is None:
        return f"SELECT {more}unnest([{', '.join(values)}]) AS v, unnest(range({len(values)})) AS place FROM {raw}"
    return " UNION ALL ".join(f"SELECT {more}{v} AS v, {i} AS place FROM {raw}" for i, v in enumerate(values))


# --- opening ---


outputs: list[Path] = []
"""What connections may also write."""


def connect(files: Sequence[Path] = (), frame_rows: int = 0) -> Any:
    """A DuckDB connection of our own that may reach these files only."""
    said = os.environ.get(limits.VARIABLE)
    memory = limits.budget() * 3 // 4 if said else min(1200 << 20, limits.budget() // 2)
    size = (
        sum(p.stat().st_size * (8 if p.suffix in (".gz", ".parquet", ".pq") else 1) for p in files if p.exists())
        + frame_rows * 64
    )
    con = engine().connect()
    spill = Path(tempfile.gettempdir()) / f"polyjudge-{os.getpid()}"
    for setting, value in (
        ("autoinstall_known_extensions", "false"),
        ("autoload_known_extensions", "false"),
        ("enable_external_file_cache", "false"),  # a file may change between two readings
        ("memory_limit", quote(f"{memory >> 20}MiB")),
        ("temp_directory", quote(spill)),
        ("enable_progress_bar", "false"),
        ("allowed_paths", f"[{', '.join(f(p) for p in (*files, *outputs) for f in (quote, pattern))}]"),
    ):
        con.execute(f"SET {setting} = {value}")
    if size < SMALL:
        con.execute("SET threads = 1")
    return con


def lock(con: Any) -> Any:
    """From here on nothing but what is named is reached, and no setting changes."""
    con.execute("SET enable_external_access = false")
    con.execute("SET lock_configuration = true")
    return con


def open_table(source: Any, engine: str | None = None) -> Table:
    """A source as a table. Files of evaluation tools become long tables here."""
    text, module = str(source), type(source).__module__.partition(".")[0]
    named = isinstance(source, (str, Path))
    if module in ("ibis", "pyspark") or (named and ("://" in text or engine == "spark")):
        from polyjudge.read.warehouse import open_foreign

        return open_foreign(text if named else source, engine)
    if named:
        return _open_files([_standard_input()], None, "standard input") if text == "-" else _open_path(text)
    if isinstance(source, (list, tuple)) and source and all(isinstance(x, (str, Path)) for x in source):
        return _open_files([_there(Path(x)) for x in source], None, f"{len(source)} files")
    return open_frame(source)


def _there(path: Path) -> Path:
    if not path.exists():
        raise PanelError(f"{name(path, 200)} does not exist. Check the path.")
    if not path.is_file() and not path.is_dir():
        raise PanelError(f"{name(path, 200)} is not an ordinary file. Name a file.")
    return path.absolute()


def _standard_input() -> Path:
    """What comes in, as a temporary file."""
    data = sys.stdin.buffer.read()
    if not data.strip():
        raise PanelError("Nothing came in on standard input. Name a file, or send scores to it.")
    handle, path = tempfile.mkstemp(suffix=".gz" if data[:2] == b"\x1f\x8b" else "")
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    atexit.register(lambda: Path(path).unlink(missing_ok=True))
    return Path(path)


def kind_of(path: Path) -> str:
    """What kind of file it is, by its name, else by its first bytes."""
    plain, first = path.name.lower().removesuffix(".gz"), start(path, 64)
    for kind, ends in KINDS.items():
        if plain.endswith(ends) and not (plain.endswith(".txt") and first.lstrip()[:1] in (b"{", b"[")):
            return kind
    if first[:4] == b"PAR1":
        return "parquet"
    if first[:15] == b"SQLite format 3" or first[8:12] == b"DUCK":
        return "database"
    return "json" if first.lstrip()[:1] in (b"{", b"[") else "csv"


def opened(path: Path) -> Any:
    """A file, unpacked."""
    return gzip.open(path, "rb") if path.name.lower().endswith(".gz") else path.open("rb")


def start(path: Path, size: int = PEEK) -> bytes:
    """The first bytes of a file, unpacked."""
    try:
        with opened(path) as file:
            return bytes(file.read(size))
    except (OSError, EOFError, zlib.error) as error:
        raise PanelError(f"{name(path, 200)} cannot be read: {getattr(error, 'strerror', '') or error}.") from None


def _open_path(text: str) -> Table:
    path, _, inner = text.partition("::") if "::" in text and not Path(text).exists() else (text, "", "")
    here = Path(path).expanduser()
    if (here / "polyjudge-run.json").is_file():  # a folder of `polyjudge collect`
        here = here / "scores.csv"
        if not here.exists():
            raise PanelError(
                f"{name(path, 200)} is a run without scores.csv: it was killed. Collect into it once more."
            )
        return _open_run(here, name(path, 200))
    if here.is_dir():
        ends = sum(KINDS.values(), ())
        found = [p for p in sorted(here.rglob("*")) if p.name.lower().removesuffix(".gz").endswith(ends)]
        found = [p for p in found if p.is_file() and not p.name.startswith((".", "_"))]
        if not found:
            raise PanelError(f"The folder {name(path, 200)} holds no file of scores. Name a file.")
    elif not here.exists() and glob.has_magic(path):
        found = sorted(map(Path, glob.glob(str(here), recursive=True)))
        if not found:
            raise PanelError(f"No file is called {name(path, 200)}. Check the path.")
    else:
        found = [here]
    return _open_files([_there(p) for p in found], inner or None, name(path, 200))


def _open_run(path: Path, where: str) -> Table:
    """The scores of a run, and a note on what has none: the panel cannot show it."""
    table = _open_files([path], None, where)
    for column in ("judge", "language", "wording", "system", "task"):
        if {column, "score", "missing"} <= set(table.columns):
            what, score, why = (table.columns[c][0] for c in (column, "score", "missing"))
            first = f"coalesce(min({why}) FILTER (WHERE {why} <> 'not asked'), 'not asked')"
            found = f"SELECT {what}, count(*), {first} FROM {table.relation} GROUP BY 1 HAVING count({score}) = 0"
            if rows := table.rows(f"{found} ORDER BY 2 DESC, 1"):
                lost = f"{names(r[0] for r in rows)} ({sum(r[1] for r in rows):,} missing: {name(rows[0][2], 80)})"
                verb = "has" if len(rows) == 1 else "have"
                table.notes.append(f"{count(len(rows), column)} of this run {verb} no score: {lost}.")
    return table


def _open_files(paths: list[Path], inner: str | None, where: str) -> Table:
    """Files as a table, by their kind."""
    from polyjudge.read import tools

    for path in paths:
        if path.stat().st_size == 0:
            raise PanelError(f"{name(path, 200)} is empty.")
    kinds = {kind_of(p) for p in paths}
    if len(kinds) > 1:
        raise PanelError(f"{where} holds files of several kinds ({names(sorted(kinds))}). Name files of one kind.")
    kind = kinds.pop()
    found = tools.read(paths, where) if kind in ("json", "eval", "csv") else None
    if found is not None:
        return found
    if kind in ("csv", "json"):
        return (_open_csv if kind == "csv" else _open_json)(paths, where)
    if kind == "parquet":
        more = f"union_by_name = {str(len(paths) > 1).lower()}, hive_partitioning = false"
        return _described(lock(connect(paths)), f"read_parquet([{', '.join(map(pattern, paths))}], {more})", where)
    if len(paths) > 1:
        raise PanelError(f"{where} holds several files of the kind {paths[0].suffix}. Name one.")
    if kind == "database":
        return _open_database(paths[0], inner, where)
    from polyjudge.read.excel import read_excel

    return open_frame(read_excel(paths[0], inner), where)


# --- CSV ---


def csv_head(path: Path) -> tuple[list[str], str, int, str]:
    """Columns, delimiter, lines above the header (titles and comments) and encoding of a CSV file."""
    data = start(path)
    shown = name(path, 200)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
    elif b"\0" in data[:4096]:
        raise PanelError(f"{shown} looks like UTF-16 without its mark, or is not text. Save it as CSV in UTF-8.")
    else:
        try:
            data.decode("utf-8")
            encoding = "utf-8"
        except UnicodeDecodeError as error:
            encoding = "utf-8" if error.start > len(data) - 4 and len(data) == PEEK else "cp1252"
    mixed = b"\r\n" in data and re.search(rb"[^\r]\n", data) is not None
    text = data.decode(encoding, "ignore").lstrip("\ufeff")
    lines = text.splitlines()
    skip = _lines_above(lines)
    delimiter = _delimiter(lines[skip]) if lines[skip : skip + 1] else ","
    csv.field_size_limit(1 << 30)
    columns = next(csv.reader(io.StringIO("\n".join(lines[skip : skip + 50])), delimiter=delimiter), [])
    columns = [c.strip().removeprefix("# ") if i == 0 else c.strip() for i, c in enumerate(columns)]
    columns = apart([c or f"column {i + 1}" for i, c in enumerate(columns)], shown)
    return columns, delimiter, skip, "utf-8 " if mixed and encoding == "utf-8" else encoding


def apart(columns: list[str], where: str) -> list[str]:
    """Names that differ by more than their case, which the engine does not see."""
    out: dict[str, str] = {}
    for i, column in enumerate(columns):
        if out.get(column.casefold()) == column:
            raise PanelError(f"{where} has two columns called {name(column)}. Rename one of them.")
        called = f"{column} ({i + 1})" if column.casefold() in out else column
        out[called.casefold()] = called
    return list(out.values())


def _copied(path: Path, encoding: str) -> Path:
    """A copy in UTF-8 with one kind of line ends."""
    handle, copy = tempfile.mkstemp(suffix=".csv")
    atexit.register(lambda: Path(copy).unlink(missing_ok=True))
    with (
        io.TextIOWrapper(opened(path), encoding.strip(), "replace") as text,
        open(handle, "w", encoding="utf-8") as out,
    ):
        shutil.copyfileobj(text, out)
    return Path(copy)


def _delimiter(line: str) -> str:
    """What divides the fields of a line: most frequent outside quotes."""
    return max(",\t;|", key=re.sub(r'"[^"]*("|$)', "", line).count)


def _lines_above(lines: Sequence[str]) -> int:
    """How many lines stand above the header: comments, Excel's `sep=`, a title over the table, empty lines."""
    for at, line in enumerate(lines[:20]):
        below = next((later for later in lines[at + 1 :] if later.strip()), "")
        fields = line.count(_delimiter(line))
        if not line.strip() or re.fullmatch("sep=.", line.strip()):
            continue
        if line.startswith("#") and not (fields and fields == below.count(_delimiter(line)) and "#" not in below[:1]):
            continue
        if fields or not any(later.count(_delimiter(later)) > 1 for later in lines[at + 1 : 21]):
            return at
    return 0


def _open_csv(paths: list[Path], where: str) -> Table:
    heads = [csv_head(p) for p in paths]
    columns = heads[0][0]
    parts: list[str] = []
    notes: list[str] = []
    read = [p if h[3] == "utf-8" else _copied(p, h[3]) for p, h in zip(paths, heads, strict=True)]
    for path, (own, delimiter, skip, encoding) in zip(paths, heads, strict=True):
        if odd := sorted({*own} ^ {*columns}):
            raise PanelError(
                f"{name(path, 200)} and {name(paths[0], 200)} have different columns (such as {name(odd[0])}). Give "
                "the files the same columns."
            )
        if encoding == "cp1252" and not notes:
            notes.append(f"{name(path, 200)} is not in UTF-8; it was read as Latin-1 (Windows-1252).")
        types = ", ".join(f"{quote(c)}: 'VARCHAR'" for c in own)  # as it is written: nothing is guessed
        parts.append(
            f"SELECT * FROM read_csv({pattern(read[len(parts)])}, auto_detect = false, header = true, "
            f"columns = {{{types}}}, delim = {quote(delimiter)}, quote = '\"', escape = '\"', skip = {skip}, "
            "hive_partitioning = false, max_line_size = 16777216)"
        )
    columns_sql = {c: (ident(c), "VARCHAR") for c in columns}
    return Table(lock(connect(read)), f"({' UNION ALL BY NAME '.join(parts)})", columns_sql, where, True, notes)


# --- JSON and Parquet ---


def _open_json(paths: list[Path], where: str) -> Table:
    """JSON lines, a list, or documents around lists of records."""
    for path in paths:
        if b"\0" in start(path, 4096):
            raise PanelError(f"{name(path, 200)} looks like UTF-16. Save it in UTF-8.")
    most = max(64 << 20, *(p.stat().st_size * (20 if p.suffix == ".gz" else 1) + 1 for p in paths))
    options = (
        "sample_size = -1, union_by_name = true, hive_partitioning = false, convert_strings_to_integers = false, "
        "field_appearance_threshold = 0, map_inference_threshold = -1, dateformat = 'no date %Y', "
        f"timestampformat = 'no time %Y', maximum_object_size = {min(most, 1 << 30)}"
    )
    relation = f"read_json([{', '.join(map(pattern, paths))}], {options})"
    return _described(lock(connect(paths)), relation, where, spool=True)


def records(path: Path) -> list[dict[str, Any]]:
    """The records of a JSON file: of a list, of lines, or one."""
    shown = name(path, 200)
    limits.require(path.stat().st_size * (60 if path.suffix == ".gz" else 8), shown)
    data = start(path, -1)
    try:
        text = data.decode("utf-8-sig")
        try:
            whole = json.loads(text)
        except ValueError:
            whole = [json.loads(line) for line in text.split("\n") if line.strip()]
    except RecursionError:
        raise PanelError(f"{shown} is nested too deep to be scores.") from None
    except ValueError as error:
        raise PanelError(f"{shown} is not valid JSON: {name(error, 100)}.") from None
    found: list[Any] = whole if isinstance(whole, list) else [whole]
    for record in found:
        if not isinstance(record, dict):
            raise PanelError(f"{shown} holds {name(repr(record), 40)} where a record should be.")
    return found


def flat(value: Mapping[str, Any], prefix: str = "", depth: int = 5) -> dict[str, Any]:
    """Nested records as dotted columns; lists are left out."""
    out: dict[str, Any] = {}
    for key, inner in value.items():
        if isinstance(inner, Mapping) and depth > 1:
            out |= flat(inner, f"{prefix}{key}.", depth - 1)
        elif inner is None or isinstance(inner, (str, int, float, bool)):
            out[f"{prefix}{key}"] = inner
    return out


def _described(con: Any, relation: str, where: str, spool: bool = False) -> Table:
    """A table whose columns the engine knows. Fields of records get dotted names; of JSON, the only list of records is
    taken apart, each record with what stands around it."""
    table = Table(con, relation, {}, where, spool)
    with engine_errors(where):
        found = con.sql(f"SELECT * FROM {relation} LIMIT 0")
    lists = _add(table, [(c, ident(c), k) for c, k in zip(found.columns, found.types, strict=True)])
    single = spool and len(table.rows(f"SELECT 1 FROM {relation} LIMIT 2")) == 1
    if single and not lists and table.columns and all("." in c for c in table.columns):
        raise PanelError(f"{where} is one record that holds records. Write a list of records, each with all its keys.")
    for depth in range(4):
        scored = [x for x in lists if usual("score", [c for c, _ in x[2].children[0][1].children])]
        lists = lists if len(lists) == 1 else scored
        if not spool or len(lists) != 1:
            break
        called, sql, kind = lists[0]
        fields = [c for c, _ in kind.children[0][1].children]
        if usual("score", table.columns) and not (single or usual("score", fields)):
            break  # what the answer came with: tool calls, documents
        one = f"polyjudge_record_{depth}"
        every = f"CASE WHEN len({sql}) > 0 THEN {sql} ELSE [NULL] END"
        table.relation = f"(SELECT *, unnest({every}) AS {one} FROM {table.relation})"
        inner = [(c, f"{one}.{ident(c)}", k) for c, k in kind.children[0][1].children]
        said = {c for c, _, _ in inner} if single else set()  # of the whole document, what its records say as well
        table.columns = {c: x for c, x in table.columns.items() if c.split(".")[-1] not in said}
        lists = _add(table, [(f"{called}.{c}" if c in table.columns else c, own, k) for c, own, k in inner])
    if not table.columns:
        raise PanelError(f"{where} holds no records with columns. Write a list of records.")
    return table


def _add(table: Table, columns: list[tuple[str, str, Any]], depth: int = 4) -> list[tuple[str, str, Any]]:
    """Add columns (name, SQL, type), and of records their fields; returns lists of records."""
    lists = []
    for column, sql, kind in columns:
        if kind.id == "struct" and depth:
            lists += _add(table, [(f"{column}.{c}", f"{sql}.{ident(c)}", k) for c, k in kind.children], depth - 1)
        elif kind.id == "list" and kind.children[0][1].id == "struct":
            lists.append((column, sql, kind))
        elif str(kind) == "JSON":  # of several types: without the quotation marks
            table.columns[column] = (f"({sql} ->> '$')", "VARCHAR")
        elif kind.id not in ("list", "map", "array", "blob", "union", "struct"):
            table.columns[column] = (sql, str(kind))
    return lists


# --- databases ---


def _open_database(path: Path, inner: str | None, where: str) -> Table:
    if start(path, 16)[:15] == b"SQLite format 3":
        return _open_sqlite(path, inner, where)
    con = connect([path, path.with_name(path.name + ".wal")])
    with engine_errors(where):
        con.execute(f"ATTACH {quote(path)} AS scores_db (TYPE duckdb, READ_ONLY)")
        con.execute("SET max_temp_directory_size = '8GiB'")  # a view may be made to fill the disk
        lock(con)
        rows = con.execute(
            "SELECT schema_name, table_name, false FROM duckdb_tables() WHERE database_name = 'scores_db' UNION ALL "
            "SELECT schema_name, view_name, true FROM duckdb_views() WHERE database_name = 'scores_db' AND NOT internal"
        ).fetchall()
    found = {(r[1] if r[0] == "main" else f"{r[0]}.{r[1]}"): r for r in rows}
    schema, chosen, is_view = found[_pick(list(found), inner, where)]
    relation = f"scores_db.{ident(schema)}.{ident(chosen)}"
    if is_view:
        with time_limit(con.interrupt, where), limits.held(), engine_errors(where):
            con.execute(f"CREATE TEMP TABLE view_rows AS SELECT * FROM {relation}")
        relation = "view_rows"
    return _described(con, relation, where)


def _open_sqlite(path: Path, inner: str | None, where: str) -> Table:
    """SQLite has loose types, so its values come as text; a database of a stranger runs no function with effects."""
    import pandas as pd

    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=10)) as db:
            for pragma in ("trusted_schema = OFF", "query_only = ON", f"hard_heap_limit = {256 << 20}"):
                db.execute(f"PRAGMA {pragma}")
            db.text_factory = lambda data: data.decode("utf-8", "replace")
            listed = db.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
            )
            chosen = _pick([str(r[0]) for r in listed], inner, where)
            with time_limit(db.interrupt, where):
                cursor = db.execute(f"SELECT * FROM {ident(chosen)}")
                columns = [str(d[0]) for d in cursor.description]
                con = connect((), 1 << 20)
                typed = ", ".join(f"{ident(c)} VARCHAR" for c in columns)
                con.execute(f"CREATE TEMP TABLE sqlite_rows ({typed})")
                while rows := cursor.fetchmany(50_000):
                    texts = [[None if v is None or isinstance(v, bytes) else str(v) for v in row] for row in rows]
                    con.append("sqlite_rows", pd.DataFrame(texts, columns=columns, dtype=object))
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise PanelError(f"{where} cannot be read: {name(error, 120)}. The file may be damaged.") from None
    return Table(lock(con), "sqlite_rows", {c: (ident(c), "VARCHAR") for c in columns}, where)


def _pick(tables: list[str], wanted: str | None, where: str) -> str:
    if wanted is None and len(tables) != 1:
        raise PanelError(f"{where} has {len(tables)} tables ({names(tables, 12)}). Say which one: {where}::TABLE.")
    if wanted is not None and wanted not in tables:
        raise PanelError(f"{where} has no table {name(wanted)}. Its tables are {names(tables, 12)}.")
    return wanted or tables[0]


@contextmanager
def time_limit(interrupt: Any, where: str) -> Iterator[None]:
    """Interrupt an engine that works too long on a view."""
    import threading

    end, timer = time.monotonic() + SECONDS, threading.Timer(SECONDS, interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    except Exception:
        if time.monotonic() >= end:
            raise PanelError(f"{where} did not end within {SECONDS:g} seconds. Copy the view into a table.") from None
        raise
    finally:
        timer.cancel()


# --- frames ---


def open_frame(source: Any, where: str = "the table") -> Table:
    """pandas, Polars, Arrow, a Hugging Face dataset, a list of records: as DuckDB scans them."""
    import pandas as pd

    frame: Any = source
    if isinstance(source, list) and source and all(hasattr(x, "column_names") for x in source):
        import pyarrow as pa

        frame = pa.concat_tables(source)
    if type(source).__name__ in ("DatasetDict", "IterableDatasetDict"):
        raise UsageError(
            f"This is a dictionary of datasets ({names(source)}). Give one of them: data[{next(iter(source))!r}]."
        )
    if type(source).__module__.startswith("datasets"):
        frame = source.with_format("arrow")[:]
    for made in ("collect", "to_arrow", "read_all"):  # Polars, and a reader of Arrow
        frame = getattr(frame, made)() if hasattr(frame, made) and not isinstance(frame, pd.DataFrame) else frame
    if isinstance(frame, Mapping) or (isinstance(frame, list) and all(isinstance(r, Mapping) for r in frame)):
        try:
            frame = pd.DataFrame(frame)
        except ValueError as error:
            raise UsageError(f"These records are not a table: {name(error, 120)}.") from None
    is_arrow = hasattr(frame, "schema") and hasattr(frame, "column_names")
    if isinstance(frame, pd.DataFrame) and frame.columns.nlevels > 1:
        frame = frame.set_axis(["_".join(filter(None, map(str, c))) for c in frame.columns], axis=1)
    if not is_arrow and not isinstance(frame, pd.DataFrame):
        raise UsageError(
            "Scores are read from a file, a data frame, an Arrow table or an Ibis table, not from "
            f"{type(source).__name__}."
        )
    if not is_arrow and [n for n in frame.index.names if n is not None]:
        frame = frame.reset_index(allow_duplicates=True)
    columns = apart([str(c) for c in (frame.column_names if is_arrow else frame.columns)], where)
    if not len(frame):
        raise PanelError(f"{where} has no rows.")
    if not is_arrow:
        frame = pd.DataFrame({c: plain_column(frame.iloc[:, i].reset_index(drop=True)) for i, c in enumerate(columns)})
    elif columns != frame.column_names:
        frame = frame.rename_columns(columns)
    con = connect((), len(frame) * max(len(columns), 1))
    with engine_errors(where):
        con.register("polyjudge_frame", frame)
    return _described(lock(con), "polyjudge_frame", where)


def plain_column(series: Any) -> Any:
    """A column of pandas as the engine reads it: numbers and dates as they are, all else as text."""
    import pandas as pd

    gone, kind, own = series.isna().to_numpy(), series.dtype.kind, pd.api.types.is_extension_array_dtype(series.dtype)
    if kind in "fM" or (kind in "iub" and not (own and gone.any())):
        plain = {"f": "float64", "i": "int64", "u": "uint64", "b": "bool"}.get(kind) if own else None
        return series.astype(plain) if plain else series
    return series.astype(object).map(_text, na_action="ignore").where(~gone, None)


def _text(value: Any) -> str:
    """A value as text: a whole number without its decimal point."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return json.dumps(value, default=str, ensure_ascii=False) if isinstance(value, (dict, list)) else str(value)
