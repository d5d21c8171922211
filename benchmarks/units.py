"""Do 10,000 hashed units keep what 100,000 would say? Planted panels of 200,000 tasks with skewed, uneven noise.

    python benchmarks/units.py --panels 200

By number of units: how often the simultaneous band holds all planted cells (95% promised), the share of cells whose own
interval holds them, how often the rank sets of every language hold the planted ranks (95% in each language), how often
the interval of the held-out gain holds the gain at the planted truth, the median width of a band beside that of
100,000 units, and processor seconds for a panel.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from numpy.typing import NDArray

import polyjudge as pj
from polyjudge.estimate.bands import uncertainty
from polyjudge.estimate.kernels import double_centre
from polyjudge.questions.audit.orders import tied_sets

TASKS, LANGUAGES, JUDGES = 200_000, 3, 4
Array = NDArray[np.float64]


def planted(seed: int) -> tuple[Array, Array]:
    """Scores of all tasks, and the planted cell means. Half of the interactions are of the size of their error."""
    rng = np.random.default_rng(seed)
    size = 0.05 if seed % 2 else 2.0
    cells = 50 + rng.normal(0, 3, JUDGES) + rng.normal(0, size, (LANGUAGES, JUDGES))
    spread = rng.uniform(3, 12, (LANGUAGES, JUDGES))
    task = 6 * (rng.gamma(1.0, size=(TASKS, 1, 1)) - 1)
    own = spread * (rng.gamma(0.5, size=(TASKS, LANGUAGES, JUDGES)) - 0.5)
    return cells + task + own, cells


def units(scores: Array, size: int, rng: np.random.Generator) -> pj.Panel:
    """As the reader hashes tasks into units: at random, weighted by their tasks."""
    used, place = np.unique(rng.integers(size, size=len(scores)), return_inverse=True)
    weights = np.bincount(place).astype(float)
    flat = scores.reshape(len(scores), -1)
    sums = np.stack([np.bincount(place, flat[:, c]) for c in range(flat.shape[1])], axis=1)
    means = (sums / weights[:, None]).reshape(len(used), *scores.shape[1:])
    counts = np.broadcast_to(weights[:, None, None], means.shape).astype(np.int64).copy()
    labels = [tuple(f"{axis}{i + 1}" for i in range(n)) for axis, n in zip(("u", "l", "j"), means.shape, strict=True)]
    return pj.Panel(means, *labels, counts=counts, weights=weights)


def one(scores: Array, cells: Array, size: int, seed: int) -> dict[str, float]:
    """What is asked of one panel."""
    panel = units(scores, size, np.random.default_rng(seed))
    begun = time.process_time()
    band = uncertainty(panel, seed=seed).to_frame()
    ranks = tied_sets(panel, seed=seed).table
    gain = pj.compare(panel, methods=["raw", "cbc"], resamples=200, seed=seed).to_frame().set_index("method").loc["cbc"]
    spent = time.process_time() - begun
    truth = double_centre(cells[None])[0]
    true = truth.ravel()
    right = []
    for i, language in enumerate(panel.languages):
        rank = (-cells[i]).argsort().argsort() + 1
        mine = ranks[(ranks["scope"] == "language") & (ranks["language"] == language)]
        right.append(bool(((mine["rank_low"].to_numpy() <= rank) & (rank <= mine["rank_high"].to_numpy())).all()))
    sure = float((truth**2).sum(axis=1).mean() / JUDGES)  # of one judge drawn at random, taking off the whole of it
    return {
        "band": float(((band["band_low"] <= true) & (true <= band["band_high"])).all()),
        "interval": float(((band["low"] <= true) & (true <= band["high"])).mean()),
        "ranks": float(np.mean(right)),
        "gain": float(gain["gain_low"] <= sure <= gain["gain_high"]),
        "width": float((band["band_high"] - band["band_low"]).median()),
        "seconds": spent,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--panels", type=int, default=200)
    parser.add_argument("--units", type=int, nargs="+", default=[100_000, 10_000])
    given = parser.parse_args()
    found: dict[int, list[dict[str, float]]] = {size: [] for size in given.units}
    for seed in range(given.panels):
        scores, cells = planted(seed)
        for size in given.units:
            found[size].append(one(scores, cells, size, seed))
    base = found[given.units[0]]
    print("| units | band holds all | intervals hold | rank sets hold | gain holds | band width | seconds |")
    print("|---|---|---|---|---|---|---|")
    for size, rows in found.items():
        shares = [f"{100 * np.mean([r[name] for r in rows]):.1f}%" for name in ("band", "interval", "ranks", "gain")]
        width = np.median([r["width"] / b["width"] for r, b in zip(rows, base, strict=True)])
        seconds = np.median([r["seconds"] for r in rows])
        print(f"| {size:,} | {' | '.join(shares)} | {width:.3f} | {seconds:.1f} |")
    print(f"{given.panels} panels; a share of 95% has an error of {100 * np.sqrt(0.95 * 0.05 / given.panels):.1f}")


if __name__ == "__main__":
    main()
