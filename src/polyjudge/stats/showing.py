"""How many units would show that nothing changes, if nothing does (METHODS 30).

A pilot says how noisy changes are. A study of N units says Yes where every change with its half-width, or with its
blind spot if that is larger, lies within what is accepted; the smallest N at which noise as in the pilot gives Yes in
80% of studies is stated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, chdtri, stdtrit

from polyjudge.stats.blind import unseen_share
from polyjudge.stats.interval import Interval

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
FEW_CARRY = 10
"""Where fewer units carry a change, its half-width and its blind spot are added."""
CHANCE = 0.8
"""Share of studies in which so many units are enough, and level of what is taken from the pilot."""
DRAWS = 400
MOST_COLUMNS = 500
"""The noisiest changes decide: more of them would not change the number."""
LARGEST = 1e6


@dataclass(frozen=True)
class Accepted:
    """What is accepted of each change (c,).

    limit : largest change that is accepted
    room : how far a failure may move the change, in one unit
    two_valued_mask : changes of pass and fail
    """

    limit: Array
    room: Array
    two_valued_mask: Mask


def carrying_units(x: Array) -> Array:
    """How many units carry the variance of each change: (sum y^2)^2 / sum y^4 about the mean; 0 where none does."""
    square = (x - x.mean(0)) ** 2
    fourth = (square**2).sum(0)
    return np.divide(square.sum(0) ** 2, fourth, out=np.zeros(x.shape[1]), where=fourth > 0)


def unseen_width(half_width: Array, blind: Array, n_carrying: Array) -> Array:
    """How far a change may be from its estimate: half-width or blind spot, both where few units carry it."""
    return np.where(n_carrying < FEW_CARRY, half_width + blind, np.maximum(half_width, blind))


def units_to_show(x: Array, interval: Interval, accepted: Accepted, level: float, seed: int = 0) -> int | None:
    """The smallest number of units that shows, in 80% of studies, that nothing changes, if nothing does; None where a
    million are too few. x : (units, c) changes of a pilot, without NaN"""
    limit = np.maximum(accepted.limit, 1e-300)  # what is accepted may be next to nothing
    columns = np.argsort(-interval.se / limit, kind="stable")[:MOST_COLUMNS]
    n_together = x.shape[1]
    noise = _PilotNoise.of(x[:, columns], interval.se[columns], _take(accepted, columns), seed)
    sizes = np.unique(np.geomspace(6, LARGEST, 400).astype(int))
    if not noise.shows(int(sizes[-1]), level, n_together):
        return None
    low, high = 0, len(sizes) - 1  # more units show more
    while low < high:
        middle = (low + high) // 2
        if noise.shows(int(sizes[middle]), level, n_together):
            high = middle
        else:
            low = middle + 1
    return int(sizes[low])


def _take(accepted: Accepted, columns: NDArray[np.intp]) -> Accepted:
    return Accepted(accepted.limit[columns], accepted.room[columns], accepted.two_valued_mask[columns])


@dataclass(frozen=True)
class _PilotNoise:
    """Noise of changes as in a pilot.

    drawn : (draws, c) errors of means, in standard errors, correlated as changes are
    sd : (c,) of one unit, as large as the pilot leaves it with a chance of 80%
    carrying_share : (c,) units that carry a change, as a share of all
    """

    drawn: Array
    sd: Array
    carrying_share: Array
    accepted: Accepted

    @classmethod
    def of(cls, x: Array, se: Array, accepted: Accepted, seed: int) -> _PilotNoise:
        """The noise of a pilot x (units, c) with these standard errors, by the Bayesian bootstrap."""
        n, n_columns = x.shape
        g = np.random.default_rng(seed)
        sd = se * np.sqrt(n) * np.sqrt((n - 1) / chdtri(n - 1, CHANCE))
        n_moved = (np.abs(x) > 1e-9 * np.abs(x).max(initial=1e-300)).sum(0)
        largest_share = betaincinv(n_moved + 1, np.maximum(n - n_moved, 1), CHANCE)
        sd = np.where(accepted.two_valued_mask, np.maximum(sd, accepted.room * np.sqrt(largest_share)), sd)
        centred = x - x.mean(0)
        size = np.sqrt((centred**2).mean(0))
        plain = g.normal(size=(n, n_columns))
        scaled = np.divide(centred, size, out=plain, where=size > 1e-12 * max(float(size.max(initial=0.0)), 1e-300))
        weight = g.dirichlet(np.ones(n), DRAWS) - 1 / n
        return cls(weight @ scaled * np.sqrt(n + 1), sd, carrying_units(x) / n, accepted)

    def shows(self, units: int, level: float, n_together: int) -> bool:
        """Whether so many units give Yes in 80% of studies if nothing changes."""
        quantile = float(stdtrit(units - 1, 1 - (1 - level ** (1 / n_together)) / 2))
        standard_error = self.sd / np.sqrt(units)
        blind = unseen_share(units, level) * self.accepted.room
        width = unseen_width(quantile * standard_error, blind, self._carrying(units))
        is_yes = np.abs(self.drawn) * standard_error + width < self.accepted.limit
        return bool(is_yes.all(1).mean() >= CHANCE)

    def _carrying(self, units: int) -> Array:
        """Units that will carry each change; where none did, as many as differ enough to show."""
        return np.where(self.carrying_share > 0, self.carrying_share * units, float(units))
