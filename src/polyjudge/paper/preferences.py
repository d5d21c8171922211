"""`pairwise`: judges' strengths in every language by judge-aware Bradley-Terry-Luce, with task-bootstrap intervals."""

from __future__ import annotations

import numpy as np
import pandas as pd

from polyjudge.estimate.resample import percentile_limits, tracked_draws
from polyjudge.panel.errors import PanelError
from polyjudge.panel.panel import Panel
from polyjudge.panel.records import long_table
from polyjudge.panel.say import Say, say
from polyjudge.paper.methods.btl import FARTHEST, fit_btl, pair_counts, strata_of
from polyjudge.report.result import Result


class Pairwise(Result):
    """Strengths (log odds of scoring an item higher, summing to zero in a language) and discriminations by stratum.

    `table`: language, judge, strength, low, high, comparisons (items x other judges). `strata`: language, stratum,
    discrimination (geometric mean one), low, high. A strength is an order of severity or of favour, not of quality.
    """

    table: pd.DataFrame
    strata: pd.DataFrame
    ties: float
    """Share of the comparisons that are ties; they count as half a win for both judges."""
    missing: float
    """Share of the comparisons left out because a margin is missing."""
    resamples: int
    seed: int
    notes: tuple[Say, ...]


def pairwise(panel: Panel, resamples: int = 1000, seed: int = 7) -> Pairwise:
    """Fit judge-aware Bradley-Terry-Luce to every language. The panel's task groups are the strata.

    >>> from polyjudge import simulate_panel
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
    bounds = [
        percentile_limits(whole[part][0], np.concatenate([d[part] for d in drawn]), units, 0.95) for part in (0, 1)
    ]
    k, m = len(panel.languages), len(panel.judges)
    names = strata_of(panel)[1]
    i, j = np.triu_indices(m, 1)
    share = np.zeros((k, m))
    np.add.at(share.T, i, counts[1][0].sum(axis=1).T)
    np.add.at(share.T, j, counts[1][0].sum(axis=1).T)
    (low, high), of_strata = bounds
    table = panel.long(strength=whole[0], low=low, high=high, comparisons=share.round().astype(np.int64))
    axes = {"language": panel.languages, "stratum": names}
    sharp = dict(zip(("discrimination", "low", "high"), map(np.exp, (whole[1], *of_strata)), strict=True))
    strata = long_table(axes, **sharp)
    notes = []
    endless = table[table["strength"].abs() >= FARTHEST - 1]
    if len(endless):
        first = endless.iloc[0]
        notes.append(say("btl.endless", language=first["language"], judge=first["judge"]))
    if len(names) == 1:
        notes.append(say("btl.one-stratum"))
        strata[["low", "high"]] = np.nan
    diff = panel.scores[:, :, i] - panel.scores[:, :, j]
    weight = np.broadcast_to(panel.weights[:, None, None], diff.shape)
    there = ~np.isnan(diff)
    compared = weight[there].sum()
    ties = weight[there & (np.abs(np.where(there, diff, 1.0)) <= panel.tie_gap)].sum()
    return Pairwise(
        table=table,
        strata=strata,
        ties=float(ties / compared),
        missing=float(1 - compared / weight.sum()),
        resamples=resamples,
        seed=seed,
        notes=tuple(notes),
    )
