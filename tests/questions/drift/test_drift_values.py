"""The values of drift: see `values`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polyjudge as pj
from polyjudge.questions.drift.difference import difference
from values import Cases, one_cell_off, simulated

CASES = Cases(__file__)


def drifted(change: Callable[[np.ndarray], None], **options: Any) -> Any:
    truth = simulated(40, 3, 4, noise_sd=0.0, seed=28, **options)
    before = truth.system_scores if truth.systems else truth.scores
    rng = np.random.default_rng(29)
    assert before is not None
    old, new = (before + rng.normal(0, 3, before.shape) for _ in range(2))
    change(new)
    labels = truth.tasks, truth.languages, truth.judges
    more = {"systems": truth.systems} if truth.systems else {}
    cal = pj.ConsensusCalibrator().fit(pj.Panel.from_array(old, *labels, **more))
    return pj.drift(cal, pj.Panel.from_array(new, *labels, **more), runs=3)


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


@pytest.mark.parametrize("name", CASES)
def test_values_are_as_they_were(name: str) -> None:
    assert CASES.changed(name) == []
