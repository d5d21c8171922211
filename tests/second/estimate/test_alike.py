"""How far criteria say the same thing, on panels whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

import polyjudge.second as pj
from polyjudge.second.estimate.alike import alike


def two(correlation: float, seed: int, tasks: int = 80, halo: float = 0.0, judges: int = 3) -> dict[str, pj.Panel]:
    """Two criteria of the same answers whose true values correlate so; each judge adds noise, and a halo to both."""
    rng = np.random.default_rng(seed)
    shape = (tasks, 4, 2)
    one, other = rng.normal(0, 5, (2, *shape))
    true = (one, correlation * one + np.sqrt(1 - correlation**2) * other)
    mood = rng.normal(0, halo, (*shape, judges))
    out = {}
    for name, value in zip(("a", "b"), true, strict=True):
        scores = 50 + value[..., None] + mood + rng.normal(0, 8, (*shape, judges))
        out[name] = pj.Panel.from_array(scores, systems=[f"s{i}" for i in range(4)])
    return out


@pytest.mark.statistical
@pytest.mark.parametrize(("truth", "halo"), [(0.0, 0.0), (0.6, 0.0), (0.6, 6.0), (0.95, 0.0)])
def test_the_interval_holds_the_truth_whatever_a_judge_adds_to_both(truth: float, halo: float) -> None:
    rows = [alike(two(truth, seed, halo=halo), resamples=200).iloc[0] for seed in range(60)]
    held = np.mean([row["low"] <= truth <= row["high"] for row in rows])
    assert held >= 0.86  # 95% less three Monte Carlo errors
    assert abs(np.mean([row["correlation"] for row in rows]) - truth) < 0.06


def test_plain_correlation_would_be_wrong() -> None:
    """The halo of single judges alone makes two unrelated criteria look alike."""
    panels = two(0.0, 1, tasks=400, halo=10.0)
    a, b = (p.system_scores.mean(axis=-1) for p in panels.values())
    plain = np.corrcoef((a - a.mean(axis=1, keepdims=True)).ravel(), (b - b.mean(axis=1, keepdims=True)).ravel())[0, 1]
    assert plain > 0.3
    assert abs(alike(panels)["correlation"].iloc[0]) < 0.2


def test_one_judge_and_no_systems() -> None:
    assert alike(two(0.9, 2, judges=1))["correlation"].notna().all()
    panels = {n: pj.Panel.from_array(p.scores) for n, p in two(0.9, 2).items()}
    row = alike(panels).iloc[0]
    assert row["low"] <= row["correlation"] <= row["high"]
