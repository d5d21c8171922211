"""The one interval: moderated t of contrasts of means over units, simultaneous by Sidak (METHODS 17).

Every contrast has one number per unit. Its variance is shrunk to that of the others as far as they are alike (Smyth
2004), or, for pass and fail, to what its rate makes of it. Cells, gaps, boards, drifts, swaps and shifts all use it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, digamma, polygamma, stdtr, stdtrit

Array = NDArray[np.float64]
FEWEST = 6
"""Units below which there is no interval."""


@dataclass(frozen=True)
class Interval:
    """Estimates of contrasts (c,), standard errors, degrees of freedom, and quantiles of all together and of one."""

    estimate: Array
    se: Array
    df: Array
    q: Array
    q_one: Array
    units: int

    @property
    def low(self) -> Array:
        """Lower limits that hold for all together."""
        return self.estimate - self.q * self.se

    @property
    def high(self) -> Array:
        """Upper limits that hold for all together."""
        return self.estimate + self.q * self.se

    @property
    def low_one(self) -> Array:
        """Lower limits that hold for one."""
        return self.estimate - self.q_one * self.se

    @property
    def high_one(self) -> Array:
        """Upper limits that hold for one."""
        return self.estimate + self.q_one * self.se

    @property
    def limit(self) -> Array:
        """The largest absolute value that is not ruled out, for all together."""
        return np.abs(self.estimate) + self.q * self.se

    def clear(self, matters: float = 0.0) -> NDArray[np.bool_]:
        """Whether the simultaneous interval lies beyond +-matters."""
        return np.abs(self.estimate) - self.q * self.se > matters

    @property
    def p(self) -> Array:
        """Two-sided p-value of each alone that it is zero."""
        t = np.divide(np.abs(self.estimate), self.se, out=np.full_like(self.se, np.inf), where=self.se > 0)
        return np.where(np.isfinite(self.q), 2 * stdtr(self.df, -t), np.nan)


def interval(
    x: Array,
    *,
    level: float = 0.95,
    together: int | None = None,
    prior: Array | None = None,
    df: Array | None = None,
    scale: Array | None = None,
) -> Interval:
    """Intervals of the means over units of contrasts x (units, c); a column with NaN has none, and counts for nothing.

    together : number of distinct contrasts that hold together (Sidak), where that is not the number of columns
    prior : for scores of two values, the variance of each contrast up to one factor (`pass_prior`), before `scale`
    df : degrees of freedom of each contrast, where they are not units - 1 (`group_df`)
    scale : what holes alone make of the variance of each contrast, up to a factor (`Values.scale`): it is no reason to
        take the variances for unlike
    """
    units, columns = x.shape
    good = np.isfinite(x).all(axis=0)
    nothing = np.full(columns, np.nan)
    found = Interval(nothing, nothing.copy(), nothing.copy(), nothing.copy(), nothing.copy(), units)
    found.estimate[good] = x[:, good].mean(0) if units else np.nan
    if units < 2 or not good.any():
        return found
    s2 = x[:, good].var(0, ddof=1)
    f = np.full(len(s2), units - 1.0) if df is None else np.maximum(np.asarray(df, dtype=float)[good], 1.0)
    unlike = np.ones(len(s2)) if scale is None else np.maximum(scale[good], 1e-12 * scale[good].max(initial=1e-300))
    variance, freedom = moderate(s2 / unlike, f, None if prior is None else prior[good])
    variance = variance * unlike
    freedom = np.minimum(freedom, (_rank(x[:, good]) if units < 10_000 else 1) * f)  # so many are enough
    found.se[good] = np.sqrt(variance / units)
    found.df[good] = freedom
    if units >= FEWEST:
        count = max(int(together or good.sum()), 1)
        known, at = np.unique(freedom, return_inverse=True)  # most are alike, and a quantile takes long
        found.q[good] = stdtrit(known, 1 - (1 - level ** (1 / count)) / 2)[at]
        found.q_one[good] = stdtrit(known, 1 - (1 - level) / 2)[at]
    return found


def moderate(s2: Array, f: Array, prior: Array | None = None) -> tuple[Array, Array]:
    """Variances (c,) with degrees of freedom f shrunk to what they have in common, and the degrees of freedom."""
    pool, middle = s2.mean(), float(np.median(f))
    if pool <= 0:
        return s2, f
    if prior is not None:
        d0, s0 = f, prior * pool / max(prior.mean(), 1e-300)
        return (d0 * s0 + f * s2) / (d0 + f), d0 + f
    z = np.log(np.maximum(s2, 1e-3 * pool))
    spread = (z.var(ddof=1) if len(z) > 1 else 0.0) - polygamma(1, middle / 2)
    if spread <= 1e-6:
        return np.full_like(s2, pool), np.full_like(s2, 1e9)
    half = _inverse_trigamma(spread)
    s0 = np.exp(z.mean() + digamma(half) - np.log(half) - digamma(middle / 2) + np.log(middle / 2))
    return (2 * half * s0 + f * s2) / (2 * half + f), 2 * half + f


def _inverse_trigamma(y: float) -> float:
    """The x with trigamma(x) = y, by Newton's steps on 1 / trigamma (Smyth 2004)."""
    x = 0.5 + 1 / y
    for _ in range(60):
        value = polygamma(1, x)
        step = value * (1 - value / y) / polygamma(2, x)
        x = max(x + step, 1e-3)
        if abs(step) < 1e-9 * x:
            break
    return float(x)


def _rank(x: Array) -> int:
    """Rank of the contrasts, as far as 64 of them tell: more would not change a quantile."""
    part = x[:, np.unique(np.linspace(0, x.shape[1] - 1, 64).astype(int))]
    part = part - part.mean(0)
    size = np.sqrt((part**2).sum(0))
    keep = size > 1e-9 * max(float(size.max()), 1e-300)
    if not keep.any():
        return 1
    part = part[:, keep] / size[keep]
    value = np.linalg.eigvalsh(part.T @ part)
    return max(int((value > 1e-9 * value[-1]).sum()), 1)


def group_df(x: Array, seen: NDArray[np.int64] | None) -> Array | None:
    """Degrees of freedom of each contrast (units, c) where groups of units saw other languages (Satterthwaite)."""
    if seen is None:
        return None
    centred = np.where(np.isfinite(x), x, 0.0)
    part = np.zeros((int(seen.max()) + 1, x.shape[1]))
    np.add.at(part, seen, (centred - centred.mean(0)) ** 2)
    size = np.bincount(seen)[:, None]
    below = (part**2 / np.maximum(size - 1, 1)).sum(0)
    return np.divide(part.sum(0) ** 2, below, out=np.full(x.shape[1], len(x) - 1.0), where=below > 0)


def pass_prior(rates: Array, units: int, contrasts: Array) -> Array:
    """Variance of contrasts (c, cells) of pass rates, up to a factor: p (1 - p) of the additive fit of rates (k, m)."""
    there = np.isfinite(rates)
    filled = np.where(there, rates, np.nanmean(rates))
    fit = filled.mean(-1, keepdims=True) + filled.mean(-2, keepdims=True) - filled.mean((-2, -1), keepdims=True)
    p = np.clip(fit, 1 / (2 * units), 1 - 1 / (2 * units))
    return contrasts**2 @ (p * (1 - p)).ravel()


def ruled_out(hits: int, units: int, level: float = 0.95, together: int = 1) -> float:
    """The exact upper limit of the share of units that differ, when so many of them did (Clopper and Pearson)."""
    if hits >= units:
        return 1.0
    return float(betaincinv(hits + 1, units - hits, 1 - (1 - level) / 2 / together))
