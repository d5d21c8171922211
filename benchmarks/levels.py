"""Do the three-way test and the global reversal test keep their level where noise differs between cells or tasks?

    python benchmarks/levels.py [--panels 1000] [--only three-way]

Share of panels without the effect in which a test at 5% finds it, 8 languages x 6 judges. The tables in docs/methods.md
are from --panels 1000 (standard error of an entry at 5%: 0.7%).
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.special import fdtrc

import polyjudge as pj
from polyjudge.estimate.components import replicate_noise, sums_of_squares, three_way_p
from polyjudge.panel.arrays import Array
from polyjudge.questions.audit.orders import additive_null, count_reversals, unequal_null

K, M = 8, 6
DRAWS = 199
SIZES = (10, 20, 55)
NOISE = ("equal", "by cell, 1/3 to 2 times", "one loud language", "one loud cell", "by task")


def spread(rng: np.random.Generator, n: int, kind: str) -> Array:
    """(n, K, M) standard deviations of the noise, about 8."""
    out = np.ones((n, K, M))
    if kind.startswith("by cell"):
        out *= rng.uniform(1 / 3, 2, (K, M))
    elif kind == "one loud language":
        out *= np.where(np.arange(K)[:, None] == 0, 3.0, 0.4)
    elif kind == "one loud cell":
        out *= np.where(np.arange(K * M).reshape(K, M) == 0, 4.0, 0.4)
    elif kind == "by task":
        out *= np.exp(rng.normal(0, 0.7, (n, 1, 1)))
    return 8 * out


def three_way(seed: int, n: int, kind: str) -> tuple[float, ...]:
    rng = np.random.default_rng([seed, n])
    scores = rng.normal(0, 5, (n, 1, M, 1)) + spread(rng, n, kind)[..., None] * rng.normal(0, 1, (n, K, M, 3))
    panel = pj.Panel.from_array(50 + scores)
    squares, df = sums_of_squares(panel)
    noise = replicate_noise(panel)
    p = three_way_p(panel)
    assert noise is not None
    assert p is not None
    f = squares[6] / df[6] / (noise[0] / noise[1] * noise[2])
    return float(p <= 0.05), float(fdtrc(df[6], noise[1], f) <= 0.05)


def reversals(seed: int, n: int, kind: str, apart: float) -> tuple[float, ...]:
    rng = np.random.default_rng([seed, n])
    scores = 50 + rng.normal(0, 12, (n, 1, 1)) + rng.normal(0, 3, (n, K, 1)) + rng.normal(0, 5, (n, 1, M))
    scores = (
        scores + rng.normal(0, apart, M) + rng.normal(0, 4, (K, 1)) + spread(rng, n, kind) * rng.normal(size=(n, K, M))
    )
    panel = pj.Panel.from_array(scores)
    seen = count_reversals(panel.cell_means, panel.tie_gap)
    nulls = unequal_null(panel, DRAWS, seed), additive_null(panel, DRAWS, seed)[0]
    return tuple(float((1 + np.sum(null >= seen)) / (1 + DRAWS) <= 0.05) for null in nulls)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--panels", type=int, default=1000)
    options.add_argument("--only", default="")
    given = options.parse_args()
    tests = {"three-way, over tasks and by F": three_way}
    for apart in (0.0, 3.0, 8.0):
        name = f"global reversals, judges {apart:g} points apart (sd), unequal and equal noise"
        tests[name] = lambda seed, n, kind, apart=apart: reversals(seed, n, kind, apart)  # type: ignore[misc]
    for name, test in tests.items():
        if given.only not in name:
            continue
        print(name)
        for kind in NOISE:
            shares = [np.mean([test(s, n, kind) for s in range(given.panels)], axis=0) for n in SIZES]
            print(f"  {kind}: " + ", ".join("/".join(f"{100 * x:.1f}%" for x in share) for share in shares), flush=True)


if __name__ == "__main__":
    main()
