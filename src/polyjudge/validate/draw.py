"""Panels with planted truth, as the scenarios ask for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyjudge.core.arrays import Array
from polyjudge.core.panel import Panel
from polyjudge.simulate import Truth, simulate_panel
from polyjudge.validate.scenarios import Scenario


def draw(scenario: Scenario, seed: int) -> tuple[Panel, Truth, Array]:
    """A panel of the scenario, what was simulated, and the (k, m) scores that its cells have on average."""
    plant = scenario.plant
    more: dict[str, Any] = {"noise_sd": 0.0} if "skewed" in plant else {}
    panel, truth = simulate_panel(
        scenario.tasks, scenario.languages, scenario.judges, seed=seed, **{**scenario.simulate, **more}
    )
    cells = truth.interaction.to_numpy() + truth.judge_effect.to_numpy() + truth.language_effect.to_numpy()[:, None]
    rng = np.random.default_rng([seed, 1])
    scores = panel.scores.copy()
    if "skewed" in plant:
        side = np.where(np.arange(scenario.judges) % 2, 1.0, -1.0)
        scores += plant["skewed"] * side * (rng.exponential(1.0, scores.shape) - 1)
    if "failed" in plant:  # of scores around 50, so that a failed call is far below
        share = np.broadcast_to(plant["failed"], scenario.judges)
        better = plant.get("better", 0.0)  # what judges are better by as long as no call fails
        scores = np.where(rng.random(scores.shape) < share, 0.0, scores + better)
        cells = (50 + cells + better) * (1 - share)
    if "holes" in plant:
        scores = _holes(rng, scores, *plant["holes"])
    if scenario.plant:
        panel = Panel.from_array(scores, panel.tasks, panel.languages, panel.judges)
    return panel, truth, cells


def _holes(
    rng: np.random.Generator, scores: Array, language: int | None, judge: int, share: float, blind: float
) -> Array:
    """Scores without some of one judge, in a language or in all: the lowest `share` of each cell, or with `blind` 1
    as many at random. One in seven of them is there nevertheless."""
    out = scores.copy()
    for at in range(scores.shape[1]) if language is None else (language,):
        column = rng.random(len(scores)) if blind else scores[:, at, judge]
        low = column <= np.quantile(column, share)
        out[low & (rng.random(len(scores)) < 6 / 7), at, judge] = np.nan
    return out
