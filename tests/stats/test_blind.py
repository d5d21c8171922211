"""Blind spots: failures that no drawn task shows."""

from __future__ import annotations

import numpy as np
import pytest

from polyjudge.stats.blind import blind_spot, unseen_share


@pytest.mark.parametrize("units", [6, 20, 120])
def test_so_many_failures_stay_unseen_in_one_of_twenty_samples(units: int) -> None:
    rate = unseen_share(units)
    drawn = np.random.default_rng(units).random((20_000, units))
    unseen = float((drawn >= rate).all(axis=1).mean())
    assert unseen == pytest.approx(0.05, abs=0.006)


def test_the_highest_mean_has_the_most_to_lose() -> None:
    hidden = blind_spot(np.array([[40.0, np.nan], [90.0, 70.0]]), low=10, units=30)
    assert hidden.size == pytest.approx(80 * unseen_share(30))


def test_one_judge_of_five_replaced_moves_a_quarter() -> None:
    panel = blind_spot([60.0], low=0, units=20, weight=1 / 4)
    alone = blind_spot([60.0], low=0, units=20)
    assert panel.size == pytest.approx(alone.size / 4)
    assert panel.share == alone.share


def test_a_failure_that_is_said_to_show_would_have_shown() -> None:
    for units in range(6, 400):
        hidden = blind_spot([50.0], low=0, units=units)
        assert 1 / hidden.one_in >= hidden.share - 1e-12
        assert 1 / (hidden.one_in + 1) < hidden.share


def test_nothing_can_be_lost_at_the_lower_end() -> None:
    assert blind_spot([0.0, np.nan], low=0, units=20).size == 0
    assert blind_spot([np.nan], low=0, units=20).size == 0
