"""How much the random DevAI values scatter over independent draws: measured once, kept in the paper's data.

python benchmarks/scatter.py run_level_scores.csv src/polyjudge/paper/data/scatter.json
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from polyjudge.panel.files import atomic_write
from polyjudge.panel.panel import Panel
from polyjudge.paper import inputs as sources
from polyjudge.paper import published
from polyjudge.paper.devai import analyse, answer
from polyjudge.report.schema import to_json

SEEDS = range(1000, 1100)
"""None of them is published."""


def scatter(panel: Panel, seeds: range = SEEDS) -> dict[str, float]:
    """Standard deviation over the seeds of every value that they change, by key."""
    runs = [answer(analyse(panel, seed)) for seed in seeds]
    out = {}
    for path, first in runs[0].items():
        if isinstance(first.value, float):
            sd = float(np.std([float(r[path].value or 0.0) for r in runs], ddof=1))
            if round(sd, 6) > 0:  # less is rounding of sums
                out[published.key(path)] = round(sd, 6)
    return out


if __name__ == "__main__":
    found = scatter(sources.devai_panel(sys.argv[1]))
    with atomic_write(Path(sys.argv[2])) as file:
        file.write(to_json({"seeds": [SEEDS.start, SEEDS.stop - 1], "sd": found}, indent=1) + "\n")
