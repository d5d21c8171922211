"""Do judges of pairs prefer the answer that is shown first? (METHODS 25)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polyjudge.answers.amounts import spelled
from polyjudge.base.later import framed
from polyjudge.base.numbers import percent_ci
from polyjudge.base.text import name
from polyjudge.panel import Panel
from polyjudge.report.model import Finding
from polyjudge.stats.proportions import Shares, estimate_shares

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


COLUMNS = [
    "language", "judge", "first_wins", "low", "high", "consistency", "consistency_low", "consistency_high", "pairs"
]  # fmt: skip
ONE_ORDER = (
    "Every pair was shown in one order only, so a preference for the answer shown first cannot be told from "
    "a better answer shown first. Ask for some pairs in both orders."
)


def position(panel: Panel, *, level: float) -> Position | None:
    """Whether judges of pairs prefer the answer shown first; None where the order is not known."""
    if panel.order is None or not len(panel.order):
        return None
    pairs = _pairs_in_both_orders(panel, panel.order)
    if not len(pairs):
        return Position(framed(columns=COLUMNS), ONE_ORDER)
    languages = ["all", *(panel.languages if len(panel.languages) > 1 else ())]
    parts = {
        (language, judge): part
        for language in languages
        for judge in panel.judges
        if len(part := pairs[(pairs["judge"] == judge) & ((pairs["language"] == language) | (language == "all"))])
    }
    # Judges hold together, and so do all judges and languages.
    n_overall = sum(language == "all" for language, _ in parts)
    rows = [
        (language, judge, *_row(part, level, n_overall if language == "all" else len(parts) - n_overall))
        for (language, judge), part in parts.items()
    ]
    frame = framed(rows, columns=COLUMNS)
    return Position(frame, "", _leaning_finding(_leaning_judges(frame)))


def _pairs_in_both_orders(panel: Panel, order: pd.DataFrame) -> pd.DataFrame:
    """A row of each pair, judge and language that was asked in both orders: task, language, judge, unit, first_wins
    (mean of the two verdicts), same (1 where both orders have one winner)."""
    first, second = order["first"].astype(str), order["second"].astype(str)
    is_turned = first > second
    sorted_pairs = order.assign(
        a=first.where(~is_turned, second), b=second.where(~is_turned, first), is_turned=is_turned
    )
    keys = ["task", "language", "judge", "a", "b"]
    won = sorted_pairs.groupby([*keys, "is_turned"], observed=True, sort=False)["won"].mean().unstack("is_turned")
    won = won.reindex(columns=[False, True]).dropna()
    pairs = won.reset_index()[keys]
    verdicts = won.to_numpy(dtype=float)
    unit_of = dict(zip(panel.tasks, panel.unit.tolist(), strict=True))
    pairs = pairs.assign(
        unit=pairs["task"].map(unit_of),
        first_wins=verdicts.mean(1),
        same=(np.abs(verdicts.sum(1) - 1) < 1e-9).astype(float),
    )
    return pairs[pairs["unit"].notna()]


def _row(part: pd.DataFrame, level: float, n_comparisons: int) -> tuple[float, ...]:
    """How often the first place wins and both orders have one winner, with limits, and the number of pairs."""
    unit = part["unit"].to_numpy(int)
    # Two verdicts a pair, of which the place may decide both.
    first_wins = _share(unit, part["first_wins"].to_numpy(float), 2 * len(part))
    same = _share(unit, part["same"].to_numpy(float), len(part))
    (low,), (high,) = first_wins.limits(level, max(n_comparisons, 1))
    (same_low,), (same_high,) = same.limits(level)
    return float(first_wins.share[0]), low, high, float(same.share[0]), same_low, same_high, len(part)


def _share(unit: NDArray[np.int64], x: Array, n_answers: int) -> Shares:
    """A share by one number per unit whose mean is the mean of x, whatever the number of rows of each unit."""
    units = np.unique(unit, return_inverse=True)[1]
    mean, n_units = x.mean(), int(units.max()) + 1
    by_unit = mean + n_units * np.bincount(units, x - mean, minlength=n_units) / len(x)
    return estimate_shares(by_unit[:, None], np.array([float(n_answers)]))


def _leaning_judges(frame: pd.DataFrame) -> pd.DataFrame:
    """Judges that certainly prefer a place, and by as much as matters; the one that leans most first."""
    overall = frame[frame["language"] == "all"]
    is_certain = (overall["low"] > 0.5) | (overall["high"] < 0.5)
    leaning = overall[is_certain & ((overall["first_wins"] - 0.5).abs() >= MATTERS)]
    return leaning.sort_values("first_wins", key=lambda s: -(s - 0.5).abs().round(9), kind="stable")


def _leaning_finding(leaning: pd.DataFrame) -> tuple[Finding, ...]:
    """The judge that leans most, and how many more do."""
    if not len(leaning):
        return ()
    row = leaning.iloc[0]
    judge = str(row["judge"])
    share, low, high = (float(row[column]) for column in ("first_wins", "low", "high"))
    place = "first" if share > 0.5 else "second"
    if place == "second":
        share, low, high = 1 - share, 1 - high, 1 - low
    same = percent_ci(*(float(row[column]) for column in ("consistency", "consistency_low", "consistency_high")))
    text = (
        f"{name(judge)} prefers the answer shown {place}: it wins {percent_ci(share, low, high)} of verdicts. After "
        f"swapping the order it picks the same winner in {same} of pairs."
    )
    n_more = len(leaning) - 1
    if n_more:
        plural = "s" if n_more > 1 else ""
        text += f" The order moves {spelled(n_more)} other judge{plural} too."
    return (Finding("warning", "position", text, "Judges", {"judge": judge}),)
