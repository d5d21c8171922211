"""Arize Phoenix annotations: the identifier or model of each annotation is a judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from polyjudge.second.read.formats.base import Peek, by_metric, flat, number_or_word, parsed, pick, records, table_rows
from polyjudge.second.read.limits import named


def fits(peek: Peek) -> bool:
    return {"annotator_kind", "annotation_name"} <= set(peek.header) or "annotator_kind" in peek.entry


def rows(path: Path) -> Iterator[dict[str, Any]]:
    for note in _notes(path):
        result, about = note.get("result") or {}, note.get("metadata") or {}
        score = result.get("score")
        yield {
            "task": pick("task", about) or note.get("span_id") or note.get("trace_id"),
            "language": pick("language", about),
            "system": pick("system", {k: v for k, v in about.items() if k != "model"}),
            "judge": pick("judge", about) or about.get("model") or note.get("identifier") or note.get("name"),
            "kind": note.get("annotator_kind"),
            "metric": note.get("name"),
            "score": number_or_word(result.get("label") if score in (None, "") else score),
            **flat(about, "metadata."),
        }


def _notes(path: Path) -> Iterator[Mapping[str, Any]]:
    if named(path, "csv"):
        for row in table_rows(path):
            yield {
                **row,
                "name": row.get("annotation_name"),
                "result": {"score": row.get("result.score"), "label": row.get("result.label")},
                "metadata": parsed(row.get("metadata") or "{}"),
            }
    else:
        yield from records(path)


finish = by_metric
