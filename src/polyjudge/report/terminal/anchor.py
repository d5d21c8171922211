"""`polyjudge anchor` on the terminal."""

from __future__ import annotations

from typing import Any

import pandas as pd
from rich.console import Console

from polyjudge.analyse.anchors import Anchor
from polyjudge.report.terminal.base import heading, interval, make_console, number, say, show


def show_anchor(result: Anchor, console: Console | None = None) -> None:
    """Print every part that the labels allow."""
    console = console or make_console()
    _agreement(console, result)
    for note in result.notes:
        say(console, f"Note: {note}", "yellow")


def _agreement(console: Console, result: Anchor) -> None:
    labels = int(result.labels.sum())
    heading(console, f"Agreement with {labels} human choices (95% intervals over tasks)")
    table = result.table
    rows: list[dict[Any, Any]] = table.to_dict("records")
    show(
        console,
        pd.DataFrame(
            {
                "decision": table["decision"],
                "raw": [_share(r, "raw") for r in rows],
                "calibrated": [_share(r, "calibrated") for r in rows],
                "gain": [_gain(r) for r in rows],
                "changed": table["changed"],
                "from ties": table["broken_ties"],
                "AUC": [number(x) for x in table["auc"]],
            }
        ),
    )
    i = result.invariance
    verdict = "checked" if i.holds else "NOT met, please report it"
    say(
        console,
        f"The panel mean cannot change: calibration leaves it where it was ({verdict}: {i.changed} of {i.entries} "
        f"decisions changed, largest move {i.largest_change:.1g} points).",
    )
    if i.incomplete:
        say(
            console,
            f"{i.incomplete} labelled entries lack a judge's score; there the mean of the others can move.",
        )
    say(
        console,
        "Ties count as no agreement. A judge's agreement can move only because calibration moves its threshold: its "
        "AUC inside a language stays. Decisions that changed from a tie were pushed to one side, not informed.",
        "dim",
    )


def _share(row: dict[Any, Any], word: str) -> str:
    low, high = row[f"{word}_low"], row[f"{word}_high"]
    return f"{number(100 * row[word], 1)}% {interval(100 * low, 100 * high, 1)}"


def _gain(row: dict[Any, Any]) -> str:
    if row["identity"]:
        return "0 by arithmetic"
    return f"{number(100 * row['gain'], 1, True)} {interval(100 * row['gain_low'], 100 * row['gain_high'], 1, True)}"
