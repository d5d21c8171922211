"""How much memory the work may take: what the user says (POLYJUDGE_MEMORY), else half of what the machine allows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from polyjudge.base.errors import TooLarge, UsageError

VARIABLE = "POLYJUDGE_MEMORY"
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_GROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
LEAST = 256 << 20


def parse_memory(text: str) -> int:
    """Bytes of a size such as 4GB, 500M or 1.5 GiB.

    >>> parse_memory("2GB") == 2 * 1024**3
    True
    """
    found = re.fullmatch(r"\s*(\d{1,12}(?:\.\d{1,6})?)\s*([kmgt]?)i?b?\s*", text, re.IGNORECASE)
    size = float(found[1]) * _UNITS[found[2].lower()] if found else 0.0
    if size < LEAST:
        raise UsageError(f"{VARIABLE} is a size of at least 256MB, such as 4GB, not {text[:40]!r}.")
    return int(size)


def budget() -> int:
    """Bytes that the work may take at once."""
    said = os.environ.get(VARIABLE)
    return parse_memory(said) if said else max(_allowed() // 2, LEAST)


def _allowed() -> int:
    """Bytes that the machine has, or its control group or `ulimit -v` allows when that is less."""
    try:
        most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        most = 4 << 30  # a system that does not say
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        most = most if limit == resource.RLIM_INFINITY else min(most, limit)
    except ImportError:  # Windows
        pass
    for path in map(Path, _GROUPS):
        try:
            text = path.read_text(encoding="ascii").strip()
        except OSError:
            continue
        most = min(most, int(text)) if text.isdigit() else most
    return most


def require(size: float, what: str) -> None:
    """An error before the work begins when it would take more memory than the budget."""
    if size > LEAST and size > budget():
        raise TooLarge(
            f"{what} would take {shown(size)} of memory, and {shown(budget())} may be used. Read fewer languages, "
            f"judges or systems (--languages, --judges, --systems), or allow more ({VARIABLE}=16GB)."
        )


@contextmanager
def held() -> Iterator[None]:
    """Let this process take no more than the budget on top of what it has: an engine does not count every text."""
    status = Path("/proc/self/status")
    if not status.exists():  # only Linux tells, and keeps to the limit
        yield
        return
    import resource

    has = int(status.read_text(encoding="ascii", errors="replace").split("VmData:")[1].split()[0]) << 10
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    least = min(x for x in (has + budget(), soft, hard) if x != resource.RLIM_INFINITY)
    resource.setrlimit(resource.RLIMIT_DATA, (least, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def shown(size: float) -> str:
    """A size as people write it.

    >>> shown(3.2e9)
    '3.0 GB'
    """
    return f"{size / (1 << 30):.1f} GB" if size >= 1 << 30 else f"{size / (1 << 20):.0f} MB"
