"""Which judges to keep: reliability, error and cost of every subset of a panel (docs/methods.md, section 22)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from polyjudge.second.estimate.covariance import candidate_groups, correlations, group_table, shared_errors
from polyjudge.second.estimate.kernels import pair_index, stream
from polyjudge.second.estimate.resample import check_level, percentile_limits
from polyjudge.second.estimate.subsets import (
    FOLDS,
    Masks,
    TaskMoments,
    check_width,
    draws_of,
    errors_of,
    fold_of,
    loadings_of,
    moments_of,
    quadratic,
    reliability_of,
    subsets_of,
    sure_slopes,
    task_prices,
)
from polyjudge.second.panel.arrays import Array, mean_there
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.gold import Gold
from polyjudge.second.panel.labels import ALL
from polyjudge.second.panel.labels import families as find_families
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.records import long_table
from polyjudge.second.report.result import Result

PAIRS = 5000
"""Pairs of labelled tasks in a language on whose order panels and labels are compared; of more, a random sample."""


class Choice(Result):
    """What each subset of judges is worth.

    subsets : language ("(all)" for the mean over languages), judges (names with " + "), size, reliability with low and
        high, error (standard error of a difference of two systems, in points of the whole panel's scale), cost (per
        task); with labels also squared_error and agreement (both held out)
    best : the best subset of each size by language, with `in_sample` and `held_out` reliability and its interval
    frontier : subsets over all languages that no other beats in both cost and error, with error_low and error_high
    recommended : language, judges, reliability, error, cost; languages that need another panel than the whole
    groups : judges that agree with each other more than with the rest, as in `group_table`: they see more, or share an
        error; none is valued less for it
    weighting : weights that beat equal ones on left-out tasks: kind ("reliability", gain in reliability, or "labels",
        gain in points nearer to the labels), judge, weight, gain, low, high; empty if none does
    """

    subsets: pd.DataFrame
    best: pd.DataFrame
    frontier: pd.DataFrame
    recommended: pd.DataFrame
    groups: pd.DataFrame
    weighting: pd.DataFrame
    kept: tuple[str, ...]
    """The recommended judges over all languages."""
    makers: dict[str, str]
    """Maker of each judge."""
    rule: str
    """Why the recommended panel was chosen: "budget", "matters", "target" or "noise"."""
    full_cost: float
    priced: bool
    """Whether costs are money; else they count scores."""
    exhaustive: bool
    """Whether every subset was tried."""
    level: float
    tasks: int
    systems: bool

    @property
    def rests_on(self) -> str:
        """The maker, or the group, whose judges alone are kept; "" where there are others. What they agree on may be an
        error they share."""
        makers = {self.makers[j] for j in self.kept}
        if len(self.kept) > 1 and len(makers) == 1:
            return makers.pop()
        for group, members in zip(self.groups["judges"], self.groups["members"], strict=True):
            if len(self.kept) > 1 and set(self.kept) <= set(members):
                return str(group)
        return ""


def choose(
    panel: Panel,
    *,
    prices: Mapping[str, float] | None = None,
    gold: Gold | None = None,
    matters: float | None = None,
    budget: float | None = None,
    target: float | None = None,
    max_judges: int | None = None,
    families: Mapping[str, str] | None = None,
    level: float = 0.95,
    resamples: int = 200,
    seed: int = 7,
) -> Choice:
    """Which judges to keep, in each language and over all.

    prices : cost of one score by each judge; 1 for every judge when not given
    gold : labels, one for each task and language
    matters : recommend the cheapest panel that can tell systems this many points apart
    budget : recommend the best panel that costs at most this much a task
    target : recommend the cheapest panel whose standard error of a system difference is at most this
    max_judges : try no larger subset
    families : makers of judges by name; found from the names where not given

    >>> from polyjudge.second import simulate_panel
    >>> panel, _ = simulate_panel(tasks=60, judges=4, seed=1)
    >>> int(choose(panel).best["size"].max())
    4
    """
    makers = find_families(panel.judges, families)
    check_level(level)
    check_width(panel, resamples)
    price = task_prices(panel, prices)
    moments = moments_of(panel)
    (n, _, k, m), tasks = moments.deviations.shape, moments.tasks
    weights = np.asarray(panel.weights, float)
    v, u = moments.covariance(weights), moments.within(weights)
    draws, drawn_u = draws_of(moments, weights, resamples, seed)
    z, exhaustive = subsets_of(v, max_judges or m)
    slopes, drawn_slopes = sure_slopes(v, draws, level)
    value = reliability_of(v, z), errors_of(u, slopes, z, tasks)
    drawn = np.stack([reliability_of(draws[:, language], z).T for language in range(k)])
    subsets = _table(panel, z, value, drawn, z @ price, moments.size, level)
    if gold is not None:
        subsets = subsets.join(_against_labels(panel, moments, gold, z, seed))
    held = _held_out(moments, weights, z, seed)
    best = _best(panel, z, value[0], held, drawn, level)
    row, rule = _recommend(z, value, drawn, z @ price * k, matters, budget, target)
    return Choice(
        subsets=subsets,
        best=best,
        frontier=_frontier(subsets, lambda rows: errors_of(drawn_u, drawn_slopes, z[rows], tasks)[:, -1], level),
        recommended=_recommended(panel, z, row, value, drawn, z @ price, level),
        groups=_groups(v, draws, makers, level),
        kept=tuple(name for name, there in zip(panel.judges, z[row], strict=True) if there),
        makers=makers,
        weighting=_weighting(panel, moments, weights, z[row], gold, level, seed),
        rule=rule,
        full_cost=float(price.sum() * k),
        priced=prices is not None,
        exhaustive=exhaustive,
        level=level,
        tasks=n,
        systems=bool(panel.systems),
    )


def _groups(v: Array, draws: Array, makers: Mapping[str, str], level: float) -> pd.DataFrame:
    """Judges that agree with each other more than with the rest, languages pooled."""
    pooled = np.concatenate([correlations(v).mean(axis=0)[None], correlations(draws).mean(axis=1)])
    candidates = candidate_groups(pooled[0])
    return group_table(makers, candidates, shared_errors(pooled, candidates, level))


# --- held out ---


def _held_out(moments: TaskMoments, weights: Array, z: Masks, seed: int) -> Array:
    """Reliability of the best subset of each size, chosen without the tasks it is measured on: (k + 1, sizes, 2).

    The last axis is the figure and its standard error (jackknife over folds). Row k is over all languages.
    """
    fold = fold_of(moments, seed)
    size = z.sum(axis=1)
    sizes = np.unique(size)
    k = moments.deviations.shape[2]
    # shared and total of the chosen subset's mean, for the language of the scope, or for each when it is all of them
    parts = np.zeros((int(fold.max()) + 1, k + 1, len(sizes), k, 2))
    for f in range(len(parts)):
        trained = reliability_of(moments.covariance(weights * (fold != f)), z)
        left = moments.covariance(weights * (fold == f))
        amount = weights[fold == f].sum() / weights.sum()
        for position, wanted in enumerate(sizes):
            rows = np.flatnonzero(size == wanted)
            picks = [int(np.argmax(x)) for x in (*trained[:, rows], trained[:, rows].mean(axis=0))]
            total = quadratic(left, z[rows[picks]]) / wanted**2  # (k, k + 1)
            shared = reliability_of(left, z[rows[picks]]) * total
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


def _best(panel: Panel, z: Masks, reliability: Array, held: Array, drawn: Array, level: float) -> pd.DataFrame:
    size = z.sum(axis=1)
    # Folds that pick other subsets pick them together: their spread can miss that, not that of one subset over tasks.
    own = np.vstack([drawn.std(axis=-1, ddof=1), drawn.mean(axis=0).std(axis=-1, ddof=1)])
    rows = []
    half = stdtrit(FOLDS - 1, (1 + level) / 2)
    for scope, language in enumerate((*panel.languages, ALL)):
        score = reliability.mean(axis=0) if language == ALL else reliability[scope]
        for position, wanted in enumerate(np.unique(size)):
            members = np.flatnonzero(size == wanted)
            row = members[int(np.argmax(score[members]))]
            value, se = held[scope, position]
            wide = half * max(se, own[scope, row])
            rows.append((language, int(wanted), _names(panel, z[row]), score[row], value, value - wide, value + wide))
    return pd.DataFrame(rows, columns=["language", "size", "judges", "in_sample", "held_out", "low", "high"])


def _names(panel: Panel, mask: Masks) -> str:
    return " + ".join(name for name, kept in zip(panel.judges, mask, strict=True) if kept)


# --- tables and the recommendation ---


def _table(
    panel: Panel, z: Masks, value: tuple[Array, Array], drawn: Array, cost: Array, units: int, level: float
) -> pd.DataFrame:
    """Every subset in each language, and last over all."""
    reliability, drawn = (np.concatenate([x, x.mean(axis=0, keepdims=True)]) for x in (value[0], drawn))
    low, high = percentile_limits(reliability, np.moveaxis(drawn, -1, 0), units, level)
    k, names = len(panel.languages), np.array([_names(panel, row) for row in z], object)
    return long_table(
        {"language": (*panel.languages, ALL), "judges": names},
        size=np.broadcast_to(z.sum(axis=1), low.shape),
        reliability=reliability,
        low=low,
        high=np.minimum(high, 1.0),
        error=value[1],
        cost=np.vstack([np.broadcast_to(cost, (k, len(z))), cost * k]),
    )


def _frontier(subsets: pd.DataFrame, drawn: Callable[[NDArray[np.int64]], Array], level: float) -> pd.DataFrame:
    """Subsets over all languages that no other beats in both cost and error, cheapest first."""
    frame = subsets[subsets["language"] == ALL].reset_index(drop=True)
    frame = frame.sort_values(["cost", "error"], kind="stable")
    best = frame["error"].cummin()
    frame = frame[frame["error"] < best.shift(fill_value=np.inf)]
    ends = np.quantile(drawn(frame.index.to_numpy()), [(1 - level) / 2, (1 + level) / 2], axis=0)
    return frame.assign(error_low=ends[0], error_high=ends[1]).reset_index(drop=True)


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
    error = value[1][-1]
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
    rows = [(ALL, _names(panel, z[row]), reliability[:, row].mean(), error[-1, row], cost[row] * k)]
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


def _against_labels(panel: Panel, moments: TaskMoments, gold: Gold, z: Masks, seed: int) -> pd.DataFrame:
    """Held-out squared error of every subset's mean against the labels, and agreement on the order of tasks.

    The mean difference of panel and labels in a language is fitted on the other folds, so that a judge's leniency
    does not count as error.
    """
    if gold.kind != "score":
        raise UsageError("Choosing by labels needs scores as labels, not preferences.")
    fold = fold_of(moments, seed)
    scores, labels = panel.scores, gold.values
    k = len(panel.languages)
    share = (z / z.sum(axis=1, keepdims=True)).T
    errors = np.full((k + 1, len(z)), np.nan)
    agree = np.full((k + 1, len(z)), np.nan)
    for s in range(k):
        has = np.flatnonzero(~np.isnan(labels[:, s]) & ~np.isnan(scores[:, s]).any(axis=1))
        if len(has) < 2 * FOLDS:
            continue
        mean = scores[has, s] @ share  # (labelled tasks, S)
        means = mean - labels[has, s][:, None]
        square = np.zeros(len(z))
        for f in np.unique(fold[has]):
            test = fold[has] == f
            square += ((means[test] - means[~test].mean(axis=0)) ** 2).sum(axis=0)
        errors[s] = square / len(has)
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
    errors[k], agree[k] = mean_there(errors[:k], 0), mean_there(agree[:k], 0)
    if np.isnan(errors[k]).all():
        raise PanelError(f"No language has {2 * FOLDS} labelled tasks: too few to compare panels of judges by labels.")
    return pd.DataFrame({"squared_error": errors.ravel(), "agreement": agree.ravel()})


def _weighting(
    panel: Panel, moments: TaskMoments, weights: Array, mask: Masks, gold: Gold | None, level: float, seed: int
) -> pd.DataFrame:
    """Weights for the recommended panel, by reliability and by labels, that beat equal ones on left-out tasks."""
    members = np.flatnonzero(mask)
    rows: list[tuple[str, str, float, float, float, float]] = []
    found = []
    if len(members) >= 3:  # the reliability of two judges does not say which of them errs
        found.append(("reliability", *_by_reliability(moments, weights, members, fold_of(moments, seed))))
    if gold is not None and len(members) >= 2:
        found += [("labels", *x) for x in _by_labels(panel, gold, members, fold_of(moments, seed))]
    for kind, gains, final in found:
        gain, se = float(np.mean(gains)), float(np.std(gains, ddof=1) / np.sqrt(len(gains)))
        half = float(stdtrit(len(gains) - 1, (1 + level) / 2)) * se
        if gain - half > 0:
            ends = (gain, gain - half, gain + half)
            rows += [(kind, panel.judges[j], float(w), *ends) for j, w in zip(members, final, strict=True)]
    return pd.DataFrame(rows, columns=["kind", "judge", "weight", "gain", "low", "high"])


def _by_reliability(
    moments: TaskMoments, weights: Array, members: NDArray[np.int64], fold: NDArray[np.int64]
) -> tuple[list[float], Array]:
    """Reliability gained over equal weights in each left-out fold, and the weights of all tasks."""

    def among(chosen: NDArray[np.bool_]) -> Array:
        out: Array = moments.covariance(weights * chosen).mean(axis=0)[np.ix_(members, members)]
        return out

    equal = np.full(len(members), 1 / len(members))
    gains = []
    for f in np.unique(fold):
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
    known = np.asarray(~np.isnan(distance).any(axis=2))
    equal = np.full(len(members), 1 / len(members))
    gains = []
    for f in np.unique(fold):
        train, test = known & (fold != f)[:, None], known & (fold == f)[:, None]
        if (train.sum(axis=0) < FOLDS).any() or not test.any():
            continue
        centre = np.stack([distance[train[:, s], s].mean(axis=0) for s in range(distance.shape[1])])
        fitted = _nearest((distance - centre)[train])
        left = (distance - centre)[test]
        gains.append(float(np.sqrt(((left @ equal) ** 2).mean()) - np.sqrt(((left @ fitted) ** 2).mean())))
    if len(gains) == len(np.unique(fold)):
        centre = np.stack([distance[known[:, s], s].mean(axis=0) for s in range(distance.shape[1])])
        yield gains, _nearest((distance - centre)[known])


def _nearest(errors: Array) -> Array:
    """Weights of at least 0, summing to 1, whose mean of the errors (rows, judges) has the least square."""
    from scipy.optimize import nnls

    scale = float(np.sqrt((errors**2).mean())) or 1.0
    square = errors.T @ errors / len(errors) / scale**2 + 1e-9 * np.eye(errors.shape[1])
    root = np.linalg.cholesky(square).T
    sums = 1e3 * np.ones(errors.shape[1])
    found = nnls(np.vstack([root, sums]), np.append(np.zeros(len(root)), 1e3))[0]
    out: Array = found / found.sum()
    return out


def _optimal(v: Array) -> Array:
    """Weights of at least 0, summing to 1, that make the mean follow what the judges share: loading over error."""
    f = loadings_of(v)
    error = np.maximum(np.diag(v) - f**2, 0.05 * np.diag(v))
    raw = np.maximum(f / error, 0.0)
    return raw / raw.sum() if raw.sum() > 0 else np.full(len(v), 1 / len(v))


def _weighted(v: Array, w: Array) -> float:
    """Reliability of a weighted mean: what two different judges share, over all."""
    cross = w @ v @ w - (w**2) @ np.diag(v)
    pairs = 1 - (w**2).sum()
    return float(cross / pairs / (w @ v @ w)) if pairs > 1e-9 else 0.0
