"""Scores written back: the engine copies the same rows with one more column, from one row to billions."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyjudge.base.errors import CalibratorError, UsageError
from polyjudge.base.files import atomic_path, check_apart, check_new
from polyjudge.base.text import name, names
from polyjudge.read import columns as col
from polyjudge.read import panels, table
from polyjudge.read.rows import DEFAULT
from polyjudge.read.table import ident, quote

if TYPE_CHECKING:
    import pandas as pd

PASSES = "passes"
"""The column of the share of an answer that passes (METHODS 32)."""
FORMATS = {
    ".csv": "FORMAT csv, HEADER true", ".parquet": "FORMAT parquet, COMPRESSION zstd", ".jsonl": "FORMAT json",
}  # fmt: skip


def write_scores(
    source: Any,
    output: Any,
    subtract: pd.DataFrame,
    *,
    column: str = "calibrated",
    limits: tuple[float, float] | None = None,
    unseen: str = "error",
    overwrite: bool = False,
    of_criterion: str = "",
    passing: pd.DataFrame | None = None,
    **options: Any,
) -> tuple[int, int]:
    """Write the rows of a source with one more column: the score less what is subtracted. Returns the number of rows,
    and of scores that stayed as they were.

    source : what `read_panel` takes; `options` are its options for columns
    output : a file (.csv, .parquet, .jsonl), `file.duckdb::table`, or, of an Ibis table, a new table's name
    subtract : language, judge, subtract
    column : name of the new column; in a wide table it stands before the judge: calibrated_gpt
    limits : the scale to which calibrated scores are clipped
    of_criterion : where a column names criteria, only rows of this one change
    passing : language, judge, cut, share, tiny: one more column `passes`, 1 above the cut, at it the share, 0 below
    unseen : "keep" leaves scores of languages and judges that `subtract` does not know, "error" refuses them
    """
    import duckdb

    path, _, inner = str(output).partition("::")
    kind = ".parquet" if inner else next((k for k in FORMATS if path.lower().endswith(k)), "")
    check_apart({"--output": path}, [str(source).split("::")[0]] if isinstance(source, (str, Path)) else [])
    with ExitStack() as stack:
        if kind and not inner:
            check_new(path, overwrite)
            part = stack.enter_context(atomic_path(path))
        else:
            part = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="polyjudge-"))) / "rows"
        table.outputs.append(part.absolute())
        stack.callback(table.outputs.pop)
        found, sql, counts = _plan(source, subtract, column, limits, unseen, options, of_criterion, passing)
        if found.ibis is not None and not kind:
            found.con.create(path, sql, overwrite)
            return counts
        if not kind:
            raise UsageError(
                f"{name(path, 200)} is not a kind of file that can be written. Name a .csv, .parquet or .jsonl file."
            )
        if found.ibis is not None:
            found = table.open_frame(found.con.execute(sql).found, found.where)
            sql = f"SELECT * FROM {found.relation}"
        found.run(f"COPY ({sql}) TO {quote(part)} ({FORMATS[kind]}, USE_TMP_FILE false)")
        if inner:
            with table.engine_errors(name(path, 200)), duckdb.connect(path) as con:
                exists = con.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name = ?", [inner]).fetchall()
                if exists[0][0] and not overwrite:
                    raise UsageError(
                        f"{name(path, 200)} has a table {name(inner)} already. Name a new one, or --overwrite."
                    )
                con.execute(f"CREATE OR REPLACE TABLE {ident(inner)} AS SELECT * FROM read_parquet({quote(part)})")
    return counts


def _plan(
    source: Any,
    subtract: pd.DataFrame,
    column: str,
    limits: tuple[float, float] | None,
    unseen: str,
    options: Mapping[str, Any],
    criterion: str,
    passing: pd.DataFrame | None = None,
) -> tuple[table.Table, str, tuple[int, int]]:
    """The source, the query that makes the new rows, and the numbers of rows and of scores that stay as they were."""
    work = panels.begin(source, options)
    found, roles, columns = work.table, work.roles, work.table.columns
    dotted = [c for c in roles.used() if c in columns and columns[c][0] != ident(c)]
    more = "".join(f", {columns[c][0]} AS {ident(c)}" for c in dotted)
    work.raw, work.types = f"(SELECT *{more} FROM {found.relation}) AS raw", {c: k for c, (_, k) in columns.items()}
    others = {c for c, cell in roles.wide.items() if criterion and cell.get("criterion", criterion) != criterion}
    scores = {c: sql for c, sql in panels.score_columns(work).items() if c not in others}
    if not scores:
        raise CalibratorError(
            f"The calibrator is of the criterion {name(criterion)}, which no column of the scores is."
        )
    axes = [a for a in ("language", "judge") if a in roles.of and not any(a in c for c in roles.wide.values())]
    keys = [table.label_sql(ident(roles.of[a]), work.types[roles.of[a]]) for a in axes]
    counted = ", ".join([*keys, "count(*)", *(f"count({sql})" for sql in scores.values())])
    rows = found.rows(f"SELECT {counted} FROM {work.raw}" + (f" GROUP BY {', '.join(keys)}" if keys else ""))
    cells = zip(subtract["language"], subtract["judge"], subtract["subtract"], strict=True)
    known = {(str(x), str(j)): float(v) for x, j, v in cells}
    alike: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for language, judge in known:
        alike.setdefault((col.key("language", language), col.key("judge", judge)), []).append((language, judge))
    kept, odd, out = 0, set(), {}
    for i, (score, sql) in enumerate(scores.items()):
        cell_of: dict[tuple[Any, ...], tuple[str, str]] = {}
        for row in rows:
            spot = {"language": "", **DEFAULT, **dict(zip(axes, row, strict=False)), **roles.wide.get(score, {})}
            language, judge = (str(spot[a] or "").strip() for a in ("language", "judge"))
            near = alike.get((col.key("language", language), col.key("judge", judge)), [])
            if (language, judge) in known or len(near) == 1:
                cell_of[tuple(row[: len(axes)])] = (language, judge) if (language, judge) in known else near[0]
            elif row[len(axes) + 1 + i]:
                kept += int(row[len(axes) + 1 + i])
                odd.add(" with ".join(filter(None, (language, judge))))
        amounts = _case(keys, {texts: known[cell] for texts, cell in cell_of.items()})
        value = f"({sql}) - coalesce({amounts}, 0)"
        if limits is not None:
            value = f"least(greatest({value}, {limits[0]!r}), {limits[1]!r})"
        passes = None if passing is None else _passes_sql(sql, keys, cell_of, passing)
        if criterion and "criterion" in roles.of:
            own = f"trim(CAST({ident(roles.of['criterion'])} AS VARCHAR)) = {quote(criterion)}"
            value = f"CASE WHEN {own} THEN {value} ELSE {sql} END"
            passes = passes and f"CASE WHEN {own} THEN {passes} END"
        place = [] if len(scores) == 1 else list(roles.wide[score].values())
        out["_".join([column, *place])] = value
        if passes:
            out["_".join([PASSES, *place])] = passes
    if odd and unseen != "keep":
        raise CalibratorError(
            f"The calibrator does not know {names(sorted(odd))}. Add them from a few tasks scored in old and new "
            "(polyjudge calibrate FILE --extend CALIBRATOR --save NEW), fit it on scores that have them, or leave "
            "those scores as they are: --unseen keep."
        )
    taken = [c for c in out if c in columns]
    if taken:
        raise UsageError(f"The scores have a column {name(taken[0])} already. Name another: --column.")
    drop = f" EXCLUDE ({', '.join(map(ident, dotted))})" if dotted else ""
    made = ", ".join(f"{sql} AS {ident(c)}" for c, sql in out.items())
    return found, f"SELECT *{drop}, {made} FROM {work.raw}", (sum(int(r[len(axes)]) for r in rows), kept)


def _passes_sql(
    score: str, keys: Sequence[str], cell_of: Mapping[tuple[Any, ...], tuple[str, str]], passing: pd.DataFrame
) -> str:
    """SQL of the share of a row that passes, NULL without a score or where nothing is known of its cell."""
    columns = ("language", "judge", "cut", "share", "tiny")
    rows = {(language, judge): numbers for language, judge, *numbers in passing[list(columns)].to_numpy().tolist()}
    known = {texts: rows[cell] for texts, cell in cell_of.items() if cell in rows}
    above = _case(keys, {texts: cut + tiny for texts, (cut, _, tiny) in known.items()})
    at_least = _case(keys, {texts: cut - tiny for texts, (cut, _, tiny) in known.items()})
    share = _case(keys, {texts: part for texts, (_, part, _) in known.items()})
    return (
        f"CAST(CASE WHEN ({score}) IS NULL OR {share} IS NULL THEN NULL WHEN ({score}) > {above} THEN 1 "
        f"WHEN ({score}) >= {at_least} THEN {share} ELSE 0 END AS DOUBLE)"
    )


def _case(keys: Sequence[str], amounts: Mapping[tuple[Any, ...], float]) -> str:
    """SQL of what is subtracted in a row, NULL where nothing is known: the last key decides first, then the others."""
    if not amounts:
        return "CAST(NULL AS DOUBLE)"
    if not keys:
        return repr(next(iter(amounts.values())))
    groups: dict[Any, dict[tuple[Any, ...], float]] = {}
    for texts, amount in amounts.items():
        groups.setdefault(texts[-1], {})[texts[:-1]] = amount
    cases = " ".join(f"WHEN {quote(k)} THEN {_case(keys[:-1], inner)}" for k, inner in groups.items() if k is not None)
    return f"(CASE {keys[-1]} {cases} END)"
