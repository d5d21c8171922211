"""How many labels to begin with, before there are any."""

import numpy as np
import pytest
from scipy.special import stdtrit

import polyjudge.second as pj
from polyjudge.second.estimate.label_design import FIRST, by_neyman, for_most, labels_expected


def noisy(judges: int, sd: float, n: int = 3000, seed: int = 1) -> pj.Panel:
    rng = np.random.default_rng(seed)
    truth = rng.uniform(30, 70, (n, 2, 1))
    return pj.Panel.from_array(np.clip(truth + rng.normal(0, sd, (n, 2, judges)), 0, 100), declared_range=(0, 100))


@pytest.mark.parametrize("judges", [2, 5])
def test_people_who_differ_as_a_judge_does(judges: int) -> None:
    """A judge less the mean of the others: sd * sqrt(1 + 1 / (m - 1)), within strata of the mean."""
    found = labels_expected(noisy(judges, 10.0), 2.0)
    known = (10.0 * np.sqrt(1 + 1 / (judges - 1)) * stdtrit(30, 0.975) / 2.0) ** 2
    assert found == pytest.approx(known, rel=0.1)


def test_twice_as_wide_takes_a_quarter() -> None:
    panel = noisy(4, 15.0)
    assert labels_expected(panel, 2.0) == 200  # the most
    narrow, wide = labels_expected(panel, 3.0), labels_expected(panel, 6.0)
    assert narrow is not None
    assert wide == pytest.approx(narrow / 4, abs=1)


def test_no_first_round_is_tiny_and_one_judge_tells_nothing() -> None:
    assert labels_expected(noisy(4, 1.0), 5.0) == FIRST
    assert labels_expected(noisy(1, 10.0), 5.0) is None


def test_answers_count_where_there_are_systems() -> None:
    """Labels are of answers: their spread counts, not that of means over systems."""
    rng = np.random.default_rng(2)
    scores = rng.uniform(30, 70, (400, 3, 1, 1)) + rng.normal(0, 12, (400, 3, 2, 4))
    panel = pj.Panel.from_array(scores, systems=("a", "b", "c"), declared_range=(0, 100))
    expected = (12 * np.sqrt(4 / 3) * stdtrit(30, 0.975) / 4) ** 2
    assert labels_expected(panel, 4.0) == pytest.approx(expected, rel=0.12)


def test_one_number_is_for_nine_languages_in_ten() -> None:
    assert for_most(np.array([*[12.0] * 9, 150.0])) == 26  # between, as quantiles are
    assert for_most(np.array([-3.0, -1.0])) is None
    assert for_most(np.array([np.nan])) is None
    stratum = np.array([[0], [0], [0], [1]])
    assert by_neyman(stratum, np.array([[10.0, 30.0]]), 5.0)[0] == np.ceil((15 * stdtrit(30, 0.975) / 5) ** 2)
