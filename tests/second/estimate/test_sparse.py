"""Least absolute deviations, offsets of named cells, and the choice of an explanation."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.optimize import linprog

from polyjudge.second.estimate.deviations import (
    Additive,
    Reading,
    Units,
    best_line,
    choose,
    choose_each,
    dimensions,
    half_masks,
    least_absolute,
    offset_maps,
    refit,
)
from polyjudge.second.estimate.kernels import double_centre
from polyjudge.second.panel.arrays import Array


def design(k: int, m: int) -> Array:
    return np.array([[*(np.arange(k) == row), *(np.arange(m) == b)] for row in range(k) for b in range(m)], float)


def referee(cells: Array, weights: Array) -> float:
    """The least sum of weighted absolute deviations, by linear programming."""
    x = design(*cells.shape)
    eye = np.eye(cells.size)
    cost = np.concatenate([np.zeros(x.shape[1]), weights.ravel(), weights.ravel()])
    free = [(None, None)] * x.shape[1] + [(0, None)] * (2 * cells.size)
    return float(linprog(cost, A_eq=np.hstack([x, eye, -eye]), b_eq=cells.ravel(), bounds=free)["fun"])


@pytest.mark.parametrize(("k", "m"), [(2, 2), (3, 3), (8, 6), (12, 4)])
def test_deviations_are_the_least(k: int, m: int) -> None:
    rng = np.random.default_rng(3)
    cells = rng.normal(0, 5, (20, k, m)) + 40
    weights = rng.uniform(0.2, 3, (20, k, m))
    residual = least_absolute(cells, weights)
    for i in range(20):
        assert (weights[i] * np.abs(residual[i])).sum() == pytest.approx(referee(cells[i], weights[i]), rel=1e-6)
    fitted = (cells - residual).reshape(20, -1)
    left = fitted - np.linalg.lstsq(design(k, m), fitted.T, rcond=None)[0].T @ design(k, m).T
    assert np.abs(left).max() < 1e-4  # what is taken off is additive, but for the rounding of zeros


def test_a_batch_gives_what_one_alone_gives() -> None:
    rng = np.random.default_rng(4)
    cells = rng.normal(0, 5, (2, 3, 8, 6))
    batch = least_absolute(cells, np.ones((8, 6)))
    assert batch[1, 2] == pytest.approx(least_absolute(cells[1, 2], np.ones((8, 6))), abs=1e-5)


def test_one_faulty_cell_is_read_where_it_is() -> None:
    rows, columns = np.arange(8.0)[:, None], np.arange(6.0) * 3
    cells = rows + columns
    cells[6, 1] -= 20
    read = least_absolute(cells, np.ones((8, 6)))
    assert read[6, 1] == pytest.approx(-20)
    assert np.abs(np.delete(read.ravel(), 6 * 6 + 1)).max() == 0
    assert double_centre(cells)[6, 1] == pytest.approx(-20 * 7 / 8 * 5 / 6)


def test_constant_and_additive_cells_have_no_deviation() -> None:
    assert not least_absolute(np.full((4, 3), 7.0), np.ones((4, 3))).any()
    assert not least_absolute(np.arange(4.0)[:, None] + np.arange(3.0), np.ones((4, 3))).any()


def test_offsets_are_those_of_a_fit_without_the_named_cells() -> None:
    rng = np.random.default_rng(5)
    cells, weights = rng.normal(0, 5, (7, 5)), rng.uniform(0.2, 3, (7, 5))
    places = np.array([3, 11, 12])
    without = weights.copy()
    without.flat[places] = 1e-12
    expected = (cells - Additive(without)(cells)).flat[places]
    maps = offset_maps(places, weights)
    assert (maps * cells).sum(axis=(1, 2)) == pytest.approx(expected, abs=1e-6)


def units(n: int, k: int, m: int, planted: Array, seed: int) -> Units:
    rng = np.random.default_rng(seed)
    scores = rng.normal(50, 12, (n, 1, 1)) + rng.normal(0, 3, (n, k, 1)) + rng.normal(0, 8, (n, k, m)) + planted
    return Units.of(double_centre(scores), scores, np.ones(n))


def test_cells_are_sized_without_the_named_ones_and_themselves() -> None:
    rng = np.random.default_rng(5)
    values = double_centre(rng.normal(0, 3, (30, 5, 4)))
    units = Units.of(values, values, np.ones(30))
    named = np.zeros((5, 4), bool)
    named[[1, 3], [2, 0]] = True
    got = refit(units, values, Reading("cells", named))
    assert got is not None
    for cell in range(20):
        without = np.unique(np.r_[np.flatnonzero(named), cell])
        maps = offset_maps(without, np.ones((5, 4)))[list(without).index(cell)]
        assert got[:, cell // 4, cell % 4] == pytest.approx(np.tensordot(values, maps, 2), abs=1e-6)
    assert refit(units, values, Reading("diffuse", named)) is None


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["language", "judge"])
def test_the_best_line_is_the_one_of_least_squared_error(kind: str) -> None:
    rng = np.random.default_rng(6)
    for seed in range(20):
        u = units(12, 5, 4, rng.normal(0, 3, (5, 4)), seed)
        means = u.values.mean(axis=0)
        errors = []
        for i in range(5 if kind == "language" else 4):
            off = np.zeros((5, 4))
            index = (i, slice(None)) if kind == "language" else (slice(None), i)
            off[index] = means[index] * (5 / 4 if kind == "language" else 4 / 3)
            errors.append((u.loss * (means - double_centre(off)) ** 2).sum())
        assert best_line(u, means, kind) == np.argmin(errors)  # type: ignore[arg-type]


def test_candidates_that_cannot_be_told_apart_are_not_offered() -> None:
    assert [c[0] for c in dimensions(2, 2)] == ["none", "diffuse"]
    assert [c[0] for c in dimensions(8, 2)] == ["none", "language", "diffuse"]
    assert [c[0] for c in dimensions(2, 5)] == ["none", "judge", "diffuse"]
    kinds = dimensions(8, 6)
    assert kinds[:3] == [("none", 0), ("cell", 1), ("cells", 2)]
    assert [size for _, size in kinds] == sorted(size for _, size in kinds)


@pytest.mark.parametrize(("k", "m"), [(2, 2), (2, 5), (6, 2), (3, 3), (9, 14)])
def test_small_and_odd_shapes_have_an_answer(k: int, m: int) -> None:
    fault = np.zeros((k, m))
    fault[0, 0] = 40
    u = units(30, k, m, fault, 1)
    assert choose(u).kind != "none"
    assert len(choose_each(u, half_masks(30, 20))) == 20


def test_the_same_seed_gives_the_same_choice_however_it_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    fault = np.zeros((8, 6))
    fault[2, 3] = 9
    u = units(40, 8, 6, fault, 2)
    whole = [(r.kind, r.named.tolist()) for r in choose_each(u, half_masks(40, 30, seed=3), seed=3)]
    monkeypatch.setattr("polyjudge.second.estimate.deviations.BATCH", 1)
    assert whole == [(r.kind, r.named.tolist()) for r in choose_each(u, half_masks(40, 30, seed=3), seed=3)]


def test_a_few_hundred_clean_panels_name_no_cell() -> None:
    found = Counter(choose(units(30, 6, 5, np.zeros((6, 5)), seed)).kind for seed in range(300))
    assert found["none"] >= 300 * 0.95 - 2 * np.sqrt(300 * 0.05 * 0.95)


def test_clusters_are_what_is_left_out_and_resampled() -> None:
    rng = np.random.default_rng(7)
    cluster = np.repeat(np.arange(12), 5)
    shared = rng.normal(0, 6, (12, 6, 5))[cluster]  # tasks of one source err together
    scores = 50 + shared + rng.normal(0, 1, (60, 6, 5))
    u = Units.of(double_centre(scores), scores, np.ones(60), cluster)
    assert u.values.shape == (12, 6, 5)
    assert u.values[3] == pytest.approx(double_centre(scores[15:20].mean(axis=0)))
    naive = Units.of(double_centre(scores), scores, np.ones(60))
    assert choose(naive).kind != "none"  # as if the tasks were independent
    assert choose(u).kind == "none"


def test_weights_that_vanish_leave_a_fit() -> None:
    """The interior point drives weights towards 0; a column without any weight is left to chance, not to an error."""
    weights = np.ones((3, 4))
    weights[:, 2] = 0.0
    fitted = Additive(weights)(np.arange(12.0).reshape(3, 4))
    assert np.isfinite(fitted).all()
    np.testing.assert_allclose(fitted[:, [0, 1, 3]], np.arange(12.0).reshape(3, 4)[:, [0, 1, 3]], atol=1e-6)
