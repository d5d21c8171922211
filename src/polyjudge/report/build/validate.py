"""What a validation says: one table per quantity."""

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
    Column(name="value", title="value", kind="ratio"),
    Column(name="monte_carlo_error", title="± Monte Carlo", kind="ratio"),
    Column(name="limit", title="limit"),
    Column(name="verdict", title="verdict"),
)


def build(result: Validation, panel: Panel | None = None) -> Report:
    """Figures that missed their limit first; then every quantity."""
    tables = quantities(result.table)
    missed = int((result.table["verdict"] == "fail").sum())
    limits = int((result.table["verdict"] != "reported").sum())
    frame = frame_of("validate", result, panel)
    frame["payload"] = lambda: envelope("validate", {**result.to_dict(), "passed": result.passed})
    return Report(
        **frame,
        title="polyjudge against known answers",
        verdict=(say("validate.verdict", panels=result.panels, missed=missed, limits=limits),),
        sections=tuple(
            Section(name=f"quantity-{i}", title=str(t.caption).capitalize(), blocks=(t,), folded=False)
            for i, t in enumerate(tables)
        ),
    )


def quantities(table: pd.DataFrame) -> list[Table]:
    """One table per quantity: what was measured, its Monte Carlo error, the limit and the verdict."""
    shown = table.assign(limit=[_limit(a, b) for a, b in zip(table["low"], table["high"], strict=True)])
    return [
        Table(name="validate", caption=str(quantity), frame=rows, columns=COLUMNS, most=len(rows))
        for quantity, rows in shown.groupby("quantity", sort=False)
    ]


def _limit(low: float | None, high: float | None) -> str:
    if pd.isna(low) and pd.isna(high):
        return "–"
    if pd.isna(low) or pd.isna(high):
        return f"≥ {low:.3g}" if pd.isna(high) else f"≤ {high:.3g}"
    return f"{low:.3g} to {high:.3g}"
