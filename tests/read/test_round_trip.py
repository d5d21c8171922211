"""Random sound panels, written in random shapes, come back as the same panel without any option."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from polyjudge.read import read_panel

KEYS = ["task", "system", "language", "judge"]
NAMES = {
    "task": ("task", "question_id", "item_id", "qid", "sample_id"),
    "system": ("system", "candidate", "system_name", "model_under_test"),
    "language": ("language", "lang", "Locale", "language_code"),
    "judge": ("judge", "grader", "judge_model", "evaluator"),
    "score": ("score", "rating", "judge_score", "Rating"),
}
SCALES: dict[str, tuple[float, ...]] = {
    "stars": (1, 2, 3, 4, 5),
    "ten": tuple(range(1, 11)),
    "percent": tuple(range(0, 101)),
    "tens": tuple(range(0, 101, 10)),
    "passes": (0, 1),
    "thirds": (0, 1, 2, 3),
    "shares": tuple(i / 100 for i in range(101)),
    "halves": tuple(i / 2 for i in range(2, 11)),
}
JUDGES = ("gpt-4o", "claude-3-5", "gemini-pro", "mistral large", "qwen2.5", "llama_70b")
LANGUAGES = ("en", "de", "th", "sw", "pt-BR", "zh")
SYSTEMS = ("alpha", "beta", "gamma", "delta")


def draw_panel(g: np.random.Generator) -> pd.DataFrame:
    """A long table of judges that agree about tasks and systems, some of it missing."""
    n, s, k, m = int(g.integers(12, 40)), int(g.integers(1, 4)), int(g.integers(1, 4)), int(g.integers(1, 5))
    levels = np.array(SCALES[str(g.choice(list(SCALES)))])
    quality = g.random((n, s, 1, 1)) * 0.7 + g.random((1, s, 1, 1)) * 0.1
    places = np.clip(quality + g.normal(0, 0.15, (n, s, k, m)) + 0.1, 0, 1) * (len(levels) - 1)
    scores = levels[np.round(places).astype(int)]
    labels = ([f"q{i}" for i in range(n)], SYSTEMS[:s], LANGUAGES[:k], [str(j) for j in g.permutation(JUDGES)[:m]])
    index = pd.MultiIndex.from_product(labels, names=KEYS)
    frame = pd.DataFrame({"score": scores.ravel()}, index=index).reset_index()
    kept = frame[g.random(len(frame)) > g.choice([0, 0, 0.03])]
    return kept.sample(frac=1, random_state=int(g.integers(1 << 30)))


def without_single(frame: pd.DataFrame) -> pd.DataFrame:
    """No column of systems or languages where there is one."""
    return frame.drop(columns=[axis for axis in ("system", "language") if frame[axis].nunique() == 1])


def renamed(frame: pd.DataFrame, g: np.random.Generator) -> pd.DataFrame:
    return frame.rename(columns={axis: str(g.choice(names)) for axis, names in NAMES.items()})


def wide(frame: pd.DataFrame) -> pd.DataFrame:
    index = [axis for axis in KEYS if axis in frame and axis != "judge"]
    return frame.pivot(index=index, columns="judge", values="score").reset_index().rename_axis(columns=None)


def nested(frame: pd.DataFrame) -> list[dict[str, Any]]:
    index = [axis for axis in KEYS if axis in frame and axis != "judge"]
    rows = []
    for labels, part in frame.groupby(index, sort=False):
        rows.append(dict(zip(index, labels, strict=True)) | {"judgments": part[["judge", "score"]].to_dict("records")})
    return rows


def write(frame: pd.DataFrame, shape: str, folder: Path, g: np.random.Generator) -> Any:
    """The panel as a source of this shape."""
    if shape == "frame":
        return renamed(frame, g)
    if shape == "csv":
        path = folder / "s.csv"
        renamed(frame, g).to_csv(path, index=False, sep=str(g.choice([",", ";", "\t"])))
    elif shape == "wide csv":
        path = folder / "s.csv"
        wide(frame).to_csv(path, index=False)
    elif shape == "wide frame":
        return wide(frame)
    elif shape == "json lines":
        path = folder / "s.jsonl"
        renamed(frame, g).to_json(path, orient="records", lines=True)
    elif shape == "nested":
        path = folder / "s.json"
        path.write_text(json.dumps(nested(frame)), encoding="utf-8")
    else:
        path = folder / "s.parquet"
        renamed(frame, g).to_parquet(path)
    return path


@pytest.mark.parametrize("seed", range(60))
def test_a_panel_comes_back_as_it_was(seed: int, tmp_path: Path) -> None:
    g = np.random.default_rng(seed)
    frame = draw_panel(g)
    has_one_judge = frame["judge"].nunique() == 1
    shapes = ["frame", "csv", "json lines", "nested", "parquet"] + ["wide csv", "wide frame"] * (not has_one_judge)
    table = without_single(frame)
    panel = read_panel(write(table, str(g.choice(shapes)), tmp_path, g))
    got = panel.to_frame()
    keys = [axis for axis in KEYS if axis in table]
    want = table.set_index(keys)["score"].astype(float).sort_index()
    pd.testing.assert_series_equal(got.set_index(keys)["score"].sort_index(), want, check_index_type=False, rtol=1e-12)
    assert not panel.question
