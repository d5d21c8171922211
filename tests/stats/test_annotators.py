"""Means of languages with annotators as a sample (METHODS 38)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from polyjudge.stats.annotators import LanguageMeans, language_means

K = 5


def crossed(language: int, answer: int) -> list[str]:
    return ["a", "b"]


def nested(language: int, answer: int) -> list[str]:
    return [f"{language}-{answer % 2}"]


def alone(language: int, answer: int) -> list[str]:
    return [f"{language}"]


def labels(
    who: Callable[[int, int], list[str]], seed: int = 0, severity: float = 6.0, n: int = 30
) -> tuple[LanguageMeans, np.ndarray]:
    """Means by labels of these annotators, and the true ones."""
    g = np.random.default_rng(seed)
    level, harsh = g.normal(0, 6, K), {}
    d, answers, languages, names = [], [], [], []
    for language in range(K):
        own = g.normal(0, 5, n)
        for answer in range(n):
            for name in who(language, answer):
                harsh.setdefault(name, g.normal(0, severity))
                d.append(level[language] + own[answer] - harsh[name] + g.normal(0, 4))
                answers.append(answer + n * language)
                languages.append(language)
                names.append(name)
    codes = np.unique(names, return_inverse=True)[1]
    return language_means(np.array(d), np.array(answers), np.array(languages), codes), level


def difference_error(means: LanguageMeans) -> float:
    """Standard error of the first language less the second."""
    v = means.covariance
    return float(np.sqrt(v[0, 0] + v[1, 1] - 2 * v[0, 1]))


def test_harshness_cancels_between_languages_where_people_label_in_all() -> None:
    means, _ = labels(crossed)
    assert means.is_crossed
    assert not means.is_confounded
    assert difference_error(means) < 2.2
    assert np.sqrt(means.covariance[0, 0]) > 1.3 * difference_error(means) / np.sqrt(2)  # the level keeps it


def test_it_does_not_cancel_where_they_label_in_one() -> None:
    means, _ = labels(nested)
    assert not means.is_crossed
    assert not means.is_confounded
    errors = [[difference_error(labels(who, seed)[0]) for seed in range(8)] for who in (nested, crossed)]
    assert np.mean(errors[0]) > 1.6 * np.mean(errors[1])


def test_one_annotator_a_language_cannot_be_told_from_it() -> None:
    means, _ = labels(alone)
    assert means.is_confounded
    assert difference_error(means) > difference_error(labels(nested, severity=0.5)[0])


@pytest.mark.parametrize("who", [crossed, nested, alone])
def test_differences_are_covered(who: Callable[[int, int], list[str]]) -> None:
    held = []
    for seed in range(40):
        means, level = labels(who, seed)
        centring = np.eye(K) - 1 / K
        half = 1.96 * np.sqrt(np.diag(centring @ means.covariance @ centring))
        held += list(np.abs(centring @ (means.mean - level)) <= half)
    assert np.mean(held) > 0.88


def test_labels_of_one_answer_share_its_noise() -> None:
    both, _ = labels(crossed, severity=0.0)
    d_variance = both.covariance - both.annotator_covariance
    assert d_variance[0, 0] == pytest.approx((25 + 16 / 2) / 30, rel=0.35)  # not (25 + 16) / 60


def test_what_more_labels_and_more_annotators_bring() -> None:
    few_people, _ = labels(nested)
    assert few_people.narrower_by_annotator > 0.1 > few_people.narrower_by_labels
    no_harshness, _ = labels(nested, severity=0.0, n=12)
    assert no_harshness.narrower_by_labels > no_harshness.narrower_by_annotator


def test_many_annotators() -> None:
    g = np.random.default_rng(0)
    who = g.integers(0, 200, 1000)
    language = np.arange(1000) % 3
    d = g.normal(0, 5, 1000) + g.normal(0, 3, 200)[who] + np.array([0.0, 4, -4])[language]
    means = language_means(d, np.arange(1000), language, who)
    assert means.mean - means.mean.mean() == pytest.approx([0, 4, -4], abs=1.2)


def test_a_crowd_is_taken_by_moments() -> None:
    """Two thousand people with five labels each: at once, and with what they differ by."""
    g = np.random.default_rng(1)
    who = np.arange(10_000) // 5
    language = who % 2
    harsh = g.normal(0, 4, 2000)
    d = g.normal(0, 4, 10_000) + harsh[who] + np.array([0.0, 3.0])[language]
    means = language_means(d, np.arange(10_000), language, who)
    assert means.mean[1] - means.mean[0] == pytest.approx(3, abs=0.8)
    assert means.covariance[0, 0] == pytest.approx((16 + 16 / 5) / 1000, rel=0.15)
    assert not means.is_confounded
