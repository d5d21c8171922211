"""Subsets of a panel's judges: what each shares, how it errs, and what it costs (docs/methods.md, section 22)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from polyjudge.estimate.kernels import draw_blocks
from polyjudge.panel.arrays import Array
from polyjudge.panel.budget import require_time
from polyjudge.panel.errors import PanelError
from polyjudge.panel.panel import Panel

Masks = NDArray[np.bool_]
LEAST_SLOPE = 0.02
"""A panel that sees less than this share of a difference is taken to see this much."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over tasks from which every figure of every subset follows.

    products : (n, k, m, m) mean over systems of the product of two judges' deviations in a task
    deviations : (n, s, k, m) scores less the mean over systems (over tasks without systems)
    cluster : (n,) codes of what is resampled
    """

    products: Array
    deviations: Array
    cluster: NDArray[np.int64]
    by_system: bool

    @cached_property
    def size(self) -> int:
        """How many things are resampled."""
        return int(self.cluster.max()) + 1

    @cached_property
    def overall(self) -> Moments:
        """The same of the mean over languages, as one language."""
        mean = self.deviations.mean(axis=2, keepdims=True)
        return Moments(_products(mean) / mean.shape[1], mean, self.cluster, self.by_system)

    def covariance(self, weights: Array) -> Array:
        """V (..., k, m, m) of what judges say of systems, for weights (..., n) of the tasks."""
        return np.tensordot(weights / weights.sum(axis=-1, keepdims=True), self.products, axes=1)

    def within(self, weights: Array) -> Array:
        """U (..., k + 1, m, m): V less the systems' own means over tasks, and last that of the mean over languages.

        Twice U is the variance of a difference of two systems in a task.
        """
        parts = []
        for moments in (self, self.overall):
            u = moments.covariance(weights)
            if self.by_system:
                share = weights / weights.sum(axis=-1, keepdims=True)
                means = np.tensordot(share, moments.deviations, axes=1)  # (..., s, k, m)
                systems = means.shape[-3]
                u = (u - np.einsum("...ski,...skj->...kij", means, means) / systems) * systems / (systems - 1)
            parts.append(u)
        return np.concatenate(parts, axis=-3)


def moments_of(panel: Panel) -> Moments:
    if len(panel.judges) < 2:
        raise PanelError("Choosing needs at least two judges.")
    scores = panel.scores[:, None] if panel.system_scores is None else panel.system_scores
    over = 0 if panel.system_scores is None else 1
    there = ~np.isnan(scores)
    with np.errstate(invalid="ignore"):
        mean = np.where(there, scores, 0.0).sum(axis=over, keepdims=True) / there.sum(axis=over, keepdims=True)
    deviations = np.where(there, scores - mean, 0.0)
    products = _products(deviations)
    if there.all():
        products /= scores.shape[1]
    else:
        # Where a pair of judges shares no system in a task, the task says nothing of the pair: the mean of the others.
        behind = _products(there.astype(float))
        with np.errstate(invalid="ignore", divide="ignore"):
            products = products / behind
            products = np.where(behind > 0, products, np.nanmean(products, axis=0))
    if np.isnan(products).any():
        raise PanelError(
            "Two judges never scored the same task in one language, so their agreement is not known there."
        )
    codes = np.unique(panel.cluster, return_inverse=True)[1]
    return Moments(products, deviations, codes, panel.system_scores is not None)


def _products(values: Array) -> Array:
    """Sums over systems of the product of two judges in each task and language: (n, s, k, m) -> (n, k, m, m)."""
    by_system = np.ascontiguousarray(values.transpose(0, 2, 1, 3))
    return by_system.swapaxes(-1, -2) @ by_system


def check_width(panel: Panel, resamples: int) -> None:
    """An error before the work begins where too many judges would have to be compared with each other."""
    _, k, m = panel.shape
    require_time(10.0 * resamples * k * m * m, f"Comparing every two of {m} judges in each of {k} languages")


def draws_of(moments: Moments, weights: Array, resamples: int, seed: int) -> tuple[Array, Array]:
    """V (R, k, m, m) and U (R, k + 1, m, m) of resampled tasks (or clusters)."""
    drawn = [weights * counts[:, moments.cluster] for counts in draw_blocks(moments.size, resamples, seed)]
    v, u = ([part(w) for w in drawn] for part in (moments.covariance, moments.within))
    return np.concatenate(v), np.concatenate(u)


def reliability_of(v: Array, z: Masks, copies: Masks) -> Array:
    """What two judges share, over the variance of the subset's mean: (..., m, m) -> (..., S).

    Near copies do not vouch for each other. A single judge is measured by its mean correlation with all others that are
    not its copies.
    """
    size = z.sum(axis=1)
    other = ~copies & ~np.eye(v.shape[-1], dtype=bool)
    pairs = quadratic(other.astype(float), z)
    with np.errstate(invalid="ignore", divide="ignore"):
        out: Array = quadratic(v * other, z)
        out /= np.maximum(pairs, 1)
        out /= quadratic(v, z) / size**2
        few = np.flatnonzero(pairs == 0)
        own = np.einsum("...ii->...i", v)
        scale = np.sqrt(own)
        correlation = np.where(other, v / (scale[..., :, None] * scale[..., None, :]), 0.0)
        single = correlation.sum(axis=-1) / np.maximum(other.sum(axis=1), 1)  # (..., m)
        chosen = z[few].T.astype(float)
        alone = (single * own) @ chosen / size[few] / (quadratic(v, z[few]) / size[few] ** 2)
        out[..., few] = np.where(size[few] > 1, alone, single @ chosen)
    return np.nan_to_num(out, nan=0.0, copy=False)


def quadratic(v: Array, z: Masks) -> Array:
    """1'V1 over each subset: (..., m, m) -> (..., S)."""
    i, j = np.triu_indices(v.shape[-1])
    both = (z[:, i] & z[:, j]).T.astype(float)
    out: Array = (v[..., i, j] * np.where(i == j, 1.0, 2.0)) @ both
    return out


def slopes_of(v: Array, copies: Masks) -> Array:
    """How much of a difference in quality each judge shows, the mean of all being 1: (..., k, m, m) -> (..., k, m).

    Loadings of one factor behind the covariances. A judge that does not see, or squeezes its scores, has little noise
    and shows little; per point of what the panel sees it errs more.
    """
    if v.shape[-1] < 3:  # what two share does not tell which of them shows more
        return np.ones(v.shape[:-1])
    f = loadings_of(v, ~copies & ~np.eye(v.shape[-1], dtype=bool))
    mean = f.mean(axis=(-1, -2), keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        out: Array = np.where(mean > 0, f / mean, 1.0)
    return out


def errors_of(u: Array, slopes: Array, z: Masks, tasks: float) -> Array:
    """Standard error of a difference of two systems by each subset: (..., k + 1, m, m) -> (..., k + 1, S).

    In points of the whole panel's scale: the subset's own error over its slope. Last is the mean over languages.
    """
    size = z.sum(axis=1)
    plain = np.sqrt(np.maximum(2 * quadratic(u, z) / size**2, 0.0) / tasks)
    slope = slopes @ z.T.astype(float) / size
    slope = np.concatenate([slope, slope.mean(axis=-2, keepdims=True)], axis=-2)
    out: Array = plain / np.maximum(slope, LEAST_SLOPE)
    return out


def loadings_of(v: Array, used: Masks, rounds: int = 200) -> Array:
    """Loadings (at least 0) of one factor behind the covariances that are used: (..., m, m) -> (..., m)."""
    seen, count = v * used, used.astype(float)
    f: Array = np.sqrt(np.einsum("...ii->...i", v) / 2)
    for _ in range(rounds):
        top = (seen @ f[..., None])[..., 0]
        new: Array = 0.5 * f + 0.5 * np.maximum(top / np.maximum((f**2) @ count, 1e-12), 0.0)
        if np.abs(new - f).max() <= 1e-7 * max(float(np.abs(f).max()), 1e-12):
            return new
        f = new
    return f
