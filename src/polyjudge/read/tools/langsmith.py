"""LangSmith: runs with their feedback, as the client's `list_runs` and `list_feedback` give them, as JSON lines.

A key of feedback is a judge; what people gave in the app are labels. The example of the dataset is the task, unless
metadata name one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from polyjudge.read.table import flat
from polyjudge.read.tools import number, parsed, pick

TITLE = "LangSmith runs"
PEOPLE = ("app",)
"""Kinds of sources that are people at the screen; models and programs are "model", "api" and "auto_eval"."""


def fits(record: Mapping[str, Any]) -> bool:
    """Whether a record is a run with its feedback."""
    return "run_type" in record and bool({"feedback_stats", "feedback"} & set(record))


def rows(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One row for each feedback of a run; of statistics their mean."""
    inputs, outputs = (parsed(record.get(k) or {}) for k in ("inputs", "outputs"))
    about = (parsed(record.get("extra") or {}) or {}).get("metadata") or {}
    example = record.get("reference_example_id") or record.get("trace_id")
    session = record.get("session_name") or record.get("session_id")
    common = {
        "task": pick("task", about, inputs) or example or record["id"],
        "language": pick("language", about, inputs),
        "system": pick("system", about) or about.get("ls_model_name") or session,
        **flat(about, "metadata."),
        **flat(inputs if isinstance(inputs, dict) else {}, "inputs."),
        **flat(outputs if isinstance(outputs, dict) else {}, "outputs."),
        "failed": bool(record.get("error")),
    }
    given = parsed(record.get("feedback") or [])
    given = given if isinstance(given, list) else []
    for one in given:
        kind, value = (one.get("feedback_source") or {}).get("type"), one.get("score")
        yield _row(common, one.get("key"), one.get("value") if value is None else value, kind, one.get("comment"))
    for key, stats in (parsed(record.get("feedback_stats") or {}) or {}).items() if not given else ():
        kinds = {str(parsed(s).get("type") if str(s).startswith("{") else s) for s in stats.get("sources") or []}
        yield _row(common, key, stats.get("avg"), kinds.pop() if len(kinds) == 1 else None, None)


def _row(common: Mapping[str, Any], key: Any, value: Any, kind: Any, comment: Any) -> dict[str, Any]:
    judge, failed = "human" if kind in PEOPLE else key, common["failed"] and not value
    return {**common, "judge": judge, "score": number(value), "failed": failed, "reason": comment}
