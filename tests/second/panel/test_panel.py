"""Panel: validation, selection, slices, long form and text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.panel import Grouping
from polyjudge.second.panel.scale import scale_of
from refusals import refused


@pytest.fixture
def panel() -> pj.Panel:
    return pj.simulate_panel(6, ("en", "sw"), ("a", "b", "c"), replicates=2, seed=3)[0]


def test_means_over_replicates(panel: pj.Panel) -> None:
    assert panel.replicate_scores is not None
    np.testing.assert_allclose(panel.scores, panel.replicate_scores.mean(axis=3))
    assert panel.n_scores == 6 * 2 * 3 * 2
    assert panel.n_tasks == 6


def test_arrays_cannot_be_changed(panel: pj.Panel) -> None:
    with pytest.raises(ValueError, match="read-only"):
        panel.scores[0, 0, 0] = 1.0


def test_missing_replicates_are_left_out_of_the_mean() -> None:
    array = np.arange(16.0).reshape(2, 2, 2, 2)
    array[0, 0, 0, 1] = np.nan
    array[1, 1, 1] = np.nan
    panel = pj.Panel.from_array(array)
    assert panel.scores[0, 0, 0] == 0.0
    assert np.isnan(panel.scores[1, 1, 1])
    assert panel.counts[0, 0, 0] == 1
    assert panel.counts[1, 1, 1] == 0
    assert not panel.complete


def test_select_by_label_and_order(panel: pj.Panel) -> None:
    part = panel.select(judges=["c", "a"], tasks=panel.tasks[2:4], replicates=["replicate2"])
    assert part.shape == (2, 2, 2)
    assert panel.replicate_scores is not None
    np.testing.assert_array_equal(part.scores[:, :, 0], panel.replicate_scores[2:4, :, 2, 1])
    with refused(pj.PanelError, "judge z", "a, b, c"):
        panel.select(judges=["a", "z"])
    assert panel.select(languages="en").languages == ("en",)


def test_long_form_and_back(panel: pj.Panel) -> None:
    again = pj.read_panel(panel.to_long())
    assert again.tasks == panel.tasks
    assert again.replicates == panel.replicates
    np.testing.assert_array_equal(again.replicate_scores, panel.replicate_scores)
    assert again.fingerprint == panel.fingerprint


def test_fingerprint_tells_panels_apart(panel: pj.Panel) -> None:
    assert panel.fingerprint == panel.select().fingerprint
    assert panel.fingerprint != panel.select(judges=["b", "a", "c"]).fingerprint


def test_slices_of_tasks_and_of_rows_inside_tasks(panel: pj.Panel) -> None:
    strata = Grouping("subset", ("easy", "hard"), np.array([0, 1, 0, 1, 1, 0]))
    grouped = pj.Panel(panel.scores, panel.tasks, panel.languages, panel.judges, grouping=strata)
    assert grouped.slice("easy").tasks == tuple(np.array(panel.tasks)[[0, 2, 5]])
    kept = grouped.select(tasks=[panel.tasks[i] for i in (0, 2)]).grouping
    assert kept is not None
    assert kept.labels == ("easy",)
    with refused(pj.PanelError, "--group"):
        panel.slice("easy")
    with refused(pj.PanelError, "odd", "easy, hard"):
        grouped.slice("odd")

    scores = np.stack([panel.scores, panel.scores + 1])
    counts = np.ones(scores.shape, int)
    scores[1, 4:], counts[1, 4:] = np.nan, 0
    types = Grouping("type", ("operational", "semantic"), None, scores, counts)
    inside = pj.Panel(panel.scores, panel.tasks, panel.languages, panel.judges, grouping=types)
    assert inside.slice("semantic").tasks == panel.tasks[:4]
    np.testing.assert_allclose(inside.slice("semantic").scores, panel.scores[:4] + 1)


def test_incomplete_coverage_is_shown_as_a_table() -> None:
    scores = np.ones((5, 2, 2))
    scores[1:, 1, 0] = np.nan
    panel = pj.Panel.from_array(scores, languages=("en", "sw"), judges=("a", "b"))
    with refused(pj.PanelError, "ranks", "sw x a", 4, 5):
        panel.require_complete("ranks")
    assert panel.missing().to_dict("records")[0]["share"] == pytest.approx(0.8)


def test_too_small() -> None:
    with refused(pj.PanelError, "task", 2, 1, "task1"):
        pj.Panel.from_array(np.zeros((1, 2, 2)))


@pytest.mark.parametrize(("shape", "axis"), [((3, 1, 2), "language"), ((3, 2, 1), "judge")])
def test_one_language_or_one_judge_is_a_panel(shape: tuple[int, int, int], axis: str) -> None:
    panel = pj.Panel.from_array(np.arange(6.0).reshape(shape))
    assert panel.shape == shape
    assert pj.read_panel(panel.to_long()).fingerprint == panel.fingerprint
    with refused(pj.PanelError, axis, 2, 1, f"{axis}1"):
        panel.require_crossed()


def test_languages_with_items_of_their_own() -> None:
    """They share no task; nothing is lost, and what they do share is counted."""
    scores = np.full((6, 2, 2), np.nan)
    scores[:4, 0], scores[4:, 1] = 1.0, 2.0
    panel = pj.Panel.from_array(scores)
    assert panel.apart
    assert panel.shared.tolist() == [[4, 0], [0, 2]]
    assert panel.lost.sum() == 0
    assert panel.asked.tolist() == [[4, 4], [2, 2]]
    scores[0, 1] = 3.0
    joined = pj.Panel.from_array(scores)
    assert not joined.apart
    assert joined.shared.tolist() == [[4, 1], [1, 3]]
    assert joined.lost.tolist() == [[2, 2], [3, 3]]


def test_cells_that_are_missing_by_design() -> None:
    """They are neither scored nor lost, whatever is fitted there, and the scale does not see them."""
    scores = np.random.default_rng(1).integers(1, 6, (8, 2, 3)).astype(float)
    panel = pj.Panel.from_array(scores)
    absent = np.zeros((2, 3), bool)
    absent[1, 2] = True
    fitted = scores.copy()
    fitted[:, 1, 2] = 9.75
    part = replace(panel, scores=fitted, absent=absent, observed_range=None)
    assert part.n_scores == 40
    assert part.lost.sum() == 0
    assert part.asked.sum() == 40
    assert part.complete
    assert part.observed_range[1] <= 5
    assert scale_of(part).kind == "likert"
    assert len(part.to_long()) == 40
    assert part.select(judges=["judge1", "judge2"]).n_scores == 32
    with refused(pj.PanelError, "absent"):
        replace(panel, absent=np.ones((2, 3), bool))


def test_refuses_infinity_repeated_labels_and_bad_shapes() -> None:
    with refused(pj.PanelError, "infinite"):
        pj.Panel.from_array(np.array([[[1, np.inf], [1, 2]], [[1, 2], [1, 2]]]))
    with refused(pj.PanelError, "judge", "a", "twice"):
        pj.Panel.from_array(np.zeros((2, 2, 2)), judges=("a", "a"))
    with refused(pj.PanelError, 2, "axes"):
        pj.Panel.from_array(np.zeros((2, 2)))
    with refused(pj.PanelError, "no score"):
        pj.Panel.from_array(np.full((2, 2, 2), np.nan))
    with refused(pj.PanelError, "weights"):
        pj.Panel.from_array(np.zeros((2, 2, 2)), weights=np.array([1.0, 0.0]))


def test_summary_is_small_and_safe(panel: pj.Panel) -> None:
    assert "6 tasks x 2 languages x 3 judges x 2 replicates" in repr(panel)
    hostile = pj.Panel.from_array(np.zeros((2, 2, 2)), judges=("\x1b[31mred", "\u202eabc" + "x" * 200))
    assert "\x1b" not in repr(hostile)
    assert "\u202e" not in repr(hostile)
    assert hostile.judges[1].endswith("x" * 200)


def test_clean_keeps_scripts_and_emoji() -> None:
    assert clean("العربية") == "العربية"
    assert clean("判断 🙂") == "判断 🙂"
    assert clean("a\nb\x00") == "a\\nb\\x00"


def test_weights_reach_the_means() -> None:
    scores = np.zeros((2, 2, 2))
    scores[1] = 3.0
    panel = pj.Panel.from_array(scores, weights=np.array([1.0, 2.0]))
    np.testing.assert_allclose(panel.cell_means, 2.0)
    assert isinstance(panel.matrix(panel.cell_means), pd.DataFrame)


def test_rows_of_a_unit_are_those_of_all_its_tasks() -> None:
    """A unit of three tasks with two replicates each has six rows, which least squares over holes must count."""
    scores = np.random.default_rng(0).normal(50, 10, (12, 3, 3, 2))
    scores[0, 0, 0] = scores[5, 1, 2] = np.nan
    weights = np.arange(12) % 4 + 1
    heavy = pj.Panel.from_array(scores, weights=weights.astype(float))
    repeated = pj.Panel.from_array(np.repeat(scores, weights, axis=0))
    assert heavy.n_scores == repeated.n_scores
    np.testing.assert_allclose(
        pj.ConsensusCalibrator().fit(heavy).interaction_, pj.ConsensusCalibrator().fit(repeated).interaction_, atol=1e-9
    )
