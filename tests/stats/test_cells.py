"""Values of panels with holes, weights, clusters and parts that nothing joins (METHODS 14, 17)."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest
from numpy.typing import NDArray

from common import need
from polyjudge import cbc
from polyjudge.base.errors import TooLarge
from polyjudge.panel import Panel
from polyjudge.stats import cells, row_terms
from polyjudge.stats.cells import Values, complete, least_squares_cells, least_squares_systems
from polyjudge.stats.missing import depends_on_cell, missing_rates
from polyjudge.stats.row_terms import RowVariances, estimate_row_variances, fit_with_random_terms, join_rows

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


@pytest.fixture
def absorbed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores count as missing more often in one cell, so own terms of rows are absorbed."""
    monkeypatch.setattr(cells, "depends_on_cell", lambda *_: True)


@pytest.mark.parametrize("s", [1, 3])
@pytest.mark.parametrize("design", ["random", "task:language + task:judge"])
def test_least_squares_of_a_complete_panel_is_double_centring(
    s: int, design: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cells, "depends_on_cell", lambda *_: design != "random")
    y = planted(1, s=s, holes=0)
    found = cell_values(y)
    assert np.allclose(found.v, y.mean(1), atol=1e-9)
    assert found.design == design
    assert found.null.shape[1] == 0
    systems = least_squares_systems(y, np.arange(15), np.ones(15))
    assert np.allclose(systems.v, y.mean((2, 3)), atol=1e-9)


@pytest.mark.usefixtures("absorbed")
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


@pytest.mark.usefixtures("absorbed")
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
    monkeypatch.setattr(row_terms, "BUDGET", 0.0)
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
    assert found.design == "random"
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
    monkeypatch.setattr(row_terms, "MOST_JOINED", 11)
    with pytest.raises(TooLarge, match="--languages"):
        cell_values(planted(16))


def test_sparse_panels_need_no_solve_of_all_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every task is of one language: cells are joined within a language alone."""
    monkeypatch.setattr(row_terms, "MOST_JOINED", 6)
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


# --- terms of rows that are random (METHODS 33) ---


def with_row_terms(seed: int, n: int = 60, k: int = 4, m: int = 5, holes: float = 0.4) -> Array:
    """Scores (n, k, m) whose tasks have terms for languages (sd 4) and judges (sd 3); noise sd 5."""
    g = np.random.default_rng(seed)
    y = (
        50
        + g.normal(0, 9, (n, 1, 1))
        + g.normal(0, 4, (n, k, 1))
        + g.normal(0, 3, (n, 1, m))
        + g.normal(0, 5, (n, k, m))
    )
    y[g.random(y.shape) < holes] = np.nan
    return y


def gls_by_hand(y: Array, language: float, judge: float) -> Array:
    """Cells of rows (n, k, m) with a dummy for every row and this covariance inside rows; the first cell is 0."""
    n, k, m = y.shape
    left, right = np.zeros((k * m + n, k * m + n)), np.zeros(k * m + n)
    for t in range(n):
        seen = np.flatnonzero(np.isfinite(y[t].ravel()))
        x, b = seen // m, seen % m
        covariance = language * (x[:, None] == x) + judge * (b[:, None] == b) + np.eye(len(seen))
        design = np.zeros((len(seen), k * m + n))
        design[np.arange(len(seen)), seen], design[:, k * m + t] = 1, 1
        left += design.T @ np.linalg.solve(covariance, design)
        right += design.T @ np.linalg.solve(covariance, y[t].ravel()[seen])
    keep = np.arange(1, len(right))
    return np.concatenate([[0.0], np.linalg.solve(left[np.ix_(keep, keep)], right[keep])[: k * m - 1]])


def test_random_terms_are_generalised_least_squares_and_values_their_jackknife() -> None:
    y = with_row_terms(20, n=12)
    n, _, m = y.shape
    variances = RowVariances(0.6, 0.3)

    def fit(which: NDArray[np.int64]) -> Array:
        rows = join_rows(y[which].reshape(len(which), -1), np.arange(len(which)), np.ones(len(which)))
        return fit_with_random_terms(rows, len(which), m, variances)()[0]

    v = fit(np.arange(n))
    want = gls_by_hand(y, 0.6, 0.3)
    assert np.allclose(v.mean(0) - v.mean(0)[0], want, atol=1e-8)
    left = np.stack([gls_by_hand(np.delete(y, t, axis=0), 0.6, 0.3) for t in range(n)])
    pseudo = n * want - (n - 1) * left
    change = (v - v[:, :1]) - (v - v[:, :1]).mean(0)
    assert np.allclose(change, pseudo - pseudo.mean(0), atol=1e-7)


def test_variances_inside_rows_are_those_that_were_planted() -> None:
    found = []
    for seed in range(20):
        y = with_row_terms(seed, n=120)
        rows = join_rows(y.reshape(len(y), -1), np.arange(len(y)), np.ones(len(y)))
        found.append(estimate_row_variances(rows, np.zeros(20), 4, 5))
    assert np.mean([x.language for x in found]) == pytest.approx(16 / 25, rel=0.1)
    assert np.mean([x.judge for x in found]) == pytest.approx(9 / 25, rel=0.1)


def test_a_row_of_means_has_the_variances_of_its_rows() -> None:
    y = with_row_terms(21, n=400, holes=0).reshape(100, 4, 20).mean(1)
    rows = join_rows(y, np.arange(100), np.full(100, 4.0))
    found = estimate_row_variances(rows, np.zeros(20), 4, 5)
    assert found.language == pytest.approx(16 / 25, rel=0.3)


def test_rows_that_tell_nothing_of_their_terms_have_none() -> None:
    y = with_row_terms(22)
    y[:, 1:] = np.nan
    rows = join_rows(y.reshape(len(y), -1), np.arange(len(y)), np.ones(len(y)))
    assert estimate_row_variances(rows, np.zeros(5), 4, 5) == RowVariances(0.0, 0.0)


def test_holes_cost_little_where_terms_are_random(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the scores are missing at random: absorbing the terms of rows loses two thirds of what these know."""
    random, absorbed_ = [], []
    for seed in range(30):
        y = with_row_terms(seed, n=30, k=4, m=4, holes=0.5)[:, None]
        random.append(cbc.double_centre(cell_values(y).mean))
        with monkeypatch.context() as patch:
            patch.setattr(cells, "depends_on_cell", lambda *_: True)
            absorbed_.append(cbc.double_centre(cell_values(y).mean))
    assert np.square(random).mean() < 0.6 * np.square(absorbed_).mean()


def test_scores_missing_more_often_in_one_cell_are_compared_inside_rows_alone() -> None:
    y = with_row_terms(23, n=80, holes=0.1)[:, None]
    assert cell_values(y).design == "random"
    y[:60, :, 1, 2] = np.nan
    assert cell_values(y).design == "task:language + task:judge"


LME4 = """suppressMessages(library(lme4)); d <- read.csv(file("stdin"), stringsAsFactors = TRUE)
f <- lmer(score ~ 0 + cell + (1 | task) + (1 | task:language) + (1 | task:judge), d)
cat(fixef(f)[order(as.numeric(sub("cell.", "", names(fixef(f)))))], sep = "\\n")"""


def lme4_cells(y: Array) -> Array:
    """Cell means (k, m) of rows (n, k, m) by lme4."""
    rscript = need("lme4")
    _, k, m = y.shape
    lines = ["task,language,judge,cell,score"]
    for t, x, b in np.argwhere(np.isfinite(y)):
        lines.append(f"t{t},l{x},j{b},c{x * m + b},{y[t, x, b]!r}")
    text = "\n".join(lines).replace("np.float64(", "").replace(")", "")
    done = subprocess.run([str(rscript), "-e", LME4], input=text, capture_output=True, text=True, check=True)
    return np.array(done.stdout.split(), dtype=float).reshape(k, m)


@pytest.mark.lme4
def test_cells_are_near_those_of_lme4() -> None:
    """Referee: lme4, cells fixed, task, task:language and task:judge random."""
    y = with_row_terms(24, n=60, holes=0.4)
    want = lme4_cells(y)
    mean = cell_values(y[:, None]).mean
    assert np.allclose(cbc.double_centre(mean), cbc.double_centre(want), atol=0.25)


def test_missing_scores_depend_on_a_cell_only_where_it_certainly_lacks_more() -> None:
    g, n = np.random.default_rng(25), 60
    y = g.normal(size=(n, 1, 4, 5))
    alone = np.ones(n)
    assert missing_rates(y, n, alone) is None
    y[g.random(y.shape) < 0.3] = np.nan
    assert not depends_on_cell(y, np.arange(n), alone)
    y[:45, :, 1, 2] = np.nan
    rates = missing_rates(y, n, alone)
    assert rates is not None
    assert np.argwhere(rates.uneven_mask).tolist() == [[1, 2]]
    assert rates.rate[1, 2] == pytest.approx(np.isnan(y[:, 0, 1, 2]).mean())
    assert depends_on_cell(y, np.arange(n), alone)
    y[:, :, 1, 2] = np.nan  # a cell that was never asked for is no failure
    assert not depends_on_cell(y, np.arange(n), alone)
