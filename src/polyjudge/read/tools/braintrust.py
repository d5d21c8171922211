"""Braintrust: the events of an experiment as JSON; a name of `scores` is a judge."""

from __future__ import annotations

import json

from polyjudge.read.tools import Record, Rows, flat, number, pick

TITLE = "a Braintrust experiment"
FITS = tuple(
    {f"{at}scores", at + x} for at in ("", "events.") for x in ("span_attributes", "experiment_id", "root_span_id")
)


def rows(record: Record) -> Rows:
    """One row for each score of each event; the spans inside of an event repeat its scores."""
    events = record["events"] if isinstance(record.get("events"), list) else [record]
    for event in [e for e in events if not e.get("span_parents")]:
        about, given = event.get("metadata") or {}, event.get("input")
        fields = given if isinstance(given, dict) else {}
        asked = json.dumps(given, sort_keys=True, ensure_ascii=False) if fields else given
        for judge, value in (event.get("scores") or {}).items():
            failed = event.get("error") or judge in (about.get("scorer_errors") or {})
            yield {
                "task": pick("task", about, fields) or event.get("dataset_record_id") or asked,
                "language": pick("language", about, fields),
                "system": pick("system", about) or event.get("experiment_name") or event.get("experiment_id"),
                "judge": judge,
                "score": number(value),
                "failed": bool(failed) and not value,
                **flat(about, "metadata."),
                **flat(fields, "input."),
            }
