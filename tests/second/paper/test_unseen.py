"""Newcomers: zero-shot as published, few-shot as promised, and the same by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import kendalltau

import polyjudge.second as pj
from polyjudge.second.estimate.kernels import double_centre, draw_blocks
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.paper import unseen_judge, unseen_language
from polyjudge.second.paper.draws import plain_draws
from polyjudge.second.paper.unseen import exchange
from refusals import refused


def test_devai_unseen_language(devai: pj.Panel, published: dict[str, Any]) -> None:
    result = unseen_language(devai)
    want = published["unseen_language"]
    assert result.overall["raw"] == pytest.approx(0.649, abs=0.005)
    assert result.overall["zero_shot"] == pytest.approx(0.740, abs=0.005)
    table = result.to_frame().set_index("language")
    for language in devai.languages:
        assert table.loc[language, "raw"] == pytest.approx(want["raw"][language], abs=0.01)
        assert table.loc[language, "zero_shot"] == pytest.approx(want["zero_shot"][language], abs=0.01)
    curve = result.curve.set_index("shots")
    assert curve.loc[5, "tau"] >= 0.84
    assert curve.loc[10, "tau"] >= 0.87
    assert (curve["low"] <= curve["tau"]).all()
    assert (curve["tau"] <= curve["high"]).all()
    assert result.enough is not None
    assert 10 < result.enough < 35
    assert result.identity.code == "unseen.identity"


def test_devai_with_the_published_draws(devai: pj.Panel, published: dict[str, Any]) -> None:
    rng = np.random.default_rng(207)
    for language in devai.languages:
        draws = plain_draws(55, 1000, rng)
        row = unseen_language(devai, (0,), languages=[language], draws=draws).to_frame().iloc[0]
        assert row.raw == pytest.approx(published["unseen_language"]["raw"][language], abs=5e-5)
        assert row.zero_shot == pytest.approx(published["unseen_language"]["zero_shot"][language], abs=1e-6)


def test_zero_shot_by_hand() -> None:
    panel, _ = pj.simulate_panel(tasks=14, languages=4, judges=5, seed=4)
    draws = np.concatenate(list(draw_blocks(14, 5, 9)))
    result = unseen_language(panel, (0,), draws=draws)
    expected = np.zeros((5, 4))
    for r, w in enumerate(draws):
        train, left = np.average(panel.scores, axis=0, weights=w), panel.scores[w == 0].mean(axis=0)
        for h in range(4):
            others = [x for x in range(4) if x != h]
            adjusted = left[others] - double_centre(train[others])
            expected[r, h] = np.mean([kendalltau(left[h], row).statistic for row in adjusted])
            # Mean imputation: the mean of the others' interaction is 0, so it is the same.
            np.testing.assert_allclose(double_centre(train[others]).mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(result.to_frame()["zero_shot"], expected.mean(axis=0), atol=1e-6)


def test_few_shot_row_by_hand() -> None:
    from polyjudge.second.estimate.incomplete import estimate_interaction
    from polyjudge.second.paper.unseen import _contributions, _few_shot_rows
    from polyjudge.second.questions.compare.held_out import resample

    panel, _ = pj.simulate_panel(tasks=14, languages=4, judges=5, seed=4)
    block, _ = next(iter(resample(panel, 3, seed=2)))
    values = _contributions(panel, estimate_interaction(panel))
    rows = next(_few_shot_rows(block, values, values**2, [4], np.random.default_rng(1)))
    keys = np.where(block.drawn > 0, np.random.default_rng(1).random(block.drawn.shape), np.inf)
    for r in range(3):
        tasks = np.argsort(keys[r])[:4]
        for h in range(4):
            d = panel.scores[tasks, h] - np.delete(panel.scores[tasks], h, axis=1).mean(axis=1)
            d = d - d.mean(axis=1, keepdims=True)
            mean, variance = d.mean(axis=0), d.var(axis=0, ddof=1) / 4
            shrink = max(0.0, 1 - variance.sum() / (mean**2).sum())
            np.testing.assert_allclose(rows[r, h], shrink * mean, atol=1e-9)


def test_a_new_judge_is_a_new_language_of_the_exchanged_panel(devai_like: pj.Panel) -> None:
    judge = unseen_judge(devai_like, resamples=128)
    language = unseen_language(exchange(devai_like), resamples=128)
    np.testing.assert_array_equal(judge.to_frame()["zero_shot"], language.to_frame()["zero_shot"])
    assert judge.to_frame()["judge"].tolist() == list(devai_like.judges)
    consistency = judge.curve["consistency"]
    assert consistency.iloc[-1] > consistency.iloc[0]


def test_shots_that_make_no_sense() -> None:
    panel, _ = pj.simulate_panel(tasks=10, languages=3, judges=3)
    for shots, named in (((1,), ("one", 2)), ((-2,), ("shots", -2))):
        with refused(UsageError, *named):
            unseen_language(panel, shots)
    with refused(pj.PanelError, "Klingon", "language3"):
        unseen_language(panel, (0,), languages=["Klingon"])


def test_small_and_holed_panels() -> None:
    small = pj.Panel.from_array(np.random.default_rng(1).normal(size=(3, 2, 2)))
    result = unseen_language(small, (0, 2), resamples=64)
    assert result.skipped > 0
    usual = unseen_language(small, resamples=64)
    assert usual.curve["shots"].tolist() == [0, 3]
    assert any(n.values == {"shots": ["5", "10", "20"], "tasks": 3} for n in usual.notes)
    assert np.isfinite(result.curve[["tau", "low", "high"]].to_numpy()).all()
    holed, _ = pj.simulate_panel(tasks=40, languages=4, judges=4, seed=3, missing=0.1)
    assert np.isfinite(unseen_language(holed, resamples=64).curve["tau"]).all()


def test_unequal_units_are_weighted() -> None:
    from polyjudge.second.paper.unseen import _mean_and_variance

    rng = np.random.default_rng(5)
    values, w = rng.normal(size=(6, 2)), np.array([1.0, 3, 0, 2, 1, 5])
    mean, variance = _mean_and_variance(w[None], values, values**2)
    at = w > 0
    expected = np.average(values[at], axis=0, weights=w[at])
    share = w[at] / w.sum()
    np.testing.assert_allclose(mean[0], expected)
    np.testing.assert_allclose(variance[0], 5 / 4 * (share[:, None] ** 2 * (values[at] - expected) ** 2).sum(axis=0))
