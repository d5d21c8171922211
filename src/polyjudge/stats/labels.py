"""People's labels beside scores, as plain functions of arrays (METHODS 13, 19 weights, 22).

y : labels, NaN where an answer has none; f : what the judge or the panel says of every answer. Intervals are tuples
(estimate, low, high), NaN where there is none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, ndtri, stdtr, stdtrit

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Limits = tuple[float, float, float]
NONE: Limits = (math.nan, math.nan, math.nan)
FEWEST = 6
"""Labels below which scores have no interval."""
CASES_FOR_KAPPA = 100
"""Cases from which on kappa has an error of its own; below, Wilson's limits of the accuracy hold better."""
FEW = 10
"""Labels below which a mean of scores by them, or a difference of two systems, has none: where labels are skewed it
held too seldom."""


# --- agreement ---


def wilson(hits: float, n: float, level: float = 0.95) -> Limits:
    """A share and Wilson's interval; `n` may be an effective number.

    >>> [round(x, 3) for x in wilson(43, 50)]
    [0.86, 0.738, 0.93]
    """
    if n <= 0:
        return NONE
    z, p = float(ndtri((1 + level) / 2)), hits / n
    middle = (p + z * z / 2 / n) / (1 + z * z / n)
    half = z * math.sqrt(max(p * (1 - p), 0.0) / n + z * z / 4 / n / n) / (1 + z * z / n)
    return p, max(0.0, middle - half), min(1.0, middle + half)


def wider(each: Array, unit: NDArray[Any] | None) -> float:
    """How much answers of one unit (task) that move together widen a variance: at least 1."""
    if unit is None or not len(each):
        return 1.0
    parts = np.bincount(_codes(unit, len(each)), each)
    return max(1.0, float((parts**2).sum()) / max(float((each**2).sum()), 1e-300))


def share(hit: Array, unit: NDArray[Any] | None = None, level: float = 0.95) -> Limits:
    """A share of answers with Wilson's interval, units (tasks) drawn as wholes."""
    if not len(hit):
        return NONE
    n = len(hit) / wider(hit - hit.mean(), unit)
    return wilson(float(hit.mean()) * n, n, level)


def kappa(y: Array, f: Array, unit: NDArray[Any] | None = None, level: float = 0.95) -> Limits:
    """Cohen's kappa of two raters, each of whose different values is an outcome: 1 and 0, or a tie beside them. None
    where a rater always says the same: kappa is 0 then, whatever the other says.

    Limits from 100 cases on: the error of Fleiss, Cohen and Everitt on the table plus a half per cell, on the scale of
    Fisher's z, units (tasks) drawn as wholes. Below: Wilson's of the accuracy, chance agreement held.
    """
    if not len(y) or np.ptp(y) == 0 or np.ptp(f) == 0:
        return NONE
    outcomes, code = np.unique(np.concatenate([y, f]), return_inverse=True)
    said, other = code[: len(y)], code[len(y) :]
    counts = _count_outcomes(said, other, len(outcomes))
    value, chance = _kappa_of(counts)
    if len(y) < CASES_FOR_KAPPA:
        _, low, high = ((x - chance) / (1 - chance) for x in share((y == f).astype(float), unit, level))
        return value, max(low, -1.0), high
    table = counts + 0.5
    smoothed, chance = _kappa_of(table)
    influence = _kappa_influence(table, smoothed, chance)  # of a case of each kind
    variance = float((table * influence**2).sum()) / float(table.sum()) ** 2
    cases = influence[said, other]
    error = math.sqrt(variance * wider(cases - cases.mean(), unit)) / (1 - smoothed**2)
    half = float(ndtri((1 + level) / 2)) * error
    low, high = math.tanh(math.atanh(smoothed) - half), math.tanh(math.atanh(smoothed) + half)
    return value, min(low, value), max(high, value)


def _count_outcomes(said: NDArray[Any], other: NDArray[Any], n_outcomes: int) -> Array:
    """(outcomes, outcomes): how often one rater (rows) and the other (columns) say each; both are numbered from 0."""
    return np.bincount(said * n_outcomes + other, minlength=n_outcomes**2).reshape(n_outcomes, -1).astype(float)


def _kappa_of(table: Array) -> tuple[float, float]:
    """Kappa, and the agreement that is due to chance."""
    shares = table / table.sum()
    chance = float(shares.sum(1) @ shares.sum(0))
    return (float(np.trace(shares)) - chance) / (1 - chance), chance


def _kappa_influence(table: Array, value: float, chance: float) -> Array:
    """By how much a case of each kind moves kappa, times the number of cases, (outcomes, outcomes).

    kappa = (a - e) / (1 - e): a case moves the agreement a by [same] - a, and chance e by row + column - 2 e of the
    other rater's shares.
    """
    shares = table / table.sum()
    of_rows, of_columns = shares.sum(1), shares.sum(0)
    moves_chance = of_columns[:, None] + of_rows[None, :] - 2 * chance
    return np.asarray((np.eye(len(table)) - np.trace(shares) - (1 - value) * moves_chance) / (1 - chance))


def correlation(y: Array, f: Array, unit: NDArray[Any] | None = None, level: float = 0.95) -> Limits:
    """Pearson's r with Fisher's interval, units (tasks) drawn as wholes; wider, by the influence of each answer, where
    extremes go together more often than in normal scores."""
    n = len(y)
    if n < 3 or np.ptp(y) <= 1e-12 or np.ptp(f) <= 1e-12:
        return NONE
    r = float(np.corrcoef(y, f)[0, 1])
    if n < FEWEST or abs(r) > 1 - 1e-12:
        return r, math.nan, math.nan
    a, b = (y - y.mean()) / y.std(), (f - f.mean()) / f.std()
    influence = a * b - r / 2 * (a * a + b * b)
    more = wider(influence, unit) * max(1.0, float((influence**2).mean()) / (1 - r * r) ** 2)
    half = float(ndtri((1 + level) / 2)) * math.sqrt(more / (n - 3))
    return r, math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)


def mean(x: Array, unit: NDArray[Any] | None = None, level: float = 0.95) -> Limits:
    """A mean with Student's interval, units (tasks) drawn as wholes."""
    n = len(x)
    if n == 0:
        return NONE
    m = float(x.mean())
    parts = np.bincount(_codes(unit, n), (x - m) / n).astype(float)
    return _student(m, parts, level) if len(parts) >= FEWEST else (m, math.nan, math.nan)


def gap(x: Array, high: Bools, unit: NDArray[Any], level: float = 0.95) -> Limits:
    """The mean of some numbers less that of the others, with Student's interval, units (answers) drawn as wholes.

    No interval where fewer than six units make all of its variance, because nearly all of them are alike: it would be
    far too narrow whenever a rare difference was not drawn.
    """
    d = float(x[high].mean() - x[~high].mean())
    each = np.where(high, (x - x[high].mean()) / high.sum(), -(x - x[~high].mean()) / (~high).sum())
    parts = np.bincount(_codes(unit, len(x)), each).astype(float)
    parts[np.abs(parts) <= 1e-12 * np.abs(x).max()] = 0.0  # rounding is no difference
    enough = float((parts**2).sum()) ** 2 > FEWEST * float((parts**4).sum())
    return _student(d, parts, level) if enough else (d, math.nan, math.nan)


def _student(value: float, parts: Array, level: float) -> Limits:
    """An estimate with Student's interval, by the part of each unit in its error."""
    n = len(parts)
    half = float(stdtrit(n - 1, (1 + level) / 2)) * math.sqrt(float((parts**2).sum()) * n / (n - 1))
    return value, value - half, value + half


def _codes(unit: NDArray[Any] | None, n: int) -> NDArray[np.int64]:
    return np.arange(n) if unit is None else np.unique(unit, return_inverse=True)[1].astype(np.int64)


# --- the rate or mean that people would give (METHODS 13) ---


@dataclass(frozen=True)
class Powered:
    """A mean by few labels and many scores: value, low, high; the labels alone; influence of each unit, in order."""

    value: float
    low: float
    high: float
    alone: Limits
    influence: Array
    n: int
    slope: float = 0.0
    these: tuple[float, float] = (math.nan, math.nan)
    """Limits of the mean label of exactly these answers; low and high are of answers like them."""


def powered(
    y: Array,
    f: Array,
    unit: NDArray[Any] | None = None,
    *,
    two_valued: bool,
    group: NDArray[np.int64] | None = None,
    level: float = 0.95,
    seed: int = 0,
    units: int = 0,
) -> Powered:
    """Prediction-powered mean of y, which is known for some answers, by f, which is known for all (METHODS 13).

    unit : number of the unit of each answer (0, 1, ...); answers of one unit are not independent; units : how many
    two_valued : y is 0 or 1, or a share of labels that are
    group : the language of each answer: languages count by their answers, not by their labels
    """
    lab = ~np.isnan(y)
    n, total = int(lab.sum()), len(f)
    codes = np.arange(total) if unit is None else np.asarray(unit, dtype=np.int64)
    units = max(int(codes.max(initial=-1)) + 1, units)
    if n == 0:
        return Powered(*NONE, NONE, np.zeros(units), 0)
    g = np.zeros(total, dtype=np.int64) if group is None else np.unique(group, return_inverse=True)[1]
    yl, fl, gl = y[lab], f[lab], g[lab]
    every, some = np.bincount(g), np.bincount(gl, minlength=int(g.max()) + 1)
    share_ = np.where(some > 0, every, 0) / every[some > 0].sum()
    w = (share_ * n / np.maximum(some, 1))[gl]
    # means of each language; one label alone is no mean of a language
    own, in_all = some > 1, np.bincount(g, f) / every
    my, mf = (np.where(own, np.bincount(gl, x, len(own)) / np.maximum(some, 1), (w * x).mean()) for x in (yl, fl))
    yc, fc = yl - my[gl], fl - mf[gl]
    var = float((w * fc * fc).mean())
    b = float((w * fc * yc).mean()) / var if var > 1e-12 and total > n else 0.0
    p, gap = float(share_ @ my) + float((w * yc).mean()), float(share_ @ (in_all - mf)) - float((w * fc).mean())
    if two_valued:
        rare = min(float(yl.sum()), n - float(yl.sum()))
        b *= rare / (rare + 3)
    rest = w * (yc - b * fc)
    within = f - in_all[g]
    each = b * within / total
    each[lab] += (rest - rest.mean()) / n
    influence = np.bincount(codes, each, minlength=units).astype(float)
    more = wider(each, unit)
    value = p + b * gap
    kish = n / float((w * w).mean())
    if two_valued:
        value = min(max(value, 0.0), 1.0)
        before = p * (1 - p) / n
        gain = min(max(before / max(float((each**2).sum()), 1e-300), kish / n), 10.0) if before > 1e-12 else kish / n
        low, high = wilson(value * n * gain / more, n * gain / more, level)[1:]
        return Powered(value, low, high, wilson(p * kish, kish, level), influence, n, b)
    alone = mean(p + w * yc - float((w * yc).mean()), codes[lab], level)
    if n < FEW:
        return Powered(value, math.nan, math.nan, (p, math.nan, math.nan), influence, n, b)
    df = max(n - 1 - int(own.sum()), 1)
    spread = float((within**2).sum()) / max(total - len(every), 1) / total
    se = math.sqrt(float(((rest - rest.mean()) ** 2).mean()) / df + b * b * spread)
    q = float(stdtrit(df, (1 + level) / 2))
    below, above = (-q, q) if n > 1000 or se <= 0 else _bootstrap_t(yc, fc, w, b, gap, spread, se, df, level, seed)
    se *= math.sqrt(more)
    return Powered(value, value - above * se, value - below * se, alone, influence, n, b)


def of_these(
    y: Array,
    f: Array,
    people: Powered,
    unit: NDArray[Any] | None = None,
    *,
    two_valued: bool,
    group: NDArray[np.int64] | None = None,
    level: float = 0.95,
) -> tuple[float, float]:
    """Limits of the mean label of exactly these answers, by an estimate of `powered`: of labelled ones all is known.

    Inside each language the error is that of the mean residual y - slope f of n labels among N answers, of variance
    (1 - n/N) s^2 / n, with Student's t. Pass or fail: Wilson's interval at the number of labels that has this variance.
    """
    has_label = ~np.isnan(y)
    n = int(has_label.sum())
    every_language = np.zeros(len(f), dtype=np.int64) if group is None else np.unique(group, return_inverse=True)[1]
    language = every_language[has_label]
    n_answers = np.bincount(every_language)
    n_labels = np.bincount(language, minlength=len(n_answers))
    n_known = int(n_answers[n_labels > 0].sum())
    df = n - int((n_labels > 0).sum()) - (people.slope != 0)
    if df < 1 or n < (FEW if not two_valued else 1):
        return math.nan, math.nan
    if n >= n_known:
        return people.value, people.value
    residual = y[has_label] - people.slope * f[has_label]
    mean = np.bincount(language, residual, len(n_labels)) / np.maximum(n_labels, 1)
    unlabelled_share = np.maximum(1 - n_labels / n_answers, 0.0)
    weight = n_answers / n_known * np.sqrt(unlabelled_share) / np.maximum(n_labels, 1)
    parts = (residual - mean[language]) * weight[language]
    more = wider(parts, None if unit is None else np.asarray(unit)[has_label])
    variance = float((parts**2).sum()) * more * n / df
    if two_valued:
        return _wilson_at_variance(people.value, variance, n / more, 1 - n / n_known, level)
    half = float(stdtrit(df, (1 + level) / 2)) * math.sqrt(variance)
    return people.value - half, people.value + half


def _wilson_at_variance(
    value: float, variance: float, n: float, unlabelled_share: float, level: float
) -> tuple[float, float]:
    """Wilson's limits of a share with this variance; it counts as half to ten times its labels."""
    share = min(max(value, 0.5 / n), 1 - 0.5 / n)
    n_effective = share * (1 - share) / max(variance, 1e-300)
    n_effective = min(max(n_effective, n / unlabelled_share / 2), 10 * n / unlabelled_share)
    return wilson(value * n_effective, n_effective, level)[1:]


def widened(got: Powered, more: float, df: float, *, two_valued: bool, level: float = 0.95) -> Powered:
    """An estimate whose variance is larger by `more`, known from so many degrees of freedom (annotators)."""
    own = float((got.influence**2).sum())
    total = own + more
    if math.isnan(got.low) or total <= 0:
        return got
    below, above = got.value - got.these[0], got.these[1] - got.value
    by_annotators = float(stdtrit(df, (1 + level) / 2)) * math.sqrt(more)
    these = got.value - math.hypot(below, by_annotators), got.value + math.hypot(above, by_annotators)
    if two_valued:
        these = max(these[0], 0.0), min(these[1], 1.0)
    got = replace(got, these=these)
    freedom = total**2 / (more**2 / df + own**2 / max(got.n - 1, 1))
    q, usual = float(stdtrit(freedom, (1 + level) / 2)), float(stdtrit(max(got.n - 2, 1), (1 + level) / 2))
    if two_valued:
        usual = float(ndtri((1 + level) / 2))
        p = min(max(got.value, 0.5 / got.n), 1 - 0.5 / got.n)
        n = p * (1 - p) / total * (usual / q) ** 2
        low, high = wilson(got.value * n, n, level)[1:]
        return replace(got, low=min(got.low, low), high=max(got.high, high))
    grow = math.sqrt(total / own) * q / usual if own > 0 else 1.0
    half = q * math.sqrt(total)
    low = got.value - max((got.value - got.low) * grow, half)
    return replace(got, low=low, high=got.value + max((got.high - got.value) * grow, half))


def _bootstrap_t(
    y: Array, f: Array, w: Array, slope: float, gap: float, spread: float, se: float, df: int, level: float, seed: int
) -> tuple[float, float]:
    """Quantiles of (estimate - truth) / se, by resampled labels y and scores f, centred in languages, weights w."""
    n = len(y)
    rng = np.random.default_rng(seed)
    i = rng.integers(n, size=(1000, n))
    ys, fs, ws = y[i], f[i], w[i]
    my, mf = (ws * ys).mean(1), (ws * fs).mean(1)
    yc, fc = ys - my[:, None], fs - mf[:, None]
    var = (ws * fc * fc).mean(1)
    b = (
        np.where(var > 1e-12, (ws * fc * yc).mean(1) / np.where(var > 1e-12, var, 1.0), 0.0)
        if slope
        else np.zeros(1000)
    )
    off = my - float((w * y).mean()) + b * (rng.normal(0, math.sqrt(spread), 1000) - mf + float((w * f).mean()))
    off += (b - slope) * gap
    each = np.sqrt(((ws * (yc - b[:, None] * fc)) ** 2).mean(1) / df + b**2 * spread)
    t = off / np.maximum(each, 0.25 * se)
    q = float(stdtrit(df, (1 + level) / 2))
    low, high = np.quantile(t, [(1 - level) / 2, (1 + level) / 2])
    if level > 0.99:  # a thousand draws do not reach so far
        near = float(stdtrit(df, 0.975))
        low, high = min(low, np.quantile(t, 0.025) * q / near), max(high, np.quantile(t, 0.975) * q / near)
    return min(float(low), -0.8 * q), max(float(high), 0.8 * q)


def difference(a: Limits, b: Limits, r: float) -> Limits:
    """The difference of two estimates with intervals, correlated by r (Newcombe).

    >>> [round(x, 3) for x in difference((0.8, 0.7, 0.88), (0.6, 0.5, 0.7), 0.0)]
    [0.2, 0.059, 0.328]
    """
    (x, xl, xh), (y, yl, yh) = a, b
    down = math.sqrt(max((x - xl) ** 2 + (yh - y) ** 2 - 2 * r * (x - xl) * (yh - y), 0.0))
    up = math.sqrt(max((xh - x) ** 2 + (y - yl) ** 2 - 2 * r * (xh - x) * (y - yl), 0.0))
    return x - y, x - y - down, x - y + up


def apart(a: Limits, b: Limits, many: int, level: float) -> bool:
    """Whether a is surely above b, the highest and the lowest of so many estimates."""
    d, low, _ = difference(a, b, 0.0)
    together = level ** (2 / many / (many - 1))  # of all pairs
    return d - (d - low) * float(ndtri((1 + together) / 2) / ndtri((1 + level) / 2)) > 1e-9


def correlated(a: Array, b: Array) -> float:
    """Correlation of two estimates by the influence of each unit on them."""
    size = math.sqrt(float((a**2).sum() * (b**2).sum()))
    return float(a @ b) / size if size > 0 else 0.0


# --- annotators (METHODS 22) ---


@dataclass(frozen=True)
class Severity:
    """Mean difference by language, annotators as a sample: estimate, variance, degrees of freedom."""

    estimate: Array
    variance: Array
    df: int


def severity(
    d: Array, language: NDArray[np.int64], who: NDArray[np.int64], task: NDArray[np.int64], k: int
) -> Severity:
    """Annotators as units: SE^2 = MS/A + max(0, V_task - V_label), from one difference a label (METHODS 22).

    d : panel less label; language, who, task : numbers of each label's language, annotator and task; k : languages
    """
    estimate, shared, alone, count = np.full(k, np.nan), np.zeros(k), np.full(k, np.nan), np.ones(k)
    squares, df = 0.0, 0
    for i in range(k):
        at = language == i
        if not at.any():
            continue
        a = np.unique(who[at], return_inverse=True)[1]
        n = np.bincount(a)
        m = np.bincount(a, d[at]) / n
        weighted = (d[at] - m[a]) / (len(n) * n[a])
        t = np.unique(task[at], return_inverse=True)[1]
        tasks = int(t.max()) + 1
        by_task = float((np.bincount(t, weighted) ** 2).sum()) * tasks / max(tasks - 1, 1)
        alone[i] = float((weighted**2).sum()) * len(weighted) / max(len(weighted) - len(n), 1)
        estimate[i], count[i] = m.mean(), len(n)
        shared[i] = max(0.0, by_task - alone[i])
        squares += float(((m - m.mean()) ** 2).sum())
        df += len(n) - 1
    spread = squares / df if df else np.nan
    variance = (spread / count if df else alone) + shared
    return Severity(estimate, variance, df)


def alpha(table: Array, level: float = 0.95, seed: int = 0) -> Limits:
    """Krippendorff's alpha (interval scale) of labels (items, annotators; NaN), with a bootstrap of items."""
    n = (~np.isnan(table)).sum(1)
    table, n = table[n > 1], n[n > 1]
    if len(n) < 2:
        return NONE
    first, second = np.nansum(table, 1), np.nansum(table**2, 1)
    inside = (second - first**2 / n) * n / (n - 1)  # n^2 / (n - 1) times the variance of the item
    parts = np.stack([n, first, second, inside], axis=1).astype(float)

    def of(x: Array) -> Array:
        size, total, squares, within = x.T
        var = (squares - total**2 / size) / (size - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(var > 1e-12, 1 - within / (size * var), np.nan)

    rng = np.random.default_rng(seed)
    drawn = np.stack([parts.T @ np.bincount(rng.integers(len(n), size=len(n)), minlength=len(n)) for _ in range(500)])
    value = float(of(parts.sum(0)[None])[0])
    again = of(drawn.astype(float))
    if np.isnan(value) or len(n) < FEWEST or np.isnan(again).all():
        return value, math.nan, math.nan
    low, high = np.nanquantile(again, [(1 - level) / 2, (1 + level) / 2])
    return value, float(low), float(high)


def not_random(f: Array, labelled: Bools, language: NDArray[np.int64], unit: NDArray[np.int64]) -> float:
    """z of the panel's mean of labelled against other answers, pooled inside languages, units as a sample; 0 where
    fewer than ten answers or units have labels, or fewer than ten have none."""
    influence, difference = np.zeros(len(f)), 0.0
    fewest = min(len(np.unique(unit[labelled])), len(np.unique(unit[~labelled])))
    if fewest < FEW:
        return 0.0
    for i in np.unique(language):
        a, b = (language == i) & labelled, (language == i) & ~labelled
        if min(a.sum(), b.sum()) >= 2:
            difference += float(f[a].mean() - f[b].mean())
            influence[a] = (f[a] - f[a].mean()) / a.sum() * math.sqrt(a.sum() / (a.sum() - 1))
            influence[b] = -(f[b] - f[b].mean()) / b.sum() * math.sqrt(b.sum() / (b.sum() - 1))
    error = math.sqrt(float((np.bincount(_codes(unit, len(f)), influence) ** 2).sum()))
    return difference / error if error > 0 else 0.0


# --- weights of judges by people (METHODS 19) ---

PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, math.inf)
"""Of the ridge towards equal weights, as shares of the number of labels; infinite: equal weights."""
TIMES_EQUAL = 8.0
"""How often equal weights count: what labels say of the judges by chance costs more than it gains."""
N_SPLITS, N_FOLDS = 4, 5


def judge_weights(x: Array, y: Array, unit: NDArray[Any], *, seed: int = 0) -> Array:
    """Non-negative weights (sum 1) by which judges' centred scores x (labels, judges) fit people's y, centred alike.

    Ridge towards equal weights, averaged over penalties: each counts by exp(-n (error / least error - 1) / 2), its
    error by cross-validation over units, equal weights eight times. Nothing is chosen or tested: where labels say
    little, all penalties count and the mean lies near equal weights.
    """
    n, m = x.shape
    if float(y.std()) <= 1e-12 or float(x.std()) <= 1e-12:
        return np.full(m, 1 / m)
    x, y = x / float(x.std()), y / float(y.std())
    error = _validate_penalties(x, y, _codes(unit, n), seed)
    count = np.exp(-n / 2 * (error / max(float(error.min()), 1e-300) - 1))
    count[-1] *= TIMES_EQUAL
    by_penalty = np.stack([_ridge(x, y, penalty) for penalty in PENALTIES])
    weights = np.asarray(count @ by_penalty / count.sum())
    return weights / weights.sum() if float(weights.sum()) > 1e-9 else np.full(m, 1 / m)


def _validate_penalties(x: Array, y: Array, unit: NDArray[np.int64], seed: int) -> Array:
    """Squared error of each penalty on units that were left out, over several random splits."""
    generator = np.random.default_rng(seed)
    n_units = int(unit.max()) + 1
    error = np.zeros(len(PENALTIES))
    for _ in range(N_SPLITS):
        fold = generator.permutation(n_units)[unit] % min(N_FOLDS, n_units)
        for held_out in np.unique(fold):
            seen = fold != held_out
            if not seen.any():
                continue
            for i, penalty in enumerate(PENALTIES):
                guess = x[~seen] @ _ridge(x[seen], y[seen], penalty)
                error[i] += float(((y[~seen] - guess) ** 2).sum()) / N_SPLITS
    return error


def _ridge(x: Array, y: Array, penalty: float) -> Array:
    """Non-negative weights, pulled towards the best equal ones. penalty : a share of the number of labels"""
    from scipy.optimize import nnls

    m = x.shape[1]
    mean = x.mean(1)
    equal = max(float(mean @ y) / max(float(mean @ mean), 1e-9), 1e-3) / m
    if math.isinf(penalty):
        return np.full(m, equal)
    pull = math.sqrt(penalty * len(y))
    q, r = np.linalg.qr(np.vstack([x, pull * np.eye(m)]))  # the same least squares in m rows
    weights: Array = nnls(r, q.T @ np.r_[y, np.full(m, pull * equal)])[0]
    return weights


# --- who may decide alone (METHODS 22) ---


def fewest_to_decide(allow: float, level: float = 0.95) -> int:
    """Labelled cases without an error that show an error rate below `allow`.

    >>> fewest_to_decide(0.05)
    59
    """
    return math.ceil(math.log(1 - level) / math.log(1 - allow) - 1e-9)


def shows_at_most(n_wrong: int, n: int, allow: float, level: float = 0.95) -> bool:
    """Whether so many errors among n labelled cases show an error rate of at most `allow` (exact binomial test).

    >>> shows_at_most(0, 59, 0.05), shows_at_most(0, 58, 0.05), shows_at_most(3, 200, 0.05)
    (True, False, True)
    """
    return n > 0 and float(bdtr(n_wrong, n, allow)) <= 1 - level + 1e-12


def decide_alone(far: Array, wrong: Bools, allow: float, level: float = 0.95) -> float | None:
    """The smallest distance from the pass mark beyond which the error is surely at most `allow`; None where there is
    none. Tested from the farthest labelled cases inwards, to the first failure."""
    need, cut = fewest_to_decide(allow, level), None
    values, n = np.unique(-far, return_counts=True)
    errors = np.bincount(np.searchsorted(values, -far), wrong, minlength=len(values))
    for value, count, mistakes in zip(values, n.cumsum(), errors.cumsum(), strict=True):
        if count < need:
            continue
        if bdtr(mistakes, count, allow) > 1 - level:
            break
        cut = float(-value)
    return cut


def alternative_annotator(
    judge: Array, labels: Array, epsilon: float = 0.15, q: float = 0.05
) -> tuple[float, float, Array]:
    """Alternative annotator test: share of annotators that the judge wins against (passes from one half on), mean
    chance that it is at least as near to the others, and p-values (NaN for annotators with fewer than ten items)."""
    exact = len(np.unique(labels[~np.isnan(labels)])) <= 2
    p, near = np.full(labels.shape[1], np.nan), np.full(labels.shape[1], np.nan)
    for j in range(labels.shape[1]):
        others = np.delete(labels, j, 1)
        at = ~np.isnan(labels[:, j]) & ~np.isnan(judge) & (~np.isnan(others)).any(1)
        if at.sum() < 10:
            continue
        o = others[at]

        def likeness(x: Array, o: Array = o) -> Array:
            gap = o - x[:, None]
            out: Array = np.nanmean(np.where(np.isnan(o), np.nan, gap == 0), 1) if exact else -np.nanmean(gap**2, 1)
            return out

        human, machine = likeness(labels[at, j]), likeness(judge[at])
        d = (human >= machine).astype(float) - (machine >= human)
        near[j] = float((machine >= human).mean())
        p[j] = _below(d, epsilon)
    known = np.sort(p[~np.isnan(p)])
    k = len(known)
    limits = np.arange(1, k + 1) / max(k, 1) * q / max(float((1 / np.arange(1, k + 1)).sum()), 1e-300)
    won = np.flatnonzero(known <= limits)
    return (won[-1] + 1 if len(won) else 0) / k if k else math.nan, float(np.nanmean(near)) if k else math.nan, p


def _below(d: Array, epsilon: float) -> float:
    """p-value that the mean of d is below epsilon: t; below 30 items Wilcoxon's signed ranks, normal with ties."""
    n, sd = len(d), float(d.std(ddof=1))
    if sd == 0:
        return float(d.mean() >= epsilon)
    if n >= 30:
        return float(stdtr(n - 1, (float(d.mean()) - epsilon) / (sd / math.sqrt(n))))
    from scipy.stats import wilcoxon

    return float(wilcoxon(d - epsilon, alternative="less", method="approx").pvalue)
