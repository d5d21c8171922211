"""Does the interaction in logits cover planted latent truth, and what does the linear one find where there is none?

    python benchmarks/bounded.py [--panels 400] [--out bounded.json]

Panels of 8 languages x 6 judges are drawn from the cumulative logit model, with tasks of sd 1; "extra" adds what the
model leaves out: task x judge and task x language effects of sd 0.7, and then only "no interaction" has a truth on the
fitted scale. "floor" shifts all scores down so that about half of them are on the lowest level. The tables in
docs/methods.md are from --panels 200.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

import polyjudge as pj
from polyjudge.estimate.kernels import double_centre
from polyjudge.panel.arrays import Array
from polyjudge.questions.audit import bounded

K, M = 8, 6
SCENARIOS = {
    "two levels": {"levels": 2, "interaction": 0.5},
    "five levels": {"levels": 5, "interaction": 0.5},
    "five levels, half at the floor": {"levels": 5, "interaction": 0.5, "floor": 1.5},
    "two levels, no interaction": {"levels": 2},
    "five levels, no interaction": {"levels": 5},
    "five levels, half at the floor, no interaction": {"levels": 5, "floor": 1.5},
    "five levels, half at the floor, no interaction, extra": {"levels": 5, "floor": 1.5, "extra": 0.7},
}


def draw(
    rng: np.random.Generator, n: int, levels: int, interaction: float = 0.0, floor: float = 0.0, extra: float = 0.0
) -> tuple[pj.Panel, Array]:
    """Levels 1 to `levels` of n tasks, and the planted interaction in logits."""
    beta = double_centre(rng.normal(0, 1, (K, M))) * interaction
    judge, language = rng.normal(0, 1.2, M), rng.normal(0, 0.6, (K, 1))
    latent = beta + judge - judge.mean() + language - language.mean() + rng.normal(0, 1, (n, 1, 1))
    latent = latent + extra * (rng.normal(0, 1, (n, 1, M)) + rng.normal(0, 1, (n, K, 1)))
    latent = latent + rng.logistic(size=(n, K, M)) - floor
    cuts = np.linspace(-1.5, 1.5, levels - 1) if levels > 2 else np.zeros(1)
    return pj.Panel.from_array(1.0 + (latent[..., None] > cuts).sum(axis=-1)), beta


def trial(seed: int, n: int, **scenario: float) -> dict[str, float]:
    """Coverage of the band and of the cells' own intervals; panels in which a cell is clear in logits, in points."""
    panel, beta = draw(np.random.default_rng(seed), n, **scenario)  # type: ignore[arg-type]
    found = bounded(panel, seed=seed)
    cells, truth = found.cells, beta.ravel()
    return {
        "band": float(((cells["band_low"] <= truth) & (truth <= cells["band_high"])).all()),
        "own": float(((cells["low"] <= truth) & (truth <= cells["high"])).mean()),
        "bias": float((cells["latent"] @ truth) / (truth @ truth)) if truth.any() else 1.0,
        "clear": float(found.clear > 0),
        "linear": float(cells["linear_clear"].any()),
        "fails": float(not found.survives),
    }


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--panels", type=int, default=400)
    options.add_argument("--sizes", type=int, nargs="*", default=[20, 55])
    options.add_argument("--only", default="")
    options.add_argument("--out", type=Path)
    given = options.parse_args()
    results = {}
    for name, scenario in SCENARIOS.items():
        if given.only not in name:
            continue
        for n in given.sizes:
            start = time.process_time()
            rows = [trial(1000 * n + seed, n, **scenario) for seed in range(given.panels)]
            found = {key: round(float(np.mean([row[key] for row in rows])), 4) for key in rows[0]}
            found |= {"panels": given.panels, "seconds": round((time.process_time() - start) / given.panels, 3)}
            results[f"{name}, n = {n}"] = found
            print(f"{name}, n = {n}: {found}", flush=True)
            if given.out:
                given.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
