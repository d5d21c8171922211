"""What stands where: the one list of questions, and what rooms above add to rooms below.

A line of `QUESTIONS` and the folder of that name are all that a question needs to be there: its public names, its
command and its words are found through this list.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

QUESTIONS: dict[str, tuple[str, ...]] = {
    "check": ("check",),
    "audit": ("audit",),
    "systems": ("systems",),
    "compare": ("compare",),
    "judges": ("judges",),
    "anchor": ("anchor",),
    "probe": ("probe",),
    "plan": ("plan", "replay"),
    "drift": ("drift",),
}
"""Folder in `questions/` -> the public names it brings."""
ADDED: dict[str, list[str]] = {
    "words": [
        "polyjudge.panel.notes",
        "polyjudge.read.words",
        "polyjudge.report.words",
        *(f"polyjudge.questions.{name}.words" for name in QUESTIONS),
        "polyjudge.collect.words",
        "polyjudge.paper.words",
    ],
    "methods": ["polyjudge.paper.methods"],
    "formats": ["polyjudge.collect.runs"],
    "prices": ["polyjudge.collect.spent"],
    "probes": ["polyjudge.collect.probes"],
}
"""What is added -> the modules that bring it, imported when it is first asked for."""


def load(kind: str) -> list[ModuleType]:
    """The modules that bring something of a kind."""
    return [import_module(name) for name in ADDED[kind]]
