"""Test and retest: how much a judge's scores of one answer differ when it is asked again (METHODS 31a)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polyjudge.stats.blind import unseen_share
from polyjudge.stats.cells import sum_by
from polyjudge.stats.correlations import FEW_CARRIERS
from polyjudge.stats.interval import interval

Array = NDArray[np.float64]
NOISIER = 2.0
"""A judge whose variance is certainly larger than so many times the others' is noisier."""


@dataclass(frozen=True)
class Repeats:
    """sd, low, high : (m,) standard deviation of one judge's repeats of an answer; NaN where there are none. Limits
    hold for all judges together. named : (m,) judges that are certainly noisier than the others"""

    sd: Array
    low: Array
    high: Array
    named: NDArray[np.bool_]


def estimate_repeats(
    replicates: Array, unit: NDArray[np.int64], *, width: float, least: float = 0.0, level: float = 0.95
) -> Repeats:
    """Pooled standard deviations of repeats (rows, systems, languages, judges, repeats), NaN where missing.

    s^2 is pooled with an answer's repeats less one as weights; log s^2 has a jackknife over units. Judges are compared
    with the mean log s^2 of the others, and one that is named is certainly noisier than each that is not. An sd below
    `least` is not worth a word.
    """
    squares, freedom = _sum_squares(replicates, unit)
    squares = np.where(squares > (1e-9 * width) ** 2, squares, 0.0)  # rounding is no difference
    n_units, n_judges = squares.shape
    has_repeats = freedom.sum(0) > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = np.where(has_repeats, squares.sum(0) / freedom.sum(0), np.nan)
    # What is below a thousandth of the scale is no noise: judges that nearly always repeat themselves are alike.
    floor = (1e-3 * width) ** 2
    logs = _log_variances(squares, freedom, floor)
    found = interval(logs, level=level, together=int(has_repeats.sum()))
    low, high = np.exp(found.low), np.exp(found.high)
    few_differ = _count_carriers(squares) < min(FEW_CARRIERS, n_units / 2)
    # So many answers may differ by the whole scale without one of them having been drawn.
    unseen = unseen_share(n_units, level) * width**2 / 2
    low, high = np.where(few_differ, 0.0, low), np.where(few_differ, np.maximum(high, variance + unseen), high)
    named = np.zeros(n_judges, dtype=bool)
    if has_repeats.sum() > 1:
        others = _mean_of_others(logs, has_repeats)
        gap = interval(logs - others, level=level, together=int(has_repeats.sum()))
        named = (gap.low > np.log(NOISIER)) & (np.sqrt(variance) >= least) & ~few_differ
        # Nobody is called noisier than a judge that may be just as noisy; one that repeats itself exactly may not.
        is_rival = ~named & (variance > 0) & np.isfinite(high)
        named &= low > np.max(high, where=is_rival, initial=-np.inf)
    no_interval = ~np.isfinite(found.q)
    low, high = (np.where(no_interval, np.nan, x) for x in (low, high))
    return Repeats(np.sqrt(variance), np.sqrt(low), np.sqrt(high), named)


def _sum_squares(replicates: Array, unit: NDArray[np.int64]) -> tuple[Array, Array]:
    """Sums of squares of repeats about their mean and their degrees of freedom, (units, judges)."""
    seen = np.isfinite(replicates)
    number = seen.sum(-1, keepdims=True)
    mean = np.where(seen, replicates, 0.0).sum(-1, keepdims=True) / np.maximum(number, 1)
    squares = (np.where(seen, replicates - mean, 0.0) ** 2).sum(-1)
    freedom = np.maximum(number[..., 0] - 1, 0)
    n_units = int(unit.max()) + 1
    # Over systems and languages of a row, then over the rows of a unit.
    return sum_by(squares.sum((1, 2)), unit, n_units), sum_by(freedom.sum((1, 2)).astype(float), unit, n_units)


def _log_variances(squares: Array, freedom: Array, floor: float) -> Array:
    """One number per unit and judge whose mean is log s^2 and whose spread is its jackknife's; NaN without repeats."""
    total, total_freedom = squares.sum(0), freedom.sum(0)
    n_units = len(squares)
    rest_freedom = total_freedom - freedom
    with np.errstate(invalid="ignore", divide="ignore"):
        log = np.log(np.maximum(total / total_freedom, floor))
        log_without = np.log(np.maximum((total - squares) / rest_freedom, floor))
    log_without = np.where(rest_freedom > 0, log_without, log)
    pseudo = n_units * log - (n_units - 1) * log_without
    return np.asarray(np.where(total_freedom > 0, pseudo - pseudo.mean(0) + log, np.nan))


def _mean_of_others(logs: Array, has_repeats: NDArray[np.bool_]) -> Array:
    """The mean of the other judges' numbers of each unit."""
    known = np.where(has_repeats, logs, 0.0)
    total = known.sum(1, keepdims=True)
    return np.asarray((total - known) / max(int(has_repeats.sum()) - 1, 1))


def _count_carriers(squares: Array) -> Array:
    """The effective number of units that carry each judge's sum of squares."""
    return np.asarray(squares.sum(0) ** 2 / np.maximum((squares**2).sum(0), 1e-300))
