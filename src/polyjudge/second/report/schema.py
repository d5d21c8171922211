"""The frame around every JSON result: what `--json` prints and what a report page carries."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

from polyjudge._version import __version__
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.files import read_text
from polyjudge.second.panel.labels import clean

SCHEMA = 2
"""Version of the JSON. It rises when a field changes its meaning or goes."""


HIDDEN = "[\ud800-\udfff\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\x7f-\x9f]"
"""Halves of surrogate pairs, direction and other invisible characters."""


def envelope(command: str, result: dict[str, Any]) -> dict[str, Any]:
    """A result with the schema version, the command and the program's version."""
    return {"schema": SCHEMA, "command": command, "polyjudge": __version__, **result}


def read_report(path: str | Path) -> dict[str, Any]:
    """The results of a saved report: of `audit.json` (or any command's), of what `--json` printed, or of `report.html`.

    The same as `to_dict()` of the result, with `schema` (version of the format), `command` and `polyjudge` (version).
    """
    where, text = clean(Path(path).name), read_text(path, MOST)
    page = re.search(r'<script type="text/plain" id="results">([\w+/=\s]*)</script>', text)
    try:
        data = json.loads(unpack(page[1]) if page else text)
    except (ValueError, RecursionError, zlib.error):
        data = None
    if not isinstance(data, dict) or not isinstance(data.get("command"), str):
        raise UsageError(f"{where} is no report of polyjudge: give audit.json or report.html of its folder.")
    version = data.get("schema")
    if isinstance(version, bool) or not isinstance(version, int) or not 1 <= version <= SCHEMA:
        raise UsageError(
            f"{where} has report format {clean(version)}; this polyjudge ({__version__}) reads 1 to {SCHEMA}. Use the "
            "polyjudge that wrote it."
        )
    return data


MOST = 1 << 30
"""Characters of a report, and of what a page's results unpack to."""


def pack(text: str) -> str:
    """A text deflated and in base64: a browser and `read_report` unpack it."""
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def unpack(text: str) -> str:
    """What `pack` packed."""
    inflate = zlib.decompressobj()
    found = inflate.decompress(base64.b64decode(text), MOST)
    if not inflate.eof:
        raise ValueError("cut off, or too long")
    return found.decode()


def to_json(value: Any, indent: int | None = None) -> str:
    """JSON text that every encoding of Unicode can hold: NaN is an error, half a surrogate pair is escaped.

    So are characters that turn the direction of what follows: a terminal or an editor would show another text.
    """
    separators = (",", ":") if indent is None else None
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators)
    return re.sub(HIDDEN, lambda found: f"\\u{ord(found[0]):04x}", text)
