"""How much the random DevAI values scatter over independent draws: measured once, kept in data/scatter.json.

python -m polyjudge.paper.scatter run_level_scores.csv
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from polyjudge.panel.arrays import Array
from polyjudge.panel.files import atomic_write
from polyjudge.panel.panel import Panel
from polyjudge.paper import inputs as sources
from polyjudge.paper import published
from polyjudge.report.schema import to_json

SEEDS = range(1000, 1100)
"""None of them is published."""


def scatter(panel: Panel, seeds: range = SEEDS) -> dict[str, float]:
    """Standard deviation over the seeds of every value that they change, by key."""
    from polyjudge.paper.devai import analyse, answer

    runs = [answer(analyse(panel, seed)) for seed in seeds]
    out = {}
    for path, first in runs[0].items():
        if isinstance(first.value, float):
            sd = float(np.std([float(r[path].value or 0.0) for r in runs], ddof=1))
            if round(sd, 6) > 0:  # less is rounding of sums
                out[published.key(path)] = round(sd, 6)
    return out


def of_draws(draws: Array, seed: int = 0, repeats: int = 200) -> tuple[float, float, float]:
    """Scatter of the mean and of the 2.5 and 97.5 percentiles of independent draws, by resampling them."""
    rng = np.random.default_rng(seed)
    again = draws[rng.integers(len(draws), size=(repeats, len(draws)))]
    mean, ends = again.mean(axis=1).std(ddof=1), np.percentile(again, [2.5, 97.5], axis=1).std(axis=1, ddof=1)
    return float(mean), float(ends[0]), float(ends[1])


if __name__ == "__main__":
    found = scatter(sources.devai_panel(sys.argv[1]))
    with atomic_write(Path(__file__).parent / "data" / "scatter.json") as file:
        file.write(to_json({"seeds": [SEEDS.start, SEEDS.stop - 1], "sd": found}, indent=1) + "\n")
