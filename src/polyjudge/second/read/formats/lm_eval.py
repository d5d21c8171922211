"""Samples of lm-evaluation-harness (`--log_samples`): the language in the task's name, the model in the folder's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from polyjudge.second.panel.say import Say
from polyjudge.second.read.formats import base
from polyjudge.second.read.formats.base import Peek, flat, number_or_word, pick, records

NAME = re.compile(r"samples_(.+)_\d{4}-\d\d-\d\dT[\d.:-]+\.jsonl(?:\.gz)?")


def fits(peek: Peek) -> bool:
    found = peek.record
    return isinstance(found, dict) and {"doc_id", "resps", "filtered_resps"} <= set(found)


def finish(frame: pd.DataFrame) -> base.ToolScores:
    """Each metric is a column, and the score where there is one; the language may stand in the task's name."""
    metrics = list(dict.fromkeys(m for row in frame.pop("metrics") for m in row))
    if len(metrics) == 1:
        frame["score"] = frame[metrics[0]]
    found = base.language_from_names(frame, "subset")
    frame = found.frame
    if frame["subset"].nunique() > 1 and "language" not in frame:
        frame["task"] = frame["subset"] + "/" + frame["task"]
    return replace(found, doubts=(Say("read.by_position", {"column": "doc_id"}), *found.doubts))


def rows(path: Path) -> Iterator[dict[str, Any]]:
    named = NAME.fullmatch(path.name)
    for sample in records(path):
        doc = sample["doc"] if isinstance(sample.get("doc"), dict) else {}
        metrics = [m for m in sample.get("metrics") or [] if isinstance(sample.get(m), (int, float, bool))]
        yield {
            "task": sample.get("doc_id"),
            "language": pick("language", doc),
            "subset": named[1] if named else path.name,
            "model": path.parent.name,
            "filter": sample.get("filter"),
            "metrics": metrics,
            **{m: number_or_word(sample[m]) for m in metrics},
            **flat(doc, "doc."),
        }
