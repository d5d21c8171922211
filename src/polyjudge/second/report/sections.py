"""What a result says, as data: sentences, findings, tables, charts and sections. Words and drawing come later.

A renderer (terminal, page, notebook, Markdown, JSON) takes a `Report` and shows it; none computes anything. The words
of every code stand in one place, `polyjudge.second.panel.say`; the charts in `polyjudge.second.report.charts`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

from polyjudge.second.panel.arrays import pd
from polyjudge.second.panel.labels import visible
from polyjudge.second.panel.say import Say, Words, word

Severity = Literal["info", "notice", "warning", "serious"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""From least to most severe."""
Matter = Literal["material", "negligible", "open"]
"""An effect's band against what matters to the user: beyond it, inside it, or neither (docs/methods.md, section 19)."""
Kind = Literal[
    "text", "label", "judge", "points", "share", "percent", "count", "rank", "p", "ratio", "money", "number", "yes"
]
"""What a column holds; it decides digits, unit and alignment in every renderer. `label` is a name of the user's,
`judge` one of a judge (highlighted on the page), `share` runs from 0 to 1 and is shown in %, `percent` is in %."""


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

    @property
    def text(self) -> str:
        """The finding in words."""
        return str(self)

    def to_plain(self, fields: Callable[[Any], dict[str, Any]]) -> Any:
        """Data and words."""
        found = {**fields(self), "text": str(self)}
        return {name: value for name, value in found.items() if name not in ("noun", "unit")}


@dataclass(frozen=True, kw_only=True)
class Column:
    """How a column of a frame is shown. `low` and `high` name the columns of its interval, `se` that of its error."""

    name: str
    title: str
    kind: Kind = "text"
    digits: int | None = None
    """Decimals; by the size of the column's numbers when None."""
    like: tuple[str, ...] = ()
    """Columns whose numbers count for that size too."""
    sign: bool = False
    low: str = ""
    high: str = ""
    se: str = ""
    floor: float = 0.0
    """Of p-values: the least that so many draws can give, shown as below it."""
    pale: str = ""
    """Column of bool: where it is true the entry is true by arithmetic and is shown pale."""
    words: Mapping[Any, str] = field(default_factory=dict)
    """What to show in place of coded values."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """Some columns of a frame. The first column heads its rows."""

    name: str
    caption: Words
    frame: pd.DataFrame | Mapping[str, Sequence[Any]]
    columns: tuple[Column, ...]
    most: int = 200
    """Rows shown; the rest is in the JSON."""

    def __len__(self) -> int:
        return len(self.frame[self.columns[0].name])


@dataclass(frozen=True, kw_only=True, eq=False)
class Grid:
    """A language x judge table (or any two axes), one text-sized value in each entry: a heatmap in the terminal."""

    name: str
    caption: Words
    values: pd.DataFrame
    kind: Kind = "points"
    digits: int | None = None
    sign: bool = False
    texts: pd.DataFrame | None = None
    """What is shown of each entry in place of its number."""
    marks: pd.DataFrame | None = None
    """Of each entry: a key of `report.tables.MARKS`, as "culprit", "clear", "pointwise", "small", "top", or ""."""
    note: Words = ""
    """What the marks mean."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Chart:
    """One picture or several with the same meaning, drawn by a function of `report.charts`; and the same in words."""

    name: str
    draw: str
    """Name of a function in `report.charts`."""
    data: tuple[Mapping[str, Any], ...]
    """Its arguments, once for each picture."""
    caption: Words
    alt: Words
    """What the chart shows, for those who do not see it."""
    instead: Table | Grid | None = None
    """What text renderers show instead; the page folds it under the picture."""
    noun: str = "language"
    """What the condition is called."""
    unit: str = "points"
    """Of score differences."""
    scopes: tuple[str, ...] = ()
    """Values of the chart's own choice (languages of the rank probabilities)."""
    scope: str = ""


Block = Table | Grid | Chart


@dataclass(frozen=True, kw_only=True, eq=False)
class Section:
    """One topic of a result."""

    name: str
    title: Words
    says: tuple[Words, ...] = ()
    blocks: tuple[Block, ...] = ()
    absent: Words | None = None
    """Why there is nothing to show."""
    folded: bool = True
    """Below the fold: behind --full in the terminal, folded on the page."""


class Folded(Sequence[Section]):
    """Sections of which a first screen shows only `first`: those below the fold are made when they are looked at."""

    def __init__(self, make: Callable[[], Iterable[Section]], *first: Section) -> None:
        self._make, self.first = make, first

    @cached_property
    def _made(self) -> tuple[Section, ...]:
        return *self.first, *self._make()

    def __getitem__(self, at: Any) -> Any:
        return self._made[at]

    def __len__(self) -> int:
        return len(self._made)


@dataclass(frozen=True, kw_only=True, eq=False)
class Step:
    """Something to do next: why, and the command to paste (empty when there is none)."""

    why: Words
    command: str = ""

    def __post_init__(self) -> None:
        """Words of a command are quoted with `labels.shell`; whatever was not is made visible here."""
        object.__setattr__(self, "command", visible(self.command))


@dataclass(frozen=True, kw_only=True, eq=False)
class Report:
    """A result as every renderer shows it: first screen (read, verdict, picture, next), then sections."""

    command: str
    """The command or function that made it: "audit", "gate", ..."""
    title: Words
    read: tuple[Words, ...] = ()
    """What was read and how it was understood."""
    verdict: tuple[Words, ...] = ()
    """At most three short sentences."""
    picture: tuple[Block, ...] = ()
    beside: tuple[Block, ...] = ()
    """More pictures on the first screen of the page alone; text renderers have those of the same name in a section."""
    uses: tuple[Words, ...] = ()
    """What follows for each use of the panel, a line each."""
    next: tuple[Step, ...] = ()
    findings: tuple[Finding, ...] = ()
    """All findings, most severe first."""
    brief: bool = False
    """The verdict says it all: other findings wait below the fold with the sections."""
    sections: Sequence[Section] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Seed, level, fingerprint: what the numbers depend on."""
    payload: Callable[[], dict[str, Any]] = dict
    """Makes the result's JSON."""
    judges: tuple[str, ...] = ()
    """Judges that the page can highlight."""
    unit: str = "points"
    """Of its score differences: all its words use it."""

    @property
    def unfolded(self) -> list[Section]:
        """The sections of the first screen."""
        shown = self.sections.first if isinstance(self.sections, Folded) else self.sections
        return [s for s in shown if not s.folded]

    @property
    def unsaid(self) -> list[Finding]:
        """The findings that the verdict does not say."""
        said = {word(x) for x in self.verdict}
        return [f for f in self.findings if word(f) not in said]

    @property
    def charts(self) -> list[Chart]:
        """Every chart once, first screen first."""
        blocks = [*self.picture, *self.beside, *(b for s in self.sections for b in s.blocks)]
        return list({b.name: b for b in blocks if isinstance(b, Chart)}.values())


def find(severity: Severity, code: str, **values: Any) -> Finding:
    """A finding."""
    return Finding(code, values, severity)


def ranked(findings: Iterable[Finding]) -> list[Finding]:
    """Most severe first; the order of writing inside a severity."""
    return sorted(findings, key=lambda f: -f.weight)
