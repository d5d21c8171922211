"""Words about adaptive collection."""

from __future__ import annotations

from polyjudge.panel.numbers import money
from polyjudge.panel.say import Template, Values

ASKED = {
    "judges": "orders of two judges in a language",
    "systems": "orders of two systems in a language",
    "cells": "deviations of a judge in a language",
    "gate": "pass rates of a judge in a language",
}


def _saved(v: Values) -> str:
    what = ASKED[v["questions"]]
    done = (
        f"All {{of}} {what} would have been settled"
        if not v["open"]
        else f"{{settled}} of {{of}} {what} would have been settled"
    )
    unit = "percentage points" if v["questions"] == "gate" else "points"
    return f"{done} with {{share:share}} of the scores ({{calls}}), to within {{matters}} {unit}."


def _look(v: Values) -> str:
    spent = "" if v["cost"] is None else " for {cost:money}"
    low, middle, high = v["ahead"]
    ahead = (
        f" Expected to follow: {middle:,.0f} calls ({low:,.0f} to {high:,.0f}){_dollars(v['money'])}." if high else ""
    )
    return (
        f"Look {{look}} of {{looks}}, {{tasks}} tasks: {{settled}} settled, {{open}} open after {{calls}} calls{spent};"
        f" {{saved}} of {{whole}} are no longer needed.{ahead}"
    )


def _dollars(value: tuple[float, float, float] | None) -> str:
    return "" if value is None else f", {money(value[1])} ({money(value[0])} to {money(value[2])})"


def _expected(v: Values) -> str:
    looks = "It looks after {looks} tasks"
    if v["calls"] is None:
        return (
            f"{looks} and stops when all is settled. To see what that would take, give earlier scores: --pilot SCORES."
        )
    low, middle, high = v["calls"]
    whole = v["whole"]
    return (
        f"Until all is settled: about {middle:,.0f} of {whole:,} calls ({low:,.0f} to {high:,.0f})"
        f"{_dollars(v['money'])}. {looks}."
    )


WORDS: dict[str, Template] = {
    "adaptive.look": _look,
    "adaptive.expected": _expected,
    "replay.title": "Adaptive collection, replayed",
    "replay.saved": _saved,
    "replay.looks": "Looks, planned before the first call",
    "replay.questions": "What was asked, and the answer when it was settled",
    "replay.scope": "above, below: the first surely has the higher mean, or the lower. tied: surely no further apart "
    "than what matters. All answers of a run together hold at the level asked for, however many looks it took. In the "
    "end: from all scores bought, less what stopping at a lucky moment adds.",
}
