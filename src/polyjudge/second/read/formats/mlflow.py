"""MLflow traces with assessments: the source of each feedback is a judge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from polyjudge.second.read.formats.base import Peek, by_metric, flat, number_or_word, parsed, pick, records, table_rows
from polyjudge.second.read.limits import named


def fits(peek: Peek) -> bool:
    if {"trace_id", "assessments"} <= set(peek.header):
        return True
    return isinstance(peek.record, dict) and {"assessments", "trace_id"} <= _info(peek.record).keys()


def _info(trace: dict[str, Any]) -> dict[str, Any]:
    inner = trace.get("info")
    return inner if isinstance(inner, dict) else trace


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """One row for each feedback of each trace; expectations are ground truth and are left out."""
    for trace in table_rows(path) if named(path, "csv") else records(path):
        info = _info(trace)
        found = parsed(info.get("assessments") or [])
        tags, about = (
            parsed(info.get("tags") or {}),
            parsed(info.get("trace_metadata") or info.get("request_metadata") or {}),
        )
        for one in found:
            feedback, source, own = one.get("feedback"), one.get("source") or {}, one.get("metadata") or {}
            if feedback is None or one.get("valid") is False:
                continue
            yield {
                "task": pick("task", own, tags, about) or info.get("client_request_id") or info.get("trace_id"),
                "language": pick("language", own, tags, about),
                "system": pick("system", own, tags, about),
                "judge": source.get("source_id") or one.get("assessment_name"),
                "kind": source.get("source_type"),
                "metric": one.get("assessment_name"),
                "score": number_or_word(feedback.get("value")),
                **flat(tags, "tags."),
                **flat(about, "trace_metadata."),
                **flat(own, "metadata."),
            }


finish = by_metric
