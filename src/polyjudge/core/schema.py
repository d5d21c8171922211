"""The frame around every JSON result: what `--json` prints and what a report page carries."""

from __future__ import annotations

import json
import re
from typing import Any

from polyjudge._version import __version__

SCHEMA = 1
"""Version of the JSON. It rises when a field changes its meaning or goes."""


HIDDEN = "[\ud800-\udfff\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f\ufeff\x7f-\x9f]"
"""Halves of surrogate pairs, direction and other invisible characters."""


def envelope(command: str, result: dict[str, Any]) -> dict[str, Any]:
    """A result with the schema version, the command and the program's version."""
    return {"schema": SCHEMA, "command": command, "polyjudge": __version__, **result}


def to_json(value: Any, indent: int | None = None) -> str:
    """JSON text that every encoding of Unicode can hold: NaN is an error, half a surrogate pair is escaped.

    So are characters that turn the direction of what follows: a terminal or an editor would show another text.
    """
    separators = (",", ":") if indent is None else None
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators)
    return re.sub(HIDDEN, lambda found: f"\\u{ord(found[0]):04x}", text)
