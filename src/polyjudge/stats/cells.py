"""Values: one number per sampling unit and cell, by means or by least squares with pseudo-values (METHODS 14, 17, 33).

A complete panel needs means alone, and without clusters its values are its scores. Else cells are fitted by least
squares with the own terms of each row taken out, and V_u = U c - (U-1) c(without u): nothing later knows of holes,
weights or clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyjudge.base.limits import require
from polyjudge.stats.missing import depends_on_cell
from polyjudge.stats.row_terms import (
    Fit,
    Rows,
    chunks,
    find_row_variances,
    fit_levels,
    fit_levels_by_language,
    fit_with_random_terms,
    fit_with_row_terms,
    join_rows,
    orthonormal_basis,
    parts,
    projection,
    sum_by,
)

__all__ = ["chunks", "sum_by"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Mask = NDArray[np.bool_]

MOST_TWO_WAY = 1500
"""Cells up to which rows have terms for languages and judges both (one system of equations of all cells)."""
MOST_PATTERNS = 50_000
"""Patterns of seen cells up to which they are."""
TINY = 1e-9


@dataclass(frozen=True)
class Values:
    """v : (units, ...) one number per unit and cell; NaN in a cell that was never seen. Mean over units: the estimate.
    null : (cells, r) a contrast K of cells can be estimated only where K @ null is 0
    design : own terms of a row beside its level: "random", or those that were absorbed ("task:language + task:judge",
        "task:language", "task"); "complete" where none are needed
    seen : (units,) number of the group of units that saw the same languages, where languages share no tasks; else None
    spread : (cells, cells) covariance of the estimates, up to a factor, that holes alone make; None where complete
    """

    v: Array
    null: Array
    design: str = "complete"
    seen: Index | None = None
    spread: Array | None = None

    @property
    def units(self) -> int:
        """Number of units."""
        return len(self.v)

    @property
    def mean(self) -> Array:
        """The estimate of each cell."""
        return self.v.mean(0)

    @property
    def present(self) -> Mask:
        """Cells that were seen."""
        return np.all(np.isfinite(self.v), axis=0)

    def estimable(self, contrasts: Array) -> Mask:
        """Which contrasts (r, cells) the panel can tell: those of cells that were seen and are joined."""
        lost = np.abs(contrasts @ self.null).max(1, initial=0.0)
        gone = np.abs(contrasts[:, ~self.present.ravel()]).max(1, initial=0.0)
        return (lost < 1e-6) & (gone < TINY)

    def contrast(self, contrasts: Array) -> Array:
        """One number per unit and contrast (r, cells); NaN where it cannot be told."""
        flat = np.where(self.present, self.v, 0.0).reshape(self.units, -1)
        x = flat @ contrasts.T
        x[np.abs(x) <= 1e-12 * np.abs(flat).max(initial=0.0)] = 0.0  # rounding is no difference
        return np.where(self.estimable(contrasts), x, np.nan)

    def scale(self, contrasts: Array) -> Array | None:
        """The variance of each contrast (r, cells), up to a factor, that holes alone make."""
        if self.spread is None:
            return None
        return np.maximum(np.einsum("ci,ij,cj->c", contrasts, self.spread, contrasts, optimize=True), 0.0)


def complete(y: Array, unit: Index, weight: Array) -> Values:
    """Values of complete rows (rows, ...): their means by unit; where units differ in size, a ratio estimator."""
    units, cells = int(unit.max()) + 1, int(np.prod(y.shape[1:]))
    null = np.zeros((cells, 0))
    if units == len(y) and np.ptp(weight) == 0:
        return Values(y[np.argsort(unit, kind="stable")], null)
    c = np.average(y, axis=0, weights=weight)
    size = np.bincount(unit, weight, minlength=units)
    rest = sum_by((y - c).reshape(len(y), -1) * weight[:, None], unit, units)
    v = c + (units - 1) * (rest / np.maximum(size.sum() - size, TINY)[:, None]).reshape(units, *y.shape[1:])
    return Values(v - v.mean(0) + c, null)


def least_squares_cells(scores: Array, unit: Index, weight: Array) -> Values:
    """Values (units, k, m) of language-judge cells of a panel with holes; rows are (task, system).

    Gaps and levels come from one level per row. For the interaction a row has terms for languages and judges too:
    random ones where scores are missing alike in all cells, else the finest own terms that leave most of it to be told.
    """
    n, s, k, m = scores.shape
    units = int(unit.max()) + 1
    require(48.0 * (k * m) ** 2, f"The grid of {k:,} x {m:,} cells")
    rows = join_rows(scores.reshape(n * s, k * m), np.repeat(unit, s), np.repeat(weight, s))
    present = np.any(rows.seen, axis=0)
    additive = additive_projection(present.reshape(k, m))
    interaction = np.eye(len(additive)) - additive
    level_null, fit_level_values = fit_levels(rows, units)
    level_v, level_spread = fit_level_values()
    level_fit: Fit = level_null, lambda: (level_v, level_spread)
    is_small = present.sum() <= MOST_TWO_WAY and len(rows.seen) <= MOST_PATTERNS
    if is_small and _some_row_crosses(rows, k, m) and not depends_on_cell(scores, unit, weight):
        design = "random"
        variances = find_row_variances(rows, level_v.mean(0), k, m)
        null, fit = level_null, fit_with_random_terms(rows, units, m, variances)
    else:
        design, (null, fit) = _finest_terms(rows, units, k, m, level_fit, interaction, is_small)
    v, spread = fit()
    cells = np.full((units, k * m), np.nan)
    cells[:, present] = v @ interaction.T + level_v @ additive.T
    lost = np.zeros((k * m, null.shape[1] + level_null.shape[1]))
    lost[present] = np.hstack([interaction @ null, additive @ level_null])
    covariance = np.zeros((k * m, k * m))
    covariance[np.ix_(present, present)] = interaction @ spread @ interaction + additive @ level_spread @ additive
    groups = _languages_apart(rows, units, k, m)
    return Values(cells.reshape(units, k, m), orthonormal_basis(lost), design, groups, covariance)


def _some_row_crosses(rows: Rows, k: int, m: int) -> bool:
    """Whether a row saw several languages and several judges: else it has no terms of its own but its level."""
    grid = rows.seen.reshape(-1, k, m)
    several_languages = grid.any(2).sum(1) > 1
    several_judges = grid.any(1).sum(1) > 1
    return bool((several_languages & several_judges).any())


def _finest_terms(
    rows: Rows, units: int, k: int, m: int, level_fit: Fit, interaction: Array, is_small: bool
) -> tuple[str, Fit]:
    """The finest own terms of rows that can be absorbed without losing a cell of the interaction."""
    telling = np.abs(interaction).max(1, initial=0.0) > 1e-8

    def count_told(null: Array) -> int:
        return int((telling & (np.abs(interaction @ null).max(1, initial=0.0) < 1e-6)).sum())

    designs: list[tuple[str, Callable[[Rows, int, int, int], Fit]]] = [("task:language", fit_levels_by_language)]
    if is_small:
        designs.insert(0, ("task:language + task:judge", fit_with_row_terms))
    most_told = count_told(level_fit[0])  # absorbing fewer terms leaves more to be told
    for name, fit_terms in designs:
        fit = fit_terms(rows, units, k, m)
        if count_told(fit[0]) == most_told:
            return name, fit
    return "task", level_fit


def least_squares_systems(scores: Array, unit: Index, weight: Array) -> Values:
    """Values (units, systems) of a panel with holes: compared inside (task, language, judge)."""
    n, s, k, m = scores.shape
    units = int(unit.max()) + 1
    y = scores.transpose(0, 2, 3, 1).reshape(n * k * m, s)
    rows = join_rows(y, np.repeat(unit, k * m), np.repeat(weight, k * m))
    present = np.any(rows.seen, axis=0)
    v = np.full((units, s), np.nan)
    inner, fit = fit_levels(rows, units)
    v[:, present], spread = fit()
    null, both = np.zeros((s, inner.shape[1])), np.zeros((s, s))
    null[present] = inner
    both[np.ix_(present, present)] = spread
    return Values(v, null, "task", None, both)


def unit_means(y: Array, unit: Index, fewest: int = 6) -> tuple[Array, Index]:
    """Pseudo-values (units, columns) of the plain means of what is seen of rows y (rows, columns), and how many units
    saw each column. Without holes and clusters they are the rows; a column that fewer units saw is NaN."""
    units = int(unit.max()) + 1
    there = np.isfinite(y)
    number = sum_by(there.astype(float), unit, units)
    seen = (number > 0).sum(0)
    if units == len(y) and there.all():
        v = y[np.argsort(unit, kind="stable")]
    else:
        total = sum_by(np.where(there, y, 0.0), unit, units)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = total.sum(0) / number.sum(0)
            v = units * mean - (units - 1) * (total.sum(0) - total) / (number.sum(0) - number)
            v = v - v.mean(0) + mean
    return np.where(seen >= fewest, v, np.nan), seen


def mean_seen(y: Array, axis: int | tuple[int, ...] | None = None, weight: Array | None = None) -> Any:
    """Mean of what is there; NaN where nothing is. weight : of the first axis"""
    seen = np.isfinite(y)
    share = seen * (1.0 if weight is None else weight.reshape(-1, *[1] * (y.ndim - 1)))
    with np.errstate(invalid="ignore"):
        return (np.where(seen, y, 0.0) * share).sum(axis) / share.sum(axis)


def additive_projection(present: Mask) -> Array:
    """Projection of the seen cells on language and judge terms."""
    row, column = np.nonzero(present)
    return projection(row, column, *present.shape)


@dataclass(frozen=True)
class Excess:
    """Contrasts of cells: each less what the additive fit to the other seen cells, without those in `out`, says of it.
    Without `out`, and with all cells seen, it is off.

    told : (k, m) for which cells that can be said
    """

    kept: Mask
    told: Mask
    fit: Callable[[Array], Array]
    leverage: Array

    def of(self, x: Array) -> Array:
        """The contrasts of cells (r, km): (r, km), 0 where it cannot be said."""
        grid = x.reshape(len(x), *self.told.shape)
        found = (grid - self.fit(np.where(self.kept, grid, 0.0))) * (self.told / (1 - self.leverage * self.told))
        return found.reshape(x.shape)

    @property
    def contrasts(self) -> Array:
        """The contrasts themselves (km, km)."""
        k, m = self.told.shape
        require(24.0 * (k * m) ** 2, f"The grid of {k:,} x {m:,} cells")
        return self.of(np.eye(k * m)).T


def excess(present: Mask, out: Sequence[tuple[int, int]] = ()) -> Excess:
    """The excess of cells (k, m), with some left out."""
    kept = present.copy()
    for cell in out:
        kept[cell] = False
    fit, leverage = _additive(kept)
    leverage = np.where(kept, leverage, 0.0)
    part = parts(kept)  # of judges; a language is of the part of its judges
    own = part[np.argmax(kept, axis=1)]
    reach = np.any(kept, axis=1)[:, None] & np.any(kept, axis=0) & (own[:, None] == part)
    return Excess(kept, present & reach & (1 - leverage > 1e-8), fit, leverage)


def _additive(kept: Mask) -> tuple[Callable[[Array], Array], Array]:
    """What fits terms of languages and judges to the kept cells of grids (..., k, m), and the leverage of each cell."""
    if kept.shape[1] > kept.shape[0]:  # the larger side has terms by itself, so that the smaller is left to be solved
        turned, leverage = _additive(kept.T)
        return lambda y: turned(y.swapaxes(-1, -2)).swapaxes(-1, -2), leverage.T
    o = kept.astype(float)
    rows = np.maximum(o.sum(1), 1.0)
    share = o / rows[:, None]
    inverse = np.linalg.pinv(np.diag(o.sum(0)) - o.T @ share, rcond=1e-10, hermitian=True)

    def fit(y: Array) -> Array:
        mean = y.sum(-1) / rows
        columns = (y.sum(-2) - mean @ o) @ inverse
        return (mean - columns @ share.T)[..., None] + columns[..., None, :]

    spread = share @ inverse
    return fit, (1 / rows + (spread * share).sum(1))[:, None] + np.diag(inverse) - 2 * spread


def _languages_apart(rows: Rows, units: int, k: int, m: int) -> Index | None:
    """Groups of units that saw the same languages, where no task joins the languages to one whole."""
    saw = np.zeros((units, k), dtype=bool)
    np.logical_or.at(saw, rows.unit, np.any(rows.seen.reshape(-1, k, m), axis=2)[rows.pattern])
    part = parts(saw)
    if len(np.unique(part[np.any(saw, axis=0)])) < 2:
        return None
    return np.unique(saw, axis=0, return_inverse=True)[1].ravel().astype(np.int64)
