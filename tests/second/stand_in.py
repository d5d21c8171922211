"""Generated files in the layout of the released ones, with the published interaction planted in them.

They serve where a test asks about shape, identities or files; a test of a published number needs the released file.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

from polyjudge.second.paper import published


def task(i: int) -> str:
    return f"{i + 1:02d}_Stand_In"


def devai(path: Path) -> Path:
    """run_level_scores.csv: 55 tasks x 8 languages x 6 judges x 3 frameworks, its 48 interaction cells as published."""
    about = published.load("devai")
    shape = about["panel"]
    interaction = pd.DataFrame(about["beta_hat"]).T.loc[shape["languages"], shape["judges"]].to_numpy()
    rng = np.random.default_rng(55)
    size = (shape["tasks"], *interaction.shape, len(shape["replicates"]))
    noise = rng.uniform(-12, 12, size) + rng.uniform(-6, 6, size[0])[:, None, None, None]
    noise -= noise.mean(axis=(0, 3), keepdims=True)
    scores = 50 + interaction[None, :, :, None] + noise
    assert ((scores > 0) & (scores < 100)).all()
    tasks = [task(i) for i in range(size[0])]
    index = pd.MultiIndex.from_product(
        [shape["judges"], shape["languages"], shape["replicates"], tasks],
        names=["backbone", "language", "framework", "task"],
    )
    frame = pd.Series(scores.transpose(2, 1, 3, 0).ravel(), index=index, name="score").reset_index()
    columns = ["backbone", "language", "framework", "task", "score", "task_solved"]
    frame.assign(task_solved=(frame["score"] > 60).astype(int))[columns].to_csv(path, index=False)
    return path


def anchor_sample(path: Path) -> Path:
    """human_anchor_sample.csv: 100 rows in each of seven languages; calibrating moves no margin over zero."""
    about = published.load("mrewardbench")
    rng = np.random.default_rng(700)
    subsets = [name for name, n in about["human_anchor"]["strata"].items() for _ in range(n)]
    rows = [(i, s, language) for language in about["panel"]["languages"] for i, s in enumerate(subsets)]
    frame = pd.DataFrame(rows, columns=["item", "subset", "language"])
    frame["raw_margin"] = frame["cbc_margin"] = rng.integers(-15, 20, len(frame)) / 5
    correct = (frame["raw_margin"] > 0).astype(int)
    frame.assign(raw_correct=correct, cbc_correct=correct).to_csv(path, index=False)
    return path


CATEGORIES = ("Dataset or Environment", "Machine Learning Method", "Performance Metrics", "Save Trained Model", "Other")


def instances(path: Path) -> Path:
    """instances.jsonl: 55 tasks with five to seven requirements each, which build on one another."""
    rows = []
    for i in range(published.load("devai")["panel"]["tasks"]):
        requirements = [
            {
                "requirement_id": r,
                "prerequisites": [r - 1] if r else [],
                "criteria": f"Part {r} of task {i + 1} is done in `src/part{r}.py`.",
                "category": CATEGORIES[r % len(CATEGORIES)],
            }
            for r in range(5 + i % 3)
        ]
        query = f"Please do task {i + 1} in `src/train.py` and `src/model.py`, and save `results/{i}.txt`."
        rows.append({"task": task(i), "query": query, "tags": ["Stand-in"], "requirements": requirements})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def human_labels(path: Path) -> Path:
    """human_labels.csv: a verdict for each requirement of `instances` and each framework."""
    about = published.load("devai")["panel"]
    rng = np.random.default_rng(365)
    rows = [
        (task(i), framework, r, CATEGORIES[r % len(CATEGORIES)], int(rng.random() < 0.2 + 0.6 * easy))
        for i in range(about["tasks"])
        for framework in about["replicates"]
        for easy in [rng.random()]
        for r in range(5 + i % 3)
    ]
    columns = ["task", "framework", "requirement_id", "category", "satisfied"]
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)
    return path
