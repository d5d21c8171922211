"""MENLO: two answers a prompt in 47 language varieties, rated 1 to 5 by natives. The release has no judges: their
scores stand beside it, in scores.csv (prompt_id, response "a" or "b", judge, score 1 to 5)."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from evidence.readers.base import Absent, Source, first
from evidence.sets import Evidence

SOURCE = Source(
    "MENLO", "huggingface.co/datasets/facebook/menlo", "as upstream", "fe263f4",
    "menlo/data/*.parquet and menlo/scores.csv",
)  # fmt: skip


def read(folder: Path) -> list[Evidence]:
    """One set a dimension. Languages share no prompts."""
    files = sorted(first(folder, "menlo/data/*.parquet").parent.glob("*.parquet"))
    try:
        judged = pd.read_csv(first(folder, "menlo/scores.csv"))
    except Absent:
        raise Absent("menlo has labels, but scores.csv with judges is not there") from None
    columns = ["prompt_id", "lang_code", "dimension", "label_a", "label_b"]
    items = pd.concat([pd.read_parquet(path, columns=columns) for path in files], ignore_index=True)
    labels = items.melt(columns[:3], ["label_a", "label_b"], "system", "label")
    labels["system"] = labels["system"].str[-1]
    labels["label"] = (labels["label"] - 1) * 25.0
    labels = labels.rename(columns={"prompt_id": "task", "lang_code": "language"}).assign(annotator="natives")
    judged = judged.rename(columns={"prompt_id": "task", "response": "system"})
    scores = judged.merge(labels[["task", "system", "language", "dimension"]], on=["task", "system"])
    scores["score"] = (scores["score"] - 1) * 25.0
    return [
        Evidence(f"MENLO {name}", part, labels[labels["dimension"] == name], alike=False)
        for name, part in scores.groupby("dimension", sort=True)
    ]


READERS = ((SOURCE, read),)
