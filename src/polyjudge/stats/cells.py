"""Values: one number per sampling unit and cell, by means or by least squares with pseudo-values (METHODS 14, 17).

A complete panel needs means alone, and without clusters its values are its scores. Else cells are fitted by least
squares with the own terms of each row absorbed, and V_u = U c - (U-1) c(without u): nothing later knows of holes,
weights or clusters. Rows of one unit that were seen in the same cells are one row, so the work is linear in the scores
and cubic only in cells that rows join.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

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
MOST_TWO_WAY = 1500
"""Cells up to which rows have terms for languages and judges both (one eigenvalue problem of all cells)."""
MOST_PATTERNS = 50_000
"""Patterns of seen cells up to which they are."""
TINY = 1e-9


@dataclass(frozen=True)
class Values:
    """v : (units, ...) one number per unit and cell; NaN in a cell that was never seen. Mean over units: the estimate.
    null : (cells, r) a contrast K of cells can be estimated only where K @ null is 0
    design : own terms of a row that were absorbed ("complete", "task:language + task:judge", "task:language", "task")
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

    The interaction comes from the finest own terms that leave most of it to be told; gaps and levels come from one
    level per row.
    """
    n, s, k, m = scores.shape
    units = int(unit.max()) + 1
    require(48.0 * (k * m) ** 2, f"The grid of {k:,} x {m:,} cells")
    rows = _rows(scores.reshape(n * s, k * m), np.repeat(unit, s), np.repeat(weight, s))
    present = np.any(rows.seen, axis=0)
    additive = additive_projection(present.reshape(k, m))
    apart = np.eye(len(additive)) - additive
    there = np.abs(apart).max(1, initial=0.0) > 1e-8
    level_null, level_fit = _levels(rows, units)
    level_v, level_spread = level_fit()

    def can(null: Array) -> int:
        return int((there & (np.abs(apart @ null).max(1, initial=0.0) < 1e-6)).sum())

    chosen: tuple[str, Fit] = ("task", (level_null, lambda: (level_v, level_spread)))
    told = can(level_null)
    finer: list[tuple[str, Callable[[], Fit]]] = [("task:language", lambda: _by_language(rows, units, k, m))]
    if present.sum() <= MOST_TWO_WAY and len(rows.seen) <= MOST_PATTERNS:
        finer.insert(0, ("task:language + task:judge", lambda: _two_way(rows, units, k, m)))
    for design, make in finer:
        found = make()
        if can(found[0]) == told:  # the fewer terms are absorbed, the more can be told
            chosen = (design, found)
            break
    best, (null, fit) = chosen
    v, spread = fit()
    whole = np.full((units, k * m), np.nan)
    whole[:, present] = v @ apart.T + level_v @ additive.T
    lost = np.zeros((k * m, null.shape[1] + level_null.shape[1]))
    lost[present] = np.hstack([apart @ null, additive @ level_null])
    both = np.zeros((k * m, k * m))
    both[np.ix_(present, present)] = apart @ spread @ apart + additive @ level_spread @ additive
    return Values(whole.reshape(units, k, m), _basis(lost), best, _languages_apart(rows, units, k, m), both)


def least_squares_systems(scores: Array, unit: Index, weight: Array) -> Values:
    """Values (units, systems) of a panel with holes: compared inside (task, language, judge)."""
    n, s, k, m = scores.shape
    units = int(unit.max()) + 1
    y = scores.transpose(0, 2, 3, 1).reshape(n * k * m, s)
    rows = _rows(y, np.repeat(unit, k * m), np.repeat(weight, k * m))
    present = np.any(rows.seen, axis=0)
    v = np.full((units, s), np.nan)
    inner, fit = _levels(rows, units)
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


# --- rows: those of one unit that were seen in the same cells are one ---


@dataclass(frozen=True)
class _Rows:
    """seen (patterns, cells); y (rows, cells) means, 0 where not seen; pattern, unit, weight (rows,)."""

    seen: Mask
    y: Array
    pattern: Index
    unit: Index
    weight: Array

    def part(self, cells: Index) -> _Rows:
        """The part with these cells; patterns may then repeat."""
        hit = np.any(self.seen[:, cells], axis=1)
        keep = hit[self.pattern]
        number = np.cumsum(hit) - 1
        return _Rows(
            self.seen[np.ix_(hit, cells)],
            self.y[np.ix_(keep, cells)],
            number[self.pattern[keep]],
            self.unit[keep],
            self.weight[keep],
        )


def _rows(y: Array, unit: Index, weight: Array) -> _Rows:
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
        return _Rows(seen[first], filled[order], both % len(first), both // len(first), weight[order])
    total = np.bincount(joined, weight, minlength=len(both)).astype(np.float64)
    mean = sum_by(filled * weight[:, None], joined, len(both)) / total[:, None]
    return _Rows(seen[first], mean, both % len(first), both // len(first), total)


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


# --- least squares with the own terms of rows absorbed ---

Fit = tuple[Array, Callable[[], tuple[Array, Array]]]
"""Null space (present cells, r), and what fits: values (units, present cells) and the inverse of the normal matrix."""


def _levels(rows: _Rows, units: int) -> Fit:
    """One level per row is absorbed: no patterns are needed, and parts that no row joins are solved each alone. The
    mean of a part is that of the levels of its rows."""
    present = np.any(rows.seen, axis=0)
    part = _parts(rows.seen)
    numbers = np.unique(part[present])
    flags = (part[present][:, None] == numbers).astype(float)
    null = _basis(flags - flags.mean(0)) if len(numbers) > 1 else np.zeros((len(flags), 0))

    def fit() -> tuple[Array, Array]:
        v, inverse = np.zeros((units, len(present))), np.zeros((len(present), len(present)))
        for number in numbers:
            at = np.flatnonzero((part == number) & present)
            one = rows if len(at) == len(present) else rows.part(at)
            v[:, at], inverse[np.ix_(at, at)] = _one_part(one, units)
        return v[:, present], inverse[np.ix_(present, present)]

    return null, fit


def _one_part(rows: _Rows, units: int) -> tuple[Array, Array]:
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


def _by_language(rows: _Rows, units: int, k: int, m: int) -> Fit:
    """One level per row and language is absorbed: every language alone."""
    present = np.any(rows.seen, axis=0)
    null: list[Array] = []
    fits: list[tuple[Index, Callable[[], tuple[Array, Array]]]] = []
    for language in range(k):
        at = np.arange(language * m, (language + 1) * m)
        at = at[present[at]]
        if len(at):
            inner, one = _levels(rows.part(at), units)
            wide = np.zeros((k * m, inner.shape[1] + 1))
            wide[at] = np.hstack([np.ones((len(at), 1)), inner])
            null.append(wide)
            fits.append((at, one))

    def fit() -> tuple[Array, Array]:
        v, inverse = np.zeros((units, k * m)), np.zeros((k * m, k * m))
        for at, one in fits:
            v[:, at], inverse[np.ix_(at, at)] = one()
        return v[:, present], inverse[np.ix_(present, present)]

    return _basis(np.hstack(null))[present], fit


def _two_way(rows: _Rows, units: int, k: int, m: int) -> Fit:
    """A term per row and language and one per row and judge are absorbed, pattern by pattern on its seen cells; those
    of one number of cells together."""
    present = np.flatnonzero(np.any(rows.seen, axis=0))
    size, number = len(present), rows.seen.sum(1)
    place = np.zeros(k * m, dtype=np.int64)
    place[present] = np.arange(size)
    total = np.zeros(size * size)
    score = np.zeros((len(rows.y), size))  # M y of every row
    alike: list[tuple[Index, Index, Array, Index]] = []  # rows, their cells, makers M of patterns, pattern of each row
    for q in np.unique(number):
        pattern = np.flatnonzero(number == q)
        at = np.nonzero(rows.seen[pattern])[1].reshape(-1, q)
        r = np.flatnonzero(number[rows.pattern] == q)
        own = np.searchsorted(pattern, rows.pattern[r])
        cells, maker = place[at], np.empty((len(pattern), q, q))
        times = np.bincount(own, rows.weight[r], minlength=len(pattern))[:, None, None]
        for x in chunks(len(pattern), 20 * q * q):
            np.subtract(np.eye(q), _projection(at[x] // m, at[x] % m, k, m), out=maker[x])
            flat = (cells[x, :, None] * size + cells[x, None, :]).ravel()
            total += np.bincount(flat, (times[x] * maker[x]).ravel(), minlength=size * size)
        alike.append((r, cells, maker, own))
        for x in chunks(len(r), 20 * q * q):
            y = rows.y[r[x, None], at[own[x]]]
            score[r[x, None], cells[own[x]]] = np.matmul(maker[own[x]], y[:, :, None])[:, :, 0]
    whole = total.reshape(size, size)
    value, vector = np.linalg.eigh(whole)
    most = float((rows.weight @ rows.seen[rows.pattern]).max())  # rows of one cell: the size of what is not null
    top = value > TINY * most
    null = vector[:, ~top]
    entries = np.bincount(rows.unit, number[rows.pattern] ** 2, minlength=units)

    def each(first: int, last: int) -> Array:
        found = np.empty((last - first, size, size))
        for part in _runs(entries[first:last]):
            flat, weight = [], []
            for r, cells, maker, own in alike:
                begin, end = np.searchsorted(rows.unit[r], (first + part.start, first + part.stop))
                at = cells[own[begin:end]]
                place_of = (rows.unit[r[begin:end]] - first - part.start)[:, None] * size + at
                flat.append((place_of[:, :, None] * size + at[:, None, :]).ravel())
                weight.append((rows.weight[r[begin:end], None, None] * maker[own[begin:end]]).ravel())
            long = (part.stop - part.start) * size * size
            sums = np.bincount(np.concatenate(flat), np.concatenate(weight), minlength=long)
            found[part] = sums.reshape(-1, size, size)
        return found

    def fit() -> tuple[Array, Array]:
        inverse = (vector[:, top] / value[top]) @ vector[:, top].T
        c = inverse @ (rows.weight[:, None] * score).sum(0)
        for r, cells, maker, own in alike:
            fitted = np.matmul(maker, c[cells][:, :, None])[:, :, 0]
            for x in chunks(len(r), size):
                score[r[x, None], cells[own[x]]] -= fitted[own[x]]
        residual = sum_by(rows.weight[:, None] * score, rows.unit, units)
        v = c + (units - 1) * _without(whole + null @ null.T * most, inverse, residual, each)
        return v - v.mean(0) + c, inverse

    return null, fit


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


def _parts(seen: Mask) -> Index:
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


def _projection(row: Index, column: Index, k: int, m: int) -> Array:
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


def additive_projection(present: Mask) -> Array:
    """Projection of the seen cells on language and judge terms."""
    row, column = np.nonzero(present)
    return _projection(row, column, *present.shape)


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
    part = _parts(kept)  # of judges; a language is of the part of its judges
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


def _basis(columns: Array) -> Array:
    """An orthonormal basis of what columns span."""
    if columns.shape[1] == 0 or not np.abs(columns).max(initial=0.0) > TINY:
        return np.zeros((len(columns), 0))
    left, size, _ = np.linalg.svd(columns, full_matrices=False)
    return left[:, size > 1e-7 * size[0]]


def _languages_apart(rows: _Rows, units: int, k: int, m: int) -> Index | None:
    """Groups of units that saw the same languages, where no task joins the languages to one whole."""
    saw = np.zeros((units, k), dtype=bool)
    np.logical_or.at(saw, rows.unit, np.any(rows.seen.reshape(-1, k, m), axis=2)[rows.pattern])
    part = _parts(saw)
    if len(np.unique(part[np.any(saw, axis=0)])) < 2:
        return None
    return np.unique(saw, axis=0, return_inverse=True)[1].ravel().astype(np.int64)
