"""The annotators first: do they agree with each other and with themselves, who is harsher, and what that may explain.

A label is a person's. How far annotators of one language are apart bounds what their severity may do to a difference
between languages: an error of the panel is only what stands out beyond that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr, stdtrit
from scipy.stats import rankdata

from polyjudge.second.estimate.resample import holm, resampled
from polyjudge.second.estimate.severity import Severity, annotator_spread, label_grid, link_severity, severity
from polyjudge.second.estimate.shares import exact_binomial, quantiles
from polyjudge.second.panel.arrays import Array, ratio
from polyjudge.second.panel.gold import Gold, Ratings
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import Say, say
from polyjudge.second.questions.anchor.worth import alpha_terms
from polyjudge.second.report.result import Result

WELL, POORLY = 0.67, 0.4
"""Krippendorff's alpha from which labels of single items can be relied on, and below which not even their means."""
ODD = 0.05
"""Share of the scale by which an annotator must be harsher or milder than the others to be called odd."""
FEWEST = 8
"""Items that two annotators must share for their kappa and correlation to be printed."""
LEVELS = 11
"""Different labels up to which a scale is ordinal."""


class Annotators(Result):
    """How far annotators agree.

    table : annotator, language, labels, severity (points above or below the language's mean), low, high, against (the
        others), looks (items seen twice), same (share of them with the same answer), same_low, same_high, correlation
        (with the mean of the others), odd ("harsh", "mild", "noisy" or "")
    pairs : language, first, second, items, kappa (quadratic weights), low, high
    alpha : Krippendorff's, within languages, for the scale of the labels, with its interval by tasks
    by_language : language, alpha, alpha_low, alpha_high, severity (of its annotators together; 0 unless people who
        label in two languages tell it) with severity_low and severity_high, linked (whether it has such people)
    spread : sd of annotators of one language, in points, with limits
    """

    table: pd.DataFrame
    pairs: pd.DataFrame
    alpha: tuple[float, float, float]
    by_language: pd.DataFrame
    spread: tuple[float, float, float]
    per_language: float
    linked: int
    """Annotators who labelled in more than one language."""
    reliability: float
    """Of the mean label of an item: what a perfect judge's correlation with it would be, squared."""
    notes: tuple[Say, ...] = ()

    @property
    def verdict(self) -> str:
        """well, enough, poor or alone (nothing was labelled twice)."""
        value = self.alpha[0]
        return "alone" if np.isnan(value) else "well" if value >= WELL else "enough" if value >= POORLY else "poor"

    @property
    def variance(self) -> Array:
        """(k,) of the mean over the annotators of a language, from what is not known of their severity."""
        t = self.by_language
        out: Array = ((t["severity_high"] - t["severity"]).fillna(0.0) / 1.96).to_numpy() ** 2
        return out


def annotators(
    panel: Panel, gold: Gold, guess: Array | None = None, *, resamples: int = 1000, seed: int = 7
) -> Annotators | None:
    """Agreement of the annotators of labels; None where the labels do not say whose they are.

    guess : (n, k) what the judges say of each item: severity is then told from the items an annotator happened to get
    """
    r = gold.ratings
    if r is None or not len(r.value):
        return None
    grid, who = label_grid(r, panel.shape[:2])
    low, high = (-1.0, 1.0) if gold.kind == "preference" else panel.range
    values = grid
    if len(np.unique(r.value)) <= LEVELS and gold.kind == "score":
        ranks = np.full(grid.shape, np.nan)
        ranks[~np.isnan(grid)] = rankdata(grid[~np.isnan(grid)])  # Krippendorff's ordinal distance is that of midranks
        values = ranks
    alpha, by_language = _alphas(values, panel, resamples, seed)
    fit = severity(grid, who, np.zeros(panel.shape[:2]) if guess is None else guess, len(r.names))
    table = _table(r, fit, high - low)
    pairs = _pairs(grid, who, panel, r.names)
    languages = pd.Series(r.language).groupby(r.annotator).nunique()
    noise = float(np.nanmean(fit.noise)) if np.isfinite(fit.noise).any() else np.nan
    return Annotators(
        table=_odd(table, grid, who, r.names, high - low)
        .assign(language=lambda t: [panel.languages[i] for i in t["place"]])
        .drop(columns=["place", "p"]),
        pairs=pairs,
        alpha=alpha,
        by_language=by_language.assign(**_together(panel, gold)),
        spread=annotator_spread(fit),
        per_language=fit.per_language,
        linked=int((languages > 1).sum()),
        reliability=_reliability(grid, noise),
        notes=(say("raters.alone"),) if np.isnan(alpha[0]) else (),
    )


def _together(panel: Panel, gold: Gold) -> dict[str, NDArray[Any]]:
    """What the annotators of a language add to its mean label, as far as links tell."""
    found = link_severity(panel, gold) if gold.kind == "score" else None
    if found is None:
        none = np.full(panel.shape[1], np.nan)
        return {"severity": none, "severity_low": none, "severity_high": none, "linked": np.zeros(len(none), bool)}
    value = found.bias if found.linked.any() else 0 * found.bias
    half = 1.96 * np.sqrt(found.variance)
    return {"severity": value, "severity_low": value - half, "severity_high": value + half, "linked": found.linked}


def _alphas(values: Array, panel: Panel, resamples: int, seed: int) -> tuple[tuple[float, float, float], pd.DataFrame]:
    """Krippendorff's alpha within all languages together, and of each."""

    def alpha(sums: Array) -> Array:
        size, first, second, inside = np.moveaxis(sums, -1, 0)
        around = second - first**2 / np.maximum(size, 1)
        expected = around * np.where(size > 1, size / np.maximum(size - 1, 1e-9), 0.0)
        inside, expected = (np.column_stack([x, x.sum(axis=1)]) for x in (inside, expected))
        return 1 - ratio(inside, expected, np.nan)

    point, draws = resampled(alpha, alpha_terms(values), panel, resamples, seed)
    low, high = quantiles(draws)
    limits = {"alpha": point[:-1], "alpha_low": low[:-1], "alpha_high": high[:-1]}
    return (float(point[-1]), float(low[-1]), float(high[-1])), pd.DataFrame({"language": panel.languages, **limits})


def _table(r: Ratings, fit: Severity, width: float) -> pd.DataFrame:
    seen = pd.DataFrame({"value": r.value}).groupby([r.task, r.language, r.annotator])["value"]
    twice = seen.agg(lambda x: x.iloc[1] - x.iloc[0] if len(x) > 1 else np.nan).dropna()
    tolerance = 1e-9 * width if len(np.unique(r.value)) <= LEVELS else 0.1 * width
    who = twice.index.get_level_values(2)
    looks = np.bincount(who, minlength=len(r.names)).astype(float)
    same = np.bincount(who, twice.abs() <= tolerance, len(r.names))
    t = stdtrit(fit.freedom, 0.975)
    share = np.divide(same, looks, out=np.full(len(looks), np.nan), where=looks > 0)
    bounds = exact_binomial(np.nan_to_num(share), looks)
    return pd.DataFrame(
        {
            "annotator": [r.names[a] for a in fit.annotator],
            "place": fit.language,
            "labels": fit.labels,
            "severity": fit.severity,
            "low": fit.severity - t * fit.se,
            "high": fit.severity + t * fit.se,
            "against": fit.against,
            "p": 2 * stdtr(fit.freedom, -np.abs(fit.against / np.maximum(fit.against_se, 1e-300))),
            "looks": looks[fit.annotator].astype(int),
            "same": share[fit.annotator],
            "same_low": bounds[0][fit.annotator],
            "same_high": bounds[1][fit.annotator],
        }
    )


def _odd(
    table: pd.DataFrame, grid: Array, who: NDArray[np.int64], names: tuple[str, ...], width: float
) -> pd.DataFrame:
    """Who is clearly harsher, milder or noisier than the others of the language."""
    correlation, items = [], []
    for name, place in zip(table["annotator"], table["place"], strict=True):
        mine = who[:, place] == names.index(name)
        own = np.nanmax(np.where(mine, grid[:, place], -np.inf), axis=1)
        others = np.where(mine | np.isnan(grid[:, place]), np.nan, grid[:, place])
        shared = mine.any(axis=1) & ~np.isnan(others).all(axis=1)
        value = np.nan
        if shared.sum() >= FEWEST:
            a, b = own[shared], np.nanmean(others[shared], axis=1)
            if np.ptp(a) > 0 and np.ptp(b) > 0:
                value = float(np.corrcoef(a, b)[0, 1])
        correlation.append(value)
        items.append(max(int(shared.sum()), FEWEST))
    usual = float(np.nanmedian(correlation)) if np.isfinite(correlation).any() else np.nan
    p = holm(table["p"].fillna(1.0).to_numpy()) if len(table) else np.zeros(0)
    far = (p < 0.05) & (table["against"].abs() > ODD * width)
    # surely follows the others less than half as well as is usual: labels of few levels rule out a nearer limit
    z = np.arctanh(np.clip([correlation, [usual / 2] * len(items)], -0.999, 0.999))
    noisy = holm(np.nan_to_num(ndtr((z[0] - z[1]) * np.sqrt(np.array(items) - 3)), nan=1.0)) < 0.05
    odd = np.where(far, np.where(table["against"] < 0, "harsh", "mild"), np.where(noisy, "noisy", ""))
    return table.assign(correlation=correlation, odd=odd)


def _pairs(grid: Array, who: NDArray[np.int64], panel: Panel, names: tuple[str, ...]) -> pd.DataFrame:
    """Kappa with quadratic weights of every two annotators of a language, with a jackknife interval over items."""
    rows = []
    for i, language in enumerate(panel.languages):
        mine = np.unique(who[:, i][who[:, i] >= 0])
        by = [np.nanmax(np.where(who[:, i] == a, grid[:, i], -np.inf), axis=1) for a in mine]
        for x in range(len(mine)):
            for y in range(x + 1, len(mine)):
                both = np.isfinite(by[x]) & np.isfinite(by[y])
                found = _kappa(by[x][both], by[y][both]) if both.sum() >= FEWEST else (np.nan,) * 3
                rows.append((language, names[mine[x]], names[mine[y]], int(both.sum()), *found))
    return pd.DataFrame(rows, columns=["language", "first", "second", "items", "kappa", "low", "high"])


def _kappa(a: Array, b: Array) -> tuple[float, float, float]:
    n = len(a)
    terms = np.stack([np.ones(n), a, b, a * a, b * b, (a - b) ** 2], 1)

    def value(sums: Array) -> Array:
        count, x, y, xx, yy, apart = np.moveaxis(sums, -1, 0)
        expected = xx / count + yy / count - 2 * x * y / count**2
        return np.where(expected > 1e-12, 1 - apart / count / np.where(expected > 1e-12, expected, 1.0), np.nan)

    total = terms.sum(axis=0)
    point, parts = float(value(total)), value(total - terms)
    se = float(np.sqrt((n - 1) / n * np.nansum((parts - np.nanmean(parts)) ** 2))) if np.isfinite(point) else np.nan
    half = float(stdtrit(n - 1, 0.975)) * se
    return point, point - half, min(point + half, 1.0)


def _reliability(grid: Array, noise: float) -> float:
    """Share of the variance of items' mean labels, within languages, that is not the noise of single labels."""
    count = (~np.isnan(grid)).sum(axis=2)
    several = (count > 1).sum()
    if several < 3 or np.isnan(noise):
        return np.nan
    mean = np.where(count > 0, np.nansum(grid, axis=2) / np.maximum(count, 1), np.nan)
    total = float(np.nanmean(np.nanvar(mean, axis=0, ddof=1))) if (count > 0).sum() > grid.shape[1] else np.nan
    lost = noise * float((1 / count[count > 0]).mean())
    return max(0.0, 1 - lost / total) if total > 0 else np.nan
