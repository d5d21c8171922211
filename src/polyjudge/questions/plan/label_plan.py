"""How many human labels a target half-width takes, from a pilot of them."""

from __future__ import annotations

import pandas as pd

from polyjudge.estimate.label_budget import FEWEST, budget_table
from polyjudge.panel.gold import Gold
from polyjudge.panel.panel import Panel
from polyjudge.panel.say import Say, say
from polyjudge.report.result import Result


class LabelBudget(Result):
    """Labels that the languages need; the columns of `table` are those of `budget_table`."""

    table: pd.DataFrame
    half_width: float
    level: float
    batch: int
    quantity: str

    @property
    def notes(self) -> tuple[Say, ...]:
        """What the numbers take for granted, and the languages where they mean little."""
        where = {"labels.all-equal": ~(self.table["sd"] > 0), "labels.pooled": self.table["pooled"]}
        listed = {code: self.table["language"][mask.astype(bool)].tolist() for code, mask in where.items()}
        more = (say(code, languages=names, fewest=FEWEST) for code, names in listed.items() if names)
        return say("labels.pilot", level=self.level), *more


def label_budget(panel: Panel, gold: Gold, half_width: float, *, level: float = 0.95, batch: int = 100) -> LabelBudget:
    """Labels per language for a target half-width, from a pilot of labels; and where the next `batch` helps most."""
    quantity, table = budget_table(panel, gold, half_width, level=level, batch=batch)
    return LabelBudget(table=table, half_width=half_width, level=level, batch=batch, quantity=quantity)
