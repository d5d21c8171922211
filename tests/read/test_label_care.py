"""A file of labels is read with the same care as scores; public functions take the options of reading."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge as pj
from polyjudge.base.errors import PolyjudgeError
from polyjudge.read import labels_of, read_panel

N = 80
G = np.random.default_rng(1)
TRUTH = G.integers(1, 6, N)
TASKS = [f"q{i}" for i in range(N)]
SCORES = pd.DataFrame({"task": TASKS, "gpt": np.clip(TRUTH + G.integers(-1, 2, N), 1, 5), "claude": TRUTH})
LABELS = pd.DataFrame({"task": TASKS, "label": TRUTH})


def often(value: Any) -> pd.DataFrame:
    return LABELS.assign(label=np.where(np.arange(N) % 10 == 3, value, LABELS["label"]))


@pytest.mark.parametrize("value", [-1, 99, -9, 999])
def test_codes_among_labels_are_refused(value: int) -> None:
    with pytest.raises(PolyjudgeError, match=f"8 labels of 80 in the labels are {value}"):
        pj.humans(SCORES, often(value))


@pytest.mark.parametrize("state", ["error", "failed", "timeout"])
def test_labels_of_failed_rows_are_none(state: str) -> None:
    failed = np.arange(N) % 10 == 3
    frame = LABELS.assign(label=np.where(failed, 1, LABELS["label"]), status=np.where(failed, state, "done"))
    assert len(labels_of(frame)) == 72
    assert len(labels_of(frame.assign(label=LABELS["label"]))) == 80  # they hold different labels: nothing is deleted


@pytest.mark.parametrize("spelled", [str.upper, lambda task: f" {task}", lambda task: f"{task}\u00ad"])
def test_tasks_spelled_otherwise_are_found(spelled: Callable[[str], str]) -> None:
    panel = read_panel(SCORES, labels=LABELS.assign(task=LABELS["task"].map(spelled)))
    assert panel.human is not None
    assert set(panel.human["task"]) == set(TASKS)


def test_languages_spelled_otherwise_are_found() -> None:
    both = pd.concat([SCORES.assign(language=x) for x in ("pt-BR", "en")])
    labels = pd.concat([LABELS.assign(language=x) for x in ("pt_BR", "English")])
    human = read_panel(both, labels=labels).human
    assert human is not None
    assert set(human["language"]) == {"pt-BR", "en"}


@pytest.mark.parametrize("share", [0.55, 0.8, 1.0])
def test_labels_of_other_tasks_are_refused(share: float) -> None:
    other = LABELS.assign(task=[f"x{i}" if i < share * N else task for i, task in enumerate(TASKS)])
    with pytest.raises(PolyjudgeError, match="are no tasks of these scores: x0"):
        pj.humans(SCORES, other)


def test_every_public_function_takes_the_options_of_reading(tmp_path: Path) -> None:
    long = SCORES.melt(id_vars="task", var_name="backbone", value_name="score")
    frame = pd.concat([long.assign(language=x, team=s) for x in ("de", "en") for s in ("a", "b")])
    frame = frame.assign(score=np.clip(frame["score"] + G.integers(-1, 2, len(frame)), 1, 5))
    options: dict[str, Any] = {"judge": "backbone", "system": "team"}
    assert pj.audit(frame, **options).panel.judges == ("claude", "gpt")
    assert pj.check(frame, **options).panel.systems == ("a", "b")
    assert pj.swap(frame, judges="gpt=claude", judge="backbone", system="team") is not None
    assert pj.plan(frame, radius=3, **options) is not None
    assert pj.drift(frame, frame, **options) is not None
    labels = LABELS.assign(language="de", system="a")
    assert pj.humans(frame, labels, **options) is not None
    with pytest.raises(PolyjudgeError, match="no column nope"):
        pj.audit(frame, judge="nope")
    with pytest.raises(PolyjudgeError, match="is read already"):
        pj.audit(read_panel(frame, **options), judge="backbone")
