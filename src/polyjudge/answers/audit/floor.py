"""Does a judge give the lowest score, or none, more often in one language than elsewhere? (METHODS 18)

That is a parser that fails, a refusal, or scores that were never asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polyjudge.answers.audit.contrasts import Cell, OffContrasts
from polyjudge.base.later import framed
from polyjudge.base.numbers import percent
from polyjudge.base.text import name
from polyjudge.panel import Panel
from polyjudge.report.model import Finding

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
FLOOR = 0.2
"""How much more often than elsewhere a judge must certainly give the lowest score, or none."""
MOST_SAID = 3
ENOUGH_TASKS = 12
"""Tasks with a score from which lowest scores are a fault of the judge."""


@dataclass(frozen=True)
class Floor:
    """Cells in which the lowest score, or none, is certainly given more often than elsewhere, the surest first.

    rate, elsewhere : (languages, judges) share of such scores, and the same in the other languages on average
    """

    cells: tuple[Cell, ...]
    rate: Array
    elsewhere: Array
    findings: tuple[Finding, ...]

    def frame(self, panel: Panel) -> Callable[[], pd.DataFrame]:
        """language, judge, rate, elsewhere."""

        def make() -> pd.DataFrame:
            names = [(panel.languages[x], panel.judges[b]) for x, b in self.cells]
            made = framed(names, columns=["language", "judge"])
            rates = [float(self.rate[cell]) for cell in self.cells]
            return made.assign(rate=rates, elsewhere=[float(self.elsewhere[cell]) for cell in self.cells])

        return make


def find_floor(panel: Panel, level: float) -> Floor | None:
    """Cells that stand out by lowest or missing scores; None where there are none to be asked about."""
    if panel.two_valued:
        return None
    indicator = panel.passes(panel.scale[0], "floor")
    values = indicator.values()
    rate = values.mean
    if not np.isfinite(rate).all() or rate.max() < FLOOR:
        return None
    tested = OffContrasts(indicator, values, FLOOR, level).test(())
    elsewhere = (rate.sum(0) - rate) / (len(panel.languages) - 1)
    is_scored = np.isfinite(panel.scores).any((0, 1))
    is_certain = tested.clear(FLOOR) & (tested.estimate > 0) & is_scored & (rate > elsewhere)
    cells = [(int(x), int(b)) for x, b in np.argwhere(is_certain)]
    cells.sort(key=lambda cell: (-round(float(tested.estimate[cell]), 9), cell))
    findings = tuple(_floor_finding(panel, cell, rate, elsewhere) for cell in cells[:MOST_SAID])
    return Floor(tuple(cells), rate, elsewhere, findings)


def _floor_finding(panel: Panel, cell: Cell, rate: Array, elsewhere: Array) -> Finding:
    """Lowest scores are the judge's or the parser's; scores that are only missing may never have been asked for."""
    x, b = cell
    where = {"language": panel.languages[x], "judge": panel.judges[b]}
    scores = panel.scores[:, :, x, b]
    n_scored = int(np.isfinite(scores).any(1).sum())
    answers, share = _answers(panel, x), percent(rate[cell], 0)
    others = f"({percent(elsewhere[cell], 0)} elsewhere)"
    if not (scores == panel.scale[0]).any() and n_scored < ENOUGH_TASKS:
        text = (
            f"{name(panel.judges[b])} has scores of only {n_scored} of {len(scores)} {_tasks(panel, x)}: "
            "score the others too."
        )
        return Finding("notice", "off.unscored", text, "Off", where)
    what = f"{panel.scale[0]:g}" if panel.complete else f"{panel.scale[0]:g} or no score"
    text = f"{name(panel.judges[b])} gives {what} to {share} of the {answers} {others}: check its prompt and parser."
    return Finding("serious" if n_scored >= ENOUGH_TASKS else "notice", "off.floor", text, "Off", where)


def _answers(panel: Panel, language: int) -> str:
    if panel.noun == "language":
        return f"{name(panel.languages[language])} answers"
    return f"answers in {panel.noun} {name(panel.languages[language])}"


def _tasks(panel: Panel, language: int) -> str:
    if panel.noun == "language":
        return f"{name(panel.languages[language])} tasks"
    return f"tasks in {panel.noun} {name(panel.languages[language])}"
