"""The answers of a run, each written down at once: what is in this file was paid for and is never asked again.

One line of JSON for each answer, failed call or renamed judge, in the order in which they came. A line that a kill cut
short is no answer: its call was still in flight.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ANSWERS = "answers.jsonl"


@dataclass(frozen=True)
class Answer:
    """The last answer to a call: its text and why it ended, how often was asked, and the tokens of all that was asked
    (None where the service counts none)."""

    text: str
    stop: str
    asked: int = 1
    input_tokens: int | None = None
    output_tokens: int | None = None


class Journal:
    """What judges answered, by judge and id of the call; in a file where a run has one.

    answers : the answers
    failures : of calls without an answer, the last error
    plain : judges whose service refuses a schema of the answer
    left_names : names that judges had before they were renamed
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.answers: dict[str, dict[str, Answer]] = defaultdict(dict)
        self.failures: dict[str, dict[str, str]] = defaultdict(dict)
        self.plain: set[str] = set()
        self.left_names: set[str] = set()
        self.broken: OSError | None = None
        """Why a line could not be written: then nothing more is asked, for it would be lost."""
        if path is not None and path.exists():
            for line in path.read_bytes().split(b"\n"):
                self._take_line(line)

    def add_answer(self, judge: str, id: str, answer: Answer) -> None:
        self._write({"judge": judge, "id": id, **asdict(answer)})

    def add_failure(self, judge: str, id: str, error: str) -> None:
        self._write({"judge": judge, "id": id, "error": error})

    def add_plain(self, judge: str) -> None:
        """Remember that a service refuses a schema."""
        self._write({"judge": judge, "refuses_schema": True})

    def rename(self, before: str, now: str) -> None:
        """The judge has another name now; its answers stay its own."""
        self._write({"judge": now, "was": before})

    def _take_line(self, line: bytes) -> None:
        try:
            entry = json.loads(line)
            self._take(entry)
        except (ValueError, KeyError, TypeError):  # a kill, or a full disk, cut it short
            return

    def _take(self, entry: dict[str, Any]) -> None:
        judge = entry["judge"]
        if "was" in entry:
            self.left_names.add(entry["was"])
            self.answers[judge] |= self.answers.pop(entry["was"], {})
            self.failures[judge] |= self.failures.pop(entry["was"], {})
        elif "refuses_schema" in entry:
            self.plain.add(judge)
        elif "error" in entry:
            self.failures[judge][entry["id"]] = str(entry["error"])
        else:
            fields = {name: entry[name] for name in Answer.__dataclass_fields__}
            self.answers[judge][entry["id"]] = Answer(**fields)
            self.failures[judge].pop(entry["id"], None)

    def _write(self, entry: dict[str, Any]) -> None:
        self._take(entry)
        if self.path is None:
            return
        # The line break stands first: it ends what a kill may have left of an earlier line.
        line = b"\n" + json.dumps(entry).encode()
        try:
            file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                while line:
                    line = line[os.write(file, line) :]
            finally:
                os.close(file)
        except OSError as error:
            self.broken = error
            raise
