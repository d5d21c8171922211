"""What probes say of the judges, beside what labels say of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri
from scipy.stats import rankdata

from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.gold import Gold
from polyjudge.second.panel.panel import Panel
from polyjudge.second.questions.anchor.helped import Helped

FEWEST = 10
"""Labels that a correlation in a language needs."""


def beside_labels(panel: Panel, labels: Gold, probed: Any, helped: Helped | None) -> pd.DataFrame:
    """What probes say of the cells that have labels too: language, judge, sight, verdict (of probes), labels,
    correlation with low and high (rank correlation of the judge's scores and the labels), calibrating ("helped",
    "hurt", "cannot tell" by labels), answer.

    probed : what `probe` gave, or its table of cells
    answer : "agrees", "contradicts" or "open". A judge that sees should follow the labels, a blind one should not;
        calibrating should not hurt severity, and not help competence.
    """
    cells = getattr(probed, "cells", probed)
    needed = {"language", "judge", "sight", "verdict"}
    if not isinstance(cells, pd.DataFrame) or not needed <= set(cells.columns):
        raise UsageError("probed is what polyjudge.probe gave: a table of cells with language, judge, sight, verdict.")
    effect = {} if helped is None else {(r.language, r.judge): r.verdict for r in helped.cells.itertuples()}
    rows = []
    for r in cells.itertuples():
        if r.language not in panel.languages or r.judge not in panel.judges:
            continue
        language, judge = panel.languages.index(str(r.language)), panel.judges.index(str(r.judge))
        scores, truth = panel.scores[:, language, judge], labels.values[:, language]
        known = ~np.isnan(scores) & ~np.isnan(truth)
        value, low, high = _rank_correlation(scores[known], truth[known])
        calibrating = str(effect.get((r.language, r.judge), ""))
        answer = _answer(str(r.sight), str(r.verdict), calibrating, low, high)
        rows.append((r.language, r.judge, r.sight, r.verdict, int(known.sum()), value, low, high, calibrating, answer))
    if not rows:
        raise PanelError("The probes and the scores share no language and judge: nothing to compare.")
    columns = ["language", "judge", "sight", "verdict", "labels", "correlation", "low", "high", "calibrating", "answer"]
    return pd.DataFrame(rows, columns=columns)


def _rank_correlation(a: Array, b: Array, level: float = 0.95) -> tuple[float, float, float]:
    """Rank correlation with an interval on Fisher's scale; not a number for few labels or for constant ones."""
    if len(a) < FEWEST or np.ptp(a) == 0 or np.ptp(b) == 0:
        return (np.nan,) * 3
    value = float(np.corrcoef(rankdata(a), rankdata(b))[0, 1])
    centre = np.arctanh(np.clip(value, -0.9999, 0.9999))
    half = ndtri((1 + level) / 2) * np.sqrt((1 + value**2 / 2) / (len(a) - 3))
    return value, float(np.tanh(centre - half)), float(np.tanh(centre + half))


def _answer(sight: str, verdict: str, calibrating: str, low: float, high: float) -> str:
    """What the labels say to the probes' word."""
    if (verdict, calibrating) in {("severity", "hurt"), ("competence", "helped")}:
        return "contradicts"
    if (verdict, calibrating) in {("severity", "helped"), ("competence", "hurt")}:
        return "agrees"
    if sight == "cannot tell" or np.isnan(low):
        return "open"
    if sight == "blind":  # half of what a good judge shows would be no blindness
        return "contradicts" if low > 0.3 else "agrees" if high < 0.5 else "open"
    return "agrees" if low > 0 else "contradicts" if high < 0.1 else "open"
