"""JUDGE-BENCH: English sets with individual human scores and the answers of models, a JSON file a set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from evidence.readers.base import Absent, Source, first
from evidence.sets import Evidence

SOURCE = Source(
    "JUDGE-BENCH", "github.com/dmg-illc/JUDGE-BENCH", "per set (data/README.md there)", "da3694d",
    "results/regular/*.json (or results/*.json)",
)  # fmt: skip


def read(folder: Path) -> list[Evidence]:
    """One set a file and graded or continuous criterion: one language, several judges."""
    files = sorted(first(folder, "results/regular/*.json", "results/*.json").parent.glob("*.json"))
    out = [found for path in files for found in _sets(path)]
    if not out:
        raise Absent("no file has graded scores of people and of two models")
    return out


def _sets(path: Path) -> list[Evidence]:
    data = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(data, dict) or "instances" not in data:
        return []
    out = []
    for declared in data["annotations"]:
        if declared.get("category") not in ("graded", "continuous"):
            continue
        metric, worst, best = declared["metric"], float(declared["worst"]), float(declared["best"])
        scores, labels = [], []
        for item in data["instances"]:
            people = item.get("annotations", {}).get(metric, {}).get("individual_human_scores", [])
            place = (str(item["id"]), "-", "en")
            labels += [(*place, f"en-{i}", x) for i, x in enumerate(_numbers(people))]
            for judge, answer in item.items():
                if judge != "annotations" and isinstance(answer, dict) and metric in answer:
                    scores += [(*place, judge, x) for x in _numbers(answer[metric])]
        frames = []
        for rows, who, value in ((scores, "judge", "score"), (labels, "annotator", "label")):
            frame = pd.DataFrame(rows, columns=["task", "system", "language", who, value])
            frame[value] = ((frame[value] - worst) / (best - worst)).clip(0, 1) * 100
            frames.append(frame)
        if len(frames[1]) and frames[0]["judge"].nunique() > 1:
            out.append(Evidence(f"JUDGE-BENCH {path.stem} {metric}", frames[0], frames[1]))
    return out


def _numbers(given: Any) -> list[float]:
    """The numbers among answers; a model's refusals and words are missing."""
    values = given if isinstance(given, list) else [given]
    found = pd.to_numeric(pd.Series(values, dtype=object), errors="coerce").dropna()
    return [float(x) for x in found]


READERS = ((SOURCE, read),)
