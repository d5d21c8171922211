"""OpenTelemetry: events `gen_ai.evaluation.result`, in the JSON lines of the collector's file exporter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from polyjudge.read.table import flat
from polyjudge.read.tools import number, pick

TITLE = "OpenTelemetry records"
EVENT = "gen_ai.evaluation.result"
NAME, VALUE, LABEL = "gen_ai.evaluation.name", "gen_ai.evaluation.score.value", "gen_ai.evaluation.score.label"
JUDGE = ("gen_ai.evaluation.model", "gen_ai.evaluator.model", "gen_ai.evaluator.name", "gen_ai.request.model")
"""Where the judge may stand; the conventions name none."""
KINDS = ("stringValue", "doubleValue", "intValue", "boolValue")


def fits(record: Mapping[str, Any]) -> bool:
    """Whether a record is one of logs or spans."""
    return bool({"resourceLogs", "resourceSpans"} & set(record))


def rows(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One row for each event of an evaluation."""
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
    judge = pick("judge", short) or next((own[key] for key in JUDGE if own.get(key)), None)
    return {
        "task": pick("task", short) or own.get("gen_ai.response.id") or entry.get("traceId"),
        "language": pick("language", short),
        "system": pick("system", short),
        "judge": judge or own.get(NAME),
        "metric": own.get(NAME) if judge else None,
        "score": number(own.get(LABEL) if score is None else score),
        "failed": bool(own.get("error.type")),
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
