"""A part of bench.py: judge-aware Bradley-Terry-Luce on a preference panel, against one fit by a general optimiser.

Panel: 1,500 items x 7 languages x 5 judges in two strata, margins in whole numbers, 35 of them missing.
"""

from __future__ import annotations

import time

import numpy as np
from scipy.optimize import minimize

import polyjudge as pj
from polyjudge.estimate.kernels import draw_block
from polyjudge.panel.panel import Grouping
from polyjudge.paper.methods.btl import fit_btl, log_likelihood, pair_counts


def preference_panel(seed: int = 0) -> pj.Panel:
    rng = np.random.default_rng(seed)
    n, k, m = 1500, 7, 5
    scores = np.rint(rng.normal(0.5, 1.5, (n, k, 1)) + rng.normal(0, 2, (n, k, m)) + rng.normal(0, 0.3, (k, m)))
    scores.flat[rng.choice(scores.size, 35, replace=False)] = np.nan
    base = pj.Panel.from_array(scores)
    grouping = Grouping("subset", ("easy", "hard"), (np.arange(n) >= 805).astype(np.int64))
    return pj.Panel(base.scores, base.tasks, base.languages, base.judges, grouping=grouping)


def plain_fit(wins: np.ndarray, total: np.ndarray) -> np.ndarray:
    """One language of one resample by scipy's BFGS."""
    m = 5
    best = minimize(
        lambda x: -log_likelihood(np.append(x[:-1], -x[:-1].sum()), np.array([x[-1], -x[-1]]), wins, total), np.zeros(m)
    )
    return np.append(best.x[:-1], -best.x[:-1].sum())


def ratio(resamples: int) -> tuple[float, float]:
    """Seconds of so many resamples of all languages, and what as many fits by the general optimiser would take."""
    panel = preference_panel()
    start = time.process_time()
    whole = fit_btl(*pair_counts(panel, panel.weights[None]))
    for index in range(-(-resamples // 64)):
        drawn = draw_block(1500, min(64, resamples - 64 * index), 7, index)
        fit_btl(*pair_counts(panel, (drawn == 0) * panel.weights), start=whole)
    ours = time.process_time() - start
    wins, total = pair_counts(panel, panel.weights[None])
    start = time.process_time()
    plain = np.array([plain_fit(w, t) for w, t in zip(wins[0], total[0], strict=True)])
    one = time.process_time() - start
    if np.abs(plain - whole[0][0]).max() > 1e-3:
        raise SystemExit("the two fits differ")
    return ours, one * resamples
