"""Empirical-Bayes shrinkage of the interaction, for few tasks and many cells (docs/methods.md, section 14).

The cells are taken as draws with a common variance, the estimate as cells plus noise. Of all such variances "auto"
takes the one with the largest expected held-out accuracy gain (I7). That gain has a closed form in what each task
contributes: for shrunk cells B x, 2 (x' B x - tr B V) - |B x|^2, with V the covariance of the estimate x over tasks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from polyjudge.estimate.designs import basis
from polyjudge.estimate.incomplete import InteractionEstimate, by_cluster, estimate_interaction
from polyjudge.panel.arrays import Array
from polyjudge.panel.errors import UsageError
from polyjudge.panel.panel import Panel
from polyjudge.panel.records import Record, stack_cells
from polyjudge.panel.say import Say, say

Shrink = Literal["none", "auto"] | float
LEAST = 0.05
"""Taking off a share s is worth about s of the noise variance. Below this "auto" leaves the plain estimate alone."""


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Shrinkage(Record):
    """Shrunk interaction with intervals, and what shrinking is worth on left-out tasks.

    interaction, plain : (language x judge) shrunk and unshrunk cells, in score points
    low, high : interval of each shrunk cell at `level`: right on average over the cells, not for every single one
    amount : share of the plain interaction taken off, 0 (nothing) to 1 (all)
    gain_plain, gain_shrunk : held-out fall of squared error per score, for any truth that is the same for all judges
    gain_difference, difference_low, difference_high : shrunk less plain, leave-one-task-out, with interval over tasks
    """

    interaction: pd.DataFrame
    plain: pd.DataFrame
    low: pd.DataFrame
    high: pd.DataFrame
    amount: float
    gain_plain: float
    gain_shrunk: float
    gain_difference: float
    difference_low: float
    difference_high: float
    level: float

    @property
    def advice(self) -> Say:
        """Whether to shrink."""
        if self.amount == 0:
            return say("shrink.no")
        return say(
            "shrink.yes",
            amount=self.amount,
            proven=self.difference_low > 0,
            gain=self.gain_difference,
            low=self.difference_low,
            high=self.difference_high,
            level=self.level,
        )

    def to_frame(self) -> pd.DataFrame:
        """language, judge, interaction (shrunk), plain, low, high."""
        return stack_cells(interaction=self.interaction, plain=self.plain, low=self.low, high=self.high)

    def __repr__(self) -> str:
        return f"{super().__repr__()}\n{self.advice}"


def shrinkage(panel: Panel, amount: Shrink = "auto", level: float = 0.95) -> Shrinkage:
    """Shrink the interaction of a panel towards zero, and say what that is worth.

    amount : "auto" takes the amount with the largest expected held-out gain; a number from 0 to 1 takes that share off

    >>> from polyjudge import simulate_panel
    >>> panel, _ = simulate_panel(tasks=8, interaction=0.5, seed=1)
    >>> shrinkage(panel).amount > 0.5
    True
    """
    if not 0 < level < 1:
        raise UsageError(f"level must lie between 0 and 1, not {level}.")
    check_amount(amount)
    estimate = estimate_interaction(panel)
    spread = Spread.of(estimate, panel.weights)
    kept = spread.kept(amount)
    shrunk = spread.cells(kept @ spread.centre)
    error = spread.cell_error(kept)
    radius = stdtrit(len(spread.share) - 1, (1 + level) / 2) * error
    plain_gain, shrunk_gain = spread.left_out_gains(np.eye(len(kept))), spread.left_out_gains(kept)
    difference = shrunk_gain - plain_gain
    n = len(difference)
    share = spread.share
    mean = float(share @ difference)
    half = float(stdtrit(n - 1, (1 + level) / 2) * np.sqrt(n / (n - 1) * (share**2 * (difference - mean) ** 2).sum()))
    return Shrinkage(
        interaction=panel.matrix(shrunk),
        plain=panel.matrix(estimate.interaction),
        low=panel.matrix(shrunk - radius),
        high=panel.matrix(shrunk + radius),
        amount=spread.off(kept),
        gain_plain=float(share @ plain_gain),
        gain_shrunk=float(share @ shrunk_gain),
        gain_difference=mean,
        difference_low=mean - half,
        difference_high=mean + half,
        level=level,
    )


def shrink(
    estimate: InteractionEstimate, units: Array, amount: Shrink, plain: Array | None = None
) -> tuple[Array, Array, float]:
    """(k, m) shrunk interaction, its standard error, and the share taken off. `plain`: another estimate to shrink."""
    spread = Spread.of(estimate, units, plain)
    kept = spread.kept(amount)
    return spread.cells(kept @ spread.centre), spread.cell_error(kept), spread.off(kept)


def check_amount(amount: object) -> None:
    """Raise a UsageError unless `amount` is a way to shrink."""
    if amount in ("none", "auto"):
        return
    if isinstance(amount, bool) or not isinstance(amount, (int, float)) or not 0 <= amount <= 1:
        raise UsageError(f"shrinkage must be 'none', 'auto' or a share from 0 to 1, not {amount!r}.")


@dataclass(frozen=True, eq=False)
class Spread:
    """An interaction estimate in orthonormal coordinates (p of them): centre, covariance and what each task adds."""

    centre: Array
    covariance: Array
    shape: Array
    deviations: Array
    share: Array
    vectors: Array

    @classmethod
    def of(cls, estimate: InteractionEstimate, units: Array, plain: Array | None = None) -> Spread:
        k, m = estimate.cells.shape
        vectors = basis(k, m, "paired")
        flat = vectors.reshape(len(vectors), -1)
        influence, units = by_cluster(estimate.influence, units, estimate.cluster)
        deviations = (influence - estimate.interaction).reshape(len(units), -1) @ flat.T
        share = units / units.sum()
        n = len(units)
        scaled = deviations * share[:, None]
        return cls(
            flat @ (estimate.interaction if plain is None else plain).ravel(),
            n / (n - 1) * scaled.T @ scaled,
            estimate.shape_of_covariance,
            deviations,
            share,
            vectors,
        )

    def cells(self, coordinates: Array) -> Array:
        """(..., p) coordinates as (..., k, m) cells."""
        return np.tensordot(coordinates, self.vectors, 1)

    @property
    def caution(self) -> float:
        """Share of the noise that may be held against the estimate.

        Full shrinkage is never worse than none, whatever the truth, only where no direction carries too much of the
        noise (1 - 2 largest / trace of V must be positive, and the share below twice that).
        """
        p, n = len(self.centre), len(self.share)
        trace = float(np.trace(self.covariance))
        if trace <= 0:
            return 0.0
        # The largest eigenvalue of few tasks is far too large: pull it to the mean as Ledoit and Wolf (2004) do.
        scaled = self.deviations * (self.share * n)[:, None]
        square = float((self.covariance**2).sum()) * n**2
        apart = square - (trace * n) ** 2 / p
        wobble = (float(((scaled**2).sum(axis=1) ** 2).mean()) - square) / n
        pull = min(1.0, max(0.0, wobble / apart)) if apart > 0 else 1.0
        largest = (1 - pull) * float(np.linalg.eigvalsh(self.covariance)[-1]) + pull * trace / p
        return min(1.0, 1.5 * max(0.0, 1 - 2 * largest / trace))

    def kept(self, amount: Shrink) -> Array:
        """(p, p) matrix B that maps the plain coordinates to the shrunk ones."""
        p = len(self.centre)
        if amount == "none":
            return np.eye(p)
        if not isinstance(amount, str):
            return np.eye(p) * (1 - float(amount))
        values, vectors = np.linalg.eigh(self.shape)
        centre2 = (vectors.T @ self.centre) ** 2
        noise = self.caution * np.einsum("pi,pq,qi->i", vectors, self.covariance, vectors)
        # Keep tau^2 / (tau^2 + c_i) of direction i: one number, tau^2, found on a fine grid with both 0 and infinity.
        grid = np.concatenate([[0.0], np.logspace(-4, 6, 1001)])[:, None]
        weight = np.vstack([grid / (grid + values), np.ones((1, p))])
        gain = 2 * weight @ (centre2 - noise) - weight**2 @ centre2
        best = weight[int(np.argmax(gain))]
        kept = np.asarray((vectors * best) @ vectors.T)
        return kept if self.off(kept) >= LEAST else np.eye(p)

    def off(self, kept: Array) -> float:
        """Share of the plain interaction that B takes off."""
        size = float(self.centre @ self.centre)
        return 1 - float(self.centre @ kept @ self.centre) / size if size > 0 else 0.0

    def cell_error(self, kept: Array) -> Array:
        """(k, m) standard error of the shrunk cells about the true ones: posterior variance, and that of the amount.

        The posterior variance takes the cells' variance one standard error above its estimate: an estimate near 0 would
        else promise more than the tasks can show.
        """
        p = len(self.centre)
        flat = self.vectors.reshape(p, -1)
        plain = np.einsum("pc,pq,qc->c", flat, self.covariance, flat)
        noise = float(np.trace(self.covariance)) / p
        total = float(self.centre @ self.centre) / p
        upper = max(total - noise, 0.0) + np.sqrt(2 / p) * total
        share = max(float(np.trace(kept)) / p, upper / (upper + noise) if noise > 0 else 1.0)
        moved = (flat.T @ ((np.eye(p) - kept) @ self.centre)) ** 2
        error = np.sqrt(share * plain + 2 / max(p - 2, 1) * moved)
        return np.asarray(error.reshape(self.vectors.shape[1:]))

    def left_out_gains(self, kept: Array) -> Array:
        """(n,) mean over cells of 2 b x - x^2 for each task b, with x = B times the estimate without that task."""
        others = self.centre - self.deviations * (self.share / (1 - self.share))[:, None]
        shrunk = others @ kept.T
        task = self.centre + self.deviations
        cells = np.prod(self.vectors.shape[1:])
        out: Array = (2 * task * shrunk - shrunk**2).sum(axis=1) / cells
        return out
