"""Which judges to keep, or whether one may stand in for another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.gold import Gold
from polyjudge.second.panel.panel import Panel
from polyjudge.second.questions.judges.choose import Choice, choose
from polyjudge.second.questions.judges.swap import Swap, swap_judges
from polyjudge.second.questions.position import Position, position
from polyjudge.second.report.result import Result


class Judges(Result):
    """The choice of judges, or the answer about a swap: the other is None. `to_frame` is the table of that one."""

    choice: Choice | None = None
    swap: Swap | None = None
    position: Position | None = None
    """Whether the judges follow the order of showing; None unless the scores are verdicts on pairs in both orders."""
    level: float

    def to_frame(self) -> pd.DataFrame:
        asked = self.choice or self.swap
        assert asked is not None
        return asked.to_frame()

    def to_dict(self) -> dict[str, Any]:
        asked = self.choice or self.swap
        assert asked is not None
        placed = {} if self.position is None else {"position": self.position.to_dict()}
        return {"asked": "choice" if self.choice else "swap", **asked.to_dict(), **placed}


def judges(
    panel: Panel,
    *,
    swap: tuple[str, str] | None = None,
    prices: Mapping[str, float] | None = None,
    gold: Gold | None = None,
    matters: float | None = None,
    budget: float | None = None,
    target: float | None = None,
    max_judges: int | None = None,
    families: Mapping[str, str] | None = None,
    threshold: float | None = None,
    alone: bool = False,
    guard: bool = False,
    level: float = 0.95,
    resamples: int = 200,
    seed: int = 7,
) -> Judges:
    """Which judges to keep: reliability, error and cost of every subset. With `swap`: may one replace another?

    swap : (old, new): whether the new judge may take the place of the old; then only matters, threshold, alone, guard
        and level count, as in `swap_judges`
    prices, gold, matters, budget, target, max_judges, families : as in `choose`

    >>> from polyjudge.second import simulate_panel
    >>> panel, _ = simulate_panel(tasks=60, judges=4, seed=1)
    >>> judges(panel, swap=("judge1", "judge2"), matters=50.0).swap.answer
    'accepted'
    """
    if swap is not None:
        if len(swap) != 2:
            raise UsageError("swap names two judges: the one that would go, and the one that would take its place.")
        options: dict[str, Any] = {"threshold": threshold, "alone": alone, "guard": guard}
        answer = swap_judges(panel, *swap, matters=matters, level=level, **options)
        return Judges(swap=answer, level=level)
    choice = choose(
        panel,
        prices=prices,
        gold=gold,
        matters=matters,
        budget=budget,
        target=target,
        max_judges=max_judges,
        families=families,
        level=level,
        resamples=resamples,
        seed=seed,
    )
    return Judges(choice=choice, position=position(panel, level=level), level=level)
