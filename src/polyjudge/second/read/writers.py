"""Calibrated scores back into a table: the engine streams the rows through, in their order, with columns added.

Rows keep the shape they came in: a long table gets one column, a wide one a column beside each score column, nested
JSON a value beside each score.
"""

from __future__ import annotations

import fnmatch
import glob
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from polyjudge.second.panel.adjustment import Adjustment, Fitted, quote
from polyjudge.second.panel.criterion_adjustment import MARK, ByCriterion
from polyjudge.second.panel.errors import PanelError, UsageError, foreign_errors
from polyjudge.second.panel.files import FORMULA, atomic_path, check_apart, check_file, check_folder, new_folder
from polyjudge.second.panel.labels import clean
from polyjudge.second.read import beside, duck
from polyjudge.second.read.beside import Counted
from polyjudge.second.read.duck import engine_errors, name
from polyjudge.second.read.duck_engine import DuckEngine
from polyjudge.second.read.formats.excel import write_excel
from polyjudge.second.read.formats.nested import put_beside
from polyjudge.second.read.formats.recognise import Layout, Understood
from polyjudge.second.read.formats.roles import Asked
from polyjudge.second.read.formats.table import Place
from polyjudge.second.read.limits import SUFFIXES
from polyjudge.second.read.opener import Opened, open_table
from polyjudge.second.read.scores import copied, is_foreign, parse_rescale, reads_itself, understand, with_kept
from polyjudge.second.read.warehouse import as_table, spark_frame

ENDINGS = {kind: SUFFIXES[kind] for kind in ("csv", "json", "parquet")} | {"excel": (".xlsx",)}
"""Kinds of files that are written."""
MAKER = "scores"
"""Who wrote a folder of calibrated scores, in its marker."""


@dataclass(frozen=True)
class Written:
    """What `write_calibrated` did: rows in all, scores that are missing, scores left unchanged as unseen; the judges
    and the lowest and highest score that were met, where they are known."""

    path: str
    rows: int
    missing: int
    unseen: int
    judges: tuple[str, ...] = ()
    ends: tuple[float, float] | None = None


@duck.released()
def write_calibrated(
    cal: Fitted,
    source: str | Path,
    output: str | Path,
    *,
    column: str = "calibrated",
    unseen: str = "error",
    table: str | None = None,
    engine: str = "duckdb",
    spreadsheet_safe: bool = False,
    overwrite: bool = False,
    reading: str | Path | None = None,
    **how: Any,
) -> Written:
    """Read `source` as `read_panel` does, add the calibrated scores in the same shape, write `output`.

    output : .csv, .tsv, .jsonl, .json (each also .gz), .xlsx, .parquet, a folder of Parquet files, or `::TABLE`, a new
        table beside the DuckDB or PostgreSQL table that is read (`::` alone: its name and `_calibrated`)
    column : name of the new column. A wide table gets one beside each score column, with this as ending
    reading : a file of `check --save`
    how : names of columns and options of reading, as for `read_panel`; `rescale` and `range` are judges on scales of
        their own, and the scale of the calibrator

    Everything that was there stays as it is, in its order. Rows pass through the engine in a stream, so memory is
    bounded. The output is complete or not there. A folder must be new, empty, or written by polyjudge; with `overwrite`
    files of others in it are kept.
    """
    if not column or "\0" in column:
        raise UsageError("The column of calibrated scores needs a name: --column NAME.")
    said = {**how, "table": table}
    said = with_kept(said, reading) if reading is not None else said
    asked, foreign = Asked.of(said, require_task=False), is_foreign(source)
    scales, limits = parse_rescale(said.get("rescale")), said.get("range")
    if scales and (limits is None or engine == "spark" or foreign):
        raise UsageError("--rescale needs --range LOW:HIGH and scores in files of our own engine.")
    sibling = beside.named(str(source), str(output), table)
    if sibling is None:
        check_apart({"-o": output}, [source])
        _check_outside(Path(output), str(source))
    adjustment = cal.adjustment_
    if isinstance(adjustment, ByCriterion) and (engine == "spark" or foreign):
        raise UsageError("Scores of several criteria are calibrated in files, or as a table with calibrator.apply.")
    if engine == "spark":
        if sibling is not None or not reads_itself(asked):
            raise UsageError("With --engine spark scores are one in each row, and the output is a folder. Use DuckDB.")
        return _with_spark(adjustment, str(source), Path(output), column, unseen, overwrite, asked)
    if sibling is not None and foreign:
        if not reads_itself(asked):
            raise UsageError("A table beside one of a server is made there, from plain scores. Write to a file.")
        return Written(*beside.on_server(adjustment, str(source), sibling, column, unseen, overwrite, asked))
    target = _Target(Path(output), "table" if sibling else _format(Path(output)), overwrite)
    target.check()
    fresh = partial(open_table, source, asked)
    opened = copied(source, table) if foreign else fresh()
    before = replace(opened.source, files=opened.paths or opened.source.files).stamps()
    parts = _parts(adjustment, asked, column)
    read = [understand(fresh() if i else opened, part.asked) for i, part in enumerate(parts)]
    layouts = _layouts(read, [role for role in ("language", "judge") if said.get(f"{role}s") and unseen == "error"])
    counted = _counted(parts, read, unseen)
    rows = _all_rows(fresh, opened, foreign, target.kind)
    if rows.stamps() != before:
        raise PanelError(f"{rows.where} changed while it was read. Nothing was written. Run the command again.")
    own = {j: (*scales[j], *map(float, limits or ())) for j in scales}
    new = [_calibrated(*both, rows, own, unseen == "error") for both in zip(parts, layouts, strict=True)]
    made = {column: sql for columns in new for column, sql in columns.items()}
    whole = replace(layouts[0], scores=tuple(score for layout in layouts for score in layout.scores))
    old = _as_they_were(rows, whole, target, spreadsheet_safe)
    done = _write(rows, old, made, target, opened, before, sibling)
    return Written(done, *counted)


def _layouts(read: Sequence[Understood], alone: Sequence[str]) -> list[Layout]:
    """Where the scores of each reading stand. `alone` : roles of which the user names the only label."""
    found = [one.layout for one in read if one.layout is not None]
    if not found:
        raise UsageError(
            "Winners of pairs are calibrated as margins, so there is no score to put another beside. Save the "
            "calibrator (--save) and read the margins with pj.read_panel."
        )
    for role in alone:
        if not any(at.labels[role].label for at in found if role in at.labels):
            raise UsageError(f"--{role}s names the {role} of rows without a column for it, and these have one.")
    return found


class _Part(NamedTuple):
    """One reading of the table, what adjusts its scores, and the new column."""

    asked: Asked
    adjustment: Adjustment | ByCriterion
    column: str


def _parts(adjustment: Any, asked: Asked, column: str) -> list[_Part]:
    """The table is read once, or once for each criterion with a score column of its own. A column of criteria is read
    as that of systems: what is adjusted are cells of criterion, language and judge."""
    if not isinstance(adjustment, ByCriterion):
        return [_Part(asked, adjustment, column)]
    if adjustment.column:
        return [_Part(replace(asked, names={**asked.names, "system": adjustment.column}), adjustment, column)]
    own = {c: replace(asked, names={**asked.names, "score": c}) for c in adjustment.parts}
    return [_Part(own[c], part, f"{c}_{column}") for c, part in adjustment.parts.items()]


def _counted(parts: list[_Part], read: list[Understood], unseen: str) -> Counted:
    """What there is to adjust, of all parts together."""
    found: list[Counted] = []
    for part, one in zip(parts, read, strict=True):
        assert isinstance(one.source, duck.Source)
        places, *rest = beside.counted(part.adjustment, DuckEngine(one.source, one.columns), one.columns, unseen)
        found.append((places // one.source.rows_per_line, *rest))  # type: ignore[arg-type]
    rows, missings, strange, judges, ends = zip(*found, strict=True)
    lows, highs = zip(*ends, strict=True)
    named = tuple(dict.fromkeys(judge for some in judges for judge in some))
    return rows[0], sum(missings), sum(strange), named, (min(lows), max(highs))


def _all_rows(fresh: Callable[[], Opened], opened: Opened, foreign: bool, kind: str) -> duck.Source:
    """The source once more, with all its columns."""
    if foreign:
        return opened.source
    if opened.source.frame is not None:
        out = duck.open_frame(opened.source.frame)
        out.where, out.files = opened.source.where, opened.paths
    else:
        opened.source.con.close()
        out = fresh().source
    if out.kind == "duckdb":
        out = duck.unlocked(out)
    elif out.kind == "json" and kind == "json":
        out.relation = out.as_json
    elif out.relation.startswith(("frame::", "sqlite::")):
        with engine_errors(out.where):
            duck.spool(out, out.columns)
    return out


def _number(place: Place, layout: Layout, types: Mapping[str, str]) -> str:
    """SQL of a score as a number."""
    if layout.typed:
        return f"CAST({name(place.column)} AS DOUBLE)"
    return f"CAST(nullif(trim({layout.values.sql(place.sql(types))}), '') AS DOUBLE)"


def _calibrated(
    part: _Part, layout: Layout, rows: duck.Source, scales: Mapping[str, tuple[float, ...]], strict: bool
) -> dict[str, str]:
    """The new columns and their SQL. `scales`: low and high of a judge's own scale, then of the calibrator's. With a
    column of criteria these are one label with the language."""
    types, adjust, criterion = duck.column_types(rows), part.adjustment, ""
    if isinstance(adjust, ByCriterion):
        criterion, adjust = adjust.column, adjust.joint
    made: dict[str, str] = {}
    inside: dict[str, list[str]] = {}
    for place, said in layout.scores:
        language, judge = (
            quote(said[role]) if role in said else layout.labels[role].sql(types) for role in ("language", "judge")
        )
        if criterion:
            language = f"trim(CAST({name(criterion)} AS VARCHAR)) || {quote(MARK)} || {language}"
        score = _number(place, layout, types)
        turned = "".join(
            f" WHEN {quote(j)} THEN {bottom!r} + ({score} - {low!r}) * {(top - bottom) / (high - low)!r}"
            for j, (low, high, bottom, top) in scales.items()
        )
        number = f"(CASE {judge}{turned} ELSE {score} END)" if turned else score
        value = adjust.sql(language, judge, number, strict)
        if said and place.path:
            inside.setdefault(f"{place.column}_{part.column}", []).append(f"{quote('.'.join(place.path))}, {value}")
        else:
            made[f"{place.text}_{part.column}" if said else part.column] = value
    made |= {top: f"json_object({', '.join(pairs)})" for top, pairs in inside.items()}
    there = next((n for n in made if n in rows.columns), None)
    if there is not None:
        raise UsageError(f"{rows.where} already has a column {there!r}. Choose another name with --column.")
    return made


def _as_they_were(rows: duck.Source, layout: Layout, target: _Target, safe: bool) -> list[str]:
    """The columns that were there: text that is a plain number as a number, where the output has types."""
    types, scores = duck.column_types(rows), {place.column: place for place, _ in layout.scores}
    as_numbers = (
        not layout.typed and layout.values.as_written and target.kind in ("parquet", "folder", "excel", "table")
    )
    out = []
    for c in rows.columns:
        if as_numbers and c in scores and scores[c].plain:
            out.append(f"{_number(scores[c], layout, types)} AS {name(c)}")
        elif safe and target.kind == "csv" and c not in scores:
            text = f"CAST({name(c)} AS VARCHAR)"
            risky = f"{text}[1] IN ({', '.join(map(quote, FORMULA))}) AND try_cast({text} AS DOUBLE) IS NULL"
            out.append(f"CASE WHEN {risky} THEN '''' || {text} ELSE {text} END AS {name(c)}")
        else:
            out.append(name(c))
    return out


def _write(
    rows: duck.Source,
    old: list[str],
    made: dict[str, str],
    target: _Target,
    opened: Opened,
    before: list[Any],
    sibling: str | None,
) -> str:
    """The rows at their target, whole or not at all. Returns its name."""
    new = [f"{sql} AS {name(n)}" for n, sql in made.items()]
    query = f"SELECT {', '.join([*old, *new])} FROM {rows.relation}"
    if sibling is not None:
        with _write_errors(target.path, rows.where):
            return beside.in_file(rows, query, opened.source.table, sibling, target.overwrite)
    with target.open() as (part, options):
        with _write_errors(target.path, rows.where):
            if target.kind == "excel":
                found = rows.con.execute(query)
                write_excel(part, [*rows.columns, *made], iter(lambda: found.fetchmany(duck.CHUNK), []))
            elif target.kind == "json" and opened.source.frame is not None and opened.format == "json":
                values = rows.con.execute(f"SELECT {', '.join(new)} FROM {rows.relation}").fetchall()
                put_beside(list(rows.files), [dict(zip(made, v, strict=True)) for v in values], part, target.path)
            else:
                rows.con.execute(f"COPY ({query}) TO {quote(str(part))} ({options})")
        if rows.stamps() != before:
            raise PanelError(f"{rows.where} changed while it was read. Nothing was written. Run the command again.")
    rows.con.close()
    return str(target.path)


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


def _format(output: Path) -> str:
    plain = output.name.lower().removesuffix(".gz")
    found = next((kind for kind, endings in ENDINGS.items() if plain.endswith(endings)), None)
    if found is None and (output.suffix == "" or output.is_dir()):
        return "folder"
    if found is None:
        raise UsageError(
            f"{clean(str(output), 200)}: write .csv, .tsv, .jsonl, .json (also .gz), .xlsx, .parquet, a folder (a name "
            "without an ending) of Parquet files, or ::TABLE beside a DuckDB or PostgreSQL table."
        )
    return found


def _with_spark(
    adjustment: Adjustment, source: str, output: Path, column: str, unseen: str, overwrite: bool, asked: Asked
) -> Written:
    """Read files with Spark and write a folder of Parquet files."""
    if output.suffix:
        raise UsageError("With --engine spark the output is a folder of Parquet files: a name without an ending.")
    check_folder(output, MAKER, overwrite)
    frame = spark_frame(source)
    columns, counts = beside.prepared(adjustment, as_table(frame), column, unseen, asked, "pyspark")
    at = {role: getattr(columns, role) for role in ("language", "judge", "score")}
    with new_folder(output, MAKER, overwrite=overwrite) as part, foreign_errors("Spark"):
        adjustment.table(frame, column=column, unseen="keep", **at).write.mode("append").parquet(str(part))
    return Written(str(output), *counts)


# --- where it goes ---


@dataclass(frozen=True)
class _Target:
    """Where the rows go."""

    path: Path
    kind: str
    overwrite: bool

    def check(self) -> None:
        """Refuse what must not be replaced before the work begins."""
        if self.kind == "folder":
            check_folder(self.path, MAKER, self.overwrite)
        elif self.kind != "table":
            check_file(self.path)

    @contextmanager
    def open(self) -> Iterator[tuple[Path, str]]:
        """A place to write to that becomes the target when all went well, and the options of COPY."""
        name_ = self.path.name.lower()
        gz = ", COMPRESSION gzip" if name_.endswith(".gz") else ""
        tab = chr(9) if ".tsv" in name_ else ","
        options = {
            "csv": f"FORMAT csv, HEADER true, DELIMITER '{tab}', USE_TMP_FILE false{gz}",
            "json": f"FORMAT json, ARRAY {str('.json' in Path(name_).suffixes).lower()}, USE_TMP_FILE false{gz}",
            "excel": "",
            "parquet": "FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false",
            "folder": "FORMAT parquet, COMPRESSION zstd, FILENAME_PATTERN 'part-{i}', FILE_SIZE_BYTES '256MB'",
        }[self.kind]
        folder = self.kind == "folder"
        place = new_folder(self.path, MAKER, overwrite=self.overwrite) if folder else atomic_path(self.path)
        with place as part:
            yield part, options


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
