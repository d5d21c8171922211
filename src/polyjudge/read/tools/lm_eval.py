"""Samples of lm-eval: the metrics that a record lists are criteria."""

from __future__ import annotations

from polyjudge.read.tools import Record, Rows, number

TITLE = "samples of lm-eval"
FITS = ({"doc_id", "filtered_resps", "metrics"},)


def rows(record: Record) -> Rows:
    """One row for each metric of a document, by the filter through which the answer went."""
    through = record.get("filter")
    for metric in record["metrics"]:
        yield {
            "task": record["doc_id"],
            "judge": "lm-eval",
            "metric": metric if through in (None, "none") else f"{metric} ({through})",
            "score": number(record.get(metric)),
        }
