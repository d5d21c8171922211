"""Advice as data: the state of a panel, what follows for each use, and the steps."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import polyjudge as pj
from polyjudge.panel.errors import UsageError
from polyjudge.questions.audit.advise import GOALS, SCORES, Advice, advise
from refusals import refused


def advice(panel: pj.Panel, matters: float = 2.0, **more: object) -> Advice:
    bands = pj.uncertainty(panel)
    e = pj.explain(panel, matters=matters, bands=bands)
    return advise(panel, e, pj.certificate(bands, matters), **more)  # type: ignore[arg-type]


def one_cell() -> pj.Panel:
    fault = np.zeros((8, 6))
    fault[6, 1] = -20
    return pj.simulate_panel(interaction=fault, seed=1)[0]


def commands(a: Advice) -> list[str]:
    return [step.command[1] for step in a.steps]


BLIND = SimpleNamespace(
    verdict="do not agree", by_task=False, mean_one=0.01, mean_one_low=-0.02, mean_one_high=0.03,
    languages=pd.DataFrame({"one_high": [0.05, 0.09]}),
)  # fmt: skip


def test_a_panel_that_agrees_is_calm() -> None:
    a = advice(pj.simulate_panel(tasks=300, interaction=0.0, seed=2)[0], 4.0)
    assert a.state == "agree"
    assert [f.code for f in a.verdict] == ["verdict.agree"]
    assert {f.severity for f in a.verdict} == {"info"}
    assert commands(a) == ["calibrate"]
    assert "baseline.json" in a.steps[0].command


def test_what_does_not_matter_is_no_fault() -> None:
    """Every cell is clear of noise, none by as much as matters."""
    panel, _ = pj.simulate_panel(tasks=3000, interaction=0.5, noise_sd=2.0, seed=3)
    assert pj.uncertainty(panel).clear > 20
    a = advice(panel, 3.0)
    assert a.state == "agree"
    assert a.verdict[0].matter == "negligible"


def test_too_few_tasks_leave_it_open_and_say_how_many_are_needed() -> None:
    a = advice(pj.simulate_panel(tasks=20, interaction=0.0, seed=2)[0], 2.0)
    assert a.state == "open"
    assert a.verdict[0].values["needed"] > 20
    assert a.verdict[0].severity == "notice"
    assert commands(a) == ["plan"]


def test_one_broken_cell_is_inspected_and_corrected_alone() -> None:
    a = advice(one_cell())
    assert a.state == "culprit"
    assert a.verdict[0].code == "verdict.cell"
    assert (a.verdict[0].values["language"], a.verdict[0].values["judge"]) == ("language7", "judge2")
    assert a.verdict[0].severity == "serious"
    assert commands(a) == ["explain", "audit", "calibrate"]
    assert a.steps[0].command == ("polyjudge", "explain", SCORES, "--cell", "language7,judge2")
    assert "--drop" in a.steps[1].command
    assert "sparse" in a.steps[2].command
    assert a.uses["panel-mean"].code == "use.mean.culprit"
    assert a.uses["panel-mean"].values["excess"] == pytest.approx(-20 / 6, abs=0.6)


def test_diffuse_interaction_is_calibrated_unless_judges_are_averaged() -> None:
    panel, _ = pj.simulate_panel(tasks=200, interaction=10.0, seed=4)
    a = advice(panel)
    assert a.state == "diffuse"
    assert a.verdict[0].code == "verdict.diffuse"
    assert "calibrate" in commands(a)
    mean = advice(panel, goal="panel-mean")
    assert list(mean.uses) == ["panel-mean"]
    assert mean.uses["panel-mean"].code == "use.mean.nothing"
    assert mean.uses["panel-mean"].arithmetic  # type: ignore[attr-defined]
    assert "calibrate" not in commands(mean)


def test_a_blind_panel_is_not_calibrated() -> None:
    panel, _ = pj.simulate_panel(tasks=200, interaction=10.0, seed=4)
    a = advice(panel, signal=BLIND)
    assert a.state == "blind"
    assert a.verdict[0].code == "verdict.blind"
    assert len(a.verdict) <= 3
    assert "calibrate" not in commands(a)
    assert advice(panel, signal=BLIND, goal="compare-systems").uses["compare-systems"].code == "use.compare.blind"


def test_two_judges_cannot_accuse_each_other() -> None:
    fault = np.zeros((6, 2))
    fault[2, 0] = 30
    panel, _ = pj.simulate_panel(tasks=60, languages=6, judges=2, interaction=fault, seed=5)
    assert "verdict.two-judges" in [f.code for f in advice(panel).verdict]


def test_goals_are_checked_and_every_goal_has_an_answer() -> None:
    panel = one_cell()
    bands = pj.uncertainty(panel)
    found = panel, pj.explain(panel, matters=2.0, bands=bands), pj.certificate(bands, 2.0)
    for goal in GOALS:
        assert list(advise(*found, goal=goal).uses) == [goal]
    with refused(UsageError, "win", "compare-systems"):
        advise(*found, goal="win")
    everything = advise(*found, gates=pj.gates(panel, 50, resamples=100)).uses
    assert set(everything) == {"gate", "rank-judges", "best-judge-per-language", "panel-mean"}


def test_equal_scores_give_no_advice() -> None:
    panel = pj.Panel.from_array(np.full((20, 3, 3), 4.0))
    assert advice(panel, 1.0).state == "constant"


def test_binary_scores_speak_in_percentage_points_and_not_of_floors() -> None:
    rng = np.random.default_rng(6)
    rate = np.full((6, 5), 0.7)
    rate[1, 2] = 0.05
    panel = pj.Panel.from_array((rng.random((300, 6, 5)) < rate).astype(float))
    verdict = advice(panel, 0.02).verdict[0]
    assert verdict.code == "verdict.cell"
    assert verdict.values["unit"] == "percentage points"
    assert verdict.values["excess"] == pytest.approx(-65, abs=12)
    assert verdict.values["piled"] is None


def test_a_judge_that_does_not_see_is_said_first_and_blind_judges_have_a_blind_mean() -> None:
    sees = np.ones((3, 4))
    sees[1, 2] = 0.0
    options = {"systems": 5, "seed": 1, "interaction": 0.0}
    half = pj.audit(pj.simulate_panel(100, 3, 4, sees=sees, **options)[0], resamples=100).advice
    assert half.verdict[0].code == "signal-judge-odd"
    assert half.verdict[0].values["cells"] == [("language2", "judge3")]
    blind = pj.audit(pj.simulate_panel(100, 3, 4, sees=0.0, **options)[0], resamples=100).advice
    assert blind.verdict[0].code == "verdict.blind"
    assert blind.uses["panel-mean"].code == "use.mean.blind"
