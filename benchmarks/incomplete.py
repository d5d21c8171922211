"""Incomplete and small panels at full size: accuracy, coverage, shrinkage, and time.

    python benchmarks/incomplete.py [accuracy|coverage|shrinkage|extend|time|all] [--tasks N]

Accuracy needs the released DevAI scores in ../shared/data. Times are given beside that of a plain reference of the same
run (a pass over the scores), because machines differ.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from scipy.special import stdtrit

import polyjudge as pj
from polyjudge.estimate.incomplete import InteractionEstimate, estimate_interaction
from polyjudge.estimate.kernels import double_centre, kendall_tau
from polyjudge.questions.audit import uncertainty

DEVAI = Path(__file__).resolve().parents[2] / "shared/data/devai/run_level_scores.csv"


def accuracy(draws: int = 100) -> None:
    """DevAI with entries removed at random: mean |difference| from the complete estimate."""
    full = pj.read_panel(DEVAI)
    truth = double_centre(full.cell_means)
    print("missing  available  task+cell  least squares  shrunk")
    for share in (0.05, 0.10, 0.30):
        rows = []
        for seed in range(draws):
            mask = np.random.default_rng(seed).random(full.shape) < share
            panel = pj.Panel(np.where(mask, np.nan, full.scores), full.tasks, full.languages, full.judges)
            estimates = (
                double_centre(np.nanmean(panel.scores, axis=0)),
                InteractionEstimate(panel, "additive").interaction,
                estimate_interaction(panel).interaction,
                pj.ConsensusCalibrator(shrinkage="auto").fit(panel).interaction_.to_numpy(),
            )
            rows.append([np.abs(x - truth).mean() for x in estimates])
        print(f"{share:7.0%}  " + "  ".join(f"{x:9.3f}" for x in np.mean(rows, axis=0)))


def coverage(panels: int = 1000) -> None:
    """Coverage of 95% intervals of cells and of the simultaneous band, over simulated panels."""
    print("tasks  k  m  missing  noise            cells   band (a fifth of the panels)")
    for tasks, k, m, missing, noise in (
        (55, 8, 6, 0.1, "gaussian"),
        (55, 8, 6, 0.3, "gaussian"),
        (40, 4, 4, 0.5, "gaussian"),
        (40, 4, 4, 0.25, "heteroskedastic"),
        (40, 4, 4, 0.25, "heavy"),
    ):
        cells, band = [], []
        for seed in range(panels):
            panel, truth = pj.simulate_panel(tasks, k, m, seed=seed, missing=missing, noise=noise)  # type: ignore[arg-type]
            true = truth.interaction.to_numpy()
            estimate = estimate_interaction(panel)
            cells.append(np.abs(estimate.interaction - true) <= stdtrit(estimate.df, 0.975) * estimate.se)
            if seed % 5 == 0:
                frame = uncertainty(panel, resamples=500, seed=seed).to_frame()
                t = true.ravel()
                band.append(((frame["band_low"] <= t) & (t <= frame["band_high"])).all())
        print(f"{tasks:5} {k:2} {m:2} {missing:8.0%}  {noise:15} {np.mean(cells):6.3f}  {np.mean(band):5.3f}")


def shrinkage(panels: int = 300) -> None:
    """Mean squared error of the shrunk interaction as a share of the plain one's, and coverage of its intervals."""
    sizes = (0.0, 0.5, 1.0, 2.0, 5.0, 20.0)
    print("tasks  k  m  noise            " + "  ".join(f"sd {s:<9g}" for s in sizes))
    for tasks, k, m, noise in (
        (8, 8, 6, "gaussian"),
        (8, 4, 3, "gaussian"),
        (8, 8, 6, "heavy"),
        (30, 8, 6, "gaussian"),
        (30, 4, 3, "heteroskedastic"),
    ):
        out = []
        for size in sizes:
            shrunk, plain, hits = [], [], []
            for seed in range(panels):
                panel, truth = pj.simulate_panel(tasks, k, m, seed=seed, interaction=size, noise=noise)  # type: ignore[arg-type]
                auto = pj.ConsensusCalibrator(shrinkage="auto").fit(panel)
                error = auto.interaction_ - truth.interaction
                shrunk.append((error**2).to_numpy().mean())
                left = pj.ConsensusCalibrator().fit(panel).interaction_ - truth.interaction
                plain.append((left**2).to_numpy().mean())
                hits.append((error.abs() <= stdtrit(tasks - 1, 0.975) * auto.se_).to_numpy().mean())
            out.append(f"{np.mean(shrunk) / np.mean(plain):5.2f} ({np.mean(hits):.3f})")
        print(f"{tasks:5} {k:2} {m:2}  {noise:15} " + " ".join(out))


def extend(splits: int = 40) -> None:
    """DevAI, each language in turn as the new one: tau of its judge order with the others on untouched tasks."""
    full = pj.read_panel(DEVAI)
    tau: dict[int, list[float]] = {q: [] for q in (0, 3, 5, 10, 20)}
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(full.tasks)
        train, test = full.select(tasks=order[:35]), full.select(tasks=order[35:])
        for h in full.languages:
            others = [x for x in full.languages if x != h]
            known = pj.ConsensusCalibrator().fit(train.select(languages=others))
            cells = test.select(languages=[h, *others]).cell_means
            for q in tau:
                shift = np.vstack([np.zeros(len(full.judges)), known.interaction_])
                if q:
                    wider = known.extend(train.select(tasks=order[:q]))
                    shift = wider.interaction_.loc[[h, *others]].to_numpy()
                tau[q].append(float(np.nanmean(kendall_tau(cells - shift, full.tie_gap)[0, 1:])))
    print("tasks of the new language: " + ", ".join(f"{q}: tau {np.mean(v):.3f}" for q, v in tau.items()))


def times(tasks: int = 100_000) -> None:
    """Seconds for the estimate and its standard errors, and for a plain pass (double centring of all scores)."""
    for n, k, m, missing in ((1500, 7, 5, 35), (1500, 7, 5, 0.3), (tasks, 20, 20, 0.001), (tasks, 20, 20, 0.1)):
        rng = np.random.default_rng(0)
        scores = rng.normal(50, 10, (n, k, m))
        if isinstance(missing, int):
            scores.reshape(-1)[rng.choice(scores.size, missing, replace=False)] = np.nan
        else:
            scores[rng.random(scores.shape) < missing] = np.nan
        panel = pj.Panel.from_array(scores)
        start = time.perf_counter()
        double_centre(panel.scores)
        reference = time.perf_counter() - start
        start = time.perf_counter()
        estimate = estimate_interaction(panel)
        fit = time.perf_counter() - start
        start = time.perf_counter()
        assert np.isfinite(estimate.se).all()
        errors = time.perf_counter() - start
        print(
            f"{n:>7} x {k} x {m}, missing {missing:g}: estimate {fit:.2f} s, standard errors {errors:.2f} s "
            f"(plain pass {reference:.3f} s)"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", default="all")
    parser.add_argument("--tasks", type=int, default=100_000)
    options = parser.parse_args()
    parts = {
        "accuracy": accuracy,
        "coverage": coverage,
        "shrinkage": shrinkage,
        "extend": extend,
        "time": lambda: times(options.tasks),
    }
    for name, part in parts.items():
        if options.what in (name, "all"):
            print(f"== {name}")
            part()


if __name__ == "__main__":
    main()
