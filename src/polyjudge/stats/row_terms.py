"""Least squares of cells with the own terms of each row taken out, and pseudo-values of units (METHODS 14, 33).

A row is one task, or one task and system. It has its own level, which is absorbed. What it has beyond that for each
language and each judge is either absorbed too, or random: then a row counts by the inverse covariance of the cells it
saw. Rows of one unit that were seen in the same cells are one row, so the work is linear in the scores and cubic only
in cells that rows join.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from polyjudge.base.errors import TooLarge
from polyjudge.base.limits import require

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Mask = NDArray[np.bool_]

BUDGET = 3e10
"""Units times cubed cells up to which every unit is left out by a solve of its own."""
MOST_JOINED = 4000
"""Cells of one part that are solved together."""
TINY = 1e-9
SMALLEST_REST = 0.05
"""Share of a difference between cells of a row that is noise of single scores, at least."""

Fit = tuple[Array, Callable[[], tuple[Array, Array]]]
"""Null space (present cells, r), and what fits: values (units, present cells) and the inverse of the normal matrix."""
RowMatrices = Callable[[Index], Array]
"""Cells of patterns (p, q), as columns of a grid -> how a row with such a pattern counts (p, q, q)."""


# --- rows: those of one unit that were seen in the same cells are one ---


@dataclass(frozen=True)
class Rows:
    """seen (patterns, cells); y (rows, cells) means, 0 where not seen; pattern, unit, weight (rows,)."""

    seen: Mask
    y: Array
    pattern: Index
    unit: Index
    weight: Array

    def part(self, cells: Index) -> Rows:
        """The part with these cells; patterns may then repeat."""
        hit = np.any(self.seen[:, cells], axis=1)
        keep = hit[self.pattern]
        number = np.cumsum(hit) - 1
        return Rows(
            self.seen[np.ix_(hit, cells)],
            self.y[np.ix_(keep, cells)],
            number[self.pattern[keep]],
            self.unit[keep],
            self.weight[keep],
        )


def join_rows(y: Array, unit: Index, weight: Array) -> Rows:
    """Rows joined by unit and pattern; rows without a score are left out."""
    require(4.0 * y.nbytes, "The fit of this panel with missing scores")
    seen = np.isfinite(y)
    some = np.any(seen, axis=1)
    if not some.all():
        y, seen, unit, weight = y[some], seen[some], unit[some], weight[some]
    words = np.packbits(seen, axis=1)
    if words.shape[1] <= 8:
        wide = np.zeros((len(words), 8), dtype=np.uint8)
        wide[:, : words.shape[1]] = words
        _, first, pattern = np.unique(wide.view(np.uint64).ravel(), return_index=True, return_inverse=True)
    else:
        _, first, pattern = np.unique(words, axis=0, return_index=True, return_inverse=True)
    pattern = pattern.ravel()
    both, joined = np.unique(unit * len(first) + pattern, return_inverse=True)
    filled = np.where(seen, y, 0.0)
    if len(both) == len(filled):
        order = np.argsort(joined, kind="stable")
        return Rows(seen[first], filled[order], both % len(first), both // len(first), weight[order])
    total = np.bincount(joined, weight, minlength=len(both)).astype(np.float64)
    mean = sum_by(filled * weight[:, None], joined, len(both)) / total[:, None]
    return Rows(seen[first], mean, both % len(first), both // len(first), total)


def sum_by(values: Array, group: Index, groups: int) -> Array:
    """Sums (groups, c) of rows (n, c)."""
    if (np.diff(group) < 0).any():
        order = np.argsort(group, kind="stable")
        values, group = values[order], group[order]
    found = np.zeros((groups, values.shape[1]))
    first = np.flatnonzero(np.diff(group, prepend=-1))
    if len(first):
        found[group[first]] = np.add.reduceat(values, first, axis=0)
    return found


# --- rows with levels alone ---


def fit_levels(rows: Rows, units: int) -> Fit:
    """One level per row is absorbed: no patterns are needed, and parts that no row joins are solved each alone. The
    mean of a part is that of the levels of its rows."""
    present = np.any(rows.seen, axis=0)
    part = parts(rows.seen)
    numbers = np.unique(part[present])
    flags = (part[present][:, None] == numbers).astype(float)
    null = orthonormal_basis(flags - flags.mean(0)) if len(numbers) > 1 else np.zeros((len(flags), 0))

    def fit() -> tuple[Array, Array]:
        v, inverse = np.zeros((units, len(present))), np.zeros((len(present), len(present)))
        for number in numbers:
            at = np.flatnonzero((part == number) & present)
            one = rows if len(at) == len(present) else rows.part(at)
            v[:, at], inverse[np.ix_(at, at)] = _one_part(one, units)
        return v[:, present], inverse[np.ix_(present, present)]

    return null, fit


def _one_part(rows: Rows, units: int) -> tuple[Array, Array]:
    """Values of cells that rows join, with their level; and the inverse of the normal matrix."""
    o = rows.seen[rows.pattern].astype(float)
    w, number = rows.weight[:, None], o.sum(1, keepdims=True)
    size = o.shape[1]
    mean = rows.y.sum(1, keepdims=True) / number
    if size > MOST_JOINED:
        raise TooLarge(
            f"{size:,} language-judge pairs with missing scores are joined by their tasks, and at most {MOST_JOINED:,} "
            "are fitted together. Read fewer languages or judges (--languages, --judges)."
        )
    half = o * np.sqrt(w / number)  # A = diag(w o) - half' half
    whole = np.diag((w * o).sum(0)) - half.T @ half
    ones = np.full((size, size), max(np.trace(whole) / size, TINY) / size)
    inverse = np.linalg.inv(whole + ones)
    c = inverse @ (w * o * (rows.y - mean)).sum(0)
    c -= c.mean()
    residual = sum_by(w * o * (rows.y - mean - (c - o @ c[:, None] / number)), rows.unit, units)

    number_of = sum_by(w * o, rows.unit, units)

    cut = np.searchsorted(rows.unit, np.arange(units + 1))
    most = int(np.diff(cut).max())

    def each(first: int, last: int) -> Array:
        found = np.empty((last - first, size, size))
        begin, end = cut[first], cut[last]
        if most * (last - first) <= 2 * (end - begin):  # units of like size: all at once, filled up with zeros
            padded = np.zeros((last - first, most, size))
            unit = rows.unit[begin:end]
            padded[unit - first, np.arange(begin, end) - cut[unit]] = half[begin:end]
            np.matmul(-padded.swapaxes(1, 2), padded, out=found)
        else:
            for i, (a, b) in enumerate(pairwise(cut[first : last + 1].tolist())):
                np.matmul(-half[a:b].T, half[a:b], out=found[i])
        found[:, np.arange(size), np.arange(size)] += number_of[first:last]
        return found

    d = _without(whole + ones, inverse, residual, each)
    total = np.bincount(rows.unit, rows.weight, minlength=units)
    share = sum_by(w * o / number, rows.unit, units)
    level = np.bincount(rows.unit, (w * mean).ravel(), minlength=units)
    here = (level.sum() - share.sum(0) @ c) / total.sum()
    left = np.maximum(total.sum() - total, TINY * total.sum())
    gone = (level.sum() - level - ((share.sum(0) - share) * (c - d)).sum(1)) / left
    shift = np.where(total < total.sum() * (1 - TINY), here - gone, 0.0)
    v = c + here + (units - 1) * (d + shift[:, None])
    return v - v.mean(0) + c + here, inverse


def fit_levels_by_language(rows: Rows, units: int, k: int, m: int) -> Fit:
    """One level per row and language is absorbed: every language alone."""
    present = np.any(rows.seen, axis=0)
    null: list[Array] = []
    fits: list[tuple[Index, Callable[[], tuple[Array, Array]]]] = []
    for language in range(k):
        at = np.arange(language * m, (language + 1) * m)
        at = at[present[at]]
        if len(at):
            inner, one = fit_levels(rows.part(at), units)
            wide = np.zeros((k * m, inner.shape[1] + 1))
            wide[at] = np.hstack([np.ones((len(at), 1)), inner])
            null.append(wide)
            fits.append((at, one))

    def fit() -> tuple[Array, Array]:
        v, inverse = np.zeros((units, k * m)), np.zeros((k * m, k * m))
        for at, one in fits:
            v[:, at], inverse[np.ix_(at, at)] = one()
        return v[:, present], inverse[np.ix_(present, present)]

    return orthonormal_basis(np.hstack(null))[present], fit


# --- rows with terms for languages and judges, pattern by pattern ---


@dataclass(frozen=True)
class _SameSizeRows:
    """Rows that saw equally many cells: their matrices have one shape, so they are computed together.

    A pattern is the set of cells that a row saw. Shapes: r rows, p patterns, q cells of each pattern.

    rows : (r,) numbers of the rows
    pattern : (r,) pattern of each row, an index of the first axis of the following
    columns : (p, q) cells of each pattern, as columns of `Rows.y`
    cells : (p, q) the same cells, numbered among those that any row saw
    matrices : (p, q, q) how rows of each pattern count
    """

    rows: Index
    pattern: Index
    columns: Index
    cells: Index
    matrices: Array


@dataclass(frozen=True)
class _NormalEquations:
    """A c = b of the cells that any row saw: A = sum_r w_r M_r, b = sum_r w_r M_r y_r."""

    rows: Rows
    groups: list[_SameSizeRows]
    matrix: Array

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return len(self.matrix)


def fit_with_row_terms(rows: Rows, units: int, k: int, m: int) -> Fit:
    """Fit cells by least squares, with a term per row and language and one per row and judge absorbed.

    Row r has weight w_r and scores y_r of the cells it saw. P_r projects those cells on terms of languages and judges,
    and M_r = I - P_r removes such terms, so the cells c minimise the sum over rows of w_r |M_r (y_r - c_r)|^2 (Frisch,
    Waugh and Lovell). As M_r M_r = M_r, the normal equations are

        A c = b,   A = sum_r w_r M_r,   b = sum_r w_r M_r y_r,

    each M_r placed at the cells that row r saw. Contrasts of cells in the null space of A cannot be estimated.
    """

    def remove_terms(columns: Index) -> Array:
        language, judge = np.divmod(columns, m)
        return np.eye(columns.shape[1]) - projection(language, judge, k, m)

    equations = _normal_equations(rows, remove_terms)
    eigenvalues, eigenvectors = np.linalg.eigh(equations.matrix)
    # M_r has no eigenvalue above 1, so A has none above the total weight of the rows that saw the same cell.
    largest_weight = _largest_weight(rows)
    nonzero = eigenvalues > TINY * largest_weight
    null = eigenvectors[:, ~nonzero]

    def fit() -> tuple[Array, Array]:
        # The pseudo-inverse of A, by its eigenvalues that are not zero.
        basis_of_rest = eigenvectors[:, nonzero]
        inverse = (basis_of_rest / eigenvalues[nonzero]) @ basis_of_rest.T
        return _fit_equations(equations, units, inverse, null @ null.T * largest_weight), inverse

    return null, fit


def fit_with_random_terms(rows: Rows, units: int, m: int, variances: RowVariances) -> Callable[[], tuple[Array, Array]]:
    """Fit cells with the level of each row absorbed, and its terms for languages and judges taken as random.

    The cells that a row saw have covariance V = s_l^2 (same language) + s_j^2 (same judge) + s_e^2 I. With W = V^-1 and
    w = W 1 the level is taken out by M = W - w w' / sum w, and the normal equations are as in `fit_with_row_terms`.
    Only the level of each part that rows join cannot be estimated, as in `fit_levels`.
    """
    equations = _normal_equations(rows, _random_term_matrices(variances, m))
    filled_matrix = _fill_up(equations.matrix, _part_flags(rows))

    def fit() -> tuple[Array, Array]:
        inverse = np.asarray(np.linalg.inv(filled_matrix), dtype=np.float64)
        return _fit_equations(equations, units, inverse, filled_matrix - equations.matrix), inverse

    return fit


def find_row_variances(rows: Rows, level_cells: Array, k: int, m: int) -> RowVariances:
    """What rows have for languages and judges: by differences inside rows, first about `level_cells`, the cells with
    levels alone, then about the cells that follow from these variances."""
    first = estimate_row_variances(rows, level_cells, k, m)
    equations = _normal_equations(rows, _random_term_matrices(first, m))
    cells = np.linalg.solve(_fill_up(equations.matrix, _part_flags(rows)), _right_side(equations))
    return estimate_row_variances(rows, np.asarray(cells, dtype=np.float64), k, m)


@dataclass(frozen=True)
class RowVariances:
    """Variances of what a row has for a language and for a judge, as multiples of that of a single score."""

    language: float
    judge: float


def estimate_row_variances(rows: Rows, cells: Array, k: int, m: int) -> RowVariances:
    """Moments: half the mean squared difference of two cells of a row, less `cells` (those that any row saw).

    With s_l^2, s_j^2 and s_e^2 of languages, judges and single scores it is s_j^2 + s_e^2 in one language,
    s_l^2 + s_e^2 of one judge, and s_l^2 + s_j^2 + s_e^2 where both differ. What no row tells counts as no difference.
    """
    everywhere = np.zeros(k * m)
    everywhere[np.any(rows.seen, axis=0)] = cells
    squares, pairs = np.zeros(3), np.zeros(3)
    for part in chunks(len(rows.y), 4 * k * m):
        seen = rows.seen[rows.pattern[part]]
        rest = np.where(seen, rows.y[part] - everywhere, 0.0).reshape(-1, k, m)
        number = seen.reshape(-1, k, m).astype(float)
        for i, axis in enumerate(((1, 2), (2,), (1,))):  # all cells of a row, of one language, of one judge
            sums, n = rest.sum(axis), number.sum(axis)
            square = n * (rest**2).sum(axis) - sums**2
            weight = rows.weight[part].reshape(-1, *[1] * (square.ndim - 1))
            squares[i] += (weight * square).sum()
            pairs[i] += (n**2 - n).sum()
    squares[0] -= squares[1] + squares[2]
    pairs[0] -= pairs[1] + pairs[2]
    if pairs[0] <= 0 or squares[0] <= 0:
        return RowVariances(0.0, 0.0)
    apart = squares[0] / pairs[0]
    in_language = squares[1] / pairs[1] if pairs[1] > 0 else apart
    of_judge = squares[2] / pairs[2] if pairs[2] > 0 else apart
    rest_variance = max(in_language + of_judge - apart, SMALLEST_REST * apart)
    return RowVariances(max(apart - in_language, 0.0) / rest_variance, max(apart - of_judge, 0.0) / rest_variance)


def _random_term_matrices(variances: RowVariances, m: int) -> RowMatrices:
    """M = W - w w' / sum w of patterns, W the inverse covariance of their cells."""

    def matrices(columns: Index) -> Array:
        language, judge = np.divmod(columns, m)
        same_language = language[:, :, None] == language[:, None, :]
        same_judge = judge[:, :, None] == judge[:, None, :]
        covariance = variances.language * same_language + variances.judge * same_judge + np.eye(columns.shape[1])
        inverse = np.linalg.inv(covariance)
        weight = inverse.sum(2)
        return np.asarray(inverse - weight[:, :, None] * weight[:, None, :] / weight.sum(1)[:, None, None])

    return matrices


def _part_flags(rows: Rows) -> Array:
    """Which cells that any row saw are of which part (cells, parts): rows join the cells of a part alone."""
    part = parts(rows.seen)[np.any(rows.seen, axis=0)]
    return np.asarray((part[:, None] == np.unique(part)).astype(float))


def _fill_up(matrix: Array, flags: Array) -> Array:
    """A normal matrix that has no null space any more: the level of each part is filled in."""
    size = flags.sum(0)
    own = np.maximum((np.diag(matrix) @ flags) / size, TINY)
    return matrix + (flags * (own / size)) @ flags.T


def _normal_equations(rows: Rows, row_matrices: RowMatrices) -> _NormalEquations:
    """The normal equations of rows that count by these matrices."""
    present = np.flatnonzero(np.any(rows.seen, axis=0))
    groups = _group_rows_by_size(rows, present, row_matrices)
    return _NormalEquations(rows, groups, _sum_matrices(rows, groups, len(present)))


def _group_rows_by_size(rows: Rows, present: Index, row_matrices: RowMatrices) -> list[_SameSizeRows]:
    """Group rows by the number of cells they saw, and compute the matrix of each pattern once."""
    n_seen = rows.seen.sum(1)
    groups = []
    for q in np.unique(n_seen):
        patterns = np.flatnonzero(n_seen == q)
        row_numbers = np.flatnonzero(n_seen[rows.pattern] == q)
        columns = np.nonzero(rows.seen[patterns])[1].reshape(-1, q)
        matrices = np.empty((len(patterns), q, q))
        for part in chunks(len(patterns), 20 * q * q):  # a matrix takes 3 to 5 of its own size to be made
            matrices[part] = row_matrices(columns[part])
        group = _SameSizeRows(
            rows=row_numbers,
            pattern=np.searchsorted(patterns, rows.pattern[row_numbers]),
            columns=columns,
            cells=np.searchsorted(present, columns),
            matrices=matrices,
        )
        groups.append(group)
    return groups


def _sum_matrices(rows: Rows, groups: list[_SameSizeRows], n_cells: int) -> Array:
    """The normal matrix A = sum_r w_r M_r (cells, cells)."""
    flat_sum = np.zeros(n_cells * n_cells)
    for group in groups:
        n_patterns, q = group.cells.shape
        # Rows of one pattern have the same M, so their weights are added first.
        pattern_weight = np.bincount(group.pattern, rows.weight[group.rows], minlength=n_patterns)
        for part in chunks(n_patterns, 20 * q * q):
            entries = _flat_entries(group.cells[part], group.cells[part], n_cells)
            values = pattern_weight[part, None, None] * group.matrices[part]
            flat_sum += np.bincount(entries.ravel(), values.ravel(), minlength=n_cells * n_cells)
    return flat_sum.reshape(n_cells, n_cells)


def _flat_entries(row: Index, column: Index, n_columns: int) -> Index:
    """Where entries (i, j) of small matrices stand in a flattened matrix: at row[:, i] and column[:, j]."""
    return row[:, :, None] * n_columns + column[:, None, :]


def _largest_weight(rows: Rows) -> float:
    """The total weight of the rows of the cell that was seen most."""
    return float((rows.weight @ rows.seen[rows.pattern]).max())


def _fit_equations(equations: _NormalEquations, units: int, inverse: Array, filling: Array) -> Array:
    """Pseudo-values (units, cells). filling : what makes A invertible and changes nothing that can be estimated"""
    rows, groups = equations.rows, equations.groups
    residuals = _multiply_scores(equations)
    c = inverse @ (rows.weight[:, None] * residuals).sum(0)
    _subtract_fitted(residuals, groups, c)
    unit_residuals = sum_by(rows.weight[:, None] * residuals, rows.unit, units)
    unit_matrices = _matrix_sums_by_unit(equations, units)
    change = _without(equations.matrix + filling, inverse, unit_residuals, unit_matrices)
    return _pseudo_values(c, change)


def _right_side(equations: _NormalEquations) -> Array:
    """b = sum_r w_r M_r y_r."""
    return np.asarray((equations.rows.weight[:, None] * _multiply_scores(equations)).sum(0))


def _multiply_scores(equations: _NormalEquations) -> Array:
    """M_r y_r of every row (rows, cells), 0 in cells that it did not see."""
    rows = equations.rows
    products = np.zeros((len(rows.y), equations.n_cells))
    for group in equations.groups:
        q = group.cells.shape[1]
        for part in chunks(len(group.rows), 20 * q * q):
            row_numbers = group.rows[part, None]
            pattern = group.pattern[part]
            scores = rows.y[row_numbers, group.columns[pattern]]
            products[row_numbers, group.cells[pattern]] = _multiply(group.matrices[pattern], scores)
    return products


def _subtract_fitted(residuals: Array, groups: list[_SameSizeRows], c: Array) -> None:
    """Turn M_r y_r into M_r (y_r - c_r), in place: a copy would be as large as all scores."""
    for group in groups:
        fitted = _multiply(group.matrices, c[group.cells])
        for part in chunks(len(group.rows), len(c)):
            pattern = group.pattern[part]
            residuals[group.rows[part, None], group.cells[pattern]] -= fitted[pattern]


def _multiply(matrices: Array, vectors: Array) -> Array:
    """The product of each matrix (n, q, q) with its vector (n, q)."""
    return np.asarray(np.matmul(matrices, vectors[:, :, None])[:, :, 0])


def _matrix_sums_by_unit(equations: _NormalEquations, units: int) -> Callable[[int, int], Array]:
    """What each unit adds to A, for `_without`: a function of the first and last unit that are wanted."""
    rows, n_cells = equations.rows, equations.n_cells
    n_seen = rows.seen.sum(1)
    n_entries = np.bincount(rows.unit, n_seen[rows.pattern] ** 2, minlength=units)

    def unit_matrices(first: int, last: int) -> Array:
        matrices = np.empty((last - first, n_cells, n_cells))
        for part in _runs(n_entries[first:last]):
            matrices[part] = _sum_unit_matrices(equations, first + part.start, first + part.stop)
        return matrices

    return unit_matrices


def _sum_unit_matrices(equations: _NormalEquations, first: int, last: int) -> Array:
    """Sum of w_r M_r over the rows of each unit from `first` to before `last` (units, cells, cells)."""
    rows, n_cells = equations.rows, equations.n_cells
    entries, values = [], []
    for group in equations.groups:
        # Rows are sorted by unit, so those of neighbouring units are neighbours.
        begin, end = np.searchsorted(rows.unit[group.rows], (first, last))
        row_numbers = group.rows[begin:end]
        pattern = group.pattern[begin:end]
        cells = group.cells[pattern]
        first_row_of_unit = (rows.unit[row_numbers] - first) * n_cells  # the matrices lie one below the other
        matrix_values = rows.weight[row_numbers, None, None] * group.matrices[pattern]
        entries.append(_flat_entries(first_row_of_unit[:, None] + cells, cells, n_cells).ravel())
        values.append(matrix_values.ravel())
    shape = (last - first, n_cells, n_cells)
    sums = np.bincount(np.concatenate(entries), np.concatenate(values), minlength=math.prod(shape))
    return np.asarray(sums.reshape(shape), dtype=np.float64)


def _pseudo_values(estimate: Array, change: Array) -> Array:
    """U c - (U - 1) c(without u) of every unit u, shifted so that their mean is c. change : c - c(without u)"""
    values = estimate + (len(change) - 1) * change
    return np.asarray(values - values.mean(0) + estimate)


# --- pseudo-values ---


def _runs(sizes: Index, most: float = 4e5) -> Iterator[slice]:
    """Neighbours whose sizes add up to so much; what is larger stands alone."""
    first = 0
    while first < len(sizes):
        last = first + max(1, int(np.searchsorted(np.cumsum(sizes[first:]), most)))
        yield slice(first, min(last, len(sizes)))
        first = last


def chunks(length: int, size: int) -> Iterator[slice]:
    """Parts of so many things, of so many numbers each."""
    step = max(1, int(4e6) // max(size, 1))
    return (slice(first, min(first + step, length)) for first in range(0, length, step))


def _without(whole: Array, inverse: Array, residual: Array, each: Callable[[int, int], Array]) -> Array:
    """c less c without each unit (units, cells): one solve a unit, or influence where that is too much work or where
    leaving the unit out parts the cells."""
    units, size = residual.shape
    influence = residual @ inverse * (units / max(units - 1, 1))
    if units < 2 or units * float(size) ** 3 > BUDGET:
        return influence
    d = np.zeros_like(influence)
    step = max(1, int(2e5 / size**2))
    for first in range(0, units, step):
        last = min(first + step, units)
        left = whole - each(first, last)
        try:
            d[first:last] = np.linalg.solve(left, residual[first:last, :, None])[..., 0]
        except np.linalg.LinAlgError:
            for i in range(last - first):
                try:
                    d[first + i] = np.linalg.solve(left[i], residual[first + i])
                except np.linalg.LinAlgError:
                    d[first + i] = np.inf
    wild = ~(np.abs(d).max(1, initial=0.0) <= 1e6 * max(np.abs(influence).max(initial=0.0), 1e-300))
    d[wild] = influence[wild]
    return d


# --- which cells are joined ---


def parts(seen: Mask) -> Index:
    """The number of the part of each cell: cells of one pattern are of one part."""
    part = np.arange(seen.shape[1])
    while True:
        lowest = np.where(seen, part, seen.shape[1]).min(1, initial=seen.shape[1])
        new = np.where(seen, lowest[:, None], seen.shape[1]).min(0, initial=seen.shape[1])
        new = np.minimum(new, part)
        new = new[new]  # a part takes the number of the part it joined
        if (new == part).all():
            return part
        part = new


def projection(row: Index, column: Index, k: int, m: int) -> Array:
    """Projections (..., q, q) on row and column terms of cells at these rows and columns (..., q)."""
    if k < m:  # the larger side has terms by itself, so that only the smaller one is left to be solved
        row, column, k, m = column, row, m, k
    columns = (column[..., None] == np.arange(m)).astype(float)
    rows = (row[..., None] == np.arange(k)).astype(float)
    number = rows.sum(-2)
    share = (rows.swapaxes(-1, -2) @ columns) / np.maximum(number, 1.0)[..., None]  # of each column in each row
    left = columns - np.take_along_axis(share, row[..., None], axis=-2)
    value, vector = np.linalg.eigh(left.swapaxes(-1, -2) @ left)
    top = value > 1e-9 * row.shape[-1]
    kept = left @ (vector * np.where(top, 1 / np.sqrt(np.where(top, value, 1.0)), 0.0)[..., None, :])
    own = 1 / np.take_along_axis(number, row, axis=-1)
    return np.where(row[..., :, None] == row[..., None, :], own[..., None], 0.0) + kept @ kept.swapaxes(-1, -2)


def orthonormal_basis(columns: Array) -> Array:
    """An orthonormal basis of what columns span."""
    if columns.shape[1] == 0 or not np.abs(columns).max(initial=0.0) > TINY:
        return np.zeros((len(columns), 0))
    left, size, _ = np.linalg.svd(columns, full_matrices=False)
    return left[:, size > 1e-7 * size[0]]
