"""Calibrated scores back into a table: the engine streams the rows through, in their order, with one column added."""

from __future__ import annotations

import fnmatch
import glob
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyjudge.core.adjustment import Adjustment, Fitted, quote
from polyjudge.core.columns import Columns, find_columns
from polyjudge.core.errors import PanelError, UsageError, foreign_errors
from polyjudge.core.files import atomic_path, check_apart, check_file, check_folder, new_folder
from polyjudge.core.labels import clean
from polyjudge.sources import duck
from polyjudge.sources.duck import engine_errors, name
from polyjudge.sources.duck_engine import DuckEngine
from polyjudge.sources.opener import file_of, open_table

UNREAD = {"system": "", "replicate": "", "cluster": ""}
"""Columns that pass through as they are: a calibrated score depends on language and judge alone."""
FORMULA = "=+-@\t\r\n"
"""A spreadsheet may run a cell that begins with one of these."""


MAKER = "scores"
"""Who wrote a folder of calibrated scores, in its marker."""


@dataclass(frozen=True)
class Written:
    """What `write_calibrated` did: rows in all, rows without a score, rows left unchanged as unseen."""

    path: str
    rows: int
    missing: int
    unseen: int


def write_calibrated(
    cal: Fitted,
    source: str | Path,
    output: str | Path,
    *,
    column: str = "calibrated",
    unseen: str = "error",
    table: str | None = None,
    engine: str = "duckdb",
    partition_by: str | None = None,
    spreadsheet_safe: bool = False,
    overwrite: bool = False,
    **names: str | None,
) -> Written:
    """Read `source`, add the calibrated scores as a column, write `output`: .csv, .tsv, .jsonl (each also .gz),
    .parquet, or a folder of Parquet files. All other columns and the order of rows stay as they are.

    Rows pass through the engine in a stream, so memory is bounded. The output is complete or not there. A folder must
    be new, empty, or written by polyjudge; with `overwrite` files of others in it are kept.
    """
    check_apart({"-o": output}, [source])
    _check_outside(Path(output), str(source))
    if engine == "spark":
        return _with_spark(cal.adjustment_, str(source), Path(output), column, unseen, partition_by, overwrite, names)
    names = {**{n: names.get(n) for n in ("task", "language", "judge", "score")}, **UNREAD}
    opened, frame = _open(str(source), table)
    kind = _format(Path(output), partition_by)
    columns = find_columns(opened.columns, require_task=False, **names)  # type: ignore[arg-type]
    if not column or "\0" in column:
        raise UsageError("The column of calibrated scores needs a name: --column NAME.")
    if column in opened.columns:
        raise UsageError(f"{opened.where} already has a column {column!r}. Choose another name with --column.")
    if partition_by is not None and partition_by not in opened.columns:
        raise UsageError(f"There is no column {partition_by!r} to partition by.")
    json_out = opened.kind == "json" and kind == "json"
    if json_out:
        opened.relation = opened.as_json
    if opened.relation.startswith(("frame::", "sqlite::")):
        with engine_errors(opened.where):
            duck.spool(opened, opened.columns, frame)
    opened.spool = False
    target = _Target(Path(output), kind, partition_by, overwrite)
    target.check()
    return _stream(cal.adjustment_, opened, columns, target, column, unseen, spreadsheet_safe, json_out)


def _check_outside(output: Path, source: str) -> None:
    """An output must not become a part of what is read: a file in the folder, or one that the pattern matches."""
    real = os.path.realpath(output)
    inside = os.path.isdir(source) and Path(os.path.realpath(source)) in Path(real).parents
    pattern = os.path.realpath(source) if not os.path.exists(source) and glob.has_magic(source) else ""
    level = "**" in pattern or pattern.count(os.sep) == real.count(os.sep)
    if inside or (level and fnmatch.fnmatch(real, pattern)):
        raise UsageError(
            f"{clean(str(output), 200)} would become a part of the scores that are read ({clean(source, 200)}). Choose "
            "a place outside."
        )


def _open(source: str, table: str | None) -> tuple[duck.Source, Any]:
    if "://" in source and file_of(source) is None:
        from polyjudge.sources import warehouse

        held = warehouse.connect(source, table, "duckdb")
        with foreign_errors("the database"):
            rows = held.to_pyarrow_batches()
        return duck.open_frame(rows), rows
    opened = open_table(source, table)
    return (duck.unlocked(opened.source) if opened.source.kind == "duckdb" else opened.source), opened.frame


def _format(output: Path, partition_by: str | None) -> str:
    plain = output.name.lower().removesuffix(".gz")
    if plain.endswith((".csv", ".tsv")):
        found = "csv"
    elif plain.endswith((".jsonl", ".ndjson")):
        found = "json"
    elif plain.endswith((".parquet", ".pq")):
        found = "parquet"
    elif output.suffix == "" or output.is_dir():
        return "folder"
    else:
        raise UsageError(
            f"{clean(str(output), 200)}: write .csv, .tsv, .jsonl (also .gz), .parquet, or a folder (a name without an "
            "ending) of Parquet files."
        )
    if partition_by is not None:
        raise UsageError("--partition-by needs a folder as output: a name without an ending.")
    return found


def _stream(
    adjustment: Adjustment,
    opened: duck.Source,
    columns: Columns,
    target: _Target,
    column: str,
    unseen: str,
    spreadsheet_safe: bool,
    json_out: bool,
) -> Written:
    con, score, kind = opened.con, name(columns.score), target.kind
    plain = "{} ->> '$'" if json_out else "{}"
    parsed = Columns(columns.task, columns.language, columns.judge, columns.score)
    relation = opened.relation
    if json_out:
        taken = ", ".join(f"{plain.format(name(c))} AS {name(c)}" for c in opened.columns)
        opened.relation = f"(SELECT {taken} FROM {relation})"
    # Rows of a text file have no place until they are copied; problems are then shown by their labels.
    opened.row = None if opened.kind in ("csv", "json") else opened.row
    engine = DuckEngine(opened, parsed, need_task=False)
    cells = engine.cells()
    from polyjudge.sources.assemble import check_scores

    check_scores(engine, cells, columns)
    rows, scored = int(cells["rows"].sum()), int(cells["scored"].sum())
    strange = adjustment.check_seen(list(zip(cells["language"], cells["judge"], cells["rows"], strict=True)), unseen)
    label = {a: f"CAST({plain.format(name(getattr(columns, a)))} AS VARCHAR)" for a in ("language", "judge")}
    text_type = opened.kind in ("csv", "json", "sqlite")
    number = plain.format(score)
    number = f"CAST(nullif(trim({number}), '') AS DOUBLE)" if text_type else f"CAST({number} AS DOUBLE)"
    picked = []
    for c in opened.columns:
        if c == columns.score and text_type and kind in ("parquet", "folder"):
            picked.append(f"{number} AS {name(c)}")
        elif spreadsheet_safe and kind == "csv" and c != columns.score:
            text = f"CAST({name(c)} AS VARCHAR)"
            risky = f"{text}[1] IN ({', '.join(map(quote, FORMULA))}) AND try_cast({text} AS DOUBLE) IS NULL"
            picked.append(f"CASE WHEN {risky} THEN '''' || {text} ELSE {text} END AS {name(c)}")
        else:
            picked.append(name(c))
    picked.append(f"{adjustment.sql(label['language'], label['judge'], number)} AS {name(column)}")
    query = f"SELECT {', '.join(picked)} FROM {relation}"
    before = opened.stamps()
    with target.open() as (part, options):
        with _write_errors(target.path, opened.where):
            con.execute(f"COPY ({query}) TO {quote(str(part))} ({options})")
        if opened.stamps() != before:
            raise PanelError(f"{opened.where} changed while it was read. Nothing was written. Run the command again.")
    con.close()
    return Written(str(target.path), rows, rows - scored, strange)


def _with_spark(
    adjustment: Adjustment,
    source: str,
    output: Path,
    column: str,
    unseen: str,
    partition_by: str | None,
    overwrite: bool,
    names: dict[str, Any],
) -> Written:
    """Read files with Spark and write a folder of Parquet files."""
    from polyjudge.sources.warehouse import spark_frame

    if output.suffix:
        raise UsageError("With --engine spark the output is a folder of Parquet files: a name without an ending.")
    check_folder(output, MAKER, overwrite)
    frame = spark_frame(source)
    found = {**{n: names.get(n) for n in ("task", "language", "judge", "score")}, **UNREAD}
    columns = find_columns(frame.columns, require_task=False, **found)  # type: ignore[arg-type]
    if column in frame.columns:
        raise UsageError(f"{source} already has a column {column!r}. Choose another name with --column.")
    rows, scored, strange = adjustment.spark_counts(frame, columns, unseen)
    with score_folder(output, partition_by, overwrite) as part, foreign_errors("Spark"):
        writer = adjustment.spark(frame, columns, column).write.mode("append")
        if partition_by is not None:
            writer = writer.partitionBy(partition_by)
        writer.parquet(str(part))
    return Written(str(output), rows, rows - scored, strange)


# --- where it goes ---


@dataclass(frozen=True)
class _Target:
    """Where the rows go."""

    path: Path
    kind: str
    partition_by: str | None
    overwrite: bool

    def check(self) -> None:
        """Refuse what must not be replaced before the work begins."""
        if self.kind == "folder":
            check_folder(self.path, MAKER, self.overwrite)
        else:
            check_file(self.path)

    @contextmanager
    def open(self) -> Iterator[tuple[Path, str]]:
        """A place to write to that becomes the target when all went well, and the options of COPY."""
        name_ = self.path.name.lower()
        gz = ", COMPRESSION gzip" if name_.endswith(".gz") else ""
        tab = chr(9) if ".tsv" in name_ else ","
        options = {
            "csv": f"FORMAT csv, HEADER true, DELIMITER '{tab}', USE_TMP_FILE false{gz}",
            "json": f"FORMAT json, USE_TMP_FILE false{gz}",
            "parquet": "FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false",
            "folder": "FORMAT parquet, COMPRESSION zstd, FILENAME_PATTERN 'part-{i}'",
        }[self.kind]
        if self.kind != "folder":
            with atomic_path(self.path) as part:
                yield part, options
            return
        if self.partition_by is not None:
            options += f", PARTITION_BY ({name(self.partition_by)}), WRITE_PARTITION_COLUMNS true"
        else:
            options += ", FILE_SIZE_BYTES '256MB'"
        with score_folder(self.path, self.partition_by, self.overwrite) as part:
            yield part, options


def score_folder(path: Path, partition_by: str | None, overwrite: bool) -> AbstractContextManager[Path]:
    """A new folder of Parquet files that takes its place as a whole. Its marker says how it is divided."""
    return new_folder(path, MAKER, overwrite=overwrite, about={"partition_by": partition_by})


@contextmanager
def _write_errors(output: Path, where: str) -> Iterator[None]:
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        text = str(error)
        full = "No space left" in text or "File too large" in text or "Could not write" in text or "Disk quota" in text
        if full:
            raise UsageError(
                f"Cannot write {clean(str(output), 200)}: the disk is full or a limit was reached. Nothing was changed."
            ) from None
        raise PanelError(duck.explain(text, where)) from None
