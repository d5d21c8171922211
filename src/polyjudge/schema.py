"""The frame around every JSON result: what `--json` prints and what a report page carries."""

from __future__ import annotations

from typing import Any

from polyjudge._version import __version__

SCHEMA = 1
"""Version of the JSON. It rises when a field changes its meaning or goes."""


def envelope(command: str, result: dict[str, Any]) -> dict[str, Any]:
    """A result with the schema version, the command and the program's version."""
    return {"schema": SCHEMA, "command": command, "polyjudge": __version__, **result}
