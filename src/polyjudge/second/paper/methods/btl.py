"""Judge-aware Bradley-Terry-Luce: judges compared pair by pair inside items (docs/methods.md, section 11).

In each language every item compares every two judges: the larger margin wins, a tie is half a win for both, a pair with
a missing margin is left out. P(i beats j | stratum s) = logistic(exp(a_s) (th_i - th_j)), sum th = 0, sum a = 0. Only
the counts of wins by (language, stratum, pair) matter, and those are products of task weights and a fixed table; so all
resamples and languages are fitted together, each as a handful of numbers.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import helmert
from scipy.special import expit

from polyjudge.second.calibrate.methods import Block, method
from polyjudge.second.estimate.kernels import pair_index
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.budget import require_time
from polyjudge.second.panel.panel import Panel

ROUNDS = 100
TOLERANCE = 1e-11
"""A fit has converged when no strength moves by more than this."""
LONGEST_STEP = 1.0
FARTHEST = 20.0
"""Strengths stop here: a judge that wins every comparison has no finite one."""
SHARPEST = 4.0
"""Log discriminations stop here: a stratum that contradicts the others has none that is finite."""
UNEQUAL = 0.5
LEAN = 1.0


@method("judge-aware btl", scale=1.0)
def judge_aware_btl(block: Block) -> Array:
    """Strengths fitted on the left-out items. Nothing is trained, so the interaction stays in."""
    draws, k, m = block.left_out.shape
    require_time(10.0 * draws * k * m * m, f"A model of the wins of every two of {m} judges")
    start = fit_btl(*pair_counts(block.panel, block.panel.weights[None]))
    return fit_btl(*pair_counts(block.panel, block.held), start=start)[0]


def strata_of(panel: Panel) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """The stratum of each task, and the strata's names; one stratum when tasks have no groups."""
    grouping = panel.grouping
    if grouping is None or grouping.task is None:
        return np.zeros(len(panel.tasks), np.int64), ("all",)
    return grouping.task, grouping.labels


def pair_counts(panel: Panel, weights: Array) -> tuple[Array, Array]:
    """Wins of the first judge of each pair, and comparisons: task weights (R, n) -> two (R, k, s, pairs)."""
    strata, names = strata_of(panel)
    i, j = np.triu_indices(len(panel.judges), 1)
    shape = (len(weights), len(panel.languages), len(names), len(i))
    wins, total = np.zeros(shape), np.zeros(shape)
    members = [np.flatnonzero(strata == s) for s in range(len(names))]
    parts = [np.ascontiguousarray(weights[:, at]) for at in members]
    gap = panel.tie_gap
    for language in range(len(panel.languages)):
        diff = panel.scores[:, language, i] - panel.scores[:, language, j]
        won = 0.5 * (diff >= -gap) + 0.5 * (diff > gap)
        there = (~np.isnan(diff)).astype(np.float64)
        for s, (at, w) in enumerate(zip(members, parts, strict=True)):
            wins[:, language, s] = w @ won[at]
            total[:, language, s] = w @ there[at]
    return wins, total


def fit_btl(wins: Array, total: Array, start: tuple[Array, Array] | None = None) -> tuple[Array, Array]:
    """Maximum likelihood for stacks of counts (..., s, pairs): strengths (..., m) and log discriminations (..., s).

    `start` broadcasts to the result. Strengths that the counts do not identify stay at their start; infinite ones stop
    at `FARTHEST`.

    Where strata contradict each other the likelihood has several peaks, one for each stratum that could lead. So a fit
    with unequal discriminations is tried from each stratum's own strengths too, and the highest peak is taken.
    """
    lead, (s, p) = wins.shape[:-2], wins.shape[-2:]
    m = round((1 + (1 + 8 * p) ** 0.5) / 2)
    w, t = wins.reshape(-1, s, p), total.reshape(-1, s, p)
    strength, sharpness = (np.zeros((len(w), size)) for size in (m, s))
    if start is not None:
        strength[:] = np.broadcast_to(start[0], (*lead, m)).reshape(-1, m)
        sharpness[:] = np.broadcast_to(start[1], (*lead, s)).reshape(-1, s)
    value = _climb(strength, sharpness, w, t, s == 1)
    if s > 1:
        unequal = np.flatnonzero(np.abs(sharpness).max(axis=1) > UNEQUAL)
        for leader in range(s) if len(unequal) else ():
            lean = np.full((len(unequal), s), -LEAN / (s - 1))
            lean[:, leader] = LEAN
            own = np.zeros((len(unequal), m))
            _climb(own, np.zeros((len(unequal), 1)), w[unequal, leader, None], t[unequal, leader, None], True)
            own *= np.exp(-LEAN)
            got = _climb(own, lean, w[unequal], t[unequal], False)
            better = got > value[unequal] + 1e-9 * np.abs(value[unequal])
            at = unequal[better]
            strength[at], sharpness[at], value[at] = own[better], lean[better], got[better]
    return strength.reshape(*lead, m), sharpness.reshape(*lead, s)


def _climb(strength: Array, sharpness: Array, wins: Array, total: Array, fixed: bool) -> Array:
    """Improve both arrays in place until they settle; the log likelihood reached. `fixed` leaves `sharpness` alone."""
    moving = np.arange(len(wins))
    value = log_likelihood(strength, sharpness, wins, total)
    for _ in range(ROUNDS):
        th, a, w, t = (x[moving] for x in (strength, sharpness, wins, total))
        step_th, step_a = _scoring_step(th, a, w, t, fixed)
        longest = np.maximum(np.abs(step_th).max(axis=1), np.abs(step_a).max(axis=1))
        size = np.minimum(1.0, LONGEST_STEP / np.maximum(longest, 1e-300))
        settled = np.zeros(len(moving), bool)
        for _ in range(30):  # halve the step of those that would not gain
            todo = np.flatnonzero(~settled)
            if not len(todo):
                break
            f = size[todo, None]
            new_th = np.clip(th[todo] + f * step_th[todo], -FARTHEST, FARTHEST)
            new_a = np.clip(a[todo] + f * step_a[todo], -SHARPEST, SHARPEST)
            got = log_likelihood(new_th, new_a, w[todo], t[todo])
            before = value[moving[todo]]
            good = got >= before - 1e-12 * np.abs(before)
            at = moving[todo[good]]
            strength[at], sharpness[at], value[at] = new_th[good], new_a[good], got[good]
            settled[todo[good]] = True
            size[todo[~good]] /= 2
        # What has no finite value stops at its bound; by then the others have settled.
        ends, bound = (strength, FARTHEST) if fixed else (sharpness, SHARPEST)
        inside = np.abs(ends[moving]).max(axis=1) < bound
        moving = moving[settled & (size * longest > TOLERANCE) & inside]
        if not len(moving):
            break
    at_end = np.flatnonzero(np.abs(sharpness).max(axis=1) >= SHARPEST)
    if len(at_end) and not fixed:
        th, a = strength[at_end], sharpness[at_end]
        value[at_end] = _climb(th, a, wins[at_end], total[at_end], True)
        strength[at_end] = th
    return value


def log_likelihood(strength: Array, sharpness: Array, wins: Array, total: Array) -> Array:
    """Log likelihood of strengths (..., m) and log discriminations (..., s) for counts (..., s, pairs): -> (...)."""
    i, j = pair_index(strength.shape[-1])
    eta = np.exp(sharpness)[..., None] * (strength[..., i] - strength[..., j])[..., None, :]
    return (wins * eta - total * np.logaddexp(0.0, eta)).sum(axis=(-1, -2))


def _scoring_step(strength: Array, sharpness: Array, wins: Array, total: Array, common: bool) -> tuple[Array, Array]:
    """Fisher scoring in coordinates that keep both sums at zero: the information matrix is never indefinite."""
    q, m = strength.shape
    s = sharpness.shape[1]
    pairs = _differences(m)
    scale = np.exp(sharpness)[..., None]
    eta = scale * (strength @ pairs.T)[:, None, :]
    chance = expit(eta)
    information = total * chance * (1 - chance)
    free_th, free_a = _free(m), (np.zeros((s, 0)) if common or s == 1 else _free(s))
    design = pairs @ free_th
    # J of eta by the free coordinates, (q, s, pairs, free): strengths, then log discriminations
    by_a = eta[..., None] * free_a[:, None, :]
    jacobian = np.concatenate([scale[..., None] * design, by_a], axis=-1).reshape(q, -1, m - 1 + free_a.shape[1])
    slope = np.einsum("qef,qe->qf", jacobian, (wins - total * chance).reshape(q, -1))
    curve = np.swapaxes(jacobian, 1, 2) @ (jacobian * information.reshape(q, -1, 1))
    index = np.arange(curve.shape[1])
    curve[:, index, index] += 1e-12 * curve[:, index, index].max(axis=1, keepdims=True) + 1e-300
    step = np.linalg.solve(curve, slope[..., None])[..., 0]
    return step[:, : m - 1] @ free_th.T, step[:, m - 1 :] @ free_a.T


@lru_cache(maxsize=64)
def _free(size: int) -> Array:
    """(size, size - 1): coordinates of numbers that add up to 0."""
    return helmert(size).T


@lru_cache(maxsize=64)
def _differences(m: int) -> Array:
    """(pairs, m): +1 for the first judge of the pair, -1 for the second."""
    i, j = pair_index(m)
    eye = np.eye(m)
    return eye[i] - eye[j]
