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
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyjudge.base import limits
from polyjudge.base.errors import PanelError, TooLarge, UsageError
from polyjudge.base.later import framed
from polyjudge.base.signals import Terminated, kept_back
from polyjudge.base.text import count, name, names, redact
from polyjudge.read.columns import norm, usual
from polyjudge.read.unpack import PACKED, unpack

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
    "feather": (".feather", ".arrow", ".ipc"),
}  # fmt: skip
ENDS = sum(KINDS.values(), ())
BESIDE = re.compile(r"(readme|licen[cs]e|changelog|notice|citation|requirements|manifest|package)\b.*|.*[.-]lock\b.*")
"""Files that lie beside scores in a folder."""
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
    lists: list[str] = field(default_factory=list)
    """Columns called scores that hold lists, which are not read."""

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
        if "No space left on device" in text:
            raise TooLarge(
                f"The disk is full: there is no room for what is made of {where}. Free some, or put temporary files "
                "elsewhere (TMPDIR=/path)."
            ) from None
        line = re.search(r"Line: (\d+)", text)
        at = f", line {line[1]}" if line else ""
        found = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text)
        first = re.sub(r"\s+", " ", redact(text).split("\n")[0]).rstrip(". ")
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


NO_LABEL = ("nan", "NaN", "None", "N/A", "n/a", "null", "NULL", "<NA>", "#N/A")
"""What programs write for a label that is missing."""


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
    if first[:6] == b"ARROW1":
        return "feather"
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
        ends = (*ENDS, *(end + packed for end in ENDS for packed in PACKED))
        found = [p for p in sorted(here.rglob("*")) if p.name.lower().removesuffix(".gz").endswith(ends)]
        found = [p for p in found if p.is_file() and not p.name.startswith((".", "_"))]
        found = [p for p in found if not BESIDE.fullmatch(p.name.lower())]
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
    """Files as a table, by their kind; of several files with the name of each row's file as a column."""
    from polyjudge.read import tools

    paths = unpack(paths, ENDS)
    for path in paths:
        if path.stat().st_size == 0:
            raise PanelError(f"{name(path, 200)} is empty.")
    run = tools.read_run(paths, where)
    if run is not None:
        return run
    kinds = {kind_of(p) for p in paths}
    if len(kinds) > 1:
        raise PanelError(f"{where} holds files of several kinds ({names(sorted(kinds))}). Name files of one kind.")
    kind = kinds.pop()
    from_tool = tools.read(paths, where) if kind in ("json", "eval", "csv") else None
    if from_tool is not None:
        return from_tool
    if kind in ("csv", "json"):
        return (_open_csv if kind == "csv" else _open_json)(paths, where)
    if kind == "parquet":
        return _open_parquet(paths, where)
    if len(paths) > 1:
        raise PanelError(f"{where} holds several files of the kind {paths[0].suffix}. Name one.")
    if kind == "database":
        return _open_database(paths[0], inner, where)
    if kind == "feather":
        return _open_feather(paths[0], where)
    from polyjudge.read.excel import read_excel

    return open_frame(read_excel(paths[0], inner), where)


def _open_parquet(paths: list[Path], where: str) -> Table:
    more = f"union_by_name = {str(len(paths) > 1).lower()}, hive_partitioning = false, filename = {len(paths) > 1}"
    con = connect(paths)
    relation = f"read_parquet([{', '.join(map(pattern, paths))}], {more})"
    labels = _class_labels(con, paths[0], where)
    return _with_labels(_with_file_names(_described(lock(con), relation, where), paths), labels)


def _with_labels(table: Table, labels: Mapping[str, list[str]]) -> Table:
    """Numbers that stand for names, as these names."""
    for column in labels.keys() & table.columns.keys():
        cases = " ".join(f"WHEN {code} THEN {quote(label)}" for code, label in enumerate(labels[column]))
        table.columns[column] = (f"CASE {table.columns[column][0]} {cases} END", "VARCHAR")
    return table


def _class_labels(con: Any, path: Path, where: str) -> dict[str, list[str]]:
    """Columns that hold numbers of names, as Hugging Face writes them into Parquet: column -> names."""
    with engine_errors(where):
        kept = con.execute(
            f"SELECT value FROM parquet_kv_metadata({pattern(path)}) WHERE key = 'huggingface'"
        ).fetchall()
    with suppress(ValueError, KeyError, TypeError, AttributeError, IndexError):
        features = json.loads(bytes(kept[0][0]))["info"]["features"]
        return {c: list(kind["names"]) for c, kind in features.items() if kind.get("_type") == "ClassLabel"}
    return {}


def _open_feather(path: Path, where: str) -> Table:
    try:
        import pyarrow.feather as feather
    except ImportError:
        raise UsageError(f"{where} is a Feather file. Reading it needs: pip install pyarrow.") from None
    try:
        table = feather.read_table(path)
    except (OSError, ValueError) as error:
        raise PanelError(f"{where} cannot be read as Feather: {name(error, 100)}.") from None
    return open_frame(table, where)


FILE = "filename"


def _with_file_names(table: Table, paths: Sequence[Path]) -> Table:
    """Of several files: the name of each row's file as a column, without what all names share; of folders such as
    language=de the partition as columns."""
    if len(paths) < 2 or table.columns.get(FILE, (ident(FILE),))[0] != ident(FILE):
        return table
    texts = [str(path) for path in paths]
    shared = os.path.commonpath([path.parent for path in paths])
    shown = [os.path.splitext(os.path.relpath(text, shared))[0].replace(os.sep, "/") for text in texts]
    table.columns[FILE] = _by_file(texts, shown)
    for key, values in _partitions(paths).items():
        if key not in table.columns:
            table.columns[key] = _by_file(texts, values)
    return table


def _by_file(paths: Sequence[str], labels: Sequence[str]) -> tuple[str, str]:
    """SQL of a label for each file, and its type."""
    cases = " ".join(f"WHEN {quote(path)} THEN {quote(label)}" for path, label in zip(paths, labels, strict=True))
    return f"CASE {ident(FILE)} {cases} END", "VARCHAR"


def _partitions(paths: Sequence[Path]) -> dict[str, list[str]]:
    """What folders such as language=de say of each file, where all are in such folders."""
    parts = [dict(part.split("=", 1) for part in path.parent.parts if part.count("=") == 1) for path in paths]
    keys = parts[0] if all(part.keys() == parts[0].keys() for part in parts) else {}
    values = {key: [part[key] for part in parts] for key in keys}
    return {key: of_files for key, of_files in values.items() if len(set(of_files)) > 1}


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
            is_cut = error.start > len(data) - 4 and len(data) == PEEK
            encoding = "utf-8" if is_cut else _older_encoding(data, shown)
    mixed = b"\r\n" in data and re.search(rb"[^\r]\n", data) is not None
    text = data.decode(encoding, "ignore").lstrip("\ufeff")
    lines = re.split("\r\n|\r|\n", text)  # other line breaks, such as U+2028, stand inside of fields
    skip = _lines_above(lines)
    delimiter = _delimiter(lines[skip], lines[skip + 1 : skip + 12]) if lines[skip : skip + 1] else ","
    csv.field_size_limit(1 << 30)
    columns = next(csv.reader(io.StringIO("\n".join(lines[skip : skip + 50])), delimiter=delimiter), [])
    columns = [c.strip().removeprefix("# ") if i == 0 else c.strip() for i, c in enumerate(columns)]
    columns = apart([c or f"column {i + 1}" for i, c in enumerate(columns)], shown)
    return columns, delimiter, skip, "utf-8 " if mixed and encoding == "utf-8" else encoding


def _older_encoding(data: bytes, shown: str) -> str:
    """The encoding of a text that is not in UTF-8: of Western languages (single letters that are not ASCII), Russian
    or Japanese; others are refused."""
    runs = re.findall(rb"[\x80-\xff][\x40-\xff]*[\x80-\xff]{2}", data)
    odd = re.sub(rb"[\x00-\x7f]", b"", data)
    if re.search(rb"[A-Za-z][\x81\x87-\x89\x8d\x8f\x90\x98\x9d\x9f\xa7][a-z]", data):  # a section sign in a word
        raise PanelError(f"{shown} is not in UTF-8, and its encoding is not known. Save it as CSV in UTF-8.")
    if not runs:
        return "cp1252"
    with suppress(UnicodeDecodeError):
        text = data.decode("cp932")
        letters = re.findall(r"[^\x00-\x7f]", text)
        kana = re.findall(r"[\u3040-\u30ff\u3000-\u3002]", text)
        if 5 * len(kana) >= len(letters):
            return "cp932"
    n_lower, n_upper = (len(re.findall(pattern, odd)) for pattern in (rb"[\xe0-\xff\xb8]", rb"[\xc0-\xdf\xa8]"))
    if n_lower > 2 * n_upper and n_lower + n_upper > 0.9 * len(odd) and max(map(len, runs)) > 3:
        return "cp1251"
    if max(map(len, runs)) > 3 or len(runs) > 0.2 * len(odd):
        raise PanelError(f"{shown} is not in UTF-8, and its encoding is not known. Save it as CSV in UTF-8.")
    return "cp1252"


OLDER = {"cp1252": "Latin-1 (Windows-1252)", "cp1251": "Windows-1251 (Cyrillic)", "cp932": "Shift-JIS (Japanese)"}


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


def _delimiter(line: str, below: Sequence[str] = ()) -> str:
    """What divides the fields of a line: what the lines below have as often, else the most frequent outside quotes."""
    counts = {d: _count_outside_quotes(line, d) for d in ",\t;|"}
    lines = [later for later in below if later.strip()]

    def is_as_frequent(delimiter: str) -> int:
        return sum(_count_outside_quotes(later, delimiter) == counts[delimiter] for later in lines)

    return max(counts, key=lambda d: (counts[d] > 0 and 2 * is_as_frequent(d) > len(lines), counts[d]))


def _count_outside_quotes(line: str, delimiter: str) -> int:
    return re.sub(r'"[^"]*("|$)', "", line).count(delimiter)


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
                f"In {where}, {name(path.name, 200)} and {name(paths[0].name, 200)} have different columns "
                f"(such as {name(odd[0])}). Give the files the same columns."
            )
        if encoding in OLDER and not notes:
            notes.append(f"{name(path, 200)} is not in UTF-8; it was read as {OLDER[encoding]}.")
        types = ", ".join(f"{quote(c)}: 'VARCHAR'" for c in own)  # as it is written: nothing is guessed
        parts.append(
            f"SELECT * FROM read_csv({pattern(read[len(parts)])}, auto_detect = false, header = true, "
            f"columns = {{{types}}}, delim = {quote(delimiter)}, quote = '\"', escape = '\"', skip = {skip}, "
            "hive_partitioning = false, max_line_size = 16777216)"
        )
        if len(paths) > 1 and FILE not in columns:
            parts[-1] = parts[-1].replace("SELECT *", f"SELECT *, {quote(path)} AS {FILE}", 1)
    columns_sql = {c: (ident(c), "VARCHAR") for c in columns}
    table = Table(lock(connect(read)), f"({' UNION ALL BY NAME '.join(parts)})", columns_sql, where, True, notes)
    return table if FILE in columns else _with_file_names(table, paths)


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
    for path in paths:
        _refuse_many_keys(path)
    options += f", filename = {len(paths) > 1}"
    relation = f"read_json([{', '.join(map(pattern, paths))}], {options})"
    return _with_file_names(_described(lock(connect(paths)), relation, where, spool=True), paths)


MOST_KEYS = 5000


def _refuse_many_keys(path: Path) -> None:
    """Refuse a record with very many keys: a column for each would take minutes."""
    depth = n_keys = 0
    head = re.sub(rb'"(?:[^"\\]|\\.)*"', b'"', start(path))
    for mark in re.findall(rb"[\[\]{}:\n]", head):
        depth += (mark in b"[{") - (mark in b"]}")
        n_keys = 0 if mark == b"\n" and depth == 0 else n_keys + (mark == b":" and depth == 1)
        if n_keys > MOST_KEYS:
            raise PanelError(
                f"{name(path, 200)} holds a record with more than {MOST_KEYS:,} keys. Write a list of records, each "
                "with all its keys."
            )


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


LABELLED = ("judge", "system", "model", "criterion", "annotator", "language")
"""Roles of which a list of scores names one in each record."""
VERDICTS = {
    "verdict",
    "correct",
    "is_correct",
    "passed",
    "pass",
    "judge_verdict",
    "judge_label",
    "judgment",
    "judgement",
}
"""Columns that hold the score of a record, beside those that are called a score."""


def _described(con: Any, relation: str, where: str, spool: bool = False) -> Table:
    """A table whose columns the engine knows. Fields of records get dotted names; of JSON, the only list of records is
    taken apart, each record with what stands around it."""
    table = Table(con, relation, {}, where, spool)
    with engine_errors(where):
        described = con.sql(f"SELECT * FROM {relation} LIMIT 0")
    lists = _add(table, [(c, ident(c), k) for c, k in zip(described.columns, described.types, strict=True)])
    is_document = spool and len(table.rows(f"SELECT 1 FROM {relation} LIMIT 2")) == 1
    if is_document and not lists and table.columns and all("." in column for column in table.columns):
        raise PanelError(f"{where} is one record that holds records. Write a list of records, each with all its keys.")
    for depth in range(4):
        chosen = _list_of_scores(table, lists, is_document and depth == 0) if spool else None
        if chosen is None:
            break
        called, sql, kind = chosen
        record = f"polyjudge_record_{depth}"
        every = f"CASE WHEN len({sql}) > 0 THEN {sql} ELSE [NULL] END"
        table.relation = f"(SELECT *, unnest({every}) AS {record} FROM {table.relation})"
        inner = [(c, f"{record}.{ident(c)}", k) for c, k in _fields(kind)]
        # What the records of a document say as well is meant of the records.
        again = {c for c, _, _ in inner} if is_document else set()
        table.columns = {c: x for c, x in table.columns.items() if c.split(".")[-1] not in again}
        if is_document and depth == 0:
            table.columns = {c: x for c, x in table.columns.items() if _may_head(c, x[1])}
        lists = _add(table, [(f"{called}.{c}" if c in table.columns else c, own, k) for c, own, k in inner])
    if not table.columns:
        raise PanelError(f"{where} holds no records with columns. Write a list of records.")
    return table


def _may_head(column: str, kind: str) -> bool:
    """Whether what the head of a document says may be a label of all its records: its flags and numbers are none."""
    is_scored = usual("score", [column]) or usual("weak score", [column]) or usual("human", [column])
    return kind == "VARCHAR" and not is_scored


def _fields(kind: Any) -> list[tuple[str, Any]]:
    """The fields of the records of a list."""
    return list(kind.children[0][1].children)


def _list_of_scores(table: Table, lists: list[tuple[str, str, Any]], is_document: bool) -> tuple[str, str, Any] | None:
    """The list to take apart: of a document its only or longest one; of records the one whose records hold scores and
    say of whom, unless every record has a score of its own."""
    if not lists:
        return None
    holding = [each for each in lists if _holds_scores(each[2])]
    if is_document:
        candidates = holding or lists
        _refuse_equal_lists(table, candidates)
        sizes = table.rows(f"SELECT {', '.join(f'len({sql})' for _, sql, _ in candidates)} FROM {table.relation}")[0]
        return max(zip(sizes, candidates, strict=True), key=lambda each: each[0] or 0)[1]
    own = _score_of_every_record(table)
    if own and holding:
        table.notes.append(
            f"Each record has a score of its own ({name(own)}): the scores in {name(holding[0][0])} are not "
            "read. If those are meant, leave that column out."
        )
    return holding[0] if len(holding) == 1 and not own else None


def _refuse_equal_lists(table: Table, lists: Sequence[tuple[str, str, Any]]) -> None:
    """Refuse a document with several lists of scores: one of each judge, system or language, whose key says which."""
    fields = [{column for column, _ in _fields(kind)} for _, _, kind in lists]
    scored = [usual("score", of_list) + usual("weak score", of_list) for of_list in fields]
    alike = [each[0] for each, of_list in zip(lists, fields, strict=True) if of_list == fields[0]]
    if len(alike) > 1 and scored[0]:
        raise PanelError(
            f"{table.where} holds {len(alike)} lists of scores ({names(alike, 8)}). Write one list, whose records say "
            "in a field, such as judge, system or language, which of these they belong to."
        )


def _score_of_every_record(table: Table) -> str:
    """The column of scores that no record lacks; empty where there is none."""
    for column, (sql, _) in table.columns.items():
        if "." not in column and (usual("score", [column]) or norm(column) in VERDICTS):
            n_rows, n_scores = table.rows(f"SELECT count(*), count({sql}) FROM {table.relation}")[0]
            if n_rows == n_scores:
                return column
    return ""


def _holds_scores(kind: Any, depth: int = 4) -> bool:
    """Whether the records of a list hold a score and name its judge, system or criterion; or hold such a list."""
    named = [column for column, _ in _fields(kind)]
    inner = [k for _, k in _fields(kind) if _is_list_of_records(k)]
    is_labelled = any(usual(role, named) for role in LABELLED)
    if is_labelled and (usual("score", named) or usual("weak score", named)):
        return True
    return depth > 0 and any(_holds_scores(k, depth - 1) for k in inner)


def _is_list_of_records(kind: Any) -> bool:
    return bool(kind.id == "list" and kind.children[0][1].id == "struct")


def _add(table: Table, columns: list[tuple[str, str, Any]], depth: int = 4) -> list[tuple[str, str, Any]]:
    """Add columns (name, SQL, type), and of records their fields; returns lists of records."""
    lists = []
    for column, sql, kind in columns:
        if kind.id == "struct" and depth:
            lists += _add(table, [(f"{column}.{c}", f"{sql}.{ident(c)}", k) for c, k in kind.children], depth - 1)
        elif _is_list_of_records(kind):
            lists.append((column, sql, kind))
        else:
            _add_plain(table, column, sql, kind)
    return lists


def _add_plain(table: Table, column: str, sql: str, kind: Any) -> None:
    """Add a column of single values; say of a column called a score why it is not read."""
    if str(kind) == "JSON":  # of several types: without the quotation marks
        table.columns[column] = (f"({sql} ->> '$')", "VARCHAR")
    elif kind.id == "blob":
        table.columns[column] = (f"TRY(decode({sql}))", "VARCHAR")
    elif kind.id == "list" and usual("judge", [column]):
        table.columns[column] = (f"CAST({sql}[1] AS VARCHAR)", "VARCHAR")
        table.notes.append(f"{name(column)} holds lists: the first of each is the judge.")
    elif kind.id not in ("list", "map", "array", "union", "struct"):
        table.columns[column] = (sql, str(kind))
    elif {"score", "scores", "rating", "ratings"} & {*norm(column).split("_")}:
        table.lists.append(column)
        table.notes.append(f"{name(column)} holds lists or records, which are not read: write one row a score.")


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
                    texts = [[_sqlite_text(v) for v in row] for row in rows]
                    con.append("sqlite_rows", pd.DataFrame(texts, columns=columns, dtype=object))
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise PanelError(f"{where} cannot be read: {name(error, 120)}. The file may be damaged.") from None
    return Table(lock(con), "sqlite_rows", {c: (ident(c), "VARCHAR") for c in columns}, where)


def _sqlite_text(value: Any) -> str | None:
    """A value as text; bytes that are none as their code, so that they are no missing score."""
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return repr(value[:20])
    return None if value is None else str(value)


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
    coded: dict[str, list[str]] = {}
    if type(source).__module__.startswith("datasets"):
        coded = {
            c: list(kind.names)
            for c, kind in getattr(source, "features", {}).items()
            if type(kind).__name__ == "ClassLabel"
        }
        frame = source.with_format("arrow")[:]
    frame = _as_arrow(frame)
    if _are_nested(frame):
        return _open_records(frame, where)
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
    return _with_labels(_described(lock(con), "polyjudge_frame", where), coded)


def _as_arrow(frame: Any) -> Any:
    """A Polars frame, lazy or not, or a reader of Arrow, as an Arrow table; any other source as it is."""
    import pandas as pd

    if isinstance(frame, pd.DataFrame):
        return frame
    try:
        for method in ("collect", "to_arrow", "read_all"):
            frame = getattr(frame, method)() if hasattr(frame, method) else frame
    except (ValueError, TypeError, NotImplementedError) as error:
        raise UsageError(
            f"A column of this frame has a type that Arrow does not know ({name(error, 100)}). Convert it to plain "
            "numbers or text first."
        ) from None
    return frame


def _are_nested(frame: Any) -> bool:
    """Whether these are records that hold records or lists."""
    if not isinstance(frame, list) or not all(isinstance(record, Mapping) for record in frame):
        return False
    return any(isinstance(value, (Mapping, list)) for record in frame for value in record.values())


def _open_records(records_of: Sequence[Mapping[str, Any]], where: str) -> Table:
    """Records inside records, as a file of them would be read."""
    handle, path = tempfile.mkstemp(suffix=".jsonl")
    atexit.register(lambda: Path(path).unlink(missing_ok=True))
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        for record in records_of:
            file.write(json.dumps(record, default=str) + "\n")
    return _open_files([Path(path)], None, where)


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
