"""What a reproduction gives back: ledger, corrections, tables and figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from polyjudge.panel.records import plain
from polyjudge.paper.human_labels import LabelCheck
from polyjudge.paper.ledger import REACH, Ledger
from polyjudge.paper.printed import Table
from polyjudge.paper.published import data
from polyjudge.report.charts.vega import Picture
from polyjudge.report.result import Result


@dataclass(frozen=True)
class Correction:
    """Something in the paper that does not hold or is arithmetic, and what can be said instead."""

    claim: str
    published: str
    """What the paper says, in its words where they are short."""
    correct: str
    why: str
    conceded: str = ""
    """What the paper itself says against it."""
    later: str = ""
    """What its authors say about it in their later manuscript and notes."""


def correction(name: str, **values: Any) -> Correction:
    """A correction of data/corrections.json with its values."""
    return Correction(**{field: text.format(**values) for field, text in data("corrections")[name].items()})


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Reproduction(Result):
    """One benchmark of the paper, computed again."""

    ledger: Ledger
    corrections: tuple[Correction, ...]
    tables: tuple[Table, ...]
    figures: dict[str, Callable[[], Picture]]
    """File name -> function that draws the chart."""
    inputs: dict[str, str]
    """What was read, by role, with the fingerprint of each."""
    notes: tuple[str, ...] = ()
    labels: LabelCheck | None = None
    """The panel beside human labels (DevAI)."""

    def to_frame(self) -> pd.DataFrame:
        return self.ledger.rows

    def to_dict(self) -> dict[str, Any]:
        return {
            "benchmark": self.ledger.benchmark,
            "counts": dict(self.ledger.counts),
            "inputs": self.inputs,
            "corrections": plain(self.corrections),
            "ledger": plain(self.ledger.rows),
            "tables": {t.name: plain(t.frame) for t in self.tables},
            "notes": list(self.notes),
            "labels": plain(self.labels),
        }


def notes(seed: int | None) -> tuple[str, ...]:
    """What a reader must know about the random parts."""
    if seed is None:
        return ("Random parts use the published draws. A number is reproduced when it prints as in the paper.",)
    return (
        f"Random parts use seed {seed}. Draws of another seed scatter: a random value may lie half a unit of its last "
        f"printed digit and {REACH:.0f} standard deviations of the difference of two runs from the printed one. The "
        "standard deviations are measured, for DevAI over 100 seeds, for M-RewardBench by resampling the draws; the "
        "ledger lists the tolerance of every row.",
    )
