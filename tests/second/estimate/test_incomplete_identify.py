"""Panels that cannot be estimated, wholly or in part: the right words, and no number."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import linalg

import polyjudge.second as pj
from polyjudge.second.estimate import designs
from polyjudge.second.estimate.identify import identified_design, identified_part, settle_incomplete
from polyjudge.second.estimate.incomplete import estimate_interaction
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.errors import UsageError
from refusals import lacks, refused

LANGUAGES, JUDGES = ("English", "German", "Swahili", "Hindi"), ("Ada", "Bob", "Cleo", "Dan")


def holed(mask: Array, seed: int = 0) -> pj.Panel:
    """A panel that has scores where `mask` (n, 4, 4) is true."""
    panel, _ = pj.simulate_panel(len(mask), LANGUAGES, JUDGES, seed=seed)
    return pj.Panel(np.where(mask, panel.scores, np.nan), panel.tasks, LANGUAGES, JUDGES)


def full(n: int = 20) -> Array:
    return np.ones((n, 4, 4), bool)


def refuse(panel: pj.Panel) -> str:
    with pytest.raises(pj.PanelError) as caught:
        pj.ConsensusCalibrator().fit(panel)
    return str(caught.value)


def test_a_language_with_one_judge_is_named_and_left_out() -> None:
    mask = full()
    mask[:, 2, 1:] = False
    panel = holed(mask)
    assert not lacks(refuse(panel), "Swahili", "one", "Ada")
    part = identified_part(panel)
    assert part.languages == ("English", "German", "Hindi")
    assert part.judges == JUDGES
    assert ("identify.lonely", "Swahili") in [(n.code, n.values.get("label")) for n in part.notes]
    expected = pj.ConsensusCalibrator().fit(panel.select(languages=part.languages)).interaction_
    np.testing.assert_array_equal(pj.ConsensusCalibrator().fit(part).interaction_, expected)


def test_a_judge_with_one_language() -> None:
    mask = full()
    mask[:, 1:, 3] = False
    panel = holed(mask)
    assert not lacks(refuse(panel), "Dan", "one", "English")
    assert identified_part(panel).judges == ("Ada", "Bob", "Cleo")


def test_a_refused_language() -> None:
    """Bob never scores Hindi: the one that costs fewer scores is left out."""
    mask = full()
    mask[:, 3, 1] = False
    mask[:12, 3, 2] = False
    panel = holed(mask)
    assert not lacks(refuse(panel), "Bob", "no", "Hindi")
    part = identified_part(panel)
    assert part.languages == LANGUAGES[:3]
    assert part.judges == JUDGES
    assert (part.notes[0].code, part.notes[0].values["label"]) == ("identify.hole", "Hindi")


def test_two_blocks_that_share_nothing() -> None:
    mask = np.zeros((20, 4, 4), bool)
    mask[:, :2, :2] = True
    mask[:, 2:, 2:] = True
    with pytest.raises(pj.PanelError) as settled:
        settle_incomplete(holed(mask))
    for message in (refuse(holed(mask)), str(settled.value)):
        assert not lacks(message, 2, "language", "judge", "task")
        assert re.search("English and German .* Ada and Bob.* Swahili and Hindi .* Cleo and Dan", message)


def test_parts_and_a_lonely_language_together() -> None:
    mask = full()
    mask[:, 3, 1:] = False
    mask[:10, :1] = False
    mask[10:, 1:3] = False
    panel = holed(mask)
    assert not lacks(refuse(panel), "Hindi", "one")
    assert identified_part(panel).languages == ("English", "German", "Swahili")


def test_languages_on_different_tasks_are_joined_by_their_judges() -> None:
    mask = full()
    mask[:10, 2:] = False
    mask[10:, :2] = False
    panel = holed(mask)
    assert identified_design(panel) == "answers"
    assert settle_incomplete(panel) is panel  # nothing is missing
    mask[0, 0, 1] = mask[12, 2, 3] = False
    note = settle_incomplete(holed(mask)).notes[-1]
    assert note.values == {"missing": 2, "entries": 160, "share": 2 / 160, "design": "answers"}
    with refused(pj.PanelError, 2, 160, "Swahili x Dan", 1, 10):
        pj.read_panel(holed(mask).to_long(), incomplete="error")
    assert pj.read_panel(holed(mask).to_long(), incomplete="drop").shape == (18, 4, 4)
    assert pj.read_panel(panel.to_long(), incomplete="error").shape == panel.shape


def test_judges_that_share_no_answers_in_one_language() -> None:
    """Of Swahili two judges scored other tasks than the two others: they cannot be compared there."""
    mask = np.zeros((40, 4, 4), bool)
    for language in range(4):
        mask[10 * language : 10 * language + 10, language] = True
    mask[20:25, 2, :2] = mask[25:30, 2, 2:] = False
    part = identified_part(holed(mask))
    assert part.languages == ("English", "German", "Hindi")
    assert (part.notes[0].code, part.notes[0].values["label"]) == ("identify.apart", "Swahili")
    mask[:5, 0, :2] = mask[5:10, 0, 2:] = mask[10:15, 1, :2] = mask[15:20, 1, 2:] = False
    mask[30:35, 3, :2] = mask[35:40, 3, 2:] = False
    assert re.search("8 parts", refuse(holed(mask)))


def test_judges_on_different_tasks_are_parts() -> None:
    mask = full()
    mask[:10, :, 2:] = False
    mask[10:, :, :2] = False
    assert re.search("all languages .* Ada and Bob.* all languages .* Cleo and Dan", refuse(holed(mask)))


def test_one_language_on_tasks_of_its_own_by_judges_that_take_turns_is_left_out() -> None:
    mask = full(22)
    mask[:14, 2] = False
    mask[14:] = False
    mask[np.arange(14, 22), 2, np.arange(8) % 4] = True
    part = identified_part(holed(mask))
    assert part.languages == ("English", "German", "Hindi")
    assert len(part.tasks) == 14
    assert (part.notes[0].code, part.notes[0].values["label"]) == ("identify.apart", "Swahili")


def test_nothing_left() -> None:
    mask = np.zeros((20, 4, 4), bool)
    mask[:, np.arange(4), np.arange(4)] = True
    assert not lacks(refuse(holed(mask)), "no interaction", "one judge")


def test_every_task_in_one_language_by_one_judge() -> None:
    mask = np.zeros((32, 4, 4), bool)
    t = np.arange(32)
    mask[t, t % 4, (t // 4) % 4] = True
    assert not lacks(refuse(holed(mask)), "parts", "task")


def test_rotating_judges_fall_back_to_task_and_cell_effects() -> None:
    """Each task has one judge per language: no 2 x 2 comparison within a task, but a chain of tasks joins all cells."""
    mask = np.zeros((48, 4, 4), bool)
    for t in range(48):
        mask[t, np.arange(4), np.random.default_rng(t).permutation(4)] = True
    panel = holed(mask)
    assert identified_design(panel) == "additive"
    estimate = estimate_interaction(panel)
    assert estimate.design == "additive"
    assert settle_incomplete(panel).notes[-1].values["design"] == "additive"


def test_the_three_ways() -> None:
    mask = full()
    mask[0, 0, 0] = mask[3, 1, 1] = False
    panel = holed(mask)
    kept = settle_incomplete(panel)
    assert kept.shape == panel.shape
    assert (kept.notes[-1].values["missing"], kept.notes[-1].values["entries"]) == (2, 320)
    assert settle_incomplete(kept).notes == kept.notes
    rows = panel.to_long()
    dropped = pj.read_panel(rows, incomplete="drop")
    assert dropped.shape == (18, 4, 4)
    assert (dropped.notes[-1].values["count"], dropped.notes[-1].values["tasks"]) == (2, 20)
    with refused(pj.PanelError, "English x Ada", 1, 20, "German x Bob"):
        pj.read_panel(rows, incomplete="error")
    with refused(UsageError, "incomplete", "ignore", "estimate"):
        pj.read_panel(rows, incomplete="ignore")  # type: ignore[arg-type]
    complete = holed(full())
    assert settle_incomplete(complete) is complete


def test_dropping_everything_is_an_error() -> None:
    mask = full(6)
    mask[np.arange(6), np.arange(6) % 4, 0] = False
    with refused(pj.PanelError, 0, 6, "--incomplete estimate"):
        pj.read_panel(holed(mask).to_long(), incomplete="drop")


def test_hostile_labels_are_shown_as_text() -> None:
    mask = full()
    mask[:, 2, 1:] = False
    panel, _ = pj.simulate_panel(20, LANGUAGES, JUDGES)
    evil = pj.Panel(np.where(mask, panel.scores, np.nan), panel.tasks, ("a", "b", "c\x1b[31m\n", "d"), JUDGES)
    assert "\x1b" not in refuse(evil)
    assert "\x1b" not in str(identified_part(evil).notes[0])


@pytest.mark.parametrize("n", [2, 3, 7])
def test_contrasts_are_those_of_helmert(n: int) -> None:
    np.testing.assert_array_equal(designs.helmert(n), linalg.helmert(n))
