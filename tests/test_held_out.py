"""The held-out engine: identities, defined behaviour at the edges, published values."""

from __future__ import annotations

import numpy as np
import pytest

import polyjudge as pj
from polyjudge.kernels import double_centre, draw_blocks
from polyjudge.methods import REGISTRY, method


def test_gain_is_the_fall_of_squared_error_for_any_truth() -> None:
    rng = np.random.default_rng(5)
    panel, _ = pj.simulate_panel(tasks=12, languages=4, judges=5, seed=3)
    weights = next(iter(draw_blocks(12, 40, seed=7)))
    result = pj.compare(panel, ["cbc"], replicates=40, seed=7)
    for replicate, gain in result.replicate_gain["cbc"].items():
        w = weights[replicate]
        out = panel.scores[w == 0]
        beta = double_centre(np.average(panel.scores, axis=0, weights=w))
        truth = rng.normal(40, 30, (*out.shape[:2], 1))
        fall = ((out - truth) ** 2).mean() - ((out - beta - truth) ** 2).mean()
        assert gain == pytest.approx(fall, abs=1e-9)


def test_devai_headline(devai: pj.Panel) -> None:
    table = pj.compare(devai, ["raw", "cbc", "oracle"]).to_frame().set_index("method")
    assert table.loc["cbc", "gain_full_fit"] == pytest.approx(30.745139, abs=1e-6)
    assert table.loc["cbc", "gain_positive"] == 1.0
    assert table.loc["raw", "tau"] == pytest.approx(0.650282, abs=0.005)
    assert table.loc["cbc", "tau"] == pytest.approx(0.902305, abs=0.005)
    assert table.loc["oracle", ["tau", "low", "high", "full_fit"]].tolist() == pytest.approx([1.0] * 4)
    assert table.loc["cbc", "identity"]
    assert not table.loc["raw", "identity"]


def test_a_method_of_your_own() -> None:
    @method("half", subtracts=True)
    def half(block: object) -> np.ndarray:
        return block.interaction / 2  # type: ignore[attr-defined]

    panel, _ = pj.simulate_panel(tasks=20, languages=3, judges=4)
    try:
        table = pj.compare(panel, ["raw", "half"], replicates=50).to_frame()
        assert table["method"].tolist() == ["raw", "half"]
    finally:
        del REGISTRY["half"]
    assert pj.compare(panel, half, replicates=50).to_frame()["method"].tolist() == ["half"]
