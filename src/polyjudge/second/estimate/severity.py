"""Severity of annotators: how far each is above or below the others of a language, from labels of some items by some.

An annotator's mean of label less what the judges say of the item, by generalised least squares with random items: so
it uses both items that several have labelled and items that only one has.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from polyjudge.second.estimate.few_labels import judge_weights, label_weights
from polyjudge.second.panel.arrays import Array, ratio
from polyjudge.second.panel.gold import Gold, Ratings
from polyjudge.second.panel.panel import Panel

FEWEST = 10
"""Labels from which the judges' scores are weighed against them."""


def strata_of(panel: Panel, gold: Gold) -> NDArray[np.int64]:
    """The strata of the labels, or one for all tasks that have a panel mean."""
    if gold.stratum is not None:
        return gold.stratum
    return np.where(np.isnan(panel.scores).any(axis=2), -1, 0)


def gold_weights(panel: Panel, gold: Gold) -> Array:
    """(n, k) tasks that each label stands for, about their mean in the language; 1 where labels are of any tasks."""
    if gold.stratum is None:
        return np.ones(panel.shape[:2])
    known = gold.there & (gold.stratum >= 0)
    out: Array = label_weights(gold.stratum, known, panel.weights)
    out /= np.maximum(out.sum(axis=0) / np.maximum(known.sum(axis=0), 1), 1e-300)
    return out


def guess_of(panel: Panel, gold: Gold) -> Array:
    """(n, k) what the judges' scores say of each label; 0 for preferences and where nothing can be learnt."""
    if gold.kind != "score" or gold.there.sum() < FEWEST:
        return np.zeros(panel.shape[:2])
    return np.nan_to_num(panel.scores @ judge_weights(gold.values, panel.scores, strata_of(panel, gold)))


@dataclass(frozen=True, eq=False, kw_only=True)
class Linked:
    """Severity of every annotator over all languages, (a,); what it does to the mean label of each language, (k,), and
    the variance that this leaves; which languages have annotators who also label in another one, (k,)."""

    severity: Array
    bias: Array
    variance: Array
    linked: NDArray[np.bool_]


def link_severity(panel: Panel, gold: Gold) -> Linked | None:
    """Severity told from language by annotators of two languages; None where annotators are not known.

    Labels less guess are language + annotator + item + noise. Languages are free, annotators random with the spread of
    those of one language, and one person is as severe in either language. Without links the severity of a language's
    annotators stays what it was expected to be: 0, with their spread as its error.
    """
    r = gold.ratings
    if r is None or not len(r.value):
        return None
    grid, who = label_grid(r, panel.shape[:2])
    guess = guess_of(panel, gold)
    spread = annotator_spread(severity(grid, who, guess, len(r.names)))[0]
    if np.isnan(spread):
        return None
    rest = grid - guess[..., None]
    item, error = _components(rest, who, len(r.names))
    k, a = panel.shape[1], len(r.names)
    normal, right, share = np.zeros((k + a, k + a)), np.zeros(k + a), np.zeros((k, a))
    for i in range(k):
        mine, there, y = _by_annotator(rest[:, i], who[:, i])
        count, at = there.sum(axis=1), np.ix_(k + mine, k + mine)
        part = item / np.maximum(error + count * item, 1e-300)
        normal[at] += np.diag(there.sum(axis=0)) - (there * part[:, None]).T @ there
        normal[i, k + mine] = normal[k + mine, i] = (1 - part * count) @ there
        normal[i, i] = ((1 - part * count) * count).sum()
        right[k + mine] += y.sum(axis=0) - there.T @ (part * y.sum(axis=1))
        right[i] = ((1 - part * count) * y.sum(axis=1)).sum()
        share[i, mine] = ratio(there, np.repeat(count[:, None], len(mine), axis=1)).sum(axis=0)
        share[i] /= max(int((count > 0).sum()), 1)
    normal[k:, k:] += np.eye(a) * error / max(spread**2, 1e-9 * error)
    inverse = np.linalg.pinv(normal)
    found = (inverse @ right)[k:]
    variance = error * np.einsum("ka,ab,kb->k", share, inverse[k:, k:], share)
    languages = np.array([len(np.unique(r.language[r.annotator == x])) for x in range(a)])
    return Linked(
        severity=found,
        bias=share @ found,
        variance=np.where(share.sum(axis=1) > 0, variance, spread**2),
        linked=np.asarray((share[:, languages > 1] > 0).any(axis=1)),
    )


def take_off_severity(panel: Panel, gold: Gold) -> tuple[Gold, Array]:
    """Labels without their annotators' severity, where links tell it, and the variance (k,) that severity leaves in the
    mean label of each language."""
    found = link_severity(panel, gold) if gold.kind == "score" else None
    if found is None or gold.ratings is None:
        return gold, np.zeros(panel.shape[1])
    if not found.linked.any():
        return gold, found.variance
    r = gold.ratings
    at = r.task * panel.shape[1] + r.language
    total, count = (np.bincount(at, x, gold.values.size) for x in (found.severity[r.annotator], np.ones(len(at))))
    off = (total / np.maximum(count, 1)).reshape(gold.values.shape)
    return replace(gold, values=gold.values - off), found.variance


def label_grid(r: Ratings, shape: tuple[int, int]) -> tuple[Array, NDArray[np.int64]]:
    """First looks by task, language and place (n, k, q), NaN where there is none, and whose they are (-1: nobody's)."""
    use = ~r.again
    task, language = r.task[use], r.language[use]
    key = task * shape[1] + language
    order = np.lexsort((r.annotator[use], key))
    start = np.r_[True, np.diff(key[order]) > 0]
    place = np.arange(len(key)) - np.maximum.accumulate(np.where(start, np.arange(len(key)), 0))
    q = int(place.max(initial=0)) + 1
    grid, who = np.full((*shape, q), np.nan), np.full((*shape, q), -1, np.int64)
    at = (task[order], language[order], place)
    grid[at], who[at] = r.value[use][order], r.annotator[use][order]
    return grid, who


@dataclass(frozen=True, eq=False, kw_only=True)
class Severity:
    """Severity of every annotator in every language: rows (q,) with the covariance within a language."""

    language: NDArray[np.int64]
    annotator: NDArray[np.int64]
    labels: NDArray[np.int64]
    severity: Array
    se: Array
    against: Array
    """Against the mean of the others, with its error."""
    against_se: Array
    freedom: Array
    """Degrees of freedom of both errors."""
    noise: Array
    squares: float
    expected: float
    df: int

    @property
    def per_language(self) -> float:
        """Annotators of a language, on average."""
        count = np.bincount(self.language) if len(self.language) else np.zeros(0)
        return float(count[count > 0].mean()) if count.any() else 1.0


def severity(grid: Array, who: NDArray[np.int64], guess: Array, names: int) -> Severity:
    """Annotators' means of label less guess, by generalised least squares with random items, about their mean."""
    rest = grid - guess[..., None]
    item, error = _components(rest, who, names)
    rows: list[tuple[Any, ...]] = []
    squares = expected = 0.0
    df = 0
    for i in range(grid.shape[1]):
        mine = np.unique(who[:, i][who[:, i] >= 0])
        if len(mine) < 2:
            rows += [(i, a, int((who[:, i] == a).sum()), *(np.nan,) * 6) for a in mine]
            continue
        there, y = _by_annotator(rest[:, i], who[:, i])[1:]
        count = there.sum(axis=1)
        part = item / (error + count * item) if error + item > 0 else np.zeros(len(count))
        normal = np.diag(there.sum(axis=0)) - (there * part[:, None]).T @ there
        right = y.sum(axis=0) - there.T @ (part * y.sum(axis=1))
        inverse: Array = np.linalg.pinv(normal).astype(np.float64)
        mean, cov = inverse @ right, inverse * max(error, 1e-12)
        a = len(mine)
        centre = np.eye(a) - 1 / a
        own, own_cov = centre @ mean, centre @ cov @ centre
        squares, expected, df = squares + float(own @ own), expected + float(np.trace(own_cov)), df + a - 1
        times, free, tails = _own_noise((y - there * mean) / max(error, 1e-12) ** 0.5, there, part, inverse)
        se = np.sqrt(np.diag(own_cov))
        rows += [(i, mine[j], int(there[:, j].sum()), own[j], se[j], times[j], free[j], tails[j], a) for j in range(a)]
    columns = [np.array(c, float) for c in zip(*rows, strict=True)] if rows else [np.zeros(0)] * 9
    language, annotator, labels = (c.astype(np.int64) for c in columns[:3])
    own, se, times, free, tails, size = columns[3:]
    times, free = _steadied(times, free, tails, size)
    se, factor = se * np.sqrt(times), size / (size - 1)
    return Severity(
        language=language, annotator=annotator, labels=labels, severity=own, se=se, against=factor * own,
        against_se=factor * se, freedom=free, noise=np.array([error]), squares=squares, expected=expected, df=df,
    )  # fmt: skip


def _own_noise(left: Array, there: Array, part: Array, inverse: Array) -> tuple[Array, Array, Array]:
    """(a,) the variance of each annotator's mean as items show it, over the one that a common noise would give, its
    degrees of freedom, and the fourth moment of what items add.

    left : (items, a) residuals over the common noise; `inverse` turns what items say into the annotators' means
    """
    rows = inverse - inverse.mean(axis=0)
    found = (left - there * (part * left.sum(axis=1))[:, None]) @ rows.T
    usual = there @ (rows**2).T - part[:, None] * (there @ rows.T) ** 2
    total = np.maximum(usual.sum(axis=0), 1e-300)
    share = usual / total
    own = there[:, None] * (rows - (part[:, None] * (there @ rows.T))[..., None])
    left_in = np.clip(1 - np.einsum("tai,ij,taj->a", own, inverse, own) / total, 0.01, 1.0)  # after the fit
    free = np.maximum(left_in / (share**2).sum(axis=0), 1.0)
    times = (found**2).sum(axis=0) / (total * left_in)
    fourth = (ratio(found**2, usual) ** 2 * share).sum(axis=0)
    return times, free, fourth / np.maximum(times, 1e-12) ** 2


def _steadied(times: Array, free: Array, tails: Array, size: Array) -> tuple[Array, Array]:
    """Annotators' own noise drawn to that of all, as far as they are alike, and its degrees of freedom.

    Annotators' variances are taken as scaled inverse chi-squared: how much theirs differ beyond chance says how many
    labels the noise of all is worth (none are alike: 4; all are: then it has the degrees of freedom of all).
    """
    known = np.isfinite(times)
    if not known.any():
        return times, free
    t, f = times[known], free[known]
    alone = (size[known] - 1) / size[known]  # those of one language sum to 0
    weight = alone * f / (alone * f).sum()
    usual = max(float(weight @ t), 1e-12)
    f = f * 2 / max(float(weight @ tails[known]) - 1, 2.0)  # long tails: a variance is told by few labels
    chance = float(weight @ (2 / f))
    apart = (float(weight @ (t / usual - 1) ** 2) - chance) / (1 + chance)
    worth = 4 + 2 / max(apart, 1e-9)
    times, free = times.copy(), free.copy()
    times[known] = (worth * usual + f * t) / (worth + f)
    free[known] = np.minimum(worth + free[known], max(float((alone * f).sum()), 1.0))
    return times, free


def _by_annotator(rest: Array, who: NDArray[np.int64]) -> tuple[NDArray[np.int64], Array, Array]:
    """The annotators of a language, and for each of its labelled items whose labels there are, and what they say."""
    used = (who >= 0).any(axis=1)
    rest, who = rest[used], who[used]
    mine = np.unique(who[who >= 0])
    hot = (who[..., None] == mine) & ~np.isnan(rest)[..., None]
    return mine, hot.sum(axis=1).astype(float), (hot * np.nan_to_num(rest)[..., None]).sum(axis=1)


def _components(rest: Array, who: NDArray[np.int64], names: int) -> tuple[float, float]:
    """Variance of items about the guess, and of single labels about their item; by annotator means taken out."""
    k = rest.shape[1]
    code = np.where(who >= 0, who * k + np.arange(k)[None, :, None], names * k)
    known = ~np.isnan(rest)
    total = np.bincount(code[known], rest[known], names * k + 1)
    count = np.bincount(code[known], minlength=names * k + 1)
    left = np.where(known, rest - (total / np.maximum(count, 1))[code], np.nan)
    both = known.sum(axis=2)
    free = max(int((count > 0).sum()), 1)
    whole = float(np.nansum(left**2)) / max(int(known.sum()) - free, 1)
    several = both > 1
    if several.sum() < 3:
        return whole / 2, whole / 2
    inside = np.where(
        several[..., None], left - np.nanmean(np.where(several[..., None], left, 0.0), axis=2)[..., None], 0
    )
    lost = 1 + free / max(int(several.sum()), 1)
    error = float(np.nansum(inside**2)) / max(float((both[several] - 1).sum()), 1.0) * min(lost, 2.0)
    return max(whole - error, 0.0), max(error, 1e-12)


def annotator_spread(fit: Severity, level: float = 0.95) -> tuple[float, float, float]:
    """Sd of annotators of one language, with limits by chi-squared after sampling is taken off."""
    if fit.df < 1:
        return (np.nan,) * 3
    square, noise = fit.squares / fit.df, fit.expected / fit.df
    ends = [square * fit.df / chdtri(fit.df, tail) - noise for tail in ((1 - level) / 2, (1 + level) / 2)]
    low, value, high = (float(np.sqrt(max(x, 0.0))) for x in (ends[0], square - noise, ends[1]))
    return value, low, high
