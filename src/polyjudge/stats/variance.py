"""What varies in the scores: fits of least squares, variance components and the noise of repeated calls (METHODS 6)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc

Array = NDArray[np.float64]
TERMS = ("task", "language", "judge", "task:language", "task:judge", "language:judge", "task:language:judge")


def fits(scores: Array) -> tuple[float, float]:
    """R2 of two fits to scores (tasks, replicates, languages, judges), NaN where missing: judge:language and replicate
    with a level for each task; and with a level for each task and language. Systems may be the replicates."""
    seen = np.isfinite(scores)
    y = np.where(seen, scores, 0.0)
    mean = y.sum() / seen.sum()
    y = np.where(seen, y - mean, 0.0)
    total = float((y**2).sum())
    if total <= 0:
        return math.nan, math.nan
    return _r2(y, seen, (1, 2, 3)) / total, _r2(y, seen, (1, 3)) / total


def _r2(y: Array, seen: NDArray[np.bool_], axes: tuple[int, ...]) -> float:
    """Sum of squares that levels of rows (means over `axes`), cells and replicates explain."""
    n, f, k, m = y.shape
    number = np.maximum(seen.sum(axes, keepdims=True), 1)
    level = y.sum(axes, keepdims=True) / number
    inner = np.where(seen, y - level, 0.0)
    explained = float((y**2).sum() - (inner**2).sum())
    o = seen.astype(float)
    by_cell, by_replicate = o.sum(1), o.sum((2, 3))  # how often each row has each column of the design
    keep_language = 2 not in axes
    if keep_language:  # levels of task and language: cells count inside their own language
        gram = np.zeros((k * m + f, k * m + f))
        for x in range(k):
            part = np.zeros((n, k * m + f))
            part[:, x * m : (x + 1) * m] = by_cell[:, x]
            part[:, k * m :] = o[:, :, x].sum(2)
            gram -= (part / number[:, 0, x]).T @ part
    else:
        part = np.hstack([by_cell.reshape(n, k * m), by_replicate])
        gram = -(part / number[:, 0, 0]).T @ part
    both = o.sum(0).reshape(f, k * m)
    gram[: k * m, : k * m] += np.diag(both.sum(0))
    gram[k * m :, k * m :] += np.diag(both.sum(1))
    gram[: k * m, k * m :] += both.T
    gram[k * m :, : k * m] += both
    right = np.concatenate([inner.sum((0, 1)).ravel(), inner.sum((0, 2, 3))])
    return explained + float(right @ np.linalg.pinv(gram, rcond=1e-10, hermitian=True) @ right)


@dataclass(frozen=True)
class Components:
    """Variance components of complete scores (tasks, languages, judges), by the names of `TERMS`; with replicates the
    last is apart from "noise". Shares count negative components as 0.

    noise : sd over replicates of one score, averaged over all; None without replicates
    p : of the three-way term against replicate noise (F), None without replicates
    """

    variance: dict[str, float]
    noise: float | None
    p: float | None

    @property
    def shares(self) -> dict[str, float]:
        """Each as a share of their sum."""
        whole = sum(max(x, 0.0) for x in self.variance.values())
        return {name: max(x, 0.0) / whole if whole > 0 else math.nan for name, x in self.variance.items()}


def components(scores: Array, replicates: Array | None = None) -> Components | None:
    """Variance components of the tasks that have all scores (n, k, m); replicates: (n, k, m, r) with NaN where missing.
    None where fewer than two tasks, languages or judges are left."""
    whole = np.isfinite(scores).all(axis=(1, 2))
    y = scores[whole]
    if min(y.shape, default=0) < 2:
        return None
    mean_squares: dict[tuple[int, ...], float] = {}
    freedom = 1
    for term in _terms():
        part = y - y.mean()
        for axis in range(3):
            mean = part.mean(axis=axis, keepdims=True)
            part = part - mean if axis in term else mean
        freedom = math.prod(y.shape[axis] - 1 for axis in term)
        mean_squares[term] = float((part**2).sum()) * y.size / part.size / freedom
    variance = {}
    for name, term in zip(TERMS, _terms(), strict=True):
        beyond = sum((-1) ** (len(x) - len(term)) * mean_squares[x] for x in mean_squares if set(term) <= set(x))
        variance[name] = beyond / math.prod(y.shape[axis] for axis in range(3) if axis not in term)
    if replicates is None:
        return Components(variance, None, None)
    calls = replicates[whole]
    there = np.isfinite(calls)
    number = there.sum(3)
    if not (number > 1).any():
        return Components(variance, None, None)
    # A constant effect of each replicate is no noise.
    inner = np.where(there, calls - y[..., None], 0.0)
    inner = np.where(there, inner - inner.sum((0, 1, 2)) / np.maximum(there.sum((0, 1, 2)), 1), 0.0)
    inner = np.where(there, inner - inner.sum(3, keepdims=True) / np.maximum(number, 1)[..., None], 0.0)
    df = int(np.maximum(number - 1, 0).sum()) - (calls.shape[3] - 1)
    if df < 1:
        return Components(variance, None, None)
    square = float((inner**2).sum()) / df
    harmonic = float((1 / np.maximum(number, 1)).mean())
    several = number > 1
    noise = float(np.sqrt((inner**2).sum(3)[several] / (number[several] - 1)).mean())
    p = float(fdtrc(freedom, df, mean_squares[(0, 1, 2)] / (square * harmonic))) if square > 0 else None
    variance["task:language:judge"] -= square * harmonic
    return Components({**variance, "noise": square}, noise, p)


def _terms() -> list[tuple[int, ...]]:
    return [x for size in (1, 2, 3) for x in combinations(range(3), size)]
