"""Structure of the interaction: singular values, scale use, and what it advises."""

from __future__ import annotations

import numpy as np
import pytest

import polyjudge as pj
from polyjudge.analyse.structure import scale_slopes, tukey_share, tukey_slope
from polyjudge.estimate.kernels import double_centre


def panel_of(means: np.ndarray, sd: float = 1.0, n: int = 60) -> pj.Panel:
    rng = np.random.default_rng(0)
    return pj.Panel.from_array(means + rng.normal(0, 10, (n, 1, 1)) + rng.normal(0, sd, (n, *means.shape)))


def test_patterns_are_the_singular_values() -> None:
    panel, _ = pj.simulate_panel(seed=2)
    result = pj.structure(panel)
    values = np.linalg.svd(double_centre(panel.cell_means), compute_uv=False)[:5]
    np.testing.assert_allclose(result.patterns["singular_value"], values)
    np.testing.assert_allclose(result.patterns["share"].sum(), 1.0)
    assert (
        (result.patterns["low"] <= result.patterns["share"]) & (result.patterns["share"] <= result.patterns["high"])
    ).all()
    assert result.judges["share"].sum() == pytest.approx(1)
    assert result.languages["share"].sum() == pytest.approx(1)


def test_scale_use_is_found() -> None:
    """Judges that stretch the panel's language effect by known slopes."""
    g = np.array([-12.0, -4, 2, 14])
    slopes = np.array([0.4, 0.8, 1.2, 1.6])
    result = pj.structure(panel_of(50 + np.outer(g, slopes) + 20 * (slopes - 1)))
    np.testing.assert_allclose(result.scale_use["slope"], slopes, atol=0.1)
    assert ((result.scale_use["low"] <= slopes) & (slopes <= result.scale_use["high"])).all()
    assert result.tukey_share == pytest.approx(1.0, abs=0.02)
    assert result.tukey_p < 1e-6
    assert result.advice.code == "structure.scale-use"


def test_tukey_is_the_regression_on_the_product() -> None:
    means = np.random.default_rng(1).normal(50, 10, (4, 5))
    g, a = means.mean(axis=1) - means.mean(), means.mean(axis=0) - means.mean()
    x, y = np.outer(g, a).ravel(), double_centre(means).ravel()
    (slope,), (left,), *_ = np.linalg.lstsq(x[:, None], y)
    assert tukey_slope(means) == pytest.approx(slope)
    assert tukey_share(means) == pytest.approx(1 - left / (y @ y))
    assert scale_slopes(means).mean() == pytest.approx(1)


def test_one_dominant_pattern_is_named() -> None:
    beta = np.zeros((5, 4))
    beta[2, 1] = 30.0
    result = pj.structure(panel_of(50 + double_centre(beta) + np.array([0.0, 3, 6, 9])))
    assert result.patterns["share"].iloc[0] > 0.95
    assert (result.advice.values["language"], result.advice.values["judge"]) == ("language3", "judge2")


@pytest.mark.statistical
def test_tukey_test_keeps_its_level() -> None:
    p = [pj.structure(pj.simulate_panel(40, 5, 5, seed=s, interaction=0.0)[0]).tukey_p for s in range(200)]
    assert np.mean(np.array(p) <= 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)


def test_degenerate_panels_say_so() -> None:
    constant = pj.structure(pj.Panel.from_array(np.full((6, 3, 3), 4.0)))
    assert constant.tukey_p is None
    assert constant.advice.code == "structure.flat"
    two = pj.structure(pj.simulate_panel(20, 2, 2, seed=1)[0])
    assert len(two.patterns) == 1
    assert two.advice.code == "structure.single"


def test_the_share_of_a_pattern_has_its_interval() -> None:
    advice = pj.structure(pj.sample_panel()).advice
    assert advice.code == "structure.one-pattern"
    assert advice.values["low"] < advice.values["share"] < advice.values["high"]
