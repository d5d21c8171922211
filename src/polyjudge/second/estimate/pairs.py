"""Which of several things is above which: paired differences over tasks, safe where scores are skewed.

Every difference is studentised and compared with task bootstraps of the largest one (max-t bootstrap-t), so that skew
and dependence are those of the scores. Where a few tasks carry nearly all of a pair's spread (failed calls), a scope
that happens to hold none of them looks far too sure: such pairs borrow the spread of the other scopes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from polyjudge.second.estimate.kernels import pair_index
from polyjudge.second.estimate.resample import bootstrap_t, in_groups, mean_and_se
from polyjudge.second.panel.arrays import Array, ratio
from polyjudge.second.panel.budget import require_time

CARRIED = 0.6
"""A pair is called contaminated when the largest 5% of its task values carry at least this share of its variance.
A normal spread gives 0.28, a two-sided exponential one 0.42."""
TOP = 0.05
THIN = 0.01
"""A pair with no spread at all in more than this share of resamples is judged by the signs of its tasks instead."""
TAIL = 10
"""With fewer exceedances than this the tail of a bootstrap distribution is continued by Student's t."""
COLUMNS = 2_000
"""Pairs times scopes that are resampled together: what a block holds does not grow with their number."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PairOrder:
    """Pairs of q things in s scopes (languages); pairs are those of `pair_index(q)`, p of them.

    mean, se : (s, p) difference first less second, and its standard error (borrowed where `contaminated`)
    statistic : (s, p) mean / se; 0 where there is no spread
    above : (s, q, q) whether thing i is surely above thing j, all pairs of a scope at once (or of all scopes)
    p_above, p_below : (p,) one-sided p-values of being above (below) in any scope, selection of the scope allowed for
    carried : (p,) share of a pair's variance in the 5% of task values that carry most
    contaminated : (p,) whether that share is so large that no interval can be trusted with few tasks
    thin : (s, p) pairs judged by the signs of their tasks
    critical : (s,) what |statistic| must exceed
    """

    mean: Array
    se: Array
    statistic: Array
    above: NDArray[np.bool_]
    p_above: Array
    p_below: Array
    carried: Array
    contaminated: NDArray[np.bool_]
    thin: NDArray[np.bool_]
    critical: Array


def order_pairs(
    values: Array,
    weights: Array,
    *,
    alpha: float = 0.05,
    resamples: int = 1000,
    seed: int = 7,
    tasks: Array | None = None,
    gap: float = 0.0,
    share: Array | float = 1.0,
) -> PairOrder:
    """Order of q things in s scopes from their values per task, (n, s, q).

    tasks : (s, q) number of tasks behind each value where fewer than n inform it
    gap : standard errors up to this are rounding; a pair without spread is judged by the signs of its tasks
    share : of the tasks that inform the values of a scope, (s,); the others stand at the mean

    Pairs are worked on in blocks of `COLUMNS` (pair, scope) together, whatever their number.
    """
    values, weights = in_groups(values, weights)
    _, s, q = values.shape
    check_pairs(s, q, resamples)
    i, j = pair_index(q)
    step = max(1, COLUMNS // s)
    blocks = [
        _block(values, weights, i[x : x + step], j[x : x + step], tasks, gap, resamples, seed, share)
        for x in range(0, len(i), step)
    ]
    largest = np.max([b.pop("largest") for b in blocks], axis=0)
    found = {name: np.concatenate([b[name] for b in blocks], axis=-1) for name in blocks[0]}
    mean, t, thin, signs = found["mean"], found["statistic"], found["thin"], found.pop("signs")
    levels = np.clip(1 - alpha * (1 - thin.mean(axis=1)), 0.0, 1.0)
    critical = np.array([np.quantile(x, level, method="higher") for x, level in zip(largest.T, levels, strict=True)])
    sure = np.where(thin, 2 * signs * len(i) <= alpha, np.abs(t) > critical[:, None])
    above = np.zeros((s, q, q), bool)
    above[:, i, j] = sure & (mean > gap)
    above[:, j, i] = sure & (mean < -gap)
    contaminated = found["carried"] >= CARRIED
    return PairOrder(**found, above=above, contaminated=contaminated, critical=critical)


def _block(
    values: Array, weights: Array, i: NDArray[np.int64], j: NDArray[np.int64], tasks: Array | None,
    gap: float, resamples: int, seed: int, share: Array | float,
) -> dict[str, NDArray[Any]]:  # fmt: skip
    """The pairs (i, j): arrays (s, p) and (p,) of `PairOrder`, their sign tests `signs` (s, p), and the largest |t| by
    resample and scope (R, s)."""
    n = len(values)
    differences = values[..., i] - values[..., j]
    mean, se = mean_and_se(differences, weights)
    se, carried = borrowed(differences, mean, se, share)
    null, thin = _null(differences, weights, se, gap, resamples, seed)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(thin, 0.0, mean / np.where(se > gap, se, 1.0))
    if tasks is not None:
        # fewer tasks than n make a heavier tail than the bootstrap of all n shows: the same probability with their df
        own = np.minimum(tasks[:, i], tasks[:, j])
        t = np.where(own < n, _same_tail(t, own, n), t)
    signs = _sign_p(differences, mean, gap)
    p = [_in_any_scope(side, t, null, n, thin, signs, mean) for side in (1.0, -1.0)]
    out = {"mean": mean, "se": se, "statistic": t, "thin": thin, "signs": signs, "carried": carried}
    return out | {"p_above": p[0], "p_below": p[1], "largest": np.abs(null).max(axis=2)}


def check_pairs(s: int, q: int, resamples: int) -> None:
    """An error when the pairs of q things in s scopes are too many to resample."""
    pairs = s * q * (q - 1) // 2
    require_time(float(pairs) * resamples, f"Comparing every two of {q} in each of {s} ({pairs:,} pairs)")


def _null(
    differences: Array, weights: Array, se: Array, gap: float, resamples: int, seed: int
) -> tuple[Array, NDArray[np.bool_]]:
    """(R, s, p) studentised differences of resampled tasks, 0 for thin pairs; and which pairs are thin."""
    n, s, p = differences.shape
    blocks, flat = [], se.ravel() <= gap
    empty = np.zeros(s * p)
    for mean, error in bootstrap_t(differences.reshape(n, -1), weights, resamples, seed):
        none = error <= 1e-6 * se.ravel()
        empty += none.sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = mean / error
            if none.any():
                t = np.where(none, np.where(mean == 0, 0.0, np.sign(mean) * np.inf), t)
        blocks.append(t)
    thin = flat | (empty > THIN * resamples)
    null = np.concatenate(blocks)
    null[:, thin] = 0.0
    return null.reshape(-1, s, p), thin.reshape(s, p)


def borrowed(differences: Array, mean: Array, se: Array, share: Array | float = 1.0) -> tuple[Array, Array]:
    """(s, p) standard errors, at least those of all scopes together where a few tasks carry nearly all of the spread;
    and (p,) the share of the squared deviations (n, s, p) in the largest `TOP` of them, scopes pooled.

    share : of the deviations of a scope that are not 0 by design, (s,). The others are as much larger: on the scale of
        scores they are this part of it, or the tasks of a scope of few would seem to carry all"""
    n, s, p = differences.shape
    part = np.broadcast_to(np.asarray(share, np.float64), s)
    square = np.sort((((differences - mean) * part[:, None]) ** 2).reshape(n * s, p), axis=0)
    total = square.sum(axis=0)
    few = max(1, int(np.ceil(TOP * n * s * float(part.mean()))))
    carried = ratio(square[-few:].sum(axis=0), total)
    return np.where(carried >= CARRIED, np.maximum(se, np.sqrt((se**2).mean(axis=0))), se), carried


def _same_tail(t: Array, tasks: NDArray[np.int64], n: int) -> Array:
    """t values with tasks - 1 degrees of freedom as those with n - 1 that are as improbable."""
    tail = np.maximum(stdtr(np.maximum(tasks - 1, 1), -np.abs(t)), np.finfo(float).tiny)
    return np.sign(t) * -stdtrit(n - 1, tail)


def _sign_p(differences: Array, mean: Array, gap: float) -> Array:
    """(s, p) one-sided sign test of each pair towards its mean's side: 2^-(tasks that differ), if all agree; else 1."""
    up, down = (differences > gap).sum(axis=0), (differences < -gap).sum(axis=0)
    agree = np.where(mean > 0, down == 0, up == 0)
    return np.where(agree & (np.abs(mean) > gap), 0.5 ** np.maximum(up, down), 1.0)


def _side(t: Array, null: Array, n: int) -> Array:
    """(p,) chance that the largest of a pair's scopes reaches the largest seen, continued by t where it is rare."""
    seen, drawn = t.max(axis=0), null.max(axis=1)
    scopes, count = t.shape[0], (drawn >= seen).sum(axis=0)
    p = (1 + count) / (1 + len(drawn))
    start = np.partition(drawn, -TAIL, axis=0)[-TAIL]
    share = TAIL / len(drawn)
    with np.errstate(invalid="ignore", divide="ignore"):
        stretch = np.maximum(start / -stdtrit(n - 1, share / scopes), 1.0)
        tail = np.minimum(scopes * stdtr(n - 1, -seen / stretch), share)
    return np.where((count < TAIL) & np.isfinite(start), np.minimum(p, tail), p)


def _in_any_scope(
    side: float, t: Array, null: Array, n: int, thin: NDArray[np.bool_], signs: Array, mean: Array
) -> Array:
    """(p,) p-value of a pair on one side: bootstrap, and the sign test where a scope is thin; both share the error."""
    scopes = t.shape[0]
    toward = np.where(thin & (side * mean > 0), np.minimum(1.0, scopes * signs), 1.0).min(axis=0)
    some = ~thin.all(axis=0)
    rest = np.where(some, _side(side * t, side * null, n), 1.0)
    both = thin.any(axis=0) & some
    return np.minimum(1.0, np.where(both, 2.0, 1.0) * np.minimum(toward, rest))
