"""Which judges are copies of each other, and how strongly each judge reacts (METHODS 36).

Both come from the covariances between judges of their scores less the mean of the row (task, language, judge) and less
each judge's own mean of a system: no taste or favour of a judge is left in them. Copies share at least three quarters
of what sets them apart from the other judges; they count as one judge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from polyjudge.panel import Panel

Array = NDArray[np.float64]
MIN_ANSWERS = 20
"""Answers that two judges both scored, below which their covariance is not estimated."""
MOST_PLACES = 2_000_000
"""Places for scores that covariances are made of."""
SHARED = 4.0
"""Copies are at most a quarter as far from each other as from any other judge: they share 3/4 of their errors."""
ALONE = 0.08
"""Where all judges may be copies, the distance that stands for that to another judge: r above 0.98 makes copies."""
ONE_SIDED = 1.64
"""Of the distance between copies the one-sided upper limit counts, by Fisher's z."""
MAX_CORRELATION = 0.9999
"""Fisher's z of a correlation of 1 is infinite."""


def _row_step(panel: Panel) -> int:
    """Of a very large panel only every so many rows are looked at: covariances are known well enough from them."""
    return max(1, panel.scores.size // MOST_PLACES)


def judge_covariances(panel: Panel) -> Array:
    """Covariances (judges, judges) of the scores of answers that both judged; NaN where too few are."""
    step = _row_step(panel)
    scores = panel.scores[::step]
    seen = np.isfinite(scores)
    seen = seen & (seen.sum(1, keepdims=True) > 1)
    filled = np.where(seen, scores, 0.0)
    # Over systems, inside each task, language and judge; then over the rest, of each judge and system.
    row_mean = filled.sum(1, keepdims=True) / np.maximum(seen.sum(1, keepdims=True), 1)
    inside = np.where(seen, filled - row_mean, 0.0)
    weight = panel.weight[::step, None, None, None]
    n_seen = np.maximum((weight * seen).sum((0, 2), keepdims=True), 1e-300)
    inside = np.where(seen, inside - (weight * inside).sum((0, 2), keepdims=True) / n_seen, 0.0)

    n_judges = seen.shape[3]
    flat = (np.sqrt(weight) * inside).reshape(-1, n_judges)
    observed = (np.sqrt(weight) * seen).reshape(-1, n_judges)
    n_both = observed.T @ observed
    # The means over the answers that two judges share.
    rooted = np.sqrt(weight) * seen
    sums = flat.T @ rooted.reshape(-1, n_judges)
    with np.errstate(invalid="ignore", divide="ignore"):
        covariance = (flat.T @ flat - sums * sums.T / n_both) / (n_both - 1)
    return np.where(n_both >= MIN_ANSWERS, covariance, np.nan)


def reaction_slopes(panel: Panel) -> Array:
    """How strongly each judge reacts to differences between answers, mean 1: one factor through the covariances
    between judges; with two judges, or where some covariance is unknown, their standard deviations."""
    covariance = judge_covariances(panel)
    n_judges = len(covariance)
    if n_judges < 3 or not np.isfinite(covariance).all():
        slopes = np.sqrt(np.maximum(np.diag(covariance), 1e-12))
        slopes = np.where(np.isfinite(slopes), slopes, 1.0)
    else:
        with_others = np.maximum(covariance - np.diag(np.diag(covariance)), 0.0).sum(1)
        slopes = np.sqrt(np.maximum(with_others, 1e-12))
        for _ in range(50):  # s_b = sum of cov(b, c) / sum of s_c over the others, damped
            slopes = 0.5 * slopes + 0.5 * with_others / np.maximum(slopes.sum() - slopes, 1e-9)
    slopes = np.clip(slopes / max(float(slopes.mean()), 1e-12), 0.25, 4.0)
    return np.asarray(slopes / slopes.mean())


def find_copies(panel: Panel) -> list[list[int]]:
    """Groups of judges that are copies of each other; none where some covariance is unknown or a judge never varies."""
    n_judges = len(panel.judges)
    if n_judges < 2 or not panel.has_systems:
        return []
    covariance = judge_covariances(panel)
    variance = np.diag(covariance)
    if not np.isfinite(covariance).all() or (variance <= 0).any():
        return []
    r = np.clip(covariance / np.sqrt(np.outer(variance, variance)), -1.0, MAX_CORRELATION)
    error = ONE_SIDED / np.sqrt(max(panel.units // _row_step(panel) - 3, 4))
    distance, farthest = 1 - r, 1 - np.tanh(np.arctanh(r) - error)
    groups: list[NDArray[np.int64]] = []
    for group in _linked_groups(distance):
        if _are_copies(group, distance, farthest):
            # A group holds each smaller one whole or not at all.
            groups = [smaller for smaller in groups if smaller[0] not in group]
            groups.append(group)
    return sorted(group.tolist() for group in groups)


def _linked_groups(distance: Array) -> Iterator[NDArray[np.int64]]:
    """Every group of two judges and more that single linkage makes, at growing distances."""
    number = np.arange(len(distance))
    for b, c in _nearest_neighbours(distance):
        number[number == number[c]] = number[b]
        yield np.flatnonzero(number == number[b])


def _nearest_neighbours(distance: Array) -> list[tuple[int, int]]:
    """The pairs of judges that join all of them at the smallest distances, the nearest pair first (Prim's tree)."""
    n_judges = len(distance)
    nearest, from_judge = distance[0].copy(), np.zeros(n_judges, dtype=int)
    is_joined = np.arange(n_judges) == 0
    pairs = []
    for _ in range(n_judges - 1):
        new = int(np.where(is_joined, np.inf, nearest).argmin())
        pairs.append((float(nearest[new]), int(from_judge[new]), new))
        is_joined[new] = True
        is_nearer = distance[new] < nearest
        from_judge[is_nearer] = new
        nearest = np.minimum(nearest, distance[new])
    return [(b, c) for _, b, c in sorted(pairs)]


def _are_copies(group: NDArray[np.int64], distance: Array, farthest: Array) -> bool:
    """Whether all of them are surely much nearer to each other than to any other judge."""
    in_group = np.isin(np.arange(len(distance)), group)
    inside = farthest[np.ix_(group, group)][~np.eye(len(group), dtype=bool)].max()
    outside = ALONE if in_group.all() else distance[in_group][:, ~in_group].min()
    return bool(SHARED * inside < outside)


def merge_copies(panel: Panel, groups: Sequence[Sequence[int]]) -> Panel:
    """The panel in which each group is one judge, the mean of what its copies gave, under the name of the first."""
    if not groups:
        return panel
    scores = panel.scores.copy()
    for group in groups:
        part = panel.scores[..., list(group)]
        seen = np.isfinite(part)
        total = np.where(seen, part, 0.0).sum(3)
        scores[..., group[0]] = np.where(seen.any(3), total / np.maximum(seen.sum(3), 1), np.nan)
    dropped = {b for group in groups for b in group[1:]}
    stay = [b for b in range(len(panel.judges)) if b not in dropped]
    merged = replace(panel, scores=scores, replicates=None)
    return merged.select(judges=[panel.judges[b] for b in stay])


def copy_correlation(panel: Panel, group: Sequence[int]) -> float:
    """The smallest correlation between two judges of a group, rows and their means of systems taken out."""
    covariance = judge_covariances(panel)
    sd = np.sqrt(np.diag(covariance))
    r = covariance / np.outer(sd, sd)
    return float(min(r[b, c] for b in group for c in group if b < c))


def number_judges(n_judges: int, groups: Sequence[Sequence[int]]) -> list[int]:
    """A number for each judge, the same for copies.

    >>> number_judges(5, [[0, 2]])
    [0, 1, 0, 3, 4]
    """
    first = {b: group[0] for group in groups for b in group}
    return [first.get(b, b) for b in range(n_judges)]
