"""Estimates of the interaction that a few odd tasks cannot move far: trimmed mean, median of means, Huber.

They work cell by cell on what each task contributes (the matrices D_t of I5; for panels with holes, the influence
values), and the result is double centred again. They estimate another quantity than the mean where tasks are skewed, so
they are a check on it, and a choice, not the default.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from polyjudge.second.estimate.incomplete import InteractionEstimate, estimate_interaction
from polyjudge.second.estimate.kernels import double_centre
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import Say, say

Location = Literal["mean", "trimmed", "median_of_means", "huber"]
LOCATIONS: tuple[Location, ...] = ("mean", "trimmed", "median_of_means", "huber")
TRIM = 0.1
"""Share of the tasks cut from each end of a cell."""
BLOCKS = 11
TUNING = 1.345
"""Huber's constant: 95% of the mean's efficiency when the noise is normal."""
APART: dict[Location, float] = {"trimmed": 1.0, "huber": 0.9, "median_of_means": 3.0}
"""An estimate disagrees with the mean from this many standard errors of the mean on. Each is about four standard
deviations of the difference when the noise is normal."""


def odd_cells(panel: Panel) -> tuple[Say, ...]:
    """Cells where a robust estimate lies further from the mean than even noise would put it (`APART`).

    >>> from polyjudge.second import simulate_panel
    >>> odd_cells(simulate_panel(tasks=60, seed=1)[0])
    ()
    """
    estimate = estimate_interaction(panel)
    tables = {name: location(estimate, panel.weights, name) for name in LOCATIONS}
    apart = np.zeros(estimate.cells.shape, bool)
    for name, most in APART.items():
        apart |= np.abs(tables[name] - tables["mean"]) > most * estimate.se + 1e-9 * np.ptp(panel.range)
    return tuple(
        say(
            "robust.apart",
            language=panel.languages[i],
            judge=panel.judges[j],
            **{name: float(table[i, j]) for name, table in tables.items()},
        )
        for i, j in np.argwhere(apart)
    )


def location(estimate: InteractionEstimate, units: Array, name: Location) -> Array:
    """(k, m) interaction with the task values of each cell summed up by `name`."""
    if name == "mean":
        return estimate.interaction
    share = units / units.sum()
    summary = {"trimmed": _trimmed, "median_of_means": _median_of_means, "huber": _huber}[name]
    return double_centre(summary(estimate.influence, share))


def _trimmed(values: Array, share: Array) -> Array:
    ordered, below = _ordered(values, share)
    # The task values of each cell that hold the weighted quantiles TRIM and 1 - TRIM.
    low, high = (_first(ordered, below >= q - 1e-12) for q in (TRIM, 1 - TRIM))
    # The mean of what lies between the cuts, from the winsorised mean: both tails hold TRIM of the weight.
    winsorised = np.tensordot(share, np.clip(values, low, high), 1)
    return (winsorised - TRIM * (low + high)) / (1 - 2 * TRIM)


def _median(values: Array, share: Array) -> Array:
    """Weighted median of each cell; halfway between two values that share it."""
    ordered, below = _ordered(values, share)
    return (_first(ordered, below >= 0.5 - 1e-12) + _first(ordered, below > 0.5 + 1e-12)) / 2


def _ordered(values: Array, share: Array) -> tuple[Array, Array]:
    """Values of each cell in order, and the share of the weight up to and with each."""
    order = np.argsort(values, axis=0)
    return np.take_along_axis(values, order, axis=0), np.cumsum(share[order], axis=0)


def _first(ordered: Array, reached: NDArray[np.bool_]) -> Array:
    return np.take_along_axis(ordered, np.argmax(reached, axis=0)[None], axis=0)[0]


def _median_of_means(values: Array, share: Array) -> Array:
    """Median over blocks of every BLOCKS-th task: tasks that stand together in the file come in different blocks."""
    blocks = min(BLOCKS, len(values) // 2) or 1
    block = np.arange(len(values)) % blocks
    member = (block == np.arange(blocks)[:, None]) * share
    means = np.tensordot(member / member.sum(axis=1, keepdims=True), values, 1)
    return np.asarray(np.median(means, axis=0))


def _scale(values: Array, share: Array) -> Array:
    """Median absolute deviation of each cell, as a standard deviation; the plain one where that is 0."""
    scale = _median(np.abs(values - _median(values, share)), share) / ndtri(0.75)
    mean = np.tensordot(share, values, 1)
    plain = np.sqrt(np.tensordot(share, (values - mean) ** 2, 1))
    out: Array = np.where(scale > 1e-12 * np.maximum(plain, 1e-300), scale, plain)
    return np.where(out > 0, out, 1.0)


def _huber(values: Array, share: Array) -> Array:
    bound = TUNING * _scale(values, share)
    centre = _median(values, share)
    for _ in range(100):
        step = np.tensordot(share, np.clip(values - centre, -bound, bound), 1)
        inside = np.tensordot(share, (np.abs(values - centre) <= bound).astype(np.float64), 1)
        step = step / np.maximum(inside, 0.1)
        centre = centre + step
        if np.all(np.abs(step) <= 1e-10 * bound):
            break
    return centre
