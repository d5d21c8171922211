"""Langfuse scores: the name of each score is a judge, unless its metadata names one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from polyjudge.second.read.formats.base import Peek, flat, number_or_word, pick, records


def fits(peek: Peek) -> bool:
    return {"traceId", "dataType"} <= peek.entry.keys()


def rows(path: Path) -> Iterator[dict[str, Any]]:
    for one in records(path):
        about, trace = (one[key] if isinstance(one.get(key), dict) else {} for key in ("metadata", "trace"))
        kind, value = one.get("dataType"), one.get("value")
        if kind in ("TEXT", "CORRECTION"):
            continue  # free text about an answer, no score of it
        word = one.get("stringValue") if kind == "CATEGORICAL" and value is None else None
        yield {
            "task": pick("task", about) or one.get("traceId") or one.get("sessionId"),
            "language": pick("language", about),
            "system": pick("system", {k: v for k, v in about.items() if k != "model"}),
            "judge": pick("judge", about) or about.get("model") or one.get("name"),
            "metric": one.get("name"),
            "kind": one.get("source"),
            "score": number_or_word(word if word is not None else value),
            **flat(about, "metadata."),
            **flat(trace, "trace."),
        }
