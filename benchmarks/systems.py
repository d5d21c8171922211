"""Planted truth about systems: what was planted must be found, what was not must not be.

    python benchmarks/systems.py --panels 500 --docs

Every scenario draws its panels from 300 tasks x 3 languages x 4 judges and goes in turn through binary, 1-5 and
0-100 scores and through 3, 8 and 30 systems. Two judges have a system of their own family. `--planted NAME` runs one
scenario; results/systems.json keeps the last run of each, and --docs writes the table of docs/rank.md from it
(--panels 0 does nothing else).
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import pandas as pd

import polyjudge as pj

SCALES = {"binary": {"scale": "integer", "steps": 2}, "1-5": {"scale": "integer", "steps": 5}, "0-100": {}}
SIZES = (3, 8, 30)
JUDGES = ("GPT-4o", "Claude 3", "Gemini 2", "Llama 3")
RESAMPLES = 200
SCENARIOS = ("nothing wrong", "blind", "half-blind", "self-preferring", "slope-varying")
RESULTS = Path(__file__).with_name("results") / "systems.json"
PAGE = Path(__file__).parents[1] / "docs" / "systems.md"
HEAD = "| planted | right |"


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
        "nothing wrong": bool((signal.languages["verdict"] == "agree").all()) and not signal.odd,
        "blind": bool((signal.languages["verdict"] == "do not agree").all()),
        "half-blind": signal.odd == [cell],
        "self-preferring": own is not None and own.clear,
        "slope-varying": cell in set(zip(slopes["language"], slopes["judge"], strict=True)),
    }[name]
    out: dict[str, object] = {"scale": scale, "systems": size, "right": true}
    if name == "half-blind":
        out["wrong place"] = bool(signal.odd) and not true
    if name == "slope-varying":
        worst = slopes.iloc[int((slopes["own"] - 1).abs().argmax())] if len(slopes) else None
        out["wrong place"] = worst is not None and (worst["language"], worst["judge"]) != cell
    if name != "self-preferring":
        out["false own family"] = own is not None and own.clear
    if name in ("nothing wrong", "self-preferring"):
        out["false blind"] = bool(signal.odd) or bool((signal.languages["verdict"] == "do not agree").any())
        out["false slopes"] = bool(len(slopes))
    if name == "blind":
        out["false order"] = board.settled
    if name in ("nothing wrong", "slope-varying", "half-blind"):
        assert truth.systems is not None
        rank = (-truth.systems.quality).rank()
        rows = board.systems.assign(true=board.systems["system"].map(rank))
        held = rows["true"].between(rows["rank_low"], rows["rank_high"]).groupby(rows["language"]).all()
        out["false rank"] = not held["(all)"]
        out["false rank in a language"] = 1 - float(held.drop("(all)").mean())
        out["false swap"] = bool(board.swaps["clear"].any())
    return out


def summary(name: str, panels: int) -> dict[str, object]:
    """Shares over the panels of a scenario, and the share right in the worst of the nine kinds."""
    start = time.process_time()
    rows = pd.DataFrame([trial(name, i) for i in range(panels)])
    worst = rows.groupby(["scale", "systems"])["right"].mean()
    return {
        "panels": panels,
        "seconds": round(time.process_time() - start),
        **{x: round(float(rows[x].mean()), 4) for x in rows.columns.drop(["scale", "systems"])},
        "worst": round(float(worst.min()), 4),
        "where": "{}, {} systems".format(*worst.idxmin()),  # type: ignore[misc]
    }


def table(results: dict[str, dict[str, object]]) -> str:
    """The results as a Markdown table."""
    false = ("wrong place", "false blind", "false order", "false own family", "false rank", "false rank in a language",
             "false slopes", "false swap")  # fmt: skip
    lines = [f"{HEAD} worst kind | " + " | ".join(x.removeprefix("false ") for x in false) + " |"]
    lines.append("|---" * (3 + len(false)) + "|")
    for name, row in results.items():
        worst = f"{row['worst']:.0%}" + (f" ({row['where']})" if row["worst"] != 1 else "")
        shown = [f"{row[x]:.1%}" if x in row else "" for x in ("right", *false)]
        lines.append("| " + " | ".join([name, shown[0], worst, *shown[1:]]) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the scenarios, keep their shares, and print them as a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--panels", type=int, default=500)
    parser.add_argument("--planted", choices=SCENARIOS, action="append")
    parser.add_argument("--docs", action="store_true", help="write the table into docs/rank.md")
    options = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in (options.planted or SCENARIOS) if options.panels else ():
        results[name] = summary(name, options.panels)
        RESULTS.write_text(json.dumps({x: results[x] for x in SCENARIOS if x in results}, indent=1) + "\n")
        print(name, results[name], flush=True)
    text = table({x: results[x] for x in SCENARIOS if x in results})
    print(text)
    if options.docs:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(HEAD)
        PAGE.write_text(before + text + "\n" + rest.partition("\n\n")[2], encoding="utf-8")


if __name__ == "__main__":
    main()
