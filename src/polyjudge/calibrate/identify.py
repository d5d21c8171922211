"""Which part of an incomplete panel can be estimated, and in words what cannot."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polyjudge.calibrate.incomplete import (
    CHUNK_BYTES,
    RANK_TOLERANCE,
    Design,
    basis,
    distinct,
    normal_matrices,
)
from polyjudge.kernels import Array
from polyjudge.panel import Panel


def identified_design(panel: Panel) -> Design | None:
    """The first design of "complete", "paired", "additive" under which every cell is identified; None if none is."""
    if panel.complete:
        return "complete"
    patterns, _ = distinct((panel.counts > 0).astype(np.float64))
    if paired_rank_is_full(patterns):
        return "paired"
    return "additive" if len(cell_parts(patterns)) == 1 else None


def paired_rank_is_full(patterns: Array) -> bool:
    """Whether 2 x 2 comparisons within tasks, chained, reach every cell. `patterns` is (g, k, m) of 0 and 1."""
    g, k, m = patterns.shape
    if not patterns.any(axis=0).all():
        return False
    cells = basis(k, m, "paired")
    fullest = np.argsort(-patterns.sum(axis=(1, 2)), kind="stable")
    total = np.zeros((len(cells), len(cells)))
    step = max(1, CHUNK_BYTES // (8 * cells.size))
    # Adding tasks can only add rank: stop as soon as it is full.
    for i in range(0, g, step):
        total += normal_matrices(patterns[fullest[i : i + step]], "paired", cells).sum(axis=0)
        values = np.linalg.eigvalsh(total)
        if values[0] > RANK_TOLERANCE * values[-1] > 0:
            return True
    return False


def cell_parts(patterns: Array) -> list[NDArray[np.bool_]]:
    """Sets of cells joined by tasks that scored both, each a (k, m) mask; a cell without a score is a part alone."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    g, k, m = patterns.shape
    tasks = csr_matrix(patterns.reshape(g, -1) > 0)
    count, label = connected_components((tasks.T @ tasks).astype(bool), directed=False)
    sizes = [(label == i).reshape(k, m) for i in range(count)]
    return sorted(sizes, key=lambda part: -int(part.sum()))


def explain(panel: Panel) -> str:
    """What keeps the panel from being estimated, in words."""
    return "The panel has unconnected parts."
