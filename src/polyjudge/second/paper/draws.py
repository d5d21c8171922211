"""The published analyses' own random draws, from the published seeds: with them the published numbers come out exactly.

Every analysis took numpy's default generator and drew tasks one resample after the other; between two draws of the
main comparison the same generator shuffled the judges of each language for the random control.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polyjudge.second.calibrate.methods import Block
from polyjudge.second.estimate.kernels import double_centre, mean_tau, ranks
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.panel import Panel
from polyjudge.second.paper.methods.dawid_skene import dawid_skene
from polyjudge.second.paper.methods.normalise import ensemble_parts
from polyjudge.second.paper.score_information import Slices

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


# --- what the published analysis compared by the last bit. polyjudge counts values that differ by rounding only as
# tied. The ensemble and Dawid-Skene make many such values, and the information counts distances: these come out as
# published only with bare comparisons, in the published order of operations, with the published permutations.

Tau = tuple[float, float, float, float]
"""Mean tau, the ends of its interval, and tau of the full fit."""


def bare_comparison(panel: Panel, drawn: NDArray[np.int64], orders: NDArray[np.int64], seed: int) -> dict[str, Tau]:
    """Ensemble, Dawid-Skene and the random control (with the published shuffles) on given draws (resamples, tasks)."""
    n, _, m = panel.shape
    parts = _block(panel, drawn, drawn == 0), _block(panel, np.ones((1, n)), np.ones((1, n)))
    fresh = np.random.default_rng(seed)
    shuffled = np.stack([row[fresh.permutation(m)] for row in panel.cell_means])[None]
    cells = {
        "ensemble": tuple(map(_ensemble, parts)),
        "dawid-skene": tuple(np.asarray(dawid_skene(p)) for p in parts),
        "random control": (np.take_along_axis(parts[0].left_out, orders, axis=-1), shuffled),
    }
    return {
        name: (*summary(mean_tau(resampled, 0.0)), float(mean_tau(full, 0.0)[0]))
        for name, (resampled, full) in cells.items()
    }


def _block(panel: Panel, drawn: NDArray[np.number], held: NDArray[np.generic]) -> Block:
    n, k, m = panel.shape
    w, v = drawn.astype(float), held.astype(float)
    train, left = ((x @ panel.scores.reshape(n, k * m) / x.sum(1, keepdims=True)).reshape(-1, k, m) for x in (w, v))
    return Block(
        panel=panel, drawn=w, held=v, train=train, left_out=left, interaction=double_centre(train),
        left_out_interaction=double_centre(left),
    )  # fmt: skip


def _ensemble(block: Block) -> Array:
    a, b, c = (ranks(-values, 0.0) / block.left_out.shape[-1] for values in ensemble_parts(block))
    return (a + b + c) / 3.0


def published_information(panel: Panel, q: int, permutations: int, seed: int) -> dict[str, float]:
    """null_mean, debiased, low, high and p with the published permutations.

    One generator permutes the labels of one slice after the other, slices by the names of task and judge, once for
    each permutation.
    """
    assert panel.replicate_scores is not None
    n, k, m = panel.shape
    tasks, judges = (np.argsort(np.array(names), kind="stable") for names in (panel.tasks, panel.judges))
    rows = panel.replicate_scores.transpose(0, 2, 1, 3)[tasks][:, judges].reshape(n * m, -1)
    size = rows.shape[1]
    slices = Slices(rows, np.repeat(np.arange(k), size // k), q, (0.0,))
    rng = np.random.default_rng(seed)
    observed = slices.value().mean()
    slots = rng.permuted(np.broadcast_to(np.arange(size), (permutations, n * m, size)), axis=2)
    null = np.array([slices.value(np.argsort(s, axis=1)[None]).mean() for s in slots])
    low, high = np.percentile(observed - null, [2.5, 97.5])
    return {
        "null_mean": float(null.mean()),
        "debiased": float(observed - null.mean()),
        "low": float(low),
        "high": float(high),
        "p": float((1 + np.sum(null >= observed)) / (1 + permutations)),
    }
