"""Shares of answers that pass, with limits: Wilson's, by as many answers as the tasks are worth; differences of two by
Newcombe (METHODS 32).

Answers of one task pass or fail together. A design effect says how many independent answers are worth as much as these,
and Wilson's limits of so many hold where a t interval of the unit means does not: near 0 and 100%.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from polyjudge.stats.blind import unseen_share
from polyjudge.stats.interval import FEWEST

Array = NDArray[np.float64]
ENOUGH = 10
"""Where n p (1 - p) is as much, a share's own design effect is known well enough to count."""


@dataclass(frozen=True)
class Shares:
    """Shares (c,) between 0 and 1, and what their limits are made of.

    number : (c,) independent answers that are worth as much as those of each share
    df : (c,) degrees of freedom of Student's t; infinite where each unit is one answer
    values : (units, c) one number per unit whose mean is the share
    """

    share: Array
    number: Array
    df: Array
    values: Array

    def limits(self, level: float = 0.95, n_comparisons: int = 1) -> tuple[Array, Array]:
        """Wilson's limits of each share, or of so many together (Sidak); NaN with fewer than six units.

        Units that pass or fail as a whole may be so few that none of them was drawn: the limits allow for these.
        """
        low, high = wilson_limits(self.share, self.number, self._quantile(level, n_comparisons))
        unseen = unseen_share(max(len(self.values), 1), level ** (1 / n_comparisons))
        return np.minimum(low, self.share * (1 - unseen)), np.maximum(high, self.share + unseen * (1 - self.share))

    def difference(
        self, first: NDArray[np.int64], second: NDArray[np.int64], level: float = 0.95, n_comparisons: int = 1
    ) -> tuple[Array, Array, Array]:
        """Differences of pairs of shares with Newcombe's limits, by the squared correlation of their unit values."""
        low, high = self.limits(level, n_comparisons)
        correlation = self._correlations(first, second) ** 2
        share = self.share
        return newcombe_limits(
            (share[first], low[first], high[first]), (share[second], low[second], high[second]), correlation
        )

    def _quantile(self, level: float, n_comparisons: int) -> Array:
        if len(self.values) < FEWEST:
            return np.full(len(self.share), np.nan)
        tail = 1 - (1 - level ** (1 / n_comparisons)) / 2
        normal = float(ndtri(tail))
        return np.where(np.isfinite(self.df), stdtrit(np.where(np.isfinite(self.df), self.df, 1.0), tail), normal)

    def _correlations(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> Array:
        """Correlations of unit values, 0 where negative or where a share does not vary."""
        centred = self.values - self.values.mean(0)
        size = np.sqrt((centred**2).sum(0))
        product = np.einsum("up,up->p", centred[:, first], centred[:, second])
        known = size[first] * size[second] > 1e-12
        return np.maximum(np.divide(product, size[first] * size[second], out=np.zeros(len(first)), where=known), 0.0)


def estimate_shares(values: Array, n_answers: Array, *, has_holes: bool = False) -> Shares:
    """Shares by one number per unit and cell, (units, c), and the number of answers in each cell.

    The design effect is the variance of the means over that of independent answers, pooled over cells; a cell's own
    counts where it is larger and enough of its answers pass and fail. In a complete panel it lies between 1 and the
    number of answers of a unit.
    """
    n_units = len(values)
    share, binomial, variance = _moments(values)
    in_unit = n_answers / max(n_units, 1)
    if share.size == 0 or n_units < 2:
        return Shares(share, n_answers.astype(float), np.full(share.shape, np.inf), values)
    effect = np.maximum(_design_effect(variance, binomial, n_answers, n_units), 1.0)
    if not has_holes:
        effect = np.minimum(effect, np.maximum(in_unit, 1.0))
    is_clustered = effect > 1
    # The design effect is itself estimated: so few units are worth less still.
    number = n_answers / effect * np.where(is_clustered, n_units / (n_units + 3), 1.0)
    df = np.where((in_unit > 1 + 1e-9) | is_clustered, n_units - 1.0, np.inf)
    return Shares(share, number, df, values)


def estimate_calibrated_shares(values: Array, n_answers: Array) -> Shares:
    """Shares whose unit values are contrasts of several cells' (units, c): they may be better known than one cell's."""
    n_units = len(values)
    share, binomial, variance = _moments(values)
    effect = _design_effect(variance, binomial, n_answers, n_units)
    number = n_answers / np.maximum(effect, 1e-12) * n_units / (n_units + 3)
    return Shares(share, number, np.full(share.shape, n_units - 1.0), values)


def _moments(values: Array) -> tuple[Array, Array, Array]:
    """Shares, the variance p (1 - p) of one answer, and the variance of the unit values."""
    share = np.clip(values.mean(0), 0, 1)
    variance = values.var(0, ddof=1) if len(values) > 1 else np.zeros(share.shape)
    return share, share * (1 - share), variance


def _design_effect(variance: Array, binomial: Array, n_answers: Array, n_units: int) -> Array:
    """Variance of a unit's mean over that of independent answers: pooled over cells, or a cell's own if larger."""
    in_unit = n_answers / n_units
    independent = binomial / np.maximum(in_unit, 1e-300)
    total = independent.sum()
    if total <= 1e-12:
        return np.asarray(in_unit)  # nothing fails, or all: answers of a unit may be one
    pooled = variance.sum() / total
    own = np.divide(variance, independent, out=np.zeros_like(variance), where=binomial * n_answers >= ENOUGH)
    return np.asarray(np.maximum(pooled, own))


def wilson_limits(share: Array, number: Array, quantile: Array | float) -> tuple[Array, Array]:
    """Wilson's limits of shares of so many answers; the number may be effective.

    >>> low, high = wilson_limits(np.array([0.86]), np.array([50.0]), 1.959964)
    >>> round(float(low[0]), 3), round(float(high[0]), 3)
    (0.738, 0.93)
    """
    part = quantile**2 / number
    middle = (share + part / 2) / (1 + part)
    half = np.sqrt(part * (share * (1 - share) + part / 4)) / (1 + part)
    return np.maximum(middle - half, 0), np.minimum(middle + half, 1)


def newcombe_limits(
    first: tuple[Array, Array, Array], second: tuple[Array, Array, Array], correlation: Array | float = 0.0
) -> tuple[Array, Array, Array]:
    """The difference of two shares, each with its limits, and its limits (Newcombe's square-and-add).

    >>> d, low, high = newcombe_limits((0.8, 0.7, 0.88), (0.6, 0.5, 0.7))
    >>> round(float(d), 3), round(float(low), 3), round(float(high), 3)
    (0.2, 0.059, 0.328)
    """
    (x, x_low, x_high), (y, y_low, y_high) = first, second
    down = (x - x_low) ** 2 + (y_high - y) ** 2 - 2 * correlation * (x - x_low) * (y_high - y)
    up = (x_high - x) ** 2 + (y - y_low) ** 2 - 2 * correlation * (x_high - x) * (y - y_low)
    difference = x - y
    return difference, difference - np.sqrt(np.maximum(down, 0)), difference + np.sqrt(np.maximum(up, 0))
