"""`pairwise`: judges' strengths in every language by judge-aware Bradley-Terry-Luce, with task-bootstrap intervals."""

from __future__ import annotations

import numpy as np
import pandas as pd

from polyjudge.second.estimate.resample import percentile_limits, tracked_draws
from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import Say, say
from polyjudge.second.paper.methods.btl import FARTHEST, fit_btl, pair_counts
from polyjudge.second.report.result import Result


class Pairwise(Result):
    """Strengths: log odds of scoring an item higher, summing to zero in a language.

    `table`: language, judge, strength, low, high, comparisons (items x other judges). A strength is an order of
    severity or of favour, not of quality.
    """

    table: pd.DataFrame
    resamples: int
    seed: int
    notes: tuple[Say, ...]


def pairwise(panel: Panel, resamples: int = 1000, seed: int = 7) -> Pairwise:
    """Fit judge-aware Bradley-Terry-Luce to every language. The panel's task groups are the strata.

    >>> from polyjudge.second import simulate_panel
    >>> result = pairwise(simulate_panel(tasks=40, languages=2, judges=3)[0], resamples=100)
    >>> result.table.columns.tolist()
    ['language', 'judge', 'strength', 'low', 'high', 'comparisons']
    """
    counts = pair_counts(panel, panel.weights[None])
    empty = [lang for lang, n in zip(panel.languages, counts[1][0].sum(axis=(1, 2)), strict=True) if n == 0]
    if empty:
        raise PanelError(f"No item of {empty[0]} is scored by two judges, so there is nothing to compare there.")
    whole = fit_btl(*counts)
    drawn = [
        fit_btl(*pair_counts(panel, block * panel.weights), start=whole)
        for block in tracked_draws(len(panel.tasks), resamples, seed, panel.cluster)
    ]
    units = len(np.unique(panel.cluster))
    low, high = percentile_limits(whole[0][0], np.concatenate([strength for strength, _ in drawn]), units, 0.95)
    pairs = np.stack(np.triu_indices(len(panel.judges), 1))
    of_judge = (pairs[..., None] == np.arange(len(panel.judges))).any(axis=0)  # (pairs, m)
    comparisons = (counts[1][0].sum(axis=1) @ of_judge).round().astype(np.int64)
    table = panel.long(strength=whole[0], low=low, high=high, comparisons=comparisons)
    notes = []
    endless = table[table["strength"].abs() >= FARTHEST - 1]
    if len(endless):
        first = endless.iloc[0]
        notes.append(say("btl.endless", language=first["language"], judge=first["judge"]))
    return Pairwise(table=table, resamples=resamples, seed=seed, notes=tuple(notes))
