"""The identities I1 to I7 of the method, on random panels, to rounding error relative to the score range."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polyjudge.second as pj
from polyjudge.second.estimate.kernels import double_centre, kendall_tau, mean_tau, ranks
from polyjudge.second.panel.arrays import Array, tie_gap


@st.composite
def panels(draw: st.DrawFn) -> pj.Panel:
    """2 to 40 judges, 2 to 12 languages, 2 to 200 tasks, scales from 1e-6 to 1e9, constant columns, heavy ties."""
    n, k, m = draw(st.integers(2, 200)), draw(st.integers(2, 12)), draw(st.integers(2, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(["normal", "ties", "constant judge", "constant cell", "skewed", "all equal"]))
    scores = rng.normal(size=(n, k, m)) + rng.normal(size=(n, 1, 1)) + rng.normal(size=(1, k, m))
    if kind == "ties":
        scores = np.rint(scores)
    elif kind == "constant judge":
        scores[:, :, 0] = 3.0
    elif kind == "constant cell":
        scores[:, 0, 0] = -2.0
    elif kind == "skewed":
        scores = np.exp(scores)
    elif kind == "all equal":
        scores[:] = 7.0
    scale = 10.0 ** draw(st.integers(-6, 9))
    offset = draw(st.sampled_from([0.0, 5.0, -100.0]))
    return pj.Panel.from_array(scale * (scores + offset))


def rounding(panel: pj.Panel) -> float:
    """What rounding may do: a few units in the last place of the largest score, times the length of the sums."""
    return 1e-13 * max(abs(panel.range[0]), abs(panel.range[1]), 1e-300)


@given(panels())
@settings(max_examples=60, deadline=None)
def test_i1_panel_mean_is_kept(panel: pj.Panel) -> None:
    calibrated = pj.ConsensusCalibrator().fit_transform(panel)
    gap = np.abs(calibrated.scores.mean(axis=2) - panel.scores.mean(axis=2)).max()
    assert gap <= rounding(panel)


@given(panels(), st.integers(0, 1000))
@settings(max_examples=60, deadline=None)
def test_i2_sums_idempotence_and_what_cancels(panel: pj.Panel, seed: int) -> None:
    n, k, m = panel.shape
    beta = pj.ConsensusCalibrator().fit(panel).interaction_.to_numpy()
    near = 50 * rounding(panel)
    assert np.abs(beta.sum(axis=0)).max() <= near
    assert np.abs(beta.sum(axis=1)).max() <= near
    np.testing.assert_allclose(double_centre(beta), beta, rtol=0, atol=near)
    rng = np.random.default_rng(seed)
    size = max(np.ptp(panel.range), 1e-300)
    shifted = panel.scores + size * (
        rng.normal(size=(n, 1, 1))
        + rng.normal(size=(1, 1, m))
        + rng.normal(size=(1, k, 1))
        + rng.normal(size=(n, k, 1))
        + rng.normal(size=(n, 1, m))
    )
    again = pj.ConsensusCalibrator().fit(pj.Panel.from_array(shifted)).interaction_.to_numpy()
    np.testing.assert_allclose(again, beta, rtol=0, atol=near + 1e-12 * size)


@given(panels())
@settings(max_examples=60, deadline=None)
def test_i3_full_fit_aligns_every_language_to_the_judge_effect(panel: pj.Panel) -> None:
    calibrator = pj.ConsensusCalibrator().fit(panel)
    cells = calibrator.transform(panel).cell_means
    gap = max(panel.tie_gap, 10 * rounding(panel))
    tau = mean_tau(cells, gap)
    effect = calibrator.judge_effect_.to_numpy()
    order = ranks(effect, gap)
    if np.ptp(effect) <= gap:
        assert tau == 0.0
        return
    assert tau == pytest.approx(1.0, abs=1e-6) or _has_near_tie(effect, gap)
    if not _has_near_tie(effect, gap):
        np.testing.assert_array_equal(ranks(cells, gap), np.broadcast_to(order, cells.shape))


def _has_near_tie(values: Array, gap: float) -> bool:
    """Two judges so close that the tie rule may fall either way by rounding."""
    between = np.diff(np.sort(values))
    return bool(((between > gap / 2) & (between < 2 * gap)).any())


@given(panels())
@settings(max_examples=40, deadline=None)
def test_i4_within_a_cell_calibration_is_a_shift(panel: pj.Panel) -> None:
    calibrator = pj.ConsensusCalibrator().fit(panel)
    moved = panel.scores - calibrator.transform(panel).scores
    spread = moved.max(axis=0) - moved.min(axis=0)
    assert spread.max() <= 10 * rounding(panel)


@given(panels())
@settings(max_examples=40, deadline=None)
def test_i5_interaction_is_the_mean_of_centred_tasks(panel: pj.Panel) -> None:
    beta = pj.ConsensusCalibrator().fit(panel).interaction_.to_numpy()
    np.testing.assert_allclose(double_centre(panel.scores).mean(axis=0), beta, rtol=0, atol=10 * rounding(panel))


@given(panels())
@settings(max_examples=40, deadline=None)
def test_i6_weights_and_location_scale_keep_every_order(panel: pj.Panel) -> None:
    plain = pj.ConsensusCalibrator().fit(panel).interaction_.to_numpy()
    weighted = pj.ConsensusCalibrator(weights="variance").fit(panel).interaction_.to_numpy()
    difference = plain - weighted
    assert np.abs(difference - difference[:, :1]).max() <= 50 * rounding(panel)
    cells = panel.cell_means
    sd = cells.std(axis=1, keepdims=True)
    if (sd > 1e-6 * max(np.ptp(panel.range), 1e-300)).all():
        # sd differs by language, so each language gets the tie rule on its own scale.
        for raw, normed, scale in zip(cells, (cells - cells.mean(axis=1, keepdims=True)) / sd, sd[:, 0], strict=True):
            gap = max(panel.tie_gap, 10 * rounding(panel))
            tau = kendall_tau(np.stack([raw, normed * scale]), gap)[0, 1]
            assert np.isnan(tau) or tau == pytest.approx(1, abs=1e-6) or _has_near_tie(raw, gap)


@given(panels(), st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_i7_squared_error_to_any_judge_independent_truth_falls_by_the_squared_interaction(
    panel: pj.Panel, seed: int
) -> None:
    n, k, _ = panel.shape
    calibrator = pj.ConsensusCalibrator().fit(panel)
    size = max(np.ptp(panel.range), 1e-300)
    truth = np.mean(panel.range) + size * np.random.default_rng(seed).normal(size=(n, k, 1))
    before = np.mean((panel.scores - truth) ** 2)
    after = np.mean((calibrator.transform(panel).scores - truth) ** 2)
    gain = np.mean(calibrator.interaction_.to_numpy() ** 2)
    biggest = max(abs(panel.range[0]), abs(panel.range[1]), size)
    assert before - after == pytest.approx(gain, abs=1e-12 * biggest * biggest)


def test_tie_gap_scales_with_the_range() -> None:
    assert tie_gap(0, 100) == pytest.approx(1e-7)
    assert tie_gap(5, 5) > 0
