"""The work to be judged, read from a folder of files: a list of the files, and those that the requirements name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from polyjudge.panel.errors import CollectError
from polyjudge.panel.labels import clean

NAMED = re.compile(r"`([^`\s]+)`")
LISTED = 200
"""Files named in the list at the top."""
SKIPPED = {".git", "__pycache__", "node_modules", ".venv", "venv"}


def named_files(criteria: Iterable[str]) -> list[str]:
    """What stands between backticks in criteria and has a dot or a slash in it: `src/train.py`, `models/`."""
    found = (name for text in criteria for name in NAMED.findall(text))
    return list(dict.fromkeys(name.strip("/") for name in found if "/" in name or "." in name))


def read_workspace(folder: Path, named: Iterable[str], budget: int = 40_000) -> str:
    """A workspace as text: the list of its files, then the named files as far as `budget` characters go.

    A file gets an equal share of what is left, so that a long one does not push out the others; what was cut is said.
    Links that lead out of the folder are not followed.
    """
    if not folder.is_dir():
        raise CollectError(f"There is no workspace {clean(folder, 200)}.")
    root = folder.resolve()
    files = sorted(_files(root))
    listing = "\n".join(files[:LISTED]) + (f"\n... and {len(files) - LISTED} more" if len(files) > LISTED else "")
    found = {n: [f for f in files if f == n or f.startswith(f"{n}/") or f.endswith(f"/{n}")] for n in named}
    wanted = list(dict.fromkeys(f for some in found.values() for f in some))
    parts = [f"Files:\n{listing or '(none)'}"]
    left = max(budget - len(parts[0]), 0)
    for i, name in enumerate(wanted):
        text = _text(root / name, left // (len(wanted) - i))
        left -= len(text)
        parts.append(f"File {name}:\n{text}")
    absent = [name for name, some in found.items() if not some]
    if absent:
        parts.append(f"Not there: {', '.join(absent)}")
    return "\n\n".join(parts)


def _files(root: Path) -> Iterable[str]:
    for folder, names, files in os.walk(root):
        names[:] = sorted(n for n in names if n not in SKIPPED)
        for name in files:
            path = Path(folder) / name
            if path.resolve().is_relative_to(root):
                yield path.relative_to(root).as_posix()


def _text(path: Path, most: int) -> str:
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            data = file.read(4 * most + 4)
    except OSError as error:
        return f"(cannot be read: {error.strerror})"
    if b"\0" in data:
        return f"(binary, {size:,} bytes)"
    text = data.decode("utf-8", "replace")
    return text if len(text) <= most and len(data) == size else f"{text[:most]}\n(cut: {size:,} bytes in all)"
