"""The values of probes: see `values`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import polyjudge as pj
from polyjudge.panel.errors import PanelError
from polyjudge.panel.say import say
from polyjudge.questions.probe.reaction import _interval, _over_tasks, _susceptibility, _verdict
from refusals import refused
from values import Cases, probes

CASES = Cases(__file__)


@CASES
def probe_alone() -> Any:
    return pj.probe(probes(3, 4)[0])


@CASES
def probe_explains() -> Any:
    asked, audited = probes(3, 4, seed=4)
    return pj.probe(asked, audit=audited, matters=4.0, level=0.9)


@CASES
def probe_binary() -> Any:
    asked, audited = probes(3, 4, seed=6)
    assert asked.system_scores is not None
    marks = pj.Panel.from_array((asked.system_scores > 55) * 1.0, systems=asked.systems, declared_range=(0, 1))
    return pj.probe(marks, audit=pj.Panel.from_array((audited.scores > 55) * 1.0, declared_range=(0, 1)))


@CASES
def probe_competence() -> Any:
    rng = np.random.default_rng(7)
    sees, shift, padded = np.zeros((3, 4)), np.zeros((3, 4)), np.zeros((3, 4))
    sees[:, 0], sees[1:] = 1.0, 1.0
    shift[0, 0], padded[:, 3] = -25.0, 9.0
    names = ("clean", "damage-1", "damage-2", "damage-3", "padding-1")
    step = np.array([0.0, 1, 2, 3, 0])[:, None, None] * sees
    form = np.array([0.0, 0, 0, 0, 1])[:, None, None] * padded
    scores = 60 + rng.normal(0, 8, (40, 1, 1, 1)) - 9 * step + form + shift + rng.normal(0, 4, (40, 5, 3, 4))
    audited = 60 + shift + rng.normal(0, 8, (50, 1, 1)) + rng.normal(0, 5, (50, 3, 4))
    known = {"declared_range": (0.0, 100.0)}
    return pj.probe(pj.Panel.from_array(scores, systems=names, **known), audit=pj.Panel.from_array(audited, **known))


@CASES
def probe_nobody() -> Any:
    names = ("clean", "damage-1", "damage-2")
    return pj.probe(pj.Panel.from_array(np.random.default_rng(8).normal(50, 9, (40, 3, 2, 3)), systems=names))


@CASES
def probe_holes() -> Any:
    asked, _ = probes(3, 4, seed=9)
    assert asked.system_scores is not None
    scores = np.where(np.random.default_rng(9).random(asked.system_scores.shape) < 0.1, np.nan, asked.system_scores)
    return pj.probe(pj.Panel.from_array(scores, systems=asked.systems, declared_range=(0, 100)))


@CASES
def probe_pleas() -> Any:
    asked, _ = probes(2, 3, seed=10)
    scores = np.array(asked.system_scores)
    scores[:, 4:, :, 1] += 15.0
    return pj.probe(pj.Panel.from_array(scores, systems=asked.systems, declared_range=(0, 100)))


@CASES
def probe_sentences() -> Any:
    moved = {"judge": "judge1", "value": 3.1, "low": 2.1, "high": 4.1}
    kinds = (("probe-plea", "plea-english"), ("probe-plea", "plea-1"), ("probe-padding", "padding-1"))
    return [
        *(say(code, kind=kind, languages=x, **moved) for code, kind in kinds for x in ([], ["language3"])),
        *(say("probe-false-reaction", languages=x, **moved) for x in ([], ["language3"])),
        *(say("probe.interaction", own=own) for own in (True, False)),
    ]


def test_skewness_over_tasks_is_the_usual_one() -> None:
    values = np.random.default_rng(3).exponential(size=(25, 2, 3)) ** 2
    mean, se, freedom, skew = _over_tasks(values, pj.Panel.from_array(values))
    np.testing.assert_allclose(skew, stats.skew(values, axis=0, bias=False))
    np.testing.assert_allclose(mean, values.mean(axis=0))
    np.testing.assert_allclose(se, stats.sem(values, axis=0))
    assert freedom == 24


def test_a_reading_needs_half_of_the_others_to_see_or_most_to_be_blind() -> None:
    sight = np.array(
        [["sees", "sees", "cannot tell", "cannot tell"], ["sees", "sees", "sees", "blind"],
         ["sees", "blind", "blind", "cannot tell"], ["sees", "blind", "sees", "cannot tell"]], object,
    )  # fmt: skip
    open_ = "cannot tell"
    assert _verdict(sight).tolist() == [
        [open_, open_, open_, open_], ["severity", "severity", "severity", "blind"],
        ["competence", "blind", "blind", open_], [open_, "blind", open_, open_],
    ]  # fmt: skip


@pytest.mark.parametrize(("rise", "sure"), [(4.5, False), (5.5, True)])
def test_a_rise_of_half_of_what_matters_counts(rise: float, sure: bool) -> None:
    scores = 50 + np.random.default_rng(4).normal(0, 0.2, (30, 2, 2, 2))
    scores[:, 1] += rise
    panel = pj.Panel.from_array(scores, systems=["clean", "plea-1"])
    assert _susceptibility(panel, 0, {1: "plea"}, 10.0, 0.95)["rises"].unique().tolist() == [sure]


def test_a_judge_that_was_not_audited_is_named() -> None:
    asked, audited = probes(3, 4)
    with refused(PanelError, "judge4"):
        pj.probe(asked, audit=audited.select(judges=audited.judges[:3]))


def test_a_share_that_no_task_moves_could_be_moved_by_one_more() -> None:
    found = _interval("share", np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.05, 0.0]), (0.0, 1.0), tasks=8)
    np.testing.assert_allclose(found["share_low"], [0.0, 0.45, 0.9])
    np.testing.assert_allclose(found["share_high"], [0.1, 0.55, 1.0])


@pytest.mark.parametrize("name", CASES)
def test_values_are_as_they_were(name: str) -> None:
    assert CASES.changed(name) == []
