"""The validation page of the documentation."""

from __future__ import annotations

import numpy as np
import pandas as pd

from polyjudge.report.sections import Table
from polyjudge.report.tables import cells
from validation.promises import CHANCE
from validation.suite import FULL, Validation
from validation.view import promised, quantities

TESTED = "## The tester tested"
"""Heads the part that `tools/mutate.py` writes; a new page keeps it."""


def markdown(result: Validation, before: str = "") -> str:
    """The page: what was asked, what holds, what does not, and one table per quantity.

    before : the page as it was, whose report of the mutants is kept
    """
    table = promised(result.table)
    covers, alarms = result.detects
    how = "--full" if result.panels == FULL else f"--panels {result.panels}"
    out = [
        "# Validation: polyjudge against known answers",
        "",
        f"Written by `polyjudge validate {how} --page docs/validation.md`. Every scenario simulates panels "
        f"whose truth is known and puts each through the public analyses: {result.panels:,} panels per scenario unless "
        f"it says otherwise, seed {result.seed}, level {result.level:.0%}, 199 resamples (enough for a 95% level).",
        "",
        "What is promised is a bound on the true rate: 93% for a 95% interval, 5% for a 5% test, 95% of audits without "
        "a warning where nothing is wrong. A measured rate fails where chance does not reach when the promise just "
        f"holds: exact binomial limits, {CHANCE:.0%} for all limits of the run together. So many panels find, in four "
        f"of five runs, a 95% interval that covers {covers:.1%} and a 5% test that alarms in {alarms:.1%}.",
        "",
        *_overview(table),
        *_misses(result, table),
    ]
    if TESTED in before:
        out += [before[before.index(TESTED) :].split("\n## Scenarios")[0].rstrip(), ""]
    out += [
        "## Scenarios",
        "",
        "| scenario | tasks | languages | judges | panels | what |",
        "|---|---|---|---|---|---|",
    ]
    panels = result.table.groupby("scenario")["panels"].max()
    for s in result.scenarios:
        fewer = f" ({s.why})" if s.share < 1 else ""
        out.append(f"| {s.name} | {s.tasks} | {s.languages} | {s.judges} | {panels[s.name]:,}{fewer} | {s.about} |")
    for each in quantities(result.table):
        title = str(each.caption)
        out += ["", f"## {title[0].upper()}{title[1:]}", "", *_rows(each)]
    return "\n".join(out) + "\n"


def _rows(table: Table) -> list[str]:
    head = ["| " + " | ".join(c.title for c in table.columns) + " |", "|" + "---|" * len(table.columns)]
    return head + ["| " + " | ".join(c.whole for c in row) + " |" for row in cells(table)]


def _overview(table: pd.DataFrame) -> list[str]:
    """What is promised, in how many scenarios it was asked, and the worst of them."""
    out = [
        "## What holds",
        "",
        "| quantity | promised | scenarios | kept in | worst | where |",
        "|---|---|---|---|---|---|",
    ]
    for quantity, rows in table[table["verdict"] != "reported"].groupby("quantity", sort=False):
        low, high = rows["low"].astype(float), rows["high"].astype(float)
        far = (low - rows["value"]).fillna(-9.0).combine((rows["value"] - high).fillna(-9.0), max)
        worst = rows.iloc[int(far.to_numpy().argmax())]
        kept = int((rows["verdict"] == "pass").sum())
        out.append(
            f"| {quantity} | {worst['promise']} | {len(rows)} | {kept} | {worst['value']:.3f} | {worst['scenario']} |"
        )
    return [*out, ""]


def _misses(result: Validation, table: pd.DataFrame) -> list[str]:
    """What does not hold, where, and what polyjudge says there."""
    out = ["## What does not hold", ""]
    says = {(s.name, name): words for s in result.scenarios for name, words in s.known.items()}
    beyond = (table["value"] < table["low"].astype(float)) | (table["value"] > table["high"].astype(float))
    said = [pair in says for pair in zip(table["scenario"], table["quantity"], strict=True)]
    rows = table[table["verdict"].isin(["fail", "known"]) | (beyond & np.array(said, bool))]
    if not len(rows):
        return [*out, "No promise was broken by more than chance allows with so many panels.", ""]
    out += ["| scenario | quantity | value | promised | what polyjudge says there |", "|---|---|---|---|---|"]
    for _, row in rows.iterrows():
        words = says.get((row["scenario"], row["quantity"]), "nothing yet")
        out.append(f"| {row['scenario']} | {row['quantity']} | {row['value']:.3f} | {row['promise']} | {words} |")
    return [*out, ""]
