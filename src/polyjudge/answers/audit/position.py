"""Do judges of pairs prefer the answer that is shown first? (METHODS 25)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polyjudge.answers.amounts import spelled
from polyjudge.answers.audit.boards import LEAST
from polyjudge.base.later import framed
from polyjudge.base.numbers import percent, percent_ci
from polyjudge.base.text import name
from polyjudge.panel import Panel
from polyjudge.report.model import Finding
from polyjudge.stats.interval import interval

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
MATTERS = 0.05
"""A preference of so much for the answer shown first is worth a warning when it is sure."""


@dataclass(frozen=True)
class Position:
    """frame : language ("all"), judge, first_wins, low, high, consistency, consistency_low, consistency_high, pairs

    Only pairs that were shown in both orders count: else the better answer may just have stood first.
    """

    frame: pd.DataFrame
    note: str = ""
    findings: tuple[Finding, ...] = ()


def position(panel: Panel, *, level: float) -> Position | None:
    """Whether judges of pairs prefer the answer shown first; None where the order is not known."""
    if panel.order is None or not len(panel.order):
        return None
    columns = ["language", "judge", "first_wins", "low", "high", "consistency", "consistency_low", "consistency_high",
               "pairs"]  # fmt: skip
    order = panel.order.copy()
    first, second = order["first"].astype(str), order["second"].astype(str)
    turned = first > second
    order["a"], order["b"] = first.where(~turned, second), second.where(~turned, first)
    order["turned"] = turned
    keys = ["task", "language", "judge", "a", "b"]
    per = order.groupby([*keys, "turned"], observed=True, sort=False)["won"].mean().unstack("turned")
    per = per.reindex(columns=[False, True]).dropna()
    if not len(per):
        note = (
            "Every pair was shown in one order only, so a preference for the answer shown first cannot be told from "
            "a better answer shown first. Ask for some pairs in both orders."
        )
        return Position(framed(columns=columns), note)
    both = per.reset_index()
    both["lean"] = (both[False] + both[True]) / 2
    both["same"] = (np.abs(both[False] + both[True] - 1) < 1e-9).astype(float)
    both["unit"] = both["task"].map(dict(zip(panel.tasks, panel.unit.tolist(), strict=True)))
    both = both[both["unit"].notna()]
    rows, xs = [], []
    for language in ["all", *(panel.languages if len(panel.languages) > 1 else ())]:
        for judge in panel.judges:
            part = both[(both["judge"] == judge) & ((both["language"] == language) | (language == "all"))]
            if len(part):
                rows.append((language, judge, len(part)))
                xs.append([_ratio(part["unit"].to_numpy(int), part[c].to_numpy(float)) for c in ("lean", "same")])
    out = []
    alone = sum(r[0] == "all" for r in rows)
    for r, x in zip(rows, xs, strict=True):
        together = alone if r[0] == "all" else max(len(rows) - alone, 1)
        lean = interval(x[0][:, None], level=level, together=together)
        same = interval(x[1][:, None], level=level)
        ends = [lean.low[0], lean.high[0], same.low_one[0], same.high_one[0]]
        low, high, s_low, s_high = np.clip(ends, 0, 1) if r[2] >= LEAST else [np.nan] * 4
        out.append((r[0], r[1], x[0].mean(), low, high, x[1].mean(), s_low, s_high, r[2]))
    frame = framed(out, columns=columns)
    every = frame[frame["language"] == "all"]
    sure = every[((every["low"] > 0.5) | (every["high"] < 0.5)) & ((every["first_wins"] - 0.5).abs() >= MATTERS)]
    sure = sure.sort_values("first_wins", key=lambda s: -(s - 0.5).abs().round(9), kind="stable")
    return Position(frame, "", _leaning(sure))


def _leaning(sure: pd.DataFrame) -> tuple[Finding, ...]:
    """The judge that leans most, and how many more do."""
    if not len(sure):
        return ()
    row = sure.iloc[0]
    judge, share, low, high = str(row["judge"]), *(float(row[c]) for c in ("first_wins", "low", "high"))
    where = "first" if share > 0.5 else "second"
    if where == "second":
        share, low, high = 1 - share, 1 - high, 1 - low
    more = f" The order moves {spelled(len(sure) - 1)} other judge{'s' if len(sure) > 2 else ''} too."
    text = (
        f"{name(judge)} prefers the answer shown {where}: it wins {percent_ci(share, low, high)} of verdicts. After "
        f"swapping the order it picks the same winner in {percent(float(row['consistency']), 0)} of pairs."
    )
    text += more if len(sure) > 1 else ""
    return (Finding("warning", "position", text, "Judges", {"judge": judge}),)


def _ratio(unit: NDArray[np.int64], x: Array) -> Array:
    """One number per unit whose mean is the mean of x, whatever the number of rows of each unit."""
    seen = np.unique(unit, return_inverse=True)[1]
    c, U = x.mean(), int(seen.max()) + 1
    return np.asarray(c + U * np.bincount(seen, x - c, minlength=U) / len(x))
