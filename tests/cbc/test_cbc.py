"""cbc.py against the paper's formulas written with loops (`paper_by_hand`), and what must hold on any panel."""

from __future__ import annotations

import doctest
import math
from typing import Any

import numpy as np
import paper_by_hand as by_hand
import pytest
from scipy import stats

from polyjudge import cbc
from polyjudge.base.errors import PanelError

TINY = 1e-9


def panel(kind: str, seed: int) -> Any:
    """Random scores with an interaction; with ties, or all the same for some judges."""
    rng = np.random.default_rng(seed)
    n, k, m = rng.integers(6, 14), rng.integers(2, 5), rng.integers(2, 6)
    scores = rng.normal(size=(n, 1, 1)) + rng.normal(size=(1, k, m)) + rng.normal(size=(n, k, m))
    if kind == "ties":
        scores = np.round(scores)
    if kind == "level":
        scores[:, :, 0] = scores[:, :, 1]
        scores[:, 0] = scores[:, 0, :1]
    return scores


PANELS = [(kind, seed) for kind in ("smooth", "ties", "level") for seed in range(4)]


@pytest.mark.parametrize(("kind", "seed"), PANELS)
def test_interaction_and_calibration(kind: str, seed: int) -> None:
    scores = panel(kind, seed)
    beta = by_hand.interaction(by_hand.cell_means(scores))
    np.testing.assert_allclose(cbc.interaction(scores), beta, atol=1e-12)
    np.testing.assert_allclose(cbc.calibrate(scores)[2], by_hand.subtract(scores[2], beta), atol=1e-12)


@pytest.mark.parametrize(("kind", "seed"), PANELS)
def test_held_out_protocols(kind: str, seed: int) -> None:
    """Table 2, leave one language out and Table 3, replicate by replicate."""
    scores = panel(kind, seed)
    drawn = cbc.draw(len(scores), 12, seed)
    s = cbc.split(scores, drawn, tiny=TINY)
    lists = [[t for t in range(len(scores)) for _ in range(c[t])] for c in drawn]
    lists = [x for x in lists if len(set(x)) < len(scores)]
    assert len(lists) == len(s.left)
    found = cbc.held_out(s)
    chosen = cbc.decisions(s)
    for r, tasks in enumerate(lists):
        wanted = by_hand.held_out(scores, tasks, TINY)
        assert wanted is not None
        assert {x: float(found[x][r]) for x in wanted} == pytest.approx(wanted)
        if kind == "smooth":
            for name, lost in by_hand.decide(scores, tasks).items():
                np.testing.assert_allclose(chosen[name].regret[r], lost, atol=1e-9)
                assert list(chosen[name].right[r]) == [x < 1e-9 for x in lost]
    if scores.shape[1] > 2:
        raw, zero = cbc.leave_one_language_out(s, 1)
        for r, tasks in enumerate(lists):
            assert (raw[r], zero[r]) == pytest.approx(by_hand.unseen(scores, tasks, 1, TINY))


@pytest.mark.parametrize("seed", range(6))
def test_reversals(seed: int) -> None:
    scores = panel("smooth", seed)
    r = cbc.reversals(scores)
    rows = [by_hand.reversal(scores, int(i), int(j)) for i, j in zip(r.i, r.j, strict=True)]
    delta, a, b, published, selected = map(np.array, zip(*rows, strict=True))
    np.testing.assert_allclose(r.delta, delta, rtol=1e-9)
    assert r.language_a.tolist() == a.tolist()
    assert r.language_b.tolist() == b.tolist()
    np.testing.assert_allclose(r.p_published, stats.false_discovery_control(published), rtol=1e-7)
    np.testing.assert_allclose(r.p, stats.false_discovery_control(selected), rtol=1e-7)
    assert int(cbc.reversing(scores.mean(0))) == (delta > 0).sum()


def test_pairs_that_never_differ_do_not_reverse() -> None:
    scores = panel("level", 1)
    r = cbc.reversals(scores, TINY)
    assert r.delta[0] == 0
    assert (r.p_published[0], r.p[0]) == (1, 1)
    assert math.isnan(r.gap_a[0])


@pytest.mark.parametrize("most", [3, 50])
def test_tau_is_scipys(most: int) -> None:
    """With many ties, and with few."""
    orders = np.random.default_rng(most).integers(0, most, (4, 9)).astype(float)
    wanted = [[stats.kendalltau(x, y).statistic for y in orders] for x in orders]
    signs = cbc.signs(orders)
    np.testing.assert_allclose(cbc.tau(signs, signs), wanted, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_fit(seed: int) -> None:
    """Eq. 1 and Eq. 2 against least squares on dummy variables."""
    rng = np.random.default_rng(seed)
    runs = panel("smooth", seed)[..., None] + rng.normal(size=(1, 1, 1, 3)) + 0.5 * rng.normal(size=(1, 1, 1, 1))
    runs = runs + rng.normal(size=runs.shape)
    found = cbc.fit(runs)
    assert found.r2_simplified == pytest.approx(by_hand.r_squared(runs, False), rel=1e-9)
    assert found.r2_full == pytest.approx(by_hand.r_squared(runs, True), rel=1e-9)


def test_proposition_2_on_drawn_noise() -> None:
    """The variance constant is that of many draws, and the radius fails in fewer than epsilon of them."""
    n, k, m, sigma = 5, 3, 4, 2.0
    noise = np.random.default_rng(0).normal(0, sigma, (4000, n, k, m))
    error = cbc.double_centre(noise.mean(1))
    assert error.var() == pytest.approx(sigma**2 / n * cbc.variance_constant(k, m), rel=0.03)
    reach = cbc.radius(sigma, n, k, m, 0.1)
    share = (np.abs(error).max((1, 2)) >= reach).mean()
    assert 0 < share < 0.1
    tail = 2 * np.exp(-n * reach**2 / (2 * sigma**2 * cbc.variance_constant(k, m)))  # Eq. 4
    assert k * m * tail == pytest.approx(0.1)
    assert cbc.noise_sigma(noise[0]) == pytest.approx(sigma, rel=0.35)
    assert np.mean([cbc.noise_sigma(x) for x in noise[:400]]) == pytest.approx(sigma, rel=0.03)


def test_tasks_for_is_the_first_number_that_is_enough() -> None:
    tasks = cbc.tasks_for(3.0, 8.0, 5, 4)
    assert cbc.radius(8.0, tasks, 5, 4) <= 3.0 < cbc.radius(8.0, tasks - 1, 5, 4)


@pytest.mark.parametrize(("kind", "seed"), PANELS)
def test_identities(kind: str, seed: int) -> None:
    """METHODS 3: the panel's mean does not change (I1), the rest is arithmetic (I2, I3)."""
    scores = panel(kind, seed)
    rng = np.random.default_rng(seed)
    after, beta = cbc.calibrate(scores), cbc.interaction(scores)
    np.testing.assert_allclose(after.mean(2), scores.mean(2), atol=1e-12)
    np.testing.assert_allclose(beta.sum(0), 0, atol=1e-12)
    np.testing.assert_allclose(beta.sum(1), 0, atol=1e-12)
    n, k, m = scores.shape
    harmless = rng.normal(size=(n, 1, m)) + rng.normal(size=(n, k, 1)) + rng.normal(size=(1, 1, m))
    np.testing.assert_allclose(cbc.interaction(scores + harmless), beta, atol=1e-12)
    whole = cbc.held_out(cbc.split(scores, tiny=TINY))
    defined = np.ptp(scores.mean((0, 1))) > TINY
    assert float(whole["cbc"][0]) == pytest.approx(1.0 if defined else 0.0)
    s = cbc.split(scores, cbc.draw(n, 5, seed), tiny=TINY)
    fall = cbc.gain(s, s.beta)
    truth = rng.normal(size=(1, k, 1))
    before, later = ((x - truth) ** 2 for x in (s.left, s.left - s.beta))
    np.testing.assert_allclose(fall, (before - later).mean((1, 2)), atol=1e-7)


def test_missing_scores_are_left_out_of_means() -> None:
    scores = panel("smooth", 3)
    scores[1, 0, 0] = np.nan
    assert cbc.cell_means(scores)[0, 0] == pytest.approx(np.nanmean(scores[:, 0, 0]))
    counts = np.ones((1, len(scores)))
    counts[0, 2] = 3
    there = [*(t for t in range(len(scores)) if t != 1), 2, 2]
    assert cbc.cell_means(scores, counts)[0, 0, 0] == pytest.approx(np.mean([scores[t, 0, 0] for t in there]))


def test_ties_do_not_hang_on_the_last_bit() -> None:
    values = np.array([1.0, 1.0 + 1e-13, 0.5])
    assert int(cbc.first_max(values, TINY)) == 0
    assert int(cbc.first_max(values)) == 1
    assert float(cbc.mean_tau(np.array([values, values[::-1]]), TINY)) == pytest.approx(
        by_hand.mean_tau([values, values[::-1]], TINY)
    )


def test_the_examples_in_cbc_hold() -> None:
    found = doctest.testmod(cbc)
    assert found.attempted > 8
    assert not found.failed


def test_binomial_interval_is_scipys() -> None:
    for hits, of in ((0, 10), (3, 10), (10, 10), (5478, 8000)):
        wanted = stats.binomtest(hits, of).proportion_ci(method="exact")
        assert cbc.binomial_interval(hits, of) == pytest.approx((wanted.low, wanted.high))


def test_the_interaction_of_scores_with_holes_is_refused() -> None:
    """Where hard tasks lack a cell its mean is of other tasks: an interaction would come out of nothing."""
    rng = np.random.default_rng(0)
    additive = rng.normal(0, 20, (100, 1, 1)) + np.arange(3)[:, None] + np.arange(4)
    hard_tasks = np.argsort(additive[:, 0, 0])[:50]
    additive[hard_tasks, 0, 0] = np.nan
    assert np.abs(cbc.double_centre(cbc.cell_means(additive))).max() > 3
    for function in (cbc.interaction, cbc.calibrate):
        with pytest.raises(PanelError, match="50 of 1,200 scores are missing"):
            function(additive)
    assert np.isnan(cbc.calibrate(additive, np.zeros((3, 4)))).sum() == 50
