"""The published analyses' own random draws, from the published seeds: with them the published numbers come out exactly.

Every analysis took numpy's default generator and drew tasks one resample after the other; between two draws of the
main comparison the same generator shuffled the judges of each language for the random control.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polyjudge.panel.arrays import Array

Counts = NDArray[np.int64]


def held_out_draws(
    tasks: int, languages: int, judges: int, resamples: int = 1000, seed: int = 7
) -> tuple[Counts, Counts]:
    """Multiplicities (resamples, tasks) of the main comparison, and the random control's judge orders (.., k, m)."""
    rng = np.random.default_rng(seed)
    drawn, orders = [], []
    for _ in range(resamples):
        drawn.append(_count(rng.choice(tasks, tasks, replace=True), tasks))
        orders.append([rng.permutation(judges) for _ in range(languages)])
    return np.array(drawn), np.array(orders)


def plain_draws(tasks: int, resamples: int, rng: np.random.Generator | int) -> Counts:
    """Multiplicities (resamples, tasks) of the other protocols.

    Decisions: seed 307. Judge subsets of size s: seed 7 + s, the same draws for every subset. Unseen language: one
    generator of seed 207 for all languages, one after the other in the panel's order.
    """
    rng = np.random.default_rng(rng)
    return np.array([_count(rng.choice(tasks, tasks, replace=True), tasks) for _ in range(resamples)])


def subset_draws(
    tasks: int, size: int, repeats: int, rng: np.random.Generator | int
) -> tuple[NDArray[np.bool_], Counts]:
    """Task subsets (repeats, tasks) and the bootstrap multiplicities inside them.

    Task ablation: one generator of seed 107 for all sizes, smallest first.
    """
    rng = np.random.default_rng(rng)
    inside, drawn = np.zeros((repeats, tasks), bool), []
    for row in inside:
        subset = rng.choice(tasks, size, replace=False)
        row[subset] = True
        drawn.append(_count(subset[rng.choice(size, size, replace=True)], tasks))
    return inside, np.array(drawn)


def item_draws(items: Sequence[str], resamples: int = 1000, seed: int = 7) -> Counts:
    """Multiplicities (resamples, items) of the external panel: drawn from the items in the order of their names."""
    out = np.empty((resamples, len(items)), np.int64)
    out[:, np.argsort(np.array(items), kind="stable")] = plain_draws(len(items), resamples, seed)
    return out


def strata_draws(strata: Counts, resamples: int = 1000, seed: int = 107) -> Counts:
    """Multiplicities (resamples, rows) of the human anchor: each stratum in turn, with the seed after the sample's."""
    rng = np.random.default_rng(seed + 1)
    members = [np.flatnonzero(strata == s) for s in np.unique(strata)]
    out = np.zeros((resamples, len(strata)), np.int64)
    for row in out:
        for rows in members:
            row[rows] = _count(rng.choice(len(rows), len(rows), replace=True), len(rows))
    return out


def summary(values: Array) -> tuple[float, float, float]:
    """Mean, and the ends of the 95% interval of resamples."""
    low, high = np.percentile(values, [2.5, 97.5])
    return float(values.mean()), float(low), float(high)


def of_draws(draws: Array, seed: int = 0, repeats: int = 200) -> tuple[float, float, float]:
    """Scatter of the mean and of the 2.5 and 97.5 percentiles of independent draws, by resampling them."""
    rng = np.random.default_rng(seed)
    again = draws[rng.integers(len(draws), size=(repeats, len(draws)))]
    mean, ends = again.mean(axis=1).std(ddof=1), np.percentile(again, [2.5, 97.5], axis=1).std(axis=1, ddof=1)
    return float(mean), float(ends[0]), float(ends[1])


def _count(drawn: NDArray[np.int64], tasks: int) -> Counts:
    return np.bincount(drawn, minlength=tasks)
