"""deepeval test runs: each metric's evaluation model is a judge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from polyjudge.second.read.formats.base import Peek, by_metric, document, flat, number_or_word, pick


def fits(peek: Peek) -> bool:
    found = peek.record
    return isinstance(found, dict) and ("testCases" in found or "test_cases" in found)


def rows(path: Path) -> Iterator[dict[str, Any]]:
    run = document(path)
    for place, case in enumerate(run.get("testCases") or run.get("test_cases") or []):
        about = case.get("metadata") or case.get("additionalMetadata") or case.get("additional_metadata") or {}
        for metric in case.get("metricsData") or case.get("metrics_data") or []:
            model = metric.get("evaluationModel") or metric.get("evaluation_model")
            yield {
                "task": pick("task", about) or case.get("name") or place,
                "language": pick("language", about),
                "system": pick("system", about, run.get("hyperparameters")),
                "judge": model or metric.get("name"),
                "metric": metric.get("name"),
                "score": number_or_word(metric.get("score")),
                **flat(about, "metadata."),
            }


finish = by_metric
