"""`polyjudge plan --labels` on the terminal."""

from __future__ import annotations

import pandas as pd
from rich.console import Console

from polyjudge.analyse.label_budget import LabelBudget
from polyjudge.core.labels import clean
from polyjudge.report.older.base import heading, make_console, number, say, show


def show_label_plan(budget: LabelBudget, console: Console | None = None) -> None:
    """Print the labels needed in each language, and where the next ones help most."""
    console = console or make_console()
    heading(console, f"Labels for a half-width of {budget.half_width:g} ({budget.level:.0%}) of the {budget.quantity}")
    rows = budget.table.to_dict("records")
    show(
        console,
        pd.DataFrame(
            {
                "language": budget.table["language"],
                "labels": budget.table["labels"],
                "half-width now": [number(r["half_width"]) for r in rows],
                "correlation": [number(r["correlation"]) for r in rows],
                "labels only": [_count(r, "labels_only") for r in rows],
                "with the panel": [_count(r, "with_panel") for r in rows],
            }
        ),
    )
    heading(console, f"Where the next {budget.batch} labels help most")
    show(
        console,
        pd.DataFrame(
            {
                "language": budget.table["language"],
                "next labels": budget.table["next_labels"],
                "half-width after": [number(r["next_half_width"]) for r in rows],
                "open cells that labels settle": budget.table["settles"],
            }
        ),
    )
    for note in budget.notes:
        say(console, clean(note, 400), "dim")


def _count(row: dict[object, object], word: str) -> str:
    value, low, high = (row[f"{word}{end}"] for end in ("", "_low", "_high"))
    if pd.isna(value):  # type: ignore[call-overload]
        return "more tasks"
    ends = ["more tasks" if pd.isna(x) else f"{x:,.0f}" for x in (low, high)]  # type: ignore[call-overload]
    return f"{value:,.0f} [{ends[0]}, {ends[1]}]"
