"""Words about gates."""

from __future__ import annotations

from polyjudge.panel.numbers import missing
from polyjudge.panel.say import Template, Values


def _spread(v: Values) -> str:
    chance = "" if missing(v["chance"]) else " By chance alone it would be {chance:.1f}."
    return (
        "The same judge passes {raw/raw_low/raw_high:.1f} percentage points more tasks in its best language than in "
        f"its worst.{chance}"
    )


def _gain(v: Values) -> str:
    if v["low"] > 0:
        return "Calibrating takes {reduction/low/high:.1f} percentage points off that gap on tasks it has not seen."
    if v["high"] < 0:
        wider = f"{-v['reduction']:.1f} [{-v['high']:.1f}, {-v['low']:.1f}]"
        return (
            f"Do not calibrate for this gate: it widens that gap by {wider} percentage points on tasks it has not seen."
        )
    return (
        "Calibrating does not surely narrow that gap on tasks it has not seen: {reduction/low/high:+.1f} percentage "
        "points."
    )


def _side(v: Values) -> str:
    return "at or above" if v["at_least"] else "above"


WORDS: dict[str, Template] = {
    "gate.title": lambda v: f"Gate: a task passes {_side(v)} {{threshold}}",
    "gate.flips": lambda v: (
        "Calibrating turns no decision."
        if v["flips"] == 0
        else "Calibrating turns {flips} of {decisions} decisions ({share/low/high:share})."
    ),
    "gate.spread": _spread,
    "gate.gain": _gain,
    "gate.rates-chart": "From {low:share} ({low_judge} in {low_language}) to {high:share} ({high_judge} in "
    "{high_language}).",
    "gate.rates": lambda v: f"Pass rates {_side(v)} {{threshold}}, {{stage}}, % of tasks",
    "gate.systems": lambda v: f"Answers of each system that pass {_side(v)} {{threshold}}, over its judges",
    "gate.same-tasks": "On the same tasks the gap after calibrating is {calibrated/low/high:.1f} points.",
    "gate.held-out": "On left-out tasks it is {raw:.1f} points raw and {calibrated:.1f} calibrated ({resamples} "
    "resamples of the tasks, {level:share} intervals).",
    "gate.scope": "Calibration shifts all scores of a judge in a language alike, so their order stays. What all judges "
    "share in a language stays too. Equal pass rates are consistent ones; which rate is right needs labels.",
    "gate.unnamed": "No gate was named. With --at SCORE you also see the pass rates at that score.",
    "gate.sweep-chart": "For each judge the largest less the smallest pass rate over languages, averaged over judges. "
    "Raw it reaches {raw:.1f} percentage points, calibrated {calibrated:.1f}. Bands are {level:share} intervals over "
    "resampled tasks.",
    "gate.contrast": "{base} less the mean of the other languages, percentage points",
    "gate.note.outside": "{count} thresholds of the sweep lie outside the scores [{low}, {high}] and were left out.",
    "gate.note.fewer-resamples": "{made} of {asked} resamples were made, to bound the time on {units} units.",
    "gate.note.missing": "Scores are missing: pass rates are least-squares estimates with task and cell effects.",
    "gate.note.units": "Units hold several tasks: each passes by the mean of its tasks, so these are rates of units.",
}
