"""promptfoo results (`promptfoo eval -o results.json`): each grader of each output is a judge."""

from __future__ import annotations

from polyjudge.base.errors import PanelError
from polyjudge.read.tools import Record, Rows, flat, number, pick

TITLE = "promptfoo results"
FITS = ({"results.results", "results.version"}, {"gradingResult", "promptIdx", "testCase"}, {"Named Scores"})


def rows(record: Record) -> Rows:
    """One row for each assertion of each output."""
    if "Named Scores" in record:
        raise PanelError(
            "This is promptfoo's CSV, which holds one score for all graders of an answer. Save the results with every "
            "grader's score: promptfoo eval -o results.json."
        )
    inner = record.get("results")
    for result in inner["results"] if isinstance(inner, dict) else [record]:
        given, about = result.get("vars") or {}, (result.get("testCase") or {}).get("metadata") or {}
        graded = result.get("gradingResult")
        parts = [
            p for p in (graded or {}).get("componentResults") or [] if p and (p.get("assertion") or {}).get("type")
        ]
        provider = result.get("provider") or {}
        common = {
            "task": pick("task", given, about) or result.get("testIdx"),
            "language": pick("language", given, about),
            "system": provider.get("label") or provider.get("id"),
            **flat(given, "vars."),
            **flat(about, "metadata."),
        }
        for part in parts or [graded or {}]:
            assertion = part.get("assertion") or {}
            grader = assertion.get("provider")
            if isinstance(grader, dict):
                grader = grader.get("label") or grader.get("id")
            failed = (part.get("metadata") or {}).get("graderError") or (not graded and result.get("error"))
            yield {
                **common,
                "judge": grader or assertion.get("metric") or assertion.get("type") or "judge",
                "metric": assertion.get("metric") if grader else None,
                "score": number(part.get("score")),
                "failed": bool(failed),  # promptfoo writes a score of 0 for those
                "reason": part.get("reason"),
            }
