"""Single labels: as annotators type them, as tables hold them, and several of one annotator."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from polyjudge.answers.humans.returned import label_value
from polyjudge.base.errors import PanelError
from polyjudge.calibrate.labelled import labelled
from polyjudge.panel import Panel
from polyjudge.read.labels import labels_of

SLIDER = {"kind": "slider", "low": 0, "high": 100, "to": [1.0, 5.0]}
LEVELS = {"kind": "levels", "values": [1, 1.5, 2]}


@pytest.mark.parametrize(("typed", "value"), [("50", 3.0), ("12,5", 1.5), ("12.5", 1.5), ("0", 1.0), ("100", 5.0)])
def test_a_sliders_number_lies_on_the_scale_of_the_scores(typed: str, value: float) -> None:
    assert label_value(typed, SLIDER) == value


@pytest.mark.parametrize("typed", ["-1", "-0.5", "101", "100,5", "many", ""])
def test_a_slider_ends_at_its_ends(typed: str) -> None:
    assert label_value(typed, SLIDER) is None


def test_levels_take_a_decimal_comma() -> None:
    assert label_value("1,5", LEVELS) == 1.5
    assert label_value("1,6", LEVELS) is None


@pytest.mark.parametrize("empty", ["n/a", "N/A", "nan", "None", "null", "", " "])
def test_an_empty_label_is_no_label(empty: str, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(f"task,label\nt1,4\nt2,{empty}\nt3,2\n")
    assert labels_of(path)["task"].tolist() == ["t1", "t3"]


def test_a_word_is_no_number(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("task,label\nt1,4\nt2,soso\n")
    with pytest.raises(PanelError, match="soso"):
        labels_of(path)


def test_looks_of_one_annotator_count_as_one_opinion() -> None:
    """Ann looked three times at t1, Ben once: the mean is of two people, not of four looks, and never a sum."""
    panel = Panel.from_array(np.arange(6.0).reshape(2, 1, 3), scale=(0.0, 100.0))
    table = pd.DataFrame(
        {
            "task": ["t1", "t1", "t1", "t1", "t2"],
            "annotator": [*["Ann"] * 3, "Ben", "Ben"],
            "label": [10, 20, 30, 60, 5],
        }
    )
    people = labelled(panel, table)
    assert people.y.ravel().tolist() == [40.0, 5.0]


def test_json_of_a_page_is_told_from_other_json(tmp_path: Path) -> None:
    from polyjudge.answers.humans.returned import _records

    path = tmp_path / "x.json"
    path.write_text(json.dumps({"answers": {"a": 1}}))
    with pytest.raises(ValueError, match="not a file that the page saved"):
        _records(path)


def test_labels_of_one_alone_are_passes_beside_margins() -> None:
    """Where the sign of a score decides, "all pass" is a label as any other; on a scale from 1 to 5 a 1 is a grade."""
    scores = np.random.default_rng(0).normal(size=(20, 2, 3)).clip(-2, 2)
    ones = pd.DataFrame(
        {"task": [f"t{i}" for i in range(1, 21)] * 2, "language": ["l1"] * 20 + ["l2"] * 20, "label": 1}
    )
    assert labelled(Panel.from_array(scores, scale=(-2.0, 2.0)), ones).two_valued
    assert not labelled(Panel.from_array(scores + 3, scale=(1.0, 5.0)), ones).two_valued
