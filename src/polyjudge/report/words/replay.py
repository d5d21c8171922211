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


WORDS: dict[str, Template] = {
    "replay.title": "Adaptive collection, replayed",
    "replay.saved": _saved,
    "replay.looks": "Looks, planned before the first call",
    "replay.questions": "What was asked, and the answer when it was settled",
    "replay.scope": "above, below: the first surely has the higher mean, or the lower. tied: surely no further apart "
    "than what matters. All answers of a run together hold at the level asked for, however many looks it took.",
}
