"""Validation results as terminal tables and as a Markdown page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from polyjudge.report.older.base import heading, number, say, show
from polyjudge.validate.scenarios import SCENARIOS

if TYPE_CHECKING:
    from rich.console import Console

    from polyjudge.validate import Validation


def show_validation(console: Console, result: Validation) -> None:
    """One table per quantity group: what was measured, its Monte Carlo error, the limit and the verdict."""
    colour = {"pass": "green", "fail": "bold red", "reported": "dim"}
    for quantity, rows in result.table.groupby("quantity", sort=False):
        heading(console, str(quantity))
        show(console, _readable(rows), style=lambda row, _, __: colour[row["verdict"]])
    failed = result.table[result.table["verdict"] == "fail"]
    heading(console, "Verdict")
    say(
        console,
        f"{result.panels} panels per scenario, seed {result.seed}. {len(failed)} of "
        f"{int((result.table['verdict'] != 'reported').sum())} limits missed. A limit counts as missed when the figure "
        "lies beyond it by more than 3.5 Monte Carlo standard errors.",
        "bold red" if len(failed) else "green",
    )


def markdown(result: Validation) -> str:
    """The page of the documentation: scenarios, then one table per quantity."""
    out = [
        "# Validation: polyjudge against known answers",
        "",
        "This page is written by `polyjudge validate --page`. Every scenario simulates panels whose truth is known and "
        f"puts each through the public analyses: {result.panels} panels per scenario, seed {result.seed}, level "
        f"{result.level:.0%}. A figure fails when it lies beyond its limit by more than 3.5 Monte Carlo standard "
        "errors. Figures without a limit are reported only: among them the reversal test and the radius as "
        "published, which are not ours to promise.",
        "",
        "| scenario | tasks | languages | judges | what |",
        "|---|---|---|---|---|",
    ]
    out += [f"| {s.name} | {s.tasks} | {s.languages} | {s.judges} | {s.about} |" for s in SCENARIOS]
    for quantity, rows in result.table.groupby("quantity", sort=False):
        table = _readable(rows)
        out += ["", f"## {str(quantity)[0].upper()}{str(quantity)[1:]}", ""]
        out += ["| " + " | ".join(table.columns) + " |", "|" + "---|" * len(table.columns)]
        out += ["| " + " | ".join(map(str, row)) + " |" for row in table.itertuples(index=False)]
    return "\n".join(out) + "\n"


def _readable(rows: pd.DataFrame) -> pd.DataFrame:
    def limit(row: pd.Series) -> str:
        low, high = (None if pd.isna(row[name]) else row[name] for name in ("low", "high"))
        if low is None and high is None:
            return "–"
        if low is None or high is None:
            return f"≥ {low:.3g}" if high is None else f"≤ {high:.3g}"
        return f"{low:.3g} to {high:.3g}"

    return pd.DataFrame(
        {
            "scenario": rows["scenario"],
            "value": [number(v, 3) for v in rows["value"]],
            "± Monte Carlo": [number(v, 3) for v in rows["monte_carlo_error"]],
            "limit": [limit(row) for _, row in rows.iterrows()],
            "verdict": rows["verdict"],
        }
    )
