"""Do the judges tell several criteria apart? (METHODS 25)"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from polyjudge.base.later import framed
from polyjudge.base.text import names
from polyjudge.panel import Panel
from polyjudge.report.model import Finding

if TYPE_CHECKING:
    import pandas as pd

ALIKE = 0.9
"""Correlation of one judge's scores on two criteria from which they say nearly the same."""


def alike(criteria: Mapping[str, Panel]) -> pd.DataFrame:
    """first, second, r: how far the judges' scores on two criteria move together, over answers (mean over judges)."""
    rows = []
    for a, b in combinations(criteria, 2):
        p, q = criteria[a], criteria[b]
        if p.shape != q.shape:
            continue
        x, y = p.scores, q.scores
        o = np.isfinite(x) & np.isfinite(y)
        axis = 1 if p.has_systems else 0
        n = np.maximum(o.sum(axis, keepdims=True), 1)
        x, y = (np.where(o, v - np.where(o, v, 0.0).sum(axis, keepdims=True) / n, 0.0) for v in (x, y))
        w = p.weight[:, None, None, None]
        top, left, right = ((w * u * v).sum((0, 1, 2)) for u, v in ((x, y), (x, x), (y, y)))
        with np.errstate(invalid="ignore", divide="ignore"):
            r = top / np.sqrt(left * right)
        rows.append((a, b, float(r[np.isfinite(r)].mean()) if np.isfinite(r).any() else float("nan")))
    return framed(rows, columns=["first", "second", "r"])


def alike_finding(pairs: pd.DataFrame, units: int) -> tuple[Finding, ...]:
    """Criteria that judges may not tell apart."""
    same = pairs[pairs["r"] >= ALIKE].sort_values("r", ascending=False, kind="stable")
    if not len(same) or units < 20:
        return ()
    top = same.iloc[0]
    which = "both criteria" if len(pairs) == 1 else names([top["first"], top["second"]])
    text = f"The judges give {which} nearly the same score (r = {top['r']:.2f}): they may not tell them apart."
    return (Finding("notice", "criteria.alike", text, "Judges"),)
