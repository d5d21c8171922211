"""Does an effect matter, and can it be ruled out (docs/methods.md, section 19)."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from polyjudge.second.estimate.bands import Uncertainty, uncertainty
from polyjudge.second.estimate.resample import check_level
from polyjudge.second.estimate.tetrads import gap_changes
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.scale import scale_of
from polyjudge.second.report.result import Result
from polyjudge.second.report.sections import Matter

FEW_TASKS = 30
"""Fewer tasks than this are said to be few."""
SHARE_OF_SCALE = 0.02
"""What matters when the user does not say: this share of the score scale."""
Status = Literal["certified", "material", "open"]


def what_matters(panel: Panel, matters: float | None = None) -> float:
    """The smallest effect in points that the user cares about: as given, or 2% of the scale."""
    if matters is None:
        return SHARE_OF_SCALE * scale_of(panel).width
    if not (np.isfinite(matters) and matters >= 0):
        raise UsageError(f"matters is a number of points, zero or more, not {matters}.")
    return float(matters)


def materiality(low: float, high: float, matters: float) -> Matter:
    """Of an effect with the interval [low, high]: beyond +-matters, inside, or neither.

    >>> materiality(-9, -4, 2), materiality(-1, 1.5, 2), materiality(-1, 3, 2)
    ('material', 'negligible', 'open')
    """
    if low > matters or high < -matters:
        return "material"
    return "negligible" if -matters <= low and high <= matters else "open"


class Certificate(Result):
    """How far a gap between two judges may change between two languages.

    delta : no gap changes by more than this, in points, at the level (one-sided)
    change : of the gap that surely changes most: language_a, language_b, judge_i, judge_j, change (gap in a less that
        in b), low and high (limits of its size; the lower one allows for the number of gaps)
    exact : delta bounds changes too rare to be seen, not the spread over tasks
    status : "certified" (delta is at most `matters`), "material" (the band of a cell lies beyond it, or a gap surely
        changes by more) or "open"
    cells : language, judge, interaction, band_low, band_high, matter
    tasks_needed : tasks at which an open panel would be certified if nothing is off; None when it is closed
    """

    delta: float
    change: dict[str, Any]
    exact: bool
    matters: float
    status: Status
    level: float
    tasks: int
    tasks_needed: int | None
    cells: pd.DataFrame

    @property
    def counts(self) -> dict[Matter, int]:
        """How many cells are material, negligible and open."""
        kinds: tuple[Matter, ...] = get_args(Matter)
        return {kind: int((self.cells["matter"] == kind).sum()) for kind in kinds}


def certificate(
    panel: Panel, matters: float | None = None, *, level: float = 0.95, bands: Uncertainty | None = None
) -> Certificate:
    """What can be ruled out of a panel: changes of gaps between judges, from one language to another.

    matters : smallest effect in points that counts; 2% of the scale unless given
    bands : the `uncertainty` of the same panel, where it is at hand

    >>> import polyjudge.second as pj
    >>> panel, _ = pj.simulate_panel(tasks=600, interaction=0.0, seed=1)
    >>> certificate(panel, matters=4.0).status
    'certified'
    """
    matters = what_matters(panel, matters)
    bands = bands or uncertainty(panel, level=check_level(level))
    cells = bands.cells[["language", "judge", "interaction", "band_low", "band_high"]].copy()
    ends = zip(cells["band_low"], cells["band_high"], strict=True)
    cells["matter"] = [materiality(low, high, matters) for low, high in ends]
    found = gap_changes(panel, level)
    delta, surest = found.widest.high, found.surest
    status: Status = "certified" if delta <= matters else "open"
    if (cells["matter"] == "material").any() or surest.low > matters:
        status = "material"
    open_ = status == "open" and matters > 0
    needed = found.tasks_needed(panel.n_tasks, matters, bands.critical, level) if open_ else None
    (a, b), (i, j) = surest.languages, surest.judges
    change = {"language_a": panel.languages[a], "language_b": panel.languages[b]}
    change |= {"judge_i": panel.judges[i], "judge_j": panel.judges[j]}
    return Certificate(
        delta=delta,
        change=change | {"change": surest.change, "low": surest.low, "high": surest.high},
        exact=found.exact,
        matters=matters,
        status=status,
        level=level,
        tasks=panel.n_tasks,
        tasks_needed=needed,
        cells=cells,
    )
