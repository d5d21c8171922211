"""Every Eval Ever: instance records, one a line; without the aggregate file beside them they name no judge."""

from __future__ import annotations

from polyjudge.read.tools import Record, Rows, number, pick

TITLE = "instance records of Every Eval Ever"
FITS = ({"evaluation_id", "sample_id", "evaluation.score"},)


def rows(record: Record) -> Rows:
    """One row a record: a sample that several metrics score has several records."""
    result = record.get("evaluation") or {}
    yield {
        "task": record["sample_id"],
        "system": record.get("model_id"),
        "language": pick("language", record.get("metadata")),
        "judge": "judge",
        "metric": record.get("evaluation_result_id") or record.get("evaluation_name"),
        "score": number(result.get("score")),
        "failed": bool(record.get("error")) and not result.get("score"),
    }
