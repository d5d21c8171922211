"""Words about adaptive collection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polyjudge.report.words import Template

ASKED = {
    "judges": "orders of two judges in a language",
    "systems": "orders of two systems in a language",
    "cells": "deviations of a judge in a language",
    "gate": "pass rates of a judge in a language",
}


def _saved(v: Mapping[str, Any]) -> str:
    what = ASKED[v["questions"]]
    done = (
        f"All {{of}} {what} would have been settled"
        if not v["open"]
        else f"{{settled}} of {{of}} {what} would have been settled"
    )
    unit = "percentage points" if v["questions"] == "gate" else "points"
    return f"{done} with {{share:share}} of the scores ({{calls}}), to within {{matters}} {unit}."


def _look(v: Mapping[str, Any]) -> str:
    money = "" if v["cost"] is None else ", {cost:money} spent"
    saved = 1 - v["calls"] / v["whole"]
    low, middle, high = v["ahead"]
    ahead = f" Expected: {middle:,.0f} more scores ({low:,.0f} to {high:,.0f})." if v["open"] else ""
    return (
        f"Look {{look}} of {{looks}}, {{tasks}} tasks: {{settled}} settled, {{open}} open; {{calls}} scores{money}"
        f" ({saved:.0%} not bought).{ahead}"
    )


def _end(v: Mapping[str, Any]) -> str:
    bought = "{calls} of {whole} scores bought."
    if not v["finished"]:
        return f"Stopped before the next look, {{open}} of {{of}} questions open. {bought} The same command goes on."
    if v["open"]:
        return f"All is bought; {{open}} of {{of}} questions stay open. {bought}"
    return f"All {{of}} questions are settled. {bought}"


def _expected(v: Mapping[str, Any]) -> str:
    low, middle, high = v["ahead"]
    whole = v["whole"]
    return (
        f"Until all is settled: about {middle:,.0f} of {whole:,} scores ({middle / whole:.0%}; {low / whole:.0%} to "
        f"{high / whole:.0%}), looking after {{looks}} tasks."
    )


WORDS: dict[str, Template] = {
    "adaptive.look": _look,
    "adaptive.end": _end,
    "adaptive.expected": _expected,
    "replay.title": "Adaptive collection, replayed",
    "replay.saved": _saved,
    "replay.looks": "Looks, planned before the first call",
    "replay.questions": "What was asked, and the answer when it was settled",
    "replay.scope": "above, below: the first surely has the higher mean, or the lower. tied: surely no further apart "
    "than what matters. All answers of a run together hold at the level asked for, however many looks it took.",
}
