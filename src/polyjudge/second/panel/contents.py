"""What a panel holds: shape, scale and origin, without its scores."""

from __future__ import annotations

from typing import Any, Self

from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.reading import Reading
from polyjudge.second.panel.records import Record
from polyjudge.second.panel.say import Words
from polyjudge.second.panel.scale import Scale, ScaleKind, scale_of


class Summary(Record):
    """What the panel holds."""

    tasks: int
    units: int
    languages: tuple[str, ...]
    judges: tuple[str, ...]
    replicates: tuple[str, ...]
    scores: int
    low: float
    high: float
    range_declared: bool
    fingerprint: str
    notes: tuple[Words, ...]
    systems: tuple[str, ...] = ()
    clusters: int = 0
    """Declared clusters of tasks."""
    scale: ScaleKind = "open"
    missing: int = 0
    """Scores that were asked for and are not there."""
    source: str = ""
    """What was read, as it stands in a command after its name; empty when it is not known."""
    looks: int = 0
    """Looks that an adaptive collection planned."""
    entries: int = 0
    """Scores that were asked for."""
    unanswered: int = 0
    """Answers of systems that no judge scored."""
    constant: bool = False
    """Whether all scores are equal."""
    whole: bool = True
    """Whether every judge scored every answer."""
    reading: Reading | None = None

    @property
    def shown(self) -> Scale:
        """The scale, in which pass or fail is shown in percent."""
        return Scale(self.scale, self.low, self.high, 100 / (self.high - self.low) if self.scale == "binary" else 1.0)

    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in super().to_dict().items() if name != "reading"}

    @classmethod
    def of(cls, panel: Panel) -> Self:
        return cls(
            **about(panel),
            units=len(panel.tasks),
            range_declared=panel.declared_range is not None,
            clusters=len(panel.clusters),
            source=panel.reading.words() if panel.reading is not None else "",
            constant=panel.observed_range[1] - panel.observed_range[0] <= panel.tie_gap,
            whole=panel.whole,
            **{name: getattr(panel, name) for name in ("looks", "unanswered", "reading")},
        )


def about(panel: Panel) -> dict[str, Any]:
    """What a panel holds, under the names that a check and the summary of an audit share."""
    low, high = panel.range
    same = ("systems", "languages", "judges", "replicates", "notes", "fingerprint")
    return {
        **{name: getattr(panel, name) for name in same},
        "tasks": panel.n_tasks,
        "scores": panel.n_scores,
        "missing": int(panel.lost.sum()),
        "entries": int(panel.asked.sum()),
        "low": low,
        "high": high,
        "scale": scale_of(panel).kind,
    }
