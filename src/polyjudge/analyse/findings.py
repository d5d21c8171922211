"""What a person should take from an audit: ranked sentences, each with a severity and a stable code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Severity = Literal["info", "notice", "warning", "serious"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""From least to most severe."""


@dataclass(frozen=True)
class Finding:
    """One sentence. `code` is stable, so that programs can look for it."""

    severity: Severity
    code: str
    text: str

    @property
    def weight(self) -> int:
        """Position of the severity, from 0 (info)."""
        return SEVERITIES.index(self.severity)


def ranked(findings: list[Finding]) -> list[Finding]:
    """Most severe first; the order of writing inside a severity."""
    return sorted(findings, key=lambda f: -f.weight)
