"""How the processor time of every analysis of an audit grows with each axis of the panel.

    python benchmarks/growth.py [--quick]

One axis at a time (tasks, languages, judges, systems, replicates, share missing) is made 2, 4 and 8 times as long. The
exponent of an analysis is the slope of log time on log size between the two largest sizes, where fixed costs weigh
least; analyses that stay under a tenth of a second have none. The slope of the whole audit is measured in the same way.
Any exponent above 1.2 in tasks, systems or replicates fails. Results: benchmarks/results/growth.csv.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command does

import numpy as np
import pandas as pd

import polyjudge as pj
from polyjudge.panel.progress import Stages

BASE = {"tasks": 100, "languages": 3, "judges": 4, "systems": 3, "replicates": 2, "missing": 0.04}
FACTORS = (1, 2, 4, 8)
LIMITED = ("tasks", "systems", "replicates")
LIMIT = 1.2
REPEAT = 2
"""Audits of each size; the quicker one of each analysis counts, because machines are shared."""
LEAST = 0.1
"""Seconds an analysis takes at the largest size before its exponent says anything."""


@contextmanager
def clocked(spent: dict[str, float]) -> Iterator[None]:
    """Adds the processor time of every analysis of an audit to `spent`, by its name."""
    plain = Stages.__call__

    def timed(self: Stages, label: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        begun = time.process_time()
        try:
            return plain(self, label, function, *args, **kwargs)
        finally:
            spent[label] += time.process_time() - begun

    Stages.__call__ = timed  # type: ignore[method-assign]
    try:
        yield
    finally:
        Stages.__call__ = plain  # type: ignore[method-assign]


def made(axis: str, factor: int) -> pj.Panel:
    """A panel with one axis `factor` times as long. Only one that grows in systems has any, and so with holes."""
    size: dict[str, Any] = {**BASE, axis: BASE[axis] * factor}
    if axis == "systems":
        size["replicates"] = 1
    else:
        size["systems"] = 0
    if axis != "missing":
        size["missing"] = 0.0
    return pj.simulate_panel(**size, seed=3)[0]


def _spent(panel: pj.Panel) -> dict[str, float]:
    """Processor time of each analysis of one audit, and of the whole."""
    spent: dict[str, float] = defaultdict(float)
    begun = time.process_time()
    with clocked(spent):
        pj.audit(panel)
    spent["(whole audit)"] = time.process_time() - begun
    return spent


def measure(axis: str, factors: tuple[int, ...]) -> list[dict[str, Any]]:
    rows = []
    for factor in factors:
        panel = made(axis, factor)
        runs = [_spent(panel) for _ in range(REPEAT)]
        spent = {name: min(run[name] for run in runs) for name in runs[0]}
        rows += [
            {"axis": axis, "factor": factor, "scores": panel.n_scores, "analysis": name, "seconds": round(took, 3)}
            for name, took in spent.items()
        ]
        print(f"{axis:<11} x{factor}: {spent['(whole audit)']:.2f} s of processor time", flush=True)
    return rows


def main() -> None:
    factors = FACTORS[:2] if "--quick" in sys.argv else FACTORS
    pj.audit(made("tasks", 1), resamples=100)  # imports and caches are no growth
    table = pd.DataFrame([row for axis in BASE for row in measure(axis, factors)])
    last, before = (table[table["factor"] == f].set_index(["axis", "analysis"])["seconds"] for f in factors[:-3:-1])
    enough = (last >= LEAST) & (before > 0)
    exponents = (np.log(last[enough] / before[enough]) / math.log(factors[-1] / factors[-2])).round(2)
    print(exponents.unstack("axis").reindex(columns=list(BASE)).to_string(na_rep=""))
    table["exponent"] = [exponents.get((a, n)) for a, n in zip(table["axis"], table["analysis"], strict=True)]
    if "--quick" not in sys.argv:
        table.to_csv(Path(__file__).parent / "results" / "growth.csv", index=False)
    over = exponents[(exponents > LIMIT) & exponents.index.get_level_values("axis").isin(LIMITED)]
    if len(over):
        raise SystemExit(f"exponents above {LIMIT}:\n{over.to_string()}")


if __name__ == "__main__":
    main()
