"""MLflow traces with assessments: the source of each feedback is a judge; expectations are left out."""

from __future__ import annotations

from polyjudge.read.tools import Record, Rows, flat, number, parsed, pick

TITLE = "MLflow traces"
FITS = ({"assessments", "trace_id"}, {"info.assessments", "info.trace_id"})


def rows(record: Record) -> Rows:
    """One row for each feedback of a trace."""
    info = record["info"] if isinstance(record.get("info"), dict) else record
    tags = parsed(info.get("tags") or {})
    about = parsed(info.get("trace_metadata") or info.get("request_metadata") or {})
    for one in parsed(info.get("assessments") or []):
        feedback, source, own = one.get("feedback"), one.get("source") or {}, one.get("metadata") or {}
        if feedback is None or one.get("valid") is False:
            continue
        people = source.get("source_type") == "HUMAN"
        yield {
            "task": pick("task", own, tags, about) or info.get("client_request_id") or info.get("trace_id"),
            "language": pick("language", own, tags, about),
            "system": pick("system", own, tags, about),
            "judge": "human" if people else source.get("source_id") or one.get("assessment_name"),
            "metric": one.get("assessment_name"),
            "score": number(feedback.get("value")),
            "failed": bool(feedback.get("error")),
            "reason": one.get("rationale"),
            **flat(tags, "tags."),
            **flat(about, "trace_metadata."),
            **flat(own, "metadata."),
        }
