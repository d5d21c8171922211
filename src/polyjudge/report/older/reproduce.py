"""`polyjudge reproduce` on the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console

from polyjudge.paper.ledger import VERDICTS
from polyjudge.paper.result import Reproduction
from polyjudge.paper.tables import shown
from polyjudge.report.older.base import heading, make_console, say, show

STYLES = {"reproduced": "green", "identity": "cyan", "artefact": "yellow", "differs": "bold red", "needs data": "dim"}
BENCHMARKS = {"devai": "DevAI", "mrewardbench": "M-RewardBench"}


def show_reproduction(
    result: Reproduction, folder: Path | None = None, files: int = 0, console: Console | None = None
) -> None:
    """Print the ledger in short: verdicts, what differs, what does not hold, and where the rest is."""
    console = console or make_console()
    rows = result.ledger.rows
    heading(console, f"{BENCHMARKS[result.ledger.benchmark]}: {len(rows)} published values")
    counts = pd.DataFrame(
        [(v, result.ledger.counts[v], meaning) for v, meaning in VERDICTS.items()],
        columns=["verdict", "values", "meaning"],
    )
    show(console, counts, style=lambda row, name, _: STYLES[row["verdict"]] if name == "verdict" else "")
    _differs(console, result.ledger.differs)
    _needs(console, rows[rows["verdict"] == "needs data"])
    for table in result.tables:
        if table.name == "human_anchor":
            _anchor(console, table.frame)
    heading(console, "What does not hold, what is arithmetic, and what can be said instead")
    for c in result.corrections:
        say(console, c.claim, "bold")
        for word, text in (("published", c.published), ("instead", c.correct), ("why", c.why)):
            say(console, f"  {word}: {text}", "" if word == "instead" else "dim")
    for note in result.notes:
        say(console, f"Note: {note}", "dim")
    if folder is None:
        say(console, "All rows: --json. Ledger, tables and figures as files: -o DIR.", "dim")
    else:
        say(console, f"{files} files written to {folder}: ledger.csv, corrections.md, tables, figures.")


def _differs(console: Console, rows: pd.DataFrame, most: int = 30) -> None:
    if rows.empty:
        return
    heading(console, "These values differ")
    frame = pd.DataFrame({"number": rows["number"], "place": rows["place"]})
    for name in ("published", "computed", "difference", "tolerance"):
        frame[name] = [_value(x) for x in rows[name]]
    show(console, frame, most=most)


def _needs(console: Console, rows: pd.DataFrame) -> None:
    if rows.empty:
        return
    heading(console, "What needs data that is not here")
    grouped = rows.groupby("reading", sort=False).agg(
        values=("key", "size"), place=("place", lambda p: ", ".join(p.unique()))
    )
    for reading, row in grouped.iterrows():
        say(console, f"{row['values']} values ({row['place']}): {reading}")


def _anchor(console: Console, rows: pd.DataFrame) -> None:
    heading(console, "Human anchor: decisions that agree with the human preference, before and after calibration")
    frame = pd.DataFrame({"language": rows["language"], "sampled": rows["rows"]})
    frame["as published"] = [
        f"{a} to {b}" for a, b in zip(rows["raw_published"], rows["calibrated_published"], strict=True)
    ]
    frame["with tolerance"] = [f"{a} to {b}" for a, b in zip(rows["raw"], rows["calibrated"], strict=True)]
    frame["ties"] = rows["ties"]
    frame["counted by rounding"] = rows["counted"]
    frame["truly changed"] = rows["changed"]
    show(console, frame)


def _value(value: Any) -> str:
    return shown(value) if not isinstance(value, float) else f"{value:.6g}"
