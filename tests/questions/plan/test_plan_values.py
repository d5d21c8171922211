"""The values of plans and replays: see `values`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import polyjudge as pj
from polyjudge.panel.errors import UsageError
from polyjudge.panel.gold import align_gold
from polyjudge.panel.say import say
from polyjudge.questions.plan.planning import label_budget
from polyjudge.questions.plan.separate import NOISE, _Pilot, separate
from polyjudge.questions.plan.sequential import Sequential, _bought_together, forecast
from refusals import refused
from values import Cases, Said, human_scores, one_cell_off, simulated

CASES = Cases(__file__)


@CASES
def plan_numbers() -> Any:
    return pj.plan(judges=4, languages=5, sigma=9.0, radius=3.0, score_range=(0, 100), tasks=[20, 60, 200], draws=60)


@CASES
def plan_pilot() -> Any:
    prices = dict.fromkeys(("judge1", "judge2", "judge3"), 0.25)
    return pj.plan(simulated(30, 3, 3, 2, seed=23), radius=4.0, prices=prices, draws=60)


@CASES
def plan_calm() -> Any:
    """Nothing is off, and it takes more tasks to rule that out than to find what is."""
    return pj.plan(one_cell_off(0.0), radius=3.0, draws=60)


@CASES
def plan_separate() -> Any:
    panel = simulated(30, 2, 3, 2, systems=3, seed=24)
    return separate(panel, 4.0, prices={"judge1": 2.0, "judge2": 3.0, "judge3": 1.0})


@CASES
def plan_separate_makers() -> Any:
    makers = ["gpt-4o", "gpt-4.1", "claude-opus", "claude-haiku"]
    panel = simulated(30, 2, judges=makers, systems=3, judge_system=2.0, seed=66)
    return Said((separate(panel, 4.0),))


@CASES
def plan_labels() -> Any:
    panel = simulated(60, 3, 3, seed=25)
    return label_budget(panel, align_gold(panel, human_scores(panel, annotators=1)), 1.5)


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
    parts["usual"] = forecast(rule, scores)
    return parts | {"table": rule.table(state), "planned": np.array(rule.looks)}


@CASES
def plan_enough_labels() -> Any:
    panel = simulated(60, 3, 3, seed=25)
    gold = align_gold(panel, human_scores(panel, annotators=1))
    return Said(label_budget(panel, gold, half) for half in (3.0, 9.0))


@CASES
def plan_notes() -> Any:
    holes = simulated(12, 2, 3, missing=0.1, seed=64)
    return Said((pj.plan(judges=3, languages=2, sigma=9.0, radius=3.0, draws=20), pj.plan(holes, radius=4.0, draws=20)))


@CASES
def plan_sentences() -> Any:
    plan = {
        "judges": 3,
        "languages": 4,
        "radius": 2.5,
        "level": 0.95,
        "cells": 12,
        "enough": 90,
        "have": 40,
        "more": 50,
    }
    kept = {"judges": ["judge1"], "all": 3, "cost": 5.0, "full": 9.0, "tasks": 70, "priced": True}
    now = {
        "tasks": 30,
        "first": "system1",
        "second": "system2",
        "judge": "",
        "difference": 3.0,
        "low": 1.0,
        "high": 5.0,
    }
    need = {"needed": 80, "points": 4.0, "power": 0.8, "level": 0.95, "judges": 3}
    labels = {"more": 20, "all": True, "languages": ["language2"], "half_width": 1.5, "level": 0.9, "total": 60}
    labels |= {"alone": 90, "design": 44}
    saved = {"settled": 3, "of": 5, "share": 0.4, "calls": 50, "matters": 3.0}
    return [
        *(
            say("separate.judges", few=few, few_tasks=100, many=5, many_tasks=many)
            for few in (1, 2)
            for many in (80, 81)
        ),
        *(
            say("plan.answer", **plan | more)
            for more in ({}, {"enough": None}, {"have": None}, {"more": 0}, {"more": 1})
        ),
        *(say("separate.choice", **kept | more) for more in ({}, {"priced": False}, {"cost": 9.0}, {"all": 1})),
        *(say("separate.now", **now | more) for more in ({}, {"judge": "judge3"}, {"low": -1.0})),
        *(say("separate.needed", **need | more) for more in ({}, {"needed": None}, {"judges": 1})),
        *(say("plan.labels-answer", **labels | more) for more in ({}, {"more": 0}, {"all": False}, {"design": None})),
        *(say("replay.saved", questions=x, open=y, **saved) for x in ("judges", "gate") for y in (0, 2)),
        *(say("replay.blind-spot", tasks=tasks, points=2.0, guard=tasks == 1) for tasks in (1, 30)),
        *(say("plan.cost", scores=40, more=more, cost=cost) for more in (0, 1) for cost in (None, 3.5)),
    ]


def test_the_spread_of_a_difference_is_what_its_parts_leave_in_the_mean_over_languages_and_repeats() -> None:
    parts = {"task:system": 1.0, "task:system:language": 2.0, "task:system:judge": 4.0, "system:judge": 8.0}
    parts |= {"task:system:language:judge": 16.0, "system:language:judge": 32.0, "system:language": 64.0, NOISE: 128.0}
    pilot = _Pilot(SimpleNamespace(of=parts.__getitem__), repeats=2, margin=1.5)  # type: ignore[arg-type]
    assert pilot.spread(4) == (3 * 1.5, 3 * (4 + 4 + 16), 2 * 16)
    assert pilot.left(5, 4) == pytest.approx(np.sqrt(2 * 16 + 32 / 5))


def test_parts_of_every_look_have_no_mean_and_the_spread_of_all_tasks() -> None:
    compared = np.random.default_rng(1).normal(3.0, 2.0, (40, 2))
    parts = _bought_together(compared, None, np.array([1, 0]), np.array([20, 40]))
    assert [len(part) for part in parts] == [20, 40]  # as long as the question that stops first is bought
    whole = (compared**2).sum(axis=0) / np.array([40, 20])
    for part, rows, bought in zip(parts, (20, 40), ([True, True], [True, False]), strict=True):
        np.testing.assert_allclose(part.mean(axis=0), 0.0, atol=1e-9)
        np.testing.assert_allclose((part**2).sum(axis=0) / rows, np.where(bought, whole, 0.0))


@pytest.mark.parametrize("axis", ["judges", "languages"])
def test_a_plan_from_scores_is_for_their_judges_and_languages(axis: str) -> None:
    panel = simulated(12, 2, 3, seed=65)
    sizes = {"judges": 3, "languages": 2}
    assert pj.plan(panel, radius=4.0, draws=20, **sizes).enough
    with refused(UsageError, "2 languages", "3 judges"):
        pj.plan(panel, radius=4.0, draws=20, **sizes | {axis: 4})


@pytest.mark.parametrize("name", CASES)
def test_values_are_as_they_were(name: str) -> None:
    assert CASES.changed(name) == []
