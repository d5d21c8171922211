"""The values of systems: see `values`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge as pj
from polyjudge.panel.say import say
from polyjudge.questions.position import position
from polyjudge.questions.systems.leaderboard import _left_out
from polyjudge.questions.systems.signal import _Asked
from polyjudge.questions.systems.view import sections
from values import Cases, Said, binary, simulated

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


@CASES
def systems_notes() -> Any:
    """Judges of one maker, one of them odd; a failed call; no system in every language; another language's tasks."""
    sees = np.ones((2, 4))
    sees[:, 3] = 0.0
    made = {"judges": ["gpt-4o", "gpt-4.1", "gpt-5", "gpt-6"], "sees": sees, "task_system_sd": 14.0, "noise_sd": 5.0}
    failed = np.array(simulated(30, 2, 3, systems=3, seed=1).system_scores)
    failed[0, 0, :, 0] = 1000.0
    rows = simulated(20, 3, 3, systems=3, seed=2).to_long()
    language, task = rows["language"].str[-1].astype(int), rows["task"].str[-1].astype(int)
    apart = pj.read_panel(rows[(rows["system"].str[-1].astype(int) != language) & (task % 3 == language - 1)])
    mixed = np.array(simulated(40, 4, 3, systems=3, task_system_sd=15.0, noise_sd=4.0, seed=3).system_scores)
    mixed[:, :, 2] = mixed[np.random.default_rng(0).permutation(40), :, 2]
    panels = (
        simulated(40, 2, systems=4, seed=2, **made), pj.Panel.from_array(failed, systems="abc"),
        apart, pj.Panel.from_array(mixed, systems="abc"),
    )  # fmt: skip
    own = {"judges": ["gpt-5", "claude-3", "gemini-2", "mistral-x", "llama-3"], "judge_system": 20.0 * np.eye(5)}
    panels += (simulated(20, 2, systems=["gpt-4", "claude-2", "gemini-1", "mistral-y", "llama-2"], seed=4, **own),)
    alone = np.array(simulated(30, 2, 3, systems=3, noise_sd=2.0, seed=5).system_scores)
    alone[:, 0, 0, 0] += 25.0
    panels += (pj.Panel.from_array(alone, systems="abc"),)
    found = [pj.systems(panel, resamples=100) for panel in panels]
    return Said((*found, sections(found[2], apart)))


@CASES
def systems_sentences() -> Any:
    told = {"one": 0.21, "low": 0.11, "high": 0.31, "panel": 0.5, "panel_low": 0.4, "panel_high": 0.6, "most": 0.7}
    told |= {"judges": ["judge1"], "makers": ["maker2"], "languages": ["language4"], "all": False}
    effect = {"judge": "judge1", "system": "system2", "language": "language3", "effect": 4.1, "count": 5, "of": 6}
    own = {"effect": 2.2, "p": 0.2, "separable": True}
    top = {"settled": True, "top": ["system1"], "makers": 3, "judges": 3, "others": 2}
    long = {"judge": "judge1", "slope": 1.5, "low": 1.1, "high": 1.9, "count": 1, "judges": 4, "winner": "system1"}
    reasons = ("one maker", "two judges", "group", "one judge", "constant", "few")
    each = [(why, odd, by) for why in reasons for odd in ([], ["language3"]) for by in (True, False)]
    return [
        *(say("signal.cannot-tell", why=why, odd=odd, by_task=by, **told) for why, odd, by in each),
        *(
            say(f"signal.{x}", odd=o, by_task=True, **told)
            for x in ("agree", "do-not-agree")
            for o in ([], ["language3"])
        ),
        *(
            say("signal-disagree", by_task=by, odd=[], **{**told, "all": every})
            for by in (True, False)
            for every in (True, False)
        ),
        *(say(f"favour-{x}", band_low=3.3, band_high=4.4, **effect) for x in EFFECTS),
        *(say("favour.own", low=low, high=low + 3, **{**own, **more}) for low in (-5, -1, 1) for more in OWN),
        *(say("systems.top", **{**top, **more}) for more in TOP),
        *(
            say("length", **{**long, "equal": equal, "count": count})
            for equal in ("system1", "system2")
            for count in (1, 2)
        ),
        *(say("systems.no-swap", languages=a, judges=b) for a, b in ((True, False), (False, True), (True, True))),
        *(say("systems.calibration", crossed=a, missing=b) for a in (True, False) for b in (0, 7)),
        *(say("length.scope", known=known) for known in (0.5, 1.0)),
        *(say("systems.scope", judges=judges, level=0.95) for judges in (1, 2)),
    ]


EFFECTS = ("judge-system", "system-language", "system-language-judge")
OWN: tuple[dict[str, Any], ...] = ({}, {"clear": False}, {"clear": False, "p": 0.05}, {"separable": False})
TOP: tuple[dict[str, Any], ...] = (
    {}, {"settled": False}, {"makers": 1}, {"judges": 1}, {"top": ["system1", "system4"]},
    {"top": ["system1", "system4"], "others": 1},
)  # fmt: skip


def test_makers_are_left_out_where_two_judges_or_more_remain_none_alone() -> None:
    """A maker of one judge is that judge; one that made all leaves nobody."""
    names = ("gpt-4o", "gpt-4.1", "claude-opus", "gemini-pro")
    assert [*_left_out(names, None)] == [*names, "OpenAI"]
    assert [*_left_out(names[:2], None)] == [*names[:2]]
    assert _left_out(names, None)["OpenAI"].tolist() == [False, False, True, True]


def test_agreement_beyond_a_group_is_that_of_all_pairs_that_are_not_inside_it() -> None:
    rng = np.random.default_rng(7)
    error = rng.normal(size=(60, 3, 2, 4))
    error[..., 1] = error[..., 0] + 0.3 * error[..., 1]
    panel = pj.Panel.from_array(50 + rng.normal(size=(60, 3, 1, 1)) + error, systems="abc")
    asked = _Asked.of(panel, {judge: judge for judge in panel.judges})
    once = np.ones((1, asked.units))
    v, found = asked.moments.covariance(once)[0], asked.statistics(once)["beyond"][0]
    assert len(asked.groups)
    for group, inside in enumerate(asked.groups):
        pairs = ~np.outer(inside, inside) & ~np.eye(4, dtype=bool)
        expected = [x[pairs].mean() / np.diag(x).mean() for x in v]
        np.testing.assert_allclose(found[:, group], expected)


@pytest.mark.parametrize("name", CASES)
def test_values_are_as_they_were(name: str) -> None:
    assert CASES.changed(name) == []
