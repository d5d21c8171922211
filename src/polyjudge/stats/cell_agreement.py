"""Does a judge agree with the others in every language? Cells whose agreement certainly falls short (METHODS 31b).

A cell is one judge in one language. Its r is the correlation of its scores with the mean of the other judges there:
inside tasks where there are systems, else over the answers of the language. A judge that is reversed or blind in one
language has an ordinary mean there, so no comparison of means sees it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtrit

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Codes = NDArray[np.int64]

MIN_EFFECTIVE_UNITS = 8
"""Tasks that must carry the variance of a judge: of fewer, one more could turn the sign of r."""
NAMED_BELOW = 0.5
"""A cell is named where its r is below this share of what is to be expected ..."""
CERTAINLY_BELOW = 0.75
"""... and certainly below this share of it."""
MOST_ROWS, MOST_SCORES = 10_000, 200_000
"""Rows, and scores of one language, beyond which rows are drawn at random: so many tell a reversed judge with ease."""
MOST_PRODUCTS = 50_000_000
"""Scores times judges beyond which what is to be expected of cells that nobody names is taken from fewer rows."""
MOST_Z = float(np.arctanh(0.999))
"""Fisher's z of an r that is as good as 1."""


class Agreements(NamedTuple):
    """Of each judge in one language: r with the mean of the others, Fisher's z of it, its standard error and the
    degrees of freedom of that error.

    NaN where too few tasks make the variance of the judge, or of the others.
    """

    r: Array
    z: Array
    se: Array
    df: Array

    def limits(self, quantile: float) -> tuple[Array, Array]:
        """Limits of r by Student's t, as far out as this quantile of normal errors."""
        half_width = stdtrit(np.maximum(self.df, 1.0), ndtr(quantile)) * self.se
        return np.tanh(self.z - half_width), np.tanh(self.z + half_width)


class Expected(NamedTuple):
    """Fisher's z that is to be expected of a cell, with its standard error; NaN where nothing tells."""

    z: float
    se: float


@dataclass(frozen=True)
class NamedCell:
    """A cell that agrees certainly less than is to be expected; language and judge are positions."""

    language: int
    judge: int
    r: float
    low: float
    high: float
    expected: float

    @property
    def is_reversed(self) -> bool:
        """Whether it certainly runs against the others; else it hardly agrees with them."""
        return self.high < 0


@dataclass(frozen=True)
class CellAgreement:
    """Agreement of every cell with the other judges of its language, shapes (languages, judges).

    agreements : with all other judges; NaN where too few tasks make the variance
    quantile : of normal errors for all cells together
    named : cells that fall short, the surest first
    """

    scores: Array
    unit: Codes
    agreements: Agreements
    quantile: float
    named: tuple[NamedCell, ...]

    @property
    def r(self) -> Array:
        """Correlation with the mean of the others."""
        return self.agreements.r

    @property
    def z(self) -> Array:
        """Fisher's z of r."""
        return self.agreements.z

    @property
    def se(self) -> Array:
        """Standard errors of z."""
        return self.agreements.se

    @property
    def low(self) -> Array:
        """Lower limits of r, all together."""
        return self.agreements.limits(self.quantile)[0]

    @property
    def high(self) -> Array:
        """Upper limits of r, all together."""
        return self.agreements.limits(self.quantile)[1]

    @cached_property
    def expectations(self) -> tuple[Array, Array]:
        """Fisher's z to be expected of every cell, and its standard error, (languages, judges)."""
        every = max(1, -(-self.scores.size * self.scores.shape[3] // MOST_PRODUCTS))  # of so many rows one
        scores, unit = self.scores[::every], self.unit[::every]
        z, se = np.full(self.z.shape, np.nan), np.full(self.z.shape, np.nan)
        for language, judge in np.ndindex(self.z.shape):
            among_others = _expect_from_others(scores, unit, language, judge)
            z[language, judge], se[language, judge] = _expect(among_others, self.z, self.se, language, judge)
        return z, se

    @property
    def expected(self) -> Array:
        """r that is to be expected of every cell, (languages, judges)."""
        return np.tanh(self.expectations[0])

    @property
    def would_show(self) -> Bools:
        """Cells in which a reversed judge would have been named, (languages, judges)."""
        z, se = self.expectations
        distance = _distance_to_expected(-z, self.se, z, se)
        return np.asarray(np.isfinite(distance) & (z > 0) & (distance > self.quantile))

    def named_in(self, language: int) -> list[NamedCell]:
        """The cells that are named in one language."""
        return [cell for cell in self.named if cell.language == language]


def cell_agreement(scores: Array, unit: Codes, *, level: float = 0.95, seed: int = 0) -> CellAgreement | None:
    """Agreement of each cell, and those that certainly fall short of what is to be expected.

    The surest is left out and all are looked at again, so that a reversed judge does not take others with it. At most
    a quarter of (k - 1)(m - 1) cells are named. None below two languages or three judges: nobody could be named.

    scores : (rows, systems, languages, judges), NaN where missing; unit : (rows,) number of each row's unit
    """
    n_languages, n_judges = scores.shape[2:]
    if n_languages < 2 or n_judges < 3:
        return None
    most_rows = min(MOST_ROWS, max(MOST_SCORES // (scores.shape[1] * n_judges), 1000))
    if len(scores) > most_rows:
        drawn = np.sort(np.random.default_rng(seed).choice(len(scores), most_rows, replace=False))
        scores, unit = scores[drawn], unit[drawn]
    codes = np.unique(unit, return_inverse=True)[1].ravel().astype(np.int64)
    quantile = float(ndtri(1 - (1 - level) / (n_languages * n_judges)))
    looks = [agreement_with_others(scores[:, :, i], codes) for i in range(n_languages)]
    agreements = Agreements(*(np.stack(column) for column in zip(*looks, strict=True)))
    named = _name_cells(scores, codes, agreements, quantile)
    return CellAgreement(scores=scores, unit=codes, agreements=agreements, quantile=quantile, named=named)


def _name_cells(scores: Array, unit: Codes, agreements: Agreements, quantile: float) -> tuple[NamedCell, ...]:
    """Name the surest cell, leave it out, look again, until none falls short."""
    n_languages, n_judges = agreements.z.shape
    most_named = max(1, (n_languages - 1) * (n_judges - 1) // 4)
    named: list[NamedCell] = []
    remaining, current = scores, Agreements(*(column.copy() for column in agreements))
    among_others: dict[tuple[int, int], Expected] = {}  # what was asked for already, by language and judge
    while len(named) < most_named:
        cell = _surest_cell(remaining, unit, current, quantile, among_others)
        if cell is None:
            break
        named.append(cell)
        remaining = remaining.copy() if remaining is scores else remaining
        remaining[:, :, cell.language, cell.judge] = np.nan
        look = agreement_with_others(remaining[:, :, cell.language], unit)
        for column, column_there in zip(current, look, strict=True):
            column[cell.language] = column_there
        among_others = {key: value for key, value in among_others.items() if key[0] != cell.language}
    return tuple(named)


def _surest_cell(
    scores: Array,
    unit: Codes,
    agreements: Agreements,
    quantile: float,
    among_others: dict[tuple[int, int], Expected],
) -> NamedCell | None:
    """The cell that falls short of what is to be expected by the most standard errors; None if none certainly does.

    among_others : what the other judges do among themselves, filled in here where it is asked for
    """
    surest, largest = None, quantile
    r, z, se, _ = agreements
    low, high = agreements.limits(quantile)
    for language, judge in np.ndindex(z.shape):
        own = _expect_from_own_languages(z, se, language, judge)
        if not own.z > 0 or not r[language, judge] < NAMED_BELOW * np.tanh(own.z):
            continue  # what the others say can only lower what is to be expected
        if (language, judge) not in among_others:
            among_others[language, judge] = _expect_from_others(scores, unit, language, judge)
        expected = _expect(among_others[language, judge], z, se, language, judge)
        if not expected.z > 0 or not r[language, judge] < NAMED_BELOW * np.tanh(expected.z):
            continue
        cell = (language, judge)
        distance = round(float(_distance_to_expected(z[cell], se[cell], *expected)), 9)
        if distance > largest:
            limits = float(r[cell]), float(low[cell]), float(high[cell])
            surest, largest = NamedCell(language, judge, *limits, float(np.tanh(expected.z))), distance
    return surest


def _distance_to_expected(
    z: Array | float, se: Array | float, expected_z: Array | float, expected_se: Array | float
) -> Array:
    """How many standard errors a cell lies below three quarters of the r that is to be expected."""
    with np.errstate(invalid="ignore"):
        return np.asarray((np.arctanh(CERTAINLY_BELOW * np.tanh(expected_z)) - z) / np.hypot(se, expected_se))


def _expect(among_others: Expected, z: Array, se: Array, language: int, judge: int) -> Expected:
    """The smaller of what the judge does in other languages and of what the other judges do among themselves here."""
    own = _expect_from_own_languages(z, se, language, judge)
    if np.isnan(own.z) or np.isnan(among_others.z):
        return Expected(np.nan, np.nan)
    return min(own, among_others)


def _expect_from_others(scores: Array, unit: Codes, language: int, judge: int) -> Expected:
    """Median z of the other judges among themselves in a language."""
    others = agreement_with_others(np.delete(scores[:, :, language], judge, axis=2), unit)
    return _median(others.z, others.se)


def _expect_from_own_languages(z: Array, se: Array, language: int, judge: int) -> Expected:
    """Median of the judge's z in the other languages."""
    return _median(np.delete(z[:, judge], language), np.delete(se[:, judge], language))


def _median(z: Array, se: Array) -> Expected:
    """Median of several z with a cautious standard error: as of the mean of four at most."""
    known_mask = np.isfinite(z) & np.isfinite(se)
    if not known_mask.any():
        return Expected(np.nan, np.nan)
    n_independent = min(int(known_mask.sum()), 4)
    return Expected(float(np.median(z[known_mask])), float(np.median(se[known_mask]) / np.sqrt(n_independent)))


# --- correlations in one language ---


def agreement_with_others(scores: Array, unit: Codes) -> Agreements:
    """Correlation of each judge with the mean of the others. scores : (rows, systems, judges) of one language

    The others are brought to one level first, so that an answer that a strict judge missed is not the better for it;
    an answer counts where half of them scored it.
    """
    seen = np.isfinite(scores)
    n_answers = seen.sum((0, 1))
    level = np.where(seen, scores, 0.0).sum((0, 1)) / np.maximum(n_answers, 1)
    relative = np.where(seen, scores - level, 0.0)
    n_other_scores = seen.sum(2, keepdims=True) - seen  # (rows, systems, judges)
    n_other_judges = (n_answers > 0).sum() - (n_answers > 0)
    is_answer = seen & (n_other_scores > 0) & (2 * n_other_scores >= n_other_judges)
    others = (relative.sum(2, keepdims=True) - relative) / np.maximum(n_other_scores, 1)
    if scores.shape[1] > 1:
        is_answer &= is_answer.sum(1, keepdims=True) > 1  # one system alone says nothing inside a task
        axes: tuple[int, ...] = (1,)
    else:
        axes = (0, 1)
    own_deviation, other_deviation = (_deviations(x, is_answer, axes) for x in (relative, others))
    n_free = is_answer.sum((0, 1)) - is_answer.any(axes).reshape(-1, scores.shape[2]).sum(0)
    return _correlate(own_deviation, other_deviation, is_answer, unit, n_free)


def _deviations(x: Array, is_answer: Bools, axes: tuple[int, ...]) -> Array:
    """x less its mean over some axes, 0 where there is no answer; differences that are rounding are 0."""
    n = np.maximum(is_answer.sum(axes, keepdims=True), 1)
    deviation = np.where(is_answer, x - np.where(is_answer, x, 0.0).sum(axes, keepdims=True) / n, 0.0)
    rounding = 1e-9 * np.abs(x).max(initial=0.0)
    return np.where(np.abs(deviation) > rounding, deviation, 0.0)


def _correlate(x: Array, y: Array, is_answer: Bools, unit: Codes, n_free: Codes) -> Agreements:
    """r of deviations x and y (rows, systems, judges), with the error of its z by the influence of units.

    With sums over units A of x^2, B of y^2 and C of xy: r = C / sqrt(A B), the influence of unit u is
    C_u / sqrt(A B) - r/2 (A_u / A + B_u / B), and the error of z = atanh(r) is that of r over 1 - r^2. Never below the
    error of normal scores, 1 / sqrt(n_free - 2). Its degrees of freedom are those of a
    sum of squares with such tails (Satterthwaite), less one.
    """
    xx, yy, xy = (_sum_by_unit(product, unit) for product in (x * x, y * y, x * y))
    n_units = (_sum_by_unit(is_answer.astype(float), unit) > 0).sum(0)
    n_effective = np.minimum(_effective_number(xx), _effective_number(yy))
    is_known = (n_effective >= MIN_EFFECTIVE_UNITS) & (n_units >= MIN_EFFECTIVE_UNITS)
    total_x, total_y = np.where(is_known, xx.sum(0), 1.0), np.where(is_known, yy.sum(0), 1.0)
    size = np.sqrt(total_x * total_y)
    r = np.clip(np.where(is_known, xy.sum(0), np.nan) / size, -1.0, 1.0)
    influence = xy / size - r / 2 * (xx / total_x + yy / total_y)
    variance = (influence**2).sum(0) * n_units / np.maximum(n_units - 3, 1)
    se = np.sqrt(variance) / np.maximum(1 - r * r, 1e-3)
    se = np.where(is_known, np.maximum(se, 1 / np.sqrt(np.maximum(n_free - 2, 1))), np.nan)
    z = np.clip(np.arctanh(np.clip(r, -0.9999, 0.9999)), -MOST_Z, MOST_Z)
    # Of normal influences a third of the units carry the sum of their squares: then df is about their number.
    n_carriers = np.maximum(_effective_number(influence**2), 1.0)
    df = 2 / np.maximum(1 / n_carriers - 1 / np.maximum(n_units, 1), 1e-9) - 1
    return Agreements(r, z, se, np.where(is_known, df, np.nan))


def _sum_by_unit(x: Array, unit: Codes) -> Array:
    """Sums over systems and the rows of each unit, (units, judges)."""
    by_row = x.sum(1)
    n_units = int(unit.max()) + 1
    if n_units == len(by_row):
        return by_row  # each row is a unit of its own
    total = np.zeros((n_units, by_row.shape[1]))
    np.add.at(total, unit, by_row)
    return total


def _effective_number(squares: Array) -> Array:
    """How many units make a sum of squares, (judges,): (sum s)^2 / sum s^2."""
    return np.asarray(squares.sum(0) ** 2 / np.maximum((squares**2).sum(0), 1e-300))
