"""LangSmith: runs with feedback, as its client gives them; a key of feedback is a judge, people gave labels."""

from __future__ import annotations

from polyjudge.read.tools import Record, Rows, flat, number, parsed, pick

TITLE = "LangSmith runs"
FITS = ({"run_type", "feedback_stats"}, {"run_type", "feedback"})


def rows(record: Record) -> Rows:
    """One row for each feedback of a run; of statistics their mean."""
    inputs, outputs, extra = (parsed(record.get(k) or {}) for k in ("inputs", "outputs", "extra"))
    about = extra.get("metadata") or {}
    given = parsed(record.get("feedback") or [])
    for key, stats in () if given else parsed(record.get("feedback_stats") or {}).items():
        kinds = {parsed(s).get("type") if str(s).startswith("{") else s for s in stats.get("sources") or []}
        one = {"key": key, "score": stats.get("avg"), "extra": {"error": stats.get("errors")}}
        given.append({**one, "feedback_source": {"type": kinds.pop() if len(kinds) == 1 else None}})
    for one in given:
        value = one.get("value") if one.get("score") is None else one["score"]
        failed = record.get("error") or record.get("status") == "error" or (one.get("extra") or {}).get("error")
        yield {
            "task": pick("task", about, inputs) or record.get("reference_example_id") or record.get("trace_id")
            or record["id"],
            "language": pick("language", about, inputs),
            "system": pick("system", about) or about.get("ls_model_name") or record.get("session_name")
            or record.get("session_id"),
            "judge": "human" if (one.get("feedback_source") or {}).get("type") == "app" else one.get("key"),
            "score": number(value),
            "failed": bool(failed) and not value,
            "reason": one.get("comment"),
            **flat(about, "metadata."), **flat(inputs, "inputs."), **flat(outputs, "outputs."),
        }  # fmt: skip
