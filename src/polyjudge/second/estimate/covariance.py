"""How judges agree about systems within a task: sums of products by unit, from which everything is a ratio of totals.

A unit is a task, or a cluster of tasks. Totals of resampled units are matrix products, so intervals cost little.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from polyjudge.second.estimate.kernels import BLOCK
from polyjudge.second.estimate.resample import tracked_draws
from polyjudge.second.panel.arrays import AT_ONCE, Array, mean_there, ratio
from polyjudge.second.panel.budget import require
from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.panel import Panel

MOST_UNITS = 5000
"""More units are added up in as many groups: totals of groups resample as well."""
MOST_MAKERS = 12
"""Up to this many makers every group of them is tried; of more they are added one by one."""
ROUNDS = 60
"""Rounds of the one-factor fit; it gains a digit every few."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over the objects that judges compare, one row for each unit.

    products, counts : (u, k, m, m) sum over systems of the product of two judges' deviations from their means over the
        systems both scored, and its degrees of freedom. Without systems: of the products themselves and of the pairs
    sums : (u, k, m, m) without systems, sums of the first judge's scores over the objects both scored; else None
    systems : (u, s, k, m) sums of the deviations by system, and `seen` their number; None without systems
    """

    products: Array
    counts: Array
    sums: Array | None
    systems: Array | None
    seen: Array | None

    @property
    def units(self) -> int:
        return len(self.products)

    @classmethod
    def of(cls, panel: Panel, by_task: bool = False) -> Moments:
        """Moments of a panel; the object is the system within a task, or the task where there are no systems.

        by_task : one unit for each of the panel's, in their order, whatever their number and clusters
        """
        n, k, m = panel.shape
        size = 8.0 * k * m * m * (4 * min(n, MOST_UNITS) + 6 * BLOCK)
        require(size, f"Comparing every two of {m} judges in each of {k} languages, task by task,")
        return cls.of_scores(panel, panel.scores if panel.system_scores is None else panel.system_scores, by_task)

    @classmethod
    def of_languages(cls, panel: Panel) -> Moments:
        """The same with the languages, each scored by the mean of its judges, in place of the judges."""
        scores = panel.scores if panel.system_scores is None else panel.system_scores
        return cls.of_scores(panel, mean_there(scores, -1)[..., None, :])

    @classmethod
    def of_scores(cls, panel: Panel, scores: Array, by_task: bool = False) -> Moments:
        """Of scores (n, k, m), or (n, s, k, m), with the units of a panel."""
        if scores.ndim == 3:
            # Shifted by the cell's mean first: products of large scores would lose digits.
            shift = mean_there(scores, 0)
            parts = _added(panel, scores, lambda part: _by_task(part - shift), by_task)
            return cls(parts[0], parts[1], parts[2], None, None)
        parts = _added(panel, scores, _by_system, by_task)
        return cls(parts[0], parts[1], None, parts[2], parts[3])

    def covariance(self, times: Array) -> Array:
        """V_l(j, j'), (r, k, m, m), for `times` (r, u) each unit counts."""
        shape = self.products.shape[1:]

        def total(x: Array) -> Array:
            return (times @ x.reshape(len(x), -1)).reshape(-1, *shape)

        top, count = total(self.products), total(self.counts)
        if self.sums is not None:
            first = total(self.sums)
            top = top - first * first.swapaxes(2, 3) / np.maximum(count, 1)
            count = np.maximum(count - 1, 0)
        return ratio(top, count)

    def of_means(self, times: Array) -> Array:
        """Covariance over systems of the judges' mean deviations, (r, k, m, m): agreement about the leaderboard."""
        assert self.systems is not None
        assert self.seen is not None
        shape = self.systems.shape[1:]
        top = (times @ self.systems.reshape(self.units, -1)).reshape(-1, *shape)
        number = (times @ self.seen.reshape(self.units, -1)).reshape(-1, *shape)
        means = ratio(top, number)
        means -= means.mean(axis=1, keepdims=True)
        return np.einsum("rslj,rsli->rlji", means, means, optimize=True) / (shape[0] - 1)

    def draws(self, resamples: int, seed: int) -> Iterator[Array]:
        """Blocks (b, u) of how often each unit counts in a resample."""
        for counts in tracked_draws(self.units, resamples, seed):
            yield counts.astype(np.float64)


def _by_task(scores: Array) -> list[Array]:
    """Products of two judges' scores (t, k, m), of their presence, and of one with the other's presence."""
    f = (~np.isnan(scores)).astype(np.float64)
    y = np.nan_to_num(scores)
    return [a[..., :, None] * b[..., None, :] for a, b in ((y, y), (f, f), (y, f))]


def _by_system(scores: Array) -> list[Array]:
    """Products and degrees of freedom over systems of scores (t, s, k, m), the deviations, and which are there."""
    there = ~np.isnan(scores)
    f = there.astype(np.float64)
    number = np.maximum(f.sum(axis=1, keepdims=True), 1)
    y = np.where(there, np.nan_to_num(scores), 0.0)
    y = np.where(there, y - y.sum(axis=1, keepdims=True) / number, 0.0)
    products = np.einsum("tslj,tsli->tlji", y, y, optimize=True)
    if there.all():
        return [products, np.full(products.shape, float(y.shape[1] - 1)), y, f]
    both = np.einsum("tslj,tsli->tlji", f, f, optimize=True)
    first = np.einsum("tslj,tsli->tlji", y, f, optimize=True)
    products -= first * first.swapaxes(2, 3) / np.maximum(both, 1)
    return [products, np.maximum(both - 1, 0), y, f]


def _added(panel: Panel, scores: Array, moments: Callable[[Array], list[Array]], by_task: bool) -> list[Array]:
    """Weighted sums of what `moments` makes of the scores of each task: by unit, or by task. Some tasks at a time."""
    n, w = len(scores), panel.weights
    codes = np.arange(n) if by_task else np.unique(panel.cluster, return_inverse=True)[1]
    if not by_task and codes.max() >= MOST_UNITS:
        codes = codes * MOST_UNITS // (int(codes.max()) + 1)
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(int(codes.max()) + 2))
    step = max(1, (AT_ONCE // max(1, 4 * scores[0].size * scores.shape[-1])) * (len(starts) - 1) // n)
    blocks = []
    for first in range(0, len(starts) - 1, step):
        last = min(first + step, len(starts) - 1)
        tasks = order[starts[first] : starts[last]]
        parts = [x * w[tasks].reshape(-1, *[1] * (x.ndim - 1)) for x in moments(scores[tasks])]
        blocks.append([np.add.reduceat(x, starts[first:last] - starts[first], axis=0) for x in parts])
    return [np.concatenate(part) for part in zip(*blocks, strict=True)]


def require_systems(panel: Panel, what: str) -> Array:
    """The scores by system, or an error that says how to name the column."""
    if panel.system_scores is None:
        raise PanelError(
            f"{what} needs systems: two or more things that are judged on the same tasks (a column with one name "
            "in all rows does not count). Name their column: system=... in Python, --system NAME on the command line."
        )
    return panel.system_scores


def off_and_on(v: Array) -> tuple[Array, Array]:
    """Mean of the entries off the diagonal and on it, (..., m, m) -> (...), (...)."""
    m = v.shape[-1]
    on = np.trace(v, axis1=-2, axis2=-1)
    off: Array = (v.sum(axis=(-2, -1)) - on) / (m * (m - 1))
    return off, np.asarray(on / m)


def correlations(v: Array) -> Array:
    """Covariances as correlations, 0 where a judge has no spread."""
    sd = np.sqrt(np.maximum(np.diagonal(v, axis1=-2, axis2=-1), 0))
    scale = sd[..., :, None] * sd[..., None, :]
    return ratio(v, scale)


def one_factor(v: Array) -> Array:
    """lambda of v(j, j') = lambda_j lambda_j' for j != j', least squares: (..., m, m) -> (..., m).

    Negative where a judge orders systems against the others; the sign of the whole is that of a positive sum.
    """
    m = v.shape[-1]
    off = v * (1 - np.eye(m))
    scale = np.sqrt(np.maximum(off_and_on(v)[1], 0))[..., None]
    # Start from the direction of the judges' sums, at the size that fits.
    start = off.sum(axis=-1)
    found = np.where(np.abs(start).sum(axis=-1, keepdims=True) > 0, start, 1.0)
    found = found / np.maximum(np.sqrt((found**2).mean(axis=-1, keepdims=True)), 1e-300) * np.maximum(scale, 1e-300)
    # Judges first: sums over few of them are then sums of long rows.
    found = np.ascontiguousarray(np.moveaxis(found, -1, 0))
    off = np.ascontiguousarray(np.moveaxis(off, (-2, -1), (0, 1)))
    square = found**2
    for _ in range(ROUNDS):
        for j in range(m):
            others = square.sum(axis=0) - square[j]
            found[j] = ratio((off[j] * found).sum(axis=0), others)
            square[j] = found[j] ** 2
    found *= np.where(found.sum(axis=0) < 0, -1.0, 1.0)
    return np.moveaxis(found, 0, -1)


# --- groups of judges that agree with each other more than with the rest ---

SHARED = 0.3
"""A group is named when its judges' errors surely correlate by more than this, beyond what all judges share."""
RIDGE, HIGHEST = 0.03, 0.97
FEWEST_FOR_GROUPS = 4
"""With three judges a shared error of two cannot be told from a third that agrees less."""


def candidate_groups(r: Array) -> NDArray[np.bool_]:
    """Groups worth asking about, (c, m): those that join first when the judges that correlate most are joined.

    At least two judges are left outside of each, or what the group shares could not be told from what all share.
    """
    m = len(r)
    if m < FEWEST_FOR_GROUPS:
        return np.zeros((0, m), bool)
    found = [x for x in _joined(1 - np.clip(np.nan_to_num(r), -1, 1)) if x.sum() <= m - 2]
    return np.array(found, bool).reshape(-1, m)


def _joined(distance: Array) -> Iterator[NDArray[np.bool_]]:
    """The groups that come about when the two that are nearest on average are joined, one after the other.

    `scipy.cluster.hierarchy.linkage` does the same and takes longer to load than all of this.
    """
    m = len(distance)
    members, size = np.eye(m, dtype=bool), np.ones(m)
    d = np.where(members, np.inf, distance)
    for _ in range(m - 1):
        a, b = divmod(int(np.argmin(d)), m)
        d[a] = d[:, a] = (size[a] * d[a] + size[b] * d[b]) / (size[a] + size[b])
        d[a, a] = d[b] = d[:, b] = np.inf
        size[a] += size[b]
        members[a] |= members[b]
        yield members[a].copy()


def shared_errors(r: Array, groups: NDArray[np.bool_], level: float) -> list[tuple[int, float, float, float]]:
    """Groups whose judges share more than all judges do: index, mean correlation of their errors, and its limits.

    r : (1 + resamples, m, m) correlations, those of all tasks first. One factor is fitted to the pairs outside a group;
        what the pairs inside correlate beyond it is shared by the group alone
    """
    left_out = np.zeros(r.shape[1:], bool)
    named: list[tuple[int, float, float, float]] = []
    free = list(range(len(groups)))
    critical = stdtrit(max(2, len(r) - 2), 1 - (1 - level) / max(len(groups), 1))
    start = np.full(r.shape[:-1], 0.5)
    while free:
        best: tuple[int, float, float, float] | None = None
        for g in free:
            inside = np.outer(groups[g], groups[g]) & ~np.eye(len(left_out), dtype=bool)
            f = loadings(r, left_out | inside, start)
            error = np.sqrt(np.maximum(1 - f**2, 0.0))
            beyond = (r - f[:, :, None] * f[:, None, :]) / np.maximum(error[:, :, None] * error[:, None, :], 0.05)
            values = np.clip(beyond[:, inside].mean(axis=1), -1, 1)
            half = critical * float(values[1:].std(ddof=1))
            if best is None or values[0] - half > best[2]:
                best = g, float(values[0]), float(values[0] - half), float(min(values[0] + half, 1.0))
        if best is None or best[2] <= SHARED:
            break
        named.append(best)
        left_out |= np.outer(groups[best[0]], groups[best[0]])
        free = [g for g in free if not (groups[g] & groups[best[0]]).any()]
    return named


def group_table(
    makers: Mapping[str, str], groups: NDArray[np.bool_], named: list[tuple[int, float, float, float]]
) -> pd.DataFrame:
    """Named groups: judges (names with " + "), members, correlation, low, high, family (where all have one maker).

    makers : of each judge, in the order of the panel
    """
    rows = []
    for g, *ends in named:
        members = tuple(j for j, inside in zip(makers, groups[g], strict=True) if inside)
        made = {makers[j] for j in members}
        rows.append((" + ".join(members), members, *ends, made.pop() if len(made) == 1 else ""))
    return pd.DataFrame(rows, columns=["judges", "members", "correlation", "low", "high", "family"])


def loadings(r: Array, skip: NDArray[np.bool_], start: Array) -> Array:
    """Loadings of one factor behind the correlations but `skip`: (R, m, m) -> (R, m).

    Drawn a little to 0: where the judges share nothing, loadings of noise could be anything.
    """
    used = (~skip & ~np.eye(r.shape[-1], dtype=bool)).astype(float)
    seen = r * used
    f = start
    for _ in range(ROUNDS):
        top = (seen @ f[..., None])[..., 0]
        new: Array = 0.5 * f + 0.5 * np.clip(top / ((f**2) @ used + RIDGE), -HIGHEST, HIGHEST)
        if np.abs(new - f).max() < 1e-6:
            return new
        f = new
    return f


def least_without_group(v: Array, kin: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The pairs (m, m) that count when the makers whose agreement carries most are left to themselves.

    v : (m, m) covariances; kin : which two judges are of one maker, whose pairs never count. Of the sets of up to half
        of the makers, the one whose pairs are worth most is taken out: agreement that stands then rests on no group
    """
    makers = np.unique(kin, axis=0)
    used = ~kin
    size = -(-len(makers) // 2)
    if len(makers) < 3:
        return used
    total, pairs = makers @ (v * used) @ makers.T, makers.astype(float) @ used @ makers.T
    whole, count = float((v * used).sum()), float(used.sum())

    def left(group: tuple[int, ...]) -> float:
        at = np.ix_(group, group)
        rest = count - float(pairs[at].sum())
        return (whole - float(total[at].sum())) / rest if rest > 0 else np.inf

    group: tuple[int, ...] = ()
    if len(makers) <= MOST_MAKERS:
        group = min((g for x in range(2, size + 1) for g in combinations(range(len(makers)), x)), key=left)
    else:
        group = min(combinations(range(len(makers)), 2), key=left)
        while len(group) < size:
            group = min(((*group, x) for x in range(len(makers)) if x not in group), key=left)
    inside = makers[list(group)].any(axis=0)
    return used & ~np.outer(inside, inside)
