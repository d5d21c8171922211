"""How a page was made: versions, seed, fingerprint and the command that makes it again."""

from __future__ import annotations

import platform
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version

from polyjudge._version import __version__

LIBRARIES = ("numpy", "scipy", "pandas", "vl-convert-python")
SECRET = re.compile(r"(://[^:/@\s]*:)[^@/\s]+@|((?:password|passwd|token|secret|api_?key)=)[^&\s]+", re.IGNORECASE)


def facts(settings: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """Name and value of everything the numbers depend on: the settings given, and versions."""
    out = [(name, f"{value:g}" if isinstance(value, float) else str(value)) for name, value in settings.items()]
    out.append(("polyjudge", __version__))
    out.append(("python", platform.python_version()))
    for library in LIBRARIES:
        try:
            out.append((library, version(library)))
        except PackageNotFoundError:
            continue
    return tuple(out)


def command_line(arguments: Sequence[str] | None = None) -> str:
    """The command that is running, as a shell would take it, without passwords."""
    return SECRET.sub(
        lambda m: f"{m[1]}***@" if m[1] else f"{m[2]}***",
        shlex.join(["polyjudge", *(sys.argv[1:] if arguments is None else arguments)]),
    )
