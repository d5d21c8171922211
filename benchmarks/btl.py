"""Time of judge-aware Bradley-Terry-Luce on a preference panel, against one fit by a general optimiser.

    python benchmarks/btl.py [--resamples 1000]

Panel: 1,500 items x 7 languages x 5 judges in two strata, margins in whole numbers, 35 of them missing.
"""

from __future__ import annotations

import argparse
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--resamples", type=int, default=1000)
    resamples = parser.parse_args().resamples
    panel = preference_panel()
    start = time.perf_counter()
    whole = fit_btl(*pair_counts(panel, panel.weights[None]))
    fits = []
    for index in range(-(-resamples // 64)):
        drawn = draw_block(1500, min(64, resamples - 64 * index), 7, index)
        fits.append(fit_btl(*pair_counts(panel, (drawn == 0) * panel.weights), start=whole)[0])
    ours = time.perf_counter() - start
    wins, total = pair_counts(panel, panel.weights[None])
    start = time.perf_counter()
    plain = np.array([plain_fit(w, t) for w, t in zip(wins[0], total[0], strict=True)])
    one = time.perf_counter() - start
    print(f"{resamples} resamples x 7 languages: {ours:.2f} s (limit 60 s)")
    print(f"7 languages once with scipy's BFGS on the grouped counts: {one:.3f} s")
    apart = np.abs(plain - whole[0][0]).max()
    print(f"ratio per fit: {one * resamples / ours:.0f} times; largest difference {apart:.1e}")


if __name__ == "__main__":
    main()
