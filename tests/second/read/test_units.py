"""Units that hold many tasks: intervals and bands are those of the tasks."""

from __future__ import annotations

import hashlib
from functools import cache

import numpy as np
import pytest

import polyjudge.second as pj
from polyjudge.second.questions.audit import uncertainty
from polyjudge.second.read import assemble


@cache
def places(tasks: tuple[str, ...]) -> list[int]:
    return [int(hashlib.md5(t.encode()).hexdigest()[:8], 16) for t in tasks]


def hashed(panel: pj.Panel, size: int) -> pj.Panel:
    """What the reader makes of a panel beyond `max_units`, without the detour over a table."""
    place = np.array(places(panel.tasks)) % size
    used, unit = np.unique(place, return_inverse=True)
    weights = np.bincount(unit).astype(float)
    scores = np.zeros((len(used), *panel.shape[1:]))
    np.add.at(scores, unit, panel.scores)
    counts = np.broadcast_to(weights[:, None, None], scores.shape).astype(np.int64)
    labels = tuple(f"unit{i + 1}" for i in range(len(used)))
    return pj.Panel(
        scores / weights[:, None, None], labels, panel.languages, panel.judges, counts=counts.copy(), weights=weights
    )


def test_the_reader_makes_these_units() -> None:
    panel, _ = pj.simulate_panel(300, 2, 3, seed=0)
    read, made = pj.read_panel(panel.to_long(), max_units=40), hashed(panel, 40)
    np.testing.assert_array_equal(read.weights, made.weights)
    np.testing.assert_allclose(read.scores, made.scores, rtol=1e-12)
    assert read.tasks == made.tasks


def test_only_very_many_tasks_are_hashed_and_into_fewer_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assemble, "MOST_TASKS", 40)
    monkeypatch.setattr(assemble, "UNITS", 8)
    few, many = (pj.simulate_panel(n, 2, 3, seed=0)[0].to_long() for n in (40, 41))
    assert len(pj.read_panel(few).tasks) == 40
    assert len(pj.read_panel(many).tasks) == 8
    assert len(pj.read_panel(many, max_units=41).tasks) == 41
    assert len(pj.read_panel(few, max_units=9).tasks) <= 9


def test_standard_errors_of_1000_units_are_those_of_the_tasks() -> None:
    panel, _ = pj.simulate_panel(20_000, 4, 3, seed=2, noise="heteroskedastic")
    by_task = uncertainty(panel, resamples=200).to_frame()
    by_unit = uncertainty(hashed(panel, 1000), resamples=200).to_frame()
    np.testing.assert_allclose(by_unit["interaction"], by_task["interaction"], atol=1e-10)
    ratio = by_unit["se"] / by_task["se"]
    assert abs(float(np.median(ratio)) - 1) < 0.05
    # One cell's standard error from 1,000 units has itself an error of 2.2%.
    assert float(np.abs(ratio - 1).max()) < 0.08
    band = (by_unit["band_high"] - by_unit["band_low"]) / (by_task["band_high"] - by_task["band_low"])
    assert abs(float(np.median(band)) - 1) < 0.06


@pytest.mark.statistical
def test_intervals_from_units_cover_the_truth() -> None:
    simulations, inside, bands = 300, 0, 0
    for seed in range(simulations):
        panel, truth = pj.simulate_panel(1000, 4, 3, seed=seed)
        planted = truth.interaction.to_numpy().ravel()
        found = uncertainty(hashed(panel, 250), resamples=200, seed=seed).to_frame()
        inside += int(((found["low"] <= planted) & (planted <= found["high"])).sum())
        bands += bool(((found["band_low"] <= planted) & (planted <= found["band_high"])).all())
    assert 0.93 <= inside / (12 * simulations) <= 0.97
    assert bands / simulations >= 0.912  # 95%, less three standard deviations
