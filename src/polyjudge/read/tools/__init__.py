"""Files of evaluation tools: each module here turns records into rows of a long table, `rows(record) -> dicts`. FITS
are keys of which each of its records has all of one set; `a.b` is b in the record a, or in the first of the list a.

A row has task, language, system, judge, metric, score, replicate, and what else was said about the answer under dotted
names, so that a user can name it: --task vars.nr. `failed` says that the tool marks the score as none.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from polyjudge.base.errors import PanelError, PolyjudgeError, UsageError
from polyjudge.base.text import count, name
from polyjudge.read.table import Table, open_frame, records, start
from polyjudge.read.table import flat as flat

Record = Mapping[str, Any]
Rows = Iterator[dict[str, Any]]

ROLES = {
    "task": ("task", "task_id", "question_id", "item_id", "item", "prompt_id", "example_id", "case_id", "id"),
    "language": ("language", "lang", "locale", "language_code", "lang_code"),
    "system": ("system", "system_id", "model", "model_name", "system_model", "candidate"),
    "judge": ("judge", "judge_model", "grader", "evaluator", "evaluator_model"),
}  # fmt: skip


def read(paths: list[Path], where: str) -> Table | None:
    """The long table of the tool that wrote the files; None when no tool did."""
    first, tool = _first(paths[0]), None
    keys = set(first)
    for key, value in first.items():
        inner = value[0] if isinstance(value, list) and value else value
        keys |= {f"{key}.{k}" for k in inner} if isinstance(inner, dict) else set()
    for module in iter_modules(__path__):
        one: Any = import_module(f"{__name__}.{module.name}")
        if paths[0].name.endswith(getattr(one, "END", "\0")) or any(x <= keys for x in one.FITS):
            tool = one
    if tool is None:
        return None
    try:
        if hasattr(tool, "newest"):
            found = [row for path in tool.newest(paths) for row in tool.rows(path)]
        else:
            found = [row for record in _unpaged(paths, where) for row in tool.rows(record)]
    except (PolyjudgeError, MemoryError):
        raise
    except ImportError:
        said = "Inspect logs are packed by Zstandard. Reading them needs: pip install 'polyjudge[logs]'."
        raise UsageError(said) from None
    except Exception as error:
        raise PanelError(
            f"{where} looks like {tool.TITLE}, but is not what is expected there ({name(repr(error), 100)})."
        ) from None
    if not found:
        raise PanelError(f"{where} looks like {tool.TITLE} and holds no score.")
    return _tidy(tool.TITLE, found, where)


def read_run(paths: list[Path], where: str) -> Table | None:
    """The files of a folder that a tool wrote in several kinds; None where no tool did."""
    from polyjudge.read.tools import judgearena

    return read(judgearena.newest(paths), where) if judgearena.is_run(paths) else None


def _first(path: Path) -> dict[str, Any]:
    """The first record of a file, or of a page of an export; of a CSV file its header."""
    first: Any = None
    with suppress(PanelError, ValueError, RecursionError):
        head = start(path).decode("utf-8-sig", "ignore").lstrip()
        if head[:1] not in ("{", "["):
            return dict.fromkeys(head.split("\n", 1)[0].strip().replace('"', "").split(","), "")
        try:
            first = json.JSONDecoder().raw_decode(head.removeprefix("[").lstrip())[0]
        except ValueError:
            first = records(path)[0]
        data = first.get("data") if isinstance(first, dict) else None
        first = data[0] if isinstance(data, list) and data else first
    return first if isinstance(first, dict) else {}


def _unpaged(paths: list[Path], where: str) -> Iterator[dict[str, Any]]:
    """The records of files; of the pages of an export theirs, where all are there."""
    if paths[0].name.lower().endswith((".csv", ".csv.gz")):
        import pandas as pd

        for path in paths:
            yield from pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig").to_dict("records")  # type: ignore[misc]
        return
    pages, unfinished, total = 0, 0, 0
    for record in (record for path in paths for record in records(path)):
        page, about = record.get("data"), record.get("meta")
        if isinstance(page, list) and all(isinstance(x, dict) for x in page):
            about = about if isinstance(about, dict) else {}
            pages, total = pages + 1, max(total, about.get("totalPages") or 0)
            unfinished += bool(record.get("has_more") or record.get("next_cursor") or about.get("cursor"))
            yield from page
        else:
            yield record
    if pages and (unfinished == pages or pages < total):
        raise PanelError(f"{where} holds pages of an export, and not all of them. Fetch the others too.")


def _tidy(title: str, found: list[dict[str, Any]], where: str) -> Table:
    """Rows as a frame: roles that say nothing are left out, tests that share a variable are one task."""
    import pandas as pd

    failed = pd.Series([bool(row.pop("failed", False)) for row in found])
    frame, notes = pd.DataFrame(found), []
    if failed.any():
        frame["score"] = frame["score"].where(~failed, None)
        notes.append(f"{count(int(failed.sum()), 'score')} failed in the run: missing.")
    frame = frame.dropna(axis=1, how="all")
    if "won" in frame:  # verdicts on pairs of systems: their own reader tells rows apart
        return replace(open_frame(frame, where), tool=title, notes=notes)
    if "score" not in frame:
        raise PanelError(f"No score in these files ({title}) is a number: every one failed or is text.")
    for role in ("system", "replicate", "metric"):
        if role in frame and frame[role].nunique() < 2:
            frame = frame.drop(columns=role)
    if "metric" in frame:  # a metric of each judge's own is no criterion
        own = frame.groupby("judge")["metric"].nunique().max() == 1 == frame.groupby("metric")["judge"].nunique().max()
        frame = frame.drop(columns="metric") if own else frame
    if "language" in frame and frame["language"].nunique() > 1 == frame.groupby("task")["language"].nunique().max():
        keys = [k for k in ("language", "system", "judge", "metric", "replicate") if k in frame]
        for column in [c for c in frame.columns if "." in c and frame[c].notna().all()]:
            joins = frame.groupby(column)["language"].nunique().min() > 1
            if joins and not frame.duplicated([column, *keys]).any():
                frame["task"] = frame[column]
                notes.append(f"Tests that share {name(column)} are read as one task in several languages.")
                break
    return replace(open_frame(frame, where), tool=title, notes=notes)


def pick(role: str, *places: Any) -> Any:
    """The value of the first usual name of a role in the first record that has one."""
    for place in places:
        low = {str(k).strip().lower(): v for k, v in place.items()} if isinstance(place, Mapping) else {}
        for usual in ROLES[role]:
            if isinstance(low.get(usual), (str, int, float)) and low[usual] != "":
                return low[usual]
    return None


def number(value: Any) -> Any:
    """A score as the table keeps it: numbers, truth values and words; anything else is none."""
    return value if isinstance(value, (bool, int, float, str)) else None


def parsed(value: Any) -> Any:
    """A list or record that a cell of a data frame holds, as JSON or as Python writes it."""
    if not isinstance(value, str):
        return value
    for load in (json.loads, ast.literal_eval):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            return load(value)
    raise ValueError(f"neither a list nor a record: {value[:60]}")
