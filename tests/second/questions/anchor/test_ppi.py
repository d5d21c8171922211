"""Prediction-powered means against ppi-python, their coverage, and what they do when the panel is no help."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from anchor_truth import ppi_coverage
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.gold import Gold, align_gold
from polyjudge.second.questions.anchor.distance import language_means, ppi_mean
from refusals import refused


@pytest.mark.parametrize("seed", range(8))
def test_it_is_ppi_pythons_estimate_and_interval(seed: int) -> None:
    from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

    rng = np.random.default_rng(seed)
    n, unlabelled = int(rng.integers(20, 200)), int(rng.integers(50, 2000))
    truth = rng.normal(50, 10, n + unlabelled)
    guess = 0.8 * truth + rng.normal(0, 4 + seed, n + unlabelled) + 7
    mine = ppi_mean(truth[:n], guess[:n], guess[n:])
    assert mine.weight > 0
    assert mine.estimate == pytest.approx(float(ppi_mean_pointestimate(truth[:n], guess[:n], guess[n:])[0]), abs=1e-9)
    low, high = ppi_mean_ci(truth[:n], guess[:n], guess[n:], alpha=0.05)
    # the referee's interval is normal with variances over n; ours has n - 1 in them and is nowhere nearer than t
    assert mine.low <= low.item()
    assert mine.high >= high.item()
    assert 2 * 1.96 * mine.se == pytest.approx(high.item() - low.item(), rel=0.03)
    assert mine.high - mine.low == pytest.approx(high.item() - low.item(), rel=0.25)


@pytest.mark.statistical
def test_never_wider_than_the_labels_alone() -> None:
    fell_back = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        labels, guess, rest = rng.normal(size=30), rng.normal(size=30), rng.normal(size=100)
        mine = ppi_mean(labels, guess, rest)
        alone = ppi_mean(labels, guess, rest, powered=False)
        low, high = alone.low, alone.high
        assert mine.high - mine.low <= high - low + 1e-12
        fell_back += mine.weight == 0
        if mine.weight == 0:
            assert (mine.low, mine.high) == pytest.approx((low, high))
    assert fell_back > 0


def test_useless_predictions_and_no_unlabelled_tasks_leave_the_labels() -> None:
    labels = np.arange(10.0)
    for guess, rest in ((np.ones(10), np.ones(50)), (labels, np.empty(0)), (-labels, -np.arange(50.0))):
        mine = ppi_mean(labels, guess, rest)
        assert mine.weight == 0
        assert mine.estimate == pytest.approx(4.5)


def test_bad_arrays_are_refused() -> None:
    with refused(UsageError, 2, 1):
        ppi_mean([1, 2], [1], [1])
    with refused(UsageError, "two", "interval"):
        ppi_mean([1], [1], [1])
    with refused(UsageError, "finite"):
        ppi_mean([1, np.nan], [1, 2], [1])


@pytest.mark.statistical
def test_intervals_cover() -> None:
    assert 0.93 <= ppi_coverage(800, 100, 300) <= 0.97


def test_language_means_side_by_side() -> None:
    rng = np.random.default_rng(5)
    truth = rng.normal(60, 12, (200, 3))
    panel = pj.Panel.from_array(truth[..., None] + 5 + rng.normal(0, 6, (200, 3, 4)))
    human = np.where(np.arange(200)[:, None] < [60, 1, 0], truth, np.nan)
    result = language_means(panel, Gold("score", human, panel.languages))
    first, one, none = (row for _, row in result.table.iterrows())
    assert first["high"] - first["low"] < first["labels_high"] - first["labels_low"]
    assert first["panel_only"] == pytest.approx(panel.scores[:, 0].mean())
    assert first["panel_low"] > first["high"] or abs(first["panel_only"] - 65) < 3
    expected = ppi_mean(human[:60, 0], panel.scores[:60, 0].mean(axis=1), panel.scores[60:, 0].mean(axis=1))
    assert first["estimate"] == pytest.approx(expected.estimate)
    assert np.isnan(one["low"])
    assert one["labels_only"] == human[0, 1]
    assert np.isnan(none["estimate"])
    assert ("language2", 1) in [(n.values.get("language"), n.values.get("labels")) for n in result.notes]
    assert ("language3", 0) in [(n.values.get("language"), n.values.get("labels")) for n in result.notes]


def test_preferences_use_the_panels_decision() -> None:
    rng = np.random.default_rng(6)
    margin = rng.normal(0.3, 1, (300, 2))
    panel = pj.Panel.from_array(margin[..., None] + rng.normal(0, 0.5, (300, 2, 3)))
    human = np.where(np.arange(300)[:, None] < 80, np.sign(margin + rng.normal(0, 0.3, (300, 2))), np.nan)
    result = language_means(panel, Gold("preference", human, panel.languages))
    assert (result.table["weight"] > 0).all()
    decided = np.sign(panel.scores.mean(axis=2))
    assert result.table["panel_only"].iloc[1] == pytest.approx(decided[:, 1].mean())


def test_unit_weights_are_counts() -> None:
    rng = np.random.default_rng(7)
    labels, guess, rest = rng.normal(size=20), rng.normal(size=20), rng.normal(size=40)
    weights = rng.integers(1, 4, 20).astype(float)
    alone = ppi_mean(labels, np.ones(20), np.ones(40), label_weights=weights)
    assert alone.estimate == pytest.approx(np.average(labels, weights=weights))
    twice = ppi_mean(labels, guess, rest, label_weights=np.full(20, 2.0), unlabelled_weights=np.full(40, 2.0))
    once = ppi_mean(labels, guess, rest)
    assert (twice.estimate, twice.low) == pytest.approx((once.estimate, once.low))


@pytest.mark.statistical
def test_intervals_cover_with_few_labels() -> None:
    """Five labels: the normal law with the plain variance would hold the truth in 85% of the cases."""
    inside = np.zeros(2)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        truth = rng.normal(0, 10, (105, 20))  # the languages have nothing in common
        panel = pj.Panel.from_array(truth[..., None] + rng.normal(0, 20, (105, 20, 2)))
        human = np.where(np.arange(105)[:, None] < 5, truth, np.nan)
        table = language_means(panel, Gold("score", human, panel.languages)).table
        inside[0] += ((table["labels_low"] <= 0) & (table["labels_high"] >= 0)).mean()
        inside[1] += ((table["low"] <= 0) & (table["high"] >= 0)).mean()
        assert (table["high"] - table["low"] <= table["labels_high"] - table["labels_low"] + 1e-9).all()
    assert 0.925 <= inside[0] / 40 <= 0.975
    assert inside[1] / 40 >= 0.91


@pytest.mark.statistical
@pytest.mark.parametrize("labels", [10, 20, 50])
def test_intervals_cover_skewed_labels(labels: int) -> None:
    """Lognormal labels, which Student's t covers in 80 to 90%: the skewness of all predictions tells of rare ones."""
    rng = np.random.default_rng(labels)
    inside = []
    for _ in range(400):
        human = np.exp(rng.normal(size=400))
        guess = human * np.exp(rng.normal(0, 0.5, 400))
        found = ppi_mean(human[:labels], guess[:labels], guess[labels:])
        inside.append(found.low <= np.exp(0.5) <= found.high)
    assert np.mean(inside) >= (0.93 if labels >= 20 else 0.9)


def test_the_far_side_of_skewed_labels_is_wider() -> None:
    rng = np.random.default_rng(3)
    for sign in (1, -1):
        human = sign * np.exp(rng.normal(size=200))
        found = ppi_mean(human[:20], human[:20], human[20:])
        sides = found.high - found.estimate, found.estimate - found.low
        assert sides[0] > 1.2 * sides[1] if sign > 0 else sides[1] > 1.2 * sides[0]


def test_labels_that_are_nearly_all_equal_have_an_interval() -> None:
    """Without a resample that keeps their spread bootstrap-t has no end: one more label at the other end has."""
    found = ppi_mean([0.0] * 19 + [50.0], np.zeros(20), np.arange(50.0), ends=(0, 100))
    assert found.low == 0
    assert 5 < found.high < 30


@pytest.mark.statistical
@pytest.mark.parametrize("rate", [0.5, 0.9, 0.98])
@pytest.mark.parametrize("labels", [5, 10, 20])
def test_pass_rates_near_the_ends_are_covered(rate: float, labels: int) -> None:
    rng = np.random.default_rng(labels)
    inside, width = [], []
    for _ in range(400):
        chance = np.clip(rng.normal(rate, 0.15, 200), 0, 1)
        passed = (rng.random(200) < chance) * 100.0
        guess = 100 * np.clip(chance + rng.normal(0, 0.1, 200), 0, 1)
        found = ppi_mean(passed[:labels], guess[:labels], guess[labels:], ends=(0, 100))
        inside.append(found.low <= passed.mean() <= found.high)
        width.append(found.high - found.low)
        assert 0 <= found.low < found.high <= 100
    assert np.mean(inside) >= 0.93
    assert np.mean(width) < 90


def test_labels_from_the_hardest_tasks_are_noticed() -> None:
    panel, _ = pj.simulate_panel(80, 3, 4, seed=1)
    order = np.argsort(panel.scores.mean(axis=(1, 2)))
    for tasks, odd in ((order[:20], True), (np.arange(0, 80, 4), False)):
        gold = pd.DataFrame(
            [(panel.tasks[t], x, 50.0 + t % 7) for t in tasks for x in panel.languages],
            columns=["task", "language", "score"],
        )
        means = language_means(panel, align_gold(panel, gold))
        assert (means.balance["p"] < 0.05).any() == odd
        assert ("labels.not-random" in [n.code for n in means.notes]) == odd


def test_a_cluster_with_and_without_labels_counts_once() -> None:
    """What a cluster adds to the labels and to the other predictions is not independent: it adds up."""
    rng = np.random.default_rng(4)
    source = rng.normal(0, 10, 40)
    human = np.repeat(source, 5) + rng.normal(0, 10, 200)
    guess = human + rng.normal(0, 10, 200)
    code, known = np.repeat(np.arange(40), 5), rng.permutation(200) < 60
    parts = human[known], guess[known], guess[~known]
    shared = ppi_mean(*parts, clusters=code[known], unlabelled_clusters=code[~known])
    apart = ppi_mean(*parts, clusters=code[known], unlabelled_clusters=code[~known] + 100)
    assert shared.estimate == apart.estimate
    assert shared.se > 1.05 * apart.se
    single = np.arange(200)
    assert ppi_mean(*parts, clusters=single[known], unlabelled_clusters=single[~known]).se == pytest.approx(
        ppi_mean(*parts).se
    )
