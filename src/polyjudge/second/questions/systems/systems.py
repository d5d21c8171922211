"""Systems together: do the judges agree about them, which one wins, and does that depend on judge or language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.panel import Panel
from polyjudge.second.questions.position import Position, position
from polyjudge.second.questions.systems.favour import Favour, favour
from polyjudge.second.questions.systems.leaderboard import Leaderboard, leaderboard
from polyjudge.second.questions.systems.length import Length, length
from polyjudge.second.questions.systems.signal import DISAGREE, Signal, signal
from polyjudge.second.read.spoken import read_lengths
from polyjudge.second.report.result import Result
from polyjudge.second.report.sections import Finding, ranked


class Systems(Result):
    """The three questions about the systems of a panel. `to_frame` is the leaderboard."""

    signal: Signal
    leaderboard: Leaderboard
    favour: Favour | None
    """None with one judge."""
    position: Position | None
    """Whether the judges follow the order of showing; None unless the scores are verdicts on pairs in both orders."""
    length: Length | None
    """How scores go with the length of answers; None where their texts are not at hand."""
    level: float
    resamples: int
    seed: int

    def to_frame(self) -> pd.DataFrame:
        return self.leaderboard.to_frame()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Most severe first. Where the judges do not agree, who stands above whom is no finding."""
        if self.signal.verdict == DISAGREE:
            return tuple(ranked([*self.signal.findings, *(() if self.position is None else self.position.findings)]))
        parts = (self.leaderboard, self.favour, self.position, self.length)
        rest = [f for part in parts if part is not None for f in part.findings]
        return tuple(ranked([*self.signal.findings, *rest]))


def systems(
    panel: Panel,
    *,
    families: Mapping[str, str] | None = None,
    items: Any = None,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 7,
) -> Systems:
    """Ask of a panel with systems: do the judges agree about them, which one wins, and who favours whom.

    families : makers of judges and systems by name; found from the names where not given
    items : a file or frame with the texts of answers (task, system, response), where the scores' own file has none: how
        scores go with length

    >>> from polyjudge.second import simulate_panel
    >>> panel, _ = simulate_panel(tasks=60, languages=2, judges=4, systems=5, sees=0.0, seed=1)
    >>> systems(panel).findings[0].code
    'signal-disagree'
    """
    options: dict[str, Any] = {"level": level, "resamples": resamples, "seed": seed}
    try:
        favoured = favour(panel, families=families, **options)
    except PanelError:  # one judge, or no task that all scored
        favoured = None
    return Systems(
        leaderboard=leaderboard(panel, families=families, **options),
        signal=signal(panel, families=families, **options),
        favour=favoured,
        position=position(panel, level=level),
        length=length(panel, read_lengths(panel, items), level=level),
        **options,
    )
