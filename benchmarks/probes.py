"""Reading probes on planted truth: judges that see, see half, are blind, severe or competent.

    python benchmarks/probes.py [--panels 500]

30 tasks x 6 versions (clean, three severities, two placebos) x 4 languages x 5 judges. The interaction is that of an
audit of 60 other tasks. "right" is the share of panels in which the planted cell gets its verdict, "confused" that in
which a blind cell anywhere is called competent or the reverse.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

import polyjudge as pj
from polyjudge.analyse.probes import probe

TASKS, LANGUAGES, JUDGES = 30, 4, 5
VERSIONS = ("clean", "damage-1", "damage-2", "damage-3", "placebo-1", "placebo-2")
STEP = np.array([0.0, 1.0, 2.0, 3.0, 0.0, 0.0])
REACTION, NOISE = 8.0, 8.0


def make(
    rng: np.random.Generator, sees: np.ndarray, shift: np.ndarray, false: float = 0.0
) -> tuple[pj.Panel, pj.Panel]:
    """A probe panel and an audited one. `sees` (k, m) multiplies the reaction, `shift` (k, m) is the interaction."""

    def scores(tasks: int, versions: int, step: np.ndarray) -> np.ndarray:
        quality = rng.normal(0, 10, (tasks, 1, LANGUAGES, 1))
        fall = REACTION * step[:, None, None] * sees
        bump = np.zeros((versions, 1, 1))
        bump[4:] = false
        moved = bump * (np.arange(JUDGES) == 1)
        noise = rng.normal(0, NOISE, (tasks, versions, LANGUAGES, JUDGES))
        return 60 + quality * sees - fall + shift + moved + noise

    probes = pj.Panel.from_array(scores(TASKS, len(VERSIONS), STEP), systems=VERSIONS, declared_range=(0, 100))
    return probes, pj.Panel.from_array(scores(60, 1, np.zeros(1))[:, 0], declared_range=(0, 100))


def scenarios() -> dict[str, tuple[np.ndarray, np.ndarray, tuple[int, int], str]]:
    even, none = np.ones((LANGUAGES, JUDGES)), np.zeros((LANGUAGES, JUDGES))
    off = none.copy()
    off[0, 0] = -25.0
    half, blind, crowd = even.copy(), even.copy(), even.copy()
    half[:, 0] = 0.5
    blind[0, 0] = 0.0
    crowd[0, 1:] = 0.0
    return {
        "all see, one severe cell": (even, off, (0, 0), "severity"),
        "one sees half, severe cell": (half, off, (0, 0), "severity"),
        "blind in one language": (blind, off, (0, 0), "blind"),
        "competent where the others are blind": (crowd, off, (0, 0), "competence"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--panels", type=int, default=500)
    options = parser.parse_args()
    out = {}
    for name, (sees, shift, (l, b), wanted) in scenarios().items():  # noqa: E741
        begun = time.perf_counter()
        right = confused = false = 0
        for seed in range(options.panels):
            probes, audited = make(np.random.default_rng([24, seed]), sees, shift)
            result = probe(probes, audit=audited)
            cells = result.cells
            verdict = cells["verdict"].to_numpy().reshape(LANGUAGES, JUDGES)
            right += verdict[l, b] == wanted
            confused += bool(
                ((verdict == "competence") & (sees == 0)).any()
                or ((cells["sight"].to_numpy().reshape(sees.shape) == "blind") & (sees == 1)).any()
            )
            false += bool(cells["false"].any())
        out[name] = {
            "right": right / options.panels,
            "confused": confused / options.panels,
            "false_placebo_alarms": false / options.panels,
        }
        print(name, json.dumps(out[name]), f"({time.perf_counter() - begun:.0f} s)", flush=True)
    named = 0
    even = np.ones((LANGUAGES, JUDGES))
    for seed in range(options.panels):
        probes, audited = make(np.random.default_rng([25, seed]), even, 0 * even, false=8.0)
        cells = probe(probes, audit=audited).cells
        named += set(cells.loc[cells["false"], "judge"]) == {"judge2"}
    out["a judge that placebos move is named, alone"] = {"right": named / options.panels}
    print(out["a judge that placebos move is named, alone"])
    Path(__file__).with_name("results").joinpath("probes.json").write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
