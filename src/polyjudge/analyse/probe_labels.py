"""What probes say of judges beside what labels say of them, where both exist."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import ndtri
from scipy.stats import rankdata

from polyjudge.analyse.helped import Helped
from polyjudge.analyse.probes import Probe
from polyjudge.core.arrays import Array
from polyjudge.core.gold import Gold
from polyjudge.core.panel import Panel

FEWEST = 10
"""Labels that a correlation in a language needs."""


def beside_labels(panel: Panel, labels: Gold, found: Probe, helped: Helped | None, level: float = 0.95) -> pd.DataFrame:
    """Cells that have both: language, judge, sight, verdict (of probes), labels, correlation with low and high (rank
    correlation of the judge's scores and the labels), calibrating ("helped", "hurt", "cannot tell" by labels), answer.

    answer : "agrees", "contradicts" or "open". A judge that sees should follow the labels, a blind one should not;
    calibrating should not hurt severity, and not help competence.
    """
    effect = {} if helped is None else {(r.language, r.judge): r.verdict for r in helped.cells.itertuples()}
    rows = []
    for r in found.cells.itertuples():
        if r.language not in panel.languages or r.judge not in panel.judges:
            continue
        at = panel.languages.index(str(r.language)), panel.judges.index(str(r.judge))
        scores, truth = panel.scores[:, at[0], at[1]], labels.values[:, at[0]]
        known = ~np.isnan(scores) & ~np.isnan(truth)
        value, low, high = _correlation(scores[known], truth[known], level)
        calibrating = str(effect.get((r.language, r.judge), ""))
        answer = _answer(str(r.sight), str(r.verdict), calibrating, low, high)
        rows.append((r.language, r.judge, r.sight, r.verdict, int(known.sum()), value, low, high, calibrating, answer))
    columns = ["language", "judge", "sight", "verdict", "labels", "correlation", "low", "high", "calibrating", "answer"]
    return pd.DataFrame(rows, columns=columns)


def _correlation(a: Array, b: Array, level: float) -> tuple[float, float, float]:
    """Rank correlation with an interval on Fisher's scale; not a number for few labels or for constant ones."""
    nan = float("nan")
    if len(a) < FEWEST or np.ptp(a) == 0 or np.ptp(b) == 0:
        return nan, nan, nan
    value = float(np.corrcoef(rankdata(a), rankdata(b))[0, 1])
    centre = np.arctanh(np.clip(value, -0.9999, 0.9999))
    half = ndtri((1 + level) / 2) * np.sqrt((1 + value**2 / 2) / (len(a) - 3))
    return value, float(np.tanh(centre - half)), float(np.tanh(centre + half))


def _answer(sight: str, verdict: str, calibrating: str, low: float, high: float) -> str:
    """What the labels say to the probes' word."""
    against = {("severity", "hurt"), ("competence", "helped")}
    for_it = {("severity", "helped"), ("competence", "hurt")}
    if (verdict, calibrating) in against:
        return "contradicts"
    if (verdict, calibrating) in for_it:
        return "agrees"
    if sight == "cannot tell" or np.isnan(low):
        return "open"
    if sight == "blind":  # half of what a good judge shows would be no blindness
        return "contradicts" if low > 0.3 else "agrees" if high < 0.5 else "open"
    return "agrees" if low > 0 else "contradicts" if high < 0.1 else "open"
