"""R2 and variance components against statsmodels, planted truth and the published fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

import polyjudge.second as pj
from polyjudge.second.questions.audit import variance
from polyjudge.second.questions.audit.variation import COMPONENTS, three_way_p

MAIN = "C(task) + C(judge) + C(language) + C(replicate) + C(judge):C(language)"


def statsmodels() -> Any:
    """Loaded by the worker that needs it, not by all that collect."""
    from statsmodels.formula import api

    return api


def small(missing: float = 0.0, seed: int = 3) -> pj.Panel:
    panel, _ = pj.simulate_panel(tasks=8, languages=3, judges=4, replicates=3, three_way_sd=4, seed=seed)
    rows = np.array(panel.replicate_scores)
    if missing:
        rng = np.random.default_rng(0)
        gone = rng.random(rows.shape) < missing
        gone[..., 0] = False
        rows[gone] = np.nan
    return pj.Panel.from_array(rows)


@pytest.mark.real_data
def test_published_fit(devai: pj.Panel, published: dict) -> None:
    result = variance(devai)
    assert result.r2_simplified == pytest.approx(published["fit"]["r2_simplified"], abs=1e-6)
    assert result.r2_full == pytest.approx(published["fit"]["r2_full"], abs=1e-6)
    assert result.sse_simplified == pytest.approx(published["fit"]["sse_simplified"], rel=1e-9)
    assert result.sst == pytest.approx(published["fit"]["sst"], rel=1e-9)


@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_r2_is_statsmodels(missing: float) -> None:
    panel = small(missing)
    frame = panel.to_long()
    result = variance(panel)
    ols = statsmodels().ols
    assert result.r2_simplified == pytest.approx(ols(f"score ~ {MAIN}", frame).fit().rsquared, abs=1e-9)
    assert result.r2_full == pytest.approx(ols(f"score ~ {MAIN} + C(task):C(language)", frame).fit().rsquared, abs=1e-9)


def test_anova_is_statsmodels() -> None:
    from statsmodels.stats.anova import anova_lm

    panel = small()
    table = anova_lm(
        statsmodels().ols("score ~ C(task)*C(language)*C(judge) + C(replicate)", panel.to_long()).fit(), typ=1
    )
    ours = variance(panel)
    parts = ours.components.set_index("component")
    for name in COMPONENTS[:-1]:
        row = table.loc[":".join(f"C({x})" for x in name.split(":"))]
        assert parts.loc[name, "sum_of_squares"] == pytest.approx(row["sum_sq"], rel=1e-8)
        assert parts.loc[name, "df"] == row["df"]
    assert parts.loc["noise", "sum_of_squares"] == pytest.approx(table.loc["Residual", "sum_sq"], rel=1e-8)
    assert ours.three_way_f == pytest.approx(table.loc["C(task):C(language):C(judge)", "F"], rel=1e-8)
    assert ours.three_way_p_equal == pytest.approx(
        table.loc["C(task):C(language):C(judge)", "PR(>F)"], rel=1e-6, abs=1e-12
    )


def test_noise_with_missing_replicates_is_statsmodels() -> None:
    panel = small(0.3)
    fit = statsmodels().ols("score ~ C(task):C(language):C(judge) + C(replicate)", panel.to_long()).fit()
    noise = variance(panel).components.set_index("component").loc["noise"]
    assert noise["sum_of_squares"] == pytest.approx(fit.ssr, rel=1e-8)
    assert noise["df"] == fit.df_resid


@pytest.mark.statistical
def test_components_recover_what_was_planted() -> None:
    sd = {
        "task": 12,
        "language": 4,
        "judge": 8,
        "task:language": 3,
        "task:judge": 5,
        "task:language:judge": 4,
        "noise": 8,
    }
    estimates = []
    for seed in range(20):
        panel, _ = pj.simulate_panel(100, 20, 20, 2, seed, three_way_sd=4, interaction=5.0)
        estimates.append(variance(panel).components.set_index("component")["variance"])
    mean = pd.concat(estimates, axis=1).mean(axis=1)
    for name, value in sd.items():
        assert mean[name] == pytest.approx(value**2, rel=0.2), name
    assert mean["language:judge"] == pytest.approx(25, rel=0.2)


@pytest.mark.statistical
def test_three_way_is_told_from_noise_without_bias() -> None:
    results = [
        variance(pj.simulate_panel(40, 5, 5, 2, s, three_way_sd=4)[0]).components.set_index("component")
        for s in range(120)
    ]
    ratio = [r.loc["task:language:judge", "variance"] / r.loc["noise", "variance"] for r in results]
    assert np.mean(ratio) == pytest.approx(0.25, abs=0.02)


@pytest.mark.statistical
@pytest.mark.parametrize("loud", [1.0, 10.0])
def test_three_way_test_keeps_its_level(loud: float) -> None:
    """Where one cell is louder than the others too: there F finds an effect in a fifth of panels without one."""
    rng = np.random.default_rng(0)
    spread = np.where(np.arange(9).reshape(3, 3, 1) == 0, loud, 1.0)
    panels = [pj.Panel.from_array(rng.normal(0, 1, (10, 3, 3, 2)) * spread) for _ in range(300)]
    p = np.array([three_way_p(panel) for panel in panels])
    assert np.mean(p <= 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)
    assert variance(pj.simulate_panel(20, 3, 3, 2, 1, three_way_sd=16)[0]).three_way_p < 1e-4
    if loud > 1:
        equal = [variance(panel).three_way_p_equal for panel in panels[:50]]
        assert np.mean(np.array(equal) <= 0.05) > 0.1


def test_three_way_test_counts_loud_tasks_as_few() -> None:
    """From the formula of docs/methods.md, section 6: noise that few tasks hold leaves few degrees of freedom."""
    rng = np.random.default_rng(3)
    rows = rng.normal(0, 1, (12, 3, 4, 2)) * np.exp(rng.normal(0, 1, (12, 1, 1, 1)))
    rows -= rows.mean(axis=(0, 1, 2)) - rows.mean()  # no effect of a replicate to be taken out
    noise = rows.var(axis=3, ddof=1).mean(axis=(1, 2)) / 2 * (12 * 12) / (12 * 12 - 1)
    d = rows.mean(axis=3)
    d = d - d.mean(axis=1, keepdims=True) - d.mean(axis=2, keepdims=True) + d.mean(axis=(1, 2), keepdims=True)
    own = ((d - d.mean(axis=0)) ** 2).sum(axis=(1, 2)) * 12 / (11 * 2 * 3) - noise
    df = noise.sum() ** 2 / (noise**2).sum() - 1
    assert df < 6
    expected = t.sf(own.mean() / (own.std(ddof=1) / np.sqrt(12)), df)
    assert three_way_p(pj.Panel.from_array(rows)) == pytest.approx(expected, rel=1e-9)


def test_three_way_test_with_one_replicate_here_and_there() -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(0, 1, (30, 3, 4, 3))
    rows[rng.random(rows.shape) < 0.4] = np.nan
    rows[..., 0] = np.where(np.isnan(rows).all(axis=3), 0.5, rows[..., 0])
    levels = np.array(
        [three_way_p(pj.Panel.from_array(rows + three)) for three in (0, rng.normal(0, 2, (30, 3, 4, 1)))]
    )
    assert levels[0] > 0.001
    assert levels[1] < 0.001


def test_without_replicates_it_says_so() -> None:
    result = variance(pj.simulate_panel(20, 3, 3, seed=1)[0])
    assert result.three_way_p is None
    assert result.three_way_meaning.code == "three-way.no-replicates"
    assert result.components["component"].iloc[-1] == "task:language:judge + noise"
    assert result.components["share"].sum() == pytest.approx(1)


def test_units_of_equal_weight_change_no_share() -> None:
    panel, _ = pj.simulate_panel(30, 3, 4, seed=1)
    heavy = pj.Panel.from_array(panel.scores, weights=np.full(30, 4.0))
    a, b = variance(panel), variance(heavy)
    assert a.r2_full == pytest.approx(b.r2_full)


def test_equal_scores_have_no_variance() -> None:
    result = variance(pj.Panel.from_array(np.full((5, 2, 2, 2), 3.0)))
    assert np.isnan(result.r2_simplified)
    assert result.to_dict()["r2_simplified"] is None
    assert "variance.constant" in [note.code for note in result.notes]
