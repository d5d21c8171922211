"""The held-out protocol on the M-RewardBench panel, which has gaps: cell means over the margins that are there.

This is the published computation. With 35 of 52,500 margins missing it is close to the least-squares estimate that
polyjudge uses for incomplete panels elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from polyjudge.estimate.kernels import BLOCK, double_centre, mean_tau
from polyjudge.panel.arrays import Array, tie_gap
from polyjudge.panel.panel import Panel
from polyjudge.panel.progress import track
from polyjudge.paper.draws import item_draws
from polyjudge.paper.methods.btl import fit_btl, pair_counts

STRENGTH_GAP = tie_gap(0.0, 1.0)
"""Strengths closer than this count as tied."""


@dataclass(frozen=True, kw_only=True)
class External:
    """Mean margins and BTL strengths (language x judge) of all items; tau by method and gain of every resample."""

    means: pd.DataFrame
    btl: pd.DataFrame
    tau: dict[str, Array]
    gain: Array


def available_means(panel: Panel, weights: Array) -> Array:
    """Weighted mean over the units that have a score, for every row of weights (R, n): (R, k, m)."""
    n, k, m = panel.shape
    there = ~np.isnan(panel.scores)
    total = weights @ np.where(there, panel.scores, 0.0).reshape(n, k * m)
    count = weights @ there.reshape(n, k * m).astype(float)
    out: Array = (total / count).reshape(-1, k, m)
    return out


def held_out(panel: Panel, resamples: int, seed: int) -> External:
    """Raw, CBC and judge-aware BTL: trained on drawn items, evaluated on the left-out ones.

    See docs/methods.md, sections 7 and 11.
    """
    gap = panel.tie_gap
    n = len(panel.tasks)
    tau: dict[str, list[Array]] = {"raw": [], "cbc": [], "judge_aware_btl": []}
    gains = []
    whole = fit_btl(*pair_counts(panel, np.ones((1, n))))
    draws = item_draws(panel.tasks, resamples, seed)
    starts = range(0, resamples, BLOCK)
    for drawn in track((draws[s : s + BLOCK] for s in starts), len(starts), "left-out items"):
        held = (drawn == 0).astype(float)
        train, left = available_means(panel, drawn.astype(float)), available_means(panel, held)
        beta, own = double_centre(train), double_centre(left)
        tau["raw"].append(mean_tau(left, gap))
        tau["cbc"].append(mean_tau(left - beta, gap))
        strength = fit_btl(*pair_counts(panel, held), start=whole)[0]
        tau["judge_aware_btl"].append(mean_tau(strength, STRENGTH_GAP))
        gains.append((2 * own * beta - beta**2).mean(axis=(1, 2)))
    return External(
        means=panel.matrix(available_means(panel, np.ones((1, n)))[0]),
        btl=panel.matrix(whole[0][0]),
        tau={name: np.concatenate(parts) for name, parts in tau.items()},
        gain=np.concatenate(gains),
    )
