"""The paper's formulas a second time, with loops, as its text has them. Nothing of polyjudge is imported here.

A score is scores[t][l][b]; a matrix of cells is cells[l][b].
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from scipy import stats


def cell_means(scores: Any, tasks: Any = None) -> list[list[float]]:
    """Step 1; `tasks` may name one twice."""
    n, k, m = np.shape(scores)
    chosen = range(n) if tasks is None else tasks
    return [[sum(scores[t][a][b] for t in chosen) / len(chosen) for b in range(m)] for a in range(k)]


def interaction(cells: Any) -> list[list[float]]:
    """Eq. 3."""
    k, m = np.shape(cells)
    language = [sum(cells[a][b] for b in range(m)) / m for a in range(k)]
    judge = [sum(cells[a][b] for a in range(k)) / k for b in range(m)]
    grand = sum(language) / k
    return [[cells[a][b] - judge[b] - language[a] + grand for b in range(m)] for a in range(k)]


def subtract(cells: Any, other: Any) -> list[list[float]]:
    k, m = np.shape(cells)
    return [[cells[a][b] - other[a][b] for b in range(m)] for a in range(k)]


def tau(x: Any, y: Any, tiny: float) -> float:
    """Kendall's tau-b, values within tiny being tied."""

    def sign(a: float, b: float) -> int:
        return 0 if abs(a - b) <= tiny else 1 if a > b else -1

    pairs = list(itertools.combinations(range(len(x)), 2))
    sx, sy = ([sign(v[i], v[j]) for i, j in pairs] for v in (x, y))
    both = math.sqrt(sum(map(abs, sx)) * sum(map(abs, sy)))
    return sum(a * b for a, b in zip(sx, sy, strict=True)) / both if both else math.nan


def mean_tau(cells: Any, tiny: float) -> float:
    """Over all pairs of languages, those where it is undefined left out; 0 where none is defined."""
    found = [tau(x, y, tiny) for x, y in itertools.combinations(cells, 2)]
    defined = [x for x in found if not math.isnan(x)]
    return sum(defined) / len(defined) if defined else 0.0


def reversal(scores: Any, i: int, j: int) -> tuple[float, int, int, float, float]:
    """Definition 1 of one pair: delta, witness languages, p as published and corrected for choosing them (before
    Benjamini-Hochberg)."""
    _, k, _ = np.shape(scores)
    d = [[row[a][i] - row[a][j] for row in scores] for a in range(k)]
    gaps = [sum(x) / len(x) for x in d]
    a, b = min(itertools.combinations(range(k), 2), key=lambda pair: gaps[pair[0]] * gaps[pair[1]])
    above = [stats.ttest_1samp(x, 0, alternative="greater").pvalue for x in d]
    below = [stats.ttest_1samp(x, 0, alternative="less").pvalue for x in d]
    selected = max(min(1.0, k * min(above)), min(1.0, k * min(below)))
    delta = max(0.0, -gaps[a] * gaps[b])
    if delta == 0:
        return 0.0, -1, -1, 1.0, selected
    up, down = (a, b) if gaps[a] > 0 else (b, a)
    return delta, a, b, max(above[up], below[down]), selected


def held_out(scores: Any, drawn: Any, tiny: float) -> dict[str, float] | None:
    """Table 2 in one replicate; `drawn` lists the tasks that were drawn."""
    left = [t for t in range(len(scores)) if t not in set(drawn)]
    if not left:
        return None
    beta, e = interaction(cell_means(scores, drawn)), cell_means(scores, left)
    adjusted = {"raw": e, "cbc": subtract(e, beta), "oracle": subtract(e, interaction(e))}
    return {name: mean_tau(cells, tiny) for name, cells in adjusted.items()}


def unseen(scores: Any, drawn: Any, h: int, tiny: float) -> tuple[float, float]:
    """Section 5.3 in one replicate: language h left out; raw, and zero-shot."""
    left = [t for t in range(len(scores)) if t not in set(drawn)]
    e, train = cell_means(scores, left), cell_means(scores, drawn)
    others = [a for a in range(len(e)) if a != h]
    after = subtract([e[a] for a in others], interaction([train[a] for a in others]))
    out = []
    for rows in ([e[a] for a in others], after):
        defined = [x for x in (tau(e[h], row, tiny) for row in rows) if not math.isnan(x)]
        out.append(sum(defined) / len(defined) if defined else 0.0)
    return out[0], out[1]


def decide(scores: Any, drawn: Any) -> dict[str, list[float]]:
    """Table 3 in one replicate: points lost in each language, raw and CBC."""
    left = [t for t in range(len(scores)) if t not in set(drawn)]
    train, e = cell_means(scores, drawn), cell_means(scores, left)
    target = subtract(e, interaction(e))
    out = {}
    for name, cells in (("raw", train), ("cbc", subtract(train, interaction(train)))):
        out[name] = [
            max(goal) - goal[max(range(len(row)), key=row.__getitem__)] for row, goal in zip(cells, target, strict=True)
        ]
    return out


def r_squared(runs: Any, with_task_language: bool) -> float:
    """Eq. 2, or Eq. 1 with task:language, by dummy variables."""
    n, k, m, f = np.shape(runs)
    t, a, b, r = (x.ravel() for x in np.indices((n, k, m, f)))
    parts = [t == x for x in range(1, n)] + [r == x for x in range(1, f)]
    parts += [(a * m + b) == x for x in range(1, k * m)]
    if with_task_language:
        parts += [(t == x) & (a == y) for x in range(1, n) for y in range(1, k)]
    y = np.ravel(runs) - np.mean(runs)
    design = np.stack([np.ones(len(y), bool), *parts], axis=1).astype(float)
    return 1 - float(np.linalg.lstsq(design, y, rcond=None)[1][0] / (y @ y))
