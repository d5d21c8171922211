"""What kind of scale the scores are on: two values, a few whole numbers, 0 to 100, or anything else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from polyjudge.second.panel.panel import Panel

ScaleKind = Literal["binary", "likert", "percent", "open"]
MOST_STEPS = 11
"""Whole numbers on at most this many steps are a rating scale."""
FEW = 100_000
"""Scores looked at for their distinct values; of more, evenly spaced ones."""


@dataclass(frozen=True)
class Scale:
    """The scale of a panel's scores.

    kind : "binary" (two values), "likert" (whole numbers on up to eleven steps), "percent" (0 to 100) or "open"
    low, high : its ends: as declared, 0 and 100 for "percent", else the lowest and highest score seen
    factor : what a score difference is multiplied by to be printed: 100 / width for binary (percentage points), else 1
    """

    kind: ScaleKind
    low: float
    high: float
    factor: float = 1.0

    @property
    def unit(self) -> str:
        """Of a printed difference."""
        return "percentage points" if self.kind == "binary" else "points"

    @property
    def width(self) -> float:
        return self.high - self.low

    @property
    def ends(self) -> tuple[float, float]:
        """Lowest and highest score there can be; of an open scale the lowest and highest seen."""
        return self.low, self.high


def scale_of(panel: Panel) -> Scale:
    """Recognise the scale of a panel.

    >>> scale_of(Panel.from_array([[[0, 1], [1, 1]], [[0, 0], [1, 0]]])).unit
    'percentage points'
    """
    low, high = panel.range
    values = panel.seen.ravel()
    values = values[:: max(1, len(values) // FEW)]
    values = values[~np.isnan(values)]
    seen = np.unique(values)[: MOST_STEPS + 1]
    # The means of several tasks do not show the steps of a scale.
    single = bool(np.all(panel.weights == 1))
    ends = panel.observed_range
    if single and len(seen) == 2 and panel.declared_range in (None, ends) and ends == (seen[0], seen[1]):
        return Scale("binary", low, high, 100 / (high - low))
    whole = bool(np.all(values == np.rint(values)))
    if single and whole and len(seen) <= MOST_STEPS and 1 < high - low < MOST_STEPS and low >= 0:
        return Scale("likert", low, high)
    if (panel.declared_range is None and low >= 0 and 10 < high <= 100) or panel.declared_range == (0.0, 100.0):
        return Scale("percent", 0.0, 100.0)
    return Scale("open", low, high)
