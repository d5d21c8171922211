"""Scales are recognised from the scores, and declared ones are believed."""

from __future__ import annotations

import numpy as np
import pytest

import polyjudge.second as pj
from polyjudge.second.panel.scale import Scale, scale_of
from polyjudge.second.questions.audit.matters import what_matters


def panel(values: list[float], **more: object) -> pj.Panel:
    rng = np.random.default_rng(1)
    return pj.Panel.from_array(rng.choice(values, (40, 3, 3)), **more)


@pytest.mark.parametrize(
    ("values", "kind", "ends", "factor"),
    [
        ([0, 1], "binary", (0, 1), 100),
        ([0, 100], "binary", (0, 100), 1),
        ([1, 2, 3, 4, 5], "likert", (1, 5), 1),
        (list(range(11)), "likert", (0, 10), 1),
        ([0, 33.5, 50, 71, 99], "percent", (0, 100), 1),
        ([0.0, 0.25, 0.8, 1.0], "open", (0, 1), 1),
        ([-3, 2, 250], "open", (-3, 250), 1),
        ([5, 5], "open", (5, 5), 1),
    ],
)
def test_scales_are_recognised(values: list[float], kind: str, ends: tuple[float, float], factor: float) -> None:
    assert scale_of(panel(values)) == Scale(kind, *ends, factor)


def test_a_declared_scale_is_believed() -> None:
    assert scale_of(panel([0, 100], declared_range=(0.0, 100.0))).kind == "binary"
    assert scale_of(panel([40, 60], declared_range=(0.0, 100.0))).kind == "percent"
    assert scale_of(panel([3, 4, 5], declared_range=(1.0, 5.0))) == Scale("likert", 1, 5)
    assert scale_of(panel([3, 4, 5], declared_range=(0.0, 200.0))).kind == "open"


def test_replicates_are_single_scores_and_hashed_units_are_not() -> None:
    rng = np.random.default_rng(2)
    assert scale_of(pj.Panel.from_array(rng.choice([0.0, 1.0], (20, 3, 3, 4)))).kind == "binary"
    assert scale_of(panel([0, 1], weights=np.full(40, 5.0))).kind == "open"


def test_what_matters_follows_the_scale() -> None:
    assert what_matters(panel([0, 1])) == pytest.approx(0.02)
    assert what_matters(panel([3.0, 40.5, 97.0])) == pytest.approx(2.0)
