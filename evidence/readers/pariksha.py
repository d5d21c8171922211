"""PARIKSHA: answers of 30 models in ten Indic languages, by GPT-4 and native annotators. No shared tasks."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from evidence.readers.base import Absent, Source, first
from evidence.sets import Evidence

SOURCE = Source(
    "PARIKSHA",
    "github.com/microsoft/PARIKSHA",
    "MIT",
    "03bac88",
    "pariksha/*.csv.gz, or gpt_eval/outputs and karya_eval of a clone",
)
SWAPPED = {"gujarati": "punjabi", "punjabi": "gujarati"}
"""Upstream the ratings of these two languages stand in each other's file."""
KEYS = ["task", "system", "language"]


def read(folder: Path) -> list[Evidence]:
    """Linguistic acceptability and task quality together, as users average them, and each alone."""
    try:
        scores = pd.read_csv(first(folder, "pariksha/judge_scores.csv.gz"))
        labels = pd.read_csv(first(folder, "pariksha/human_labels.csv.gz"))
    except Absent:
        scores, labels = _clone(folder)
    # The criterion is called task as well as the item: tell them apart.
    wide = scores.pivot_table(index=[*KEYS, "judge"], columns="criterion", values="score")
    judged = wide.rename(columns={"task": "fit"}).reset_index()
    out = []
    for name, ours, theirs in (
        ("quality", ["ling", "fit"], ["linguistic", "task_quality"]),
        ("linguistic", ["ling"], ["linguistic"]),
        ("task", ["fit"], ["task_quality"]),
    ):
        part = judged[[*KEYS, "judge"]].assign(score=judged[ours].mean(axis=1) * 50)
        people = labels[[*KEYS, "annotator"]].assign(label=labels[theirs].mean(axis=1) * 50)
        out.append(Evidence(f"PARIKSHA {name}", part.dropna(), people.dropna(), {"GPT-4": "OpenAI"}, alike=False))
    return out


def _clone(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The same two tables from the files of the repository."""
    judged = first(folder, "gpt_eval/outputs/round1/individual")
    rated = first(folder, "karya_eval/round1/individual")
    rows = []
    for criterion, name in (("ling", "linguistic_acceptability"), ("task", "task_quality")):
        for path in sorted((judged / name).glob("individual_*.json")):
            for item in json.loads(path.read_text(encoding="utf-8")):
                rows += [
                    (item["prompt_id"], system, item["language"], "GPT-4", criterion, answer["score"])
                    for system, answer in item.items()
                    if isinstance(answer, dict) and "score" in answer
                ]
    frames = []
    for path in sorted(rated.glob("*_ratings_output_indi*.tsv")):
        language = path.name.split("_")[0]
        frames.append(pd.read_csv(path, sep="\t").assign(language=SWAPPED.get(language, language)))
    if not rows or not frames:
        raise Absent("the clone has no judged or no rated answers")
    labels = pd.concat(frames).rename(
        columns={"model": "system", "prompt_id": "task", "worker_id": "annotator", "ling_rating": "linguistic",
                 "task_rating": "task_quality"}
    )  # fmt: skip
    return pd.DataFrame(rows, columns=[*KEYS, "judge", "criterion", "score"]), labels


READERS = ((SOURCE, read),)
