"""Rank reversals: published rows, referees, the selection-valid rule, the global null, rank probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import polyjudge.second as pj
from polyjudge.second.estimate import resample
from polyjudge.second.questions.audit import orders, rank_reversals


@pytest.mark.real_data
def test_published_rows(devai: pj.Panel, published: dict) -> None:
    result = rank_reversals(devai)
    rows = published["rank_reversal"]["rows"]
    assert result.count == published["rank_reversal"]["reversing_pairs"] == 7
    assert len(result.pairs) == len(rows) == 15
    for row, (i, j, delta, p, a, b) in zip(result.pairs.itertuples(), rows, strict=True):
        assert (row.judge_i, row.judge_j) == (i, j)
        assert row.delta == pytest.approx(delta, abs=1e-5)
        assert float(f"{row.p_published:.2g}") == pytest.approx(float(f"{p:.2g}"))
        if delta:
            assert (row.language_a, row.language_b) == (a, b)
        else:
            assert row.language_a is None or row.language_a != row.language_a
            assert row.p_selected == 1
    gaps = published["rank_reversal"]["witness_gaps"]["GPT-4o/GPT-5.4"]
    assert result.pairs["gap_a"].iloc[0] == pytest.approx(gaps["English"], abs=1e-5)
    assert result.pairs["gap_b"].iloc[0] == pytest.approx(gaps["Spanish"], abs=1e-5)
    assert (result.pairs["p_published"] <= 0.05).sum() == 7
    assert result.count_selected == 5
    assert result.p_global == pytest.approx(1 / 1001)
    top = result.top[result.top["scope"] == "language"]
    for judge, languages in published["rank_reversal"]["top_judge"].items():
        assert set(top.loc[top["judge"] == judge, "language"]) == set(languages)


def test_referees() -> None:
    panel, _ = pj.simulate_panel(tasks=25, languages=3, judges=4, seed=5)
    mean, se = orders.pair_gaps(panel)
    i, j = np.triu_indices(4, 1)
    gaps = panel.scores[..., i] - panel.scores[..., j]
    greater = stats.ttest_1samp(gaps, 0, alternative="greater").pvalue
    np.testing.assert_allclose(resample.upper_tail(mean, se, 25), greater, rtol=1e-9)


def test_selection_valid_p_is_its_formula() -> None:
    rng = np.random.default_rng(1)
    above = rng.random((5, 7))
    below = 1 - above
    for pair, p in enumerate(resample.selected_p(above, below)):
        up = min(1.0, 5 * min(above[:, pair]))
        down = min(1.0, 5 * min(below[:, pair]))
        assert p == pytest.approx(max(up, down))


def test_selected_is_never_below_published() -> None:
    panel, _ = pj.simulate_panel(seed=9)
    pairs = rank_reversals(panel).pairs
    turned = pairs["delta"] > 0
    assert turned.any()
    assert (pairs.loc[turned, "p_selected"] >= pairs.loc[turned, "p_published"] - 1e-12).all()


@pytest.mark.statistical
def test_global_null_keeps_its_level_and_finds_planted_reversals() -> None:
    p = [
        rank_reversals(
            pj.simulate_panel(tasks=20, languages=4, judges=4, judge_sd=2, interaction=0.0, seed=s)[0],
            draws=99,
            resamples=100,
        ).p_global
        for s in range(60)
    ]
    assert np.mean(np.array(p) <= 0.1) <= 0.2
    planted, _ = pj.simulate_panel(judge_sd=2, interaction=10.0, seed=1)
    assert rank_reversals(planted).p_global < 0.01


def test_normal_limit_is_the_permutation(monkeypatch: pytest.MonkeyPatch) -> None:
    panel, _ = pj.simulate_panel(tasks=60, judge_sd=2, seed=4)
    exact, how = orders.additive_null(panel, 2000, 1)
    assert how == "permutation"
    monkeypatch.setattr(orders, "MOST_PERMUTED", 0)
    limit, how = orders.additive_null(panel, 2000, 1)
    assert how.startswith("normal")
    assert limit.mean() == pytest.approx(exact.mean(), abs=5 * exact.std() / np.sqrt(1000))


def test_rank_probabilities_are_distributions_and_share_ties() -> None:
    panel, _ = pj.simulate_panel(tasks=30, languages=3, judges=4, seed=2)
    frame = rank_reversals(panel).rank_probabilities
    for key in (["language", "judge"], ["language", "rank"]):
        np.testing.assert_allclose(frame.groupby(key)["probability"].sum(), 1.0)
    shares = orders.rank_shares(np.zeros((3, 1, 2)), 1e-9)
    np.testing.assert_allclose(shares, 0.5)
    plain = orders.rank_shares(np.array([[[3.0, 2.0, 1.0]], [[1.0, 2.0, 3.0]]]), 1e-9)[0]
    np.testing.assert_allclose(plain, [[0.5, 0, 0.5], [0, 1, 0], [0.5, 0, 0.5]])


def test_ties_everywhere_give_no_reversal() -> None:
    result = rank_reversals(pj.Panel.from_array(np.full((10, 3, 3), 2.0)))
    assert result.count == 0
    assert (result.pairs["p_selected"] == 1).all()
    assert result.p_global == 1


def test_rounding_is_no_reversal() -> None:
    scores = np.full((10, 2, 2), 1.0)
    scores[:, 0, 0] += 1e-13
    scores[:, 1, 0] -= 1e-13
    scores[:, :, :] += np.arange(10)[:, None, None]
    assert rank_reversals(pj.Panel.from_array(scores)).count == 0


def test_the_global_verdict_needs_both_kinds_of_noise() -> None:
    """Judges differ by two points everywhere; in one loud language they swap places by noise alone."""
    rng = np.random.default_rng(5)
    loud = np.where(np.arange(6)[:, None] == 0, 40.0, 1.0)
    seen = []
    for _ in range(40):
        scores = np.linspace(0, 6, 4) + loud * rng.normal(0, 1, (12, 6, 4))
        result = rank_reversals(pj.Panel.from_array(scores), draws=99, resamples=100)
        assert result.p_more == max(result.p_global, result.p_global_unequal)
        seen.append(result.p_more <= 0.05)
    assert np.mean(seen) <= 0.15
