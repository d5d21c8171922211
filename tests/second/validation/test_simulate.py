"""Simulated panels: the truth they come with is what their scores average to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polyjudge.second as pj
from polyjudge.second.estimate.kernels import double_centre
from polyjudge.second.panel.errors import UsageError


@pytest.mark.parametrize("noise", ["gaussian", "heteroskedastic", "heavy"])
@pytest.mark.parametrize("scale", ["continuous", "integer", "fractions"])
def test_truth_is_the_expectation_of_the_scores(noise: Any, scale: Any) -> None:
    cells = 12 * np.random.default_rng(0).normal(size=(3, 4))
    panel, truth = pj.simulate_panel(
        20_000, 3, 4, seed=2, interaction=cells, noise=noise, scale=scale, mean=80, task_sd=15, three_way_sd=4
    )
    deviations = double_centre(panel.scores)
    se = deviations.std(axis=0) / np.sqrt(20_000)
    assert np.abs((deviations.mean(axis=0) - truth.interaction.to_numpy()) / se).max() < 4
    if scale != "continuous":
        planted = double_centre(cells) * (0.04 if scale == "integer" else 1)
        assert np.abs((planted - truth.interaction.to_numpy()) / se).max() > 10


def test_scales_have_their_steps() -> None:
    whole, _ = pj.simulate_panel(50, 2, 2, scale="integer", task_sd=40)
    assert set(np.unique(whole.scores)) == {1, 2, 3, 4, 5}
    parts, _ = pj.simulate_panel(200, 2, 2, scale="fractions", steps=4, task_sd=40)
    assert set(np.unique(parts.scores)) == {0, 25, 50, 75, 100}


def test_the_same_seed_gives_the_same_panel() -> None:
    assert pj.simulate_panel(seed=4)[0].fingerprint == pj.simulate_panel(seed=4)[0].fingerprint
    assert pj.simulate_panel(seed=4)[0].fingerprint != pj.simulate_panel(seed=5)[0].fingerprint


def test_missing_share_and_bad_arguments() -> None:
    panel, _ = pj.simulate_panel(200, 5, 5, missing=0.2, seed=1)
    assert np.isnan(panel.scores).mean() == pytest.approx(0.2, abs=0.02)
    with pytest.raises(UsageError):
        pj.simulate_panel(tasks=1)


def test_truth_prints_and_converts() -> None:
    _, truth = pj.simulate_panel(5, 2, 3)
    assert list(truth.to_frame().columns) == ["language", "judge", "interaction"]
    assert len(truth.to_dict()["interaction"]) == 2


def test_given_cells_are_added_as_they_are() -> None:
    """What is not doubly centred in them moves the effects: judges that differ in one language tie in the others."""
    cells = np.zeros((3, 2))
    cells[0] = (6, -6)
    _, truth = pj.simulate_panel(5, 3, 2, interaction=cells, judge_sd=0, language_sd=0)
    whole = truth.interaction.to_numpy() + truth.judge_effect.to_numpy() + truth.language_effect.to_numpy()[:, None]
    np.testing.assert_allclose(whole, cells, atol=1e-12)
