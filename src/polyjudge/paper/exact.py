"""Three numbers as the published analysis compared them: floating-point values by their last bit.

polyjudge counts values that differ by rounding only as tied. The ensemble and Dawid-Skene make many such values, and
the information counts distances, so these three come out as published only with bare comparisons, in the published
order of operations, and the information only with the published permutations.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polyjudge.calibrate.methods import Block
from polyjudge.estimate.kernels import double_centre, mean_tau, ranks
from polyjudge.panel.arrays import Array
from polyjudge.panel.panel import Panel
from polyjudge.paper.draws import summary
from polyjudge.paper.methods.dawid_skene import dawid_skene
from polyjudge.paper.methods.normalise import ensemble_parts
from polyjudge.paper.score_information import Slices

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
    out: Array = (a + b + c) / 3.0
    return out


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
