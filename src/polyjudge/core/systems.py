"""The mean over systems of a panel's scores, also where systems are missing (docs/methods.md, section 17)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polyjudge.core.arrays import Array

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
    elsewhere. A system that a whole language lacks is taken to stand there as it stands elsewhere in the task.
    """
    there = ~np.isnan(scores)
    if there.all():
        full: Array = scores.mean(axis=1)
        return full
    some = there.any(axis=1)
    filled = _filled(scores, there, weights)
    return np.where(some, filled.mean(axis=1), np.nan)


def _filled(scores: Array, there: Mask, weights: Array) -> Array:
    """The scores with every hole of an entry that has a score filled. Entries without any are not looked at."""
    low, high = np.nanmin(scores), np.nanmax(scores)
    known = np.where(there, scores, 0.0)
    usable = np.broadcast_to(there.any(axis=1, keepdims=True), there.shape)
    hole = usable & ~there
    behind = np.einsum("t,tslj->slj", weights, there.astype(np.float64))
    entry = _mean(known, there, 1)
    system = _mean(np.where(there, scores - entry, 0.0), there, (2, 3))
    pooled = np.zeros(scores.shape[1:])
    values = np.where(there, known, entry + system)
    for _ in range(ROUNDS):
        # Alternating least squares: with the holes at their fitted values the design is balanced inside a task.
        body = np.where(usable, values - pooled, 0.0)
        entry = _mean(body, usable, 1)
        system = _mean(np.where(usable, body - entry, 0.0), usable, (2, 3))
        left = np.where(there, scores - entry - system, 0.0)
        sums = np.einsum("t,tslj->slj", weights, left)
        pooled = _without_triple(np.divide(sums, behind, out=np.zeros_like(sums), where=behind > 0), behind > 0, pooled)
        fitted = np.where(hole, entry + system + pooled, values)
        moved = float(np.abs(fitted - values).max())
        values = fitted
        if moved <= NEAR * (high - low):
            break
    return values


def _without_triple(pooled: Array, seen: Mask, before: Array) -> Array:
    """p with its unseen cells at values that leave no interaction of all three; one round, from where they stood."""
    if seen.all():
        return pooled
    p: Array = np.where(seen, pooled, before)
    triple = p
    for axis in range(3):
        triple = triple - triple.mean(axis=axis, keepdims=True)
    return np.where(seen, p, p - triple)


def _mean(values: Array, there: Mask, axis: int | tuple[int, ...]) -> Array:
    count = there.sum(axis=axis, keepdims=True)
    out: Array = values.sum(axis=axis, keepdims=True) / np.maximum(count, 1)
    return out
