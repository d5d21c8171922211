"""Few labels: how far a panel and its judges are from humans in each language, and what correcting by that removes.

Differences are (n, k, c): task x language x what is compared (the panel mean, a judge), NaN where there is no label.
Labels may come from strata within a language: `stratum` is (n, k), -1 for tasks outside the design. A language's
estimate is the mean over its strata, each with its share of all tasks, so that it is right whatever was drawn from
which. Spreads of strata are steadied by the same stratum in the other languages.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from polyjudge.panel.arrays import Array, ratio

Codes = NDArray[np.int64]
PRIOR = 4.0
"""Labels' worth of trust in a stratum's spread over all languages, when the spread of one language is estimated."""
GRID = 200
"""Values of tau over which its uncertainty is averaged."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Stratified:
    """Means by language and what is known of their error; each (k,) or (k, c)."""

    mean: Array
    variance: Array
    df: Array
    labels: Codes
    shared: Array
    """(c,) covariance between the means of two languages, from tasks that were labelled in both."""
    spread: Array
    """(k, H, c) standard deviation within strata, steadied over languages."""


def stratified_means(
    values: Array, stratum: Codes, weights: Array, cluster: Codes | None = None, fewest: int = 2
) -> Stratified:
    """Means over all tasks of values (n, k, c) known for some (NaN: not), by language.

    A stratum without a label lends its share to the nearest one that has some. With clusters the tasks of one are one
    observation.
    """
    n, k, c = values.shape
    there = ~np.isnan(values).any(axis=2) & (stratum >= 0)
    h = int(stratum.max(initial=0)) + 1
    share = _shares(stratum, there, weights, h)
    code = np.where(there, stratum + h * np.arange(k), k * h)
    unit = np.arange(n) if cluster is None else np.unique(cluster, return_inverse=True)[1]
    w = np.where(there, weights[:, None], 0.0)
    filled = np.where(there[..., None], values, 0.0)
    total = np.bincount(code.ravel(), w.ravel(), k * h + 1)[:-1].reshape(k, h)
    sums = np.stack([np.bincount(code.ravel(), (w * filled[..., i]).ravel(), k * h + 1)[:-1] for i in range(c)], 1)
    means = ratio(sums.reshape(k, h, c), np.repeat(total[..., None], c, axis=2))
    padded = np.concatenate([means.reshape(k * h, c), np.zeros((1, c))])
    rest = np.where(there[..., None], filled - padded[code], 0.0) * w[..., None]
    # what each unit adds to the error of its stratum's mean; tasks of one cluster are added before they are squared
    place = (unit[:, None] * (k * h + 1) + code).ravel()
    used, where = np.unique(place[there.ravel()], return_inverse=True)
    parts = np.stack([np.bincount(where, rest[..., i][there], len(used)) for i in range(c)], 1)
    cell = used % (k * h + 1)
    count = np.bincount(cell, minlength=k * h).reshape(k, h)
    squares = np.stack([np.bincount(cell, parts[:, i] ** 2, k * h) for i in range(c)], 1).reshape(k, h, c)
    per_unit = ratio(total, count.astype(float), 1.0)[..., None]  # weight of one observation
    own = squares / per_unit**2
    free = np.maximum(count - 1, 0)[..., None].astype(float)
    pooled = ratio(own.sum(axis=0), np.repeat(free.sum(axis=0), c, axis=1), np.nan)
    overall = ratio(own.sum(axis=(0, 1)), np.full(c, max(free.sum(), 1e-9)))
    pooled = np.where(np.isnan(pooled), overall, pooled)
    prior = PRIOR if (k > 1 or h > 1) else 0.0
    spread2 = ratio(own + prior * pooled, free + np.full((1, 1, c), prior), np.nan)
    pieces = share[..., None] ** 2 * spread2 / np.maximum(count, 1)[..., None]
    variance = pieces.sum(axis=1)
    df = ratio(variance**2, (pieces**2 / np.maximum(free + prior, 1e-9)).sum(axis=1), np.nan)
    labels = there.sum(axis=0)
    mean = np.where((labels >= fewest)[:, None], (share[..., None] * means).sum(axis=1), np.nan)
    influence = rest * _influence(share, total)[code][..., None]
    return Stratified(
        mean=mean,
        variance=np.where((labels >= fewest)[:, None], variance, np.nan),
        df=np.maximum(df, 1.0),
        labels=labels,
        shared=_shared(influence, there),
        spread=np.sqrt(spread2),
    )


def _shares(stratum: Codes, there: NDArray[np.bool_], weights: Array, h: int) -> Array:
    """(k, H) share of each stratum among a language's tasks; strata without labels lend theirs to the nearest."""
    k = stratum.shape[1]
    out = np.zeros((k, h))
    for i in range(k):
        inside = stratum[:, i] >= 0
        size = np.bincount(stratum[inside, i], weights[inside], h)
        known = np.flatnonzero(np.bincount(stratum[there[:, i], i], minlength=h))
        if len(known):
            for j in np.flatnonzero(size):
                out[i, known[np.abs(known - j).argmin()]] += size[j]
            out[i] /= out[i].sum()
    return out


def _influence(share: Array, total: Array) -> Array:
    """Factor that turns a weighted residual into its part of the language's error; one more at the end for no label."""
    return np.append(ratio(share, total).ravel(), 0.0)


def _shared(influence: Array, there: NDArray[np.bool_]) -> Array:
    """(c,) mean covariance between two languages' means over the tasks labelled in both; 0 when there are few."""
    k = there.shape[1]
    both = (there.astype(float).T @ there).sum() - there.sum()
    if k < 2 or both < k:
        return np.zeros(influence.shape[2])
    total = influence.sum(axis=1)
    off = (total**2).sum(axis=0) - (influence**2).sum(axis=(0, 1))
    return np.asarray(np.maximum(off / (k * (k - 1)), 0.0))


# --- shrinkage over languages ---


@dataclass(frozen=True, eq=False, kw_only=True)
class Shrunken:
    """Languages' means shrunk to their common mean; arrays are (k,)."""

    mean: float
    tau: float
    weight: Array
    estimate: Array
    se: Array
    """Includes what is not known of tau, of the common mean and, where it was given, of the annotators."""
    taus: Array
    """(G,) values of tau and their plausibility, which sums to 1."""
    plausible: Array


def shrink(estimates: Array, variance: Array) -> Shrunken:
    """Shrink estimates (k,; NaN for a language without labels) with error variances to their mean; tau by REML.

    A language without labels gets the common mean, with tau in its error.
    """
    known = np.isfinite(estimates) & np.isfinite(variance)
    y, v = estimates[known], np.maximum(variance[known], 1e-12)
    spread = max(float(np.ptp(y)) if len(y) > 1 else 0.0, float(np.sqrt(v.max(initial=0.0))), 1e-9)
    taus = np.concatenate([[0.0], np.geomspace(0.005, 2.0, GRID - 1) * spread])
    log = _reml(taus, y, v)
    best = _refine(taus, log, y, v) if len(y) > 1 else 0.0
    step = np.gradient(taus)
    plausible = np.exp(log - log.max()) * step
    plausible /= plausible.sum()
    means, errors, weights, centre = _posterior(taus[:, None], y, v)
    found = _posterior(np.array([[best]]), y, v)
    estimate, se = np.full(len(estimates), found[3][0]), np.empty(len(estimates))
    estimate[known] = found[0][0]
    se[known] = np.sqrt(plausible @ (errors + (means - found[0]) ** 2))
    total = 1 / (1 / (v + taus[:, None] ** 2)).sum(axis=1)
    se[~known] = np.sqrt(plausible @ (taus**2 + total + (centre - found[3][0]) ** 2))
    weight = np.zeros(len(estimates))
    weight[known] = found[2][0]
    return Shrunken(
        mean=float(found[3][0]), tau=best, weight=weight, estimate=estimate, se=se, taus=taus, plausible=plausible
    )


def _reml(taus: Array, y: Array, v: Array) -> Array:
    """Restricted log likelihood of each tau."""
    p = 1 / (v + taus[:, None] ** 2)
    total = p.sum(axis=1)
    mean = (p * y).sum(axis=1) / total
    out: Array = 0.5 * (np.log(p).sum(axis=1) - np.log(total) - (p * (y - mean[:, None]) ** 2).sum(axis=1))
    return out


def _refine(taus: Array, log: Array, y: Array, v: Array) -> float:
    """The tau of the largest likelihood, finer than the grid."""
    i = int(log.argmax())
    if i == 0:
        return 0.0
    near = np.linspace(taus[max(i - 1, 0)], taus[min(i + 1, len(taus) - 1)], 101)
    return float(near[_reml(near, y, v).argmax()])


def _posterior(taus: Array, y: Array, v: Array) -> tuple[Array, Array, Array, Array]:
    """Shrunken means (G, k), their variances, the weight of the own estimate, and the common mean (G,)."""
    p = 1 / (v + taus**2)
    total = p.sum(axis=1, keepdims=True)
    centre = (p * y).sum(axis=1, keepdims=True) / total
    w = taus**2 / (taus**2 + v)
    return centre + w * (y - centre), w * v + (1 - w) ** 2 / total, w, centre[:, 0]


# --- the fall of the language error ---


@dataclass(frozen=True, eq=False, kw_only=True)
class Fall:
    """Language error before and after: root mean square over languages, in points, and the share of its square that
    goes; each with limits."""

    before: tuple[float, float, float]
    after: tuple[float, float, float]
    removed: tuple[float, float, float]


def fall_of_error(
    estimates: Array, variance: Array, correction: Array, draws: int, seed: int, level: float = 0.95
) -> Fall:
    """What subtracting `correction` (k,) does to the language error, as far as the labels tell.

    The true differences are drawn as they may be, given the estimates (tau drawn as well); for each draw both errors,
    about their means over languages, are taken.
    """
    fit = shrink(estimates, variance)
    known = np.isfinite(estimates)
    y, v = estimates[known], np.maximum(variance[known], 1e-12)
    rng = np.random.default_rng([seed, len(y)])
    taus = fit.taus[rng.choice(len(fit.taus), draws, p=fit.plausible)][:, None]
    p = 1 / (v + taus**2)
    total = p.sum(axis=1, keepdims=True)
    centre = (p * y).sum(axis=1, keepdims=True) / total + rng.standard_normal((draws, 1)) / np.sqrt(total)
    w = taus**2 / (taus**2 + v)
    truth = centre + w * (y - centre) + np.sqrt(w * v) * rng.standard_normal((draws, len(y)))
    left = truth - correction[known]
    before, after = (((x - x.mean(axis=1, keepdims=True)) ** 2).mean(axis=1) for x in (truth, left))
    removed = 1 - ratio(after, before, 1.0)
    tails = [0.5, (1 - level) / 2, (1 + level) / 2]
    triples = [tuple(float(q) for q in np.quantile(x, tails)) for x in (np.sqrt(before), np.sqrt(after), removed)]
    return Fall(before=triples[0], after=triples[1], removed=triples[2])  # type: ignore[arg-type]


def t_interval(estimate: Array, se: Array, df: Array, level: float = 0.95) -> tuple[Array, Array]:
    """Limits by Student's t; NaN without a degree of freedom."""
    half = np.where(df > 0, stdtrit(np.maximum(df, 1e-9), (1 + level) / 2), np.nan) * se
    return estimate - half, estimate + half
