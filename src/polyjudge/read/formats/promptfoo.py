"""promptfoo results (`promptfoo eval -o results.json`): each grader of each output is a judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from polyjudge.panel.errors import PanelError
from polyjudge.panel.labels import clean
from polyjudge.read.formats.base import Format, Peek, document, flat, number_or_word, pick


def fits(peek: Peek) -> bool:
    """A document with a list of results inside `results`."""
    found = peek.record
    inner = found.get("results") if isinstance(found, dict) else None
    return isinstance(inner, dict) and isinstance(inner.get("results"), list) and "version" in inner


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """One row for each assertion of each output. The judge is the grading provider, else the metric or assertion."""
    whole = document(path)
    version = whole["results"].get("version")
    if version not in (2, 3):
        raise PanelError(f"{clean(path, 200)} is a promptfoo file of version {clean(version)}; 2 and 3 are read.")
    for place, result in enumerate(whole["results"]["results"]):
        yield from _rows(result, place)


def _rows(result: Mapping[str, Any], place: int) -> Iterator[dict[str, Any]]:
    given, about = result.get("vars") or {}, (result.get("testCase") or {}).get("metadata") or {}
    graded = result.get("gradingResult") or {}
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
        provider = assertion.get("provider")
        if isinstance(provider, dict):
            provider = provider.get("label") or provider.get("id")
        yield {
            **common,
            "judge": provider or assertion.get("metric") or assertion.get("type"),
            "metric": assertion.get("metric"),
            "assertion": assertion.get("type"),
            "score": number_or_word(part.get("score")),
        }


FORMAT = Format(
    name="promptfoo",
    title="promptfoo results",
    files="results.json of `promptfoo eval -o results.json` (versions 2 and 3)",
    reads="judge: the grading provider, else the metric; task and language: the test's vars or metadata; "
    "system: provider",
    needs="a var for the language (language, lang or locale), or --language vars.NAME",
    fits=fits,
    rows=rows,
)
