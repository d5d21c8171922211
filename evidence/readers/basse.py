"""BASSE: summaries in Basque and Spanish, five criteria, by judges and up to three annotators."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pandas as pd

from evidence.readers.base import Absent, Source, first
from evidence.sets import Evidence

SOURCE = Source(
    "BASSE", "github.com/hitz-zentroa/summarization", "CC BY-NC-SA 4.0", "7e95b6f",
    "data/eu/BASSE.eu.jsonl and pred/judges/eu/JUDGE/CRITERION.csv",
)  # fmt: skip
Row = tuple[str, str, str, str, float]
CRITERIA = ("Coherence", "Consistency", "Fluency", "Relevance", "5W1H")
MAKERS = {"gpt-4o": "OpenAI", "gpt-4o-mini": "OpenAI", "Qwen2.5-7B-Instruct": "Alibaba",
          "prometheus": "Prometheus", "prometheus-8-7b": "Prometheus", "selene": "Atla"}  # fmt: skip


def read(folder: Path) -> list[Evidence]:
    """One set a criterion, over the two languages (of different documents)."""
    data, judged = first(folder, "data/eu/BASSE.eu.jsonl").parents[1], first(folder, "pred/judges")
    labels: dict[str, list[Row]] = defaultdict(list)
    scores: dict[str, list[Row]] = defaultdict(list)
    for language in ("eu", "es"):
        path = data / language / f"BASSE.{language}.jsonl"
        if not path.exists():
            continue
        with path.open(encoding="utf-8") as file:
            documents = [json.loads(line) for line in file if line.strip()]
        for document in documents:
            for system, summary in document["model_summaries"].items():
                for criterion, given in summary["anns"].items():
                    labels[criterion] += [
                        (document["idx"], system, language, f"{language}-{i}", (x - 1) * 25)
                        for i, x in enumerate(given)
                        if x is not None
                    ]
        for file_of in sorted((judged / language).glob("*/*.csv")):
            scores[file_of.stem] += _judged(file_of, documents, language)
    out = []
    for criterion in CRITERIA:
        if scores[criterion] and labels[criterion]:
            columns = ["task", "system", "language"]
            given = pd.DataFrame(scores[criterion], columns=[*columns, "judge", "score"]).dropna()
            people = pd.DataFrame(labels[criterion], columns=[*columns, "annotator", "label"])
            out.append(Evidence(f"BASSE {criterion}", given, people, MAKERS, alike=False))
    if not out:
        raise Absent("no criterion has both scores and labels")
    return out


def _judged(path: Path, documents: list[dict[str, Any]], language: str) -> list[Row]:
    """A row a summary, with its system: the n-th row of a system is its n-th document."""
    frame = pd.read_csv(path)
    out = []
    for system, rows in frame.groupby("model"):
        having = [d["idx"] for d in documents if system in d["model_summaries"]]
        if len(having) != len(rows):
            raise Absent(f"{path.name} has {len(rows)} rows of {system} for {len(having)} documents")
        points = (pd.to_numeric(rows["score"], errors="coerce") - 1) * 25
        out += [(str(i), str(system), language, path.parent.name, x) for i, x in zip(having, points, strict=True)]
    return out


READERS = ((SOURCE, read),)
