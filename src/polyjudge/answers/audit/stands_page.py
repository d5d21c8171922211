"""The table and the chart that say whether the win stands (METHODS 36)."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyjudge.answers.audit.stands import Stands
from polyjudge.answers.audit.stands_words import stands_frame
from polyjudge.answers.audit.threats import Threat
from polyjudge.base.later import framed
from polyjudge.base.text import name
from polyjudge.report.model import Chart, Section, Table


def stands_sections(found: Stands, padding: tuple[str, ...] = ()) -> list[Section]:
    """The section under the leaderboard; none where nothing applies.

    padding : what probes say of the same content at greater length; it is shown beside, and settles nothing
    """
    frame = stands_frame(found)
    if not len(frame):
        return []
    panel, top = found.contest.panel, name(found.contest.panel.systems[found.contest.top])
    points = panel.factor
    shown = frame.assign(**{column: points * frame[column] for column in ("left", "low", "high")})
    shown = shown.assign(threat=frame["threat"].replace({"one language": f"one {panel.noun}"}))
    columns = {"threat": "name", "verdict": "name", "left": "+points low high", "text": "text"}
    titles = {"left": "lead that is left", "text": "what that means"}
    note = (
        "stands: still surely ahead. depends, does not stand: surely less than half of the lead is left. Intervals "
        "hold for all pairs of systems at once; of the judges as a sample the range is shown."
    )
    title = _title(found, top)
    table = Table("stands", title, shown, columns, titles, note, in_summary=True)
    chart = _before_and_after(found)
    return [Section("stands", title, (_introduction(found), *padding), (table,), (chart,) if chart is not None else ())]


def _title(found: Stands, top: str) -> str:
    """The question where there is a certain lead; a system that the user compares may be behind the other."""
    if found.is_certain:
        return f"Does {top}'s lead stand?"
    if found.against:
        return f"What the difference between {top} and {name(found.against)} rests on"
    return f"What {top}'s lead rests on"


def _introduction(found: Stands) -> str:
    """What was done to the lead, and what no correction can show."""
    panel = found.contest.panel
    rivals = "every other system"
    if len(found.contest.rivals) == 1:
        rivals = name(panel.systems[found.contest.rivals[0]])
    lead = f"The lead over {rivals}"
    if found.against and not found.is_certain:
        lead = f"The difference from {rivals}"
    text = f"{lead} is taken again without what may have made it, on the same tasks."
    if not found.is_certain:
        text += " There is no certain lead, so there are no verdicts."
    if len(panel.judges) > 1:
        text += " A fault that several judges share passes; the leads by judge show how far they differ."
    return text


def _before_and_after(found: Stands) -> Chart | None:
    """The lead as it is and what is left of it, over the system that is then nearest, for each threat."""
    factor = found.contest.panel.factor
    rows: list[dict[str, Any]] = []
    for threat in found.threats:
        after = threat.after
        if after is None or after.rival < 0:
            continue
        for panel, lead in (("the lead", threat.before), ("what is left", after)):
            value, low, high = (factor * number for number in lead.over(after.rival))
            ends = (low, high) if np.isfinite(low) else (value, value)
            rows.append(
                {
                    "panel": panel,
                    "label": _label(threat, found.contest.panel.noun),
                    "value": value,
                    "low": ends[0],
                    "high": ends[1],
                }
            )
    if not rows:
        return None
    alt = "The lead before and after each correction, with intervals."
    return Chart(
        "stands", "intervals", "The lead before and after", framed(rows), alt,
        x=f"{found.contest.panel.unit_name} ahead of the nearest system", options={"zero": "level"},
    )  # fmt: skip


def _label(threat: Threat, noun: str) -> str:
    """What was corrected."""
    labels = {
        "one judge": "without one judge",
        "one language": f"without one {noun}",
        "own maker": "without own-maker scores",
        "length": "at equal length",
        "position": "both orders equal",
        "copies": "copies as one judge",
        "missing": "lost scores lowest",
    }
    return labels[threat.name]
