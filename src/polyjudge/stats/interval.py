"""The one interval: moderated t of contrasts of means over units, simultaneous by Sidak (METHODS 17, 28).

Every contrast has one number per unit. Its variance is shrunk to that of the others as far as they are alike and no
further (Smyth 2004, with heavy tails, noisy judges or languages and single noisy cells set apart), or, for pass and
fail, to what its rate makes of it. Cells, gaps, boards, drifts, swaps and shifts all use it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, chdtrc, digamma, fdtrc, polygamma, stdtr, stdtrit

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
FEWEST = 6
"""Units below which there is no interval."""
ALIKE = 1e9
"""Degrees of freedom of variances that do not differ at all."""
FEW_COLUMNS, SOME_COLUMNS = 20, 100
"""Contrasts from which what they have in common is known well; and where judges or languages differ."""


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
    grid: tuple[int, int] | None = None,
) -> Interval:
    """Intervals of the means over units of contrasts x (units, c); a column with NaN has none, and counts for nothing.

    together : number of distinct contrasts that hold together (Sidak), where that is not the number of columns
    prior : for scores of two values, the variance of each contrast up to one factor (`pass_prior`), before `scale`
    df : degrees of freedom of each contrast, where they are not units - 1 (`group_df`)
    scale : what holes alone make of the variance of each contrast, up to a factor (`Values.scale`): it is no reason to
        take the variances for unlike
    grid : languages and judges of the columns, where these are cells: all of a judge or language may be noisier
    """
    units, columns = x.shape
    known = np.isfinite(x).all(axis=0)
    estimate, se, df_used, q, q_one = (np.full(columns, np.nan) for _ in range(5))
    estimate[known] = x[:, known].mean(0) if units else np.nan
    if units < 2 or not known.any():
        return Interval(estimate, se, df_used, q, q_one, units)
    count = max(int(together or known.sum()), 1)
    alpha_all, alpha_one = 1 - level ** (1 / count), 1 - level
    spread = _spread(
        x[:, known],
        prior=None if prior is None else prior[known],
        df=None if df is None else np.asarray(df, dtype=float)[known],
        scale=None if scale is None else scale[known],
        grid=grid if known.all() else None,
    ).widened(alpha_all)
    se[known] = np.sqrt(spread.variance / units)
    df_used[known] = spread.df
    if units >= FEWEST:
        q[known] = t_quantile(spread.df, alpha_all)
        q_one[known] = t_quantile(spread.df, alpha_one)
    return Interval(estimate, se, df_used, q, q_one, units)


def t_quantile(df: Array, alpha: float) -> Array:
    """Two-sided quantiles of Student's t; most degrees of freedom are equal, and a quantile takes long."""
    distinct, index = np.unique(df, return_inverse=True)
    return np.asarray(stdtrit(distinct, 1 - alpha / 2), dtype=np.float64)[index.ravel()]


@dataclass(frozen=True)
class Spread:
    """Variances of contrasts (c,) and their degrees of freedom.

    own, own_df : the variance of each by itself, where it is not to be trusted less than what it is shrunk to
    """

    variance: Array
    df: Array
    own: Array | None = None
    own_df: Array | None = None

    def widened(self, alpha: float) -> Spread:
        """The own variance of a contrast in place of the shrunk one, where its interval is the wider of the two."""
        if self.own is None or self.own_df is None:
            return self
        shrunk_half = t_quantile(self.df, alpha) * np.sqrt(self.variance)
        own_half = t_quantile(self.own_df, alpha) * np.sqrt(self.own)
        wider = (self.own > self.variance) & (own_half > shrunk_half)
        return Spread(np.where(wider, self.own, self.variance), np.where(wider, self.own_df, self.df))


def _spread(
    x: Array, *, prior: Array | None, df: Array | None, scale: Array | None, grid: tuple[int, int] | None
) -> Spread:
    """Variances of the columns of x (units, c), shrunk to what they have in common."""
    units, columns = x.shape
    own = x.var(0, ddof=1)
    own_df = np.full(columns, units - 1.0) if df is None else np.maximum(df, 1.0)
    size = np.ones(columns) if scale is None else np.maximum(scale, 1e-12 * scale.max(initial=1e-300))
    rank = _rank(x) if units < 10_000 else 1  # so many are enough
    if prior is not None:
        shrunk = shrink_to_prior(own / size, own_df, prior)
    else:
        tails = excess_kurtosis(x, rank) if rank > 1 else 0.0
        shrunk = moderate(own / size, own_df, tails=tails / units, grid=grid)
    df_of_rank = rank * (own_df if shrunk.own_df is None else shrunk.own_df / 2)
    return Spread(
        shrunk.variance * size,
        np.minimum(shrunk.df, df_of_rank),
        None if shrunk.own is None else shrunk.own * size,
        shrunk.own_df,
    )


def shrink_to_prior(own: Array, df: Array, prior: Array) -> Spread:
    """Own variances halfway to a prior that is known up to one factor. It knows rates, not who is noisier than these
    say, so no interval is narrower than the own variance makes it."""
    pool = own.mean()
    if pool <= 0:
        return Spread(own, df)
    expected = prior * pool / max(prior.mean(), 1e-300)
    return Spread((expected + own) / 2, 2 * df, own, 2 * df)


def moderate(own: Array, df: Array, *, tails: float = 0.0, grid: tuple[int, int] | None = None) -> Spread:
    """Variances (c,) shrunk to what they have in common, and what of them is not in common.

    The log of a variance with f degrees of freedom has variance trigamma(f / 2); heavy tails add `tails`, and f becomes
    as many as normal scores would need for that. Where judges or languages differ, the prior has their levels. The
    prior is a scaled inverse chi-square with d0 degrees about s0 (Smyth 2004). Columns that it does not fit leave it,
    and keep the larger of s0 and their own. Where anything is unlike, or what is common is known from few columns, the
    own variance comes along, with twice its degrees of freedom: no interval is narrower than it says.
    """
    pool = own.mean()
    if pool <= 0:
        return Spread(own, df)
    middle = float(np.median(df))
    noise = float(polygamma(1, middle / 2)) + tails
    if tails > 0:
        df = df * (2 * _inverse_trigamma(noise) / middle)
        middle = float(np.median(df))
    log_own = np.log(np.maximum(own, 1e-3 * pool))
    center, n_levels = _row_and_column_levels(log_own, grid, noise)
    prior, fits_mask = _fit_prior_without_outliers(own, log_own - center, np.exp(center), middle, noise, n_levels)
    levels_matter = n_levels > 0 and len(own) < SOME_COLUMNS
    is_unlike = tails > 0 or not fits_mask.all() or levels_matter
    common = prior.center(np.exp(center))
    if np.isinf(prior.df):
        shrunk, shrunk_df = common, np.full(len(own), ALIKE)
    else:
        shrunk = (prior.df * common + df * own) / (prior.df + df)
        shrunk_df = prior.df + df
    return Spread(
        variance=np.where(fits_mask, shrunk, np.maximum(own, common)),
        df=np.where(fits_mask, shrunk_df, df),
        own=own if is_unlike or len(own) < FEW_COLUMNS else None,
        own_df=2 * df,
    )


@dataclass(frozen=True)
class _Prior:
    """Scaled inverse chi-square with `df` degrees, about `scale` times the level of a column."""

    df: float
    scale: float

    def center(self, level: Array) -> Array:
        """The variance (c,) to which each column is shrunk."""
        return self.scale * level


def _fit_prior_without_outliers(
    own: Array, log_excess: Array, level: Array, f: float, noise: float, n_levels: int
) -> tuple[_Prior, Mask]:
    """The prior of the columns that are alike, and which these are: they fit it by an F test shared by all columns."""
    fits_mask = np.ones(len(own), dtype=bool)
    prior = _fit_prior(own / level, log_excess, f, noise, n_levels)
    for _ in range(6):
        tail = fdtrc(f, min(prior.df, 1e6), own / prior.center(level))
        new_mask = np.asarray(tail > 0.05 / len(own))
        if (new_mask == fits_mask).all() or new_mask.sum() < len(own) / 2:
            break
        fits_mask = new_mask
        prior = _fit_prior(own[fits_mask] / level[fits_mask], log_excess[fits_mask], f, noise, n_levels)
    return prior, fits_mask


def _fit_prior(own: Array, log_own: Array, f: float, noise: float, n_levels: int) -> _Prior:
    """Moments of log variances: their spread beyond noise gives the degrees, their mean the scale (Smyth 2004)."""
    n = len(own)
    spread = log_own.var() * n / max(n - 1 - n_levels, 1) - noise
    if spread <= 1e-6:
        return _Prior(np.inf, float(own.mean()))
    half = _inverse_trigamma(spread)
    log_scale = log_own.mean() + digamma(half) - np.log(half) - digamma(f / 2) + np.log(f / 2)
    return _Prior(2 * half, float(np.exp(log_scale)))


def _row_and_column_levels(log_own: Array, grid: tuple[int, int] | None, noise: float) -> tuple[Array, int]:
    """What noisy judges and languages add to log variances (c,), shrunk (James and Stein), and how many levels these
    are; none where they do not certainly differ."""
    levels = np.zeros(len(log_own))
    if grid is None or min(grid) < 3:
        return levels, 0
    k, m = grid
    table = log_own.reshape(k, m)
    by_row, by_column = table.mean(1) - table.mean(), table.mean(0) - table.mean()
    rest = table - table.mean() - by_row[:, None] - by_column
    variance = max(float((rest**2).sum()) / ((k - 1) * (m - 1)), noise)
    n_levels = 0
    for effect, n_averaged, shape in ((by_row, m, (k, 1)), (by_column, k, (1, m))):
        chi_square = float((effect**2).sum()) * n_averaged / variance
        size = len(effect)
        if chdtrc(size - 1, chi_square) < 0.01:
            shrinkage = max(0.0, 1 - max(size - 3, 1) / chi_square)
            levels += np.broadcast_to(shrinkage * effect.reshape(shape), (k, m)).ravel()
            n_levels += size - 1
    return levels, n_levels


def excess_kurtosis(x: Array, rank: int) -> float:
    """How much heavier than normal the tails of units about their means are, each column on its own scale; 0 where that
    may be chance. rank : of the columns"""
    n = len(x)
    deviation = x - x.mean(0)
    square = deviation**2
    variance = square.mean(0)
    varies_mask = variance > 1e-6 * variance.mean()
    if not varies_mask.any():
        return 0.0
    fourth = np.einsum("ij,ij->j", square, square) / n
    ratio = float((fourth[varies_mask] / variance[varies_mask] ** 2).mean())
    return max(ratio * (n + 1) / (n - 1) - 3 - 2 * float(np.sqrt(24 / (n * rank))), 0.0)


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
