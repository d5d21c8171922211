"""Planted truth about systems: what was planted must be found, what was not must not be.

    python benchmarks/systems.py --panels 500

Every scenario draws its panels from 300 tasks x 3 languages x 4 judges and goes in turn through binary, 1-5 and
0-100 scores and through 3, 8 and 30 systems. Two judges have a system of their own family.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pandas as pd

import polyjudge as pj

SCALES = {"binary": {"scale": "integer", "steps": 2}, "1-5": {"scale": "integer", "steps": 5}, "0-100": {}}
SIZES = (3, 8, 30)
JUDGES = ("GPT-4o", "Claude 3", "Gemini 2", "Llama 3")
RESAMPLES = 200


def planted(name: str, systems: int) -> dict[str, object]:
    """What a scenario plants."""
    sees = np.ones((3, 4))
    if name == "blind":
        return {"sees": 0.0}
    if name == "half-blind":
        sees[1, 2] = 0.0
    if name == "slope-varying":
        sees[1, 2] = 0.3
    out: dict[str, object] = {"sees": sees}
    if name == "self-preferring":
        likes = np.zeros((systems, 4))
        likes[0, 0] = likes[1, 1] = 8.0
        out["judge_system"] = likes
    return out


def trial(name: str, number: int) -> dict[str, object]:
    """One panel: whether the verdict was right, and which alarms were false."""
    scale, size = list(SCALES)[number % 3], SIZES[number // 3 % 3]
    names = ("gpt-x", "claude-y", *(f"system {i}" for i in range(3, size + 1)))
    panel, truth = pj.simulate_panel(
        300, 3, JUDGES, systems=names, seed=number + 1000 * len(name), interaction=0.0, **SCALES[scale],
        **planted(name, size),
    )  # fmt: skip
    found = pj.systems(panel, resamples=RESAMPLES, seed=number)
    signal, board, own = found.signal, found.leaderboard, found.favour.self_preference
    slopes = signal.slopes[signal.slopes["material"]] if len(signal.slopes) else signal.slopes
    cell = ("language2", "Gemini 2")
    true = {
        "nothing wrong": bool((signal.languages["verdict"] == "sees").all()) and not signal.blind,
        "blind": bool((signal.languages["verdict"] == "blind").all()),
        "half-blind": signal.blind == [cell],
        "self-preferring": own is not None and own.clear,
        "slope-varying": cell in set(zip(slopes["language"], slopes["judge"], strict=True)),
    }[name]
    out: dict[str, object] = {"scale": scale, "systems": size, "right": true}
    if name == "half-blind":
        here = signal.cells[(signal.cells["language"] == cell[0]) & (signal.cells["judge"] == cell[1])]
        out["undecided"] = not signal.blind and here["verdict"].iloc[0] == "cannot tell"
    if name == "blind":
        out["undecided"] = not out["right"] and not bool((signal.languages["verdict"] == "sees").any())
    if name != "self-preferring":
        out["false own family"] = own is not None and own.clear
    if name in ("nothing wrong", "self-preferring"):
        out["false blind"] = bool(signal.blind) or bool((signal.languages["verdict"] == "blind").any())
        out["false slopes"] = bool(len(slopes))
    if name == "blind":
        out["false order"] = board.settled
    if name in ("nothing wrong", "slope-varying", "half-blind"):
        assert truth.systems is not None
        rows = board.systems[board.systems["language"] == "(all)"].set_index("system")
        rank = (-truth.systems.quality).rank().reindex(rows.index)
        out["false rank"] = not bool(((rows["rank_low"] <= rank) & (rank <= rows["rank_high"])).all())
        out["false swap"] = bool(board.swaps["clear"].any())
    return out


def main() -> None:
    """Print the shares as a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--panels", type=int, default=500)
    panels = parser.parse_args().panels
    tables, start = {}, time.perf_counter()
    for name in ("nothing wrong", "blind", "half-blind", "self-preferring", "slope-varying"):
        rows = pd.DataFrame([trial(name, i) for i in range(panels)])
        tables[name] = rows.drop(columns=["scale", "systems"]).mean().astype(object)
        worst = rows.groupby(["scale", "systems"])["right"].mean()
        tables[name]["worst"] = worst.min()
        tables[name]["where"] = " x ".join(map(str, worst.idxmin()))
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
    table = pd.DataFrame(tables).T
    shown = table.map(lambda x: "" if isinstance(x, float) and np.isnan(x) else x if isinstance(x, str) else f"{x:.1%}")
    print("| planted | " + " | ".join(shown.columns) + " |\n|---" * 1 + "|---" * len(shown.columns) + "|")
    for name, row in shown.iterrows():
        print(f"| {name} | " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
