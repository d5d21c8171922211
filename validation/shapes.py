"""Panels of other shapes: one language or judge, several criteria, pairs in two orders, answers with lengths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polyjudge.calibrate.consensus import ConsensusCalibrator
from polyjudge.estimate.kernels import double_centre
from polyjudge.panel.arrays import Array
from polyjudge.panel.panel import Panel
from polyjudge.panel.shown import Shown
from polyjudge.questions.audit.audit import audit
from polyjudge.questions.audit.by_criterion import audit_criteria
from polyjudge.questions.drift.drift import drift
from polyjudge.questions.position import position
from polyjudge.questions.systems.leaderboard import leaderboard
from polyjudge.questions.systems.length import length
from validation.scenarios import Found, Scenario

FEW = 199
QUALITY = np.array([4.0, 1.0, 0.0, 0.0])
"""Of four systems, the last two of which are equal."""


def _judged(rng: np.random.Generator, s: Scenario, noise: float = 8.0) -> Array:
    """(n, 4, k, m) scores with tasks, judges and systems of their own levels."""
    n, k, m = s.tasks, s.languages, s.judges
    out = 50 + rng.normal(0, 8, (n, 1, 1, 1)) + rng.normal(0, 4, m) + QUALITY[:, None, None]
    return np.asarray(out + rng.normal(0, 4, (n, 4, 1, 1)) + rng.normal(0, noise, (n, 4, k, m)))


def _panel(scores: Array, **more: Any) -> Panel:
    systems = [f"system{i + 1}" for i in range(scores.shape[1])]
    return Panel.from_array(scores, systems=systems, **more)


def alone(s: Scenario, seed: int) -> Found:
    """One language, or one judge: rank sets hold, a calm audit warns of nothing, a change of a judge is found."""
    rng = np.random.default_rng([seed, 25])
    panel = _panel(_judged(rng, s))
    board = leaderboard(panel, resamples=FEW).systems
    board = board[board["language"] == "(all)"].set_index("system").loc[list(panel.systems)]
    best = np.array([1 + (q < QUALITY).sum() for q in QUALITY])
    last = np.array([(q <= QUALITY).sum() for q in QUALITY])
    held = (board["rank_low"].to_numpy() <= best) & (board["rank_high"].to_numpy() >= last)
    warned = [f.code for f in audit(panel, resamples=FEW).findings if f.weight >= 2]
    cal = ConsensusCalibrator().fit(panel)
    again = panel.system_scores + rng.normal(0, 4, panel.system_scores.shape)  # type: ignore[union-attr,operator]
    moved = again - 6.0 * (np.arange(s.judges) == 0)
    calm, changed = (drift(cal, _panel(x, tasks=panel.tasks)).findings for x in (again, moved))
    return {
        "rank sets, coverage": bool(held.all()),
        "alone, audits without a warning": not warned,
        "alone, a change is said and there is none": any(f.weight >= 2 for f in calm),
        "alone, a change of 6 points is found": any(f.weight >= 2 for f in changed),
    }


def placed(s: Scenario, seed: int) -> Found:
    """Verdicts on two systems in both orders, or in one by chance; the first judge follows the slot in a share of
    verdicts, which the first place then wins by half of it beyond one half."""
    rng = np.random.default_rng([seed, 26])
    n, k, m = s.tasks, s.languages, s.judges
    share = np.where(np.arange(m) == 0, s.ask["slot"], 0.0)
    ahead = 0.3 + rng.normal(0, 0.7, (n, 1, 1, 1))
    sign = np.array([1.0, -1.0])  # the better system first, or second
    own = np.sign(ahead + rng.normal(0, 0.5, (n, k, m, 2))) * sign
    margin = np.where(rng.random(own.shape) < share[:, None], 1.0, own)
    asked = np.ones(own.shape, bool)
    if s.ask.get("orders") == "one":
        asked = np.broadcast_to((rng.random((n, 1, 1, 1)) < 0.5) == np.array([True, False]), own.shape)
    unit, language, judge, order = np.nonzero(asked)
    shown = Shown(("x", "y"), unit, language, judge, order, 1 - order, margin[asked], np.ones(len(unit), np.int64))
    scores = np.where(asked, margin * sign, np.nan)
    panel = Panel.from_array(np.nanmean(scores, axis=3), shown=shown, declared_range=(-1, 1))
    found = position(panel)
    assert found is not None
    whole = found.cells[(found.cells["language"] == "(all)") & found.cells["judge"].isin(panel.judges)]
    truth = share / 2
    rest = found.cells[(found.cells["judge"] != panel.judges[0]) & (found.cells["judge"] != "(all)")]
    covered = (whole["low"].to_numpy() <= truth + 1e-12) & (truth <= whole["high"].to_numpy() + 1e-12)
    out: Found = {
        "preference for a place, coverage": float(covered.mean()),
        "a place is said to be preferred, none is": bool(rest["clear"].any()),
    }
    if share[0]:
        out["a judge that follows the slot is found"] = bool(whole["clear"].iloc[0])
    return out


def lengths(s: Scenario, seed: int) -> Found:
    """The second judge gives 3 points to an answer twice as long; later systems write more. The slope within tasks also
    holds what longer systems are better or worse by: it describes, and that part of it is known here."""
    rng = np.random.default_rng([seed, 27])
    longer, own = np.array([0, 0.3, 0.6, 1.2]), 0.8
    logs = 7 + rng.normal(0, own, (s.tasks, 4, s.languages)) + longer[:, None]
    apart = logs - logs.mean(axis=1, keepdims=True)
    paid = np.where(np.arange(s.judges) == 1, 3.0, 0.0)
    quality = QUALITY * s.ask["quality"]
    panel = _panel(_judged(rng, s) + (quality - QUALITY)[:, None, None] + apart[..., None] * paid)
    shared = np.cov(quality, longer, ddof=0)[0, 1] / (longer.var() + own**2 * 3 / 4)
    slope = paid + shared
    found = length(panel, 2**logs)
    assert found is not None
    whole = found.cells[(found.cells["language"] == "(all)") & found.cells["judge"].isin(panel.judges)]
    inside = (whole["low"].to_numpy() <= slope) & (slope <= whole["high"].to_numpy())
    out: Found = {"slope on length, coverage": float(inside.mean())}
    if not s.ask["quality"]:
        clear, top = whole["clear"].to_numpy(), found.systems["top_set"]
        out["scores are said to go with length, they do not"] = bool(clear[paid == 0].any())
        out["scores that go with length are found"] = bool(clear[1])
        out["equal systems at equal length, kept as best"] = bool(top.all())
    return out


def criteria(s: Scenario, seed: int) -> Found:
    """Three criteria of the same answers; in the last one a judge may be 15 points off in a language."""
    rng = np.random.default_rng([seed, 28])
    panels = {}
    for name in ("clarity", "depth", "tone"):
        scores = _judged(rng, s)
        if name == "tone":
            scores[:, :, 0, 0] -= float(s.ask["fault"])
        panels[name] = _panel(scores)
    table = audit_criteria(panels, resamples=FEW).table.set_index("criterion")
    named = table["excess"].notna()
    out: Found = {"a cell of a criterion is named, none is off": bool(named[["clarity", "depth"]].any())}
    if s.ask["fault"]:
        out["the criterion with the fault is named"] = bool(named["tone"])
    return out


def unjoined(s: Scenario, seed: int) -> Found:
    """Every task has one language, some of few tasks, some of many: intervals of the interaction hold, a calm audit
    warns of nothing, a judge that is off in one language is named."""
    rng = np.random.default_rng([seed, 29])
    sizes, k, m = s.ask["sizes"], s.languages, s.judges
    both, q = s.ask.get("shared", 0), 3 if s.ask.get("systems") else 1
    of = np.repeat(np.arange(k), sizes)
    there = of[:, None] == np.arange(k)
    there[:both, 1] = True  # tasks that the first two languages share
    scores = 50 + rng.normal(0, 8, (len(of), 1, 1, 1)) + rng.normal(0, 4, m) + rng.normal(0, 3, (len(of), 1, 1, m))
    scores = scores + rng.normal(0, 5, (k, 1)) + rng.normal(0, 4, (len(of), q, k, 1))
    scores = scores + rng.normal(0, 5, (len(of), q, k, m)) * s.ask.get("noise", np.ones(k))[:, None]
    off = np.zeros((k, m))
    off[0, 0] = -float(s.ask.get("off", 0.0))
    kept = there[:, None, :, None] & (rng.random(scores.shape) >= s.ask.get("holes", 0.0))
    scores = np.where(kept, scores + off, np.nan)
    panel = _panel(scores) if q > 1 else Panel.from_array(scores[:, 0])
    found = audit(panel, resamples=FEW)
    assert found.uncertainty is not None
    assert found.explanation is not None
    cells, truth = found.uncertainty.cells, double_centre(off).ravel()
    low, high, band_low, band_high = (cells[name].to_numpy() for name in ("low", "high", "band_low", "band_high"))
    out: Found = {
        "error": cells["interaction"].to_numpy() - truth,
        "interval coverage": float(((low <= truth) & (truth <= high)).mean()),
        "band coverage": bool(((band_low <= truth) & (truth <= band_high)).all()),
    }
    named = found.explanation.cells["named"].to_numpy(bool)
    if off.any():
        out["the broken cell is named"] = bool((named == (off.ravel() != 0)).all())
        out["a sound cell is named"] = bool(named[1:].any())
    else:
        out["audits without a warning"] = not [f.code for f in found.findings if f.weight >= 2]
    return out


CHECKS: dict[str, Callable[[Scenario, int], Found]] = {
    "alone": alone,
    "placed": placed,
    "lengths": lengths,
    "criteria": criteria,
    "unjoined": unjoined,
}
