"""The mean over systems of a panel's scores, also where systems are missing (docs/methods.md, section 17)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polyjudge.second.panel.arrays import Array, row_blocks

Mask = NDArray[np.bool_]

ROUNDS = 500
NEAR = 1e-10
"""Filling stops when no filled score moves by more than this share of the range, or after so many rounds."""


def average_systems(scores: Array, weights: Array) -> Array:
    """Mean over systems: (n, s, k, m) -> (n, k, m). NaN where no system has a score.

    A plain mean over the systems that are there would turn their quality into a difference between judges or languages.
    So a hole is filled first, by least squares from

        S(t,s,l,j) = c(t,l,j) + a(t,s) + p(s,l,j)

    whose last term is the mean over tasks of what the first two leave. Where a system has no score at all in a
    language by a judge, p is that of no triple interaction: what judge and system, and system and language, show
    elsewhere. A system that a whole language lacks is taken to stand there as it stands elsewhere in the task; systems
    that no chain of entries joins in a task are taken to be equally good there on average.
    """
    return fill_systems(scores, weights).mean(axis=1)


def fill_systems(scores: Array, weights: Array) -> Array:
    """The scores (n, s, k, m) with every hole of an entry that has a score filled; entries without any stay missing.

    c and a are linear in the scores of a task, and the same for all tasks that lack the same scores. So p is found from
    the mean of each such group of tasks, and the tasks are filled once, at the end.
    """
    there = ~np.isnan(scores)
    if there.all():
        return scores
    n, s, k, m = scores.shape
    flat, mask = scores.reshape(n, s, k * m), there.reshape(n, s, k * m)
    packed, group = np.unique(np.packbits(mask.reshape(n, -1), axis=1), axis=0, return_inverse=True)
    group = group.ravel()
    fit = _Additive(np.unpackbits(packed, axis=1, count=mask[0].size).reshape(-1, s, k * m).astype(bool))
    behind: Array = np.bincount(group, weights).astype(np.float64)
    means = np.zeros(fit.there.shape)
    for block in row_blocks(flat):
        np.add.at(means, group[block], np.where(mask[block], flat[block], 0.0) * weights[block, None, None])
    means /= behind[:, None, None]
    pooled = _pooled(fit, means, behind, (s, k, m), NEAR * float(np.nanmax(scores) - np.nanmin(scores)))
    out = np.empty_like(flat)
    for block in row_blocks(flat):
        fitted = fit(np.where(mask[block], flat[block] - pooled, 0.0), group[block]) + pooled
        out[block] = np.where(mask[block], flat[block], np.where(fit.usable[group[block]], fitted, np.nan))
    return out.reshape(scores.shape)


class _Additive:
    """c(l,j) + a(s) by least squares, for tasks whose scores are `there` (g, s, km)."""

    def __init__(self, there: Mask) -> None:
        self.there = there
        count = there.sum(axis=1, keepdims=True)
        self.usable = np.broadcast_to(count > 0, there.shape)
        self.share = there / np.maximum(count, 1)
        matrix = -there.astype(np.float64) @ self.share.transpose(0, 2, 1)
        matrix[:, range(there.shape[1]), range(there.shape[1])] += there.sum(axis=2)
        self.inverse = np.linalg.pinv(matrix, rcond=1e-10, hermitian=True)

    def __call__(self, values: Array, group: NDArray[np.int64] | slice = slice(None)) -> Array:
        """The fit to values (g or more, s, km) that are 0 where they are not there."""
        share = self.share[group]
        entry = (values * share).sum(axis=1, keepdims=True)
        system = self.inverse[group] @ np.where(self.there[group], values - entry, 0.0).sum(axis=2)[..., None]
        return entry + system - (system * share).sum(axis=1, keepdims=True)


def _pooled(fit: _Additive, means: Array, behind: Array, shape: tuple[int, ...], near: float) -> Array:
    """p (s, km): what c and a leave on average over tasks, by alternating between the two."""
    weight = fit.there * behind[:, None, None]
    total = weight.sum(axis=0)
    seen = total > 0
    holes = fit.usable & ~fit.there
    pooled, before = np.zeros(total.shape), np.zeros(means.shape)
    for _ in range(ROUNDS):
        fitted = fit(np.where(fit.there, means - pooled, 0.0))
        moved = float(np.abs(np.where(holes, fitted + pooled - before, 0.0)).max())
        if moved <= near:
            break
        before = fitted + pooled
        left = (weight * (means - fitted)).sum(axis=0) / np.maximum(total, 1e-300)
        pooled = _without_triple(np.where(seen, left, pooled).reshape(shape), seen.reshape(shape), near)
        pooled = pooled.reshape(total.shape)
    return pooled


def _without_triple(p: Array, seen: Mask, near: float) -> Array:
    """p with its unseen cells at values that leave no interaction of all three, from where they stood."""
    for _ in range(0 if seen.all() else ROUNDS):
        triple = p
        for axis in range(3):
            triple = triple - triple.mean(axis=axis, keepdims=True)
        p = np.where(seen, p, p - triple)
        if float(np.abs(np.where(seen, 0.0, triple)).max()) <= near:
            break
    return p
