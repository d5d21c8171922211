"""The same scores in random shapes, spellings and files: the true panel, or a question, never a wrong panel."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.reading import Unclear
from polyjudge.second.read.formats.excel import write_excel

TASKS = ["task", "item_id", "Question ID", "prompt_id", "sampleId", "id", "seg_id", "thing"]
LANGUAGES = ["language", "lang", "Locale", "target_language", "where"]
JUDGES = ["judge", "evaluator", "Grader Model", "judge_model", "annotator", "model", "who"]
NAMES = [
    ["gpt-4o", "claude-3", "llama_3"],
    ["A", "B", "C"],
    ["1", "2", "3"],
    ["Müller", "Æble", "日本"],
    ["x y", "x.z", "x/w"],
]
CODES = [
    ["en", "de", "sw"],
    ["English", "German", "Swahili"],
    ["en-US", "pt-BR", "zh_Hans"],
    ["eng", "deu", "swa"],
    ["q", "r", "s"],
]


def truth(rng: np.random.Generator) -> pd.DataFrame:
    """Scores by task, language and judge, with the true labels."""
    tasks = [f"t{i}" for i in range(6)] if rng.random() < 0.5 else [str(i + 1) for i in range(6)]
    languages, judges = (
        CODES[rng.integers(len(CODES))][: rng.integers(2, 4)],
        NAMES[rng.integers(len(NAMES))][: rng.integers(2, 4)],
    )
    high = int(rng.choice([1, 5, 10, 100]))
    rows = [(t, lang, j, int(rng.integers(0, high + 1))) for t in tasks for lang in languages for j in judges]
    return pd.DataFrame(rows, columns=["task", "language", "judge", "score"])


def dressed(table: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """The same in another shape, with other titles and columns that are no part of it."""
    shape = rng.choice(["long", "by judge", "by language", "by both", "in the task"])
    titles = {"task": rng.choice(TASKS), "language": rng.choice(LANGUAGES), "judge": rng.choice(JUDGES)}
    if shape == "by judge":
        out = table.pivot(index=["task", "language"], columns="judge", values="score").reset_index()
    elif shape == "by language":
        out = table.pivot(index=["task", "judge"], columns="language", values="score").reset_index()
    elif shape == "by both":
        name = table["judge"] + rng.choice(["_", "__", " | "]) + table["language"]
        out = table.assign(name=name).pivot(index="task", columns="name", values="score").reset_index()
    elif shape == "in the task":
        out = table.assign(task=table["task"] + rng.choice(["_", "-", "/"]) + table["language"]).drop(
            columns="language"
        )
    else:
        out = table.rename(columns={"score": rng.choice(["score", "rating", "Grade", "points", "value", "quality"])})
    out = out.rename(columns=titles)
    more = {
        "latency_ms": rng.integers(50, 5000, len(out)),
        "comment": "so, so",
        "tokens": 7,
        "timestamp": 1.7e9,
        "index": range(len(out)),
    }
    for name in rng.permutation(list(more))[: rng.integers(0, 3)]:
        out[name] = more[name]
    out = out[list(rng.permutation(list(out.columns)))] if rng.random() < 0.4 else out
    return out.sample(frac=1, random_state=int(rng.integers(1 << 30))) if rng.random() < 0.4 else out


def saved(table: pd.DataFrame, folder: Path, rng: np.random.Generator) -> Any:
    """The same as a file of some kind."""
    kind = rng.choice(
        ["csv", "semicolon", "tsv", "gz", "jsonl", "json", "document", "parquet", "xlsx", "frame", "titled"]
    )
    path = folder / f"s.{ {'semicolon': 'csv', 'gz': 'csv.gz', 'document': 'json', 'titled': 'csv'}.get(kind, kind) }"
    records = json.loads(table.to_json(orient="records"))
    if kind == "frame":
        return table
    if kind in ("csv", "gz", "tsv", "semicolon"):
        table.to_csv(path, index=False, sep={"tsv": "\t", "semicolon": ";"}.get(kind, ","))
    elif kind == "titled":
        path.write_text("Results of May\n\n" + table.to_csv(index=False), encoding="utf-8")
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    elif kind in ("json", "document"):
        path.write_text(json.dumps(records if kind == "json" else {"run": 1, "scores": records}), encoding="utf-8")
    elif kind == "parquet":
        table.to_parquet(path, index=False)
    else:
        rows = [tuple(None if v != v else v for v in row) for row in table.itertuples(index=False, name=None)]
        write_excel(path, list(table.columns), [rows])
    return path


@pytest.mark.parametrize("block", range(4))
def test_the_true_panel_or_a_question(block: int, tmp_path: Path) -> None:
    right = 0
    for seed in range(block * 12, block * 12 + 12):
        rng = np.random.default_rng(seed)
        table = truth(rng)
        folder = tmp_path / str(seed)
        folder.mkdir()
        source = saved(dressed(table, rng), folder, rng)
        try:
            panel = pj.read_panel(source)
        except (Unclear, PanelError, UsageError):
            continue
        found = panel.to_long()[["task", "language", "judge", "score"]]
        assert panel.reading is not None
        if panel.reading.role("task").how == "row":  # type: ignore[union-attr]  # a running number, as row 1, row 2
            found["task"] = found["task"].str.removeprefix("row ")
        keys = ["task", "language", "judge"]
        wanted = table.sort_values(keys, ignore_index=True).astype({"score": float})
        pd.testing.assert_frame_equal(found.sort_values(keys, ignore_index=True), wanted, obj=f"seed {seed}")
        right += 1
    assert right >= 4  # most are read without a word
