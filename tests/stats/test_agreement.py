"""Agreement of judges (METHODS 20 and 31)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import stdtrit

from polyjudge.stats import agreement as module
from polyjudge.stats.agreement import Agreement, agreement

Array = NDArray[np.float64]


def seen_by(y: Array, **more: Any) -> Agreement:
    return agreement(y, np.arange(len(y)), np.ones(len(y)), **more)


def judges(seed: int, n: int = 60, s: int = 3, k: int = 3, m: int = 5, shared: tuple[int, ...] | None = None) -> Array:
    g = np.random.default_rng(seed)
    y = 50 + g.normal(0, 12, (n, 1, k, 1)) + g.normal(0, 5, (n, s, k, m))
    y[..., list(range(m) if shared is None else shared)] += g.normal(0, 8, (n, s, k, 1))
    return y


def test_r_is_the_correlation_within_task_and_language() -> None:
    y = judges(0, m=3)
    a = seen_by(y)
    z = y - y.mean(1, keepdims=True)
    want = np.corrcoef(z.reshape(-1, 3).T)
    assert np.allclose(a.pairs[np.triu_indices(3, 1)], want[np.triu_indices(3, 1)], atol=1e-9)
    assert a.r == pytest.approx(want[np.triu_indices(3, 1)].mean())
    assert a.reliability == pytest.approx(3 * a.r / (1 + 2 * a.r))
    assert a.over == "systems"


def test_without_systems_r_is_over_tasks_within_languages() -> None:
    y = judges(1, s=1, m=2)
    a = seen_by(y)
    z = (y - y.mean(0))[:, 0].reshape(-1, 2)
    assert a.r == pytest.approx(np.corrcoef(z.T)[0, 1])
    assert a.over == "tasks"


@pytest.mark.parametrize("systems", [1, 3])
@pytest.mark.parametrize("tasks_in_a_row", [1, 4])
def test_many_judges_at_once_are_as_two_at_a_time(systems: int, tasks_in_a_row: int) -> None:
    """A hole in one answer brings the way for panels with holes; each pair that does not have it says the same."""
    y = judges(3, n=50, s=systems, m=7)
    g = np.random.default_rng(4)
    unit = np.r_[g.permutation(20), g.integers(0, 20, 30)]
    weight = np.full(50, float(tasks_in_a_row)) + (tasks_in_a_row > 1) * g.integers(0, 3, 50)
    thin = y.copy()
    thin[7, 0, 0, 6] = np.nan
    many, two = (agreement(x, unit, weight, width=100) for x in (y, thin))
    for frame in ("pairs", "pairs_low", "pairs_high"):
        assert getattr(many, frame)[:6, :6] == pytest.approx(getattr(two, frame)[:6, :6], abs=1e-9, nan_ok=True)
    assert not np.allclose(many.pairs[6, :6], two.pairs[6, :6], atol=1e-9)


def test_a_shift_of_a_judge_or_language_is_no_disagreement() -> None:
    y = judges(2)
    moved = y + np.array([0, 30, -10, 5, 2.0]) + np.array([1, 40, -9.0])[:, None]
    assert seen_by(moved).r == pytest.approx(seen_by(y).r)


def test_holes_are_left_out() -> None:
    y = judges(3, n=400)
    thin = y.copy()
    thin[np.random.default_rng(0).random(y.shape) < 0.2] = np.nan
    a, b = seen_by(y), seen_by(thin)
    assert b.r == pytest.approx(a.r, abs=0.03)
    assert np.isfinite(b.pairs[np.triu_indices(5, 1)]).all()


def test_verdicts() -> None:
    assert seen_by(judges(4)).verdict == "agree"
    assert seen_by(judges(4, n=200, shared=())).verdict == "hardly"
    assert seen_by(judges(4, n=6, s=2, k=1, m=3, shared=(0, 1))).verdict in ("unclear", "hardly")
    assert seen_by(judges(4, m=1)).verdict == "none"


def test_a_judge_that_never_varies_counts_nowhere() -> None:
    y = judges(5)
    y[..., 4] = 70
    a, b = seen_by(y), seen_by(y[..., :4])
    assert a.constant == (4,)
    assert (a.r, a.reliability) == pytest.approx((b.r, b.reliability), rel=1e-9)
    assert np.isnan(a.own[4])
    everyone = np.full((20, 2, 2, 3), 4.0)
    assert seen_by(everyone).verdict == "none"


def test_two_that_agree_beside_three_of_noise() -> None:
    """It was: "they agree with each other", of the noise, in 36 to 68%."""
    a = seen_by(judges(6, n=200, shared=(0, 1)))
    assert a.groups == ((0, 1),)
    assert a.alone == (2, 3, 4)
    assert a.verdict != "agree" or a.alone


def test_a_judge_that_agrees_less_is_named() -> None:
    y = judges(7, n=150)
    g = np.random.default_rng(1)
    y[..., 3] = 50 + 0.35 * (y[..., 3] - 50) + g.normal(0, 8, y.shape[:3])
    assert seen_by(y).odd == (3,)
    assert seen_by(judges(7, n=150)).odd == ()
    y = judges(7, n=6000, s=2, k=1)
    y[..., 3] += np.random.default_rng(2).normal(0, 3, y.shape[:3])
    a = seen_by(y)
    assert max(a.own_high[[3]]) < min(a.own_low[[0, 1, 2, 4]])  # lower for certain, and by too little for a word
    assert a.odd == ()


def test_makers_are_taken_apart() -> None:
    g = np.random.default_rng(8)
    y = judges(8, m=4, shared=())
    y[..., :2] += g.normal(0, 8, (*y.shape[:3], 1))
    a = seen_by(y, makers=["A", "A", "B", "C"])
    assert a.makers is not None
    assert a.makers[0] < 0.1 < a.pairs[0, 1]
    assert seen_by(y, makers=["A"] * 4).makers is None


def test_rows_that_are_means_of_tasks_say_the_same_as_the_tasks() -> None:
    """A mean of many answers has less noise but the whole difference between systems."""
    g = np.random.default_rng(9)
    y = judges(9, n=3000, shared=()) + g.normal(0, 3, (1, 3, 3, 1))
    few = y.reshape(300, 10, *y.shape[1:]).mean(1)
    a = seen_by(y)
    b = agreement(few, np.arange(300), np.full(300, 10.0))
    assert b.r == pytest.approx(a.r, abs=0.02)
    plain = agreement(few, np.arange(300), np.ones(300))
    assert plain.r > a.r + 0.2


def test_many_rows_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ROWS", 500)
    monkeypatch.setattr(module, "DRAWN", 300)
    a = seen_by(judges(10, n=800))
    assert a.rows == 300
    assert a.r == pytest.approx(seen_by(judges(10, n=400)).r, abs=0.1)


def test_nothing_is_drawn_where_units_are_few() -> None:
    y = judges(11)
    assert seen_by(y, seed=1).r_low == seen_by(y, seed=2).r_low
    many = judges(12, n=4500, s=2, k=1, m=2)
    assert seen_by(many, seed=1).r_low == seen_by(many, seed=1).r_low
    assert seen_by(many, seed=1).r_low != seen_by(many, seed=2).r_low
    assert seen_by(many, seed=1).r_low == pytest.approx(seen_by(many, seed=2).r_low, abs=0.003)


def test_limits_are_the_roots_of_fiellers_quadratic() -> None:
    """By hand, of three judges within tasks: all r0 for which the sum is not further than t from 0."""
    y = judges(13, n=40, k=1, m=3)
    x = y[:, :, 0] - y[:, :, 0].mean(1, keepdims=True)
    x = x / np.sqrt((x**2).sum((0, 1)))
    variance = (x**2).sum(1).mean(1)
    product = sum((x[..., i] * x[..., j]).sum(1) for i, j in ((0, 1), (0, 2), (1, 2))) / 3
    q = stdtrit(1 / (variance**2).sum() - 1, 0.975)

    def outside(r0: float) -> float:
        z = product - r0 * variance
        return float(z.sum() ** 2 - q**2 * (z**2).sum())

    a = seen_by(y, width=100)
    assert a.r_low < a.r < a.r_high
    assert [outside(a.r_low), outside(a.r_high)] == pytest.approx([0, 0], abs=1e-12)
    assert a.effective == pytest.approx(1 / (variance**2).sum())


def test_judges_that_nearly_always_agree_do_agree() -> None:
    """It was: "r = 1.00 [-0.88, 1.00]: too few tasks to tell"."""
    verdict = (np.arange(1000) % 3 == 0).astype(float)
    y = np.stack([verdict, verdict, verdict], axis=1)
    y[0, 2] = 1 - y[0, 2]
    a = seen_by(y[:, None, None], width=1)
    assert a.verdict == "agree"
    blind = 1 - 0.05 ** (1 / 1000)
    mean_square = np.mean([y[:, b].var() for b in range(3)])
    assert a.r_low == pytest.approx(a.r - blind / (2 * mean_square), abs=1e-9)
    equal = seen_by(np.repeat(verdict[:40, None], 2, axis=1)[:, None, None], width=1)
    assert equal.r == pytest.approx(1)
    assert equal.r_low < 0.9


def test_equal_judges_may_differ_where_nothing_was_drawn() -> None:
    """Rounding carries nothing."""
    x = judges(16, n=40, s=3, k=1, m=1)
    y = np.concatenate([x, x / 3 * 3, x * 7 / 7], axis=3)
    a = seen_by(y, width=100)
    within = x - x.mean(1, keepdims=True)
    blind = (1 - 0.05 ** (1 / 40)) * 100**2 / (2 * (within**2).mean())
    assert a.r == pytest.approx(1)
    assert a.r_low == pytest.approx(max(1 - blind, -1), abs=1e-6)


def test_where_few_tasks_carry_what_agrees_more_may() -> None:
    y = np.ones((200, 2, 1, 2))
    y[:4, 0, 0] = 0
    y[4:16, 0, 0, 0] = y[16:28, 0, 0, 1] = 0
    a = seen_by(y, width=1)
    mean_square = ((y - y.mean(1, keepdims=True)) ** 2).mean()
    assert a.r == pytest.approx(0.25)
    assert a.r_high == pytest.approx(a.r + (1 - 0.05 ** (1 / 200)) / (2 * mean_square))


def test_limits_of_pairs_hold_together() -> None:
    y = judges(17, m=4)
    a = seen_by(y, width=100)
    one = seen_by(y[..., :2], width=100, level=1 - 0.05 / 6)
    assert (a.pairs_low[0, 1], a.pairs_high[0, 1]) == pytest.approx((one.r_low, one.r_high), abs=1e-12)


def test_too_few_answers_differ() -> None:
    y = np.ones((60, 3, 1, 3))
    y[:2, 0, 0] = 0
    y[2, 1, 0, 0] = y[3, 2, 0, 1] = y[4, 2, 0, 2] = 0
    assert seen_by(y, width=1).verdict == "alike"
    assert seen_by(judges(4, n=7, m=3), width=100).verdict == "unclear"


def test_copies_count_as_one_judge() -> None:
    y = judges(14, m=4)
    y[..., 3] = y[..., 2]
    plain, merged, alone = seen_by(y), seen_by(y, copies=[0, 1, 2, 2]), seen_by(y[..., :3])
    for a, b in ((merged.r, alone.r), (merged.r_low, alone.r_low), (merged.reliability, alone.reliability)):
        assert a == pytest.approx(b, abs=1e-9)
    assert merged.own[:3] == pytest.approx(alone.own, abs=1e-9)
    assert merged.own[3] == pytest.approx(alone.own[2], abs=1e-9)
    assert plain.r > alone.r + 0.03
    y = judges(14, m=4)
    y[..., 1] = y[..., 0]
    merged, alone = seen_by(y, copies=[0, 0, 1, 2]), seen_by(y[..., 1:])
    assert merged.r == pytest.approx(alone.r, abs=1e-9)
    assert merged.own[1:] == pytest.approx(alone.own, abs=1e-9)
    assert (merged.own_low[2], merged.own_high[3]) == pytest.approx((alone.own_low[1], alone.own_high[2]), abs=1e-9)


def test_copies_are_seen_beside_each_other() -> None:
    """Two copies that no third judge agrees with agree with each other, and their correlation is in the table."""
    y = judges(18, n=200, m=4, shared=(0, 1))
    g = np.random.default_rng(3)
    own = g.normal(0, 8, y.shape[:3])
    y[..., 2] = 50 + own + g.normal(0, 1, own.shape)
    y[..., 3] = 50 + own + g.normal(0, 1, own.shape)
    a = seen_by(y, copies=[0, 1, 2, 2])
    assert a.pairs[2, 3] > 0.95
    assert a.groups == ((0, 1), (2, 3))
    only = seen_by(y[..., 2:], copies=[0, 0])
    assert only.r == pytest.approx(a.pairs[2, 3])
    assert only.verdict == "agree"


def test_several_judges_may_agree_less() -> None:
    y = judges(15, n=200, m=6)
    g = np.random.default_rng(1)
    y[..., 3:5] = 50 + 0.35 * (y[..., 3:5] - 50) + g.normal(0, 8, (*y.shape[:3], 2))
    a = seen_by(y)
    assert a.odd == (3, 4)
    rest = seen_by(y[..., [0, 1, 2, 5]])
    assert a.rest == pytest.approx((rest.r, rest.r_low, rest.r_high), abs=1e-9)


@pytest.mark.statistical
def test_intervals_cover() -> None:
    true = 64 / (64 + 25)
    hits = sum(a.r_low <= true <= a.r_high for a in (seen_by(judges(s, n=25, k=2, m=3)) for s in range(150)))
    assert 0.9 <= hits / 150 <= 0.99
