"""Designs of an incomplete panel: the normal equations of its cells once each task's own terms are eliminated."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from polyjudge.second.panel.arrays import Array

Design = Literal["complete", "paired", "additive", "answers"]

CHUNK_BYTES = 32 << 20
RANK_TOLERANCE = 1e-9


def helmert(n: int) -> Array:
    """(n - 1, n) orthonormal rows that sum to 0. `scipy.linalg.helmert` is the same, and takes longer to load."""
    i, j = np.arange(1, n)[:, None], np.arange(n)
    return np.where(j < i, 1.0, np.where(j == i, -1.0 * i, 0.0)) / np.sqrt(i * (i + 1))


def basis(k: int, m: int, design: Design) -> Array:
    """(p, k, m) orthonormal cell matrices: doubly centred for "paired", centred for "additive", each language centred
    over its judges for "answers"."""
    if design == "additive":
        return helmert(k * m).reshape(-1, k, m)
    rows, columns = helmert(k) if design == "paired" else np.eye(k), helmert(m)
    return np.einsum("al,bc->ablc", rows, columns).reshape(-1, k, m)


def reciprocal(total: Array) -> Array:
    return np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)


@dataclass(frozen=True, eq=False)
class Elimination:
    """Takes a task's own terms out of a matrix of cells, for a stack of weight patterns (g, k, m)."""

    weights: Array
    design: Design
    known: Array | None = None
    """`judges`, where they are known already"""

    @cached_property
    def _rows(self) -> Array:
        """1 / weight of each language's row, 0 for an empty row: (g, k)."""
        return reciprocal(self.weights.sum(axis=2))

    @cached_property
    def _total(self) -> Array:
        return reciprocal(self.weights.sum(axis=(1, 2)))

    @property
    def _linked(self) -> NDArray[np.float32]:
        """(g, m, m): 1 where two judges are in the same connected part of the task's language-judge graph."""
        m = self.weights.shape[2]
        there = (self.weights > 0).astype(np.float32)
        linked = ((np.swapaxes(there, 1, 2) @ there) > 0).astype(np.float32)
        linked[:, np.arange(m), np.arange(m)] = 1
        for _ in range(int(np.ceil(np.log2(max(m, 2))))):
            linked = ((linked @ linked) > 0).astype(np.float32)
        return linked

    def freedom(self) -> Array:
        """(g,) entries of each pattern less the task's own terms that they determine."""
        there = self.weights > 0
        entries = there.sum(axis=(1, 2)).astype(np.float64)
        if self.design == "additive":
            return np.asarray(entries - (entries > 0), dtype=np.float64)
        inside = np.asarray(entries - np.asarray(there.any(axis=2)).sum(axis=1), dtype=np.float64)
        if self.design == "answers":
            return inside
        judges = np.asarray(there.any(axis=1))
        parts = (judges / self._linked.sum(axis=2)).sum(axis=1).round()
        return inside - judges.sum(axis=1) + parts

    @cached_property
    def judges(self) -> Array:
        """Inverse of the judge terms' matrix once the language terms are out: (g, m, m).

        It is singular by one constant for each connected part of the task's language-judge graph. Adding the parts'
        indicator matrix makes it regular without touching what is fitted.
        """
        if self.known is not None:
            return self.known
        w, linked = self.weights, self._linked
        schur = -np.swapaxes(w, 1, 2) @ (w * self._rows[:, :, None])
        index = np.arange(w.shape[2])
        schur[:, index, index] += w.sum(axis=1)
        scale = w.max(axis=(1, 2), keepdims=True)
        return np.asarray(np.linalg.inv(schur + linked * np.where(scale > 0, scale, 1.0)), dtype=np.float64)

    def residual(self, cells: Array) -> Array:
        """Weighted residual of `cells`, (g or 1, j, k, m), off the task's own terms: (g, j, k, m)."""
        w = self.weights[:, None]
        weighted = w * cells
        if self.design == "additive":
            mean = weighted.sum(axis=(2, 3), keepdims=True) * self._total[:, None, None, None]
            return weighted - w * mean
        row = weighted.sum(axis=3) * self._rows[:, None]
        if self.design == "answers":
            return weighted - w * row[..., None]
        judge = (weighted.sum(axis=2) - row @ self.weights) @ self.judges
        row -= (judge @ np.swapaxes(self.weights, 1, 2)) * self._rows[:, None]
        out = weighted - w * (row[..., None] + judge[..., None, :])
        return out

    def apply(self, cells: Array, times: Array) -> Array:
        """Sum over patterns, each `times` (g,), of the weighted residual of one matrix (k, m)."""
        w = self.weights
        g, k, m = w.shape
        covered = (times @ w.reshape(g, -1)).reshape(k, m)
        if self.design == "additive":
            flat = w.reshape(g, -1)
            mean = (flat @ cells.ravel()) * self._total * times
            return covered * cells - (mean @ flat).reshape(k, m)
        row = np.einsum("glb,lb->gl", w, cells) * self._rows
        if self.design == "answers":
            return covered * cells - np.einsum("gl,glb->lb", row * times[:, None], w)
        judge = np.einsum("glb,lb->gb", w, cells) - np.einsum("gl,glb->gb", row, w)
        judge = np.einsum("gb,gbc->gc", judge, self.judges)
        row -= np.einsum("gb,glb->gl", judge, w) * self._rows
        fitted = np.einsum("gl,glb->lb", row * times[:, None], w) + np.einsum("gb,glb->lb", judge * times[:, None], w)
        return covered * cells - fitted

    def normal(self, times: Array) -> Array:
        """Sum over patterns, each `times` (g,), of their normal matrices: (km, km).

        Large products are made in single precision: it serves standard errors, which do not need more.
        """
        w = self.weights
        g, k, m = w.shape
        covered = np.diag(times @ w.reshape(g, -1))
        if self.design == "additive":
            flat = w.reshape(g, -1)
            return covered - flat.T @ (flat * (self._total * times)[:, None])
        index = np.arange(m)
        if self.design == "paired":
            factor = np.swapaxes(np.linalg.cholesky(self.judges * times[:, None, None]), 1, 2)
        step = max(1, CHUNK_BYTES // (8 * k * m * m))
        for i in range(0, g if self.design == "paired" else 0, step):
            part = slice(i, i + step)
            own = -np.swapaxes(w[part], 1, 2)[..., None] * (w[part] * self._rows[part][:, :, None])[:, None]
            own[:, index, :, index] += np.moveaxis(w[part], 2, 0)  # (g, judge, language, judge): rows eliminated
            low = (factor[part] @ own.reshape(-1, m, k * m)).reshape(-1, k * m).astype(np.float32)
            covered -= low.T @ low
        for l in range(k):  # noqa: E741
            block = slice(l * m, (l + 1) * m)
            covered[block, block] -= (w[:, l] * times[:, None] * self._rows[:, l, None]).T @ w[:, l]
        return covered


def normal_matrices(weights: Array, design: Design, cells: Array) -> Array:
    """(g, p, p) normal matrix of each weight pattern (g, k, m), in the basis `cells` (p, k, m)."""
    p = len(cells)
    flat = cells.reshape(p, -1)
    step = max(1, CHUNK_BYTES // (8 * cells.size))
    return np.concatenate(
        [
            Elimination(weights[i : i + step], design).residual(cells[None]).reshape(-1, p, flat.shape[1]) @ flat.T
            for i in range(0, len(weights), step)
        ]
    )


def distinct(weights: Array) -> tuple[Array, NDArray[np.int64]]:
    """The different patterns of (n, ...) weights, and which of them each task has."""
    rows: NDArray[Any] = np.ascontiguousarray(weights).reshape(len(weights), -1)
    most = rows.max(initial=0.0)
    if np.all((rows == 0) | (rows == most)):  # then a bit for each entry is enough
        rows = np.packbits(rows > 0, axis=1)
    keys = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    return weights[first], group.astype(np.int64)
