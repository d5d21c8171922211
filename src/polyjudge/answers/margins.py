"""Verdicts on pairs as one score for each task, language and judge: how often one system is picked (METHODS 37).

Questions about judges, such as who is off in which language or what changed since last time, are asked of these.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from polyjudge.answers.audit.pair_boards import pair_board
from polyjudge.base.errors import UsageError
from polyjudge.base.text import name, names
from polyjudge.panel import Panel


def margins(panel: Panel, system: str | None = None) -> Panel:
    """The share of its verdicts in which a system is picked, as a panel without systems; other panels stay as they are.

    system : of two the first by name, of more the leader, unless it is given
    """
    pairs = panel.pairs
    if pairs is None:
        return panel
    chosen = system if system is not None else choose_system(panel)
    if chosen not in panel.systems:
        raise UsageError(f"There is no system {name(chosen)} in these pairs. They have: {names(panel.systems, 12)}.")
    number = panel.systems.index(chosen)
    scores = panel.scores[:, [number]]
    is_judged = np.asarray(np.isfinite(scores).any(axis=(1, 2, 3)))
    note = f"Scores are the share of verdicts in which {name(chosen)} is picked."
    return replace(
        panel,
        scores=scores[is_judged],
        tasks=tuple(task for task, kept in zip(panel.tasks, is_judged, strict=True) if kept),
        systems=("",),
        unit=panel.unit[is_judged],
        weight=panel.weight[is_judged],
        pairs=None,
        order=None,
        length=None,
        replicates=None,
        notes=(*panel.notes, note),
    )


def choose_system(panel: Panel) -> str:
    """The system whose wins are counted: of two the first by name, of more the leader."""
    if len(panel.systems) == 2:
        return min(panel.systems)
    return panel.systems[pair_board(panel, level=0.95).leader]
