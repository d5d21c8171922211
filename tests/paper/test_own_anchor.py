"""Agreement with people before and after calibrating, on an own panel: what changes, and what only ties make."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from polyjudge import cbc
from polyjudge.base.errors import PanelError
from polyjudge.panel import Panel
from polyjudge.paper.own_anchor import PANEL_MEAN, anchor_sentences, compare_with_people
from polyjudge.paper.tables import report


def margins(n: int = 200, k: int = 4, m: int = 5, beta: float = 1.0, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    truth = rng.choice([-1.0, 1.0], size=(n, k))
    interaction = beta * cbc.double_centre(rng.normal(size=(k, m)))
    return truth, 0.8 * truth[..., None] + interaction + rng.normal(size=(n, k, m))


def labelled(scores: Any, truth: Any, **more: Any) -> Panel:
    panel = Panel.from_array(scores, scale=(-4.0, 4.0), **more)
    rows = [
        {"task": panel.tasks[t], "language": panel.languages[x], "label": float(truth[t, x] > 0)}
        for t in range(len(truth))
        for x in range(truth.shape[1])
    ]
    return Panel.from_array(scores, scale=(-4.0, 4.0), human=pd.DataFrame(rows), **more)


def test_agreement_by_hand() -> None:
    truth, scores = margins()
    table = compare_with_people(labelled(scores, truth), cbc.interaction(scores), None, 8e-9).set_index("who")
    for judge in range(5):
        row = table.loc[f"J{judge + 1}"]
        before = (np.sign(scores[..., judge]) == truth).mean()
        after = (np.sign(cbc.calibrate(scores)[..., judge]) == truth).mean()
        assert (row["agree_raw"], row["agree_calibrated"]) == pytest.approx((before, after))
        assert row["gain"] == pytest.approx(after - before)
        assert row["gain_low"] < row["gain"] < row["gain_high"]
    assert table["gain"].iloc[1:].max() > 0.02  # a planted interaction that calibrating takes off
    assert table.loc[PANEL_MEAN, "gain"] == 0  # I1


def test_gain_that_comes_from_ties_alone_is_said() -> None:
    """All people say pass; half of the scores stand at the mark, and beta^ tips them."""
    rng = np.random.default_rng(1)
    scores = rng.choice([0.0, 0.0, 1.0], size=(100, 3, 4))
    panel = labelled(scores, np.ones((100, 3)))
    assert panel.human is not None
    assert set(panel.human["label"]) == {1.0}
    table = compare_with_people(panel, cbc.interaction(scores), None, 8e-9)
    judges = table.iloc[1:]
    assert (judges["ties"] == [(scores[..., judge] == 0).sum() for judge in range(4)]).all()
    assert judges["ties_decided"].sum() == judges["ties"].sum()
    assert judges["gain"].abs().max() > 0.2
    np.testing.assert_array_equal(judges["gain_without_ties"], 0.0)
    said = anchor_sentences(table)
    assert f"decided {judges['ties'].sum():,} of {judges['ties'].sum():,} scores at the pass mark by chance" in said


def test_scores_on_a_mark_that_passes_are_counted_too() -> None:
    """By ">=4" a 4 passes, and calibrating takes a little from it: that is no loss of agreement, it is the mark."""
    scores = np.random.default_rng(2).choice([3.0, 4.0, 4.0, 5.0], size=(100, 3, 4))
    panel = labelled(scores, np.ones((100, 3)))
    table = compare_with_people(panel, cbc.interaction(scores), (4.0, ">="), 8e-9)
    judges = table.iloc[1:]
    assert (judges["agree_raw"] == [(scores[..., judge] >= 4).mean() for judge in range(4)]).all()
    assert (judges["ties"] == [(scores[..., judge] == 4).sum() for judge in range(4)]).all()
    assert judges["gain"].min() < -0.1
    np.testing.assert_array_equal(judges["gain_without_ties"], 0.0)
    assert "at the pass mark by chance" in anchor_sentences(table)
    assert table.loc[0, "gain"] == 0
    graded = panel.human
    assert graded is not None
    labels = np.array([3.0, 4.0] * 150)
    with_grades = Panel.from_array(scores, scale=(-4.0, 5.0), human=graded.assign(label=labels))
    row = compare_with_people(with_grades, np.zeros((3, 4)), (4.0, ">="), 8e-9).iloc[1]
    assert row["agree_raw"] == ((scores[..., 0] >= 4).ravel() == (labels >= 4)).mean()


def test_the_interval_counts_tasks_not_answers() -> None:
    """Every language of a task says the same: four times the answers tell no more."""
    truth, scores = margins(n=60, k=1, m=3, beta=0.0)
    repeated, same_truth = np.repeat(scores, 4, axis=1), np.repeat(truth, 4, axis=1)
    shift = np.array([[0.4, -0.4, 0.0]])
    one = compare_with_people(labelled(scores, truth), shift, None, 8e-9)
    four = compare_with_people(labelled(repeated, same_truth), np.repeat(shift, 4, axis=0), None, 8e-9)
    assert four["answers"].tolist() == (4 * one["answers"]).tolist()
    np.testing.assert_allclose(four[["gain_low", "gain_high"]], one[["gain_low", "gain_high"]], atol=1e-12)


def test_what_is_missing_is_said() -> None:
    truth, scores = margins(n=20)
    with pytest.raises(PanelError, match="needs people's labels"):
        compare_with_people(Panel.from_array(scores, scale=(-4.0, 4.0)), cbc.interaction(scores), None, 1e-9)
    with pytest.raises(PanelError, match="pass mark"):
        compare_with_people(Panel.from_array(scores + 50, scale=(0.0, 100.0)), cbc.interaction(scores), None, 1e-9)
    stranger = labelled(scores, truth)
    human = stranger.human
    assert human is not None
    elsewhere = Panel.from_array(scores, scale=(-4.0, 4.0), human=human.assign(task="nowhere"))
    with pytest.raises(PanelError, match="no tasks of these scores"):
        compare_with_people(elsewhere, cbc.interaction(scores), None, 1e-9)


def test_the_report_has_it() -> None:
    truth, scores = margins(n=60)
    found = report(labelled(scores, truth), replicates=100)
    assert found.frames["anchor"]["who"].tolist()[0] == PANEL_MEAN
    people = next(finding.text for finding in found.findings if finding.key == "anchor")
    assert people.startswith("The mean of the judges agrees with people on")
    assert "calibrated or not" in people
