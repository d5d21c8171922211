"""What to do next: commands with the user's own source and words, following from what was found."""

from __future__ import annotations

from collections.abc import Collection, Iterable
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


def _two_systems(findings: Collection[Finding]) -> tuple[str, ...]:
    """The systems that people should label where the winner cannot be told from the length of its answers; none where a
    name has a comma, which a list cannot hold."""
    for finding in findings:
        pair = (finding.where.get("system", ""), finding.where.get("rival", ""))
        if finding.key == "winner.length" and all(pair) and "," not in "".join(pair):
            return ("--systems", ",".join(pair))
    return ()


def steps(
    panel: Panel, findings: Collection[Finding], kind: str, cells: Iterable[tuple[str, str]], lacking: list[Step] | None
) -> list[Step]:
    """Most useful first, at most four; each follows from a finding.

    cells : language and judge whose answers should be read
    lacking : how to get the labels that are lacking, where there are some; None where there are none
    """
    keys = {f.key for f in findings}
    out = [
        Step(
            command(panel, "audit", "--cell", f"{language},{judge}"),
            f"read {name(judge, 30)}'s {name(language, 30)} answers".replace(" (empty)", ""),
        )
        for language, judge in list(cells)[:2]
    ]
    where = f" per {panel.noun}" if len(panel.languages) > 1 else ""
    items = () if panel.texts is not None else ("--items", "ITEMS")
    by = f"task{', system' * panel.has_systems}{', language' * (where == ' per language')}"
    texts = f". ITEMS: file of {by}, prompt, response" if items else ""
    make = command(panel, "label make", *items, *_two_systems(findings), "-n", str(PER_LANGUAGE))
    label = [Step(make, f"label {PER_LANGUAGE} answers{where}{texts}")] if lacking is None else lacking
    calibrate = command(panel, "calibrate", "-o", "calibrated.csv")
    remove = [Step(calibrate, f"remove the effect of {panel.noun} on the judges")] if kind == "many" else []
    if keys & {"judges.blind", "judges.hardly", "judges.split", "judges.constant"}:
        return [*label, *remove, *out]
    out = [*remove, *out, *label]
    if kind in ("judge gaps", "language gaps", "two by two", "split", "scale"):
        out.append(Step(calibrate, "if you use one judge at a time"))
    if any(f.key == "winner.close" and "tasks would" in f.text for f in findings):
        out.append(Step(command(panel, "plan"), "how many tasks would tell"))
    return out[:4]
