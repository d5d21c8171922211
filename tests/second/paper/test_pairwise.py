"""Judge-aware Bradley-Terry-Luce against independent fits, against its gradient, and on awkward counts."""

from __future__ import annotations

import choix
import numpy as np
import pandas as pd
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import expit

import polyjudge.second as pj
from polyjudge.second.estimate.kernels import draw_block
from polyjudge.second.panel.panel import Grouping
from polyjudge.second.paper.methods.btl import fit_btl, log_likelihood, pair_counts
from polyjudge.second.paper.preferences import pairwise
from refusals import refused


def ordinal_panel(
    n: int = 90, k: int = 3, m: int = 4, seed: int = 0, missing: float = 0.0, strata: bool = True
) -> pj.Panel:
    rng = np.random.default_rng(seed)
    spread = np.where(np.arange(n) < n // 2, 1.0, 3.0)[:, None, None]  # the second stratum discriminates less
    scores = np.rint(rng.normal(0, spread, (n, k, m)) + rng.normal(0, 1, (k, m)))
    scores[rng.random(scores.shape) < missing] = np.nan
    base = pj.Panel.from_array(scores)
    grouping = Grouping("subset", ("easy", "hard"), (np.arange(n) >= n // 2).astype(np.int64)) if strata else None
    return pj.Panel(base.scores, base.tasks, base.languages, base.judges, grouping=grouping)


def test_counts_against_a_plain_loop() -> None:
    panel = ordinal_panel(missing=0.1)
    weights = draw_block(90, 2, 0, 0).astype(float)
    wins, total = pair_counts(panel, weights)
    for r in range(2):
        for s in range(2):
            for pair, (i, j) in enumerate(zip(*np.triu_indices(4, 1), strict=True)):
                won = seen = 0.0
                for t in range(90):
                    a, b = panel.scores[t, 1, i], panel.scores[t, 1, j]
                    if (t >= 45) == s and not np.isnan(a + b):
                        won += weights[r, t] * (a > b) + weights[r, t] * 0.5 * (a == b)
                        seen += weights[r, t]
                assert (wins[r, 1, s, pair], total[r, 1, s, pair]) == (won, seen)


@pytest.mark.parametrize("seed", range(2))
def test_with_discrimination_one_it_is_choix(seed: int) -> None:
    panel = ordinal_panel(seed=seed, missing=0.05, strata=False)
    strength, sharpness = fit_btl(*pair_counts(panel, panel.weights[None]))
    assert (sharpness == 0).all()
    for language in range(3):
        data = []
        for row in panel.scores[:, language]:
            for i, j in zip(*np.triu_indices(4, 1), strict=True):
                if np.isnan(row[i] + row[j]):
                    continue
                # a win is two wins, a tie one for each: the same likelihood, twice
                data += (
                    [(i, j), (i, j)] if row[i] > row[j] else [(j, i), (j, i)] if row[i] < row[j] else [(i, j), (j, i)]
                )
        expected = choix.opt_pairwise(4, data, alpha=0.0, tol=1e-10)
        np.testing.assert_allclose(strength[0, language], expected - expected.mean(), atol=1e-5)


def test_strata_against_a_general_optimiser() -> None:
    panel = ordinal_panel(missing=0.05)
    wins, total = pair_counts(panel, panel.weights[None])
    strength, sharpness = fit_btl(wins, total)
    np.testing.assert_allclose(strength.sum(axis=-1), 0, atol=1e-12)
    np.testing.assert_allclose(sharpness.sum(axis=-1), 0, atol=1e-12)
    assert (sharpness[0, :, 0] > sharpness[0, :, 1]).all()
    for language in range(3):
        w, t = wins[0, language], total[0, language]

        def unpack(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return np.append(x[:3], -x[:3].sum()), np.array([x[3], -x[3]])

        best = minimize(lambda x, w=w, t=t: -log_likelihood(*unpack(x), w, t), np.zeros(4), tol=1e-12)
        np.testing.assert_allclose(strength[0, language], unpack(best.x)[0], atol=1e-4)
        np.testing.assert_allclose(sharpness[0, language], unpack(best.x)[1], atol=1e-4)


def gradient(
    strength: np.ndarray, sharpness: np.ndarray, wins: np.ndarray, total: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Of the log likelihood by strength (..., m) and by log discrimination (..., s), constraints aside."""
    i, j = np.triu_indices(strength.shape[-1], 1)
    differences = np.eye(strength.shape[-1])[i] - np.eye(strength.shape[-1])[j]
    scale = np.exp(sharpness)[..., None]
    eta = scale * (strength @ differences.T)[..., None, :]
    residual = wins - total * expit(eta)
    return (residual * scale).sum(axis=-2) @ differences, (residual * eta).sum(axis=-1)


def test_gradient_is_the_derivative_and_vanishes_at_the_fit() -> None:
    panel = ordinal_panel(missing=0.05)
    wins, total = pair_counts(panel, panel.weights[None])
    rng = np.random.default_rng(3)
    point = rng.normal(0, 0.5, 6)
    w, t = wins[0, 0], total[0, 0]
    numeric = approx_fprime(point, lambda x: float(log_likelihood(x[:4], x[4:], w, t)), 1e-6)
    np.testing.assert_allclose(np.concatenate(gradient(point[:4], point[4:], w, t)), numeric, rtol=1e-4, atol=1e-3)
    by_strength, by_sharpness = gradient(*fit_btl(wins, total), wins, total)
    for slope in (by_strength, by_sharpness):
        assert np.abs(slope - slope.mean(axis=-1, keepdims=True)).max() < 1e-7


def test_warm_starts_and_stacks_do_not_change_the_fit() -> None:
    panel = ordinal_panel(missing=0.02)
    weights = draw_block(90, 5, 1, 0).astype(float)
    wins, total = pair_counts(panel, weights)
    whole = fit_btl(*pair_counts(panel, panel.weights[None]))
    warm = fit_btl(wins, total, start=whole)
    for r in range(5):
        alone = fit_btl(wins[r], total[r])
        np.testing.assert_allclose(warm[0][r], alone[0], atol=1e-8)
        np.testing.assert_allclose(warm[1][r], alone[1], atol=1e-8)


def test_one_sided_and_tied_counts_stay_finite() -> None:
    always = np.arange(4.0) + np.zeros((20, 2, 4))
    strength, _ = fit_btl(*pair_counts(pj.Panel.from_array(always), np.ones((1, 20))))
    assert np.isfinite(strength).all()
    assert (np.diff(strength, axis=-1) > 0).all()
    ties = pj.Panel.from_array(np.ones((20, 2, 4)) * np.arange(20)[:, None, None])
    strength, _ = fit_btl(*pair_counts(ties, np.ones((1, 20))))
    np.testing.assert_allclose(strength, 0, atol=1e-12)
    assert "btl.endless" in [n.code for n in pairwise(pj.Panel.from_array(always), resamples=10).notes]


def test_it_is_a_method_of_compare() -> None:
    panel = ordinal_panel()
    result = pj.compare(panel, ["raw", "judge-aware btl"], resamples=70, seed=7)
    row = result.table.set_index("method").loc["judge-aware btl"]
    assert -1 <= row["low"] <= row["tau"] <= row["high"] <= 1
    assert np.isnan(row["gain"])
    again = pj.compare(panel, ["judge-aware btl"], resamples=70, seed=7)
    assert again.table["tau"].iloc[0] == row["tau"]


def test_strengths_have_intervals_and_counts() -> None:
    result = pairwise(ordinal_panel(400), resamples=200)
    frame = result.to_frame()
    assert (frame["low"] < frame["strength"]).all()
    assert (frame["strength"] < frame["high"]).all()
    np.testing.assert_allclose(frame.groupby("language")["strength"].sum(), 0, atol=1e-9)
    assert (frame["comparisons"] == 400 * 3).all()
    pd.testing.assert_frame_equal(frame, pairwise(ordinal_panel(400), resamples=200).to_frame())


def test_a_language_nobody_compares_is_an_error() -> None:
    scores = np.random.default_rng(0).normal(size=(10, 2, 3))
    scores[:, 1, 1:] = np.nan
    with refused(pj.PanelError, "language2"):
        pairwise(pj.Panel.from_array(scores))
