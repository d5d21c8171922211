"""Which items are drawn: strata, chances, common tasks, balanced systems, and what a further draw adds."""

from __future__ import annotations

import numpy as np
import pytest

import polyjudge.second as pj
from polyjudge.second.estimate.label_design import cut_points
from polyjudge.second.panel.gold import Gold
from polyjudge.second.questions.label.draw import allocate, doubt, draw_items
from polyjudge.second.questions.label.making import _ask


def _panel(seed: int = 0, n: int = 300, k: int = 3, systems: int = 0) -> pj.Panel:
    rng = np.random.default_rng(seed)
    task = rng.beta(0.4, 0.9, n) * 100
    if systems:
        return pj.Panel.from_array(
            np.clip(task[:, None, None, None] + rng.normal(0, 8, (n, systems, k, 2)), 0, 100),
            systems=[f"s{i}" for i in range(systems)], declared_range=(0, 100),
        )  # fmt: skip
    scores = np.clip(task[:, None, None] + rng.normal(0, 8, (n, k, 2)), 0, 100)
    return pj.Panel.from_array(scores, declared_range=(0, 100))


def test_every_item_of_a_stratum_has_the_chance_that_is_recorded() -> None:
    panel = _panel(n=60, k=1)
    tasks = list(panel.tasks)
    count = np.zeros(60)
    for seed in range(400):
        drawn = draw_items(panel, tasks, [], 20, seed)
        assert drawn.chosen.sum() == 20
        count += drawn.chosen[:, 0]
    size, taken = (np.bincount(drawn.stratum[m, 0], minlength=4) for m in (slice(None), drawn.chosen[:, 0]))
    chance = (taken / size)[drawn.stratum[:, 0]]
    np.testing.assert_allclose(drawn.probability[drawn.chosen[:, 0], 0], chance[drawn.chosen[:, 0]])
    assert np.abs(count / 400 - chance).max() < 5 * 0.5 / np.sqrt(400)


@pytest.mark.statistical
def test_means_from_the_design_are_unbiased_and_better_than_random_ones() -> None:
    panel = _panel(1, n=500, k=2)
    rng = np.random.default_rng(2)
    truth = np.where(rng.random((500, 2)) * 100 < panel.scores.mean(axis=2), 100.0, 0.0)
    from polyjudge.second.estimate.few_labels import powered_means

    errors, plain = [], []
    for seed in range(150):
        drawn = draw_items(panel, list(panel.tasks), [], 40, seed)
        fit = powered_means(np.where(drawn.chosen, truth, np.nan), panel.scores, drawn.stratum, panel.weights)
        errors.append(fit.mean[:, 0] - truth.mean(axis=0))
        plain.append([rng.choice(truth[:, i], 40, replace=False).mean() - truth[:, i].mean() for i in range(2)])
    errors, plain = np.array(errors), np.array(plain)  # type: ignore[assignment]
    assert np.abs(errors.mean(axis=0)).max() < 3 * errors.std() / np.sqrt(150)  # type: ignore[attr-defined]
    assert (errors**2).mean() < 0.6 * (plain**2).mean()  # type: ignore[operator]


def test_doubt_is_greatest_in_the_middle_and_none_at_the_ends_or_beyond() -> None:
    np.testing.assert_allclose(doubt(np.array([-1.0, 0.0, 5.0, 10.0, 12.0]), 0.0, 10.0), [0, 0, 0.5, 0, 0], atol=1e-12)


def test_a_scale_without_levels_gets_five() -> None:
    asked = _ask(
        pj.Panel.from_array(np.random.default_rng(1).uniform(0, 7, (30, 2, 3)), declared_range=(0, 7)), "levels", None
    )
    assert asked["values"] == [0.0, 1.75, 3.5, 5.25, 7.0]


def test_languages_share_tasks_and_systems_are_balanced() -> None:
    panel = _panel(3)
    chosen = draw_items(panel, list(panel.tasks), [], 30, 7).chosen
    common = (chosen.sum(axis=1) > 1).sum() / chosen.any(axis=1).sum()
    assert common > 0.4, "by chance it would be about a tenth"
    panel = _panel(4, n=40, systems=6)
    tasks, systems = panel.answers()
    units = panel.by_system()
    drawn = draw_items(units, tasks, systems, 36, 7).chosen
    for i in range(3):
        by_system = np.bincount(np.unique(systems, return_inverse=True)[1][drawn[:, i]], minlength=6)
        assert by_system.min() >= 3, by_system
        assert len({tasks[u] for u in np.flatnonzero(drawn[:, i])}) > 15, "not the same task for every system"


def test_more_keeps_what_was_drawn_and_goes_where_labels_vary() -> None:
    panel = _panel(5)
    tasks = list(panel.tasks)
    first = draw_items(panel, tasks, [], 20, 7)
    mean = panel.scores.mean(axis=2)
    rng = np.random.default_rng(0)
    wild = np.where(mean > 60, rng.choice([0.0, 100.0], mean.shape), 0.0)  # labels vary at the top alone
    labels = Gold("score", np.where(first.chosen, wild, np.nan), panel.languages)
    second = draw_items(panel, tasks, [], 30, 7, labels, first.cuts, first.chosen)
    assert (second.chosen >= first.chosen).all()
    assert second.new.sum(axis=0).tolist() == [30, 30, 30]
    assert (mean[second.new] > 60).mean() > 2 * (mean[first.chosen] > 60).mean()
    again = draw_items(panel, tasks, [], 20, 7)
    np.testing.assert_array_equal(again.chosen, first.chosen)


def test_strata_of_scores_that_pile_up() -> None:
    assert cut_points(np.zeros(50), 0, 100) == []
    two = cut_points(np.repeat([0.0, 100.0], 50), 0, 100)
    assert len(two) >= 1
    assert 0 < two[0] <= 100
    rng = np.random.default_rng(1)
    cuts = cut_points(rng.uniform(0, 100, 1000), 0, 100)
    np.testing.assert_allclose(cuts, [26, 50, 76], atol=4)


@pytest.mark.parametrize(
    ("total", "expected"), [(2, [0, 0, 2]), (6, [2, 2, 2]), (20, [2, 2, 16]), (500, [100, 100, 50])]
)
def test_allocation_keeps_to_its_bounds(total: int, expected: list[int]) -> None:
    out = allocate(np.array([100, 100, 50]), np.array([0.01, 0.01, 5.0]), total)
    assert out.tolist() == expected
