"""Needs of languages: the map, their error, shrinking, and the offset (METHODS 38)."""

from __future__ import annotations

import numpy as np
import pytest

from polyjudge.stats import needs as st


def test_the_map_is_that_of_single_answers() -> None:
    g = np.random.default_rng(0)
    score, language = g.uniform(0, 100, 600), np.arange(600) % 3
    label = 0.5 * score + np.array([0, 20, -20])[language] + g.normal(0, 2, 600)
    knots, values = st.fit_map(score, label, language, 3)
    assert (np.diff(values) >= 0).all()
    middle = (knots > 20) & (knots < 80)
    slope = np.polyfit(knots[middle], values[middle], 1)[0]
    assert slope == pytest.approx(0.5, abs=0.03)


def test_the_error_of_a_mean_is_that_of_repeated_draws() -> None:
    g = np.random.default_rng(1)
    means, stated = [], []
    for _ in range(300):
        language = np.repeat(np.arange(4), 30)
        residual = g.normal(0, 5, 120)
        noise = st.estimate_noise(residual, np.full(120, 50.0), 50 + residual, language, 4, 100.0)
        stated.append(noise.variance)
        means.append(np.bincount(language, residual) / 30)
    assert np.mean(stated) == pytest.approx(np.var(means), rel=0.1)


def test_rare_labels_are_no_certainty() -> None:
    label = np.zeros(80)
    label[5] = 1.0
    language = np.repeat([0, 1], 40)
    noise = st.estimate_noise(label - 0.0, np.zeros(80), label, language, 2, 1.0)
    assert noise.n_different <= 1
    assert noise.variance[1] > 0.01 / 40  # though no label of the second language differs
    none = st.estimate_noise(np.zeros(80), np.zeros(80), np.zeros(80), language, 2, 1.0)
    assert none.n_different < 1
    assert none.variance == pytest.approx(1 / 80 / 40, rel=0.01)


def test_needs_are_shrunk_as_far_as_they_do_not_differ() -> None:
    need = np.array([3.0, -3.0, 1.0, -1.0])
    few = st.shrink_needs(need, np.zeros(4), 9.0 * np.eye(4), 40, 3.0)
    many = st.shrink_needs(need, np.zeros(4), 0.01 * np.eye(4), 400, 0.1)
    assert np.ptp(few.mean) < 0.55 * np.ptp(need)
    assert many.mean == pytest.approx(need, abs=0.05)
    assert few.draws.mean(0) == pytest.approx(few.mean, abs=0.25)


def test_draws_are_calibrated() -> None:
    g = np.random.default_rng(2)
    ranks = []
    for seed in range(150):
        true = 2 + g.normal(0, 4, 3)
        need = true + g.normal(0, 3, 3)
        draws = st.shrink_needs(need, np.zeros(3), 9.0 * np.eye(3), 60, 3.0, seed).draws
        ranks.append(float((draws[:, 0] - draws[:, 1] < true[0] - true[1]).mean()))
    assert np.mean([0.05 < r < 0.95 for r in ranks]) > 0.84


def test_what_the_map_moves_counts_only_where_labels_of_many_languages_say_so() -> None:
    moves = np.array([6.0, -6.0, 3.0, -3.0, 5.0, -5.0])
    g = np.random.default_rng(3)
    with_it = st.shrink_needs(moves + g.normal(0, 1, 6), moves, 9.0 * np.eye(6), 60, 3.0).mean
    against = st.shrink_needs(g.normal(0, 1, 6), moves, 9.0 * np.eye(6), 60, 3.0).mean
    assert np.ptp(with_it) > 3 * np.ptp(against)
    two = st.shrink_needs(np.array([1.0, -1.0]), np.array([6.0, -6.0]), 9.0 * np.eye(2), 60, 3.0).mean
    assert two == pytest.approx(st.shrink_needs(np.array([1.0, -1.0]), np.zeros(2), 9.0 * np.eye(2), 60, 3.0).mean)


def test_the_fall_is_of_differences_alone() -> None:
    true = np.array([[1.0, -1.0], [2.0, -2.0], [3.0, -3.0]])
    assert st.removed_share(true + 7, np.array([2.0, -2.0]) + 100, 0.5)[0] == pytest.approx(1 - 1 / 9)


def test_the_offset_reaches_the_mean_on_the_scale() -> None:
    mapped = np.array([0.0, 10, 50, 90, 100])
    for target in (20.0, 50.0, 95.0):
        offset = st.offset_to_mean(mapped, target, (0, 100))
        assert np.clip(mapped + offset, 0, 100).mean() == pytest.approx(target, abs=1e-6)
    assert st.offset_to_mean(mapped, 130, None) == pytest.approx(80)
    assert np.clip(mapped + st.offset_to_mean(mapped, 130, (0, 100)), 0, 100).mean() == pytest.approx(100)
