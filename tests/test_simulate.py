"""Simulated panels hold what was planted."""

from __future__ import annotations

import numpy as np
import pytest

import polyjudge as pj
from polyjudge.base.errors import UsageError
from polyjudge.simulate import sample, sample_frame


def test_the_mean_of_many_tasks_is_what_was_planted() -> None:
    made = pj.simulate_panel(tasks=4000, systems=(70.0, 60.0), languages=3, judges=3, cells={(1, 2): 9.0}, seed=3)
    means = made.panel.scores.mean((0, 1))
    found = means - means.mean(0) - means.mean(1, keepdims=True) + means.mean()
    assert np.allclose(found, made.interaction, atol=0.35)
    assert found[1, 2] == pytest.approx(9 * 4 / 9, abs=0.8)
    gap = np.subtract(*made.panel.scores.mean((0, 2, 3)))
    assert gap == pytest.approx(10, abs=0.6)


def test_same_seed_same_panel_and_another_seed_another() -> None:
    one, two, other = (pj.simulate_panel(tasks=5, seed=s).panel.scores for s in (1, 1, 2))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


def test_levels_missing_and_sizes() -> None:
    made = pj.simulate_panel(tasks=50, systems=3, languages=1, judges=2, levels=(1, 2, 3, 4, 5), missing=0.2)
    seen = made.panel.scores[np.isfinite(made.panel.scores)]
    assert set(np.unique(seen)) <= {1, 2, 3, 4, 5}
    assert made.panel.scale == (1, 5)
    assert 0.1 < np.isnan(made.panel.scores).mean() < 0.3
    assert made.panel.languages == ("English",)
    with pytest.raises(UsageError):
        pj.simulate_panel(tasks=0)


def test_the_sample_is_what_its_file_says() -> None:
    frame, panel = sample_frame(), sample().panel
    again = pj.Panel.from_frame(frame[["task", "system", "language", "judge", "score"]])
    assert again.tasks == panel.tasks
    assert np.array_equal(again.scores, panel.scores)
    assert {"prompt", "response", "reason"} <= set(frame)
    assert pj.sample_panel().texts(["t1"])["task"].eq("t1").all()
