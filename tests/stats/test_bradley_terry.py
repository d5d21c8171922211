"""Strengths of systems from pairs (METHODS 37); evalica is the referee."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import kstest

from polyjudge.stats.bradley_terry import (
    Games,
    compare_shares,
    expected_share,
    find_components,
    fit_strengths,
    is_plain_enough,
    measure_fit,
    plain_shares,
)


def play(seed: int, strengths: list[float], n: int, *, place: float = 0.0, ties: float = 0.0) -> Games:
    """Games of random pairs of systems; the first of each is shown first."""
    generator = np.random.default_rng(seed)
    theta = np.array(strengths)
    first = generator.integers(0, len(theta), n)
    second = (first + generator.integers(1, len(theta), n)) % len(theta)
    won = (generator.random(n) < expit(theta[first] - theta[second] + place)).astype(float)
    won[generator.random(n) < ties] = 0.5
    return Games(first, second, won, np.arange(n), len(theta), place=np.ones(n) if place else None)


def by_evalica(games: Games) -> np.ndarray:
    """Log strengths, mean 0."""
    evalica = pytest.importorskip("evalica")
    winner = {1.0: evalica.Winner.X, 0.0: evalica.Winner.Y, 0.5: evalica.Winner.Draw}
    solved = evalica.bradley_terry(
        games.first.tolist(), games.second.tolist(), [winner[x] for x in games.won], tolerance=1e-14, limit=100_000
    )
    log = np.log(solved.scores.sort_index().to_numpy())
    return np.asarray(log - log.mean())


@pytest.mark.parametrize("ties", [0.0, 0.3])
def test_strengths_are_those_of_evalica(ties: float) -> None:
    games = play(1, [1.0, 0.4, 0.0, -0.5, -0.9], 400, ties=ties)
    referee = by_evalica(games)
    assert np.abs(fit_strengths(games, half_tie=0).theta - referee).max() < 1e-6
    assert np.abs(fit_strengths(games).theta - referee).max() < 0.025


def test_influences_are_what_leaving_a_task_out_does() -> None:
    games = play(2, [0.8, 0.0, -0.8], 300, place=0.4)
    whole = fit_strengths(games)
    for left_out in (0, 17, 299):
        without = fit_strengths(games.take(games.unit != left_out))
        assert whole.theta - without.theta == pytest.approx(whole.influence[left_out], rel=0.05, abs=3e-5)
        change = whole.place - without.place
        assert change == pytest.approx(whole.place_influence[left_out], rel=0.05, abs=3e-5)


def test_influences_are_enlarged_by_leverage() -> None:
    """Two systems, eight tasks, no prior: the variance of a mean with the divisor n - 1."""
    won = np.array([1.0, 1, 1, 0, 1, 0, 1, 1])
    games = Games(np.zeros(8, int), np.ones(8, int), won, np.arange(8), 2)
    strengths = fit_strengths(games, half_tie=0)
    lead = strengths.influence[:, 0] - strengths.influence[:, 1]
    share = won.mean()
    assert (lead**2).sum() == pytest.approx(won.var(ddof=1) / 8 / (share * (1 - share)) ** 2)


def test_forty_of_forty_stay_finite() -> None:
    n = 40
    games = Games(np.zeros(n, int), np.ones(n, int), np.ones(n), np.arange(n), 2)
    strengths = fit_strengths(games)
    assert strengths.theta[0] - strengths.theta[1] == pytest.approx(np.log(40.25 / 0.25))


def test_the_place_is_told_from_strengths_where_the_schedule_does() -> None:
    """The better system is mostly shown second."""
    generator = np.random.default_rng(3)
    first = (generator.random(4000) < 0.8).astype(int)
    won = (generator.random(4000) < expit(np.where(first == 0, 0.6, -0.6) + 0.5)).astype(float)
    games = Games(first, 1 - first, won, np.arange(4000), 2, place=np.ones(4000))
    strengths = fit_strengths(games)
    assert strengths.theta[0] - strengths.theta[1] == pytest.approx(0.6, abs=0.25)
    assert strengths.place[0] == pytest.approx(0.5, abs=0.15)
    without = fit_strengths(games.without_place())
    assert without.theta[0] - without.theta[1] < 0.4


def test_one_order_tells_no_place_of_two_systems_but_of_three() -> None:
    n = 300
    two = Games(np.zeros(n, int), np.ones(n, int), np.ones(n), np.arange(n), 2, place=np.ones(n))
    assert np.isnan(fit_strengths(two).place).all()
    pairs = np.array([[0, 1], [0, 2], [1, 2]])[np.arange(3 * n) % 3]
    generator = np.random.default_rng(4)
    won = (generator.random(3 * n) < expit(0.8)).astype(float)  # equal systems, and the first place wins
    three = Games(pairs[:, 0], pairs[:, 1], won, np.arange(3 * n), 3, place=np.ones(3 * n))
    strengths = fit_strengths(three)
    assert strengths.place[0] == pytest.approx(0.8, abs=0.4)
    assert np.abs(strengths.theta).max() < 0.3


def test_each_judge_has_a_place_term_of_its_own() -> None:
    games = play(5, [0.5, 0.0, -0.5], 3000)
    judge = games.unit % 2
    generator = np.random.default_rng(6)
    theta = np.array([0.5, 0.0, -0.5])
    chance = expit(theta[games.first] - theta[games.second] + np.array([0.9, -0.3])[judge])
    won = (generator.random(3000) < chance).astype(float)
    place = fit_strengths(replace(games, won=won, judge=judge, place=np.ones(3000))).place
    assert place == pytest.approx([0.9, -0.3], abs=0.15)


def test_systems_that_no_games_join_have_no_difference() -> None:
    first, second = np.tile([0, 2], 60), np.tile([1, 3], 60)
    games = Games(first, second, (np.arange(120) % 3 > 0).astype(float), np.arange(120), 5)
    strengths = fit_strengths(games)
    assert find_components(first, second, 5).tolist() == [0, 0, 2, 2, 4]
    differences = compare_shares(strengths.share, strengths.share_influence, strengths.component)
    assert np.isfinite(differences.low[0, 1])
    assert np.isnan(differences.gap[0, 2])
    assert np.isnan(strengths.share[4])


def test_differences_are_those_of_the_plain_formula() -> None:
    games = play(7, [0.8, 0.2, 0.0, -1.0], 500)
    strengths = fit_strengths(games)
    shares = compare_shares(strengths.share, strengths.share_influence, strengths.component)
    x = strengths.share_influence[:, 0] - strengths.share_influence[:, 3]
    assert shares.effective_tasks[0, 3] == pytest.approx((x**2).sum() ** 2 / (x**4).sum())
    assert shares.gap[0, 3] == pytest.approx(strengths.share[0] - strengths.share[3])
    assert shares.low[0, 3] < shares.gap[0, 3] < shares.high[0, 3]
    assert shares.low[3, 0] == pytest.approx(-shares.high[0, 3])
    # Slopes of shares: a small change of strengths changes shares by so much.
    step = 1e-6 * np.array([1.0, -2.0, 0.5, 0.5])
    moved = (expected_share(strengths.theta + step) - strengths.share) / 1e-6
    slopes = np.linalg.lstsq(strengths.influence, strengths.share_influence, rcond=None)[0]
    centred = step / 1e-6 - (step / 1e-6).mean()
    assert centred @ slopes == pytest.approx(moved, abs=1e-4)


def test_few_tasks_have_no_interval() -> None:
    games = play(8, [0.5, -0.5], 3)
    strengths = fit_strengths(games)
    assert np.isnan(compare_shares(strengths.share, strengths.share_influence, strengths.component).low).all()


def test_a_circle_does_not_fit_and_strengths_do() -> None:
    """p is evenly spread where the model holds; rock, paper and scissors are found."""
    p = [
        measure_fit(games, fit_strengths(games)).p
        for games in (play(s, [0.8, 0.3, -0.2, -0.9], 400) for s in range(60))
    ]
    assert kstest(p, "uniform").pvalue > 0.01
    circle = np.array([[0, 1], [1, 2], [2, 0]])[np.arange(300) % 3]
    won = (np.random.default_rng(9).random(300) < 0.8).astype(float)
    games = Games(circle[:, 0], circle[:, 1], won, np.arange(300), 3)
    fit = measure_fit(games, fit_strengths(games))
    assert fit.fails
    assert np.abs(fit.z).min() > 3
    tree = play(10, [0.5, 0.0], 100)
    assert np.isnan(measure_fit(tree, fit_strengths(tree)).p)


def test_systems_that_never_win_fit() -> None:
    """Their own spread is nearly nothing: it must not pass for a bad fit."""
    theta = np.linspace(-2.5, 2.5, 8).tolist()
    fails = [measure_fit(games, fit_strengths(games)).fails for games in (play(s, theta, 2000) for s in range(40))]
    assert sum(fails) <= 3


def test_plain_shares_are_means_and_their_influences_sum_to_their_variance() -> None:
    games = play(11, [0.6, 0.0, -0.6], 600, ties=0.2)
    share, influence = plain_shares(games)
    won = np.concatenate([games.won[games.first == 1], 1 - games.won[games.second == 1]])
    assert share[1] == pytest.approx(won.mean())
    assert np.sqrt((influence[:, 1] ** 2).sum()) == pytest.approx(won.std(ddof=1) / np.sqrt(len(won)), rel=0.01)


def test_shares_of_many_units_are_those_of_few() -> None:
    """Folding units changes errors by chance only, and strengths not at all."""
    games = play(12, [0.7, 0.0, -0.7], 50_000)
    whole = fit_strengths(games)
    assert len(whole.influence) == 5_000
    half = fit_strengths(replace(games, unit=games.unit % 2_500))
    assert half.theta == pytest.approx(whole.theta, abs=1e-12)
    assert np.sqrt(np.diag(half.covariance)) == pytest.approx(np.sqrt(np.diag(whole.covariance)), rel=0.05)


def place_games(seed: int, n: int, n_systems: int, *, is_asked_twice: bool) -> Games:
    """Two judges, of whom the second mostly picks what is shown first."""
    g = np.random.default_rng(seed)
    theta = np.linspace(0.8, -0.8, n_systems)
    pair = np.sort(np.argsort(g.random((n, n_systems)), axis=1)[:, :2], axis=1)
    task = np.repeat(np.arange(n), 4)
    first, second = pair[task].T
    judge = np.tile([0, 0, 1, 1], n)
    place = np.tile([1.0, -1.0], 2 * n) if is_asked_twice else g.choice([-1.0, 1.0], 4 * n, p=[0.3, 0.7])
    chance = 1 / (1 + np.exp(theta[second] - theta[first] - place * np.where(judge == 1, 2.0, 0.0)))
    won = (g.random(4 * n) < chance).astype(float)
    return Games(first, second, won, task, n_systems, place=place, judge=judge)


def test_shares_are_of_both_orders_asked_equally_often() -> None:
    """Two systems, both orders: the share is what was observed, whatever the place does."""
    games = place_games(1, 200, 2, is_asked_twice=True)
    strengths = fit_strengths(games, half_tie=1e-9)
    assert strengths.place[1] > 1.5
    assert strengths.share[0] == pytest.approx(games.won.mean(), abs=1e-6)
    assert is_plain_enough(games, strengths)
    assert not is_plain_enough(place_games(1, 200, 2, is_asked_twice=False), strengths)
    assert not is_plain_enough(place_games(1, 50, 3, is_asked_twice=True), strengths)


def test_influences_of_shares_hold_the_place() -> None:
    """A task that counts a little more moves the shares by its influence, up to its leverage."""
    games = place_games(2, 300, 3, is_asked_twice=False)
    strengths = fit_strengths(games)
    for task in (0, 7, 42):
        weight = np.where(games.unit == task, 1 + 1e-4, 1.0)
        # The weights of judges move too: all of this task's judges alike, so hardly.
        moved = (fit_strengths(replace(games, weight=weight)).share - strengths.share) / 1e-4
        assert strengths.share_influence[task] == pytest.approx(moved, rel=0.05, abs=3e-5)
