"""The values of plans and replays: see `values`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polyjudge as pj
from polyjudge.panel.gold import align_gold
from polyjudge.questions.plan.label_plan import label_budget
from polyjudge.questions.plan.separate import separate
from polyjudge.questions.plan.sequential import Sequential, forecast
from values import Cases, human_scores, one_cell_off, simulated

CASES = Cases(__file__)


@CASES
def plan_numbers() -> Any:
    return pj.plan(judges=4, languages=5, sigma=9.0, radius=3.0, score_range=(0, 100), tasks=[20, 60, 200], draws=60)


@CASES
def plan_pilot() -> Any:
    prices = dict.fromkeys(("judge1", "judge2", "judge3"), 0.25)
    return pj.plan(simulated(30, 3, 3, 2, seed=23), radius=4.0, prices=prices, draws=60)


@CASES
def plan_separate() -> Any:
    panel = simulated(30, 2, 3, 2, systems=3, seed=24)
    return separate(panel, 4.0, prices={"judge1": 2.0, "judge2": 3.0, "judge3": 1.0})


@CASES
def plan_labels() -> Any:
    panel = simulated(60, 3, 3, seed=25)
    return label_budget(panel, align_gold(panel, human_scores(panel, annotators=1)), 1.5, batch=40)


@CASES
def plan_replay_judges() -> Any:
    return pj.replay(simulated(96, 2, 3, seed=26), matters=4.0, resamples=100)


@CASES
def plan_replay_systems() -> Any:
    panel = simulated(60, 2, 3, systems=3, clusters=20, seed=27)
    return pj.replay(panel, questions="systems", matters=4.0, guard=True, resamples=100, first=12)


@CASES
def plan_replay_cells() -> Any:
    return pj.replay(one_cell_off(-30.0), questions="cells", matters=6.0, resamples=100, first=12)


@CASES
def plan_one_judge() -> Any:
    return pj.plan(simulated(40, 4, 4, seed=61), level=0.9, draws=60)


@CASES
def plan_replay_gate() -> Any:
    return pj.replay(simulated(60, 2, 3, seed=62), questions="gate", threshold=50.0, at_least=True, matters=20.0,
                     resamples=100, first=15)  # fmt: skip


@CASES
def plan_forecast() -> Any:
    known = {"languages": ("en", "de"), "judges": ("a", "b", "c"), "tasks": 48, "matters": 3.0, "resamples": 100}
    rule = Sequential(**known, first=12)
    scores = 50 + np.array([0.0, 6.0, 6.5]) + np.random.default_rng(63).normal(0, 5, (12, 2, 3))
    state = rule.look(rule.start(), scores)
    parts = {"start": forecast(rule, scores, runs=3), "later": forecast(rule, scores, state, np.arange(12) // 2, 3)}
    return parts | {"table": rule.table(state), "planned": np.array(rule.looks)}


@pytest.mark.parametrize("name", CASES)
def test_values_are_as_they_were(name: str) -> None:
    assert CASES.changed(name) == []
