"""Signs of whole tasks flipped at random: how often a sum of differences is as large, down to tiny probabilities.

Without a change, the difference of a task is as likely as its negative. Given its size, the sum over tasks then has a
known law, whatever the spread: its moment generating function is the product of cosh(x d). Its tail follows by the
saddlepoint (Lugannani and Rice), close at 1 in 10 as at 1 in 10^9, where drawn flips say nothing. Last axis but one is
tasks; all other axes are columns of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

from polyjudge.second.panel.arrays import Array

FLIPS = 4999
BLOCK = 625
"""Flips that are drawn at once: what they hold does not grow with their number."""
TAIL = 25
"""With fewer drawn flips than this beyond it, a critical value comes from their law instead (`flip_critical`)."""
STEPS = 32
"""Halvings that place a saddlepoint."""
NEAR = 0.2
"""Below this many standard deviations the normal tail is as good, and the formula loses digits."""


def flip_tail(d: Array, total: Array) -> Array:
    """Chance that flipped differences (..., n, p) add up to at least `total` (..., p), which is not negative."""
    d, scale = _scaled(d)

    def beyond(point: Array) -> NDArray[np.bool_]:
        return (d * np.tanh(point[..., None, :] * d)).sum(axis=-2) >= total / scale

    return np.where(total > 0, _Tail(d)(_first(d, beyond))[0], 1.0)


def flip_critical(d: Array, alpha: float) -> Array:
    """The sum that flipped differences (..., n, p) reach with chance `alpha`; infinite where they never do."""
    never = 0.5 ** (d != 0).sum(axis=-2) > alpha
    d, scale = _scaled(d)
    tail = _Tail(d)
    point = _first(d, lambda x: tail(x)[0] <= alpha)
    return np.where(never, np.inf, tail(point)[1] * scale)


def _scaled(d: Array) -> tuple[Array, Array]:
    """Columns with a sum of squares of 1, and their scale."""
    scale = np.sqrt((d**2).sum(axis=-2))
    scale = np.where(scale > 0, scale, 1.0)
    return d / scale[..., None, :], scale


def _first(d: Array, beyond: Callable[[Array], NDArray[np.bool_]]) -> Array:
    """The smallest saddlepoint of each column that is `beyond`, by halving its logarithm."""
    low = np.full((*d.shape[:-2], d.shape[-1]), np.log(1e-4))
    size = np.abs(d)
    high = np.full_like(low, np.log(20 / max(float(size[size > 0].min(initial=1.0)), 1e-6)))
    for _ in range(STEPS):
        middle = (low + high) / 2
        there = beyond(np.exp(middle))
        low, high = np.where(there, low, middle), np.where(there, middle, high)
    return np.exp(high)


class _Tail:
    """Chance of at least the sum whose saddlepoint is `point` (..., p), and that sum, for differences (..., n, p)."""

    def __init__(self, d: Array) -> None:
        self.d, self.square = d, d**2
        size = np.where(d != 0, np.abs(d), np.inf)
        self.smallest = np.where(np.isfinite(size).any(axis=-2), size.min(axis=-2), 0.0)
        self.rarest = 0.5 ** (d != 0).sum(axis=-2)

    def __call__(self, point: Array) -> tuple[Array, Array]:
        x = point[..., None, :] * self.d
        size = np.abs(x)
        tanh = np.tanh(x)
        total = (self.d * tanh).sum(axis=-2)
        log_mean = (size + np.log1p(np.exp(-2 * size)) - np.log(2)).sum(axis=-2)
        variance = (self.square * (1 - tanh**2)).sum(axis=-2)
        w = np.sqrt(np.maximum(2 * (point * total - log_mean), 0.0))
        u = point * np.sqrt(variance)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_density = -(w**2) / 2 - np.log(np.sqrt(2 * np.pi))
            smooth = np.exp(log_ndtr(-w)) + np.exp(log_density) * (1 / u - 1 / w)
        # The law has steps, of twice the smallest difference: its tail holds the whole of the step it stands on.
        step = 2 * point * self.smallest
        lump = np.where(step > 1e-9, step / -np.expm1(-np.maximum(step, 1e-9)), 1.0)
        with np.errstate(invalid="ignore"):
            tail = np.where(w < NEAR, ndtr(-w), np.nan_to_num(smooth * lump, nan=1.0, posinf=1.0))
        # Never above Chernoff's bound, never rarer than all signs alike.
        out: Array = np.maximum(np.minimum(tail, np.exp(-(w**2) / 2)), self.rarest)
        return out, total


@dataclass(frozen=True)
class Tested:
    """Changes against chance: standard errors, degrees of freedom, critical |t|, p of each (adjusted) and of all."""

    se: Array
    df: float
    critical: Array | float
    p_cell: Array
    p_global: float

    @property
    def band(self) -> Array:
        """Half-width of the simultaneous band."""
        return reach(self.critical, self.se)


def reach(critical: Array | float, se: Array) -> Array:
    """Half-widths; infinite where no change could be told from chance."""
    far = np.isinf(critical)
    return np.where(far, np.inf, np.where(far, 0.0, critical) * se)


def adjusted_p(d: Array) -> Array:
    """Two-sided p of every column of differences (..., n, p) by flipped signs, adjusted for their number.

    Exact enough at any level (`flip_tail`), so that a year of nightly runs can be judged.
    """
    total = np.abs(d.sum(axis=-2))
    size = np.sqrt((d**2).sum(axis=-2))
    out = np.ones(total.shape)
    far = total > 2 * size  # nearer to 0 no column of several can be rare
    if far.any():
        columns = np.moveaxis(d, -2, -1)[far].T
        out[far] = np.minimum(2 * d.shape[-1] * flip_tail(columns, total[far]), 1.0)
    return out


def sign_flips(then: Array, now: Array, gap: float, alpha: float, seed: int) -> tuple[Array, Array, Tested]:
    """Paired test: without a change, the difference of a task is as likely as its negative."""
    n = len(then)
    d = (now - then).reshape(n, -1)
    d = np.where(np.abs(d) > gap, d, 0.0)
    square = (d**2).sum(axis=0)

    def largest(mean: Array) -> Array:
        error = np.sqrt(np.maximum(square / n - mean**2, 0.0) / (n - 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(error > 0, np.abs(mean) / error, np.where(mean != 0, np.inf, 0.0))

    mean = d.mean(axis=0)
    observed = largest(mean)
    rng = np.random.default_rng([seed, 0])
    null = np.empty(FLIPS)
    for at in range(0, FLIPS, BLOCK):
        flips = rng.random((len(null[at : at + BLOCK]), n))
        flips -= 0.5
        null[at : at + BLOCK] = largest(np.sign(flips, out=flips) @ d / n).max(axis=1)
    beyond = (null[:, None] >= observed).sum(axis=0)
    p_cell = (1 + beyond) / (1 + FLIPS)
    p_cell = np.where(beyond < TAIL, np.minimum(p_cell, adjusted_p(d)), p_cell)
    if alpha * FLIPS >= TAIL:
        critical: Array | float = float(np.quantile(null, 1 - alpha, method="higher"))
    else:
        limit = flip_critical(d, alpha / (2 * d.shape[1])) / n
        critical = np.where(np.isinf(limit), np.inf, largest(np.where(np.isinf(limit), 0.0, limit)))
    shape = then.shape[1:]
    se = np.sqrt(np.maximum(square / n - mean**2, 0.0) / (n - 1)).reshape(shape)
    critical = np.broadcast_to(critical, d.shape[1]).reshape(shape)
    tested = Tested(se, n - 1.0, critical, p_cell.reshape(shape), float(p_cell.min()))
    return then.mean(axis=0), now.mean(axis=0), tested


def share_p(before: Array, after: Array, tasks_before: Array, tasks_after: Array) -> Array:
    """Two-sided exact p (Fisher) of every two shares of independent tasks; shares within a task count as rounded."""
    from scipy.stats import hypergeom  # takes longer to load than all else here, and tasks are mostly the same ones

    a, b = np.rint(before * tasks_before), np.rint(after * tasks_after)
    chance = hypergeom(tasks_before + tasks_after, a + b, tasks_after)
    return np.minimum(2 * np.minimum(chance.sf(b - 1), chance.cdf(b)), 1.0)
