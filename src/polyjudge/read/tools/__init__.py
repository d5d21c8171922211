"""Files of evaluation tools: each module turns records into rows of a long table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Found:
    """A long table of a tool, and what had to be said about it."""

    tool: str
    frame: Any
    notes: tuple[str, ...] = ()


def read(paths: list[Path], where: str) -> Found | None:
    """The long table of a tool's files; None when they are none."""
    return None
