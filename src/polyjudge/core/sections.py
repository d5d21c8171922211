"""What a result says, as data: sentences, findings, tables, charts and sections. Words and drawing come later.

A renderer (terminal, page, notebook, Markdown, JSON) takes a `Report` and shows it; none computes anything. The words
of every code stand in one place, `polyjudge.report.words`; the charts in `polyjudge.report.charts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import pandas as pd

Severity = Literal["info", "notice", "warning", "serious"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""From least to most severe."""
Matter = Literal["material", "negligible", "open"]
"""An effect's band against what matters to the user: beyond it, inside it, or neither (docs/methods.md, section 19)."""
Kind = Literal["text", "label", "points", "share", "percent", "count", "rank", "p", "ratio", "money", "yes"]
"""What a column holds; it decides digits, unit and alignment in every renderer."""


@dataclass(frozen=True)
class Say:
    """One sentence: a stable code, worded in `report.words`, and the values it speaks of."""

    code: str
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Finding(Say):
    """A sentence that a person should act on or know. Programs look for `code` and read `values`."""

    severity: Severity = "info"
    matter: Matter | None = None
    arithmetic: bool = False
    """True by arithmetic (an identity), so no evidence."""

    @property
    def weight(self) -> int:
        """Position of the severity, from 0 (info)."""
        return SEVERITIES.index(self.severity)


@dataclass(frozen=True, kw_only=True)
class Column:
    """How a column of a frame is shown. `low` and `high` name the columns of its interval, `se` that of its error."""

    name: str
    title: str
    kind: Kind = "text"
    sign: bool = False
    low: str = ""
    high: str = ""
    se: str = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """Some columns of a frame. The first column heads its rows."""

    name: str
    caption: Say
    frame: pd.DataFrame
    columns: tuple[Column, ...]
    most: int = 200
    """Rows shown; the rest is in the JSON."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Grid:
    """A language x judge table (or any two axes), one text-sized value in each entry: a heatmap in the terminal."""

    name: str
    caption: Say
    values: pd.DataFrame
    kind: Kind = "points"
    sign: bool = True
    marks: pd.DataFrame | None = None
    """Of each entry: "culprit", "clear", "pointwise", "small" or ""."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Chart:
    """A chart by its name in `report.charts`, what it is drawn from, and the same in words and numbers."""

    name: str
    caption: Say
    alt: Say
    data: Mapping[str, Any]
    table: Table | None = None


Block = Table | Grid | Chart


@dataclass(frozen=True, kw_only=True, eq=False)
class Section:
    """One topic of a result."""

    name: str
    title: Say
    says: tuple[Say, ...] = ()
    blocks: tuple[Block, ...] = ()
    findings: tuple[Finding, ...] = ()
    absent: Say | None = None
    """Why there is nothing to show."""
    folded: bool = True
    """Below the fold: behind --full in the terminal, folded on the page."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Step:
    """Something to do next: why, and the command to paste (empty when there is none)."""

    why: Say
    command: str = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class Report:
    """A result as every renderer shows it: first screen (read, verdict, picture, next), then sections."""

    command: str
    """The command or function that made it: "audit", "gate", ..."""
    title: Say
    read: tuple[Say, ...] = ()
    """What was read and how it was understood."""
    verdict: tuple[Say, ...] = ()
    """At most three short sentences."""
    picture: tuple[Block, ...] = ()
    next: tuple[Step, ...] = ()
    findings: tuple[Finding, ...] = ()
    """All findings, most severe first."""
    sections: tuple[Section, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Seed, level, fingerprint: what the numbers depend on."""
    payload: Mapping[str, Any] = field(default_factory=dict)
    """The result's `to_dict`."""


def ranked(findings: list[Finding]) -> list[Finding]:
    """Most severe first; the order of writing inside a severity."""
    return sorted(findings, key=lambda f: -f.weight)
