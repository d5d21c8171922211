"""Do judges use the scale differently, and is that what differs between languages? (METHODS 18, 40)

A judge that reacts less than the others to differences between answers scores hard languages too high and easy ones too
low. That is no fault of a language, and a cell is named beside it only where it stands beyond what slopes explain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polyjudge import cbc
from polyjudge.base.later import framed
from polyjudge.base.numbers import number, percent_ci
from polyjudge.base.text import names
from polyjudge.panel import Panel
from polyjudge.stats.cells import Values
from polyjudge.stats.interval import FEWEST, interval
from polyjudge.stats.slopes import Slopes, slopes

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
DIFFERS = 0.1
"""How far a slope must certainly be from the others'."""
SEES = 0.3
"""What every judge's correlation with the others must reach: the slope of noise says nothing."""
LEAST_EXPLAINED = 0.05
"""Share of what differs from which it is said."""
MOST_OF_IT = 0.5
"""Share of what differs from which slopes are what differs."""


@dataclass(frozen=True)
class ScaleUse:
    """Slopes of the judges.

    differ_mask : judges whose slope certainly differs from the others', where that may be said
    share : of beta^ that slopes explain, as it is: noise makes it smaller
    explained, explained_low, explained_high : the same without noise, with its interval
    predicted : largest |off| that slopes alone make
    """

    judges: tuple[str, ...]
    slopes: Slopes
    differ_mask: Mask
    share: float = 0.0
    explained: float = 0.0
    explained_low: float = 0.0
    explained_high: float = 0.0
    predicted: float = 0.0

    def matters(self, least: float) -> bool:
        """Whether slopes differ so much that they alone make a cell look off. A cell that is off may hide that in the
        share: it can point the other way."""
        return bool(self.differ_mask.any()) and self.predicted > least

    @property
    def explains_most(self) -> bool:
        """Whether slopes are what differs."""
        return bool(self.differ_mask.any()) and self.share > MOST_OF_IT

    @property
    def frame(self) -> pd.DataFrame:
        """judge, slope, low, high, r."""
        limits = self.slopes.interval
        columns = {"low": limits.low_one, "high": limits.high_one, "r": self.slopes.r}
        return framed({"judge": self.judges, "slope": self.slopes.slope, **columns})


def compare_scale_use(panel: Panel, values: Values, level: float) -> ScaleUse:
    """Slopes of the judges, and how much of what differs they explain."""
    found = slopes(panel.scores, panel.unit, panel.weight, level)
    is_known = values.present.all() and values.units >= FEWEST and bool((found.r >= SEES).all())
    if panel.two_valued or not is_known:
        return ScaleUse(panel.judges, found, np.zeros(len(panel.judges), dtype=bool))
    share = float(_share_of(values.mean[None], found.slope[None])[0])
    half_width = found.interval.q * found.interval.se
    differ_mask = np.abs(found.slope - 1) - half_width > DIFFERS
    explained, low, high = _explained_share(values, found, share, level)
    return ScaleUse(panel.judges, found, differ_mask, share, explained, low, high, _predicted_off(values, found))


def _predicted_off(values: Values, found: Slopes) -> float:
    """The largest |off| that slopes alone make of cells: beta by slopes, times k m / ((k - 1) (m - 1))."""
    cells = values.mean
    level = cells.mean(1) - cells.mean()
    return float(np.abs(np.outer(level, found.slope - 1)).max()) * cbc.off_factor(*cells.shape)


def _explained_share(values: Values, found: Slopes, share: float, level: float) -> tuple[float, float, float]:
    """Share of beta that slopes explain, with its interval: the jackknife takes out what noise makes of it."""
    n = values.units
    cells_without = (n * values.mean - values.v) / (n - 1)
    slopes_without = (n * found.slope - found.by_unit) / (n - 1)
    pseudo_values = n * share - (n - 1) * _share_of(cells_without, slopes_without)
    limits = interval(pseudo_values[:, None], level=level)
    explained, low, high = np.clip([limits.estimate[0], limits.low[0], limits.high[0]], 0.0, 1.0)
    return float(explained), float(low), float(high)


def _share_of(cells: Array, slope: Array) -> Array:
    """1 - |beta - P|^2 / |beta|^2 of many tables of cells (n, k, m) with slopes (n, m): P is the level g of a language
    times (slope - 1)."""
    beta = cells - cells.mean(1, keepdims=True) - cells.mean(2, keepdims=True) + cells.mean((1, 2), keepdims=True)
    level = cells.mean(2) - cells.mean((1, 2))[:, None]
    predicted = level[:, :, None] * (slope - 1)[:, None, :]
    total = (beta**2).sum((1, 2))
    rest = ((beta - predicted) ** 2).sum((1, 2))
    return 1 - np.divide(rest, total, out=np.ones_like(total), where=total > 0)


def without_slopes(values: Values, found: Slopes) -> Values:
    """Values less what slopes explain of them, unit by unit: P_u = g_u (slope - 1) + g (slope_u - slope)."""
    by_unit = values.v.mean(2)
    level_by_unit = by_unit - by_unit.mean(1, keepdims=True)  # (units, languages)
    level = level_by_unit.mean(0)
    predicted = level_by_unit[:, :, None] * (found.slope - 1)
    predicted = predicted + level[None, :, None] * (found.by_unit - found.slope)[:, None, :]
    return replace(values, v=values.v - predicted)


def scale_sentence(panel: Panel, use: ScaleUse) -> str:
    """Which judges react less and more than the others, and how much of what differs that is."""
    parts: list[str] = []
    slope = use.slopes.slope
    for is_side, more in ((slope < 1, "less"), (slope > 1, "more")):
        at = _steepest_first(slope, use.differ_mask & is_side)
        if at:
            verb = "reacts" if len(at) == 1 else "react"
            sizes = names([number(slope[b], 1) for b in at])
            what = " than the others to differences between answers" if not parts else ""
            parts.append(f"{names([panel.judges[b] for b in at])} {verb} {more}{what} (slope {sizes})")
    if use.explained < LEAST_EXPLAINED:
        return f"{'; '.join(parts)}."
    share = percent_ci(use.explained, use.explained_low, use.explained_high)
    if use.explains_most:
        return f"{'; '.join(parts)}. That, not {panel.noun}, explains {share} of what differs."
    return f"{'; '.join(parts)}. That explains {share} of what differs."


def _steepest_first(slope: Array, which: Mask) -> list[int]:
    """Judges, the one whose slope is farthest from the others' first."""
    size = np.round(np.where(slope < 1, slope, -slope), 9)
    return [int(b) for b in np.argsort(size, kind="stable") if which[b]]
