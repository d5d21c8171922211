"""Agreement of single cells: r by hand, what is expected, who is named and who never is (METHODS 31b)."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from polyjudge.stats.cell_agreement import CellAgreement, agreement_with_others, cell_agreement

Array = NDArray[np.float64]


def scores_of(seed: int, n: int = 80, systems: int = 1, languages: int = 4, judges: int = 5, sd: float = 5) -> Array:
    g = np.random.default_rng(seed)
    task = 12 * g.normal(size=(n, 1, 1, 1)) + 3 * g.normal(size=(n, 1, languages, 1))
    answer = 8 * g.normal(size=(n, systems, languages, 1)) if systems > 1 else 0
    return 50 + task + answer + sd * g.normal(size=(n, systems, languages, judges))


def look(scores: Array, **more: float) -> CellAgreement:
    cells = cell_agreement(scores, np.arange(len(scores)), **more)  # type: ignore[arg-type]
    assert cells is not None
    return cells


def positions(cells: CellAgreement) -> list[tuple[int, int]]:
    return [(cell.language, cell.judge) for cell in cells.named]


def test_r_is_the_correlation_with_the_mean_of_the_others() -> None:
    scores = scores_of(0)
    cells = look(scores)
    for language in range(4):
        for judge in range(5):
            others = np.delete(scores[:, 0, language], judge, axis=1).mean(1)
            want = np.corrcoef(scores[:, 0, language, judge], others)[0, 1]
            assert cells.r[language, judge] == pytest.approx(want, abs=1e-9)


def test_with_systems_r_is_within_tasks() -> None:
    scores = scores_of(1, systems=4)
    within = scores - scores.mean(1, keepdims=True)
    others = np.delete(within[:, :, 2], 3, axis=2).mean(2)
    want = np.corrcoef(within[:, :, 2, 3].ravel(), others.ravel())[0, 1]
    assert look(scores).r[2, 3] == pytest.approx(want, abs=1e-9)


def test_the_error_is_that_of_a_jackknife_of_tasks() -> None:
    scores = scores_of(2, n=60)[:, :, 0]
    unit = np.arange(60)
    agreements = agreement_with_others(scores, unit)
    keep = [np.delete(unit, task) for task in unit]
    without = np.array([np.arctanh(np.corrcoef(scores[k, 0, 0], scores[k, 0, 1:].mean(1))[0, 1]) for k in keep])
    jackknife = np.sqrt(59 / 60 * ((without - without.mean()) ** 2).sum())
    assert agreements.se[0] == pytest.approx(jackknife, rel=0.12)


def test_limits_are_of_students_t_by_the_tails_of_the_influences() -> None:
    scores = np.round(scores_of(2, n=60) / 25)  # few steps: few tasks make r
    cells = look(scores)
    x, y = scores[:, 0, 1, 2], np.delete(scores[:, 0, 1] - scores[:, 0, 1].mean(0), 2, axis=1).mean(1)
    x, y = x - x.mean(), y - y.mean()
    r = (x * y).sum() / np.sqrt((x * x).sum() * (y * y).sum())
    influence = x * y / np.sqrt((x * x).sum() * (y * y).sum()) - r / 2 * (x * x / (x * x).sum() + y * y / (y * y).sum())
    se = np.sqrt((influence**2).sum() * 60 / 57) / (1 - r * r)
    df = 2 / ((influence**4).sum() / (influence**2).sum() ** 2 - 1 / 60) - 1
    half_width = stats.t.ppf(1 - 0.05 / 20, df) * se
    assert cells.low[1, 2] == pytest.approx(np.tanh(np.arctanh(r) - half_width), abs=1e-6)
    assert cells.high[1, 2] == pytest.approx(np.tanh(np.arctanh(r) + half_width), abs=1e-6)


def test_clusters_are_units() -> None:
    scores = np.repeat(scores_of(3, n=60), 4, axis=0)  # every task four times: nothing more is known
    alone = agreement_with_others(scores[::4, :, 0], np.arange(60))
    repeated = agreement_with_others(scores[:, :, 0], np.repeat(np.arange(60), 4))
    assert np.allclose(alone.r, repeated.r)
    assert np.allclose(alone.se, repeated.se)
    naive = agreement_with_others(scores[:, :, 0], np.arange(240))
    assert (naive.se < 0.6 * repeated.se).all()


def test_a_reversed_judge_is_named_and_takes_nobody_with_it() -> None:
    scores = scores_of(4, judges=3)
    scores[:, :, 2, 1] = 100 - scores[:, :, 2, 1]
    cells = look(scores)
    assert positions(cells) == [(2, 1)]
    cell = cells.named[0]
    assert cell.is_reversed
    assert cell.low < cell.r < cell.high < 0 < 0.8 < cell.expected < 1
    assert (cells.r[2] < 0.6).all()  # the other two suffer from it, and are not named


def test_a_blind_judge_is_named_and_not_as_reversed() -> None:
    scores = scores_of(5, n=200)
    scores[:, :, 0, 3] = 50 + 12 * np.random.default_rng(0).normal(size=(200, 1))
    cells = look(scores)
    assert positions(cells) == [(0, 3)]
    assert not cells.named[0].is_reversed


def test_a_judge_that_agrees_little_everywhere_is_not_named() -> None:
    scores = scores_of(6, n=300)
    scores[..., 3] = 50 + 12 * np.random.default_rng(0).normal(size=(300, 1, 4))
    assert positions(look(scores)) == []
    scores = scores_of(6, n=300)
    scores[..., 3] = 100 - scores[..., 3]  # reversed in every language: another finding says it
    assert positions(look(scores)) == []


def test_a_judge_that_is_noisier_in_one_language_is_not_named() -> None:
    scores = scores_of(6, n=400)
    scores[:, :, 2, 3] += 12 * np.random.default_rng(0).normal(size=(400, 1))  # r falls from 0.9 to 0.65
    assert positions(look(scores)) == []


def test_a_cell_that_may_still_be_near_three_quarters_is_not_named() -> None:
    n_named = 0
    for seed in range(40):
        scores = scores_of(100 + seed, n=25)
        scores[:, :, 2, 3] += 22 * np.random.default_rng(seed).normal(size=(25, 1))  # r about half of 0.9
        n_named += bool(positions(look(scores)))
    assert n_named == 0


def test_a_language_in_which_nobody_agrees_names_nobody() -> None:
    scores = scores_of(7, n=300)
    scores[:, :, 1] = 50 + 12 * np.random.default_rng(0).normal(size=(300, 1, 5))
    assert positions(look(scores)) == []


def test_several_against_several_are_all_named() -> None:
    scores = scores_of(8, n=200, judges=6, languages=5)
    other = scores_of(9, n=200, judges=3, languages=5)[:, :, 1]
    scores[:, :, 1, :3] = other
    assert {language for language, _ in positions(look(scores))} <= {1}
    assert len(look(scores).named) != 1


def test_at_most_a_quarter_of_the_cells_is_named() -> None:
    scores = scores_of(10, n=200, languages=3, judges=4)
    for language in range(3):
        scores[:, :, language, language] = 100 - scores[:, :, language, language]
    assert len(look(scores).named) <= 1


def test_where_too_few_tasks_differ_nothing_is_said() -> None:
    g = np.random.default_rng(11)
    passes = np.ones((60, 1, 3, 4))
    passes[:40, 0, :2] = g.integers(0, 2, (40, 2, 1))
    passes[:5, 0, 2] = 0.0  # five failures in the third language
    cells = look(passes)
    assert np.isnan(cells.r[2]).all()
    assert np.isfinite(cells.r[:2]).all()
    assert not cells.would_show[2].any()
    assert cells.would_show[:2].all()


def test_rounding_is_no_agreement() -> None:
    third = np.full((50, 1, 3, 4), 0.1) + 0.2
    third[:, :, :, 0] = scores_of(12, n=50, languages=3, judges=1)[..., 0]
    cells = look(third)
    assert np.isnan(cells.r).all()
    assert cells.named == ()


def test_missing_scores_and_a_strict_judge() -> None:
    scores = scores_of(13, n=120)
    full = look(scores)
    scores[..., 4] -= 200
    scores[np.random.default_rng(0).random(scores.shape) < 0.15] = np.nan
    holed = look(scores)
    assert np.abs(holed.r - full.r).max() < 0.1
    assert holed.named == ()


def test_too_few_languages_or_judges() -> None:
    assert cell_agreement(scores_of(0, languages=1), np.arange(80)) is None
    assert cell_agreement(scores_of(0, judges=2), np.arange(80)) is None
    assert positions(look(scores_of(0, languages=2, judges=3))) == []


def test_a_reversal_would_have_shown_where_one_is_found() -> None:
    scores = scores_of(14, n=60)
    assert look(scores).would_show.all()
    assert not look(scores[:9]).would_show.all()


def test_very_many_tasks_are_drawn() -> None:
    scores = scores_of(15, n=12_000, judges=3, languages=2)
    scores[:, :, 1, 0] = 100 - scores[:, :, 1, 0]
    first, again = look(scores, seed=1), look(scores, seed=1)
    assert len(first.unit) == 10_000
    assert first.named == again.named
    assert positions(first) == [(1, 0)]
