"""The values of drift: see `values`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polyjudge as pj
from polyjudge.panel.say import say
from polyjudge.questions.drift.difference import _labels, difference
from values import Cases, Said, one_cell_off, simulated

CASES = Cases(__file__)


def drifted(change: Callable[[np.ndarray], Any], *sizes: int, runs: int = 3, **options: Any) -> Any:
    truth = simulated(*(sizes or (40, 3, 4)), noise_sd=0.0, seed=28, **options)
    before = truth.system_scores if truth.systems else truth.scores
    rng = np.random.default_rng(29)
    assert before is not None
    old, new = (before + rng.normal(0, 3, before.shape) for _ in range(2))
    change(new)
    labels = truth.tasks, truth.languages, truth.judges
    more = {"systems": truth.systems} if truth.systems else {}
    cal = pj.ConsensusCalibrator().fit(pj.Panel.from_array(old, *labels, **more))
    return pj.drift(cal, pj.Panel.from_array(new, *labels, **more), runs=runs)


@CASES
def drift_none() -> Any:
    return drifted(lambda new: None)


@CASES
def drift_cell() -> Any:
    return drifted(lambda new: np.add.at(new, (slice(None), 1, 2), -12.0))


@CASES
def drift_judge_and_language() -> Any:
    def change(new: np.ndarray) -> None:
        new[:, :, 1] += 9.0
        new[:, 2] -= 4.0
        new[5, 1, 1] = np.nan

    return drifted(change)


@CASES
def drift_systems() -> Any:
    def change(new: np.ndarray) -> None:
        new[:, 1] += 10.0
        new[:, :, 2, 3] -= 9.0

    return drifted(change, systems=4)


@CASES
def drift_reports() -> Any:
    old, new = (pj.audit(p, resamples=100).to_dict() for p in (one_cell_off(0.0), one_cell_off(-25.0)))
    return difference(old, new)


@CASES
def drift_other_tasks() -> Any:
    old, new = (simulated(40, 3, 3, 2, seed=seed) for seed in (64, 65))
    tasks = [f"new {task}" for task in new.tasks]
    return pj.drift(pj.ConsensusCalibrator().fit(old), pj.Panel.from_array(new.scores, tasks), tolerance=1.0)


@CASES
def drift_new_names() -> Any:
    panel = simulated(40, 4, 4, seed=66)
    old = panel.select(languages=panel.languages[:3], judges=panel.judges[:3])
    new = panel.select(languages=panel.languages[1:], judges=panel.judges[1:])
    noisy = new.with_scores(np.clip(new.scores + np.random.default_rng(1).normal(0, 2, new.shape), 20, 80))
    return pj.drift(pj.ConsensusCalibrator().fit(old), noisy)


@CASES
def drift_blurred() -> Any:
    def change(new: np.ndarray) -> None:
        new[..., 1] = new[..., 1].mean(axis=1, keepdims=True) + 0.1 * (new[..., 1] - new[..., 1].mean())
        new[:12, :, 2, 0] = 0.0

    return drifted(change, systems=4)


@CASES
def drift_all_language() -> Any:
    def change(new: np.ndarray) -> None:
        new[:, 2] += np.array([12.0, -12.0, 12.0, -12.0])

    return drifted(change)


@CASES
def drift_same_reports() -> Any:
    found = pj.audit(simulated(30, 3, 3, systems=2, seed=67), resamples=100).to_dict()
    return difference(found, found)


@CASES
def drift_two_systems() -> Any:
    return drifted(lambda new: np.add.at(new, (slice(None), 1), 8.0), systems=2)


@CASES
def drift_of_replicates() -> Any:
    """The share of single scores at the floor is not that of their means, which are remembered by system."""
    whole = simulated(40, 2, 3, 3, systems=3, mean=12.0, scale="0-100", seed=77)
    assert whole.system_scores is not None
    noise = np.random.default_rng(2).normal(0, 2, whole.system_scores.shape)
    scores = np.maximum(whole.system_scores + noise, 0.0)[:, :2]
    new = pj.Panel.from_array(scores, whole.tasks, whole.languages, whole.judges, systems=whole.systems[:2])
    return pj.drift(pj.ConsensusCalibrator().fit(whole), new, runs=3)


@CASES
def drift_reports_inside() -> Any:
    whole = simulated(30, 2, 3, systems=3, seed=78)
    one = (whole.select(languages=[x]) for x in whole.languages)
    old, new = (pj.audit(pj.Panel.from_array(p.scores), resamples=100, level=0.8).to_dict() for p in one)
    return difference(old, new)


@CASES
def drift_stretched() -> Any:
    def change(new: np.ndarray) -> None:
        new[..., 1] += 0.8 * (new[..., 1].mean() - new[..., 1])

    return Said((drifted(change),))


@CASES
def drift_of_many_kinds() -> Any:
    """A judge, a language, all cells, the range, the floor; too few tasks, other replicates, other systems."""

    def failing(new: np.ndarray) -> None:
        new[:15, 1, 1] = new[:15, 0, 2] = 0.0

    planted = np.zeros((3, 4))
    planted[2] = [20.0, -5.0, -15.0, 3.0]
    judge = np.zeros((4, 3))
    judge[:, 1] = [20.0, -5.0, -15.0, 3.0]
    diffuse = np.random.default_rng(5).normal(0, 9, (3, 4))
    thrice, two = simulated(30, 2, 3, 3, seed=2), simulated(30, 2, 3, systems=2, seed=3)
    noisy = thrice.scores + np.random.default_rng(1).normal(0, 1, thrice.shape)
    once = pj.Panel.from_array(noisy, thrice.tasks, thrice.languages, thrice.judges)
    other = pj.Panel.from_array(
        np.array(two.system_scores), two.tasks, two.languages, two.judges, systems=["new1", "x"]
    )
    return Said((
        drifted(lambda new: np.add(new, judge, out=new), 40, 4, 3),
        drifted(lambda new: np.add(new, planted, out=new)),
        drifted(lambda new: np.add(new, diffuse, out=new)),
        drifted(lambda new: np.clip(new, 45, 55, out=new)),
        drifted(failing),
        drifted(lambda new: None, 12, 4, 4, runs=365),
        pj.drift(pj.ConsensusCalibrator().fit(thrice), once, runs=3),
        pj.drift(pj.ConsensusCalibrator().fit(two), other),
    ))  # fmt: skip


@CASES
def drift_of_one_judge() -> Any:
    whole = simulated(30, 3, 2, seed=88)
    one = whole.select(judges=whole.judges[:1])
    cal = pj.ConsensusCalibrator().fit(one)
    renamed = pj.Panel.from_array(one.scores, [f"x{t}" for t in one.tasks], one.languages, one.judges)
    return Said((pj.drift(cal, one.with_scores(one.scores - 5)), pj.drift(cal, renamed)))


@CASES
def drift_constant() -> Any:
    then, now = (pj.Panel.from_array(np.full((12, 2, 2), 50.0), [f"{x}{i}" for i in range(12)]) for x in "ab")
    return pj.drift(pj.ConsensusCalibrator().fit(then), now)


@CASES
def drift_sentences() -> Any:
    at = {"language": "language1", "judge": "judge2", "label": "judge3", "low": -5.0, "high": -3.0, "count": 2, "of": 6}
    at |= {
        "before": 0.5,
        "after": 0.4,
        "old": 1.0,
        "new": 2.0,
        "p": 0.01,
        "cells": 12,
        "system": "system1",
        "alone": True,
    }
    at |= {"named": [("language1", "judge2"), ("language3", "judge4")], "systems": ["system1"], "compared": 3}
    sized = ("cell-broke", "cells-broke", "judge-changed", "language-changed", "judge-offset-changed", "level-changed",
             "language-shift-changed", "interaction-changed", "floor-changed", "system-changed",
             "difference.cells", "difference.judges", "difference.languages")  # fmt: skip
    few = [{}, {"count": 1}, {"count": 3}, {"of": 1}, {"language": "(all)"}, {"compared": 1}, {"alone": False}]
    more: list[dict[str, Any]] = [*few, {"systems": ["system1", "system5"]}]
    gone = [([], ["system7"]), (["system8"], []), (["system8", "system9"], ["system6", "system7"])]
    return [
        *(say(code, **at | x | {"change": change}) for code in sized for x in more for change in (-4.0, 4.0)),
        *(say("agreement-changed", **at | {"change": -0.2, "after": after}) for after in (0.2, 0.3)),
        *(say(f"systems-{x}", new=new, gone=old, compared=2) for x in ("differ", "unlike") for new, old in gone),
        *(say("drift.picture-note", broke=x) for x in (True, False)),
        *(say("drift.picture-chart", changed=x, cells=12) for x in (0, 2)),
        say("too-few-for-runs", tasks=9, runs=365),
        say("replicates-differ", then=3, now=1),
        say("range-changed", low=0, high=1, low_before=0, high_before=100),
        say("range-narrowed", low=40, high=60),
    ]


@pytest.mark.parametrize("damaged", ["ab", [1, 2], None])
def test_labels_of_an_audit_are_a_list_of_names(damaged: Any) -> None:
    assert _labels(["a", "b"]) == ["a", "b"]
    with pytest.raises(TypeError):
        _labels(damaged)


@pytest.mark.parametrize("name", CASES)
def test_values_are_as_they_were(name: str) -> None:
    assert CASES.changed(name) == []
