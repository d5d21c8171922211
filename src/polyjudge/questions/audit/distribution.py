"""How the scores of each cell are distributed: shares in a few equal steps of the scale, or at its values."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from polyjudge.panel.panel import Panel
from polyjudge.panel.scale import scale_of

STEPS = 10
MOST_CELLS = 150
"""Panels with more cells show only those that are asked for."""


def distribution(panel: Panel, cells: NDArray[np.bool_] | None = None) -> pd.DataFrame:
    """Shares of the single scores: language, judge, low, high, share.

    cells : (k, m) cells to show in a panel of more than `MOST_CELLS`, with those around them left out

    Binary and rating scales have one step for each value (`low` equals `high`); other scales ten equal ones.
    """
    scale = scale_of(panel)
    values = panel.finest
    first = 2 if panel.system_scores is not None else 1
    values = np.moveaxis(values, (first, first + 1), (0, 1))
    k, m = values.shape[:2]
    flat = values.reshape(k, m, -1)
    whole = scale.kind in ("binary", "likert")
    if whole:
        low = np.unique(flat[~np.isnan(flat)])
        high = low
    else:
        edges = np.linspace(scale.low, scale.high if scale.width > 0 else scale.low + 1, STEPS + 1)
        low, high = edges[:-1], edges[1:]
    shown = np.ones((k, m), bool)
    if k * m > MOST_CELLS:
        shown = np.zeros((k, m), bool) if cells is None else cells
    rows = []
    for i, j in np.argwhere(shown):
        there = flat[i, j][~np.isnan(flat[i, j])]
        if whole:
            counts = (there[:, None] == low).sum(axis=0)
        else:
            counts = np.histogram(np.clip(there, low[0], high[-1]), np.append(low, high[-1]))[0]
        share = counts / max(len(there), 1)
        rows += [
            (panel.languages[i], panel.judges[j], a, b, s) for a, b, s in zip(low, high, share.tolist(), strict=True)
        ]
    return pd.DataFrame(rows, columns=["language", "judge", "low", "high", "share"])
