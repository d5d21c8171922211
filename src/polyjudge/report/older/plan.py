"""Plans as terminal text."""

from __future__ import annotations

import pandas as pd
from rich.console import Console

from polyjudge.analyse.planning import Plan
from polyjudge.report.older.base import heading, interval, number, rows, say, show


def show_plan(console: Console, plan: Plan) -> None:
    """Print the tasks needed, the table over numbers of tasks and the decision study."""
    heading(
        console,
        f"Tasks for a radius of {plan.radius:g} on all {plan.languages} x {plan.judges} cells at once "
        f"({plan.level:.0%})",
    )
    show(
        console,
        pd.DataFrame(
            {
                "bound": plan.needed["bound"],
                "sd": [number(float(x)) for x in plan.needed["sigma"]],
                "tasks": ["over 10,000,000" if pd.isna(x) else f"{int(x):,}" for x in plan.needed["tasks"]],
            }
        ),
    )
    heading(console, "What a number of tasks buys")
    t = plan.table
    show(
        console,
        pd.DataFrame(
            {
                "tasks": [f"{n:,}" for n in t["tasks"]],
                "Gaussian": [number(x) for x in t["gaussian_radius"]],
                "band": [number(x) for x in t["band_radius"]],
                "distribution-free": [number(x) for x in t["free_radius"]],
                f"clear cells of {t['cells'].iloc[0]}": [
                    f"{r.expected_cells:.1f} +-{2 * r.expected_cells_se:.1f}" for r in rows(t)
                ],
                f"reversals of {t['true_reversals'].mean():.1f}": [
                    f"{r.expected_reversals:.1f} +-{2 * r.expected_reversals_se:.1f}" for r in rows(t)
                ],
            }
        ),
        most=40,
    )
    say(console, plan.assumed + " The +- is simulation error.", "dim")
    if plan.decision is not None:
        heading(console, "Which to buy more of: reliability of three orders")
        wide = plan.decision.copy()
        wide["shown"] = [f"{r.reliability:.3f} {interval(r.low, r.high, 3)}" for r in rows(wide)]
        wide = wide.pivot(index=["facet", "factor", "size"], columns="order", values="shown").reset_index()
        order = {"tasks": 0, "languages": 1, "replicates": 2, "judges": 3}
        wide = wide.sort_values(["facet", "factor"], key=lambda s: s.map(order) if s.name == "facet" else s)
        show(
            console,
            pd.DataFrame(
                {
                    "facet": wide["facet"],
                    "size": wide["size"].astype(str),
                    "judges, overall": wide["judges_overall"],
                    "judges, in one language": wide["judges_in_language"],
                    "languages": wide["languages"],
                }
            ),
        )
    if plan.advice:
        say(console, plan.advice)
    for note in plan.notes:
        say(console, note, "dim")
