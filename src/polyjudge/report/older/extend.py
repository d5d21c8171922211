"""What `polyjudge extend` added, as terminal text."""

from __future__ import annotations

import pandas as pd
from rich.console import Console

from polyjudge.calibrate.extend import Extension
from polyjudge.core.labels import clean
from polyjudge.report.older.base import heading, interval, number, rows, say, show


def show_extension(console: Console, extension: Extension, path: str) -> None:
    """Print each newcomer's cells with intervals, the advice, and where the calibrator was written."""
    for newcomer in extension.newcomers:
        other = "judge" if newcomer.kind == "language" else "language"
        heading(console, f"New {newcomer.kind}: {clean(newcomer.label)}")
        table = newcomer.table
        show(
            console,
            pd.DataFrame(
                {
                    other: table[other],
                    "interaction": [number(x, sign=True) for x in table["interaction"]],
                    f"{newcomer.level:.0%} interval": [interval(r.low, r.high, sign=True) for r in rows(table)],
                    "before shrinking": [number(x, sign=True) for x in table["plain"]],
                    "tasks": table["tasks"],
                }
            ),
        )
        say(console, newcomer.words)
    console.print()
    for note in extension.notes:
        say(console, note, "dim")
    say(console, f"Written to {clean(path, 200)}.")
