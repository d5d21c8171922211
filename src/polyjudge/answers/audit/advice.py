"""What to do next: commands with the user's own source and words, following from what was found."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from polyjudge.base.text import name, shell
from polyjudge.panel import Panel
from polyjudge.report.model import Finding, Step

PER_LANGUAGE = 20
"""Labels to begin with (METHODS 22)."""


def command(panel: Panel, verb: str, *words: Any) -> str:
    """A command on the same scores, read the same way."""
    source = panel.source or "scores.csv"
    return " ".join(["polyjudge", verb, *(shell(w) for w in (source, *panel.read, *words))])


def cell_command(panel: Panel, language: str, judge: str) -> str:
    """The command that shows the answers of a cell."""
    return command(panel, "audit", "--cell", f"{language},{judge}")


def steps(panel: Panel, findings: Iterable[Finding], kind: str, named: list[tuple[str, str]], people: bool) -> list[Step]:
    """Most useful first, at most four; each follows from a finding."""
    keys = {f.key for f in findings}
    out = []
    label = Step(
        command(panel, "label make", "-n", str(PER_LANGUAGE)),
        f"draw {PER_LANGUAGE} answers per {panel.noun} for people to label"
        if len(panel.languages) > 1
        else f"draw {PER_LANGUAGE} answers for people to label",
    )
    blind = bool(keys & {"judges.blind", "judges.hardly"})
    for language, judge in named[:2]:
        out.append(Step(cell_command(panel, language, judge), f"read {name(judge, 30)}'s {name(language, 30)} answers"))
    if blind or "judges.split" in keys:
        if not people:
            out.insert(0, label)
        return out[:4]
    if kind == "many":
        out.append(Step(command(panel, "calibrate", "-o", "calibrated.csv"), "remove what language does to the judges"))
    elif kind in ("judge gaps", "language gaps", "two by two", "split", "scale") or len(named) > 2:
        out.append(
            Step(command(panel, "calibrate", "-o", "calibrated.csv"), "if you use one judge at a time")
        )
    if not people:
        out.append(label)
    if keys & {"winner.close"} and not panel.weight.sum() > 5000:
        out.append(Step(command(panel, "plan"), "how many tasks would tell"))
    return out[:4]
