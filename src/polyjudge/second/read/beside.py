"""A new table beside the one that was read, in the same database. The source is never touched."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from polyjudge.second.panel.adjustment import Adjustment, quote
from polyjudge.second.panel.columns import Columns, find_columns
from polyjudge.second.panel.criterion_adjustment import ByCriterion
from polyjudge.second.panel.errors import UsageError, foreign_errors
from polyjudge.second.panel.files import file_of
from polyjudge.second.panel.labels import clean, redact_address
from polyjudge.second.read import warehouse
from polyjudge.second.read.assemble import check_scores
from polyjudge.second.read.duck import Source, name
from polyjudge.second.read.engine import Engine
from polyjudge.second.read.formats.roles import Asked

Counted = tuple[int, int, int, tuple[str, ...], tuple[float, float]]
"""Rows, missing scores, scores of unknown cells, judges, ends of the scores."""
ENDING = "_calibrated"
COMMENT = "Calibrated scores, written by polyjudge"
"""On every table of ours: what has it may be replaced (--overwrite), nothing else is."""


def named(source: str, output: str, table: str | None = None) -> str | None:
    """The new table that `output` names: "NAME" of ::NAME, "" for the usual name, None when it is a file."""
    if "::" not in output or os.path.exists(output):
        return None
    where, _, new = output.rpartition("::")
    held = file_of(source) or source
    base = held if table is not None or "::" not in held else held.rpartition("::")[0]
    same = where == base or (os.path.exists(base) and os.path.realpath(where) == os.path.realpath(base))
    if where and not same:
        raise UsageError(
            f"-o {clean(redact_address(output), 200)} names another database than the scores. A table is written "
            "beside the one that is read (::TABLE); everything else into a file."
        )
    return new


def prepared(
    adjustment: Adjustment, held: Any, column: str, unseen: str, asked: Asked, backend: str
) -> tuple[Columns, tuple[int, int, int]]:
    """Language, judge and score of a table that another engine holds, and its rows as `Written` has them."""
    from polyjudge.second.read.ibis_engine import IbisEngine

    if column in held.columns:
        raise UsageError(f"The table already has a column {column!r}. Choose another name with --column.")
    named = {role: asked.names.get(role) for role in ("task", "language", "judge", "score")}
    columns = find_columns(held.columns, require_task=False, **named, system="", replicate="", cluster="")
    rows, missing, strange, *_ = counted(adjustment, IbisEngine(held, columns, backend), columns, unseen)
    return columns, (rows, missing, strange)


def counted(adjustment: Adjustment | ByCriterion, engine: Engine, columns: Columns, unseen: str) -> Counted:
    """What an engine holds to be adjusted, criteria as systems; an error where a score is none."""
    cells = engine.cells()
    check_scores(engine, cells, columns)
    rows, scored = int(cells["rows"].sum()), int(cells["scored"].sum())
    each = list(zip(cells["language"], cells["judge"], cells["rows"], strict=True))
    if isinstance(adjustment, ByCriterion):
        strange = adjustment.check_cells(cells["system"], each, unseen)
    else:
        strange = adjustment.check_seen(each, unseen)
    ends = float(np.nanmin(cells["low"])), float(np.nanmax(cells["high"]))
    return rows, rows - scored, strange, tuple(dict.fromkeys(cells["judge"])), ends


def in_file(rows: Source, query: str, table: tuple[str, str] | None, new: str, overwrite: bool) -> str:
    """`query` as a table of the DuckDB file that was read. Returns FILE::TABLE."""
    if table is None:
        raise UsageError(
            "A table is written beside one of a DuckDB file or of PostgreSQL, and these scores are in neither. Write "
            "them to a file."
        )
    schema, old = table
    new = _checked(new, old)
    con, file = rows.con, str(rows.files[0])
    con.execute(f"ATTACH {quote(os.path.abspath(file))} AS polyjudge_target (TYPE duckdb)")
    place = f"polyjudge_target.{name(schema)}.{name(new)}"
    of = f"database_name = 'polyjudge_target' AND schema_name = {quote(schema)}"
    found = con.execute(
        f"SELECT comment FROM duckdb_tables() WHERE {of} AND lower(table_name) = lower({quote(new)}) UNION ALL "
        f"SELECT 'a view' FROM duckdb_views() WHERE {of} AND lower(view_name) = lower({quote(new)})"
    ).fetchall()
    _check_ours(new, [r[0] for r in found], overwrite)
    con.execute("BEGIN")
    if found:
        con.execute(f"DROP TABLE {place}")
    con.execute(f"CREATE TABLE {place} AS {query}")
    con.execute(f"COMMENT ON TABLE {place} IS {quote(COMMENT)}")
    con.execute("COMMIT")
    con.close()
    return f"{file}::{new if schema == 'main' else f'{schema}.{new}'}"


def on_server(
    adjustment: Adjustment, address: str, new: str, column: str, unseen: str, overwrite: bool, asked: Asked
) -> tuple[str, int, int, int]:
    """The calibrated scores as a table of the PostgreSQL server, made there in one transaction.

    The session reads only, but for that transaction. Returns the address of the table, and the rows as `Written` has
    them.
    """
    if not address.lower().startswith("postgres"):
        raise UsageError("A table is written beside one of DuckDB or PostgreSQL. Write to a file instead.")
    held = warehouse.open_foreign(address, asked.table)
    base, _, full = address.rpartition("::") if asked.table is None else (address, "", asked.table)
    schema, _, old = full.rpartition(".")
    new = _checked(new, old)
    columns, counts = prepared(adjustment, held, column, unseen, asked, "postgres")
    query = held.get_backend().compile(adjustment.ibis(held, columns, column, "keep"))
    place = f"{name(schema)}.{name(new)}" if schema else name(new)
    con = held.get_backend().con
    con.rollback()
    con.read_only = False
    with foreign_errors("the PostgreSQL database"), con.transaction(), con.cursor() as cursor:
        cursor.execute("SELECT to_regclass(%s), obj_description(to_regclass(%s))", (place, place))
        there, comment = cursor.fetchone()
        _check_ours(new, [] if there is None else [comment], overwrite)
        if there is not None:
            cursor.execute(f"DROP TABLE {place}")
        cursor.execute(f"CREATE TABLE {place} AS {query}")
        cursor.execute(f"COMMENT ON TABLE {place} IS '{COMMENT}'")
    return f"{redact_address(base)}::{f'{schema}.{new}' if schema else new}", *counts


def _checked(new: str, old: str) -> str:
    new = new or f"{old}{ENDING}"
    if new.lower() == old.lower():
        raise UsageError(f"The table {clean(new)!r} is what is read. Choose another name: -o ::NAME.")
    if "\0" in new:
        raise UsageError("A table's name holds no NUL.")
    return new


def _check_ours(new: str, comments: list[Any], overwrite: bool) -> None:
    """What stands at the new table's name may be replaced when polyjudge wrote it and the user says so."""
    if not comments:
        return
    if any(c != COMMENT for c in comments):
        raise UsageError(f"There is a table {clean(new)!r} that polyjudge did not write. Choose another: -o ::NAME.")
    if not overwrite:
        raise UsageError(f"The table {clean(new)!r} is there already. Replace it (--overwrite), or name another.")
