"""Information that language carries about the score, given judge and task (docs/methods.md, section 6).

The nearest-neighbour estimator needs, for each point, the number of other points as near as its q-th nearest one of
the same label. That number grows with the distance. So a table of it for every pair of points of a slice, made once,
answers every permutation of the labels with a gather and a small sort, for all slices at once.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, stdtrit

from polyjudge.second.estimate.incomplete import by_cluster
from polyjudge.second.estimate.resample import check_level, mean_and_se
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.progress import track
from polyjudge.second.panel.say import Say, say
from polyjudge.second.report.result import Result

CHUNK = 8
"""Permutations made at a time; each chunk has its own random stream."""
MOST_STEPS = 60_000_000
"""Look-ups over all permutations. With more, whole tasks are drawn at random, and `ENOUGH` replicates at need."""
MOST_ENTRIES = 6_000_000
"""Entries of the table that is looked up (48 MB); the same holds."""
FEW = 64
"""Points of a slice whose distances are all compared with each other."""
AT_ONCE = 1_000_000
"""Points of permutations that are looked up together: memory stays below 300 MB."""
ENOUGH = 8
FEWEST_TASKS = 20
"""A panel of which fewer tasks would fill these limits is not measured."""


class Information(Result):
    """Conditional mutual information I(score; language | judge, task) in nats.

    The plain estimate is biased down in small slices, so it is compared with permuted labels: `debiased` is `observed`
    less `null_mean`, and `low`, `high` are percentiles of observed less null. `task_low`, `task_high` allow for the
    choice of tasks as well (t interval over tasks).
    """

    observed: float
    null_mean: float
    debiased: float
    low: float
    high: float
    task_low: float
    task_high: float
    p: float
    with_tolerance: float
    """`debiased` when distances that differ by rounding only count as ties."""
    slices: int
    slice_size: int
    q: int
    permutations: int
    level: float
    notes: tuple[Say, ...]


def information(
    panel: Panel, *, permutations: int = 500, q: int = 2, level: float = 0.95, seed: int = 7
) -> Information:
    """Information between score and language inside (task, judge) slices of replicate-level scores.

    q : the nearest neighbour of the same label that sets the distance

    Distances are compared exactly, as in the published figure, which so misses some ties.
    The cost is bounded whatever the panel: beyond the limits above tasks and replicates are drawn at random, `notes`
    says so, and `low`, `high` then allow for the choice of tasks too.
    """
    check_level(level)
    if q < 1 or permutations < 19:
        raise UsageError("information needs q >= 1 and at least 19 permutations.")
    single = _single_scores(panel)
    n, k, m = panel.shape
    chosen, kept = _sample(panel, permutations, seed)
    rows = single[chosen][..., kept].transpose(0, 2, 1, 3).reshape(len(chosen) * m, -1)
    labels = np.repeat(np.arange(k), len(kept))
    slices = Slices(rows, labels, q, (0.0, panel.tie_gap))
    values, nulls = slices.value(), slices.permuted(permutations, seed)
    observed, null = values[0], nulls[0]
    if not slices.points.any():
        raise PanelError("No task has two replicates in any language for any judge, so information is not defined.")
    has = slices.points.sum(axis=1) > 0
    task = np.repeat(np.arange(len(chosen)), m)
    weight = panel.weights[chosen][task] * has
    gain = np.where(has, observed - null.mean(axis=0), 0.0)

    def average(per_slice: Array) -> Array:
        return np.asarray(per_slice @ weight / weight.sum())

    total, null_total = float(average(observed)), average(null)
    difference = total - null_total
    low, high = np.quantile(difference, [(1 - level) / 2, (1 + level) / 2])
    task_low, task_high = _over_tasks(gain.reshape(-1, m), has.reshape(-1, m), panel, chosen, level)
    if len(chosen) < n or len(kept) < len(panel.replicates):
        low, high = min(low, task_low), max(high, task_high)
    debiased = total - float(null_total.mean())
    with_tolerance = float(average(values[-1]) - average(nulls[-1]).mean())
    notes = _notes(panel, len(chosen), len(kept), with_tolerance, debiased, bool(slices.there.all()))
    return Information(
        observed=total,
        null_mean=float(null_total.mean()),
        debiased=debiased,
        low=float(low),
        high=float(high),
        task_low=task_low,
        task_high=task_high,
        p=float((1 + np.sum(null_total >= total)) / (1 + permutations)),
        with_tolerance=with_tolerance,
        slices=len(rows),
        slice_size=rows.shape[1],
        q=q,
        permutations=permutations,
        level=level,
        notes=tuple(notes),
    )


def _over_tasks(
    gain: Array, has: NDArray[np.bool_], panel: Panel, chosen: NDArray[np.int64], level: float
) -> tuple[float, float]:
    """The interval over tasks of the value over all judges."""
    full = has.all(axis=1)  # tasks with a value for every judge
    if full.sum() < 2:
        raise PanelError("Fewer than two tasks have replicates for every judge, so information has no interval.")
    clusters = np.unique(panel.cluster[chosen][full], return_inverse=True)[1]
    per_task, unit = by_cluster(gain[full], panel.weights[chosen][full], clusters)
    mean, se = mean_and_se(per_task.mean(axis=1)[:, None], unit)
    reach = float(stdtrit(len(unit) - 1, (1 + level) / 2) * se[0])
    return float(mean[0]) - reach, float(mean[0]) + reach


def _single_scores(panel: Panel) -> Array:
    if panel.replicate_scores is None or len(panel.replicates) < 2:
        raise PanelError(
            "Information needs replicates: several scores of the same task, language and judge. This panel keeps one "
            "score for each. Name the column that tells replicates apart (replicate=... or --replicate)."
        )
    return panel.replicate_scores


def _notes(panel: Panel, tasks: int, replicates: int, tolerant: float, exact: float, whole: bool) -> list[Say]:
    notes = []
    if abs(tolerant - exact) > 0.001:
        notes.append(say("information.ties", tolerant=tolerant, exact=exact))
    if tasks < len(panel.tasks):
        notes.append(say("information.part", chosen=tasks, units=len(panel.tasks)))
    if replicates < len(panel.replicates):
        notes.append(say("information.replicates", kept=replicates, replicates=len(panel.replicates)))
    if not whole:
        notes.append(say("information.missing"))
    return notes


def _sample(panel: Panel, permutations: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions of the tasks and of the replicates that are measured: all of them where they fit the limits."""
    n, k, m = panel.shape
    rng = np.random.default_rng([seed, 0])

    def fit(replicates: int) -> int:
        """Tasks that fit the limits."""
        points = k * replicates
        steps = m * points * max(replicates - 1, 1) * permutations
        return min(MOST_STEPS // steps, MOST_ENTRIES // (m * points**2))

    replicates = len(panel.replicates)
    if fit(replicates) < min(n, FEWEST_TASKS):  # fewer points change what the estimator expects: tasks go first
        replicates = min(replicates, ENOUGH)
    most = fit(replicates)
    if most < min(n, FEWEST_TASKS):
        raise PanelError(
            f"Information was not measured: with {k} languages and {m} judges fewer than {FEWEST_TASKS} tasks could be "
            "looked at. Choose some judges or languages (--judges, --languages)."
        )

    def some(size: int, wanted: int) -> NDArray[np.int64]:
        return np.arange(size) if size <= wanted else np.sort(rng.choice(size, wanted, replace=False))

    return some(n, most), some(len(panel.replicates), replicates)


class Slices:
    """Equal-sized slices of labelled points, with missing ones masked, ready for many label permutations.

    `labels` name each label's slots in one run, all of the same length.
    """

    def __init__(self, values: Array, labels: NDArray[np.int64], q: int, gaps: tuple[float, ...]) -> None:
        """gaps : up to which distances count as equal; every estimate is made for each of them"""
        size = values.shape[1]
        self.there = ~np.isnan(values)
        same = labels[:, None] == labels[None, :]
        np.fill_diagonal(same, False)
        width = int(same.sum(axis=1).max())
        # The other slots of each slot's label; all labels have the same number of slots.
        self.mates = np.array([np.flatnonzero(row) for row in same]).reshape(size, width)
        present = self.there.reshape(len(values), -1, width + 1).sum(axis=2).repeat(width + 1, axis=1)
        of_class = np.where(self.there, present - 1, 0)
        self.points = self.there & (of_class > 0)
        """Points that count: those with another point of their label."""
        self.reach = np.minimum(q, of_class)
        count = self.points.sum(axis=1)
        # A label with a single point says nothing about its spread; such points are left out of the slice.
        self.values = np.where(self.points, values, np.nan)
        self.nearer = np.stack([digamma(_counts_within(self.values, gap)).ravel() for gap in gaps])
        self.uniform = bool(self.points.all())
        held = np.maximum(count, 1)
        constant = np.where(self.points, digamma(np.maximum(self.reach, 1)) - digamma(np.maximum(of_class + 1, 1)), 0.0)
        self.constant = digamma(held) + constant.sum(axis=1) / held
        self.count = held

    def value(self, order: NDArray[np.int64] | None = None) -> Array:
        """The estimate of every slice for each gap: (g, s).

        order : (p, s, size) point that sits in each slot; then (g, p, s)
        """
        slices, size = self.points.shape
        if order is None:
            order = np.broadcast_to(np.arange(size), (1, slices, size))
            return self.value(order)[:, 0]
        base = (np.arange(slices) * size * size)[:, None]
        own = base + order * size
        if self.uniform and self.reach.min() == self.mates.shape[1]:  # the farthest mate: no need to sort them
            places = [own + order[..., mates] for mates in self.mates.T]
            far = (functools.reduce(np.maximum, [flat[place] for place in places]) for flat in self.nearer)
            return np.stack([self.constant - term.sum(axis=-1) / self.count for term in far])
        places = own[..., None] + order[..., self.mates]
        pick = np.broadcast_to(np.maximum(self.reach - 1, 0)[..., None], (*own.shape, 1))
        out = []
        for flat in self.nearer:
            near = np.where(self.points[:, self.mates], flat[places], np.inf)
            near.sort(axis=-1)
            term = np.zeros_like(own, dtype=float)
            np.copyto(term, np.take_along_axis(near, pick, axis=-1)[..., 0], where=self.points)
            out.append(self.constant - term.sum(axis=-1) / self.count)
        return np.stack(out)

    def permuted(self, permutations: int, seed: int) -> Array:
        """Estimates under permuted labels: (g, permutations, s)."""
        slices, size = self.points.shape
        out = []
        slots = np.arange(size, dtype=np.int64)
        # Occupied slots first: a permutation moves the points that are there among the slots that are taken.
        taken = np.argsort(~self.points, axis=1, kind="stable")
        starts = range(0, permutations, CHUNK)
        for block, start in enumerate(track(starts, len(starts), "permuting labels")):
            rng = np.random.default_rng([seed, 1, block])
            width = min(CHUNK, permutations - start)
            if self.uniform:
                order = rng.permuted(np.broadcast_to(slots, (width, slices, size)), axis=2)
            else:
                key = np.where(np.take_along_axis(self.points, taken, 1), rng.random((width, slices, size)), 2.0)
                shuffled = np.take_along_axis(np.broadcast_to(taken, key.shape), key.argsort(axis=2), 2)
                order = np.empty((width, slices, size), np.int64)
                np.put_along_axis(order, np.broadcast_to(taken, order.shape), shuffled, 2)
            at_once = max(1, AT_ONCE // (self.mates.size * slices))
            out += [self.value(order[at : at + at_once]) for at in range(0, width, at_once)]
        return np.concatenate(out, axis=1)


def _counts_within(values: Array, gap: float) -> Array:
    """C[s, i, j] = number of points other than i at most as far from i as j is (ties included), at least 1."""
    slices, size = values.shape
    out = np.ones((slices, size, size))
    for at, v in enumerate(values):
        distance = np.abs(v[:, None] - v[None, :])
        distance[np.isnan(distance)] = np.inf
        if size <= FEW:  # quicker compared than sorted
            out[at] = (distance[:, None] <= distance[..., None] + gap).sum(axis=2) - 1
            continue
        for row, far, near in zip(out[at], distance, np.sort(distance, axis=1), strict=True):
            row[:] = near.searchsorted(far + gap, "right") - 1
    return np.maximum(out, 1, out=out)
