"""How often drift finds a change of 3 points in one cell, and how often it cries wolf, by the noise between runs."""

from __future__ import annotations

import sys

import numpy as np

import polyjudge as pj
from polyjudge.questions.drift.drift import drift


def main(simulations: int = 200) -> None:
    print("| run noise, points | found, same tasks | false alarms | found, other tasks | false alarms |")
    print("|---|---|---|---|---|")
    for noise in (2.0, 4.0, 6.0, 8.0):
        counts = np.zeros(4)
        for seed in range(simulations):
            truth, made = pj.simulate_panel(55, 8, 6, seed=seed, noise_sd=0, three_way_sd=7.0)
            other, _ = pj.simulate_panel(
                55, 8, 6, seed=seed + 10_000, noise_sd=0, three_way_sd=7.0, interaction=made.interaction.to_numpy()
            )
            rng = np.random.default_rng([seed, 99])
            old = truth.scores[..., None] + rng.normal(0, noise, (55, 8, 6, 3))
            cal = pj.ConsensusCalibrator().fit(pj.Panel.from_array(old, truth.tasks, truth.languages, truth.judges))
            for i, (base, names) in enumerate(((truth, truth.tasks), (other, [f"other{t}" for t in range(55)]))):
                new = base.scores[..., None] + rng.normal(0, noise, (55, 8, 6, 3))
                for j, change in enumerate((3.0, 0.0)):
                    new[:, 2, 3] += change
                    panel = pj.Panel.from_array(new, names, truth.languages, truth.judges)
                    new[:, 2, 3] -= change
                    counts[2 * i + j] += bool(drift(cal, panel).cells["changed"].any())
        print(f"| {noise:g} | " + " | ".join(f"{100 * c / simulations:.1f}%" for c in counts) + " |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
