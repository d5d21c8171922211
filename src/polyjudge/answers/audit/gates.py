"""What passes, raw and calibrated (METHODS 9); position, length, several criteria (METHODS 25)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polyjudge import cbc
from polyjudge.answers.audit.systems import LEAST, seen_means, spelled, tiny_of
from polyjudge.base.later import Later, framed
from polyjudge.base.numbers import number, percent, percent_ci, threshold
from polyjudge.base.text import name, names
from polyjudge.panel import Panel
from polyjudge.report.model import Finding
from polyjudge.stats.interval import interval

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
MATTERS = 0.05
"""A preference of so much for the answer shown first is worth a warning when it is sure."""
ALIKE = 0.9
"""Correlation of one judge's scores on two criteria from which they say nearly the same."""


# --- pass rates ---


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


# --- position ---


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


# --- length ---


@dataclass(frozen=True)
class Length:
    """frame : language, judge, slope (points per doubling of the length, within task and system), low, high

    board : system, mean, at_equal_length, rank, rank_at_equal_length; a description: longer may be better
    """

    frame: Later[pd.DataFrame] = Later()
    board: Later[pd.DataFrame] = Later()
    findings: tuple[Finding, ...] = ()


def length(panel: Panel, *, level: float) -> Length | None:
    """Scores and the length of responses; None where responses are not at hand or all are equally long."""
    if panel.length is None or not panel.has_systems:
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


# --- several criteria ---


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
