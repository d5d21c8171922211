"""Few labels: how far a panel and its judges are from humans in each language, and what correcting by that removes.

Differences are (n, k, c): task x language x what is compared (the panel mean, a judge), NaN where there is no label.
Labels may come from strata within a language: `stratum` is (n, k), -1 for tasks outside the design. A language's
estimate is the mean over its strata, each with its share of all tasks, so that it is right whatever was drawn from
which. Spreads of strata are steadied by the same stratum in the other languages.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from polyjudge.second.panel.arrays import Array, ratio

Codes = NDArray[np.int64]
PRIOR = 4.0
"""Labels' worth of trust in a stratum's spread over all languages, when the spread of one language is estimated."""
STEADY = 80.0
"""The same when it decides where to label next: what few labels say of one language would send labels astray, and make
its variance look small where they happened to be alike."""
DRAWS = 2000
"""Draws of what is not known of the noise, for the fall of the error."""
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
    loose: Array
    """(k,) variance of the first column's variance as its own labels tell it, if they are normal within strata."""
    influence: Array
    """(units with labels, k) what each adds to the error of the first column; their squares sum to its variance."""


def stratified_means(
    values: Array, stratum: Codes, weights: Array, cluster: Codes | None = None, fewest: int = 2, trust: float = PRIOR
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
    total: Array = np.bincount(code.ravel(), w.ravel(), k * h + 1)[:-1].reshape(k, h).astype(np.float64)
    sums = np.stack([np.bincount(code.ravel(), (w * filled[..., i]).ravel(), k * h + 1)[:-1] for i in range(c)], 1)
    means = ratio(sums.reshape(k, h, c).astype(np.float64), np.repeat(total[..., None], c, axis=2))
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
    prior = trust if (k > 1 or h > 1) else 0.0
    spread2 = ratio(own + prior * pooled, free + np.full((1, 1, c), prior), np.nan)
    pieces = share[..., None] ** 2 * spread2 / np.maximum(count, 1)[..., None]
    variance = pieces.sum(axis=1)
    df = ratio(variance**2, (pieces**2 / np.maximum(free + prior, 1e-9)).sum(axis=1), np.nan)
    labels = there.sum(axis=0)
    mean = np.where((labels >= fewest)[:, None], (share[..., None] * means).sum(axis=1), np.nan)
    # each weighted residual's part of its language's error; one more at the end for no label
    influence = rest * np.append(ratio(share, total).ravel(), 0.0)[code][..., None]
    shared = _shared(influence, there)
    return Stratified(
        mean=mean,
        variance=np.where((labels >= fewest)[:, None], variance, np.nan),
        df=np.maximum(df, 1.0),
        labels=labels,
        shared=shared,
        spread=np.sqrt(spread2),
        loose=(2 * ratio(pieces[..., 0].astype(np.float64) ** 2, free[..., 0], 0.0)).sum(axis=1),
        influence=_alone(influence[..., 0] * _unbiased(count)[code], unit, share * np.sqrt(pooled[:, 0]), count),
    )


def _unbiased(count: Codes) -> Array:
    """Factor by which residuals about a stratum's mean are too small; one more at the end for no label."""
    out: Array = np.append(np.sqrt(ratio(count.astype(np.float64), (count - 1).astype(np.float64), 0.0)).ravel(), 0.0)
    return out


def _alone(influence: Array, unit: Codes, spread: Array, count: Codes) -> Array:
    """(units with labels, k) influences by unit, and a row for every language whose strata with a single label have
    the spread of the same strata elsewhere."""
    total = np.stack([np.bincount(unit, x) for x in influence.T], axis=1)
    lone = np.sqrt(np.where(count == 1, spread**2, 0.0).sum(axis=1))
    rows = np.concatenate([total, np.diag(lone)])
    out: Array = rows[(rows != 0).any(axis=1)]
    return out


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
    """Includes what is not known of tau, of the common mean, of languages far from it and, where it was given, of the
    annotators."""


def shrink(estimates: Array, variance: Array) -> Shrunken:
    """Shrink estimates (k,; NaN for a language without labels) with error variances to their mean; tau by REML.

    A language without labels gets the common mean, with tau in its error.
    """
    known = np.isfinite(estimates) & np.isfinite(variance)
    if not known.any():
        none = np.full(len(estimates), np.nan)
        return Shrunken(mean=np.nan, tau=np.nan, weight=0 * none, estimate=none, se=none)
    y, v = estimates[known], np.maximum(variance[known], 1e-12)
    spread = max(float(np.ptp(y)) if len(y) > 1 else 0.0, float(np.sqrt(v.max(initial=0.0))), 1e-9)
    taus = np.concatenate([[0.0], np.geomspace(0.005, 2.0, GRID - 1) * spread])
    log = _reml(taus, y, v)
    best = _refine(taus, log, y, v) if len(y) > 1 else 0.0
    step = np.gradient(taus)
    plausible = np.exp(log - log.max()) * step
    plausible /= plausible.sum()
    means, errors, _, centre = _posterior(taus[:, None], y, v)
    found = _posterior(np.array([[best]]), y, v)
    estimate, se = np.full(len(estimates), found[3][0]), np.empty(len(estimates))
    estimate[known] = found[0][0]
    # a language farther from the mean than tau and noise account for is shrunk too much by all others' standard
    beyond = np.maximum((y - found[3][0]) ** 2 - v - best**2, 0.0) * (1 - found[2][0]) ** 2
    se[known] = np.sqrt(plausible @ (errors + (means - found[0]) ** 2) + beyond)
    total = 1 / (1 / (v + taus[:, None] ** 2)).sum(axis=1)
    se[~known] = np.sqrt(plausible @ (taus**2 + total + (centre - found[3][0]) ** 2))
    weight = np.zeros(len(estimates))
    weight[known] = found[2][0]
    return Shrunken(mean=float(found[3][0]), tau=best, weight=weight, estimate=estimate, se=se)


def _reml(taus: Array, y: Array, v: Array) -> Array:
    """Restricted log likelihood of each tau."""
    p = 1 / (v + taus[:, None] ** 2)
    total = p.sum(axis=1)
    mean = (p * y).sum(axis=1) / total
    return 0.5 * (np.log(p).sum(axis=1) - np.log(total) - (p * (y - mean[:, None]) ** 2).sum(axis=1))


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
    goes (-1: the square doubles, or worse); each with limits."""

    before: tuple[float, float, float]
    after: tuple[float, float, float]
    removed: tuple[float, float, float]


def fall_of_error(
    fit: Stratified, correction: Array, tasks: Array, seed: int, moved: Array | None = None, level: float = 0.95
) -> Fall:
    """What subtracting `correction` (k,) does to the language error on the tasks without labels, by the first column.

    Observed differences are x = e + noise, about their means over languages. Two unknown numbers settle both errors:
    how the noise goes with e, and its mean square. Both are drawn from what the labels say of the noise; the first
    grows with the size of e, so that size is solved for in every draw.

    tasks : (k,) tasks of each language: the fewer have no label, the more their own mean varies. Languages with less
        than a quarter of the usual number of labels are left out
    moved : (k,) what a map took off the mean of each language, where `fit` is of mapped scores: the error before is
        that of the scores as they were
    """
    known = np.isfinite(fit.mean[:, 0])
    known &= fit.labels >= np.median(fit.labels[known]) / 4 if known.any() else known  # few labels tell too little
    k, labels = int(known.sum()), fit.labels[known]
    moved = np.zeros(len(known)) if moved is None else moved
    x, z, d = (a - a.mean() if k > 1 else 0 * a for a in (fit.mean[known, 0], correction[known], moved[known]))
    if not (x @ x) > 0:
        return Fall(before=(np.nan,) * 3, after=(np.nan,) * 3, removed=(np.nan,) * 3)
    # where most tasks are labelled: what it would do on as many new ones
    parts = fit.influence[:, known] * np.sqrt(1 + labels / np.maximum(tasks[known] - labels, labels))
    parts -= parts.mean(axis=1, keepdims=True)
    along, mean, square = _noise(x, parts)
    by_map = parts @ d / k
    rng = np.random.default_rng([seed, k])
    shape = mean**2 / (square + float(fit.loose[known].sum()) / k**2)
    noise = rng.gamma(shape, mean / shape, DRAWS)
    normal = rng.standard_normal((2, DRAWS))
    going = float(np.sqrt(along @ along)) * normal[0]
    joint = float(by_map @ along) / max(float(np.sqrt(along @ along)), 1e-300)
    turn = joint * normal[0] + np.sqrt(max(float(by_map @ by_map) - joint**2, 0.0)) * normal[1]
    # mean x**2 = size**2 + 2 size going + noise
    size = np.maximum(np.sqrt(np.maximum(going**2 + float((x**2).mean()) - noise, 0.0)) - going, 0.0)
    together = going * size
    w = float(x @ z / (x @ x))
    after = np.maximum((1 - w) ** 2 * size**2 - 2 * w * (1 - w) * together + w**2 * noise, 0.0)
    before = np.maximum(size**2 + 2 * (float(x @ d) / k - turn) + float(d @ d) / k, 0.0)
    removed = np.maximum(1 - ratio(after, before, np.inf if w else 1.0), -1.0)
    tails = [0.5, (1 - level) / 2, (1 + level) / 2]
    triples = [tuple(float(q) for q in np.quantile(y, tails)) for y in (np.sqrt(before), np.sqrt(after), removed)]
    return Fall(before=triples[0], after=triples[1], removed=triples[2])  # type: ignore[arg-type]


def _noise(x: Array, parts: Array) -> tuple[Array, float, float]:
    """Of the noise of centred means x (k,) by their influences (units, k): what each unit adds to its mean product with
    errors of size 1 that lie as x does, its mean square, and the variance of that.

    A language's squared noise and the estimate of its variance move together where labels are rarely off, but then
    far: their difference varies as for normal noise, so nothing is added for that.
    """
    k = len(x)
    cov = parts.T @ parts
    mean = float(np.trace(cov)) / k
    where = np.sign(x) * np.sqrt(np.maximum(x**2 - mean, 0.0))
    where = where if where.any() else x
    along = parts @ where / np.sqrt((where @ where) * k)
    # a unit with itself is left out: it would count the noise of the estimate as well
    square = float((cov**2).sum() - ((parts**2).sum(axis=1) ** 2).sum())
    return along, mean, 2 * max(square, (k * mean) ** 2 / (k - 1)) / k**2


def paired_variance(fit: Stratified, column: int = 0) -> Array:
    """(k,) error variance of the means about their mean over languages: what languages share, by labels of the same
    tasks, does not count."""
    own: Array = fit.variance[:, column]
    return np.maximum(own - fit.shared[column], 0.3 * own)


def steady_variance(fit: Stratified, column: int = 0) -> Array:
    """(k,) the same, with one spread for all languages: labels vary most where a language differs from the others, and
    weights by their own spread would shrink just those languages."""
    own = paired_variance(fit, column)
    known = np.isfinite(own)
    one = float((own[known] * fit.labels[known]).mean()) if known.any() else np.nan
    return np.where(known, one / np.maximum(fit.labels, 1), np.nan)


def t_interval(estimate: Array, se: Array, df: Array, level: float = 0.95) -> tuple[Array, Array]:
    """Limits by Student's t; NaN without a degree of freedom."""
    half = np.where(df > 0, stdtrit(np.maximum(df, 1e-9), (1 + level) / 2), np.nan) * se
    return estimate - half, estimate + half


# --- means as humans would give them ---


def judge_weights(labels: Array, scores: Array, stratum: Codes) -> Array:
    """(m,) slope of labels (n, k) on the judges' scores (n, k, m) within strata, over all languages together."""
    k, m = scores.shape[1:]
    there = ~np.isnan(labels) & ~np.isnan(scores).any(axis=2) & (stratum >= 0)
    code = (stratum + (int(stratum.max(initial=0)) + 1) * np.arange(k))[there]
    x, y = scores[there], labels[there]
    count = np.maximum(np.bincount(code, minlength=1), 1)
    x = x - np.stack([np.bincount(code, x[:, j], len(count)) / count for j in range(m)], 1)[code]
    y = y - (np.bincount(code, y, len(count)) / count)[code]
    ridge = 1e-9 * max(float(np.trace(x.T @ x)), 1e-12)
    return np.linalg.solve(x.T @ x + ridge * np.eye(m), x.T @ y)


def residual_spread(labels: Array, scores: Array, stratum: Codes, weights: Array) -> Array:
    """(k, H) spread of labels about what the judges' scores say of them, steadied over languages."""
    guess = scores @ judge_weights(labels, scores, stratum)
    return stratified_means((labels - guess)[..., None], stratum, weights, fewest=1, trust=STEADY).spread[..., 0]


def powered_means(
    labels: Array, scores: Array, stratum: Codes, weights: Array, cluster: Codes | None = None
) -> Stratified:
    """Means over all tasks as humans would give them, by language: labels (n, k), with the judges' scores as guesses.

    What the judges' scores of all tasks say, by slopes over all languages, plus the mean over strata of what labels
    differ from it.
    """
    guess = scores @ judge_weights(labels, scores, stratum)
    known = (stratum >= 0) & ~np.isnan(guess)
    w = np.where(known, weights[:, None], 0.0)
    level = (w * np.where(known, guess, 0.0)).sum(axis=0) / np.maximum(w.sum(axis=0), 1e-300)
    rest = stratified_means((labels - guess)[..., None], stratum, weights, cluster)
    return replace(rest, mean=rest.mean + level[:, None])


def label_weights(stratum: NDArray[np.int64], known: NDArray[np.bool_], weights: Array) -> Array:
    """(n, k) how many tasks each label stands for; 0 where there is none."""
    out = np.zeros(stratum.shape)
    for i in range(stratum.shape[1]):
        inside = stratum[:, i] >= 0
        size = np.bincount(stratum[inside, i], weights[inside], minlength=1)
        drawn = np.bincount(stratum[known[:, i], i], weights[known[:, i]], len(size))
        out[known[:, i], i] = (size / np.maximum(drawn, 1e-300))[stratum[known[:, i], i]]
    return out
