"""What readers share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from polyjudge.panel.errors import PolyjudgeError


@dataclass(frozen=True)
class Source:
    """Where a set comes from: its licence, the commit that was read, and the files that must be there."""

    name: str
    where: str
    licence: str
    commit: str
    needs: str


class Absent(PolyjudgeError):
    """The folder has no such set, or only a part of it."""


def first(folder: Path, *patterns: str) -> Path:
    """The first file or folder that fits, also in folders one or two levels down."""
    for pattern in patterns:
        for prefix in ("", "*/", "*/*/"):
            hits = sorted(folder.glob(prefix + pattern))
            if hits:
                return hits[0]
    raise Absent(f"{patterns[0]} is not there")
