"""OpenTelemetry: events `gen_ai.evaluation.result`, in the JSON lines of the collector's file exporter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from polyjudge.second.read.formats.base import Peek, by_metric, flat, number_or_word, pick, records

EVENT = "gen_ai.evaluation.result"
NAME, VALUE, LABEL = "gen_ai.evaluation.name", "gen_ai.evaluation.score.value", "gen_ai.evaluation.score.label"
JUDGE = ("gen_ai.evaluation.model", "gen_ai.evaluator.model", "gen_ai.evaluator.name", "gen_ai.request.model")
"""Where the judge may stand; the conventions name none."""
KINDS = ("stringValue", "doubleValue", "intValue", "boolValue")


def fits(peek: Peek) -> bool:
    found = peek.record
    return isinstance(found, dict) and bool({"resourceLogs", "resourceSpans"} & found.keys()) and EVENT in peek.head


def rows(path: Path) -> Iterator[dict[str, Any]]:
    for record in records(path):
        for resource in [*record.get("resourceLogs", []), *record.get("resourceSpans", [])]:
            about = _attributes(resource.get("resource") or {})
            for scope in [*resource.get("scopeLogs", []), *resource.get("scopeSpans", [])]:
                for entry in [*scope.get("logRecords", []), *scope.get("spans", [])]:
                    for event in entry.get("events", [entry]):
                        if event.get("eventName", event.get("name")) == EVENT:
                            yield _row(event, entry, about)


def _row(event: Mapping[str, Any], entry: Mapping[str, Any], about: Mapping[str, Any]) -> dict[str, Any]:
    own = {**about, **(_attributes(entry) if event is not entry else {}), **_attributes(event)}
    short = {key.rsplit(".", 1)[-1]: value for key, value in own.items() if not key.startswith("gen_ai.")}
    score = own.get(VALUE)
    return {
        "task": pick("task", short) or own.get("gen_ai.response.id") or entry.get("traceId"),
        "language": pick("language", short),
        "system": pick("system", short),
        "judge": pick("judge", short) or next((own[key] for key in JUDGE if own.get(key)), None) or own.get(NAME),
        "metric": own.get(NAME),
        "score": number_or_word(own.get(LABEL) if score is None else score),
        **flat(own, "attributes."),
    }


def _attributes(holder: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for one in holder.get("attributes") or []:
        value = one.get("value") or {}
        kind = next((k for k in KINDS if k in value), None)
        if kind is not None:
            out[str(one.get("key"))] = int(value[kind]) if kind == "intValue" else value[kind]
    return out


finish = by_metric
