"""Tied sets: rank ranges, the confidence set of the top judge, family-wise level."""

from __future__ import annotations

import numpy as np
import pytest

import polyjudge.second as pj
from polyjudge.second.estimate import resample
from polyjudge.second.questions.audit import tied_sets


def test_clear_gaps_give_single_ranks_and_equal_judges_are_tied() -> None:
    rng = np.random.default_rng(0)
    scores = np.array([30.0, 20, 20, 0])[None, None, :] + rng.normal(0, 3, (40, 3, 4))
    table = tied_sets(pj.Panel.from_array(scores, judges="abcd")).to_frame()
    overall = table[table["scope"] == "calibrated"].set_index("judge")
    assert overall.loc["a", ["rank_low", "rank_high"]].tolist() == [1, 1]
    assert overall.loc["d", ["rank_low", "rank_high"]].tolist() == [4, 4]
    assert overall.loc["b", "tied_with"] == ("c",)
    assert overall.loc["b", ["rank_low", "rank_high"]].tolist() == [2, 3]
    assert tied_sets(pj.Panel.from_array(scores, judges="abcd")).top_set() == ["a"]


def test_rank_lies_in_its_range() -> None:
    for seed in range(5):
        table = tied_sets(pj.simulate_panel(tasks=15, languages=3, judges=6, judge_sd=3, seed=seed)[0]).to_frame()
        assert (table["rank_low"] <= table["rank"]).all()
        assert (table["rank"] <= table["rank_high"]).all()
        assert table.groupby("language")["top_set"].any().all()


def test_holm_is_statsmodels() -> None:
    from statsmodels.stats.multitest import multipletests

    p = np.random.default_rng(3).random((4, 9)) ** 2
    for row, ours in zip(p, resample.holm(p), strict=True):
        np.testing.assert_allclose(ours, multipletests(row, method="holm")[1])


@pytest.mark.statistical
def test_equal_judges_are_rarely_told_apart() -> None:
    """Family-wise: any false order in a scope in at most 5% of panels, here 400 scopes (limit 3 se above)."""
    wrong = 0
    for seed in range(100):
        scores = np.random.default_rng(seed).normal(50, 10, (20, 4, 5))
        table = tied_sets(pj.Panel.from_array(scores), resamples=300).to_frame()
        part = table[table["scope"] == "language"]
        wrong += int((part.groupby("language")["rank_low"].max() > 1).sum())
    assert wrong / 400 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


@pytest.mark.real_data
def test_devai_top_sets(devai: pj.Panel) -> None:
    ties = tied_sets(devai)
    assert ties.top_set() == ["Gemini"]
    assert set(ties.top_set("Turkish")) == {"GPT-4o", "Gemini"}
    assert ties.top_set("English") == ["GPT-4o"]
