"""Intervals of shares, of their change, and percentiles of resamples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, stdtrit

from polyjudge.second.panel.arrays import Array


def exact_binomial(share: Array, count: Array, level: float = 0.95) -> tuple[Array, Array]:
    """Clopper-Pearson bounds of a share seen in `count` cases; NaN where there is none."""
    tail = (1 - level) / 2
    hits = share * count
    with np.errstate(invalid="ignore"):
        low = np.where(hits > 0, betaincinv(np.maximum(hits, 1e-300), count - hits + 1, tail), 0.0)
        high = np.where(hits < count, betaincinv(hits + 1, np.maximum(count - hits, 1e-300), 1 - tail), 1.0)
    return np.where(count > 0, low, np.nan), np.where(count > 0, high, np.nan)


def wilson(share: Array, count: Array, quantile: Any) -> tuple[Array, Array]:
    """Score limits of shares seen in `count` independent cases, `quantile` standard errors wide."""
    square = quantile**2
    centre = (share + square / (2 * count)) / (1 + square / count)
    half = np.sqrt(square * (share * (1 - share) / count + square / (4 * count**2))) / (1 + square / count)
    return centre - half, centre + half


def share_interval(draws: Array, share: Array, tasks: Array, level: float = 0.95) -> tuple[Array, Array]:
    """Wilson's interval of shares with bootstrap draws (R, ...): that of so many independent decisions as have the
    variance of the draws. Where all tasks agree or none does a resample never varies: exact binomial bounds over tasks.
    A single task has no interval (NaN).
    """
    independent = np.maximum(tasks, 2)
    variance = np.nanvar(np.where(np.isnan(draws).all(axis=0), 0.0, draws), axis=0) * independent / (independent - 1)
    product = share * (1 - share)
    some = (product > 0) & (variance > 0)
    n = np.where(some, product / np.where(some, variance, 1.0), np.maximum(tasks, 1))
    limits = wilson(share, n, stdtrit(independent - 1, (1 + level) / 2))
    exact = exact_binomial(share, tasks, level)
    low, high = (np.where(some, *ends) for ends in zip(limits, exact, strict=True))
    return np.where(tasks > 1, low, np.nan), np.where(tasks > 1, high, np.nan)


def gain_interval(draws: Array, tasks: Array, identity: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Percentile limits of the change of a share, draws (R, ...).

    Where no resample changes anything, as many decisions may change as none of `tasks` can rule out; unless that is
    arithmetic. With a single task there are no limits (NaN).
    """
    low, high = quantiles(draws)
    still = (np.abs(low) <= 1e-12) & (np.abs(high) <= 1e-12) & ~identity
    most = exact_binomial(np.zeros(tasks.shape), tasks)[1]
    low, high = np.where(still, -most, low), np.where(still, most, high)
    return np.where(tasks > 1, low, np.nan), np.where(tasks > 1, high, np.nan)


def quantiles(draws: Array, level: float = 0.95) -> tuple[Array, Array]:
    """Percentile limits at `level` over the first axis of the finite draws; NaN where most are not finite."""
    tails = [(1 - level) / 2, (1 + level) / 2]
    bad = np.isnan(draws)
    if not bad.any():
        low, high = np.quantile(draws, tails, axis=0)
        return low, high
    enough = bad.mean(axis=0) <= 0.5
    filled = np.where(bad & ~enough, 0.0, draws)
    low, high = np.nanquantile(filled, tails, axis=0)
    return np.where(enough, low, np.nan), np.where(enough, high, np.nan)
