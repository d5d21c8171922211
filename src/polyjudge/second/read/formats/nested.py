"""JSON that is no table yet: one document with a list of records, or records that each hold a list of judgments."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from polyjudge.second.panel.arrays import pd
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.labels import clean
from polyjudge.second.read.formats.base import Peek, check_pages, document, flat, records


def unfold(paths: list[Path]) -> pd.DataFrame | None:
    """A frame of the records inside, or None when the files are plain tables of JSON already."""
    peek = Peek(paths)
    first = peek.record
    if not isinstance(first, dict):
        return None
    if _is_document(peek):
        check_pages([document(path) for path in paths], clean(paths[0], 200))
        frames = []
        for path in paths:
            whole = document(path)
            key = _list_in(whole) if isinstance(whole, dict) else None
            if key is None and len(paths) == 1:
                keys = ", ".join(clean(k, 40) for k in list(first)[:4])
                raise PanelError(
                    f"{clean(path, 200)} is one JSON object ({keys}, ...) without a list of records. Write one record "
                    'for each score: {"task": ..., "language": ..., "judge": ..., "score": ...}.'
                )
            if key is None:
                return None
            outer = flat({k: v for k, v in whole.items() if k != key and not isinstance(v, Mapping)})
            frames += [{**outer, **row} for row in whole[key]]
        return pd.DataFrame(_explode(frames)).dropna(axis=1, how="all")
    if _list_in(first) is None:
        return None
    return pd.DataFrame(_explode(row for path in paths for row in records(path))).dropna(axis=1, how="all")


def _is_document(peek: Peek) -> bool:
    """One object over the whole file, rather than one in each line or a list."""
    text = peek.head.lstrip("\ufeff \t\r\n")
    return text.startswith("{") and isinstance(peek.document, dict)


def _list_in(record: Mapping[str, Any]) -> str | None:
    """The only key that holds a list of objects."""
    keys = [k for k, v in record.items() if isinstance(v, list) and v and all(isinstance(x, dict) for x in v)]
    return keys[0] if len(keys) == 1 else None


def _explode(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row for each object of the list in each record. A name that both levels have keeps its path inside."""
    out: list[dict[str, Any]] = []
    for row in rows:
        key = _list_in(row)
        if key is None:
            out.append(flat(row))
            continue
        outer = flat({k: v for k, v in row.items() if k != key})
        for inner in row[key]:
            own = {(f"{key}.{n}" if n in outer else n): v for n, v in flat(inner).items()}
            out.append({**outer, **own})
    return out


def put_beside(paths: list[Path], new: list[dict[str, Any]], part: Path, output: Path) -> None:
    """The records of `unfold` as they were, each judgment with its new values, in the order of its frame.

    A document stays one; records become one in each line (.jsonl), or a list (.json).
    """
    whole, values = _is_document(Peek(paths)), iter(new)
    lines = bool({".jsonl", ".ndjson"} & set(output.suffixes))
    if whole and (lines or len(paths) > 1):
        raise UsageError("JSON documents are written as one document (.json), or as a table (.csv, .parquet).")
    body: Any = document(paths[0]) if whole else [row for path in paths for row in records(path)]
    for row in body[_list_in(body)] if whole else body:
        inner = _list_in(row)
        for judgment in [row] if inner is None else row[inner]:
            judgment.update(next(values))
    opener: Any = gzip.open if output.name.lower().endswith(".gz") else open
    with opener(part, "wt", encoding="utf-8") as file:
        if lines:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in body)
        else:
            json.dump(body, file, ensure_ascii=False, indent=1)
