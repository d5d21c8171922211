"""Robust estimates of the interaction: against scipy, against outliers, and quiet when nothing is odd."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import trim_mean

import polyjudge.second as pj
from polyjudge.second.calibrate import robust as room
from polyjudge.second.calibrate.robust import odd_cells
from polyjudge.second.estimate.incomplete import estimate_interaction
from polyjudge.second.estimate.kernels import double_centre
from polyjudge.second.panel.errors import UsageError
from refusals import refused


def test_trimmed_and_median_of_means_by_their_definitions() -> None:
    panel, _ = pj.simulate_panel(101, 3, 4, seed=1, noise="heavy")
    d = double_centre(panel.scores)
    estimate = estimate_interaction(panel)
    trimmed = room.location(estimate, panel.weights, "trimmed")
    expected = double_centre(trim_mean(d, 0.1, axis=0))
    se = d.std(axis=0) / np.sqrt(101)
    assert np.abs((trimmed - expected) / se).max() < 0.1  # scipy cuts whole tasks, we cut weight
    blocks = np.stack([d[i :: room.BLOCKS].mean(axis=0) for i in range(room.BLOCKS)])
    np.testing.assert_allclose(
        room.location(estimate, panel.weights, "median_of_means"), double_centre(np.median(blocks, axis=0)), atol=1e-12
    )


def test_huber_solves_its_equation() -> None:
    values = np.random.default_rng(0).standard_t(3, (200, 2, 2))
    share = np.full(200, 1 / 200)
    centre = room._huber(values, share)
    bound = room.TUNING * room._scale(values, share)
    assert np.abs(np.clip(values - centre, -bound, bound).mean(axis=0)).max() < 1e-9


def test_weights_count_as_tasks() -> None:
    panel, _ = pj.simulate_panel(40, 3, 3, seed=2)
    weights = np.random.default_rng(0).integers(1, 4, 40)
    heavy = pj.Panel.from_array(panel.scores, weights=weights.astype(float))
    repeated = pj.Panel.from_array(np.repeat(panel.scores, weights, axis=0))
    for name in ("trimmed", "huber"):
        a = room.location(estimate_interaction(heavy), heavy.weights, name)
        b = room.location(estimate_interaction(repeated), repeated.weights, name)
        np.testing.assert_allclose(a, b, atol=1e-9)


@pytest.mark.parametrize("tasks", [2, 3, 4, 5, 10, 16, 55])
def test_a_tenth_of_the_weight_is_cut_from_each_end(tasks: int) -> None:
    values = np.random.default_rng(tasks).normal(size=(tasks, 2, 3))
    share = np.full(tasks, 1 / tasks)
    kept = np.diff(np.clip(np.arange(tasks + 1) / tasks, room.TRIM, 1 - room.TRIM))
    expected = np.tensordot(kept / kept.sum(), np.sort(values, axis=0), 1)
    np.testing.assert_allclose(room._trimmed(values, share), expected, atol=1e-12)


@pytest.mark.parametrize("location", ["trimmed", "median_of_means", "huber"])
def test_a_few_odd_tasks_do_not_decide(location: str) -> None:
    panel, truth = pj.simulate_panel(60, 4, 4, seed=4, interaction=2, noise_sd=4)
    scores = panel.scores.copy()
    scores[[3, 20], 1, 2] += 400
    odd = pj.Panel.from_array(scores, panel.tasks, panel.languages, panel.judges)
    wrong = np.abs(pj.ConsensusCalibrator().fit(odd).interaction_ - truth.interaction).to_numpy().max()
    right = np.abs(
        pj.ConsensusCalibrator(location=location).fit(odd).interaction_ - truth.interaction  # type: ignore[arg-type]
    )
    assert wrong > 5
    assert right.to_numpy().max() < 2.5


@pytest.mark.statistical
def test_disagreement_is_noted_and_quiet_otherwise() -> None:
    quiet = 0
    for seed in range(40):
        panel, _ = pj.simulate_panel(50, 4, 4, seed=seed)
        quiet += not odd_cells(panel)
    assert quiet >= 36
    panel, _ = pj.simulate_panel(60, 3, 3, seed=1, noise_sd=3, task_sd=1)
    scores = panel.scores.copy()
    scores[::12, 0, 0] += 150
    found = odd_cells(pj.Panel.from_array(scores, panel.tasks, ("en", "de", "sw"), ("Ada", "Bob", "Cleo")))
    note = next(n.values for n in found if (n.values["language"], n.values["judge"]) == ("en", "Ada"))
    assert note["mean"] > 5 > note["huber"]


def test_incomplete_and_constant_panels() -> None:
    panel, _ = pj.simulate_panel(30, 3, 4, seed=3, missing=0.2)
    assert np.isfinite(pj.ConsensusCalibrator(location="huber").fit(panel).interaction_.to_numpy()).all()
    constant = pj.Panel.from_array(np.tile([[1.0, 2.0], [3.0, 8.0]], (6, 1, 1)))
    both = [pj.ConsensusCalibrator(location=x).fit(constant).interaction_ for x in ("huber", "mean")]  # type: ignore[arg-type]
    np.testing.assert_allclose(*both)
    assert odd_cells(constant) == ()


def test_bad_location() -> None:
    with refused(UsageError, "location", "mode", "huber"):
        pj.ConsensusCalibrator(location="mode")  # type: ignore[arg-type]
