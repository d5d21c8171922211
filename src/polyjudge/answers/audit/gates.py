"""What passes, raw and calibrated? (METHODS 9 and 32)

A pass is calibrated by the indicator: a pass is 1, a fail 0, and the double centring of these is subtracted from the
rates. Scores that are calibrated first and gated afterwards move every answer that stands on the mark, however small
the correction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polyjudge import cbc
from polyjudge.base.later import Later, framed
from polyjudge.base.numbers import ci, number, percent, percent_ci, threshold
from polyjudge.base.text import name
from polyjudge.calibrate.passes import Rates, count_tipped, estimate_rates
from polyjudge.panel import Panel
from polyjudge.report.model import Finding

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
MIN_TIPPED = 0.1
"""A pass rate that gating calibrated scores moves by more than so much is worth a word."""
COLUMNS = [
    "language", "judge", "pass_raw", "raw_low", "raw_high", "pass_calibrated", "calibrated_low", "calibrated_high"
]  # fmt: skip


@dataclass(frozen=True)
class Gates:
    """frame : language, judge, pass_raw, raw_low, raw_high, pass_calibrated, calibrated_low, calibrated_high

    spread : mean over judges of a judge's highest less its lowest pass rate over languages, raw and calibrated
    """

    frame: Later[pd.DataFrame] = Later()
    spread: tuple[float, float] = (float("nan"), float("nan"))
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class _Gap:
    """How much more a judge passes in one language than in another, in shares; limits hold for all such gaps."""

    judge: int
    higher: int
    lower: int
    limits: tuple[float, float, float]
    calibrated: tuple[float, float, float] | None
    largest: float
    """No gap is certainly larger than this."""


def gates(panel: Panel, mark: str | None, *, level: float) -> Gates:
    """Pass rates at a pass mark: "4" passes above 4, ">=4" from 4 on."""
    if mark is None:
        return Gates(partial(framed, columns=COLUMNS))
    limit, how = threshold(mark, panel.scale)
    rates = estimate_rates(panel.passes(limit, how))
    raw = _grid(panel, rates, rates.raw.share)
    calibrated = np.full_like(raw, np.nan)
    if rates.calibrated is not None:
        calibrated = _grid(panel, rates, rates.calibrated.share)
    # Scores that are calibrated already have been tipped: that is said, not what it would do.
    tipped = tipped_ties_finding(panel, limit, "Gates") or _tipped_finding(panel, calibrated, limit, how)
    findings = (_passing_finding(panel, rates, limit, how, level), *tipped)
    return Gates(_frame(panel, rates, level), (_spread(raw), _spread(calibrated)), findings)


def _grid(panel: Panel, rates: Rates, values: Array) -> Array:
    """Numbers of the scored cells as languages x judges, NaN elsewhere."""
    grid = np.full((len(panel.languages), len(panel.judges)), np.nan)
    grid[rates.cells[:, 0], rates.cells[:, 1]] = values
    return grid


def _frame(panel: Panel, rates: Rates, level: float) -> pd.DataFrame:
    """A row of each cell, with limits of one."""
    k, m = len(panel.languages), len(panel.judges)
    columns: dict[str, object] = {
        "language": np.repeat(np.array(panel.languages, dtype=object), m),
        "judge": np.tile(np.array(panel.judges, dtype=object), k),
    }
    for shares, keys in ((rates.raw, COLUMNS[2:5]), (rates.calibrated, COLUMNS[5:])):
        parts = [np.full(len(rates.cells), np.nan)] * 3
        if shares is not None:
            parts = [shares.share, *shares.limits(level)]
        for key, part in zip(keys, parts, strict=True):
            columns[key] = _grid(panel, rates, part).ravel()
    return framed(columns)


def _spread(rate: Array) -> float:
    """Mean over judges of the largest less the smallest over languages."""
    with np.errstate(invalid="ignore"):
        gap = rate.max(0) - rate.min(0)
    return float(gap[np.isfinite(gap)].mean()) if np.isfinite(gap).any() else float("nan")


# --- what is said ---


def _passing_finding(panel: Panel, rates: Rates, limit: float, how: str, level: float) -> Finding:
    """How many answers pass, and where a judge passes more in one language than in another."""
    share = rates.raw.share
    # The lowest and the highest were picked from all: their limits hold for all.
    low, high = rates.raw.limits(level, len(share))
    least, most = int(share.round(9).argmin()), int(share.round(9).argmax())
    head = percent(float(share[most]), 0)
    text = f"{percent_ci(share[most], low[most], high[most])} of answers pass."
    if share[most] - share[least] > 1e-9:
        sizes = (("the judge", len(panel.judges)), (f"the {panel.noun}", len(panel.languages)))
        sources = " and ".join(source for source, size in sizes if size > 1)
        head = f"{percent(float(share[least]), 0)[:-1]} to {head}"
        text = (
            f"{percent_ci(share[least], low[least], high[least])} to {percent_ci(share[most], low[most], high[most])} "
            f"of answers pass, depending on {sources}."
        )
    mark = "from" if how == ">=" else "above"
    gap = _largest_gap(rates, level)
    sentences = [f"With a pass mark {mark} {limit:g}, {text}", "" if gap is None else _gap_sentence(panel, gap)]
    return Finding("info", "gates", " ".join(filter(None, sentences)), "Gates", head=f"{head} pass")


def _largest_gap(rates: Rates, level: float) -> _Gap | None:
    """The largest difference of a judge's pass rates between two languages; None without two, or without limits."""
    pairs = np.array(list(_pairs_of_languages(rates.cells)), dtype=np.int64)
    if not len(pairs):
        return None
    first, second = pairs.T
    swap = rates.raw.share[first] < rates.raw.share[second]
    first, second = np.where(swap, second, first), np.where(swap, first, second)
    difference, low, high = rates.raw.difference(first, second, level, len(pairs))
    top = int(difference.round(9).argmax())
    if not np.isfinite(low[top]):
        return None
    after = None
    if rates.calibrated is not None:
        one = rates.calibrated.difference(first[[top]], second[[top]], level, len(pairs))
        after = (float(one[0][0]), float(one[1][0]), float(one[2][0]))
    limits = (float(difference[top]), float(low[top]), float(high[top]))
    judge, higher, lower = int(rates.cells[first[top], 1]), int(rates.cells[first[top], 0]), rates.cells[second[top], 0]
    return _Gap(judge, higher, int(lower), limits, after, float(high.max()))


def _pairs_of_languages(cells: Codes) -> Iterator[tuple[int, int]]:
    """Positions of two cells of the same judge."""
    for judge in np.unique(cells[:, 1]):
        yield from combinations(np.flatnonzero(cells[:, 1] == judge).tolist(), 2)


def _gap_sentence(panel: Panel, gap: _Gap) -> str:
    """Where a judge passes more; or that no gap is certain, and how large one may be."""
    if gap.limits[1] <= 0:
        size = number(100 * gap.largest, 0)
        return (
            f"No judge's pass rate certainly differs between two {panel.nouns}; a difference of up to {size} "
            "percentage points is not ruled out."
        )
    judge, higher, lower = (
        name(panel.judges[gap.judge]), name(panel.languages[gap.higher]), name(panel.languages[gap.lower])
    )  # fmt: skip
    text = f"{judge} passes {_describe_points(gap.limits, unit=True)} more in {higher} than in {lower}"
    if gap.calibrated is None:
        return f"{text}."
    return f"{text} ({_describe_points(gap.calibrated)} after calibrating)."


def _describe_points(limits: tuple[float, float, float], *, unit: bool = False) -> str:
    """A difference of shares with its limits, in percentage points."""
    middle, low, high = (100 * x for x in limits)
    return ci(middle, low, high, "percentage points" if unit else "")


# --- answers on the mark ---


def _tipped_finding(panel: Panel, calibrated: Array, limit: float, how: str) -> list[Finding]:
    """Calibrated scores must not be gated where many answers stand on the mark."""
    tipped = tipped_share(panel, calibrated, limit, how)
    if not tipped > max(MIN_TIPPED, panel.units**-0.5):
        return []
    text = (
        f"Gating calibrated scores at {limit:g} would move a pass rate of these answers by "
        f"{number(100 * tipped, 0)} percentage points, because many scores stand on the mark. Use the calibrated pass "
        "rates, or the column passes that calibrating with a threshold writes."
    )
    return [Finding("notice", "gates.tipped", text, "Gates")]


def tipped_ties_finding(panel: Panel, mark: float, topic: str) -> list[Finding]:
    """Scores that are calibrated already, and stood on the mark before: what they pass now is no judgement."""
    tipped = count_tipped(panel, mark)
    if not tipped:
        return []
    total = int(np.isfinite(panel.scores).sum())
    text = (
        f"{tipped:,} of {total:,} scores stood on the pass mark {mark:g} before they were calibrated: on which side "
        "they are now is the correction, however small, and no judge's verdict. Compare the scores as they were given."
    )
    return [Finding("warning", "tipped-ties", text, topic)]


def tipped_share(panel: Panel, calibrated: Array, limit: float, how: str) -> float:
    """Largest difference over cells between the pass rate of gated calibrated scores and the calibrated rate; NaN
    where there is no calibrated rate or single scores are not at hand."""
    if panel.hashed or not np.isfinite(calibrated).all():
        return float("nan")
    beta = cbc.double_centre(panel.values().mean)
    tiny = 1e-9 * panel.width
    moved = panel.scores - beta
    passed = moved > limit + tiny if how == ">" else moved >= limit - tiny
    seen = np.isfinite(panel.scores)
    gated = (passed & seen).sum((0, 1)) / np.maximum(seen.sum((0, 1)), 1)
    return float(np.abs(gated - calibrated).max())
