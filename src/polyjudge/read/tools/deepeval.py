"""DeepEval test runs: each metric's evaluation model is a judge, the metric where there is none."""

from __future__ import annotations

from polyjudge.read.tools import Record, Rows, flat, number, pick

TITLE = "a DeepEval test run"
FITS = tuple({f"{a}.{b}"} for a in ("testCases", "test_cases") for b in ("metricsData", "metrics_data"))


def rows(record: Record) -> Rows:
    """One row for each metric of each case."""
    for place, case in enumerate(record.get("testCases") or record.get("test_cases") or []):
        about = case.get("metadata") or case.get("additionalMetadata") or case.get("additional_metadata") or {}
        for metric in case.get("metricsData") or case.get("metrics_data") or []:
            model = metric.get("evaluationModel") or metric.get("evaluation_model")
            yield {
                "task": pick("task", about) or case.get("name") or place,
                "language": pick("language", about),
                "system": pick("system", about, record.get("hyperparameters")),
                "judge": model or metric.get("name"),
                "metric": metric.get("name") if model else None,
                "score": number(metric.get("score")),
                "failed": bool(metric.get("error")),
                "reason": metric.get("reason"),
                **flat(about, "metadata."),
            }
