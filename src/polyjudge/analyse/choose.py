"""Which judges to keep: reliability, error and cost of every subset of a panel (docs/methods.md, section 22)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from polyjudge.core.arrays import Array
from polyjudge.core.errors import PanelError, UsageError
from polyjudge.core.gold import Gold
from polyjudge.core.panel import Panel
from polyjudge.core.results import Result
from polyjudge.estimate.kernels import draw_blocks, pair_index, stream
from polyjudge.estimate.resample import check_level

ALL = "(all)"
MOST_FOR_ALL = 12
"""Up to this many judges every subset is tried; beyond it judges are added one by one, the best first."""
FOLDS = 10
PAIRS = 5000
"""Pairs of labelled tasks in a language on whose order panels and labels are compared; of more, a random sample."""
COPY = 0.3
"""Two judges are near copies when their errors surely correlate by more than this, beyond what all judges share."""
FEWEST_FOR_COPIES = 4
"""With three judges a shared error of two cannot be told from a third that sees less."""
Masks = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, kw_only=True)
class Choice(Result):
    """What each subset of judges is worth.

    subsets : language ("(all)" for the mean over languages), judges (names with " + "), size, reliability with low and
        high, error (standard error of a difference of two systems, in points), cost (per task); with labels also
        squared_error and agreement (both held out)
    best : the best subset of each size by language, with `in_sample` and `held_out` reliability and its interval
    frontier : subsets over all languages that no other beats in both cost and error
    recommended : language, judges, reliability, error, cost; languages that need another panel than the whole
    copies : judge_i, judge_j, correlation of errors, low, high, copy (bool)
    weighting : weights that beat equal ones on left-out tasks: kind ("reliability", gain in reliability, or "labels",
        gain in points nearer to the labels), judge, weight, gain, low, high; empty if none does
    """

    subsets: pd.DataFrame
    best: pd.DataFrame
    frontier: pd.DataFrame
    recommended: pd.DataFrame
    copies: pd.DataFrame
    weighting: pd.DataFrame
    rule: str
    """Why the recommended panel was chosen: "budget", "matters", "target" or "noise"."""
    full_cost: float
    exhaustive: bool
    """Whether every subset was tried."""
    level: float
    tasks: int
    systems: bool

    def to_frame(self) -> pd.DataFrame:
        return self.subsets


@dataclass(frozen=True, eq=False)
class _Moments:
    """Sums over tasks from which every figure of every subset follows.

    products : (n, k, m, m) mean over systems of the product of two judges' deviations in a task
    deviations : (n, s, k, m) scores less the mean over systems (over tasks without systems)
    cluster : (n,) codes of what is resampled
    """

    products: Array
    deviations: Array
    cluster: NDArray[np.int64]
    by_system: bool

    @cached_property
    def size(self) -> int:
        return int(self.cluster.max()) + 1

    def covariance(self, weights: Array) -> Array:
        """V (..., k, m, m) of what judges say of systems, for weights (..., n) of the tasks."""
        return np.tensordot(weights / weights.sum(axis=-1, keepdims=True), self.products, axes=1)

    def within(self, weights: Array) -> Array:
        """U (k, m, m): V less the systems' own means over tasks."""
        v = self.covariance(weights)
        if not self.by_system:
            return v
        means = np.tensordot(weights / weights.sum(), self.deviations, axes=1)  # (s, k, m)
        out: Array = v - np.einsum("ski,skj->kij", means, means) / len(means)
        return out


def choose(
    panel: Panel,
    *,
    prices: Mapping[str, float] | None = None,
    gold: Gold | None = None,
    matters: float | None = None,
    budget: float | None = None,
    target: float | None = None,
    max_judges: int | None = None,
    level: float = 0.95,
    resamples: int = 200,
    seed: int = 7,
) -> Choice:
    """Which judges to keep, in each language and over all.

    Parameters
    ----------
    prices : cost of one score by each judge; 1 for every judge when not given
    gold : labels, one for each task and language
    matters : recommend the cheapest panel that can tell systems this many points apart
    budget : recommend the best panel that costs at most this much a task
    target : recommend the cheapest panel whose standard error of a system difference is at most this
    max_judges : try no larger subset

    >>> from polyjudge import simulate_panel
    >>> panel, _ = simulate_panel(tasks=60, judges=4, seed=1)
    >>> int(choose(panel).best["size"].max())
    4
    """
    check_level(level)
    price = prices_of(panel, prices)
    moments = _moments(panel)
    n, _, k, m = moments.deviations.shape
    weights = np.asarray(panel.weights, float)
    v, u = moments.covariance(weights), moments.within(weights)
    draws = _draws(moments, weights, resamples, seed)
    copies, is_copy = _copies(panel, v, draws, level)
    z, exhaustive = _subsets(v, is_copy, max_judges or m)
    per_task = price * max(1, len(panel.systems))
    value = _figures(v, u, z, is_copy, n)
    drawn = np.stack([_reliability(draws[:, language], z, is_copy).T for language in range(k)])
    subsets = _table(panel, z, value, drawn, z @ per_task, level)
    if gold is not None:
        subsets = subsets.join(_against_labels(panel, moments, gold, z, seed))
    held = _held_out(moments, weights, z, is_copy, n, seed)
    best = _best(panel, z, value[0], held, level)
    row, rule = _recommend(z, value, drawn, z @ per_task * k, matters, budget, target)
    return Choice(
        subsets=subsets,
        best=best,
        frontier=_frontier(subsets, k),
        recommended=_recommended(panel, z, row, value, drawn, z @ per_task, level),
        copies=copies,
        weighting=_weighting(panel, moments, weights, z[row], gold, level, seed),
        rule=rule,
        full_cost=float(per_task.sum() * k),
        exhaustive=exhaustive,
        level=level,
        tasks=n,
        systems=bool(panel.systems),
    )


# --- moments ---


def _moments(panel: Panel) -> _Moments:
    if len(panel.judges) < 2:
        raise PanelError("Choosing needs at least two judges.")
    scores = panel.scores[:, None] if panel.system_scores is None else panel.system_scores
    over = 0 if panel.system_scores is None else 1
    there = ~np.isnan(scores)
    with np.errstate(invalid="ignore"):
        mean = np.where(there, scores, 0.0).sum(axis=over, keepdims=True) / there.sum(axis=over, keepdims=True)
    deviations = np.where(there, scores - mean, 0.0)
    products = _products(deviations)
    if there.all():
        products /= scores.shape[1]
    else:
        # Where a pair of judges shares no system in a task, the task says nothing of the pair: the mean of the others.
        behind = _products(there.astype(float))
        with np.errstate(invalid="ignore", divide="ignore"):
            products = products / behind
            products = np.where(behind > 0, products, np.nanmean(products, axis=0))
    if np.isnan(products).any():
        raise PanelError(
            "Two judges never scored the same task in one language, so their agreement is not known there."
        )
    codes = np.unique(panel.cluster, return_inverse=True)[1]
    return _Moments(products, deviations, codes, panel.system_scores is not None)


def _products(values: Array) -> Array:
    """Sums over systems of the product of two judges in each task and language: (n, s, k, m) -> (n, k, m, m)."""
    by_system = np.ascontiguousarray(values.transpose(0, 2, 1, 3))
    out: Array = by_system.swapaxes(-1, -2) @ by_system
    return out


def _draws(moments: _Moments, weights: Array, resamples: int, seed: int) -> Array:
    """V of resampled tasks (or clusters): (R, k, m, m)."""
    blocks = draw_blocks(moments.size, resamples, seed)
    return np.concatenate([moments.covariance(weights * counts[:, moments.cluster]) for counts in blocks])


def _subsets(v: Array, copies: Masks, most: int) -> tuple[Masks, bool]:
    """Subsets as rows of booleans: all up to `most` judges, or those of a greedy search from the best pair."""
    m = v.shape[-1]
    if m <= MOST_FOR_ALL:
        rows = [c for size in range(1, min(most, m) + 1) for c in combinations(range(m), size)]
        return _rows(rows, m), True
    tried: list[tuple[int, ...]] = [(j,) for j in range(m)] + list(combinations(range(m), 2))
    values = _reliability(v, _rows(tried, m), copies).mean(axis=0)
    held = tried[m + int(np.argmax(values[m:]))]
    while len(held) < min(most, m):
        step = [tuple(sorted((*held, j))) for j in range(m) if j not in held]
        held = step[int(np.argmax(_reliability(v, _rows(step, m), copies).mean(axis=0)))]
        tried += step
    return _rows(list(dict.fromkeys(tried)), m), False


def _rows(subsets: list[tuple[int, ...]], m: int) -> Masks:
    out = np.zeros((len(subsets), m), bool)
    for row, members in enumerate(subsets):
        out[row, list(members)] = True
    return out


# --- figures of subsets ---


def _figures(v: Array, u: Array, z: Masks, copies: Masks, n: int) -> tuple[Array, Array]:
    """Reliability of the mean of each subset in every language, (k, S), and its error of a system difference."""
    size = z.sum(axis=1)
    spread = _quadratic(u, z) / size**2
    return _reliability(v, z, copies), np.sqrt(np.maximum(2 * spread, 0.0) / n)


def _reliability(v: Array, z: Masks, copies: Masks) -> Array:
    """What two judges share, over the variance of the subset's mean: (..., m, m) -> (..., S).

    Near copies do not vouch for each other. A single judge is measured by its mean correlation with all others that are
    not its copies.
    """
    size = z.sum(axis=1)
    other = ~copies & ~np.eye(v.shape[-1], dtype=bool)
    pairs = _quadratic(other.astype(float), z)
    with np.errstate(invalid="ignore", divide="ignore"):
        out: Array = _quadratic(v * other, z)
        out /= np.maximum(pairs, 1)
        out /= _quadratic(v, z) / size**2
        few = np.flatnonzero(pairs == 0)
        own = np.einsum("...ii->...i", v)
        scale = np.sqrt(own)
        correlation = np.where(other, v / (scale[..., :, None] * scale[..., None, :]), 0.0)
        single = correlation.sum(axis=-1) / np.maximum(other.sum(axis=1), 1)  # (..., m)
        chosen = z[few].T.astype(float)
        alone = (single * own) @ chosen / size[few] / (_quadratic(v, z[few]) / size[few] ** 2)
        out[..., few] = np.where(size[few] > 1, alone, single @ chosen)
    return np.nan_to_num(out, nan=0.0, copy=False)


def _quadratic(v: Array, z: Masks) -> Array:
    """1'V1 over each subset: (..., m, m) -> (..., S)."""
    i, j = np.triu_indices(v.shape[-1])
    both = (z[:, i] & z[:, j]).T.astype(float)
    out: Array = (v[..., i, j] * np.where(i == j, 1.0, 2.0)) @ both
    return out


def _copies(panel: Panel, v: Array, draws: Array, level: float) -> tuple[pd.DataFrame, Masks]:
    """Correlation of every two judges' errors beyond what all judges see, languages pooled; and who are copies."""
    m = v.shape[-1]
    i, j = pair_index(m)
    is_copy = np.zeros((m, m), bool)
    if m < FEWEST_FOR_COPIES:
        nan = np.full(len(i), np.nan)
        return _copy_table(panel, nan, nan, nan, np.zeros(len(i), bool)), is_copy
    pooled = np.concatenate([_standard(v).mean(axis=0)[None], _standard(draws).mean(axis=1)])
    left_out = np.zeros((m, m), bool)
    value = np.zeros((len(pooled), len(i)))
    critical = stdtrit(max(2, len(draws) - 1), 1 - (1 - level) / len(i))
    for _ in range(m):  # the clearest pair is named, leaves the fit, and the others are measured without it
        common = _loadings(pooled, left_out, np.full(pooled.shape[:-1], 0.5))
        for p in range(len(i)):
            if not left_out[i[p], j[p]]:
                skip = left_out.copy()
                skip[i[p], j[p]] = skip[j[p], i[p]] = True
                value[:, p] = _error_correlation(pooled, skip, common, int(i[p]), int(j[p]))
        se = value[1:].std(axis=0, ddof=1)
        lower = value[0] - critical * se
        new = np.where(left_out[i, j], -np.inf, lower)
        worst = int(np.argmax(new))
        if new[worst] <= COPY:
            break
        left_out[i[worst], j[worst]] = left_out[j[worst], i[worst]] = True
    named = left_out[i, j]
    is_copy[i[named], j[named]] = is_copy[j[named], i[named]] = True
    return _copy_table(panel, value[0], lower, value[0] + critical * se, named), is_copy


def _copy_table(panel: Panel, value: Array, low: Array, high: Array, named: Masks) -> pd.DataFrame:
    i, j = pair_index(len(panel.judges))
    names = np.array(panel.judges, object)
    clip = np.clip
    return pd.DataFrame(
        {
            "judge_i": names[i],
            "judge_j": names[j],
            "correlation": clip(value, -1, 1),
            "low": clip(low, -1, 1),
            "high": clip(high, -1, 1),
            "copy": named,
        }
    )


def _standard(v: Array) -> Array:
    """Covariances as correlations; 0 for a judge without spread."""
    scale = np.sqrt(np.einsum("...ii->...i", v))
    with np.errstate(invalid="ignore", divide="ignore"):
        out: Array = v / (scale[..., :, None] * scale[..., None, :])
    return np.nan_to_num(out, nan=0.0)


def _error_correlation(r: Array, skip: Masks, start: Array, i: int, j: int) -> Array:
    """Correlation of the errors of judges i and j; one factor is fitted to all pairs but `skip`: (R, m, m) -> (R,)."""
    f = _loadings(r, skip, start)
    error = np.sqrt((1 - f[:, i] ** 2) * (1 - f[:, j] ** 2))
    out: Array = np.clip((r[:, i, j] - f[:, i] * f[:, j]) / np.maximum(error, 0.05), -1, 1)
    return out


def _loadings(r: Array, skip: Masks, start: Array, rounds: int = 60) -> Array:
    """Loadings of one factor behind the correlations but `skip`: (R, m, m) -> (R, m)."""
    used = (~skip & ~np.eye(r.shape[-1], dtype=bool)).astype(float)
    seen = r * used
    f = start
    for _ in range(rounds):
        top = (seen @ f[..., None])[..., 0]
        new = 0.5 * f + 0.5 * np.clip(top / np.maximum((f**2) @ used, 1e-9), -0.999, 0.999)
        if np.abs(new - f).max() < 1e-6:
            return new
        f = new
    return f


# --- held out ---


def _fold_of(moments: _Moments, seed: int) -> NDArray[np.int64]:
    """(n,) the fold of each task; tasks of a cluster stay together."""
    order = stream(seed, 0, "folds").permutation(moments.size)
    return (order % min(FOLDS, moments.size))[moments.cluster]


def _held_out(moments: _Moments, weights: Array, z: Masks, copies: Masks, n: int, seed: int) -> Array:
    """Reliability of the best subset of each size, chosen without the tasks it is measured on: (k + 1, sizes, 2).

    The last axis is the figure and its standard error (jackknife over folds). Row k is over all languages.
    """
    fold = _fold_of(moments, seed)
    size = z.sum(axis=1)
    sizes = np.unique(size)
    k = moments.deviations.shape[2]
    # shared and total of the chosen subset's mean, for the language of the scope, or for each when it is all of them
    parts = np.zeros((int(fold.max()) + 1, k + 1, len(sizes), k, 2))
    for f in range(len(parts)):
        trained = _reliability(moments.covariance(weights * (fold != f)), z, copies)
        left = moments.covariance(weights * (fold == f))
        amount = weights[fold == f].sum() / weights.sum()
        for position, wanted in enumerate(sizes):
            rows = np.flatnonzero(size == wanted)
            picks = [int(np.argmax(x)) for x in (*trained[:, rows], trained[:, rows].mean(axis=0))]
            total = _quadratic(left, z[rows[picks]]) / wanted**2  # (k, k + 1)
            shared = _reliability(left, z[rows[picks]], copies) * total
            parts[f, :, position] = amount * np.stack([shared.T, total.T], axis=-1)
    whole = parts.sum(axis=0)
    again = np.stack([_scopes(whole - part) for part in parts])
    g = len(parts)
    value = g * _scopes(whole) - (g - 1) * again.mean(axis=0)  # a ratio of means is low by about one part in n
    se = np.sqrt((g - 1) / g * ((again - again.mean(axis=0)) ** 2).sum(axis=0))
    return np.stack([value, se], axis=-1)


def _scopes(parts: Array) -> Array:
    """Reliabilities from shared and total: a language's own in its row, the mean over languages in the last."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.nan_to_num(parts[..., 0] / parts[..., 1], nan=0.0)  # (k + 1, sizes, k)
    k = ratio.shape[2]
    own = ratio[np.arange(k), :, np.arange(k)]
    return np.concatenate([own, ratio[k].mean(axis=1)[None]])


def _best(panel: Panel, z: Masks, reliability: Array, held: Array, level: float) -> pd.DataFrame:
    size = z.sum(axis=1)
    rows = []
    half = stdtrit(FOLDS - 1, (1 + level) / 2)
    for scope, language in enumerate((*panel.languages, ALL)):
        score = reliability.mean(axis=0) if language == ALL else reliability[scope]
        for position, wanted in enumerate(np.unique(size)):
            members = np.flatnonzero(size == wanted)
            row = members[int(np.argmax(score[members]))]
            value, se = held[scope, position]
            rows.append(
                (language, int(wanted), _names(panel, z[row]), score[row], value, value - half * se, value + half * se)
            )
    return pd.DataFrame(rows, columns=["language", "size", "judges", "in_sample", "held_out", "low", "high"])


def _names(panel: Panel, mask: Masks) -> str:
    return " + ".join(name for name, kept in zip(panel.judges, mask, strict=True) if kept)


# --- tables and the recommendation ---


def prices_of(panel: Panel, prices: Mapping[str, float] | None) -> Array:
    """What one score by each judge costs, in the panel's order; 1 where no prices are known."""
    if prices is None:
        return np.ones(len(panel.judges))
    lacking = [j for j in panel.judges if j not in prices]
    if lacking:
        raise UsageError(f"No price for {', '.join(lacking[:5])}. Give the cost of one score for every judge.")
    price = np.array([float(prices[j]) for j in panel.judges])
    if not (np.isfinite(price).all() and (price >= 0).all()):
        raise UsageError("Prices are numbers of at least 0.")
    return price


def _table(panel: Panel, z: Masks, value: tuple[Array, Array], drawn: Array, cost: Array, level: float) -> pd.DataFrame:
    reliability, error = value
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=-1)  # (k, S) each
    over = np.quantile(drawn.mean(axis=0), [(1 - level) / 2, (1 + level) / 2], axis=-1)
    names = [_names(panel, row) for row in z]
    k = len(panel.languages)
    frames = [
        pd.DataFrame(
            {
                "language": language,
                "judges": names,
                "size": z.sum(axis=1),
                "reliability": reliability.mean(axis=0) if s == k else reliability[s],
                "low": over[0] if s == k else low[s],
                "high": over[1] if s == k else high[s],
                "error": np.sqrt((error**2).mean(axis=0) / k) if s == k else error[s],
                "cost": cost * (k if s == k else 1),
            }
        )
        for s, language in enumerate((*panel.languages, ALL))
    ]
    return pd.concat(frames, ignore_index=True)


def _frontier(subsets: pd.DataFrame, k: int) -> pd.DataFrame:
    """Subsets over all languages that no other beats in both cost and error, cheapest first."""
    frame = subsets[subsets["language"] == ALL].sort_values(["cost", "error"], kind="stable")
    best = frame["error"].cummin()
    first = frame["error"] < best.shift(fill_value=np.inf)
    return frame[first].reset_index(drop=True)


def _recommend(
    z: Masks,
    value: tuple[Array, Array],
    drawn: Array,
    cost: Array,
    matters: float | None,
    budget: float | None,
    target: float | None,
) -> tuple[int, str]:
    """The row of the recommended subset over all languages, and the rule that chose it."""
    if sum(x is not None for x in (matters, budget, target)) > 1:
        raise UsageError("Give one of matters, budget and target: each names the panel by itself.")
    score = value[0].mean(axis=0)
    error = np.sqrt((value[1] ** 2).mean(axis=0) / len(value[1]))
    if budget is not None:
        able = cost <= budget
        if not able.any():
            raise UsageError(f"No judge fits a budget of {budget:g} a task; the cheapest costs {cost.min():g}.")
        return int(np.argmax(np.where(able, score, -np.inf))), "budget"
    limit = target if target is not None else None if matters is None else matters / 2.8
    if limit is not None:  # 2.8 standard errors are found in 80 of 100 studies at 95%
        able = error <= limit
        if not able.any():
            return int(np.argmin(error)), "none is enough"
        return int(np.lexsort((-score, np.where(able, cost, np.inf)))[0]), "target" if target is not None else "matters"
    top = int(np.argmax(score))
    means = drawn.mean(axis=0)  # (S, R)
    behind = score[top] - score
    se = (means[top] - means).std(axis=1, ddof=1)
    able = behind <= se
    return int(np.lexsort((-score, np.where(able, cost, np.inf)))[0]), "noise"


def _recommended(
    panel: Panel, z: Masks, row: int, value: tuple[Array, Array], drawn: Array, cost: Array, level: float
) -> pd.DataFrame:
    """The panel over all languages, and of each language that another one, no dearer, surely serves better."""
    reliability, error = value
    k = len(panel.languages)
    rows = [
        (
            ALL,
            _names(panel, z[row]),
            reliability[:, row].mean(),
            float(np.sqrt((error[:, row] ** 2).mean() / k)),
            cost[row] * k,
        )
    ]
    fits = np.flatnonzero(cost <= cost[row] * (1 + 1e-12))
    critical = stdtrit(max(2, drawn.shape[-1] - 1), 1 - (1 - level) / (2 * k * len(fits)))
    for s, language in enumerate(panel.languages):
        gain = reliability[s, fits] - reliability[s, row]
        se = (drawn[s][fits] - drawn[s][row]).std(axis=1, ddof=1)
        sure = gain > critical * se
        if sure.any():
            pick = fits[int(np.argmax(np.where(sure, gain, -np.inf)))]
            rows.append((language, _names(panel, z[pick]), reliability[s, pick], error[s, pick], cost[pick]))
    return pd.DataFrame(rows, columns=["language", "judges", "reliability", "error", "cost"])


# --- labels and weights ---


def _against_labels(panel: Panel, moments: _Moments, gold: Gold, z: Masks, seed: int) -> pd.DataFrame:
    """Held-out squared error of every subset's mean against the labels, and agreement on the order of tasks.

    The mean difference of panel and labels in a language is fitted on the other folds, so that a judge's leniency
    does not count as error.
    """
    if gold.kind != "score":
        raise UsageError("Choosing by labels needs scores as labels, not preferences.")
    fold = _fold_of(moments, seed)
    scores, labels = panel.scores, gold.values
    k = len(panel.languages)
    share = (z / z.sum(axis=1, keepdims=True)).T
    errors = np.full((k + 1, len(z)), np.nan)
    agree = np.full((k + 1, len(z)), np.nan)
    for s in range(k):
        has = np.flatnonzero(~np.isnan(labels[:, s]) & ~np.isnan(scores[:, s]).any(axis=1))
        if len(has) < 2 * FOLDS:
            continue
        means = scores[has, s] @ share - labels[has, s][:, None]  # (labelled tasks, S)
        square = np.zeros(len(z))
        for f in np.unique(fold[has]):
            test = fold[has] == f
            square += ((means[test] - means[~test].mean(axis=0)) ** 2).sum(axis=0)
        errors[s] = square / len(has)
        mean = scores[has, s] @ share
        i, j = pair_index(len(has))
        if len(i) > PAIRS:
            some = stream(seed, s, "pairs of tasks").choice(len(i), PAIRS, replace=False)
            i, j = i[some], j[some]
        apart = labels[has[i], s] - labels[has[j], s]
        known = np.abs(apart) > panel.tie_gap
        i, j, truth = i[known], j[known], np.sign(apart[known])
        if len(i):
            between = mean[i] - mean[j]
            agree[s] = (0.5 + 0.5 * np.sign(between * (np.abs(between) > panel.tie_gap)) * truth[:, None]).mean(axis=0)
    errors[k], agree[k] = np.nanmean(errors[:k], axis=0), np.nanmean(agree[:k], axis=0)
    if np.isnan(errors[k]).all():
        raise PanelError(f"No language has {2 * FOLDS} labelled tasks: too few to compare panels of judges by labels.")
    return pd.DataFrame({"squared_error": errors.ravel(), "agreement": agree.ravel()})


def _weighting(
    panel: Panel, moments: _Moments, weights: Array, mask: Masks, gold: Gold | None, level: float, seed: int
) -> pd.DataFrame:
    """Weights for the recommended panel, by reliability and by labels, that beat equal ones on left-out tasks."""
    members = np.flatnonzero(mask)
    rows: list[tuple[str, str, float, float, float, float]] = []
    found = []
    if len(members) >= 3:  # the reliability of two judges does not say which of them errs
        found.append(("reliability", *_by_reliability(moments, weights, members, _fold_of(moments, seed))))
    if gold is not None and len(members) >= 2:
        found += [("labels", *x) for x in _by_labels(panel, gold, members, _fold_of(moments, seed))]
    for kind, gains, final in found:
        gain, se = float(np.mean(gains)), float(np.std(gains, ddof=1) / np.sqrt(len(gains)))
        half = float(stdtrit(len(gains) - 1, (1 + level) / 2)) * se
        if gain - half > 0:
            ends = (gain, gain - half, gain + half)
            rows += [(kind, panel.judges[j], float(w), *ends) for j, w in zip(members, final, strict=True)]
    return pd.DataFrame(rows, columns=["kind", "judge", "weight", "gain", "low", "high"])


def _by_reliability(
    moments: _Moments, weights: Array, members: NDArray[np.int64], fold: NDArray[np.int64]
) -> tuple[list[float], Array]:
    """Reliability gained over equal weights in each left-out fold, and the weights of all tasks."""

    def among(chosen: NDArray[np.bool_]) -> Array:
        out: Array = moments.covariance(weights * chosen).mean(axis=0)[np.ix_(members, members)]
        return out

    equal = np.full(len(members), 1 / len(members))
    gains = []
    for f in range(int(fold.max()) + 1):
        left = among(fold == f)
        gains.append(_weighted(left, _optimal(among(fold != f))) - _weighted(left, equal))
    return gains, _optimal(among(np.ones(len(fold), bool)))


def _by_labels(
    panel: Panel, gold: Gold, members: NDArray[np.int64], fold: NDArray[np.int64]
) -> Iterator[tuple[list[float], Array]]:
    """Points by which weights fitted to labels come nearer to left-out labels than equal ones, and the weights.

    The judges' mean distance to the labels in a language is fitted with the weights, on the other tasks.
    """
    distance = panel.scores[:, :, members] - gold.values[:, :, None]  # (n, k, judges)
    known = ~np.isnan(distance).any(axis=2)
    equal = np.full(len(members), 1 / len(members))
    gains = []
    for f in range(int(fold.max()) + 1):
        train, test = known & (fold != f)[:, None], known & (fold == f)[:, None]
        if (train.sum(axis=0) < FOLDS).any() or not test.any():
            continue
        centre = np.stack([distance[train[:, s], s].mean(axis=0) for s in range(distance.shape[1])])
        fitted = _nearest((distance - centre)[train])
        left = (distance - centre)[test]
        gains.append(float(np.sqrt(((left @ equal) ** 2).mean()) - np.sqrt(((left @ fitted) ** 2).mean())))
    if len(gains) == int(fold.max()) + 1:
        centre = np.stack([distance[known[:, s], s].mean(axis=0) for s in range(distance.shape[1])])
        yield gains, _nearest((distance - centre)[known])


def _nearest(errors: Array) -> Array:
    """Weights of at least 0, summing to 1, whose mean of the errors (rows, judges) has the least square."""
    from scipy.optimize import nnls

    scale = float(np.sqrt((errors**2).mean())) or 1.0
    square = errors.T @ errors / len(errors) / scale**2 + 1e-9 * np.eye(errors.shape[1])
    root = np.linalg.cholesky(square).T
    sums = 1e3 * np.ones(errors.shape[1])
    out: Array = nnls(np.vstack([root, sums]), np.append(np.zeros(len(root)), 1e3))[0]
    return out / out.sum()


def _optimal(v: Array) -> Array:
    """Weights of at least 0, summing to 1, that make the mean follow what the judges share: loading over error."""
    used = ~np.eye(len(v), dtype=bool)
    f = np.sqrt(np.diag(v) / 2)
    for _ in range(200):
        f = 0.5 * f + 0.5 * np.maximum((v * used) @ f / np.maximum(used @ f**2, 1e-12), 0.0)
    error = np.maximum(np.diag(v) - f**2, 0.05 * np.diag(v))
    raw = np.maximum(f / error, 0.0)
    out: Array = raw / raw.sum() if raw.sum() > 0 else np.full(len(v), 1 / len(v))
    return out


def _weighted(v: Array, w: Array) -> float:
    """Reliability of a weighted mean: what two different judges share, over all."""
    cross = w @ v @ w - (w**2) @ np.diag(v)
    pairs = 1 - (w**2).sum()
    return float(cross / pairs / (w @ v @ w)) if pairs > 1e-9 else 0.0
