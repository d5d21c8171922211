"""Gates as terminal text."""

from __future__ import annotations

import pandas as pd
from rich.console import Console

from polyjudge.analyse.gates import Gates
from polyjudge.report.older.base import heading, interval, number, rows, say, show
from polyjudge.report.older.matrix import matrix


def show_gates(console: Console, gates: Gates) -> None:
    """Print pass rates, spreads, the sweep and the contrast with the base language."""
    heading(console, f"Gate: a task passes above {gates.threshold:g}")
    languages = gates.cells["language"].drop_duplicates().tolist()
    for name, word in (("pass_raw", "Raw"), ("pass_calibrated", "Calibrated")):
        say(console, f"{word} pass rates, % of tasks")
        rates = gates.cells.pivot(index="language", columns="judge", values=name)
        rates = rates.loc[languages, gates.cells["judge"].drop_duplicates().tolist()]
        shown = {(r.language, r.judge): number(100 * getattr(r, name), 1) for r in rows(gates.cells)}
        matrix(console, rates, lambda r, c, shown=shown: shown[r, c])  # type: ignore[misc]
    at = next(r for r in rows(gates.sweep) if r.threshold == gates.threshold)
    say(
        console,
        "Spread over languages (mean over judges of largest less smallest), percentage points: "
        f"{gates.spread_raw:.1f} {interval(at.spread_raw_low, at.spread_raw_high, 1)} raw, "
        f"{gates.spread_calibrated:.1f} {interval(at.spread_calibrated_low, at.spread_calibrated_high, 1)} calibrated "
        "on the same tasks."
        + (
            ""
            if pd.isna(gates.spread_chance)
            else f" With the languages of each task shuffled chance alone gives {gates.spread_chance:.1f} raw."
        ),
    )
    say(
        console,
        f"On left-out tasks: {gates.held_out_raw:.1f} raw, {gates.held_out_calibrated:.1f} calibrated; calibration "
        f"takes off {gates.held_out_reduction:.1f} {interval(gates.held_out_low, gates.held_out_high, 1)} "
        f"({gates.resamples} resamples, {gates.level:.0%} interval).",
    )
    if len(gates.sweep) > 1:
        heading(console, "Spread by threshold, percentage points")
        show(
            console,
            pd.DataFrame(
                {
                    "threshold": [f"{q:g}" for q in gates.sweep["threshold"]],
                    "passing %": [number(x, 1) for x in gates.sweep["pass_raw"]],
                    "raw": [number(x, 1) for x in gates.sweep["spread_raw"]],
                    "calibrated": [number(x, 1) for x in gates.sweep["spread_calibrated"]],
                    "held-out raw": [number(x, 1) for x in gates.sweep["held_out_raw"]],
                    "calibrated ": [number(x, 1) for x in gates.sweep["held_out_calibrated"]],
                    "reduction": [
                        f"{number(r.held_out_reduction, 1)} {interval(r.held_out_low, r.held_out_high, 1)}"
                        for r in rows(gates.sweep)
                    ],
                }
            ),
            most=60,
        )
    if gates.contrast is not None:
        heading(console, f"{gates.base} less the mean of the other languages, percentage points")
        show(
            console,
            pd.DataFrame(
                {
                    "judge": gates.contrast["judge"],
                    "raw": [f"{r.raw:+.1f} {interval(r.raw_low, r.raw_high, 1, True)}" for r in rows(gates.contrast)],
                    "calibrated": [
                        f"{r.calibrated:+.1f} {interval(r.calibrated_low, r.calibrated_high, 1, True)}"
                        for r in rows(gates.contrast)
                    ],
                }
            ),
            most=40,
        )
    say(
        console,
        "Calibration shifts every cell by a constant, so within a cell the order of tasks stays; the shift that all "
        "judges share in a language stays too. A smaller spread is consistency; which pass rate is right needs labels.",
        "dim",
    )
    for note in gates.notes:
        say(console, str(note), "dim")
