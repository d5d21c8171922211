"""Names of probe versions: systems that are a clean response, damaged ones, placebos of it, pleas and padding."""

from __future__ import annotations

import re

VERSION = re.compile(
    r"(?P<clean>clean)|damage-(?P<severity>[1-9])(-.*)?|(?P<placebo>placebo)(-.*)?|(?P<plea>plea)(-.*)?|"
    r"(?P<padding>padding)(-.*)?",
    re.IGNORECASE,
)
"""`plea-own` and `plea-english` ask for full marks, `padding` says the same at greater length: neither must help."""


def is_version(system: str) -> bool:
    """Whether a system is a version of a probe.

    >>> [is_version(name) for name in ("clean", "damage-2", "placebo-list", "plea-own", "padding", "gpt-4o")]
    [True, True, True, True, True, False]
    """
    return VERSION.fullmatch(system) is not None
