"""Names of probe versions: systems that are a clean response, damaged ones and placebos of it."""

from __future__ import annotations

import re

VERSION = re.compile(r"(?P<clean>clean)|damage-(?P<severity>[1-9])(-.*)?|(?P<placebo>placebo)(-.*)?", re.IGNORECASE)


def is_version(system: str) -> bool:
    """Whether a system is a version of a probe.

    >>> [is_version(name) for name in ("clean", "damage-2", "placebo-list", "gpt-4o")]
    [True, True, True, False]
    """
    return VERSION.fullmatch(system) is not None
