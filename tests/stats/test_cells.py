"""Values of panels with holes, weights, clusters and parts that nothing joins (METHODS 14, 17)."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from polyjudge import cbc
from polyjudge.base.errors import TooLarge
from polyjudge.panel import Panel
from polyjudge.stats import cells
from polyjudge.stats.cells import Values, complete, least_squares_cells, least_squares_systems

Array = NDArray[np.float64]


def planted(seed: int, n: int = 15, s: int = 1, k: int = 3, m: int = 4, holes: float = 0.2) -> Array:
    g = np.random.default_rng(seed)
    y = 50 + g.normal(0, 10, (n, 1, 1, 1)) + g.normal(0, 4, (k, m)) + g.normal(0, 5, (n, s, k, m))
    y[g.random(y.shape) < holes] = np.nan
    return y


def cell_values(y: Array, unit: NDArray[np.int64] | None = None, weight: Array | None = None) -> Values:
    n = len(y)
    return least_squares_cells(y, np.arange(n) if unit is None else unit, np.ones(n) if weight is None else weight)


def test_values_of_a_complete_panel_are_its_scores() -> None:
    y = planted(0, holes=0)
    assert (Panel.from_array(y).values().v == y[:, 0]).all()
    turned = Panel.from_array(y, unit=np.arange(15)[::-1])
    assert np.allclose(turned.values().v, y[::-1, 0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("s", [1, 3])
def test_least_squares_of_a_complete_panel_is_double_centring(s: int) -> None:
    y = planted(1, s=s, holes=0)
    found = cell_values(y)
    assert np.allclose(found.v, y.mean(1), atol=1e-9)
    assert found.design == "task:language + task:judge"
    assert found.null.shape[1] == 0
    systems = least_squares_systems(y, np.arange(15), np.ones(15))
    assert np.allclose(systems.v, y.mean((2, 3)), atol=1e-9)


@pytest.mark.filterwarnings("ignore:The design matrix is rank-deficient")
@pytest.mark.parametrize("s", [1, 2])
def test_cells_are_those_of_ordinary_least_squares(s: int) -> None:
    """Referee: statsmodels, with dummies for row:language, row:judge and cell, or row and cell (levels)."""
    sm = pytest.importorskip("statsmodels.api")
    y = planted(2, n=10, s=s)
    _, _, k, m = y.shape
    t, i, x, b = (a.ravel() for a in np.indices(y.shape))
    row = t * s + i
    seen = np.isfinite(y.ravel())

    def fit(own: list[NDArray[np.int64]]) -> Array:
        dummies = [(code[:, None] == np.unique(code)).astype(float) for code in (*own, x * m + b)]
        design = np.hstack(dummies)[seen]
        return sm.OLS(y.ravel()[seen], design).fit().params[-k * m :].reshape(k, m)

    mean = cell_values(y).mean
    assert np.allclose(cbc.double_centre(mean), cbc.double_centre(fit([row * k + x, row * m + b])), atol=1e-8)
    level = fit([row])
    plain = mean - cbc.double_centre(mean)
    want = level - cbc.double_centre(level)
    assert np.allclose(plain - plain.mean(), want - want.mean(), atol=1e-8)


def test_the_level_is_the_mean_over_rows_of_their_own_levels() -> None:
    y = planted(3, n=8)
    mean = cell_values(y).mean
    rows = y[:, 0].reshape(8, -1)
    plain = mean - cbc.double_centre(mean)  # levels and gaps alone come from this fit
    cells_ = cell_levels(rows)
    assert np.allclose(plain, (cells_ - cbc.double_centre(cells_.reshape(3, 4)).ravel()).reshape(3, 4), atol=1e-9)
    assert abs(mean.mean() - np.nanmean(y)) < 3


def cell_levels(rows: Array) -> Array:
    """Cells and levels of rows by turns, until nothing changes; the levels of the rows are on average 0."""
    c = np.zeros(rows.shape[1])
    for _ in range(2000):
        own = np.nanmean(rows - c, axis=1)
        c = np.nanmean(rows - (own - own.mean())[:, None], axis=0)
    return c


def test_values_are_the_jackknife_of_units() -> None:
    y = planted(4, n=12)
    unit = np.repeat(np.arange(6), 2)
    found = cell_values(y, unit)
    left = [cell_values(y[unit != u], np.unique(unit[unit != u], return_inverse=True)[1]).mean for u in range(6)]
    pseudo = 6 * found.mean - 5 * np.stack(left)
    assert np.allclose(found.v, pseudo - pseudo.mean(0) + found.mean, atol=1e-9)


def test_a_row_of_means_with_weight_is_so_many_rows() -> None:
    y = planted(5, n=12)
    unit = np.arange(12) // 2
    twice = cell_values(np.repeat(y, 3, axis=0), np.repeat(unit, 3))
    once = cell_values(y, unit, np.full(12, 3.0))
    assert np.allclose(once.v, twice.v, atol=1e-9)
    full = planted(6, n=12, holes=0)[:, 0]
    weight = np.arange(1.0, 13.0)
    many = complete(np.repeat(full, weight.astype(int), axis=0), np.repeat(unit, weight.astype(int)), np.ones(78))
    assert np.allclose(complete(full, unit, weight).v, many.v, atol=1e-9)


def test_clusters_of_one_size_are_their_means_and_others_a_ratio() -> None:
    y = planted(7, n=12, holes=0)[:, 0]
    even = complete(y, np.arange(12) // 3, np.ones(12))
    assert np.allclose(even.v, y.reshape(4, 3, 3, 4).mean(1), atol=1e-9)
    unit = np.array([0, 0, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6])
    uneven = complete(y, unit, np.ones(12))
    assert np.allclose(uneven.mean, y.mean(0), atol=1e-9)


def test_influence_beyond_the_budget_is_near_the_jackknife(monkeypatch: pytest.MonkeyPatch) -> None:
    y = planted(8, n=200, holes=0.1)
    exact = cell_values(y)
    monkeypatch.setattr(cells, "BUDGET", 0.0)
    near = cell_values(y)
    assert np.allclose(near.mean, exact.mean, atol=1e-9)
    assert not np.allclose(near.v, exact.v, atol=1e-3)
    assert np.allclose(near.v.std(0), exact.v.std(0), rtol=0.05)


def apart(seed: int = 9) -> Array:
    y = np.full((60, 1, 3, 4), np.nan)
    g = np.random.default_rng(seed)
    for x in range(3):
        y[x * 20 : x * 20 + 20, 0, x] = 10 * x + g.normal(0, 5, (20, 4)) + g.normal(0, 10, (20, 1))
    return y


def test_languages_that_share_no_tasks_keep_their_means_and_their_groups() -> None:
    y = apart()
    found = cell_values(y)
    assert found.design == "task:language"
    assert np.allclose(found.mean, np.nanmean(y, (0, 1)), atol=1e-9)
    assert found.seen is not None
    assert len(np.unique(found.seen)) == 3
    off = cbc.double_centre(np.eye(12).reshape(12, 3, 4)).reshape(12, 12)
    assert found.estimable(off).all()
    between = np.zeros((1, 3, 4))
    between[0, 0, 0], between[0, 1, 0] = 1, -1
    assert not found.estimable(between.reshape(1, 12)).any()


def test_judges_that_share_no_task_can_be_compared_over_languages_alone() -> None:
    y = planted(10, n=30, holes=0)
    y[:15, ..., :2] = np.nan
    y[15:, ..., 2:] = np.nan
    found = cell_values(y)
    off = cbc.double_centre(np.eye(12).reshape(12, 3, 4)).reshape(12, 12)
    assert found.estimable(off).all()
    gap = np.zeros((2, 3, 4))
    gap[0, 0, :2] = 1, -1
    gap[1, 0, [0, 2]] = 1, -1
    assert found.estimable(gap.reshape(2, 12)).tolist() == [True, False]


def test_an_empty_cell_leaves_the_others() -> None:
    y = planted(11, n=30, holes=0)
    y[:, :, 1, 1] = np.nan
    found = cell_values(y)
    assert found.present.sum() == 11
    assert found.design == "task:language + task:judge"
    x = found.contrast(np.eye(12))
    assert np.isnan(x[:, 5]).all()
    assert np.isfinite(np.delete(x, 5, axis=1)).all()


def test_one_task_scored_by_one_judge_changes_nothing_much() -> None:
    """It was: no two systems can be told apart, every rank [1, 6], or an internal error."""
    g = np.random.default_rng(12)
    y = g.normal(0, 5, (80, 6, 4, 5)) + 2.4 * np.arange(6)[::-1, None, None]
    thin = y.copy()
    thin[0, :, :, 1:] = np.nan
    whole = Panel.from_array(y).system_values()
    found = Panel.from_array(thin).system_values()
    assert np.allclose(found.mean - found.mean.mean(), whole.mean - whole.mean.mean(), atol=0.3)
    assert np.allclose(found.v.std(0), whole.v.std(0), rtol=0.3)
    assert found.null.shape[1] == 0


def test_a_unit_that_alone_joins_cells_is_no_error() -> None:
    y = planted(13, n=20, k=2, m=2, holes=0)
    y[1:, :, :, 1] = np.nan  # only the first task was scored by both judges
    found = cell_values(y)
    assert np.isfinite(found.v).all()


def test_systems_that_no_answer_joins_are_not_compared() -> None:
    y = planted(14, n=20, s=4, holes=0)
    y[:10, :2] = np.nan
    y[10:, 2:] = np.nan
    found = least_squares_systems(y, np.arange(20), np.ones(20))
    k = np.array([[1.0, -1, 0, 0], [0, 1, -1, 0]])
    assert found.estimable(k).tolist() == [True, False]


def test_nothing_hangs_on_the_order_of_rows_or_names() -> None:
    y = planted(15, n=14, s=2)
    order = np.random.default_rng(0).permutation(14)
    a, b = cell_values(y), cell_values(y[order])
    assert np.allclose(a.v[order], b.v, atol=1e-9)
    assert np.allclose(cell_values(y[..., ::-1]).v, a.v[..., ::-1], atol=1e-9)


def test_what_is_too_large_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "MOST_JOINED", 11)
    with pytest.raises(TooLarge, match="--languages"):
        cell_values(planted(16))


def test_sparse_panels_need_no_solve_of_all_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every task is of one language: cells are joined within a language alone."""
    monkeypatch.setattr(cells, "MOST_JOINED", 6)
    g = np.random.default_rng(17)
    y = np.full((400, 1, 20, 6), np.nan)
    for t in range(400):
        y[t, 0, g.integers(20), g.permutation(6)[:4]] = g.normal(size=4)
    found = cell_values(y)
    assert found.design == "task:language"
    assert np.isfinite(found.v).all()


def test_scale_is_the_variance_that_holes_alone_make() -> None:
    y = planted(18, n=40, holes=0)
    y[5:, :, 1, 2] = np.nan
    contrasts = cbc.double_centre(np.eye(12).reshape(12, 3, 4)).reshape(12, 12)
    scale = cell_values(y).scale(contrasts)
    assert scale is not None
    assert scale.argmax() == 6
    g = np.random.default_rng(0)
    where = np.where(np.isfinite(y), 0.0, np.nan)
    drawn = np.stack([contrasts @ cell_values(where + g.normal(size=y.shape)).mean.ravel() for _ in range(300)])
    ratio = drawn.var(0) / scale
    assert np.allclose(ratio / ratio.mean(), 1, atol=0.35)
    assert Panel.from_array(planted(18, holes=0)).values().scale(contrasts) is None
