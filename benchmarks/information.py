"""Conditional mutual information with permutations, against a plain loop over points timed in the same run.

    python benchmarks/information.py [--permutations 500] [--plain 2]

Panel: 55 tasks x 8 languages x 6 judges x 3 replicates on a coarse scale, 330 slices of 24 points.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy.special import digamma

import polyjudge as pj


def plain_slice(values: np.ndarray, labels: np.ndarray, q: int = 2) -> float:
    """The estimator of one slice, point by point."""
    size, total = len(values), 0.0
    for i in range(size):
        distance = np.abs(values - values[i])
        same = labels == labels[i]
        same[i] = False
        eps = np.sort(distance[same])[q - 1]
        within = np.count_nonzero(distance <= eps) - 1
        total += digamma(max(1, within))
    return float(digamma(size) - digamma(np.count_nonzero(labels == labels[0])) + digamma(q) - total / size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--permutations", type=int, default=500)
    parser.add_argument("--plain", type=int, default=2, help="permutations of the plain loop")
    options = parser.parse_args()
    panel, _ = pj.simulate_panel(55, 8, 6, 3, 1, scale="fractions", steps=20)
    rows = np.asarray(panel.replicate_scores).transpose(0, 2, 1, 3).reshape(330, 24)
    labels = np.repeat(np.arange(8), 3)

    start = time.process_time()
    observed = np.mean([plain_slice(v, labels) for v in rows])
    rng = np.random.default_rng(0)
    for _ in range(options.plain):
        np.mean([plain_slice(v, rng.permutation(labels)) for v in rows])
    each = (time.process_time() - start) / (1 + options.plain)

    information = pj.information  # loading it is no part of the estimate
    start = time.process_time()
    result = information(panel, permutations=options.permutations)
    ours = time.process_time() - start
    # `information` also answers with the tolerant tie rule, so it makes twice the estimates.
    estimates = 2 * (options.permutations + 1)
    ratio = each * (options.permutations + 1) / ours
    print(f"plain loop: {each:.3f} s for one estimate over 330 slices")
    print(
        f"information: {ours:.3f} s for {estimates} estimates; "
        f"difference to the loop {abs(result.observed - observed):.1e}"
    )
    print(f"ratio for {options.permutations} permutations: {ratio:.0f} times (limit 50)")
    if abs(result.observed - observed) > 1e-12 or ratio < 50:
        raise SystemExit("information misses its limit")


if __name__ == "__main__":
    main()
