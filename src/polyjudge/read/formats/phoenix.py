"""Arize Phoenix annotations: the identifier or model of each annotation is a judge."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from polyjudge.read.formats.base import Format, Peek, by_metric, flat, number_or_word, pick, records


def fits(peek: Peek) -> bool:
    """An answer of the API, its records, or the client's data frame as CSV."""
    return {"annotator_kind", "annotation_name"} <= set(peek.header) or "annotator_kind" in peek.entry


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """One row for each annotation that has a score or a label."""
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
    if path.name.lower().removesuffix(".gz").endswith(".csv"):
        for row in pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records"):
            about = row.get("metadata") or "{}"
            yield {
                **{str(k): v for k, v in row.items()},
                "name": row.get("annotation_name"),
                "result": {"score": row.get("result.score"), "label": row.get("result.label")},
                "metadata": _parsed(str(about)),
            }
    else:
        yield from records(path)


def _parsed(text: str) -> dict[str, Any]:
    for attempt in (text, text.replace("'", '"').replace("None", "null")):
        try:
            found = json.loads(attempt)
        except ValueError:
            continue
        return found if isinstance(found, dict) else {}
    return {}


FORMAT = Format(
    name="phoenix",
    title="Arize Phoenix annotations",
    files="span annotations of the API as JSON, or the client's data frame as CSV",
    reads="judge: metadata.model, else the identifier, else the annotation's name; task and language: metadata; score, "
    "or the label where there is none",
    needs="task and language in the annotations' metadata, else --task and --language metadata.NAME",
    fits=fits,
    rows=rows,
    finish=by_metric,
)
