"""Calibrated pass rates, and the share of each answer that passes (METHODS 32).

A pass is calibrated by the indicator: a pass is 1, a fail 0, and their double centring is subtracted from the rates.
`passes` spreads such a rate over the answers, highest scores first, ties alike. Its mean in a cell is the calibrated
rate exactly, where gating calibrated scores moves every answer that stands on the mark.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polyjudge import cbc
from polyjudge.base.errors import PanelError
from polyjudge.base.later import framed
from polyjudge.panel import Panel
from polyjudge.stats.proportions import Shares, estimate_calibrated_shares, estimate_shares

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
ROUNDING = 1e-6
"""Differences of scores that files make."""


@dataclass(frozen=True)
class Rates:
    """Pass rates of the cells that were scored.

    raw : of every such cell. calibrated : None where they cannot be calibrated. cells : (n, 2) language and judge
    """

    raw: Shares
    calibrated: Shares | None
    cells: Codes


def estimate_rates(passed: Panel) -> Rates:
    """Pass rates of a panel of 1 (passes) and 0, raw and calibrated."""
    values = passed.values()
    cells = np.argwhere(values.present)
    seen = values.present.ravel()
    per_unit = values.v.reshape(values.units, -1)[:, seen]
    n_answers = passed.coverage[0].ravel()[seen].astype(float)
    raw = estimate_shares(per_unit, n_answers, has_holes=not passed.complete)
    if min(values.present.shape) < 2 or not values.present.all():
        return Rates(raw, None, cells)
    centred = values.v - cbc.double_centre(values.v)
    return Rates(raw, estimate_calibrated_shares(centred.reshape(values.units, -1), n_answers), cells)


def split_at_mark(panel: Panel, mark: float, how: str) -> pd.DataFrame:
    """Who passes after calibrating: language, judge, cut, share, tiny (what is no difference of scores).

    Scores above `cut` pass, and of those at it this share: the part of a cell's answers that passes is then its
    calibrated pass rate exactly.
    """
    if panel.hashed:
        raise PanelError("The column `passes` needs single scores: it is written for at most 100,000 tasks.")
    rates = estimate_rates(panel.passes(mark, how))
    if rates.calibrated is None:
        raise PanelError(
            "Pass rates cannot be calibrated: some judge has no score in some language. Leave out --threshold."
        )
    scores = panel.scores[..., None] if panel.replicates is None else panel.replicates
    rows = []
    for (language, judge), rate in zip(rates.cells, rates.calibrated.share, strict=True):
        given = scores[:, :, language, judge]
        cut, share = _split(given[np.isfinite(given)], float(rate))
        rows.append((panel.languages[language], panel.judges[judge], cut, share, 1e-9 * panel.width))
    return framed(rows, columns=["language", "judge", "cut", "share", "tiny"])


def _split(scores: Array, rate: float) -> tuple[float, float]:
    """The score down to which all pass, and the share of those with this score, so that so large a part passes."""
    levels, counts = np.unique(scores, return_counts=True)
    levels, counts = levels[::-1], counts[::-1]
    n_passing = rate * len(scores)
    reached = np.cumsum(counts)
    # The first level that so many answers reach; rounding must not push it past the last.
    index = min(int(np.searchsorted(reached, n_passing * (1 - 1e-12))), len(levels) - 1)
    above = reached[index] - counts[index]
    return float(levels[index]), float(np.clip((n_passing - above) / counts[index], 0, 1))


def count_near(panel: Panel, beta: Array, mark: float) -> float:
    """Share of scores that lie so near a pass mark that subtracting beta (k, m) may move them over it."""
    tiny = 1e-9 * panel.width
    seen = np.isfinite(panel.scores)
    is_near = (np.abs(panel.scores - mark) <= np.abs(beta) + tiny) & (np.abs(beta) > tiny)
    return float((is_near & seen).sum() / max(int(seen.sum()), 1))


def has_whole_numbers(panel: Panel) -> bool:
    """Whether all scores are whole numbers, so that many are equal to any mark one may choose."""
    seen = panel.scores[np.isfinite(panel.scores)] if panel.replicates is None else panel.replicates
    seen = seen[np.isfinite(seen)]
    return not panel.hashed and bool(np.all(np.abs(seen - np.round(seen)) <= 1e-9 * panel.width))


def count_tipped(panel: Panel, mark: float) -> int:
    """Scores that stood on a pass mark before they were calibrated, and now lie on one side of it; 0 where scores were
    not calibrated by themselves, or were no whole numbers before.

    Calibrated whole numbers are whole numbers less a constant of their cell, and their double centring is zero.
    """
    if panel.hashed or not _is_calibrated(panel):
        return 0
    tipped = 0
    for language, judge in np.ndindex(panel.shape[2:]):
        scores = panel.scores[:, :, language, judge]
        scores = scores[np.isfinite(scores)]
        offset = scores[0] - np.round(scores[0])
        before = scores - offset
        if np.abs(before - np.round(before)).max() > ROUNDING:
            return 0
        if abs(offset) > ROUNDING:
            tipped += int((np.abs(before - mark) < ROUNDING).sum())
    return tipped


def _is_calibrated(panel: Panel) -> bool:
    """Whether every judge is in every language and nothing is left to calibrate but rounding."""
    values = panel.values()
    if min(values.present.shape) < 2 or not values.present.all():
        return False
    return float(np.abs(cbc.double_centre(values.mean)).max()) < ROUNDING * panel.width
