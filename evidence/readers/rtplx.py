"""RTP-LX: harm of prompts in many languages, by judges and three native annotators a language."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from evidence.readers.base import Absent, Source, first
from evidence.sets import Evidence

SOURCE = Source(
    "RTP-LX",
    "github.com/microsoft/RTP-LX",
    "MIT",
    "206c3ec",
    "rtplx/*.csv.gz, or code/llm_eval/prompt/final_results.csv",
)
MAKERS = {"GPT-4": "OpenAI", "ACS": "Microsoft", "gpt4turbo": "OpenAI", "acs": "Microsoft"} | {
    f"{family}{x}": maker
    for family, maker, versions in (
        ("gemma", "Google", ("2B", "7B")),
        ("llama", "Meta", ("27BChat", "270BChat", "38BInstruct", "370BInstruct", "Guard", "213BChat")),
        ("mistral", "Mistral", ("v2", "v3")),
    )
    for x in versions
}
LEVELS = {"Toxicity": 5}
"""Highest level of a category; the others have three."""


def read(folder: Path) -> list[Evidence]:
    """One set a category: from the figures kept for tests, or from a clone."""
    try:
        scores = pd.read_csv(first(folder, "rtplx/judge_scores.csv.gz"))
        labels = pd.read_csv(first(folder, "rtplx/human_labels.csv.gz"))
    except Absent:
        scores, labels = _clone(first(folder, "code/llm_eval/prompt/final_results.csv", "prompt/final_results.csv"))
    out = []
    for category, part in scores.groupby("category", sort=True):
        people = labels[labels["category"] == category]
        out.append(Evidence(f"RTP-LX {category}", part.assign(system="-"), people.assign(system="-"), makers=MAKERS))
    return out


def _clone(path: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Long tables of final_results.csv: a row an item and category, judges and human1 to human3 side by side."""
    wide = pd.read_csv(path)
    people = [c for c in wide.columns if c in ("human1", "human2", "human3")]
    judges = [c for c in wide.columns if c in MAKERS]
    if not people or not judges:
        raise Absent(f"{path.name} has no columns of judges and annotators")
    wide = wide.rename(columns={"index": "task", "metric": "category"})
    top = wide["category"].map(lambda x: LEVELS.get(x, 3)) - 1
    wide[people + judges] = (wide[people + judges] - 1).div(top, axis=0).clip(0, 1) * 100
    keys = ["task", "language", "category"]
    scores = wide.melt(keys, judges, "judge", "score").dropna()
    labels = wide.melt(keys, people, "annotator", "label").dropna()
    labels["annotator"] = labels["language"] + "-" + labels["annotator"].str[-1]
    return scores, labels


READERS = ((SOURCE, read),)
