"""What a validation says: what was missed, then one table per quantity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from polyjudge.panel.say import say
from polyjudge.report.build import frame_of, table
from polyjudge.report.schema import envelope
from polyjudge.report.sections import Report, Section, Table

if TYPE_CHECKING:
    from polyjudge.panel.panel import Panel
    from validation import Validation

HEAD = (
    "scenario | value:ratio.3 | ± Monte Carlo = monte_carlo_error:ratio.3 | panels:count | promised = promise "
    "| chance reaches = limit:ratio.3 | verdict"
)


def build(result: Validation, panel: Panel | None = None) -> Report:
    """Figures that broke their promise first; then every quantity."""
    figures = promised(result.table)
    missed, known = (figures[figures["verdict"] == x] for x in ("fail", "known"))
    limits = int((figures["verdict"] != "reported").sum())
    frame = frame_of("validate", result, panel)
    frame["payload"] = lambda: envelope("validate", {**result.to_dict(), "passed": result.passed})
    covers, alarms = result.detects
    first = [
        Section(name=name, title=title, blocks=(_table(rows, f"quantity | {HEAD}", name),), folded=False)
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


def promised(figures: pd.DataFrame) -> pd.DataFrame:
    """The rows with what is promised, in words."""
    return figures.assign(promise=[_promise(a, b) for a, b in zip(figures["low"], figures["high"], strict=True)])


def quantities(figures: pd.DataFrame) -> list[Table]:
    """One table per quantity: what was measured, its Monte Carlo error, what is promised, the limit, the verdict."""
    return [_table(rows, HEAD, str(quantity)) for quantity, rows in promised(figures).groupby("quantity", sort=False)]


def _table(rows: pd.DataFrame, head: str, caption: str) -> Table:
    return table("validate", caption, rows, head, most=len(rows))


def _promise(low: float | None, high: float | None) -> str:
    if pd.isna(low) and pd.isna(high):
        return "–"
    if pd.isna(low) or pd.isna(high):
        return f"≥ {low:.3g}" if pd.isna(high) else f"≤ {high:.3g}"
    return f"{low:.3g} to {high:.3g}"
