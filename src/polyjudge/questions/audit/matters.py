"""Does an effect matter, and can it be ruled out (docs/methods.md, section 19)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pandas as pd

from polyjudge.estimate.bands import Uncertainty
from polyjudge.panel.errors import UsageError
from polyjudge.panel.panel import Panel
from polyjudge.panel.scale import scale_of
from polyjudge.report.result import Result
from polyjudge.report.sections import Matter

SHARE_OF_SCALE = 0.02
"""What matters when the user does not say: this share of the score scale."""
Status = Literal["certified", "refuted", "open"]


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


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Certificate(Result):
    """How far any judge can be off in any language, all cells at once.

    delta : the smallest number of points such that the band of every cell lies within +-delta
    status : "certified" (delta is at most `matters`), "refuted" (the band of a cell lies beyond it) or "open"
    cells : language, judge, interaction, band_low, band_high, matter
    tasks_needed : tasks that would certify an open panel, with the probability `level`, if nothing is off; None when
        it is closed
    """

    delta: float
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


def certificate(u: Uncertainty, matters: float) -> Certificate:
    """The certificate of invariance of a panel whose interaction has the bands of `u`.

    >>> import polyjudge as pj
    >>> panel, _ = pj.simulate_panel(tasks=400, interaction=0.0, seed=1)
    >>> certificate(pj.uncertainty(panel), matters=3.0).status
    'certified'
    """
    cells = u.cells[["language", "judge", "interaction", "band_low", "band_high"]].copy()
    low, high = cells["band_low"].to_numpy(), cells["band_high"].to_numpy()
    found = [materiality(a, b, matters) for a, b in zip(low, high, strict=True)]
    cells["matter"] = found
    delta = float(np.maximum(np.abs(low), np.abs(high)).max())
    status: Status = "refuted" if "material" in found else "open" if "open" in found else "certified"
    needed = None
    if status == "open" and matters > 0:
        # At this size the band is half as wide as what matters. If nothing is off, estimate and band together then stay
        # within it as often as the band holds.
        widest = float((high - low).max()) / 2
        needed = int(np.ceil(u.tasks * max((2 * widest / matters) ** 2, 1.0))) if np.isfinite(widest) else None
    return Certificate(
        delta=delta, matters=matters, status=status, level=u.level, tasks=u.tasks, tasks_needed=needed, cells=cells
    )
