"""Correlations of every two judges, and limits of their means: Fieller on both sides (METHODS 31).

A correlation is a ratio, sum(product) / sqrt(sum(square of one) sum(square of the other)). With deviations brought to
sums of squares of 1, each unit adds `product` to r and `variance` to 1, and all r0 for which sum(product - r0 variance)
does not certainly differ from 0 are r's limits: one quadratic, no bootstrap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from polyjudge.stats.cells import sum_by
from polyjudge.stats.interval import FEWEST

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Over = Literal["systems", "tasks"]
FEW_CARRIERS = 10
"""Where fewer units than this, and fewer than half, carry what differs (or agrees), others may that were not drawn."""


@dataclass(frozen=True)
class Answers:
    """What is correlated: scores (rows, systems, languages, judges) with NaN where missing, and their sampling units.

    weight : (rows,) number of tasks in each row. group : (rows,) number of the unit, or of a random group of units
    n_units : units. width : of the scale
    """

    scores: Array
    weight: Array
    group: NDArray[np.int64]
    n_units: int
    width: float

    @property
    def over(self) -> Over:
        """Systems are compared within a task and language; without systems, tasks within a language."""
        return "systems" if self.scores.shape[1] > 1 else "tasks"

    @property
    def n_groups(self) -> int:
        """Number of groups of units."""
        return int(self.group.max()) + 1


@dataclass(frozen=True)
class Pairs:
    """One judge with each later one. product, variance : (groups, pairs), what each group of units adds to r and to 1;
    NaN where a correlation is not estimable. mean_square : (pairs,) of a deviation. n_units : (pairs,)"""

    first: int
    product: Array
    variance: Array
    mean_square: Array
    n_units: Array


def correlate_pairs(answers: Answers) -> Iterator[Pairs]:
    """The correlations of each judge with every later one, in order."""
    is_complete = bool(np.isfinite(answers.scores).all())
    layers = _deviations(answers, answers.scores) if is_complete else []
    for first in range(answers.scores.shape[3] - 1):
        if is_complete:
            yield _pairs_of_layers(answers, first, [(f, x[..., first, None], x[..., first + 1 :]) for f, x in layers])
            continue
        # Two judges are compared on the answers that both have scored.
        later = answers.scores[..., first + 1 :]
        own = answers.scores[..., first, None]
        is_common = np.isfinite(own) & np.isfinite(later)
        one, other = (_deviations(answers, np.where(is_common, x, np.nan)) for x in (own, later))
        compared = [(factor, x, y) for (factor, x), (_, y) in zip(one, other, strict=True)]
        yield _pairs_of_layers(answers, first, compared, is_common)


def _deviations(answers: Answers, scores: Array) -> list[tuple[float, Array]]:
    """Deviations (rows, answers of a row, judges), 0 where missing, each layer with the factor by which it counts.

    A row that is the mean of several tasks has less noise than they, yet the whole difference between systems: the
    deviations from the mean over rows count once more for every further task of a row.
    """
    seen = np.isfinite(scores)
    filled = np.where(seen, scores, 0.0)
    tiny = 1e-12 * np.abs(filled).max(initial=0.0)
    n_rows = len(scores)
    weighted = seen * answers.weight[:, None, None, None]

    def centred(x: Array, size: Array, axis: int) -> Array:
        mean = (x * size).sum(axis, keepdims=True) / np.maximum(size.sum(axis, keepdims=True), 1e-300)
        deviation = np.where(seen, x - mean, 0.0)
        return np.where(np.abs(deviation) > tiny, deviation, 0.0)  # rounding is no difference

    if answers.over == "tasks":
        return [(1.0, centred(filled, weighted, 0).reshape(n_rows, -1, scores.shape[3]))]
    within = centred(filled, seen.astype(float), 1)
    layers = [(1.0, within.reshape(n_rows, -1, scores.shape[3]))]
    further_tasks = float(answers.weight.mean() - 1)
    if further_tasks:
        layers.append((further_tasks, centred(within, weighted, 0).reshape(layers[0][1].shape)))
    return layers


def _pairs_of_layers(
    answers: Answers, first: int, layers: list[tuple[float, Array, Array]], is_common: Mask | None = None
) -> Pairs:
    """The pairs of one judge by its deviations and the others', (rows, answers of a row, 1 or pairs)."""

    def total(x: Array) -> Array:
        return sum_by(x * answers.weight[:, None], answers.group, answers.n_groups)

    product = np.sum([factor * total(_row_products(x, y)) for factor, x, y in layers], axis=0)
    own = np.sum([factor * total(_row_products(x, x)) for factor, x, _ in layers], axis=0)
    other = np.sum([factor * total(_row_products(y, y)) for factor, _, y in layers], axis=0)
    own_square, other_square = own.sum(0), other.sum(0)
    size = np.sqrt(own_square * other_square)
    is_estimable = size > 1e-12 * np.maximum(own_square + other_square, 1e-300)
    one = np.where(is_estimable, 1.0, np.nan)
    n_answers = np.full(product.shape[1], float(answers.weight.sum() * layers[0][2].shape[1]))
    n_units = np.full(product.shape[1], float(answers.n_units))
    if is_common is not None:
        in_row = is_common.sum((1, 2))
        n_answers = np.maximum(answers.weight @ in_row, 1.0)
        in_group = sum_by(in_row.astype(float), answers.group, answers.n_groups) > 0
        n_units = np.maximum(in_group.mean(0) * answers.n_units, 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = (own / own_square + other / other_square) / 2
        product = product / size
    return Pairs(first, product * one, variance * one, (own_square + other_square) / 2 / n_answers, n_units)


def _row_products(x: Array, y: Array) -> Array:
    """Sums over the answers of a row of products of deviations, (rows, pairs)."""
    if x.shape[2] == 1 and y.shape[2] > 1:
        return np.einsum("rc,rcp->rp", x[..., 0], y)
    return np.einsum("rcp,rcp->rp", x, y)


def correlation_limits(
    product: Array,
    variance: Array,
    mean_square: Array,
    n_units: Array | float,
    *,
    width: float,
    level: float = 0.95,
    n_comparisons: int = 1,
) -> tuple[Array, Array]:
    """Limits of correlations, or means of some, by what groups of units add to them (groups, c); NaN where unknown.

    With n_units below six there are none. Where few units carry what differs between judges, so many others may
    differ by the whole width of the scale that none of them was drawn: 1 - error^(1/n). Likewise for what agrees.
    """
    error = (1 - level) / n_comparisons
    r = np.clip(product.sum(0), -1, 1)
    squares = (variance**2).sum(0)
    df = np.maximum(1 / squares - 1, 1)
    q2 = stdtrit(df, 1 - error / 2) ** 2
    a = 1 - q2 * squares
    b = r - q2 * (product * variance).sum(0)
    c = r**2 - q2 * (product**2).sum(0)
    is_bounded = a > 0
    root = np.sqrt(np.maximum(b**2 - a * c, 0))
    divisor = np.where(is_bounded, a, 1.0)
    low = np.where(is_bounded, np.maximum((b - root) / divisor, -1), -1.0)
    high = np.where(is_bounded, np.minimum((b + root) / divisor, 1), 1.0)
    few = np.minimum(FEW_CARRIERS, np.asarray(n_units) / 2)
    blind_spot = (1 - error ** (1 / np.asarray(n_units))) * width**2 / (2 * np.maximum(mean_square, 1e-300))
    few_differ = count_carriers(variance - product, variance) < few
    low = np.where(few_differ, np.maximum(np.minimum(low, r - blind_spot), -1), low)
    few_agree = count_carriers(np.abs(product), variance) < few
    high = np.where(few_agree, np.minimum(np.maximum(high, r + blind_spot), 1), high)
    unknown = np.isnan(r) | (np.asarray(n_units) < FEWEST)
    return np.where(unknown, np.nan, low), np.where(unknown, np.nan, high)


def count_carriers(part: Array, variance: Array) -> Array:
    """The effective number of units that carry a part of the variance. Rounding error carries nothing."""
    part = np.where(np.abs(part) < 1e-12 * variance.max(0), 0.0, part)
    return np.asarray(part.sum(0) ** 2 / np.maximum((part**2).sum(0), 1e-300))
