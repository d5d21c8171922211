"""The values of systems: see `values`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge as pj
from polyjudge.questions.position import position
from values import Cases, binary, simulated

CASES = Cases(__file__)
FAMILIES = ["gpt-4o", "gpt-4.1", "claude-opus", "gemini-pro"]


@CASES
def systems_families() -> Any:
    likes = np.zeros((4, 4))
    likes[0, :2], likes[1, 2] = 9.0, 6.0
    named = {"judges": FAMILIES, "systems": ["gpt-5", "claude-haiku", "llama", "mistral"]}
    panel = simulated(40, 3, replicates=2, judge_system=likes, system_language=3.0, seed=9, **named)
    return pj.systems(panel, resamples=100)


@CASES
def systems_holes() -> Any:
    return pj.systems(simulated(40, 3, 3, systems=4, missing=0.1, clusters=10, seed=2), resamples=100, level=0.9)


@CASES
def systems_blind() -> Any:
    return pj.systems(simulated(30, 2, 4, systems=3, sees=0.0, task_system_sd=0.0, seed=3), resamples=100)


@CASES
def systems_length() -> Any:
    panel = simulated(30, 2, 3, systems=3, seed=11)
    items = panel.to_long().drop_duplicates(["task", "system", "language"])
    size = 20 + (50 + items["score"] - items["score"].min()).astype(int) * (1 + items["system"].str[-1].astype(int))
    texts = items.assign(response=["x" * n for n in size])[["task", "system", "language", "response"]]
    return pj.systems(panel, items=texts, resamples=100)


@CASES
def systems_position() -> Any:
    rng, rows = np.random.default_rng(1), []
    for t, language, judge in np.ndindex(50, 2, 3):
        for a, b in (("x", "y"), ("y", "x")):
            won = rng.random() < (0.7 if a == "x" else 0.3) + 0.3 * (judge == 1)
            rows.append((f"t{t}", f"l{language}", f"J{judge}", a, b, "model_a" if won else "model_b"))
    frame = pd.DataFrame(rows, columns=["task", "language", "judge", "model_a", "model_b", "winner"])
    found = position(pj.read_panel(frame))
    assert found is not None
    return found


@CASES
def systems_one_maker() -> Any:
    panel = simulated(30, 3, systems=3, judges=["gpt-4o", "gpt-4.1", "gpt-5"], system_language=8.0, seed=50)
    return pj.systems(panel, resamples=100)


@CASES
def systems_odd_judge() -> Any:
    sees = np.ones((3, 5))
    sees[:, 4], sees[1, 1] = 0.0, 0.3
    panel = simulated(60, 3, 5, systems=4, sees=sees, task_system_sd=14.0, noise_sd=5.0, seed=51)
    return pj.systems(panel, resamples=100)


@CASES
def systems_one_judge() -> Any:
    whole = simulated(30, 3, 2, systems=3, seed=52)
    return pj.systems(whole.select(judges=whole.judges[:1]), resamples=100)


@CASES
def systems_apart() -> Any:
    rows = simulated(40, 2, 3, systems=3, seed=53).to_long()
    keep = (rows["task"].str[-1].astype(int) < 4) == (rows["language"] == "language1")
    return pj.systems(pj.read_panel(rows[keep]), resamples=100)


@CASES
def systems_swap() -> Any:
    by_language, by_judge = np.zeros((3, 3)), np.zeros((3, 4))
    by_language[0, 0], by_language[1, 1], by_judge[0, 2] = 15.0, 15.0, -25.0
    more = {"system_language": by_language, "judge_system": by_judge, "system_sd": 1.0}
    return pj.systems(simulated(60, 3, 4, systems=3, noise_sd=4, seed=54, **more), resamples=100)


@CASES
def systems_binary() -> Any:
    return pj.systems(binary(2, 3, systems=3), resamples=100)


@pytest.mark.parametrize("name", CASES)
def test_values_are_as_they_were(name: str) -> None:
    assert CASES.changed(name) == []
