"""Do scores rise with the length of responses, and who leads at equal length? (METHODS 25)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polyjudge.answers.amounts import tiny_of
from polyjudge.answers.audit.boards import seen_means
from polyjudge.base.later import Later, framed
from polyjudge.base.text import name
from polyjudge.panel import Panel
from polyjudge.report.model import Finding
from polyjudge.stats.interval import interval

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
MIN_SPREAD = 1.0
"""Doublings between the 5th and the 95th percentile of lengths inside tasks, below which there is no slope."""


@dataclass(frozen=True)
class Length:
    """frame : language, judge, slope (points per doubling of the length, within task and system), low, high

    board : system, mean, at_equal_length, rank, rank_at_equal_length; a description: longer may be better
    """

    frame: Later[pd.DataFrame] = Later()
    board: Later[pd.DataFrame] = Later()
    findings: tuple[Finding, ...] = ()


def lengths_differ(log_length: Array) -> bool:
    """Whether lengths (tasks, systems, languages), as logarithms, differ enough inside tasks for a slope: of responses
    of 41 to 55 characters it would be hundreds of points a doubling.

    >>> lengths_differ(np.log([[[100.0], [150.0]]])), lengths_differ(np.log([[[100.0], [250.0]]]))
    (False, True)
    """
    doublings = np.asarray(log_length, dtype=float) / np.log(2)
    seen = np.isfinite(doublings)
    n_seen = seen.sum(1, keepdims=True)
    inside = doublings - np.where(seen, doublings, 0.0).sum(1, keepdims=True) / np.maximum(n_seen, 1)
    inside = inside[seen & (n_seen > 1)]
    if not len(inside):
        return False
    low, high = np.percentile(inside, [5, 95])
    return bool(high - low >= MIN_SPREAD)


def length(panel: Panel, *, level: float) -> Length | None:
    """Scores and the length of responses; None where responses are not at hand or hardly differ in length."""
    if panel.length is None or not panel.has_systems or not lengths_differ(panel.length):
        return None
    x = np.asarray(panel.length, dtype=float)
    k, m = panel.shape[2:]
    num, den, w = np.zeros((k, m)), np.zeros((k, m)), panel.weight[:, None]
    spread = np.full((panel.units, k, m), np.nan)
    for at in range(k):
        for judge in range(m):
            y = panel.scores[:, :, at, judge]
            o = np.isfinite(y) & np.isfinite(x[:, :, at])
            xc, yc = _within(x[:, :, at], o), _within(y, o)
            top, size = float((w * xc * yc).sum()), float((w * xc * xc).sum())
            if size > 1e-9 * max(o.sum(), 1):
                num[at, judge], den[at, judge] = top, size
                r = (w * xc * (yc - top / size * xc)).sum(1)
                spread[:, at, judge] = top / size + panel.units * np.bincount(panel.unit, r, panel.units) / size
    if not den.any():
        return None
    mean, there = seen_means(panel.scores, panel.weight), np.isfinite(x)
    lengths = np.where(there, x, 0.0).sum((0, 2)) / np.maximum(there.sum((0, 2)), 1)
    known = there.any((0, 2))
    equal = np.where(known, mean - float(num.sum() / den.sum()) * (lengths - lengths[known].mean()), mean)
    ranks = [_ranks(v, tiny_of(panel)) for v in (mean, equal)]

    def frame() -> pd.DataFrame:
        made = interval(np.log(2) * spread.reshape(panel.units, -1), level=level)
        pairs = framed([(a, b) for a in panel.languages for b in panel.judges], columns=["language", "judge"])
        return pairs.assign(slope=made.estimate, low=made.low_one, high=made.high_one)

    def board() -> pd.DataFrame:
        made = framed({"system": list(panel.systems), "mean": mean, "at_equal_length": equal})
        made = made.assign(rank=ranks[0], rank_at_equal_length=ranks[1])
        return made.sort_values("rank", kind="stable", ignore_index=True)

    found: tuple[Finding, ...] = ()
    first, now = (panel.systems[int(v.argmin())] for v in ranks)
    if first != now:
        text = f"At equal length {name(now)} would rank above {name(first)}. Longer answers may also be better ones."
        found = (Finding("notice", "length", text, "", {"system": now}),)
    return Length(frame, board, found)


def _within(x: Array, o: NDArray[np.bool_]) -> Array:
    """Task and system means taken out of what is seen."""
    y = np.where(o, x, 0.0)
    for _ in range(1 if o.all() else 20):
        for axis in (1, 0):
            y = np.where(o, y - y.sum(axis, keepdims=True) / np.maximum(o.sum(axis, keepdims=True), 1), 0.0)
    return y


def _ranks(x: Array, tiny: float) -> NDArray[np.int64]:
    """1 for the highest; ties share the lowest rank."""
    return np.asarray((x[None] > x[:, None] + tiny).sum(1) + 1)
