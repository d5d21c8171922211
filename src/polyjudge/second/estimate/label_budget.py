"""How many labels reach a half-width of each language's mean, with the panel's help and without it.

With n labels on N tasks, a human spread sd and a correlation r between panel mean and human, the variance of the tuned
prediction-powered mean is sd^2 (1 - r^2) / n + sd^2 r^2 / N; labels alone have sd^2 / n. A pilot's spread is an
estimate that is too small in half of all pilots, so the plan takes the upper limit of its variance.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import chdtri, stdtrit

from polyjudge.second.estimate.few_labels import residual_spread
from polyjudge.second.estimate.label_design import by_neyman, design_cuts, for_most
from polyjudge.second.estimate.resample import check_level
from polyjudge.second.estimate.severity import gold_weights
from polyjudge.second.panel.arrays import Array, ratio
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.gold import Gold, strata
from polyjudge.second.panel.panel import Panel

FEWEST = 5
"""A language with fewer pilot labels borrows spread and correlation from all languages together."""
MOST = 1e9
"""No plan asks for more labels than this."""


def labels_needed(sd: Array, correlation: Array, tasks: Array, half_width: float, level: float = 0.95) -> Array:
    """Labels for a half-width, with a predictor of this correlation (0: labels alone); NaN when `tasks` are too few.

    >>> float(labels_needed(np.array(10.0), np.array(0.0), np.array(1000), 2.0))
    99.0
    >>> float(labels_needed(np.array(10.0), np.array(0.8), np.array(1000), 2.0))
    40.0
    """
    if not half_width > 0:
        raise UsageError("The half-width must be above 0.")
    check_level(level)
    sd, correlation, tasks = np.broadcast_arrays(sd, correlation, tasks)
    low, high = np.full(sd.shape, 1.0), np.minimum(np.maximum(np.asarray(tasks, float), 2.0), MOST)

    def short(labels: Array) -> NDArray[np.bool_]:
        critical = stdtrit(labels - 1, (1 + level) / 2)
        return critical**2 * powered_variance(sd, correlation, tasks, labels) > half_width**2 * (1 + 1e-12)

    never = short(high)
    while ((high - low) > 1).any():
        middle = np.floor((low + high) / 2)
        less = short(np.maximum(middle, 2.0)) & (middle > 1)
        low, high = np.where(less, middle, low), np.where(less, high, middle)
    return np.where(never, np.nan, np.maximum(high, 2.0))


def powered_variance(sd: Array, correlation: Array, tasks: Array, labels: Array) -> Array:
    """Variance of the tuned mean with `labels` of `tasks` labelled."""
    r2 = np.maximum(correlation, 0.0) ** 2
    return sd**2 * ((1 - r2) / labels + r2 / np.maximum(tasks, labels))


def budget_table(panel: Panel, gold: Gold, half_width: float, *, level: float = 0.95) -> tuple[str, pd.DataFrame]:
    """What the labels measure, and for each language how many it needs, from a pilot of labels.

    Columns: language, labels (so far), tasks, sd (of labels), correlation (of panel mean and label), half_width (now),
    labels_only and with_panel (labels needed in all, for the upper limit of the pilot's variance), both also as
    `_likely` (as the pilot stands) and `_low` (for its lower limit), pooled (spread and correlation are those of all
    languages, for want of labels), by_design (with the panel, drawn as `label make` draws them) and by_design_likely.
    NaN: more tasks are needed than the panel has.
    """
    quantity, guess = predictor(panel, gold)
    used = gold.there & ~np.isnan(guess)
    if used.sum() < FEWEST:
        raise PanelError(
            f"A budget needs a pilot of at least {FEWEST} labels to know their spread; here are {int(used.sum())}."
        )
    tasks, labels = (~np.isnan(guess)).sum(axis=0).astype(np.float64), used.sum(axis=0)
    y, f = (np.where(used, x, 0.0) for x in (gold.values, guess))
    terms = np.stack([used.astype(np.float64), y, f, y * y, f * f, y * f], axis=2)
    terms *= gold_weights(panel, gold)[..., None]  # labels of a design count by what they stand for
    variance, rest = (x[0] for x in _moments(terms, labels, panel.weights[None]))
    if not (variance > 0).any():
        raise PanelError("All pilot labels are equal, so their spread is not known. Label more tasks.")
    limits = _limits(terms, labels, panel, level)
    columns: dict[str, Array] = {}
    for name, room in (("labels_only", np.full(len(tasks), np.inf)), ("with_panel", tasks)):
        for end, (total, error) in {"": limits[1], "_likely": (variance, rest), "_low": limits[0]}.items():
            r = 0 * total if name == "labels_only" else _correlation(total, error)
            columns[name + end] = labels_needed(np.sqrt(total), r, room, half_width, level)
    sd, correlation = np.sqrt(variance), _correlation(variance, rest)
    half = stdtrit(np.maximum(labels - 1, 1), (1 + level) / 2)
    half *= np.sqrt(powered_variance(sd, correlation, tasks, np.maximum(labels, 1)))
    table = pd.DataFrame(
        {
            "language": panel.languages,
            "labels": labels,
            "tasks": tasks.astype(np.int64),
            "sd": sd,
            "correlation": correlation,
            "half_width": np.where(labels > 1, half, np.nan),
            **columns,
            "pooled": labels < FEWEST,
            **_designed(panel, gold, half_width, level, ratio(limits[1][1], rest, 1.0)),
        }
    )
    return quantity, table


def labels_by_design(panel: Panel, gold: Gold, within: float, level: float = 0.95) -> Array:
    """(k,) labels in all that bring the mean of each language, and so the panel's error there, to +-`within` when they
    are drawn from strata of the panel's mean by Neyman's rule; NaN for preferences.

    Spreads within strata are about what the judges' scores say of a label, and steadied over languages.
    """
    if gold.kind != "score":
        return np.full(panel.shape[1], np.nan)
    stratum = gold.stratum if gold.stratum is not None else strata(panel, design_cuts(panel))
    assert stratum is not None
    spread = residual_spread(gold.values, panel.scores, stratum, panel.weights)
    return by_neyman(stratum, spread, within, level)


def labels_more(panel: Panel, gold: Gold, within: float) -> int:
    """Further labels a language that bring nine languages in ten to +-`within`: 10 to 200, or 0 when they are there."""
    lacking = labels_by_design(panel, gold, within) - gold.there.sum(axis=0)
    return for_most(lacking) or 0


def predictor(panel: Panel, gold: Gold) -> tuple[str, Array]:
    """What the labels measure, and the panel's guess of it (n, k), NaN where a judge's score is missing."""
    mean: Array = panel.scores.mean(axis=2)
    if gold.kind == "score":
        return "mean human score", mean
    decided = np.where(np.isnan(mean), np.nan, (mean > panel.tie_gap).astype(float) - (mean < -panel.tie_gap))
    return "mean human preference (share of +1 less share of -1)", decided


def _designed(panel: Panel, gold: Gold, half_width: float, level: float, upper: Array) -> dict[str, Array]:
    """Labels by the design as the pilot stands, and for a variance that is `upper` times its own."""
    likely = labels_by_design(panel, gold, half_width, level)
    tasks = (~np.isnan(panel.scores).any(axis=2)).sum(axis=0)
    both = {"by_design": np.ceil(likely * upper), "by_design_likely": likely}
    return {name: np.where(n <= tasks, n, np.nan) for name, n in both.items()}


def _correlation(variance: Array, rest: Array) -> Array:
    """Of a predictor that leaves `rest` of the variance."""
    left = np.divide(rest, variance, out=np.ones_like(variance), where=variance > 0)
    return np.sqrt(np.clip(1 - left, 0.0, 1.0))


def _moments(terms: Array, labels: NDArray[np.int64], weights: Array) -> tuple[Array, Array]:
    """Variance of each language's labels and what the guess leaves of it, (R, k), for task weights (R, n); pooled where
    labels (k,) are few. A guess that goes the wrong way helps nothing.

    terms : (n, k, 6) of each labelled task: 1, label, guess, their squares and product; 0 where there is no label
    """
    sums = (weights @ terms.reshape(len(terms), -1)).reshape(-1, *terms.shape[1:])
    n, a, b, aa, bb, ab = np.moveaxis(sums, -1, 0)
    safe = np.maximum(n, 1e-300)
    yy, ff, yf = aa - a * a / safe, bb - b * b / safe, ab - a * b / safe
    # ratio of effective counts: a language's own, and the sum for the pool
    free = np.maximum(n - n / np.maximum(labels, 1), 1e-300)
    pool = [x.sum(axis=1, keepdims=True) for x in (yy, ff, yf, np.where(labels > 1, free, 0.0))]
    yy, ff, yf, free = (np.where(labels < FEWEST, p, x) for x, p in zip((yy, ff, yf, free), pool, strict=True))
    explained = np.divide(np.maximum(yf, 0.0) ** 2, ff, out=np.zeros_like(ff), where=ff > 0)
    return np.maximum(yy, 0.0) / free, np.maximum(yy - explained, 0.0) / free


def _limits(
    terms: Array, labels: NDArray[np.int64], panel: Panel, level: float
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """One-sided limits, lower and upper, of both variances of `_moments`, (k,) each.

    The wider of the chi-square limits, exact for normal values, and of a jackknife of the logarithm over tasks
    (clusters), which knows about heavy tails.
    """
    own = np.where(labels < FEWEST, labels.sum(), labels).astype(float)
    codes = np.unique(panel.cluster, return_inverse=True)[1]
    spoken = [np.unique(codes[x > 0]) for x in terms[:, :, 0].T]
    every = np.unique(np.concatenate(spoken))
    kept = (codes != every[:, None]) * panel.weights
    parts = _moments(terms, labels, panel.weights[None]), _moments(terms, labels, kept)
    low, high = [], []
    for index in range(2):
        with np.errstate(divide="ignore", invalid="ignore"):
            value, left = np.log(parts[0][index][0]), np.log(parts[1][index])
            units = np.array([len(every) if labels[x] < FEWEST else len(s) for x, s in enumerate(spoken)], float)
            around = np.where(np.isfinite(left), left, value)
            se = np.sqrt((units - 1) / units * ((around - value) ** 2).sum(axis=0))
        df = np.maximum(own - 1 - index, 1)
        tail = stdtrit(np.maximum(units - 1, 1), level) * np.nan_to_num(se)
        low.append(np.exp(value + np.minimum(-tail, np.log(df / chdtri(df, 1 - level)))))
        high.append(np.exp(value + np.maximum(tail, np.log(df / chdtri(df, level)))))
    return (low[0], np.minimum(low[1], low[0])), (high[0], np.minimum(high[1], high[0]))
