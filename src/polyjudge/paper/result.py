"""What a reproduction gives back: ledger, corrections, tables and figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from polyjudge.core.results import Result, plain
from polyjudge.paper.ledger import OTHER_DRAWS, Ledger
from polyjudge.paper.tables import Table


@dataclass(frozen=True)
class Correction:
    """Something in the paper that does not hold or is arithmetic, and what can be said instead."""

    claim: str
    published: str
    correct: str
    why: str


@dataclass(frozen=True, repr=False, eq=False)
class Reproduction(Result):
    """One benchmark of the paper, computed again."""

    ledger: Ledger
    corrections: tuple[Correction, ...]
    tables: tuple[Table, ...]
    figures: dict[str, Callable[[], Any]]
    """File name -> function that draws the chart."""
    inputs: dict[str, str]
    """What was read, by role, with the fingerprint of each."""
    notes: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        return self.ledger.rows

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {verdict}" for verdict, n in self.ledger.counts.items())
        lines = [f"Reproduction of {self.ledger.benchmark}: {len(self.ledger.rows)} published values ({counts})"]
        lines += [f"  {c.claim}: {c.published} -> {c.correct}" for c in self.corrections]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        return {
            "benchmark": self.ledger.benchmark,
            "counts": dict(self.ledger.counts),
            "inputs": self.inputs,
            "corrections": plain(self.corrections),
            "ledger": plain(self.ledger.rows),
            "tables": {t.name: plain(t.frame) for t in self.tables},
            "notes": list(self.notes),
        }


def notes(seed: int | None) -> tuple[str, ...]:
    """What a reader must know about the random parts."""
    if seed is None:
        return ("Random parts use the published seeds.",)
    return (
        f"Random parts use seed {seed}, not the published ones: they agree within Monte Carlo error only, so their "
        f"tolerances are {OTHER_DRAWS} times as wide.",
    )
