"""The validation page of the documentation."""

from __future__ import annotations

from polyjudge.report.build.validate import quantities
from polyjudge.report.tables import cells
from polyjudge.validate.scenarios import SCENARIOS
from polyjudge.validate.suite import Validation


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
    for table in quantities(result.table):
        title = str(table.caption)
        out += ["", f"## {title[0].upper()}{title[1:]}", ""]
        out += ["| " + " | ".join(c.title for c in table.columns) + " |", "|" + "---|" * len(table.columns)]
        out += ["| " + " | ".join(c.whole for c in row) + " |" for row in cells(table)]
    return "\n".join(out) + "\n"
