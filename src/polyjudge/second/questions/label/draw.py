"""Which items to label: drawn at random within strata of the panel's score, with known probabilities.

Every task has one random number, the same in all languages, and a stratum takes the items with the smallest ones. So
each item of a stratum has the same chance, languages share tasks as far as their strata do, and a later draw goes on
where the first one stopped.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polyjudge.second.estimate.few_labels import residual_spread
from polyjudge.second.estimate.label_design import design_cuts
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.gold import Gold, strata
from polyjudge.second.panel.panel import Panel

LEAST = 2
"""Items of a stratum, so that its spread can be estimated."""
FLOOR = 0.1
"""Spread, as a share of the scale, that even a stratum in which the panel is sure is allowed to have."""

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Draw:
    """Items of a panel whose units are answers: which are drawn (n, k), from which stratum, with what chance."""

    chosen: NDArray[np.bool_]
    new: NDArray[np.bool_]
    """Those that an earlier draw did not have."""
    stratum: Codes
    probability: Array
    cuts: dict[str, list[float]]


def allocate(size: Codes, spread: Array, total: int, taken: Codes | None = None) -> Codes:
    """Items per stratum: Neyman's, in proportion to size times spread, with at least `LEAST` and what is taken already.

    >>> allocate(np.array([100, 100]), np.array([1.0, 3.0]), 40)
    array([10, 30])
    """
    taken = np.zeros_like(size) if taken is None else taken
    total = int(min(max(total, taken.sum()), size.sum()))
    floors = (np.maximum(np.minimum(size, least), taken) for least in range(LEAST, -1, -1))
    floor = next(f for f in floors if f.sum() <= total)
    out, free = floor.astype(float), np.ones(len(size), bool)
    want = size * np.maximum(spread, 1e-12)
    while free.any():
        share = (total - out[~free].sum()) * np.where(free, want, 0.0) / max(want[free].sum(), 1e-300)
        low, high = free & (share < floor), free & (share > size)
        if not (low.any() or high.any()):
            out = np.where(free, share, out)
            break
        pinned = high if high.any() else low
        out[pinned] = (size if high.any() else floor)[pinned]
        free &= ~pinned
    whole = np.floor(out + 1e-9).astype(np.int64)
    for i in np.argsort(-(out - whole), kind="stable")[: total - int(whole.sum())]:
        whole[i] += 1
    return np.minimum(whole, size)


def doubt(mean: Array, low: float, high: float) -> Array:
    """How undecided the panel is about each item: the spread of pass or fail votes that would have this mean."""
    x = np.clip((mean - low) / max(high - low, 1e-300), 0.0, 1.0)
    out: Array = np.sqrt(x * (1 - x))
    return out


def draw_items(
    panel: Panel,
    tasks: list[str],
    systems: list[str],
    per_language: int,
    seed: int,
    labels: Gold | None = None,
    cuts: dict[str, list[float]] | None = None,
    taken: NDArray[np.bool_] | None = None,
) -> Draw:
    """Draw items of every language of a panel of answers.

    tasks, systems : names behind every unit of the panel (systems empty where there are none)
    labels : labels so far; the spread of a stratum is then theirs, steadied over languages
    cuts, taken : strata and items (n, k) of earlier draws, which are kept
    """
    mean = panel.scores.mean(axis=2)
    low, high = panel.range
    known = ~np.isnan(mean)
    cuts = cuts or design_cuts(panel)
    stratum = strata(panel, cuts)
    assert stratum is not None
    spread = None if labels is None else residual_spread(labels.values, panel.scores, stratum, panel.weights)
    taken = np.zeros(mean.shape, bool) if taken is None else taken
    chosen, probability = taken.copy(), np.zeros(mean.shape)
    number = np.array([_number(seed, task) for task in tasks])
    code = np.unique(systems, return_inverse=True)[1] if systems else np.zeros(len(tasks), np.int64)
    number = (number + code / (code.max() + 1)) % 1  # another task for each system, the same in all languages
    for i in range(len(panel.languages)):
        units = np.flatnonzero(known[:, i])
        if not len(units):
            continue
        h = stratum[units, i]
        size = np.bincount(h)
        if spread is None:
            votes = np.bincount(h, doubt(mean[units, i], low, high) ** 2, len(size)) / np.maximum(size, 1)
            own = np.sqrt(votes) + FLOOR
        else:
            own = spread[i, : len(size)]
        before = np.bincount(h[taken[units, i]], minlength=len(size))
        wanted = per_language + (int(before.sum()) if taken.any() else 0)
        count = allocate(size, own, min(wanted, len(units)), before)
        for j in np.flatnonzero(size):
            inside = units[h == j]
            order = inside[np.argsort(_balanced(number[inside], code[inside], seed), kind="stable")]
            order = np.concatenate([order[taken[order, i]], order[~taken[order, i]]])
            chosen[order[: count[j]], i] = True
            probability[inside, i] = count[j] / size[j]
    return Draw(
        chosen=chosen,
        new=chosen & ~taken,
        stratum=stratum,
        probability=np.where(chosen, probability, np.nan),
        cuts=cuts,
    )


def _number(seed: int, task: str) -> float:
    """A task's own random number from 0 to 1, whatever else is in the panel."""
    digest = hashlib.sha256(f"{seed}\0{task}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:7], "big") / 2**56


def _balanced(number: Array, system: Codes, seed: int) -> Array:
    """Keys whose smallest take every system in proportion: the place within the system, with a random start."""
    out = np.empty(len(number))
    for s in np.unique(system):
        at = np.flatnonzero(system == s)
        start = _number(seed, f"start {s}")
        out[at[np.argsort(number[at], kind="stable")]] = (np.arange(len(at)) + start) / len(at)
    return out if len(np.unique(system)) > 1 else number
