"""Scores and the length of responses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from polyjudge.answers.audit.length import length as length_of
from polyjudge.panel import Panel


def test_length() -> None:
    g = np.random.default_rng(0)
    length = np.log(g.uniform(50, 400, (100, 3, 1))) + np.array([0.8, 0, 0])[:, None]
    y = 50 + 5 / np.log(2) * length[..., None] + g.normal(0, 3, (100, 3, 1, 4)) + np.array([0, 1.5, 0])[:, None, None]
    panel = replace(Panel.from_array(y, scale=(0, 100)), length=length)
    made = length_of(panel, level=0.95)
    assert made is not None
    assert made.frame["slope"].tolist() == pytest.approx([5] * 4, abs=0.6)
    assert ((made.frame["low"] < 5) & (made.frame["high"] > 5)).sum() >= 3
    board = made.board.set_index("system")
    assert board.loc["s1", "rank"] == 1
    assert board.loc["s2", "rank_at_equal_length"] == 1
    assert "At equal length s2 would rank above s1." in made.findings[0].text
    assert length_of(replace(panel, length=np.zeros((100, 3, 1))), level=0.95) is None
    assert length_of(Panel.from_array(y), level=0.95) is None


def test_length_with_holes() -> None:
    g = np.random.default_rng(1)
    length = g.normal(5, 0.7, (120, 3, 2))
    y = 50 + 8 * length[..., None] + g.normal(0, 2, (120, 3, 2, 2)) + g.normal(0, 9, (120, 1, 2, 2))
    y[g.random(y.shape) < 0.2] = np.nan
    made = length_of(replace(Panel.from_array(y), length=length), level=0.95)
    assert made is not None
    assert made.frame["slope"].tolist() == pytest.approx([8 * np.log(2)] * 4, abs=0.3)
