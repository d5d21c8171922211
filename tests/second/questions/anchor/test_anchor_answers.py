"""Labels of single answers."""

from __future__ import annotations

import pytest

import polyjudge.second as pj


def test_labels_may_speak_of_one_systems_answer() -> None:
    panel, _ = pj.simulate_panel(40, 2, 3, systems=3, seed=1, system_sd=[15.0, 0, -15])
    long = panel.to_long()
    gold = long.groupby(["task", "system", "language"], as_index=False)["score"].mean()
    found = pj.anchor(panel, gold, resamples=50)
    row = found.table[found.table["decision"] == "panel mean"].iloc[0]
    assert row["raw"] == pytest.approx(0, abs=1e-9)
    assert found.labels.sum() == 40 * 3 * 2
    by_task = pj.anchor(panel, gold.groupby(["task", "language"], as_index=False)["score"].mean(), resamples=50)
    assert by_task.labels.sum() == 40 * 2
