"""The truth that mock judges give in runs of real eval tools; any Python runs it, with or without polyjudge."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

TASKS = ["q1", "q2", "q3", "q4"]
LANGUAGES = ["en", "de", "sw"]
SYSTEMS = ["base", "tuned"]
JUDGES = ["strict", "mild"]


def score(task: str, system: str, language: str, judge: str) -> int:
    """From 0 to 10; every cell of its own."""
    place = (TASKS.index(task), SYSTEMS.index(system), LANGUAGES.index(language), JUDGES.index(judge))
    return (place[0] * 3 + place[1] * 4 + place[2] * 5 + place[3] * 2 + place[0] * place[2] * (1 + place[3])) % 11


def answer(task: str, system: str, language: str) -> str:
    """What a system answers, from which a mock judge knows what it judges."""
    return f"<{task}|{system}|{language}>"


def judged(text: str, judge: str) -> int:
    """What a judge says of the last answer in a text."""
    task, system, language = re.findall(r"<(\w+)\|(\w+)\|(\w+)>", text)[-1]
    return score(task, system, language, judge)


def question(task: str, language: str) -> str:
    """A question as it is asked: another text in every language."""
    return f"Frage {task} ({language})"


def items() -> list[tuple[str, str, str]]:
    """Task, system, language."""
    return [(task, system, language) for system in SYSTEMS for task in TASKS for language in LANGUAGES]


def target() -> Path:
    """The folder that a producer was told to write to."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def table() -> str:
    """All scores as JSON, for judges in other languages."""
    return json.dumps({answer(*item) + judge: score(*item, judge) for item in items() for judge in JUDGES})
