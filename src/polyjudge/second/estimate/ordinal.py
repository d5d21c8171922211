"""Cumulative logit model with a random effect per unit, by marginal likelihood: few levels, or two.

    P(level of unit i in cell j <= h) = F(cut_h - eta_j - sigma u_i),  u_i ~ N(0, 1),  sum eta_j = 0,  F logistic

Each unit's integral is taken by adaptive Gauss-Hermite quadrature around its own mode. Adjacent cuts share their
terms: log(F(a) - F(b)) = log F(a) + log F(-b) + log(1 - exp(b - a)), so that counts per level turn the log-likelihood
into one logistic term per cut. Gradient and Hessian are exact for the quadrature (Louis), so Newton's steps settle in
a few rounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.polynomial.hermite import hermgauss
from numpy.typing import NDArray
from scipy.special import expit, logit, logsumexp

from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.errors import PanelError

NODES = (7, 15)
"""Quadrature points of a unit with at least `MANY` scores, whose integral is all but normal, and with fewer."""
MANY = 20
ROUNDS = 100
SETTLED = 1e-9
"""Newton's steps end when the log-likelihood would rise by less than this."""
ROUNDING = 1e-3
"""A step may lower the log-likelihood by this: the points move with the units' modes, so it is smooth only so far."""
FAR = 300.0
"""Cuts further apart than this have nothing to do with each other."""
CHUNK = 200_000
"""Terms (unit x point x cell x cut) held at once."""


@dataclass(frozen=True, eq=False, kw_only=True)
class OrdinalFit:
    """The fitted model: C levels, J cells, n units.

    cuts : (C - 1,) thresholds between levels
    cells : (J,) latent effects of the cells, summing to zero
    sigma : standard deviation of the units' own effects
    log_likelihood : of the counts as given
    influence : (n, J) of each unit on `cells`: they sum to zero, and their squares sum to the sandwich variances
    inverse : (J, J) covariance of `cells` if the model holds exactly (inverse information)
    separated : (J,) cells whose scores all lie on the lowest or the highest level: no finite effect fits best
    """

    cuts: Array
    cells: Array
    sigma: float
    log_likelihood: float
    influence: Array
    inverse: Array
    separated: NDArray[np.bool_]


def fit_ordinal(counts: Array, nodes: int | None = None) -> OrdinalFit:
    """Fit the model to counts of scores, (n, J, C): unit x cell x level. `nodes` is the number of quadrature points.

    A cell whose scores are all on the lowest (or highest) level has no finite estimate: half a score on the next level
    is added to it, spread over its units.
    """
    n, j, c = counts.shape
    seen = counts.sum(axis=(0, 1))
    if c < 2 or (seen <= 0).any():
        raise PanelError("The model of levels needs at least two levels, and scores on each.")
    if nodes is None:
        nodes = NODES[0] if np.median(counts.sum(axis=(1, 2))) >= MANY else NODES[1]
    counts, separated = _half_a_score(counts)
    basis = np.linalg.qr(np.column_stack([np.ones(j), np.eye(j)[:, : j - 1]]))[0][:, 1:]  # columns that sum to zero
    share = np.cumsum(counts.sum(axis=(0, 1)))[:-1] / counts.sum()
    at = np.concatenate([logit(share) * 1.2, np.zeros(j), [1.0]])
    modes = np.zeros(n)
    value, gradient, hessian, scores, modes = _evaluate(counts, at, modes, nodes)
    ridge = 0.0
    for _ in range(ROUNDS):
        free = _reduce(hessian, basis, c)
        slope = np.concatenate([gradient[: c - 1], gradient[c - 1 : -1] @ basis, gradient[-1:]])
        free_step = _solve(free, slope, ridge)
        step = np.concatenate([free_step[: c - 1], basis @ free_step[c - 1 : -1], free_step[-1:]])
        rise = 0.5 * float(step @ gradient)
        if rise < SETTLED:
            break
        tried = at + step
        if (np.diff(tried[: c - 1]) > 0).all():
            new = _evaluate(counts, tried, modes, nodes)
            if np.isfinite(new[2]).all() and new[0] >= value - ROUNDING:
                at, ridge = tried, 0.0 if ridge <= 1e-3 else ridge / 10
                value, gradient, hessian, scores, modes = new
                continue
        ridge = max(10 * ridge, 1e-3)
        if ridge > 1e9:
            break
    inverse = np.linalg.pinv(-_reduce(hessian, basis, c))
    back = np.zeros((j, len(inverse)))
    back[:, c - 1 : -1] = basis
    own = np.column_stack([scores[:, : c - 1], scores[:, c - 1 : -1] @ basis, scores[:, -1]])
    influence = own @ inverse @ back.T
    cells = at[c - 1 : -1]
    return OrdinalFit(
        cuts=at[: c - 1],
        cells=cells,
        sigma=abs(float(at[-1])),
        log_likelihood=value,
        influence=influence,
        inverse=back @ inverse @ back.T,
        separated=separated,
    )


def _half_a_score(counts: Array) -> tuple[Array, NDArray[np.bool_]]:
    """The counts with half a score one level inward in cells that lie at one end, and which cells those are."""
    total = counts.sum(axis=0)
    scored = total.sum(axis=1)
    low, high = (total[:, 0] == scored), (total[:, -1] == scored)
    separated = (low | high) & (scored > 0)
    if not separated.any():
        return counts, separated
    out = counts.copy()
    for end, inner in ((low, 1), (high, -2)):
        at = np.flatnonzero(end & separated)
        there = counts[:, at].sum(axis=2)
        out[:, at, inner] += 0.5 * there / there.sum(axis=0)
    return out, separated


def _reduce(hessian: Array, basis: Array, c: int) -> Array:
    h = hessian
    cells = slice(c - 1, len(h) - 1)
    left = np.concatenate([h[: c - 1], basis.T @ h[cells], h[-1:]])
    return np.concatenate([left[:, : c - 1], left[:, cells] @ basis, left[:, -1:]], axis=1)


def _solve(hessian: Array, gradient: Array, ridge: float) -> Array:
    """Newton's step uphill; directions that curve the wrong way are taken as if they curved the right one."""
    values, vectors = np.linalg.eigh(-hessian)
    size = np.maximum(np.abs(values), 1e-8 * np.abs(values).max()) + ridge * np.abs(values).max()
    return vectors @ ((vectors.T @ gradient) / size)


def _evaluate(counts: Array, at: Array, modes: Array, nodes: int) -> tuple[float, Array, Array, Array, Array]:
    """Log-likelihood, gradient, Hessian, gradient of each unit (n, p), and the modes of the units' effects."""
    n, j, c = counts.shape
    cuts, cells, sigma = at[: c - 1], at[c - 1 : -1], at[-1]
    p = len(at)
    hessian, scores, value, found = np.zeros((p, p)), np.empty((n, p)), 0.0, np.empty(n)
    for part in _chunks(n, nodes * j * (c - 1)):
        below, both = counts[part, :, :-1], counts[part, :, :-1] + counts[part, :, 1:]
        base = cuts - cells[:, None]
        mode, spread = _modes(below, both, base, sigma, modes[part])
        found[part] = mode
        value += _quadrature(below, both, base, sigma, (mode, spread), nodes, hessian, scores[part])
    value += _between(counts.sum(axis=(0, 1)), cuts, hessian)
    gradient = scores.sum(axis=0)
    gap_gradient = _between_gradient(counts, cuts)
    scores[:, : c - 1] += gap_gradient
    gradient[: c - 1] += gap_gradient.sum(axis=0)
    return value, gradient, hessian, scores, found


def _chunks(n: int, each: int) -> Iterator[slice]:
    step = max(1, CHUNK // max(each, 1))
    for start in range(0, n, step):
        yield slice(start, start + step)


def _modes(below: Array, both: Array, base: Array, sigma: float, start: Array) -> tuple[Array, Array]:
    """Mode of each unit's effect given its scores, and the spread of the normal curve that touches it there."""
    u = start.copy()
    for _ in range(50):
        f = expit(base - sigma * u[:, None, None])
        slope = sigma * (both * f - below).sum(axis=(1, 2)) - u
        curve = sigma**2 * (both * f * (1 - f)).sum(axis=(1, 2)) + 1
        step = np.clip(slope / curve, -2.0, 2.0)
        u = u + step
        if np.abs(step).max(initial=0.0) < 1e-8:
            break
    f = expit(base - sigma * u[:, None, None])
    return u, 1 / np.sqrt(sigma**2 * (both * f * (1 - f)).sum(axis=(1, 2)) + 1)


def _quadrature(
    below: Array, both: Array, base: Array, sigma: float, around: tuple[Array, Array], nodes: int,
    hessian: Array, scores: Array,
) -> float:  # fmt: skip
    """Adds the units' part of the Hessian, writes their gradients, and returns their log-likelihood."""
    x, w = hermgauss(nodes)
    mode, spread = around
    u = mode[:, None] + np.sqrt(2) * spread[:, None] * x  # (n, q)
    a = base[None, None] - sigma * u[:, :, None, None]  # (n, q, j, h)
    above = both - below
    tail = np.exp(-np.abs(a))
    soft = np.log1p(tail) + np.maximum(-a, 0.0)  # -log F(a); -log F(-a) = a + that
    own = -((both[:, None] * soft) + above[:, None] * a).sum(axis=(2, 3))
    log = own - u**2 / 2 + np.log(w) + x**2 + np.log(spread)[:, None] - 0.5 * np.log(np.pi)
    each = logsumexp(log, axis=1)
    weight = np.exp(log - each[:, None])  # (n, q)
    f = np.where(a >= 0, 1.0, tail) / (1 + tail)
    curve = both[:, None] * f
    term = curve - below[:, None]  # (n, q, j, h): derivative towards eta
    curve *= 1 - f
    cell, cut = term.sum(axis=3), -term.sum(axis=2)
    g = np.concatenate([cut, cell, (u * cell.sum(axis=2))[..., None]], axis=2)  # (n, q, p)
    scores[:] = np.einsum("nq,nqp->np", weight, g)
    root = (np.sqrt(weight)[..., None] * g).reshape(-1, g.shape[2])
    h, j = below.shape[2], below.shape[1]
    powers = np.stack([weight, weight * u, weight * u**2]).reshape(3, -1)
    mean, tilt, bent = (powers @ curve.reshape(-1, j * h)).reshape(3, j, h)
    hessian += root.T @ root - scores.T @ scores
    at = np.arange(h + j)
    hessian[at, at] -= np.concatenate([mean.sum(axis=0), mean.sum(axis=1)])
    hessian[:h, h:-1] += mean.T
    hessian[h:-1, :h] += mean
    edge = np.concatenate([tilt.sum(axis=0), -tilt.sum(axis=1), [-bent.sum()]])
    hessian[-1, :] += edge
    hessian[:-1, -1] += edge[:-1]
    return float(each.sum())


def _between(level: Array, cuts: Array, hessian: Array) -> float:
    """The terms of inner levels that depend on the gap of their cuts alone; adds their part of the Hessian."""
    gap = np.minimum(np.diff(cuts), FAR)
    inner = level[1:-1]
    up = np.exp(gap)
    bend = inner * up / (up - 1) ** 2
    for i, b in enumerate(bend):
        hessian[i : i + 2, i : i + 2] += b * np.array([[-1.0, 1.0], [1.0, -1.0]])
    return float((inner * np.log1p(-np.exp(-gap))).sum())


def _between_gradient(counts: Array, cuts: Array) -> Array:
    """(n, C - 1) gradient of those terms for each unit."""
    pull = counts[:, :, 1:-1].sum(axis=1) / np.expm1(np.minimum(np.diff(cuts), FAR))
    out = np.zeros((len(counts), len(cuts)))
    out[:, 1:] += pull
    out[:, :-1] -= pull
    return out
