"""What a validation says: what was missed, then one table per quantity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from polyjudge.core.schema import envelope
from polyjudge.core.sections import Column, Report, Section, Table, say
from polyjudge.report.build.shared import frame_of

if TYPE_CHECKING:
    from polyjudge.core.panel import Panel
    from polyjudge.validate import Validation

COLUMNS = (
    Column(name="scenario", title="scenario"),
    Column(name="value", title="value", kind="ratio", digits=3),
    Column(name="monte_carlo_error", title="± Monte Carlo", kind="ratio", digits=3),
    Column(name="panels", title="panels", kind="count"),
    Column(name="promise", title="promised"),
    Column(name="limit", title="chance reaches", kind="ratio", digits=3),
    Column(name="verdict", title="verdict"),
)
WHAT = (Column(name="quantity", title="quantity"), *COLUMNS)


def build(result: Validation, panel: Panel | None = None) -> Report:
    """Figures that broke their promise first; then every quantity."""
    table = promised(result.table)
    missed, known = (table[table["verdict"] == x] for x in ("fail", "known"))
    limits = int((table["verdict"] != "reported").sum())
    frame = frame_of("validate", result, panel)
    frame["payload"] = lambda: envelope("validate", {**result.to_dict(), "passed": result.passed})
    covers, alarms = result.detects
    first = [
        Section(name=name, title=title, blocks=(_table(rows, WHAT, name),), folded=False)
        for name, title, rows in (("missed", "Missed", missed), ("known", "Not kept, and said so", known))
        if len(rows)
    ]
    return Report(
        **frame,
        title="polyjudge against known answers",
        verdict=(
            say("validate.verdict", panels=result.panels, missed=len(missed), limits=limits, known=len(known)),
            say("validate.detects", full=result.full, covers=covers, alarms=alarms),
        ),
        sections=(
            *first,
            *(
                Section(name=f"quantity-{i}", title=str(t.caption).capitalize(), blocks=(t,), folded=bool(first))
                for i, t in enumerate(quantities(result.table))
            ),
        ),
    )


def promised(table: pd.DataFrame) -> pd.DataFrame:
    """The rows with what is promised, in words."""
    return table.assign(promise=[_promise(a, b) for a, b in zip(table["low"], table["high"], strict=True)])


def quantities(table: pd.DataFrame) -> list[Table]:
    """One table per quantity: what was measured, its Monte Carlo error, what is promised, the limit, the verdict."""
    return [_table(rows, COLUMNS, str(quantity)) for quantity, rows in promised(table).groupby("quantity", sort=False)]


def _table(rows: pd.DataFrame, columns: tuple[Column, ...], caption: str) -> Table:
    return Table(name="validate", caption=caption, frame=rows, columns=columns, most=len(rows))


def _promise(low: float | None, high: float | None) -> str:
    if pd.isna(low) and pd.isna(high):
        return "–"
    if pd.isna(low) or pd.isna(high):
        return f"≥ {low:.3g}" if pd.isna(high) else f"≤ {high:.3g}"
    return f"{low:.3g} to {high:.3g}"
