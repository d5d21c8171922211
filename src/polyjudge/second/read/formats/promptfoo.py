"""promptfoo results (`promptfoo eval -o results.json`): each grader of each output is a judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.labels import clean
from polyjudge.second.read.formats.base import Peek, document, flat, number_or_word, pick, records
from polyjudge.second.read.limits import named

TABLE = {"Named Scores", "Grader Reason"}
"""Columns of the CSV output, which joins the graders of an answer into one score."""


def fits(peek: Peek) -> bool:
    found = peek.record if isinstance(peek.record, dict) else {}
    inner = found.get("results")
    whole = isinstance(inner, dict) and isinstance(inner.get("results"), list) and "version" in inner
    return whole or {"gradingResult", "promptIdx", "testCase"} <= found.keys() or set(peek.header) >= TABLE


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """One row for each assertion of each output. The judge is the grading provider, else the metric or assertion."""
    if named(path, "csv"):
        raise PanelError(
            f"{clean(path, 200)} is promptfoo's CSV, which holds one score for all graders of an answer. Save the "
            "results with every grader's score: promptfoo eval -o results.json (or promptfoo export eval ID)."
        )
    if Peek([path]).in_lines:
        for place, result in enumerate(records(path)):
            yield from _rows(result, place)
        return
    whole = document(path)
    version = whole["results"].get("version")
    if version not in (2, 3):
        raise PanelError(f"{clean(path, 200)} is a promptfoo file of version {clean(version)}; 2 and 3 are read.")
    for place, result in enumerate(whole["results"]["results"]):
        yield from _rows(result, place)


def _rows(result: Mapping[str, Any], place: int) -> Iterator[dict[str, Any]]:
    given, about = result.get("vars") or {}, (result.get("testCase") or {}).get("metadata") or {}
    graded = result.get("gradingResult")
    if not graded and result.get("error"):
        return  # the answer or its grading failed: promptfoo writes 0, and there is no score
    graded = graded or {}
    parts = [p for p in graded.get("componentResults") or [] if p and (p.get("assertion") or {}).get("type")] or [
        graded
    ]
    common = {
        "task": pick("task", given, about) or result.get("testIdx", place),
        "language": pick("language", given, about),
        "system": (result.get("provider") or {}).get("label") or (result.get("provider") or {}).get("id"),
        **flat(given, "vars."),
        **flat(about, "metadata."),
    }
    for part in parts:
        assertion = part.get("assertion") or {}
        failed = (part.get("metadata") or {}).get("graderError")  # its score is 0, and stands for none
        provider = assertion.get("provider")
        if isinstance(provider, dict):
            provider = provider.get("label") or provider.get("id")
        yield {
            **common,
            "judge": provider or assertion.get("metric") or assertion.get("type"),
            "metric": assertion.get("metric"),
            "assertion": assertion.get("type"),
            "score": None if failed else number_or_word(part.get("score")),
        }
