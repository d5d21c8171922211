"""Advice as data: the state of a panel, what follows for each use, and the steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polyjudge.second as pj
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.say import Say
from polyjudge.second.questions.audit.advise import GOALS, SCORES, Advice
from polyjudge.second.report.sections import Finding, find
from refusals import refused


def advice(panel: pj.Panel, matters: float = 2.0, **more: Any) -> Advice:
    return pj.audit(panel, matters=matters, resamples=200, **more).advice


def codes(a: Advice) -> list[str]:
    return [s.code for s in a.verdict if isinstance(s, Say)]


def said(a: Advice, code: str) -> Finding:
    return next(f for f in a.verdict if isinstance(f, Finding) and f.code == code)


def one_cell() -> pj.Panel:
    fault = np.zeros((8, 6))
    fault[6, 1] = -20
    return pj.simulate_panel(interaction=fault, seed=1)[0]


def commands(a: Advice) -> list[str]:
    return [step.command[1] for step in a.steps]


def test_a_panel_whose_gaps_stay_is_calm() -> None:
    a = advice(pj.simulate_panel(tasks=300, interaction=0.0, seed=2)[0], 6.0)
    assert (a.state, a.method) == ("calm", None)
    assert codes(a)[-2:] == ["verdict.shared", "verdict.calm"]
    assert {f.severity for f in a.verdict if isinstance(f, Finding)} == {"info"}
    assert commands(a) == ["label", "calibrate"]
    assert "baseline.json" in a.steps[1].command


def test_what_does_not_matter_is_no_fault() -> None:
    """Every cell is clear of noise, none by as much as matters, and no two judges swap places."""
    panel, _ = pj.simulate_panel(tasks=3000, interaction=0.3, noise_sd=2.0, judge_sd=12.0, seed=3)
    found = pj.audit(panel, matters=4.0, resamples=200)
    assert found.uncertainty.clear > 10
    assert found.reversals is not None
    assert found.advice.state == ("open" if found.reversals.count_selected else "calm")
    assert said(found.advice, "verdict.calm").values["delta"] < 4


def test_judges_that_surely_swap_places_veto_calm() -> None:
    swap = np.zeros((3, 3))
    swap[0, :2] = [0.8, -0.8]
    swap[1, :2] = [-0.8, 0.8]
    panel, _ = pj.simulate_panel(1500, 3, 3, interaction=swap, noise_sd=2.0, judge_sd=0.0, task_judge_sd=0.0, seed=1)
    a = advice(panel, 8.0)
    assert a.state == "open"
    assert {"verdict.calm", "verdict.swap"} <= set(codes(a))


def test_too_few_tasks_leave_it_open_and_say_how_many_are_needed_only_where_that_helps() -> None:
    panel = pj.simulate_panel(tasks=40, interaction=0.0, seed=2)[0]
    a = advice(panel, 7.0)
    assert a.state == "open"
    assert said(a, "verdict.open").severity == "notice"
    assert commands(a)[0] == "plan"
    assert a.steps[0].why.values["needed"] > 40
    assert "plan" not in commands(advice(panel, 0.5))  # thousands of tasks are no plan


def test_one_broken_cell_is_inspected_and_corrected_alone() -> None:
    a = advice(one_cell())
    assert (a.state, a.method) == ("culprit", "sparse")
    cell = said(a, "verdict.cell")
    assert (cell.values["language"], cell.values["judge"]) == ("language7", "judge2")
    assert cell.severity == "serious"
    assert cell.values["sure"]
    assert commands(a) == ["audit", "audit", "calibrate", "label"]
    assert a.steps[0].command == ("polyjudge", "audit", SCORES, "--cell", "language7,judge2")
    assert "--drop" in a.steps[1].command
    assert "sparse" in a.steps[2].command
    assert a.uses["panel-mean"].code == "use.mean.culprit"
    assert a.uses["panel-mean"].values["excess"] == pytest.approx(-20 / 6, abs=0.6)


def test_a_cell_that_few_resamples_name_is_off_perhaps() -> None:
    doubtful = {"judge": "a", "language": "x", "unit": "points", "excess": -3.0, "low": -4.0, "high": -2.0}
    doubtful |= {"piled": None, "named": [("x", "a")]}
    for share, sure in ((0.47, False), (0.93, True)):
        text = find("serious", "verdict.cell", share=share, sure=sure, **doubtful).text
        assert ("47%" in text) == (not sure)
    a = advice(one_cell())
    found = said(a, "verdict.cell").values
    assert found["sure"] == (found["share"] >= 0.8)


def test_diffuse_interaction_is_calibrated_unless_judges_are_averaged() -> None:
    panel, _ = pj.simulate_panel(tasks=200, interaction=10.0, seed=4)
    a = advice(panel)
    assert (a.state, a.method) == ("diffuse", "cbc")
    assert "verdict.diffuse" in codes(a)
    assert "calibrate" in commands(a)
    assert a.uses["rank-judges"].values["advised"]
    mean = advice(panel, goal="panel-mean")
    assert list(mean.uses) == ["panel-mean"]
    assert mean.uses["panel-mean"].code == "use.mean.nothing"
    assert mean.uses["panel-mean"].arithmetic  # type: ignore[attr-defined]
    assert "calibrate" not in commands(mean)


def test_a_gap_that_surely_changes_matters_though_no_cell_does() -> None:
    """Of two languages double centring shows a quarter of the change of a gap."""
    fault = np.array([[3.0, -3.0, 0.0], [0.0, 0.0, 0.0]])
    panel, _ = pj.simulate_panel(1500, 2, 3, interaction=fault, noise_sd=5, judge_sd=12, seed=1)
    a = advice(panel, 3.0)
    assert a.state == "diffuse"
    gap = said(a, "verdict.gap").values
    assert {gap["judge_i"], gap["judge_j"]} == {"judge1", "judge2"}
    assert gap["low"] > 3
    assert gap["change"] == pytest.approx(6, abs=1)


def test_two_judges_cannot_accuse_each_other() -> None:
    fault = np.zeros((6, 2))
    fault[2, 0] = 30
    panel, _ = pj.simulate_panel(tasks=60, languages=6, judges=2, interaction=fault, seed=5)
    assert "verdict.two-judges" in codes(advice(panel))


def test_goals_are_checked_and_every_goal_has_an_answer() -> None:
    panel = pj.simulate_panel(30, 3, 3, seed=1)[0]
    for goal in GOALS:
        more = {"threshold": 50} if goal == "gate" else {}
        assert list(pj.audit(panel, goal=goal, resamples=100, **more).advice.uses) == [goal]
    with refused(UsageError, "win", "compare-systems"):
        pj.audit(panel, goal="win")  # type: ignore[arg-type]
    everything = pj.audit(panel, threshold=50, resamples=100).advice.uses
    assert {"gate", "rank-judges"} <= set(everything)


def test_equal_scores_cannot_tell() -> None:
    panel = pj.Panel.from_array(np.full((20, 3, 3), 4.0))
    a = advice(panel, 1.0)
    assert a.state == "constant"
    assert codes(a) == ["constant"]


def test_binary_scores_speak_in_percentage_points_and_not_of_floors() -> None:
    rng = np.random.default_rng(6)
    rate = np.full((6, 5), 0.7)
    rate[1, 2] = 0.05
    panel = pj.Panel.from_array((rng.random((300, 6, 5)) < rate).astype(float))
    cell = said(advice(panel, 0.02), "verdict.cell")
    assert cell.values["unit"] == "percentage points"
    assert cell.values["excess"] == pytest.approx(-65, abs=12)
    assert cell.values["piled"] is None


def test_what_all_judges_share_is_said_once() -> None:
    scores = np.random.default_rng(1).normal(50, 10, (40, 3, 1)) + np.random.default_rng(2).normal(0, 3, (40, 3, 3))
    one = advice(pj.Panel.from_array(scores, judges=["gpt-4o", "gpt-5", "o3"]))
    assert "verdict.shared" not in codes(one)  # said with the maker
    assert next(s for s in one.verdict if s.code == "signal.cannot-tell").values["why"] == "one maker"  # type: ignore[union-attr]
    assert codes(advice(pj.Panel.from_array(scores))).count("verdict.shared") == 1


def test_one_maker_that_agrees_alone_ranks_nothing() -> None:
    rng = np.random.default_rng(5)
    scores = rng.normal(60, 9, (60, 3, 3, 5))
    scores[..., :2] += rng.normal(0, 9, (60, 3, 3, 1))
    judges = ["gpt-4o", "gpt-5", "claude-opus", "gemini-pro", "qwen-max"]
    systems = ("Aria", "Brio", "Cello")
    alone = pj.Panel.from_array(scores, judges=judges, systems=systems)
    assert advice(alone).uses["compare-systems"].code == "use.compare.group"
    inside = pj.Panel.from_array(scores[:, :, :1], judges=judges, systems=systems)
    assert advice(inside).uses["compare-systems"].code == "use.compare.group"
    one = pj.Panel.from_array(scores[:, :, :1, :1], judges=judges[:1], systems=systems)
    use = advice(one).uses["compare-systems"]
    assert (use.code, use.values) == ("use.compare.inside", {"judges": 1, "languages": 1})


def test_blind_judges_come_first_and_are_not_calibrated() -> None:
    options = {"systems": 5, "seed": 1}
    sees = np.ones((3, 4))
    sees[1, 2] = 0.0
    half = advice(pj.simulate_panel(100, 3, 4, sees=sees, interaction=0.0, **options)[0])
    assert half.state != "blind"
    blind = advice(pj.simulate_panel(100, 3, 4, sees=0.0, interaction=10.0, **options)[0])
    assert blind.state == "blind"
    assert codes(blind)[0].startswith("signal")
    assert "calibrate" not in commands(blind)
    assert "probe" in commands(blind)
    assert blind.uses["panel-mean"].code in ("use.mean.blind", "use.mean.culprit")
