"""Langfuse scores (`/api/public/v2/scores`): the name of each score is a judge, unless its metadata names one."""

from __future__ import annotations

from polyjudge.base.errors import PanelError
from polyjudge.read.tools import Record, Rows, flat, number, pick

TITLE = "Langfuse scores"
FITS = ({"traceId", "dataType"},)


def rows(record: Record) -> Rows:
    """One row a score; annotations are human labels."""
    if not FITS[0] <= record.keys():
        raise PanelError("This export of Langfuse holds other records than scores. Export the scores alone.")
    about, trace = (record[k] if isinstance(record.get(k), dict) else {} for k in ("metadata", "trace"))
    kind, value = record.get("dataType"), record.get("value")
    if kind in ("TEXT", "CORRECTION"):
        return  # free text about an answer, no score of it
    judge = pick("judge", about) or about.get("model")
    yield {
        "task": pick("task", about) or record.get("traceId") or record.get("sessionId"),
        "language": pick("language", about, trace.get("metadata")),
        "system": pick("system", {k: v for k, v in about.items() if k != "model"}),
        "judge": "human" if record.get("source") == "ANNOTATION" else judge or record.get("name"),
        "metric": record.get("name") if judge or record.get("source") == "ANNOTATION" else None,
        "score": number(record.get("stringValue") if kind == "CATEGORICAL" and value is None else value),
        "reason": record.get("comment"),
        **flat(about, "metadata."),
        **flat(trace, "trace."),
    }
