"""What stands where: the one list of questions, and what rooms above add to rooms below.

A line of `QUESTIONS` and the folder of that name are all that a question needs to be there: its public names, its
command and its words are found through this list.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import NamedTuple


class Question(NamedTuple):
    """Where help shows the command of a question, and its public names: name -> module in its folder."""

    group: str
    names: dict[str, str]


QUESTIONS: dict[str, Question] = {
    "check": Question("start", {}),
    "audit": Question("decide", {"audit": "audit"}),
    "systems": Question("decide", {"systems": "systems"}),
    "compare": Question("decide", {"compare": "held_out"}),
    "judges": Question("decide", {"judges": "judges"}),
    "label": Question("decide", {"label": "label"}),
    "anchor": Question("decide", {"anchor": "anchors"}),
    "probe": Question("decide", {"probe": "reaction"}),
    "drift": Question("watch", {"drift": "drift"}),
    "plan": Question("collect", {"plan": "planning", "replay": "sequential"}),
}
"""Folder in `questions/` -> what it brings. Its `command.py` has the command of that name."""
ADDED: dict[str, list[str]] = {
    "words": [
        "polyjudge.second.panel.notes",
        "polyjudge.second.read.words",
        "polyjudge.second.report.words",
        *(f"polyjudge.second.questions.{name}.words" for name in QUESTIONS),
        "polyjudge.second.calibrate.words",
        "polyjudge.second.collect.words",
        "polyjudge.second.paper.words",
    ],
    "methods": ["polyjudge.second.paper.methods"],
    "formats": ["polyjudge.second.collect.runs"],
    "prices": ["polyjudge.second.collect.spent"],
    "probes": ["polyjudge.second.collect.probe_files"],
}
"""What is added -> the modules that bring it, imported when it is first asked for."""


def each(kind: str) -> Iterator[ModuleType]:
    """The modules that bring something of a kind, each imported when it is its turn."""
    return map(import_module, ADDED[kind])


def load(kind: str) -> list[ModuleType]:
    """The same, all at once."""
    return list(each(kind))
