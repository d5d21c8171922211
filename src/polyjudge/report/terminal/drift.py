"""Drift as terminal text."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from polyjudge.calibrate.drift import Drift
from polyjudge.report.terminal.audit import SEVERITY_STYLE
from polyjudge.report.terminal.base import heading, interval, number, p_value, say, show

MOST = 12


def show_drift(console: Console, drift: Drift) -> None:
    """Print what changed since the calibrator was fitted, largest first."""
    how = (
        f"{drift.paired_tasks} tasks compared one by one"
        if drift.paired_tasks
        else f"{drift.tasks_before} tasks then and {drift.tasks_after} now, compared as two samples"
    )
    heading(console, "Drift since the calibrator was fitted")
    say(console, f"{how}; chance of an alarm without a change {drift.level:.0%}; seed {drift.seed}")
    grid = Table.grid(padding=(0, 2))
    for f in drift.findings:
        grid.add_row(Text(f.severity, style=SEVERITY_STYLE[f.severity]), Text(f.text))
    console.print(Padding(grid, (0, 0, 0, 2), expand=False))
    heading(console, "Change of the interaction, points")
    order = (
        (drift.cells["change"].abs() / drift.cells["se"].where(drift.cells["se"] > 0, 1.0)).sort_values().index[::-1]
    )
    cells = drift.cells.loc[order]
    shown = cells[["language", "judge", "before", "after", "change"]].copy()
    shown["band"] = [interval(a, b, sign=True) for a, b in zip(cells["band_low"], cells["band_high"], strict=True)]
    shown["p"] = [p_value(p) for p in cells["p"]]
    shown["changed"] = ["yes" if c else "" for c in cells["changed"]]
    show(console, shown, {c: lambda v: number(v, sign=True) for c in ("before", "after", "change")}, most=MOST)
    say(
        console,
        f"The bands hold for all cells together. Global test of no change: p = {p_value(drift.p_global)}.",
        "dim",
    )
