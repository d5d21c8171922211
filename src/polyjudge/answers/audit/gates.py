"""What passes, raw and calibrated? (METHODS 9 and 32)"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polyjudge import cbc
from polyjudge.base.later import Later, framed
from polyjudge.base.numbers import number, percent, percent_ci, threshold
from polyjudge.panel import Panel
from polyjudge.report.model import Finding
from polyjudge.stats.interval import interval

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Gates:
    """frame : language, judge, pass_raw, raw_low, raw_high, pass_calibrated, calibrated_low, calibrated_high

    spread : mean over judges of a judge's highest less its lowest pass rate over languages, raw and calibrated
    """

    frame: Later[pd.DataFrame] = Later()
    spread: tuple[float, float] = (float("nan"), float("nan"))
    findings: tuple[Finding, ...] = ()


EMPTY = ["language", "judge", "pass_raw", "raw_low", "raw_high", "pass_calibrated", "calibrated_low", "calibrated_high"]


def gates(panel: Panel, mark: str | None, *, level: float) -> Gates:
    """Pass rates at a pass mark: "4" passes above 4, ">=4" from 4 on."""
    if mark is None:
        return Gates(partial(framed, columns=EMPTY))
    at, how = threshold(mark, panel.scale)
    k, m = len(panel.languages), len(panel.judges)
    raw = _rates(panel.passes(at, how), level)
    calibrated = np.full((3, k, m), np.nan)
    values = panel.values()
    if min(k, m) > 1 and panel.indicator is None and values.present.all():
        beta = cbc.double_centre(values.mean)
        tilde = replace(panel, scores=panel.scores - beta)
        calibrated = _rates(tilde.passes(at, how), level)
    frame = framed(
        {
            "language": np.repeat(np.array(panel.languages, dtype=object), m),
            "judge": np.tile(np.array(panel.judges, dtype=object), k),
            **{key: raw[i].ravel() for i, key in enumerate(EMPTY[2:5])},
            **{key: calibrated[i].ravel() for i, key in enumerate(EMPTY[5:])},
        }
    )
    spread = (_spread(raw[0]), _spread(calibrated[0]))
    return Gates(frame, spread, (_passing(panel, raw, spread, at, how),))


def _passing(panel: Panel, rates: Array, spread: tuple[float, float], at: float, how: str) -> Finding:
    """The sentence about pass rates."""
    seen = rates[:, np.isfinite(rates[0])]
    least, most = (seen[:, int(at)] for at in (seen[0].round(9).argmin(), seen[0].round(9).argmax()))
    k, m = rates.shape[1:]
    share = percent(float(most[0]), 0)
    text = f"{percent_ci(*most)} of answers pass."
    if most[0] - least[0] > 1e-9:
        who = [x for x, number_of in (("the judge", m), (f"the {panel.noun}", k)) if number_of > 1]
        share = f"{percent(float(least[0]), 0)[:-1]} to {share}"
        text = f"{percent_ci(*least)} to {percent_ci(*most)} of answers pass, depending on {' and '.join(who)}."
    text = f"With a pass mark {'from' if how == '>=' else 'above'} {at:g}, {text}"
    if k > 1 and spread[0] >= 0.005:
        after = f" ({number(100 * spread[1], 0)} after calibrating)" if np.isfinite(spread[1]) else ""
        text += (
            f" {'A' if m > 1 else 'The'} judge's pass rate differs by {number(100 * spread[0], 0)} percentage points"
            f"{' on average' if m > 1 else ''}, chance included, between its highest and its lowest "
            f"{panel.noun}{after}."
        )
    return Finding("info", "gates", text, "Gates", head=f"{share} pass")


def _rates(passed: Panel, level: float) -> Array:
    """Rate and its interval of every cell: (3, k, m)."""
    values = passed.values()
    v = values.v.reshape(values.units, -1)
    there = np.isfinite(v).all(0)
    p = np.clip(v[:, there].mean(0), 0, 1)
    prior = np.clip(p, 1 / (2 * len(v)), 1 - 1 / (2 * len(v)))
    made = interval(v[:, there], level=level, prior=prior * (1 - prior))
    out = np.full((3, v.shape[1]), np.nan)
    out[:, there] = np.clip(np.stack([p, made.low_one, made.high_one]), 0, 1)
    return out.reshape(3, *values.v.shape[1:])


def _spread(rate: Array) -> float:
    """Mean over judges of the largest less the smallest over languages."""
    with np.errstate(invalid="ignore"):
        gap = rate.max(0) - rate.min(0)
    return float(gap[np.isfinite(gap)].mean()) if np.isfinite(gap).any() else float("nan")
