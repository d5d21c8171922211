"""A block of resamples: what a method learns from and what it is measured on, as arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from polyjudge.estimate.incomplete import estimate_interaction
from polyjudge.estimate.kernels import stream
from polyjudge.panel.arrays import Array
from polyjudge.panel.panel import Panel

Multiplicity = NDArray[np.int64]

Estimate = Callable[[Array], tuple[Array, Array]]
"""Multiplicities (R, n) of the units -> cell means and interaction, each (R, k, m); NaN where they are not identified.

`InteractionEstimate.resample` is one. Another estimator of the interaction is plugged in here.
"""


@dataclass(frozen=True, eq=False, kw_only=True)
class Block:
    """What a method sees of R resamples of a panel with n units, k languages and m judges.

    Parameters
    ----------
    panel : the whole panel, with labels, scores and replicate-level scores
    drawn : (R, n) training weight of every unit: how often it was drawn, times its number of tasks
    held : (R, n) evaluation weight of every unit: its number of tasks where it was not drawn, else 0
    train : (R, k, m) cell means over the drawn units (Tr)
    left_out : (R, k, m) cell means over the left-out units (E)
    interaction : (R, k, m) interaction estimated from the drawn units, beta-hat(Tr)
    left_out_interaction : (R, k, m) interaction of the left-out units, DC(E). Only an oracle may use it
    key : seed, number of the block, and who asks: they make `rng`
    """

    panel: Panel
    drawn: Array
    held: Array
    train: Array
    left_out: Array
    interaction: Array
    left_out_interaction: Array
    key: tuple[int, int, str] = (0, 0, "")

    @cached_property
    def rng(self) -> np.random.Generator:
        """This method's own random stream in this block."""
        return stream(*self.key)

    @property
    def gap(self) -> float:
        """Values of cells closer than this are tied."""
        return self.panel.tie_gap


def make_block(
    panel: Panel, drawn: Multiplicity, held: Multiplicity, estimate: Estimate, key: tuple[int, int] = (0, 0)
) -> tuple[Block, NDArray[np.int64]]:
    """A block from the multiplicities of training and evaluation, both (R, n), and which rows of them it holds."""
    kept = np.flatnonzero(held.any(axis=1))
    # One product for both sides: the scores pass through memory once.
    both = np.empty((2 * len(kept), drawn.shape[1]))
    both[: len(kept)], both[len(kept) :] = drawn[kept], held[kept]
    means, interaction = estimate(both)
    size = len(kept)
    lacking = np.asarray((np.isnan(means) | np.isnan(interaction)).any(axis=(-2, -1)))
    known = ~(lacking[:size] | lacking[size:])
    if not known.all():
        both, means, interaction = (a[np.tile(known, 2)] for a in (both, means, interaction))
        kept = kept[known]
        size = len(kept)
    both *= panel.weights
    block = Block(
        panel=panel,
        drawn=both[:size],
        held=both[size:],
        train=means[:size],
        left_out=means[size:],
        interaction=interaction[:size],
        left_out_interaction=interaction[size:],
        key=(*key, ""),
    )
    return block, kept


def full_fit(panel: Panel, seed: int = 0, estimate: Estimate | None = None) -> Block:
    """The block with one resample that trains and evaluates on all units."""
    estimate = estimate or estimate_interaction(panel).resample
    all_units = np.ones((1, len(panel.tasks)), dtype=np.int64)
    return make_block(panel, all_units, all_units, estimate, (seed, 0))[0]
