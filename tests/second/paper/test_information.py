"""Conditional mutual information: the published value, a plain per-point loop, missing replicates, level and power."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy.special import digamma

import polyjudge.second as pj
from polyjudge.second.paper import information
from polyjudge.second.paper.score_information import Slices
from refusals import refused


def plain(values: np.ndarray, labels: np.ndarray, q: int) -> float:
    """The estimator of one slice, point by point, on the points that have another of their label."""
    keep = np.array([not np.isnan(v) for v in values])
    values, labels = values[keep], labels[keep]
    keep = np.array([np.sum(labels == y) > 1 for y in labels])
    values, labels = values[keep], labels[keep]
    total = 0.0
    for i in range(len(values)):
        distance = np.abs(values - values[i])
        same = np.sort([distance[j] for j in range(len(values)) if j != i and labels[j] == labels[i]])
        reach = min(q, len(same))
        within = np.sum(distance <= same[reach - 1]) - 1
        total += digamma(reach) - digamma(max(1, within)) - digamma(len(same) + 1)
    return float(digamma(len(values)) + total / len(values))


@pytest.mark.real_data
def test_published_value(devai: pj.Panel, published: dict) -> None:
    result = information(devai)
    known = published["information"]
    assert (result.slices, result.slice_size, result.q, result.permutations) == (330, 24, 2, 500)
    assert result.observed == pytest.approx(known["observed"], abs=1e-6)
    assert result.debiased == pytest.approx(0.1775, abs=0.003)
    assert (result.low, result.high) == pytest.approx(known["interval"], abs=0.003)
    assert result.p == pytest.approx(known["p"], abs=1e-6)
    # Comparing distances exactly misses ties that rounding splits; the difference is stated.
    assert result.with_tolerance == pytest.approx(0.1706, abs=0.003)
    assert "information.ties" in [note.code for note in result.notes]


@pytest.mark.parametrize(
    ("replicates", "missing", "q"),
    [(3, 0.0, 2), (2, 0.0, 2), (4, 0.0, 2), (4, 0.3, 2), (5, 0.4, 3), (7, 0.0, 2), (9, 0.4, 2), (8, 0.3, 3)],
)
def test_slices_are_the_plain_loop(replicates: int, missing: float, q: int) -> None:
    rng = np.random.default_rng(replicates)
    values = rng.integers(0, 6, (25, 4 * replicates)).astype(float)
    values[rng.random(values.shape) < missing] = np.nan
    values[:, :2] = 1.0, 2.0
    labels = np.repeat(np.arange(4), replicates)
    expected = [plain(v, labels, q) for v in values]
    np.testing.assert_allclose(Slices(values, labels, q, (0.0,)).value()[0], expected, atol=1e-12)


@pytest.mark.parametrize(("missing", "replicates"), [(0.0, 3), (0.3, 3), (0.0, 8), (0.3, 8)])
def test_permutations_are_permutations_of_the_points(missing: float, replicates: int) -> None:
    """Any order gives what the plain loop gives with the points moved to those slots."""
    rng = np.random.default_rng(2)
    size = 4 * replicates
    values = rng.normal(size=(6, size)).round(1)
    labels = np.repeat(np.arange(4), replicates)
    values[rng.random(values.shape) < missing] = np.nan
    values[:, :2] = 1.0, 2.0
    slices = Slices(values, labels, 2, (0.0,))
    seen = []
    original = slices.value

    def spy(order: np.ndarray) -> np.ndarray:
        seen.append(order)
        return original(order)

    slices.value = spy  # type: ignore[method-assign]
    null = slices.permuted(5, 3)
    moved = np.take_along_axis(np.broadcast_to(np.where(slices.points, values, np.nan), (5, 6, size)), seen[0], axis=2)
    for draw in range(5):
        for s in range(6):
            assert sorted(seen[0][draw, s]) == list(range(size))
            assert null[0, draw, s] == pytest.approx(plain(moved[draw, s], labels, 2))


def test_no_language_effect_no_information_and_a_planted_one_is_found() -> None:
    flat, _ = pj.simulate_panel(30, 4, 3, 4, 1, interaction=0.0, language_sd=0.0, task_language_sd=0.0)
    nothing = information(flat, permutations=199)
    assert nothing.p > 0.05
    assert nothing.task_low < 0 < nothing.task_high
    planted, _ = pj.simulate_panel(30, 4, 3, 4, 1, interaction=15.0)
    found = information(planted, permutations=199)
    assert found.p == pytest.approx(1 / 200)
    assert found.task_low > 0


@pytest.mark.statistical
def test_level_over_many_panels() -> None:
    p = [
        information(
            pj.simulate_panel(10, 3, 2, 3, s, interaction=0.0, language_sd=0.0, task_language_sd=0.0)[0],
            permutations=39,
        ).p
        for s in range(100)
    ]
    assert np.mean(np.array(p) <= 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 100)


def test_without_replicates_it_says_what_to_do() -> None:
    with refused(pj.PanelError, "--replicate"):
        information(pj.simulate_panel(10, 3, 3, seed=1)[0])


def test_large_panels_are_sampled_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    panel, _ = pj.simulate_panel(200, 3, 3, 2, 1)
    whole = information(panel, permutations=19)
    monkeypatch.setattr(sys.modules[Slices.__module__], "MOST_STEPS", 25 * 3 * 6 * 1 * 19)
    result = information(panel, permutations=19)
    assert result.slices == 25 * 3
    assert any((n.values.get("chosen"), n.values.get("units")) == (25, 200) for n in result.notes)
    assert result.low <= result.task_low
    assert result.high >= result.task_high
    assert result.task_low < whole.debiased < result.task_high


def test_many_replicates_are_sampled_only_when_too_few_tasks_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    panel, _ = pj.simulate_panel(30, 2, 2, 12, 1)
    monkeypatch.setattr(sys.modules[Slices.__module__], "MOST_STEPS", 20 * 2 * 24 * 11 * 19 - 1)
    result = information(panel, permutations=19)
    assert result.slice_size == 16
    assert any((n.values.get("kept"), n.values.get("replicates")) == (8, 12) for n in result.notes)
    monkeypatch.setattr(sys.modules[Slices.__module__], "MOST_STEPS", 10)
    with refused(pj.PanelError, "--judges", 20):
        information(panel, permutations=19)
