"""The one opener: from whatever names scores (a path, a glob, a folder, standard input, a data frame) to a table."""

from __future__ import annotations

import atexit
import glob
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TextIO

from polyjudge.second.panel.arrays import pd
from polyjudge.second.panel.budget import budget, shown
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.files import check_name, file_of, matches
from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.reading import Reading, RoleRead, Unclear
from polyjudge.second.panel.say import Say, Words, say
from polyjudge.second.read import duck
from polyjudge.second.read.duck import FILE
from polyjudge.second.read.formats import find_tool, tool_files
from polyjudge.second.read.formats.base import Format, read_tool
from polyjudge.second.read.formats.excel import read_excel
from polyjudge.second.read.formats.nested import unfold
from polyjudge.second.read.formats.roles import Asked
from polyjudge.second.read.limits import named
from polyjudge.second.rooms import load

STDIN = "-"
NOTHING = Asked()
STDIN_BUDGETS = 8
"""Standard input is copied to the disk, up to so many times the memory that may be used."""


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A table in our engine whose columns are not chosen yet, and what its format says."""

    source: duck.Source
    shown: str = ""
    """What the user called it."""
    format: str = ""
    limits: tuple[float, float] | None = None
    notes: tuple[Words, ...] = ()
    looks: int = 0
    """Looks that an adaptive collection planned."""
    condition: str = ""
    """What stands in place of language, where the source says so."""
    doubts: tuple[Say, ...] = ()
    needs: str = ""
    """What the format asks of the user."""
    paths: tuple[Path, ...] = ()
    """The files behind a frame."""
    orders: pd.DataFrame | None = None
    """Verdicts on pairs in the order of showing, of a run that asked for them."""
    sure: bool = False
    """The format says which column is what (a tool's files, a collection run)."""


def open_table(source: Any, asked: Asked = NOTHING) -> Opened:
    """Open scores that our own engine reads. Warehouses and Spark are opened by `warehouse`."""
    if not isinstance(source, (str, Path)):
        return _open_frame(source)
    text = file_of(str(source)) or str(source)
    check_name(text)
    if text == STDIN:
        path = _spool_stdin(sys.stdin)
        opened = open_table(path, asked)
        opened.source.where = "standard input"
        return replace(opened, shown=STDIN)
    if os.path.isdir(text):
        return _open_folder(Path(text), asked)
    table = asked.table
    name, _, sheet = text.partition("::") if table is None and not os.path.exists(text) else (text, "", table or "")
    paths = tool_files(name)
    tool = find_tool(paths, asked.format) if table is None and not sheet else None
    if tool is not None:
        return _open_tool(tool, paths, text, asked.metric)
    if paths and all(named(path, "excel") for path in paths):
        if len(paths) > 1:
            raise PanelError(f"{clean(text, 200)} matches several spreadsheets. Read one at a time.")
        return _held(read_excel(paths[0], sheet or None), text, "excel", paths)
    if paths and all(named(path, "json") for path in paths):
        with duck.engine_errors(clean(text, 200)):
            frame = unfold(paths)
        if frame is not None:
            return _held(frame, text, "json", paths)
    source_ = duck.open_file(text, table)
    skipped = (say("read.above", lines=len(source_.above), first=source_.above[0]),) if source_.above else ()
    return Opened(source=source_, shown=text, format=source_.kind, notes=skipped)


def _open_frame(source: Any) -> Opened:
    if isinstance(source, (list, dict)):
        try:
            source = pd.DataFrame(source)
        except (ValueError, TypeError) as error:
            raise UsageError(f"This {type(source).__name__} is no table: {clean(error, 100)}.") from None
    if isinstance(source, (pd.Series, pd.DataFrame)):
        source = _plain(source)
    kind = type(source).__module__.split(".")[0]
    if kind in ("duckdb", "_duckdb"):
        source = source.df()
    if kind == "polars":
        source = source.collect() if hasattr(source, "collect") else source
        arrow = find_spec("pyarrow") is not None
        source = source.to_arrow() if arrow else pd.DataFrame(source.to_dict(as_series=False))
    if not (hasattr(source, "columns") or hasattr(source, "column_names") or hasattr(source, "schema")):
        raise UsageError(
            f"read_panel takes a path, a pandas, polars or pyarrow table, an Ibis table or a Spark data frame, not "
            f"{type(source).__name__}."
        )
    return Opened(source=duck.open_frame(source), shown="FILE", format="data frame")


def chosen_rows(opened: Opened, only: Mapping[str, str]) -> Opened:
    """The rows of a table whose columns have these values."""
    source = opened.source
    if strange := [column for column in only if column not in source.columns]:
        raise PanelError(f"{source.where} has no column {clean(strange[0])!r}.")
    return replace(opened, source=replace(source, only=only, spool=True, as_json="", row="rowid", first_line=None))


def _plain(table: pd.Series[Any] | pd.DataFrame) -> pd.DataFrame:
    """A data frame whose labels are columns: levels of an index become some, levels of columns are joined."""
    frame = table.to_frame("score" if table.name is None else table.name) if isinstance(table, pd.Series) else table
    if isinstance(frame.columns, pd.MultiIndex):
        frame = frame.set_axis(["_".join(str(x) for x in names if str(x)) for names in frame.columns], axis=1)
    named = [str(name) for name in frame.index.names if name is not None]
    if isinstance(frame.index, pd.MultiIndex) or (named and not set(named) & set(map(str, frame.columns))):
        frame = frame.reset_index()
    return frame


def _open_folder(folder: Path, asked: Asked) -> Opened:
    run = next((kind for kind in load("formats") if kind.holds_run(folder)), None)
    if run is not None:
        found = run.read_run(folder, asked.names.get("group"))
        opened = _held(found.frame, str(folder), "collection run", [])
        own = {name: getattr(found, name) for name in ("notes", "looks", "condition", "orders")}
        return replace(opened, limits=found.declared_range, sure=True, **own)
    if parts := matches(os.path.join(glob.escape(str(folder)), "**", "*.parquet")):
        return Opened(source=duck.open_paths(parts, clean(folder, 200)), shown=str(folder), format="parquet")
    paths = tool_files(folder)
    tool = find_tool(paths, asked.format)
    if tool is not None:
        return _open_tool(tool, paths, str(folder), asked.metric)
    shown = clean(folder, 200)
    raise PanelError(
        f"{shown} is a folder without a collection run (store.sqlite), Parquet files, or files of an eval tool that "
        f"polyjudge check --formats lists. To read the tables in it, name them: {shown}/*.csv."
    )


def _open_tool(tool: Format, paths: Sequence[Path], shown: str, metric: str | None) -> Opened:
    found = read_tool(tool, paths)
    frame = _one_metric(found.frame, metric, shown, tool.name)
    opened = _held(frame, shown, tool.name, paths)
    return replace(opened, notes=found.notes, doubts=found.doubts, sure=True, needs=tool.needs)


def _one_metric(frame: pd.DataFrame, metric: str | None, shown: str, format: str) -> pd.DataFrame:
    """The rows of one metric, where judges gave several for the same answer: they are not repeats."""
    if "metric" not in frame or frame["metric"].nunique() < 2:
        return frame
    names = [str(m) for m in frame["metric"].dropna().unique()]
    if metric is not None:
        if metric not in names:
            raise PanelError(f"There is no metric {clean(metric)!r} in {clean(shown, 200)}; it has {', '.join(names)}.")
        return frame[frame["metric"] == metric].reset_index(drop=True)
    keys = [k for k in ("task", "system", "language", "judge", "replicate") if k in frame]
    if not frame.duplicated(keys).any():
        return frame
    reading = Reading(
        source=shown,
        format=format,
        roles=tuple(RoleRead(role=k, column=k, how="format") for k in (*keys, "score")),
        questions=(Say("read.metrics", {"metrics": names}),),
    )
    flags = " or ".join(f"--metric {clean(m)!r}" for m in names[:6])
    raise Unclear(f"{clean(shown, 200)} holds several metrics by the same judges. Say which one: {flags}.", reading)


def _held(frame: pd.DataFrame, shown: str, format: str, paths: Sequence[Path]) -> Opened:
    """A frame that stands for files."""
    source = duck.open_frame(frame)
    source.where, source.files = clean(shown, 200), tuple(paths) if FILE in frame else ()
    return Opened(source=source, shown=shown, format=format, paths=tuple(paths))


@cache
def _spool_stdin(stdin: TextIO | None) -> Path:
    """Standard input as a file of our own, named by what it holds; removed when the program ends."""
    if stdin is None or stdin.isatty():
        raise UsageError("Scores are read from standard input (-), and nothing is piped into it.")
    folder = Path(tempfile.mkdtemp(prefix="polyjudge-stdin-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    held = folder / "input"
    left = STDIN_BUDGETS * budget()
    with held.open("wb") as file:
        while block := stdin.buffer.read(1 << 20):
            left -= len(block)
            if left < 0:
                raise UsageError(
                    f"Standard input has more than {shown(STDIN_BUDGETS * budget())}. Name a file instead."
                )
            file.write(block)
    with held.open("rb") as file:
        head = file.read(64)
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    suffix = (
        ".parquet" if head[:4] == b"PAR1"
        else ".csv.gz" if head[:2] == b"\x1f\x8b"
        else ".xlsx" if head[:2] == b"PK"
        else ".jsonl" if start[:1] in (b"{", b"[")
        else ".csv"
    )  # fmt: skip
    return held.rename(held.with_suffix(suffix))
