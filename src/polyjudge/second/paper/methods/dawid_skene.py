"""Dawid-Skene: cells as annotators of a hidden label "full score", by EM over stacks of resamples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polyjudge.second.calibrate.methods import Block, method
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import Say, say

ROUNDS = 25
CHANGE = 1e-6
"""EM ends after this many rounds, or when no posterior of a training item moves more than this."""


RARE = 0.02
"""Labels of which fewer than this share, or more than the rest, are 1 say next to nothing."""


def one_sided(panel: Panel) -> Say | None:
    """Why the method means little where nearly all labels are the same."""
    labels, there = binary_labels(panel)
    share = float(labels.sum() / there.sum())
    if RARE <= share <= 1 - RARE:
        return None
    return say("held-out.one-sided", top=panel.range[1], share=share)


@method("dawid-skene", scale=100.0, caution=one_sided)
def dawid_skene(block: Block) -> Array:
    """Expected per cent of left-out items on which a cell gives the hidden label. Items are (task, replicate)."""
    n, k, m = block.panel.shape
    labels, there = binary_labels(block.panel)
    repeats = len(labels) // n
    train = np.repeat((block.drawn > 0) * block.panel.weights, repeats, axis=1)
    held = np.repeat(block.held, repeats, axis=1)
    posterior = em(labels, there, train)
    agree = held * posterior
    count = held @ there
    right = agree @ labels + (held - agree) @ (there - labels)
    return np.where(count > 0, 100 * right / np.where(count > 0, count, 1.0), 50.0).reshape(-1, k, m)


def binary_labels(panel: Panel) -> tuple[Array, Array]:
    """Labels (1 where the score is the top of the scale) and presence of every item and cell, both (items, k m)."""
    scores = panel.singles
    n, k, m, r = scores.shape
    items = np.moveaxis(scores, 3, 1).reshape(n * r, k * m)
    there = ~np.isnan(items)
    labels = there & (items >= panel.range[1] - panel.tie_gap)
    return labels.astype(np.float64), there.astype(np.float64)


def em(labels: Array, there: Array, train: Array) -> Array:
    """Posterior probability of label 1 of every item, for every row of training weights: -> (R, items).

    Prior, sensitivity and specificity are learned from the items with positive weight; all items get a posterior. The
    prior stays within 0.001 and 0.999, as in the published analysis: without it EM can lose one of the two labels.
    """
    count = there.sum(axis=1)
    start = np.clip(labels.sum(axis=1) / np.maximum(count, 1), 1e-3, 1 - 1e-3)
    posterior = np.tile(start, (len(train), 1))
    ones, seen = train @ labels, train @ there
    active: NDArray[np.int64] = np.arange(len(train))
    for _ in range(ROUNDS):
        w = train[active]
        expected = w * posterior[active]
        a, b = expected @ labels, expected @ there
        sensitivity = np.clip((a + 1) / (b + 2), 1e-4, 1 - 1e-4)
        specificity = np.clip((seen[active] - b - ones[active] + a + 1) / (seen[active] - b + 2), 1e-4, 1 - 1e-4)
        prior = np.clip(expected.sum(axis=1, keepdims=True) / w.sum(axis=1, keepdims=True), 1e-3, 1 - 1e-3)
        if_zero = np.log((1 - sensitivity) / specificity)
        odds = np.log(prior / (1 - prior)) + (np.log(sensitivity / (1 - specificity)) - if_zero) @ labels.T
        new = 1 / (1 + np.exp(-np.clip(odds + if_zero @ there.T, -700, 700)))
        moved = np.where(w > 0, np.abs(new - posterior[active]), 0.0).max(axis=1)
        posterior[active] = new
        active = active[moved >= CHANGE]
        if not len(active):
            break
    return posterior
