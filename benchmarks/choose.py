"""Choosing judges on planted truth: is the right panel recommended, are copies named, are held-out figures unbiased?
Does a swap keep its level at the border?

    python benchmarks/choose.py [--panels 500]
    python benchmarks/choose.py --large         12 judges x 30 languages x 2,000 tasks x 10 systems, in seconds
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import combinations
from pathlib import Path

import numpy as np

import polyjudge as pj
from polyjudge.questions.judges.choose import choose
from polyjudge.questions.judges.swap import swap_judges

TASKS, SYSTEMS, LANGUAGES, JUDGES = 150, 4, 3, 5
SD = 10.0


def make(
    rng: np.random.Generator, sees: np.ndarray, noise: np.ndarray, copies: tuple[int, int] | None = None
) -> pj.Panel:
    """A panel whose judges see quality with slope `sees` (k, m) and err with sd `noise` (m,)."""
    quality = SD * rng.normal(size=(TASKS, SYSTEMS, 1, 1))
    error = noise * rng.normal(size=(TASKS, SYSTEMS, LANGUAGES, JUDGES))
    if copies is not None:
        a, b = copies
        shared = noise[a] * rng.normal(size=error.shape[:3])
        for j in (a, b):
            error[..., j] = np.sqrt(0.9) * shared + np.sqrt(0.1) * error[..., j]
    return pj.Panel.from_array(50 + sees * quality + error, systems=[f"s{i}" for i in range(SYSTEMS)])


def truth(sees: np.ndarray, noise: np.ndarray, copies: tuple[int, int] | None, members: tuple[int, ...]) -> float:
    """True reliability of a subset's mean, languages averaged: shared over total, near copies not vouching."""
    m = len(noise)
    cover = np.diag(noise**2)
    if copies is not None:
        cover[copies[0], copies[1]] = cover[copies[1], copies[0]] = 0.9 * noise[copies[0]] ** 2
    a = list(members)
    out = []
    for row in sees:
        v = SD**2 * np.outer(row, row) + cover
        pairs = [(i, j) for i in a for j in a if i != j and {i, j} != set(copies or ())]
        if len(a) == 1:
            others = [j for j in range(m) if j != a[0] and {j, a[0]} != set(copies or ())]
            out.append(np.mean([v[a[0], j] / np.sqrt(v[a[0], a[0]] * v[j, j]) for j in others]))
        elif pairs:
            out.append(np.mean([v[i, j] for i, j in pairs]) / (v[np.ix_(a, a)].sum() / len(a) ** 2))
        else:
            out.append(0.0)
    return float(np.mean(out))


def scenarios() -> dict[str, dict[str, object]]:
    """Slopes, noise, prices, and the panel that is right under a budget (as members), for each kind of panel."""
    even, quiet = np.ones((LANGUAGES, JUDGES)), np.full(JUDGES, SD)
    blind, local = even.copy(), even.copy()
    blind[:, 4] = 0.0
    local[0, 4] = 0.0
    best_noise = quiet.copy()
    best_noise[0] = 0.4 * SD
    dear = {f"judge{j + 1}": 3.0 if j == 0 else 1.0 for j in range(JUDGES)}
    return {
        "independent": {"sees": even, "noise": quiet},
        "near copies": {"sees": even, "noise": quiet, "copies": (0, 1)},
        "one blind": {"sees": blind, "noise": quiet},
        "one blind in one language": {"sees": local, "noise": quiet},
        "one expensive and best": {"sees": even, "noise": best_noise, "prices": dear},
    }


def run(name: str, setting: dict[str, object], panels: int) -> dict[str, object]:
    sees, noise = np.asarray(setting["sees"]), np.asarray(setting["noise"])
    copies = setting.get("copies")
    prices = setting.get("prices") or {f"judge{j + 1}": 1.0 for j in range(JUDGES)}
    budget = 3.0 * SYSTEMS * LANGUAGES  # what three plain judges cost
    subsets = [c for size in range(1, JUDGES + 1) for c in combinations(range(JUDGES), size)]
    value = {c: truth(sees, noise, copies, c) for c in subsets}
    afford = [c for c in subsets if sum(prices[f"judge{j + 1}"] for j in c) * SYSTEMS * LANGUAGES <= budget + 1e-9]
    top = max(value[c] for c in afford)
    right, named, false, errors, flatter = 0, 0, 0, [], []
    for seed in range(panels):
        panel = make(np.random.default_rng([25, seed]), sees, noise, copies)
        result = choose(panel, prices=prices, budget=budget, resamples=100, seed=seed)
        picked = tuple(panel.judges.index(x) for x in result.recommended["judges"].iloc[0].split(" + "))
        right += value[picked] >= top - 0.01
        found = {tuple(panel.judges.index(x) for x in group.split(" + ")) for group in result.groups["judges"]}
        named += copies is not None and tuple(copies) in found
        false += bool(found - ({tuple(copies)} if copies else set()))
        row = result.best[(result.best["language"] == "(all)") & (result.best["size"] == 2)].iloc[0]
        chosen = value[tuple(panel.judges.index(x) for x in row["judges"].split(" + "))]
        errors.append(row["held_out"] - chosen)
        flatter.append(row["in_sample"] - chosen)
    se = np.std(errors, ddof=1) / np.sqrt(panels)
    return {
        "right": right / panels,
        "copies_named": named / panels if copies else None,
        "false_copies": false / panels,
        "held_out_error": round(float(np.mean(errors)), 5),
        "held_out_error_se": round(float(se), 5),
        "in_sample_error": round(float(np.mean(flatter)), 5),
    }


def border(panels: int, languages: int, systems: int, alone: bool) -> float:
    """Share of panels that accept a swap whose true change of one system difference is just what matters."""
    accepted = 0
    for seed in range(panels):
        rng = np.random.default_rng([26, seed])
        shape = (100, systems, languages)
        scores = 50 + SD * rng.normal(size=(*shape, 1)) + 4 * rng.normal(size=(*shape, 3))
        scores[:, 0, 0, 1] += 3.0 if alone else 6.0
        panel = pj.Panel.from_array(scores, judges=["a", "b", "c"], systems=[f"s{i}" for i in range(systems)])
        accepted += swap_judges(panel, "a", "b", matters=3.0, alone=alone).answer == "accepted"
    return accepted / panels


def large() -> None:
    rng = np.random.default_rng(0)
    scores = 50 + SD * rng.normal(size=(2000, 10, 1, 1)) + SD * rng.normal(size=(2000, 10, 30, 12))
    panel = pj.Panel.from_array(scores, systems=[f"s{i}" for i in range(10)])
    begun, used = time.perf_counter(), time.process_time()
    choose(panel, prices=dict.fromkeys(panel.judges, 1.0))
    print(f"{time.perf_counter() - begun:.1f} s ({time.process_time() - used:.1f} s of CPU)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--panels", type=int, default=100)
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    if options.large:
        return large()
    out: dict[str, object] = {"panels": options.panels}
    out["swap accepted at the border"] = {
        f"{languages} languages x {systems} systems{', alone' * alone}": border(
            options.panels, languages, systems, alone
        )
        for languages, systems, alone in ((2, 2, True), (3, 4, True), (3, 4, False))
    }
    print(out, flush=True)
    for name, setting in scenarios().items():
        begun = time.perf_counter()
        out[name] = run(name, setting, options.panels)
        print(f"{name}: {json.dumps(out[name])} ({time.perf_counter() - begun:.0f} s)", flush=True)
    Path(__file__).with_name("results").joinpath("choose.json").write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
