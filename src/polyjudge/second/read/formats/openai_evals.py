"""OpenAI evals: output items of the API (each grader is a judge), and logs of the older `evals` package."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from polyjudge.second.read.formats.base import Peek, flat, language_from_names, number_or_word, pick, records

SCORES = ("score", "correct", "accuracy", "rating", "f1_score")
"""Where an event of the older log may hold its score, in this order."""


def fits(peek: Peek) -> bool:
    spec = peek.record.get("spec") if isinstance(peek.record, dict) else None
    older = isinstance(spec, dict) and "completion_fns" in spec
    return older or peek.entry.get("object") == "eval.run.output_item"


def rows(path: Path) -> Iterator[dict[str, Any]]:
    spec: dict[str, Any] = {}
    for record in records(path):
        spec = record.get("spec") or spec
        yield from _item(record) if "results" in record else _event(record, spec)


def _item(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    item, sample = record.get("datasource_item") or {}, record.get("sample") or {}
    inner = item.get("item") if isinstance(item.get("item"), dict) else item
    for result in record["results"]:
        yield {
            "task": pick("task", inner) or record.get("datasource_item_id"),
            "language": pick("language", inner),
            "system": sample.get("model"),
            "judge": result.get("name"),
            "score": number_or_word(result.get("score") if result.get("score") is not None else result.get("passed")),
            **flat(item, "item."),
        }


def _event(record: dict[str, Any], spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    data = record.get("data")
    if record.get("type") not in ("match", "metrics") or not isinstance(data, dict):
        return
    key = next((k for k in SCORES if k in data), None)
    if key is None:
        return
    judges = spec.get("completion_fns") or [None]
    yield {
        "task": record.get("sample_id"),
        "language": pick("language", data),
        "judge": judges[-1],  # a model-graded eval lists the graded model first, then its grader
        "system": judges[0] if len(judges) > 1 else None,
        "eval": spec.get("eval_name"),
        "score": number_or_word(data[key]),
    }


finish = partial(language_from_names, column="eval")
