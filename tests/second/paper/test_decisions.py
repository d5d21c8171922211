"""Choosing the top judge: published values, the exact interval, ties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polyjudge.second as pj
from polyjudge.second.paper import decisions
from polyjudge.second.paper.draws import plain_draws
from polyjudge.second.report import report_of


def test_devai(devai: pj.Panel) -> None:
    table = decisions(devai).to_frame().set_index("method")
    assert table.loc["raw", "accuracy"] == pytest.approx(0.685, abs=0.01)
    assert table.loc["raw", "regret"] == pytest.approx(3.23, abs=0.15)
    assert table.loc["cbc", ["accuracy", "regret"]].tolist() == [1.0, 0.0]


def test_devai_with_the_published_draws(devai: pj.Panel, published: dict[str, Any]) -> None:
    table = decisions(devai, draws=plain_draws(55, 1000, 307)).table.set_index("method")
    for name in ("raw", "cbc"):
        want = published["decisions"][name]
        row = table.loc[name]
        assert row.accuracy == pytest.approx(want["accuracy"], abs=1e-9)
        assert row.regret == pytest.approx(want["regret"], abs=1e-6)
        assert [row.regret_low, row.regret_high] == pytest.approx(want["regret_interval"], abs=1e-5)


def test_judges_that_tie_for_the_top_are_all_right() -> None:
    rng = np.random.default_rng(3)
    base = rng.normal(size=(12, 3, 2))
    almost = base[..., 0] + 1e-13 * rng.normal(size=(12, 3))  # rounding, not a difference
    scores = np.stack([base[..., 0], almost, base[..., 1] - 50], axis=-1)
    table = decisions(pj.Panel.from_array(scores), resamples=64).to_frame()
    assert (table["accuracy"] == 1).all()
    assert (table["regret"] == 0).all()


def test_by_language_adds_up() -> None:
    panel, _ = pj.simulate_panel(tasks=20, languages=4, judges=5, interaction=15, seed=2)
    result = decisions(panel, resamples=100)
    by_language = result.languages.groupby("method", sort=False)[["accuracy", "regret"]].mean()
    np.testing.assert_allclose(by_language, result.to_frame()[["accuracy", "regret"]])
    assert result.decisions == 400
    report = report_of(result)
    assert report is not None
    assert [s.code for s in report.verdict] == ["decisions.target"]
