"""How a table was understood: which column plays which role and how that was found, its shape, its values, the doubts.

Every panel that was read from somewhere carries one; `check`, the first lines of every command and the JSON show it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.files import atomic_write, read_json
from polyjudge.second.panel.labels import clean, shell_line, some
from polyjudge.second.panel.records import plain
from polyjudge.second.panel.say import Say

How = Literal[
    "named", "usual name", "content", "joins", "nested", "pattern", "file name", "column names", "row", "format",
    "only",
]  # fmt: skip
"""How a role was found: "joins" is a field that joins tests in several languages, "nested" one of a usual name, "only"
says that there is but one and no column."""
ROLES = ("task", "system", "language", "judge", "score", "replicate", "cluster", "group")


@dataclass(frozen=True, kw_only=True)
class RoleRead:
    """One role: where it stands, how that was found, and some of what it holds."""

    role: str
    column: str
    how: How
    labels: tuple[str, ...] = ()
    """The first few."""
    distinct: int | None = None


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a source was understood."""

    source: str
    format: str
    """"csv", "parquet", "inspect", ...: a name of `polyjudge check --formats`, or "data frame"."""
    shape: str = "long"
    """"long"; "wide" (scores in several columns); "pairs" (winners turned into margins)."""
    roles: tuple[RoleRead, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    """How scores became numbers: kind, map, missing_words, ... (`sources.formats.values`)."""
    unused: tuple[str, ...] = ()
    doubts: tuple[Say, ...] = ()
    """Readings that a person should confirm."""
    questions: tuple[Say, ...] = ()
    """What must be said before the table can be read."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Flags that say all of this, so that nothing is left to guess."""

    def role(self, name: str) -> RoleRead | None:
        return next((r for r in self.roles if r.role == name), None)

    def command(self, what: str = "audit") -> str:
        """The full command to paste.

        >>> Reading(source="my scores.csv", format="csv", options={"--task": "id"}).command()
        "polyjudge audit 'my scores.csv' --task id"
        """
        return shell_line(["polyjudge", what, self.source, *(word for pair in self.options.items() for word in pair)])

    def words(self) -> str:
        """The source and the options it cannot be read without, to paste into a command; empty for frames."""
        if self.format == "data frame":
            return ""
        words = [self.source]
        for flag, given in self.options.items():
            role = self.role(flag.removeprefix("--"))
            if role is None or role.how in ("named", "pattern"):
                words += [flag, given]
        return shell_line(words)

    def to_dict(self) -> dict[str, Any]:
        return {**plain(self), "command": self.command()}


FORMAT = "polyjudge-reading"


def save_reading(reading: Reading, path: str | Path) -> None:
    """Keep how a source was read, for the same or another file: `--reading FILE`."""
    body = {"format": FORMAT, "version": 1, "source": reading.source, "options": dict(reading.options)}
    with atomic_write(path) as file:
        file.write(json.dumps(body, indent=1) + "\n")


def kept_options(path: str | Path) -> dict[str, Any]:
    """What a file of `save_reading` says, as arguments of `read_panel`."""
    body = read_json(path, 1 << 20)
    options = body.get("options") if isinstance(body, dict) and body.get("format") == FORMAT else None
    if not isinstance(options, dict) or any(f not in KEPT or not isinstance(v, str) for f, v in options.items()):
        raise UsageError(f"{clean(path, 200)} is no reading that polyjudge check --save wrote.")
    out: dict[str, Any] = {KEPT[flag]: value for flag, value in options.items()}
    for name in ("languages", "judges"):
        out |= {name: out[name].split(",")} if name in out else {}
    if "range" in out:
        out["range"] = tuple(out["range"].split(":"))
    return out


KEPT = {f"--{name.replace('_', '-')}": name for name in (
    *ROLES, "by", "language_from", "judge_from", "wide", "map", "decimal", "winner", "swapped", "format", "metric",
    "alike", "rescale", "range", "duplicates", "incomplete", "languages", "judges",
)}  # fmt: skip
"""Flags that a reading keeps, and the arguments of `read_panel` they are."""


def message(reading: Reading, names: Sequence[str] = ()) -> str:
    """All questions of a reading in one paragraph."""
    lacking = [str(q.values["role"]) for q in reading.questions if q.code == "read.missing"]
    none = f"No column for {' and '.join(lacking)} was found among {some(names, 30, repr)}. " if lacking else ""
    return f"{clean(reading.source, 200)} cannot be read yet. {none}" + " ".join(map(str, reading.questions))


class Unclear(PanelError):
    """The table cannot be read without an answer. `reading` is what was understood, with its questions."""

    def __init__(self, message: str, reading: Reading) -> None:
        super().__init__(message)
        self.reading = reading
