"""Empirical-Bayes shrinkage of the interaction, for few tasks and many cells (docs/methods.md, section 14).

The cells are taken as draws with a common variance, the estimate as cells plus noise. Of all such variances "auto"
takes the one with the largest expected held-out accuracy gain (I7). That gain has a closed form in what each task
contributes: for shrunk cells B x, 2 (x' B x - tr B V) - |B x|^2, with V the covariance of the estimate x over tasks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import stdtrit

from polyjudge.second.estimate.designs import basis
from polyjudge.second.estimate.incomplete import InteractionEstimate, by_cluster, estimate_interaction
from polyjudge.second.estimate.resample import in_groups
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import Say, say

Shrink = Literal["none", "auto"] | float
LEAST = 0.05
"""Taking off a share s is worth about s of the noise variance. Below this "auto" leaves the plain estimate alone."""


@dataclass(frozen=True, kw_only=True)
class Shrinkage:
    """What shrinking is worth on left-out tasks: `amount`, the share of the interaction it takes off, and `gain`, the
    further fall of squared error per score, leave-one-task-out, with its interval over tasks."""

    amount: float
    gain: float
    low: float
    high: float
    level: float

    @property
    def advice(self) -> Say:
        """Whether to shrink."""
        return say("shrink.yes", proven=self.low > 0, **vars(self)) if self.amount else say("shrink.no")


def shrinkage(panel: Panel, level: float = 0.95) -> Shrinkage:
    """What `ConsensusCalibrator(shrinkage="auto")` would take off a panel's interaction, and what that is worth.

    >>> from polyjudge.second import simulate_panel
    >>> panel, _ = simulate_panel(tasks=8, interaction=0.5, seed=1)
    >>> shrinkage(panel).amount > 0.5
    True
    """
    spread = Spread.of(estimate_interaction(panel), panel.weights)
    kept, share = spread.kept("auto"), spread.share
    difference = spread.left_out_gains(kept) - spread.left_out_gains(np.eye(len(kept)))
    n = len(difference)
    mean = float(share @ difference)
    half = float(stdtrit(n - 1, (1 + level) / 2) * np.sqrt(n / (n - 1) * (share**2 * (difference - mean) ** 2).sum()))
    return Shrinkage(amount=spread.off(kept), gain=mean, low=mean - half, high=mean + half, level=level)


def shrink(
    estimate: InteractionEstimate, units: Array, amount: Shrink, plain: Array | None = None
) -> tuple[Array, Array, float]:
    """(k, m) shrunk interaction, its standard error, and the share taken off. `plain`: another estimate to shrink."""
    spread = Spread.of(estimate, units, plain)
    kept = spread.kept(amount)
    return spread.cells(kept @ spread.centre), spread.cell_error(kept), spread.off(kept)


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
        noise = self.caution * (vectors * (self.covariance @ vectors)).sum(axis=0)
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
        plain = (flat * (self.covariance @ flat)).sum(axis=0)
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
        return (2 * task * shrunk - shrunk**2).sum(axis=1) / cells


# --- what subtracting a fitted matrix is worth without labels: identity I7, without bias and with an interval ---
# Subtract A(l, b), centred over the judges of each language, from the scores. The squared distance of a judge drawn at
# random to any truth that does not depend on the judge falls by mean (2 A b - A^2), b being the true deviation of the
# cells from the panel mean of their language. For A = B x with x a mean over tasks the estimate
# 2 (x' B x - tr B V) - |B x|^2 has no bias, V the covariance of x (docs/methods.md, I7).


@dataclass(frozen=True)
class Gain:
    """Fall of the mean squared distance, in points squared, of the very fit that was made."""

    estimate: float
    se: float
    low: float
    high: float


def unbiased_gain(values: Array, weights: Array, *, keep: float = 1.0, level: float = 0.95) -> Gain:
    """Gain of subtracting `keep` times the mean over units of `values` (n, ...), itself a projection of the scores.

    The interval is a jackknife over units, widened by what the gain of this fit differs from that of an average fit:
    the jackknife sees the error e of the mean once, the gain of the fit made from it falls by it once more (6 tr V^2).
    NaN for fewer than three units.
    """
    values, weights = in_groups(values, weights)
    d, centre, noise = _centred(values, weights)
    (n, cells), square, share = d.shape, (d * d).sum(axis=1), weights / weights.sum()
    size = float(centre @ centre)

    def gain(size: Array | float, noise: Array | float) -> Array | float:
        return (2 * keep * (size - noise) - keep**2 * size) / cells

    estimate = float(gain(size, noise))
    if n < 3:
        return Gain(estimate, np.nan, np.nan, np.nan)
    rest = 1 - share
    moved = -d * (share / rest)[:, None]  # how far the mean moves without each unit
    sizes = ((centre + moved) ** 2).sum(axis=1)
    others = share**2 @ d - d * (share**2)[:, None]
    noises = (share**2 @ square - share**2 * square) - 2 * (moved * others).sum(axis=1)
    noises = (noises + (moved**2).sum(axis=1) * ((share**2).sum() - share**2)) * (n - 1) / (n - 2) / rest**2
    parts = np.asarray(gain(sizes, noises))
    jackknife = (n - 1) / n * float(((parts - parts.mean()) ** 2).sum())
    scaled = d * share[:, None]
    gram = n / (n - 1) * (scaled.T @ scaled if cells < n else scaled @ scaled.T)  # both have the same traces
    trace = max(float((gram**2).sum()) - float(np.trace(gram)) ** 2 / (n - 1), 0.0)
    se = float(np.sqrt(jackknife + 6 * keep**2 * trace / cells**2))
    half = float(stdtrit(n - 1, (1 + level) / 2)) * se
    return Gain(estimate, se, estimate - half, estimate + half)


def best_keep(values: Array, weights: Array) -> float:
    """Share of the mean over units that is best kept: 1 - tr V / |x|^2, at least 0 (James and Stein)."""
    _, centre, noise = _centred(values, weights)
    size = float(centre @ centre)
    return max(0.0, 1 - noise / size) if size > 0 else 0.0


def _centred(values: Array, weights: Array) -> tuple[Array, Array, float]:
    """Deviations of units from their weighted mean, (n, p), that mean, and the trace of its covariance."""
    n, share = len(values), weights / weights.sum()
    flat = values.reshape(n, -1)
    centre = share @ flat
    d = flat - centre
    return d, centre, n / (n - 1) * float(share**2 @ (d * d).sum(axis=1))
