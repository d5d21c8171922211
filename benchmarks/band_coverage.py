"""Does the simultaneous band cover, and do the reversal tests keep their level? Simulated panels with known truth.

    python benchmarks/band_coverage.py [--panels 1000] [--out coverage.json] [--only gaussian]

With --out every scenario and size is written to the file as soon as it is done, and is not run again when the file has
it. The table in docs/methods.md is from --panels 1000.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.special import ndtr
from scipy.stats import false_discovery_control

from polyjudge.estimate.kernels import double_centre
from polyjudge.estimate.resample import selected_p, upper_tail
from polyjudge.panel.arrays import Array
from polyjudge.panel.panel import Panel
from polyjudge.questions.audit import uncertainty
from polyjudge.questions.audit.orders import pair_gaps

K, M = 8, 6
SIZES = (30, 55, 200)
TASK_SD, TASK_LANGUAGE_SD, TASK_JUDGE_SD, NOISE_SD = 12.0, 3.0, 5.0, 8.0
LATENT_SD = float(np.sqrt(TASK_SD**2 + TASK_LANGUAGE_SD**2 + TASK_JUDGE_SD**2 + NOISE_SD**2))


def cells(rng: np.random.Generator, mean: float = 50.0) -> Array:
    """True cell means: judge and language effects and an interaction."""
    beta = double_centre(rng.normal(0, 5, (K, M)))
    return mean + rng.normal(0, 8, M) + rng.normal(0, 4, (K, 1)) + beta


def tasks(rng: np.random.Generator, n: int, noise: Array) -> Array:
    """Task deviations with the model's dependence inside a task, around any noise (n, K, M)."""
    return (
        rng.normal(0, TASK_SD, (n, 1, 1))
        + rng.normal(0, TASK_LANGUAGE_SD, (n, K, 1))
        + rng.normal(0, TASK_JUDGE_SD, (n, 1, M))
        + noise
    )


def continuous(make_noise: Callable[[np.random.Generator, int], Array]) -> Callable[..., tuple[Array, Array]]:
    def draw(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        means = cells(rng)
        return means + tasks(rng, n, make_noise(rng, n)), means

    return draw


def gaussian(rng: np.random.Generator, n: int) -> Array:
    return rng.normal(0, NOISE_SD, (n, K, M))


def heteroskedastic(rng: np.random.Generator, n: int) -> Array:
    return gaussian(rng, n) * rng.uniform(1 / 3, 2, (K, M))


def heavy(rng: np.random.Generator, n: int) -> Array:
    return rng.standard_t(3, (n, K, M)) * NOISE_SD / np.sqrt(3)


def dependent(rng: np.random.Generator, n: int) -> Array:
    """Half of the noise variance is two factors of the task with loadings of their own in every cell."""
    factors = rng.normal(0, 1, (n, 2)) @ rng.normal(0, 1, (2, K * M)) / np.sqrt(2)
    return NOISE_SD * (factors.reshape(n, K, M) + rng.normal(0, 1, (n, K, M))) / np.sqrt(2)


def integer(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Whole numbers 1 to 5; the mean of a cell is a sum of normal tails."""
    means = cells(rng)
    latent = means + tasks(rng, n, gaussian(rng, n))
    steps = 25 * (np.arange(1, 5) - 0.5)
    truth = 1 + ndtr((means[..., None] - steps) / LATENT_SD).sum(axis=-1)
    return np.clip(np.rint(1 + latent / 25), 1, 5), truth


def floored(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Scores cut at 0, a quarter to a third of them on the floor."""
    means = cells(rng, 8.0)
    latent = means + tasks(rng, n, gaussian(rng, n))
    z = means / LATENT_SD
    truth = means * ndtr(z) + LATENT_SD * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return np.maximum(latent, 0.0), truth


SCENARIOS: dict[str, Callable[[np.random.Generator, int], tuple[Array, Array]]] = {
    "gaussian": continuous(gaussian),
    "heteroskedastic": continuous(heteroskedastic),
    "heavy": continuous(heavy),
    "integer": integer,
    "floored": floored,
    "dependent": continuous(dependent),
}


LIMITS = ["band_low", "band_high", "low", "high"]


def band_coverage(scenario: str, n: int, panels: int, resamples: int = 1000, seed: int = 0) -> dict[str, float]:
    """Share of panels whose band covers every cell, share of single cells covered pointwise, and mean half-width."""
    draw = SCENARIOS[scenario]
    covered, pointwise, width = [], [], []
    for i in range(panels):
        scores, means = draw(np.random.default_rng([seed, n, i]), n)
        result = uncertainty(Panel.from_array(scores), resamples=resamples, seed=i)
        truth, limits = double_centre(means).ravel(), result.cells[LIMITS].to_numpy().T
        band, own = ((low <= truth) & (truth <= high) for low, high in (limits[:2], limits[2:]))
        covered.append(bool(band.all()))
        pointwise.append(own.mean())
        width.append(result.critical)
    return {
        "band": float(np.mean(covered)),
        "pointwise_t": float(np.mean(pointwise)),
        "critical": float(np.mean(width)),
    }


def no_reversal(rng: np.random.Generator, n: int, kind: str) -> Panel:
    """A panel without any reversal: no interaction at all, or every pair tied in all but one language."""
    if kind == "additive":
        means = 50 + rng.normal(0, 2, M) + rng.normal(0, 4, (K, 1))
    elif kind == "equal":
        means = 50 + np.zeros((K, M))
    else:
        means = 50 + np.zeros((K, M))
        means[rng.integers(K)] += rng.normal(0, 10, M)
    return Panel.from_array(means + tasks(rng, n, gaussian(rng, n)))


def reversal_error(kind: str, n: int, panels: int, seed: int = 0) -> dict[str, float]:
    """Share of panels in which each test finds a reversal where there is none (that is its false discovery rate)."""
    published, selected = 0, 0
    for i in range(panels):
        panel = no_reversal(np.random.default_rng([seed, n, i]), n, kind)
        mean, se = pair_gaps(panel)
        above, below = upper_tail(mean, se, n), upper_tail(-mean, se, n)
        upper, lower, at = mean.argmax(axis=0), mean.argmin(axis=0), np.arange(mean.shape[1])
        turns = (mean[upper, at] > 0) & (mean[lower, at] < 0)
        naive = np.where(turns, np.maximum(above[upper, at], below[lower, at]), 1.0)
        published += bool((false_discovery_control(naive) <= 0.05).any())
        selected += bool((false_discovery_control(selected_p(above, below)) <= 0.05).any())
    return {"published": published / panels, "selected": selected / panels}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--panels", type=int, default=100)
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--only", default="")
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    options = parser.parse_args()
    done = json.loads(options.out.read_text()) if options.out and options.out.exists() else {}
    jobs = [(f"band/{s}/{n}", band_coverage, s, n) for n in options.sizes for s in SCENARIOS]
    jobs += [(f"reversal/{s}/{n}", reversal_error, s, n) for n in options.sizes for s in ("equal", "additive", "one")]
    for name, run, scenario, n in jobs:
        if name not in done and options.only in name:
            done[name] = run(scenario, n, options.panels)
            if options.out:
                options.out.write_text(json.dumps(done, indent=1) + "\n")
        if name in done:
            print(name, {k: round(v, 4) for k, v in done[name].items()}, flush=True)


if __name__ == "__main__":
    main()
