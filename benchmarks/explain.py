"""Planted faults: does the explanation find the right kind, and does it name planted cells only?

    python benchmarks/explain.py [--panels 500] [--tasks 55] [--languages 8] [--judges 6] [--noise gaussian]

Every planted effect is twice its own band: the size that clears the band over all cells at once, times two. A faulty
judge has it in half of the languages with plus and in the other half with minus, a faulty language the same over its
judges, a diffuse panel everywhere with a random sign. The table in docs/broken.md is from the defaults.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import dataclass, field
from typing import get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

import polyjudge as pj
from polyjudge.estimate.deviations import Kind, Units, choose
from polyjudge.estimate.incomplete import estimate_interaction
from polyjudge.panel.arrays import Array

NOISE_SD = 8.0


@dataclass
class Found:
    """What was found in the panels with one kind of fault."""

    panels: int = 0
    right: int = 0
    """Panels with the planted kind."""
    only: int = 0
    """Panels in which no cell is named that was not planted."""
    kinds: Counter[str] = field(default_factory=Counter)


def effect(n: int, k: int, m: int) -> float:
    """Twice the band of a cell's offset: double centring leaves (1 - 1/k)(1 - 1/m) of it, so its band is wider."""
    part = (1 - 1 / k) * (1 - 1 / m)
    se = NOISE_SD * np.sqrt(part / n)
    return float(2 * stdtrit(n - 1, 1 - 0.05 / (2 * k * m)) * se / part)


def plant(rng: np.random.Generator, kind: Kind, k: int, m: int, size: float) -> tuple[Array, NDArray[np.bool_]]:
    """Points to add to the cells (k, m), and which cells they are."""
    cells = np.zeros((k, m), bool)
    if kind in ("cell", "cells"):
        cells.flat[rng.choice(k * m, 1 if kind == "cell" else 2, replace=False)] = True
    elif kind == "judge":
        cells[:, rng.integers(m)] = True
    elif kind == "language":
        cells[rng.integers(k)] = True
    elif kind == "diffuse":
        cells[:] = True
    count = int(cells.sum())
    signs = rng.choice([-1.0, 1.0], count)
    if kind in ("judge", "language"):  # a line that is off everywhere alike is no interaction
        signs = rng.permutation(np.where(np.arange(count) < count / 2, 1.0, -1.0))
    out = np.zeros((k, m))
    out[cells] = size * signs
    return out, cells


def study(
    kind: Kind, panels: int, n: int = 55, k: int = 8, m: int = 6, noise: str = "gaussian", seed: int = 0
) -> Found:
    """Plant, explain and count."""
    found = Found()
    for i in range(panels):
        rng = np.random.default_rng([seed, i, get_args(Kind).index(kind)])
        points, cells = plant(rng, kind, k, m, effect(n, k, m))
        panel, _ = pj.simulate_panel(
            n, k, m, seed=int(rng.integers(1 << 31)), interaction=points, noise_sd=NOISE_SD, noise=noise
        )
        estimate = estimate_interaction(panel)
        reading = choose(Units.of(estimate.influence, estimate.cell_influence, panel.weights))
        found.panels += 1
        found.right += reading.kind == kind
        found.only += not bool((reading.named & ~cells).any())
        found.kinds[reading.kind] += 1
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--panels", type=int, default=500)
    parser.add_argument("--tasks", type=int, default=55)
    parser.add_argument("--languages", type=int, default=8)
    parser.add_argument("--judges", type=int, default=6)
    parser.add_argument("--noise", choices=["gaussian", "heteroskedastic", "heavy"], default="gaussian")
    given = parser.parse_args()
    print("| planted | right kind | only planted cells named | kinds found |\n|---|---|---|---|")
    for kind in get_args(Kind):
        f = study(kind, given.panels, given.tasks, given.languages, given.judges, given.noise)
        kinds = ", ".join(f"{name} {count}" for name, count in f.kinds.most_common())
        print(f"| {kind} | {f.right / f.panels:.1%} | {f.only / f.panels:.1%} | {kinds} |", flush=True)


if __name__ == "__main__":
    main()
