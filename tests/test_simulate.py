"""Simulated panels hold what was planted."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import polyjudge as pj
from common import Run
from polyjudge.base.errors import UsageError
from polyjudge.sample_texts import NOT_IN_ENGLISH, answer
from polyjudge.simulate import LANGUAGES, sample, sample_frame, sample_labels, sample_next_week


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


# --- the sample: its files close the loop that the tutorial tells ---


def test_the_sample_is_written_whole_or_not_at_all(cli: Run, tmp_path: Path) -> None:
    assert cli("demo", "--files", tmp_path / "sample").returncode == 0
    assert sorted(path.name for path in (tmp_path / "sample").iterdir()) == [
        "labels.csv",
        "next_week.csv",
        "scores.csv",
    ]
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "next_week.csv").write_text("mine")
    assert cli("demo", "--files", tmp_path / "half").returncode == 2
    assert [path.name for path in (tmp_path / "half").iterdir()] == ["next_week.csv"]


def test_reading_the_cell_that_is_off_shows_why() -> None:
    frame = sample_frame()
    is_off = (frame["judge"] == "Aster") & (frame["language"] == "Spanish")
    assert set(frame.loc[is_off, "reason"]) == {NOT_IN_ENGLISH}
    assert NOT_IN_ENGLISH not in set(frame.loc[~is_off, "reason"])


def test_answers_are_in_their_language_and_as_long_whether_right_or_wrong() -> None:
    for task in range(60):
        for language in LANGUAGES:
            right, wrong = (answer(task, language, is_right) for is_right in (True, False))
            assert right != wrong
            assert abs(len(right) - len(wrong)) <= 1
            assert (re.search("[ऀ-ॿ]", right) is not None) == (language == "Hindi")
            assert (re.search("[぀-ヿ]", right) is not None) == (language == "Japanese")
    frame = sample_frame()
    lengths = frame.groupby("system")["response"].agg(lambda texts: texts.str.len().mean())
    assert lengths.max() / lengths.min() < 1.02


def test_labels_and_next_week_tell_the_planted_truth() -> None:
    planted = sample()
    people = pj.humans(pj.sample_panel(), sample_labels())
    board = people.board[people.board["language"] == "all"].set_index("system")
    truth = dict(zip(planted.panel.systems, planted.answers.mean((0, 2)), strict=True))
    assert all(board.loc[system, "low"] <= value <= board.loc[system, "high"] for system, value in truth.items())
    changed = pj.drift(pj.sample_panel(), sample_next_week()).cells
    named = changed[changed["changed"].astype(bool)]
    assert list(zip(named["language"], named["judge"], strict=True)) == [("German", "Ember")]
