"""OpenTelemetry: events `gen_ai.evaluation.result`, in the JSON lines of the collector's file exporter."""

from __future__ import annotations

from typing import Any

from polyjudge.read.tools import Record, Rows, flat, number, pick

TITLE = "OpenTelemetry records"
FITS = ({"resourceLogs"}, {"resourceSpans"})
EVENT = "gen_ai.evaluation.result"
NAME, VALUE, LABEL = "gen_ai.evaluation.name", "gen_ai.evaluation.score.value", "gen_ai.evaluation.score.label"
JUDGE = ("gen_ai.evaluation.model", "gen_ai.evaluator.model", "gen_ai.evaluator.name", "gen_ai.request.model")
"""Where the judge may stand; the conventions name none."""


def rows(record: Record) -> Rows:
    """One row for each event of an evaluation."""
    for resource in [*record.get("resourceLogs", []), *record.get("resourceSpans", [])]:
        about = _attributes(resource.get("resource") or {})
        for scope in [*resource.get("scopeLogs", []), *resource.get("scopeSpans", [])]:
            for entry in [*scope.get("logRecords", []), *scope.get("spans", [])]:
                for event in entry.get("events", [entry]):
                    if event.get("eventName", event.get("name")) == EVENT:
                        own = {**about, **_attributes(entry), **_attributes(event)}
                        yield _row(own, entry.get("traceId"))


def _row(own: Record, trace: Any) -> dict[str, Any]:
    short = {key.rsplit(".", 1)[-1]: value for key, value in own.items() if not key.startswith("gen_ai.")}
    judge = pick("judge", short) or next((own[key] for key in JUDGE if own.get(key)), None)
    return {
        "task": pick("task", short) or own.get("gen_ai.response.id") or trace,
        "language": pick("language", short),
        "system": pick("system", short),
        "judge": judge or own.get(NAME),
        "metric": own.get(NAME) if judge else None,
        "score": number(own.get(VALUE, own.get(LABEL))),
        "failed": bool(own.get("error.type")),
        **flat(own, "attributes."),
    }


def _attributes(holder: Record) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for one in holder.get("attributes") or []:
        for kind, value in (one.get("value") or {}).items():  # {"doubleValue": 3.5}; whole numbers are text
            out[str(one.get("key"))] = int(value) if kind == "intValue" else value
    return out
