"""One simulated panel through the public analyses, compared with its truth."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from polyjudge.analyse import compare, rank_reversals, uncertainty, variance
from polyjudge.analyse.ties import tied_sets
from polyjudge.core.errors import PolyjudgeWarning
from polyjudge.estimate.kernels import double_centre
from polyjudge.simulate import simulate_panel
from polyjudge.validate.scenarios import Scenario

LEVEL = 0.95
BOOTSTRAPS = 500
PERMUTATIONS = 199
HELD_OUT = 64


def trial(scenario: Scenario, seed: int) -> dict[str, Any]:
    """What the analyses said of one panel, as numbers that can be averaged over panels.

    `error` is a (k, m) array; the rest are scalars, None where a question does not apply.
    """
    panel, truth = simulate_panel(scenario.tasks, scenario.languages, scenario.judges, seed=seed, **scenario.simulate)
    planted = truth.interaction.to_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolyjudgeWarning)
        sure = uncertainty(panel, level=LEVEL, resamples=BOOTSTRAPS, seed=seed)
        held_out = compare(panel, ("raw", "cbc"), resamples=HELD_OUT, seed=seed)
        turned = rank_reversals(panel, draws=PERMUTATIONS, resamples=BOOTSTRAPS, seed=seed)
        parts = variance(panel) if scenario.replicates > 1 else None
    cells = sure.to_frame()
    radius = sure.bounds.set_index("bound")["radius"]
    shape = planted.shape
    beta, low, high, band_low, band_high = (
        cells[name].to_numpy(float).reshape(shape) for name in ("interaction", "low", "high", "band_low", "band_high")
    )
    clear = cells["clear"].to_numpy(bool).reshape(shape)
    rates = held_out.to_frame()
    gain = rates.loc[rates["method"] == "cbc", "gain"].to_numpy(float)[0]
    gain_low, gain_high = (
        float(rates.loc[rates["method"] == "cbc", name].to_numpy(float)[0]) for name in ("gain_low", "gain_high")
    )
    true_gain = float((2 * beta * planted - beta**2).mean())
    ranks = tied_sets(panel, resamples=BOOTSTRAPS, seed=seed).to_frame()
    ranks = ranks[ranks["scope"] == "language"]
    gaps = truth.judge_effect.to_numpy() + truth.language_effect.to_numpy()[:, None] + planted
    above = 1 + (gaps[:, None, :] > gaps[:, :, None] + 1e-9).sum(axis=2)
    below = shape[1] - (gaps[:, None, :] < gaps[:, :, None] - 1e-9).sum(axis=2)
    low_rank, high_rank = (ranks[name].to_numpy(int).reshape(shape) for name in ("rank_low", "rank_high"))
    i, j = np.triu_indices(shape[1], 1)
    gap = gaps[:, i] - gaps[:, j]
    truly = (gap.max(axis=0) > 1e-9) & (gap.min(axis=0) < -1e-9)
    pairs = turned.to_frame()
    published, selected = (pairs[name].to_numpy(float) <= 1 - LEVEL for name in ("p_published", "p_selected"))
    off = np.abs(beta - planted)
    no_cell = ~(np.abs(planted) > 1e-12)
    return {
        "error": beta - planted,
        "gain_covered": float(gain_low <= true_gain <= gain_high),
        # every rank that ties leave open must be in the set
        "ranks_covered": float(((low_rank <= above) & (below <= high_rank)).all(axis=1).mean()),
        "pointwise": float(((low <= planted) & (planted <= high)).mean()),
        "band": float(((band_low <= planted) & (planted <= band_high)).all()),
        "radius_noise": float((off <= radius["Gaussian, sigma of the noise"]).all()),
        "radius_scores": float((off <= radius["Gaussian, sigma of all scores"]).all()),
        "distribution_free": None if not panel.complete else float((off <= radius["distribution-free"]).all()),
        "false_cell": float((clear & no_cell).any()) if no_cell.any() else None,
        "power_cell": float(clear[~no_cell].mean()) if (~no_cell).any() else None,
        "published_fdr": float((published & ~truly).sum() / max(published.sum(), 1)),
        "selected_fdr": float((selected & ~truly).sum() / max(selected.sum(), 1)),
        "published_power": float((published & truly).sum() / truly.sum()) if truly.any() else None,
        "selected_power": float((selected & truly).sum() / truly.sum()) if truly.any() else None,
        "global_reject": float(turned.p_global <= 1 - LEVEL),
        "three_way_reject": None
        if parts is None or parts.three_way_p is None
        else float(parts.three_way_p <= 1 - LEVEL),
        "gain": float(gain),
        "gain_true": float(np.mean(2 * double_centre(planted) * beta - beta**2)),
    }
