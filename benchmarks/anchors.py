"""Coverage of the intervals that rest on labels, and how often a hurt judge is named; full size.

    python benchmarks/anchors.py [--panels 4000]

Every panel is simulated with known truth. The first language has an error that all judges but the first share.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from anchor_truth import lone_judge, ppi_coverage, verdict_rates
from polyjudge.questions.anchor.distance import shared_shift
from polyjudge.questions.anchor.helped import whom_it_helps


def shift_coverage(panels: int, labels: int) -> tuple[float, float]:
    held = centred = 0
    for seed in range(panels):
        panel, gold, _ = lone_judge(seed, labels, tasks=max(60, labels), k=3, m=3)
        row = shared_shift(panel, gold).table.iloc[0]
        held += row["low"] <= -20 / 3 <= row["high"]
        centred += row["centred_low"] <= -40 / 9 <= row["centred_high"]
    return held / panels, centred / panels


def gain_coverage(panels: int, labels: int) -> tuple[float, float]:
    """Share of pointwise intervals that hold a cell's true gain, and of panels whose band holds all of them."""
    point, band = [], []
    for seed in range(panels):
        panel, gold, gain = lone_judge(seed, labels, tasks=120, k=4, m=4)
        cells = whom_it_helps(panel, gold, resamples=500, seed=seed).cells
        point.append(((cells["low"] <= gain.ravel()) & (gain.ravel() <= cells["high"])).mean())
        band.append(((cells["band_low"] <= gain.ravel()) & (gain.ravel() <= cells["band_high"])).all())
    return float(np.mean(point)), float(np.mean(band))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--panels", type=int, default=4000)
    panels = parser.parse_args().panels
    begun = time.perf_counter()
    for labels in (30, 100, 200):
        print(f"PPI, {labels} labels of 300 tasks: {ppi_coverage(panels, labels, 300):.4f} (95% wanted)", flush=True)
    for labels in (5, 20, 60):
        plain, centred = shift_coverage(panels, labels)
        print(f"shift, {labels} labels: {plain:.4f}, centred {centred:.4f} (95% wanted)", flush=True)
    for labels in (20, 100):
        point, band = gain_coverage(panels // 4, labels)
        print(
            f"gain of a cell, {labels} labels: pointwise {point:.4f} (95% wanted), "
            f"band over all cells {band:.4f} (at least 95%)"
        )
    for labels in (200, 50, 5):
        rates = verdict_rates(labels, 500)
        print(
            f"500 panels, {labels} labels per language: {rates['hurt called helped']} of {rates['hurt']} hurt cells "
            f"called helped, {rates['helped called hurt']} of {rates['helped']} helped cells called hurt, "
            f"hurt judge named in {rates['named'] / 5:.1f}%, {rates['open']:.1%} of cells cannot be told",
            flush=True,
        )
    print(f"{time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main()
