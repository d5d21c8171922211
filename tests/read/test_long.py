"""From rows to a panel: one rule for the scale, and panels that can be pickled with what belongs to them."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from polyjudge import Panel, read_panel, sample_panel


def copied(panel: Panel) -> Panel:
    again: Panel = pickle.loads(pickle.dumps(panel))  # noqa: S301 our own
    return again


@pytest.mark.parametrize("levels", [(0, 1), (3, 4), (0, 100), (0.2, 0.9), (1, 5), (13, 100), (2, 3, 5)])
def test_the_same_scores_have_the_same_scale_however_they_come(levels: tuple[float, ...]) -> None:
    scores = np.random.default_rng(0).permutation(np.resize(levels, 60)).reshape(15, 2, 2).astype(float)
    frame = Panel.from_array(scores, languages=("en", "de"), judges=("a", "b")).to_frame()
    panels = [Panel.from_array(scores), Panel.from_frame(frame), read_panel(frame)]
    assert len({(panel.scale, panel.two_valued) for panel in panels}) == 1
    assert panels[0].two_valued == (levels in ((0, 1), (0, 100)))


def test_a_panel_is_pickled_with_its_texts(tmp_path: Path) -> None:
    sample = sample_panel()
    assert sample.texts is not None
    frame = sample.texts(sample.tasks)
    frame.to_csv(tmp_path / "scores.csv", index=False)
    for panel in (sample, read_panel(frame), read_panel(tmp_path / "scores.csv"), read_panel(frame, items=frame)):
        again = copied(panel)
        assert np.array_equal(again.scores, panel.scores)
        assert panel.texts is not None
        assert again.texts is not None
        pd.testing.assert_frame_equal(again.texts(["t3"]), panel.texts(["t3"]))


def test_a_panel_of_hashed_units_counts_what_passes_after_pickling(tmp_path: Path) -> None:
    tasks = 100_001
    draws = np.random.default_rng(0).integers(0, 101, 2 * tasks)
    frame = pd.DataFrame({"task": np.repeat(np.arange(tasks), 2), "judge": ["a", "b"] * tasks, "score": draws})
    frame.to_parquet(tmp_path / "scores.parquet")
    for panel in (read_panel(frame), read_panel(tmp_path / "scores.parquet")):
        passing = panel.select(judges=["b"]).passes(50).scores
        assert np.nanmean(passing) == pytest.approx((draws[1::2] > 50).mean(), abs=0.01)
        again = copied(copied(panel).select(judges=["b"]))
        np.testing.assert_array_equal(again.passes(50).scores, passing)
