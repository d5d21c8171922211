"""What a validation says: in the terminal, and as the page of the documentation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from validation.mutants import Mutant
from validation.promises import CHANCE
from validation.suite import POOLED, Validation

TESTED = "## The tester tested"
"""Heads the part that `--mutants` writes; a new page keeps it."""
DATA = "data/validation.csv"
CLAIMS: dict[str, tuple[str, ...]] = {
    "how far a gap between judges can change; calm": (
        "certified bound holds", "certified at what is there", "called calm, and it is not",
    ),
    "nothing is wrong: no warning": ("audits without a warning",),
    "the judges agree with each other": ("a shared error is called agreement", "signal verdict wrong"),
    "near copies: a group is named as either": ("the group is named", "judges on their own called a group"),
    "constant scores: cannot tell": ("a verdict from constant scores",),
    "judges favour their own family": ("own family is favoured, none is", "own-family interval, coverage"),
    "no ranking by the taste of one judge or maker": ("ranked by the taste of one maker",),
    "`plan --separate`: 80% power": ("planned tasks tell the systems apart",),
    "adaptive collection, with `--guard`": ("a look claims what is not so", "a guarded look claims what is not so"),
    "`judges --swap`, with `--guard`": ("a swap that matters is accepted",),
    "explanations near the end of a scale": ("explained though nothing is off",),
    "few unequal clusters": ("interval coverage, unequal clusters",),
    "pass rates: contrast and spread of languages": ("gate contrast, coverage", "gate spread, coverage"),
    "PPI with few skewed labels": ("PPI interval of skewed labels, coverage",),
    "Bradley-Terry strengths of few tasks": ("Bradley-Terry strength, coverage",),
    "label budget": ("planned labels meet the target",),
    "probes: who sees": ("a blind cell is said to see", "a seeing cell is called blind"),
}  # fmt: skip
"""What first screens claim (METHODS, section 24), and the quantities that ask it."""


def summary(result: Validation) -> str:
    """What was missed, and how small a fault so many panels can find."""
    table = result.table
    limits = int((table["verdict"] != "reported").sum())
    missed, known = (table[table["verdict"] == x] for x in ("fail", "known"))
    covers, alarms = result.detects
    out = [f"{len(missed)} of {limits} promises broken, on {result.panels} panels a scenario."]
    if len(known):
        out.append(f"{len(known)} more are not kept where no method keeps them; there polyjudge says so.")
    out.append(
        f"One scenario finds, in four of five runs, a 95% interval that covers {covers:.0%} or less and a 5% test that "
        f"alarms in {alarms:.0%} or more."
    )
    for _, row in pd.concat([missed, known]).iterrows():
        out.append(
            f"  {row['verdict']}: {row['quantity']}, {row['scenario']}: {row['value']:.3f}, promised {promised(row)}"
        )
    return "\n".join(out)


def markdown(result: Validation, before: str = "") -> str:
    """The page: what was asked, what holds, what does not. `before` is the page as it was: its mutants are kept."""
    covers, alarms = result.detects
    counts = result.table[result.table["scenario"] != POOLED].groupby("scenario")["panels"].max()
    out = [
        "# Validation: polyjudge against known answers",
        "",
        f'Written by `make validate ARGS="--page docs/validation.md"`. {len(result.scenarios)} scenarios simulate '
        "panels whose truth is known and put each through the public analyses: "
        f"{counts.min():,} to {counts.max():,} panels a scenario, more where a small fault must show. Every figure "
        f"with its panels and Monte Carlo error, and every scenario, stands in [{DATA}]({DATA}).",
        "",
        "A promise bounds the true rate: 93% for a 95% interval, 5% for a 5% test, 95% of audits without a warning "
        "where nothing is wrong. A measured rate fails where chance does not reach when the promise just holds: exact "
        f"binomial limits, {CHANCE:.0%} for all limits of the run together. A scenario finds, in four of five runs, a "
        f"95% interval that covers {covers:.1%} and a 5% test that alarms in {alarms:.1%}; the row over all scenarios "
        "finds smaller faults.",
        "",
        *_claims(result.table),
        *_overview(result.table),
        *_misses(result),
    ]
    if TESTED in before:
        out += ["", before[before.index(TESTED) :].rstrip()]
    return "\n".join(out) + "\n"


def promised(row: Any) -> str:
    """What a row is held to, in words."""
    low, high = row["low"], row["high"]
    if pd.isna(low) or pd.isna(high):
        return f"≥ {low:.3g}" if pd.isna(high) else f"≤ {high:.3g}"
    return f"{low:.3g} to {high:.3g}"


def _claims(table: pd.DataFrame) -> list[str]:
    """What first screens claim, as far as it was asked: the worst scenario of each quantity."""
    out = ["## What first screens claim", "", "| claim | asked as | promised | scenarios | panels | worst | holds |"]
    out.append("|---|---|---|---|---|---|---|")
    asked = table[table["scenario"] != POOLED]
    for claim, quantities in CLAIMS.items():
        for quantity in quantities:
            rows = asked[asked["quantity"] == quantity]
            if len(rows):
                worst = _worst(rows)
                holds = "yes" if (rows["verdict"] == "pass").all() else "no, see below"
                out.append(
                    f"| {claim} | {quantity} | {promised(worst)} | {len(rows)} | {rows['panels'].min()} "
                    f"| {worst['value']:.3f} | {holds} |"
                )
    return [*out, ""] if len(out) > 4 else []


def _worst(rows: pd.DataFrame) -> Any:
    """The row furthest beyond, or nearest to, what it is held to."""
    low, high = rows["low"].astype(float), rows["high"].astype(float)
    far = (low - rows["value"]).fillna(-9.0).combine((rows["value"] - high).fillna(-9.0), max)
    return rows.iloc[int(far.to_numpy().argmax())]


def _overview(table: pd.DataFrame) -> list[str]:
    """What is promised, in how many scenarios it was asked, and the worst of them."""
    out = [
        "## What holds",
        "",
        "| quantity | promised | scenarios | kept in | over all | worst | where |",
        "|---|---|---|---|---|---|---|",
    ]
    for quantity, rows in table[table["verdict"] != "reported"].groupby("quantity", sort=False):
        pooled, rows = rows[rows["scenario"] == POOLED], rows[rows["scenario"] != POOLED]
        worst = _worst(rows)
        whole = f"{pooled['value'].iloc[0]:.3f}" if len(pooled) else "–"
        kept = int((rows["verdict"] == "pass").sum())
        out.append(
            f"| {quantity} | {promised(worst)} | {len(rows)} | {kept} | {whole} | {worst['value']:.3f} "
            f"| {worst['scenario']} |"
        )
    return [*out, ""]


def _misses(result: Validation) -> list[str]:
    """What does not hold, where, and what polyjudge says there."""
    out, table = ["## What does not hold", ""], result.table
    says = {(s.name, name): words for s in result.scenarios for name, words in s.known.items()}
    beyond = (table["value"] < table["low"].astype(float)) | (table["value"] > table["high"].astype(float))
    said = [pair in says for pair in zip(table["scenario"], table["quantity"], strict=True)]
    rows = table[table["verdict"].isin(["fail", "known"]) | (beyond & np.array(said, bool))]
    if not len(rows):
        return [*out, "No promise was broken by more than chance allows with so many panels."]
    out += ["| scenario | quantity | value | promised | what polyjudge says there |", "|---|---|---|---|---|"]
    for _, row in rows.iterrows():
        words = says.get((row["scenario"], row["quantity"]), "nothing yet")
        out.append(f"| {row['scenario']} | {row['quantity']} | {row['value']:.3f} | {promised(row)} | {words} |")
    return out


def mutant_table(found: Sequence[tuple[Mutant, dict[str, Any]]]) -> str:
    """The part about mutants."""
    caught = sum(row["verdict"] == "fail" for _, row in found)
    lines = [
        TESTED,
        "",
        f"`make validate ARGS=--mutants` spoils what an analysis answers in {len(found)} known ways and asks the "
        f"scenario that should notice, with its default number of panels. {caught} of {len(found)} are noticed.",
        "",
        "| spoilt | scenario | quantity | promised | limit | spoilt value | panels | noticed |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for m, row in found:
        limit = "–" if row["limit"] is None else f"{row['limit']:.3f}"
        lines.append(
            f"| {m.name} | {m.scenario} | {m.quantity} | {promised(row)} | {limit} | {row['value']:.3f} "
            f"| {row['panels']} | {'yes' if row['verdict'] == 'fail' else 'NO'} |"
        )
    return "\n".join(lines)
