"""How much memory the work may take: what the user says, else half of what the machine or its control group allows."""

from __future__ import annotations

import os
import re
from pathlib import Path

from polyjudge.second.panel.errors import TooWide, UsageError

VARIABLE = "POLYJUDGE_MEMORY"
"""Environment variable with the budget, such as 4GB."""
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_GROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
LEAST = 256 << 20
LEAST_ROOM = 2 << 30
"""Address space that the libraries take, with some scores."""
MOST_COMPARED = 250_000_000
"""Comparisons that one analysis makes over all resamples, about half a minute. Pairs grow with the square."""


def parse_memory(text: str) -> int:
    """Bytes of a size such as 4GB, 500M or 1.5 GiB.

    >>> parse_memory("2GB") == 2 * 1024**3
    True
    """
    found = re.fullmatch(r"\s*(\d{1,12}(?:\.\d{1,6})?)\s*([kmgt]?)i?b?\s*", text, re.IGNORECASE)
    size = float(found[1]) * _UNITS[found[2].lower()] if found else 0.0
    if size < LEAST:
        raise UsageError(f"A memory budget is a size of at least 256MB, such as 4GB, not {text[:40]!r}.")
    return int(size)


def budget() -> int:
    """Bytes that the work may take at once."""
    said = os.environ.get(VARIABLE)
    return parse_memory(said) if said else max(allowed() // 2, LEAST)


def allowed() -> int:
    """Bytes that the machine has, or that its control group or `ulimit -v` allows when that is less."""
    try:
        most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        most = 4 << 30  # a system that does not say
    most = min(most, address_space() or most)
    for name in _GROUPS:
        try:
            text = Path(name).read_text(encoding="ascii").strip()
        except OSError:
            continue
        if text.isdigit():
            most = min(most, int(text))
    return most


def address_space() -> int | None:
    """Bytes that a limit of this process (ulimit -v) leaves it; None where there is none."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if most == resource.RLIM_INFINITY else most


def require_room() -> None:
    """An error where this process may not even hold the libraries: they would end it without a word."""
    most = address_space()
    if most is not None and most < LEAST_ROOM:
        raise UsageError(f"ulimit -v allows {shown(most)}, and polyjudge needs {shown(LEAST_ROOM)}. Raise it.")


def require(size: float, what: str) -> None:
    """An error before the work begins when it would take more memory than the budget."""
    if size > budget():
        raise TooWide(
            f"{what} would take {shown(size)} of memory, and {shown(budget())} may be used. Read fewer languages or "
            "judges (--languages, --judges), or allow more (POLYJUDGE_MEMORY=16GB)."
        )


def require_time(compared: float, what: str, instead: str = "") -> None:
    """An error before the work begins when it would compare more numbers than `MOST_COMPARED`."""
    if compared > MOST_COMPARED:
        raise TooWide(
            f"{what} takes {compared:.1g} comparisons, and {MOST_COMPARED:.1g} are made at most. Read fewer languages "
            f"or judges (--languages, --judges){instead}."
        )


def shown(size: float) -> str:
    """A size as people write it.

    >>> shown(3.2e9)
    '3.0 GB'
    """
    return f"{size / (1 << 30):.1f} GB" if size >= 1 << 30 else f"{size / (1 << 20):.1f} MB"
