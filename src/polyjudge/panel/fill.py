"""The mean over systems of a panel's scores, also where systems are missing (docs/methods.md, section 17)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polyjudge.panel.arrays import Array

Mask = NDArray[np.bool_]

ALL = "(all)"
"""The language of a system's change in all of them."""
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
    out: Array = fill_systems(scores, weights).mean(axis=1)
    return out


def fill_systems(scores: Array, weights: Array) -> Array:
    """The scores (n, s, k, m) with every hole of an entry that has a score filled; entries without any stay missing."""
    there = ~np.isnan(scores)
    if there.all():
        return scores
    low, high = np.nanmin(scores), np.nanmax(scores)
    known = np.where(there, scores, 0.0)
    usable = np.broadcast_to(there.any(axis=1, keepdims=True), there.shape)
    hole = usable & ~there
    behind = np.einsum("t,tslj->slj", weights, there.astype(np.float64))
    entry = _mean(known, there, 1)
    system = _mean(np.where(there, scores - entry, 0.0), there, (2, 3))
    pooled = np.zeros(scores.shape[1:])
    values = np.where(there, known, entry + system)
    # Alternating least squares: with the holes at their fitted values the design is balanced inside a task. First
    # without p, so that what no score can tell (a system in a language that lacks it) starts from the additive fit.
    for with_pooled in (False, True):
        for _ in range(ROUNDS):
            body = np.where(usable, values - pooled, 0.0)
            entry = _mean(body, usable, 1)
            system = _mean(np.where(usable, body - entry, 0.0), usable, (2, 3))
            if with_pooled:
                left = np.where(there, scores - entry - system, 0.0)
                sums = np.einsum("t,tslj->slj", weights, left)
                means = np.divide(sums, behind, out=np.zeros_like(sums), where=behind > 0)
                pooled = _without_triple(means, behind > 0, pooled)
            fitted = np.where(hole, entry + system + pooled, values)
            moved = float(np.abs(fitted - values).max())
            values = fitted
            if moved <= NEAR * (high - low):
                break
    return np.where(usable, values, np.nan)


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
