"""Scores with few levels or heavy ends: the interaction on a scale without ends, and whether the linear one survives.

A judge whose scores pile up at an end shows small differences there whatever the language does, and so double centring
can make an interaction out of nothing, or hide one. The cumulative logit model of `estimate.ordinal` (two levels: the
logistic one) has no ends. See docs/inference.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from polyjudge.estimate.bands import Uncertainty, band_critical, own_critical, uncertainty
from polyjudge.estimate.incomplete import informing, sum_clusters
from polyjudge.estimate.kernels import double_centre
from polyjudge.estimate.ordinal import OrdinalFit, fit_ordinal
from polyjudge.estimate.resample import check_level, check_resamples, mean_and_se
from polyjudge.panel.arrays import Array
from polyjudge.panel.budget import require_time
from polyjudge.panel.errors import PanelError
from polyjudge.panel.panel import Panel
from polyjudge.panel.say import Say, say
from polyjudge.panel.scale import FEW, MOST_STEPS
from polyjudge.report.result import Result

Reason = Literal["two-levels", "few-levels", "ends"]
END = 0.2
"""Share of all scores on one end of the scale from which the ends are called heavy ..."""
JUDGE_END = 0.5
"""... or share of one judge's scores."""
OWN_LEVEL = 0.05
"""A lowest or highest score with at least this share of all scores is a level of its own where scores are cut."""
INNER = 5
"""Levels that the other scores are cut into, each with about as many scores."""
FEWEST = 10
"""Tasks from which the lowest and highest scores seen count as ends of a scale."""
MOST_TERMS = 500_000
"""Above this many unit x cell x level entries a random part of the units is fitted."""
KEPT = 0.5
"""The linear conclusion survives only if at least this share of its clear cells stays clear."""


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Bounded(Result):
    """The interaction in logits, beside the linear one.

    `cells`: language, judge, latent (logits beyond the judge's and the language's own), se, low, high (own interval),
    band_low, band_high (all cells at once), clear, linear (points), linear_clear, agrees; separated: all scores of the
    cell at one end, so that its size is known from one side only.

    A cell that is clear on one scale agrees when the other scale has it on the same side and its own interval there
    excludes 0 ("same", as where neither is clear). Otherwise it is "lost" (clear in points only), "new" (clear in
    logits only) or "turned" (clear on opposite sides).
    """

    cells: pd.DataFrame
    levels: pd.DataFrame
    """level, low, high (scores from and to), share of all scores."""
    reason: Reason | None
    """Why the scale asks for it; None when it does not."""
    binned: bool
    """Whether scores were cut into levels."""
    cuts: tuple[float, ...]
    """Thresholds between the levels, in logits."""
    unit_sd: float
    """Standard deviation of the tasks' (with systems: answers') own effects, in logits."""
    log_likelihood: float
    critical: float
    tasks: int
    level: float
    survives: bool
    verdict: Say
    notes: tuple[Say, ...]

    @property
    def clear(self) -> int:
        """Number of cells whose band in logits excludes 0."""
        return int(self.cells["clear"].sum())

    def count(self, agrees: str) -> int:
        """Number of cells that are "same", "lost", "new" or "turned"."""
        return int((self.cells["agrees"] == agrees).sum())


def asks(panel: Panel) -> Reason | None:
    """Why the scores want a model of levels: two levels, few levels, or many scores at an end. None: they do not."""
    low, high = panel.observed_range
    if not np.all(panel.weights == 1) or high - low <= panel.tie_gap:
        return None
    scores = panel.singles
    some = scores.ravel()[:: max(1, scores.size // FEW)]
    known = np.unique(some[~np.isnan(some)])
    if len(known) <= MOST_STEPS:
        return "two-levels" if len(known) == 2 else "few-levels"
    if panel.n_tasks < FEWEST:
        return None
    at_ends = [scores <= low + panel.tie_gap, scores >= high - panel.tie_gap]
    scored = (~np.isnan(scores)).sum(axis=(0, 1, 3))
    shares = np.array([end.sum(axis=(0, 1, 3)) for end in at_ends])
    heavy = (shares.sum(axis=1) >= END * scored.sum()).any() or (shares >= JUDGE_END * scored).any()
    return "ends" if heavy else None


def bounded(
    panel: Panel, *, level: float = 0.95, resamples: int = 1000, seed: int = 7, linear: Uncertainty | None = None
) -> Bounded:
    """The interaction on the latent scale of an ordinal (or binary) mixed model, and whether the linear one survives.

    Parameters
    ----------
    level : confidence level of every interval and of the band
    resamples, seed : of the task bootstrap behind the band
    linear : the linear result to compare with; `uncertainty` of the same panel when not given

    >>> from polyjudge import simulate_panel
    >>> panel, _ = simulate_panel(scale="integer", steps=5, seed=1)
    >>> bounded(panel).reason
    'few-levels'
    """
    check_level(level)
    check_resamples(resamples)
    if not np.all(panel.weights == 1):
        raise PanelError("A model of levels needs single tasks; units that hold several have no levels.")
    cells_of = float(panel.shape[1] * panel.shape[2])
    require_time(cells_of**3 / 64, f"A model of levels with {cells_of:,.0f} cells")
    linear = linear or uncertainty(panel, level=level, resamples=resamples, seed=seed)
    answers, notes = _part(panel.by_system(), seed)
    scores = answers.singles
    edges, levels, binned = _levels(scores, panel)
    _, k, m = panel.shape
    counts = _counts(scores, edges)
    if (empty := counts.sum(axis=(0, 2)) == 0).any():
        at = divmod(int(empty.argmax()), m)
        place = f"{panel.judges[at[1]]} in {panel.languages[at[0]]}"
        raise PanelError(f"A model of levels needs scores in every cell, and {place} has none.")
    fit = fit_ordinal(counts)
    cells, critical = _cells(panel, fit, answers, level, resamples, seed)
    own = linear.cells
    cells["linear"], cells["linear_clear"] = own["interaction"].to_numpy(), own["clear"].to_numpy(dtype=bool)
    cells["agrees"] = _agrees(cells, own)
    cells["separated"] = fit.separated
    if fit.separated.any():
        notes.append(say("bounded.separated", count=int(fit.separated.sum()), cells=k * m))
    verdict, survives = _verdict(cells)
    return Bounded(
        cells=cells,
        levels=levels,
        reason=asks(panel),
        binned=binned,
        cuts=tuple(map(float, fit.cuts)),
        unit_sd=fit.sigma,
        log_likelihood=fit.log_likelihood,
        critical=critical,
        tasks=panel.n_tasks,
        level=level,
        survives=survives,
        verdict=verdict,
        notes=tuple(notes),
    )


def _part(answers: Panel, seed: int) -> tuple[Panel, list[Say]]:
    """The answers, or whole clusters of them drawn at random where there are very many."""
    n, k, m = answers.shape
    most = max(FEWEST, MOST_TERMS // (k * m * (MOST_STEPS - 1)))
    if n <= most:
        return answers, []
    clusters = int(answers.cluster.max()) + 1
    drawn = np.random.default_rng([seed, 19]).permutation(clusters)[: max(FEWEST, clusters * most // n)]
    keep = np.isin(answers.cluster, drawn)
    part = answers.select(tasks=[t for t, kept in zip(answers.tasks, keep, strict=True) if kept])
    return part, [say("bounded.part", part=int(keep.sum()), units=n)]


def _levels(scores: Array, panel: Panel) -> tuple[Array, pd.DataFrame, bool]:
    """Edges between levels, what each level holds, and whether scores were cut into levels."""
    known, count = np.unique(scores[~np.isnan(scores)], return_counts=True)
    binned = len(known) > MOST_STEPS
    if binned:
        low, high = count[0] >= OWN_LEVEL * count.sum(), count[-1] >= OWN_LEVEL * count.sum()
        inner = slice(1 if low else 0, len(known) - (1 if high else 0))
        place = np.cumsum(count[inner]) / count[inner].sum()
        cut = np.searchsorted(place, np.arange(1, INNER) / INNER - 1e-12) + inner.start
        last = np.unique([*([0] if low else []), *cut, *([len(known) - 2] if high else [])])
        last = last[last < len(known) - 1]
    else:
        last = np.arange(len(known) - 1)
    if len(last) == 0:
        raise PanelError("All scores are equal: there are no levels to tell apart.")
    edges = (known[last] + known[last + 1]) / 2
    starts = np.concatenate([[0], last + 1])
    share = np.add.reduceat(count, starts) / count.sum()
    ends = np.concatenate([last, [len(known) - 1]])
    table = {"level": np.arange(1, len(starts) + 1), "low": known[starts], "high": known[ends], "share": share}
    return edges, pd.DataFrame(table), binned


def _counts(scores: Array, edges: Array) -> Array:
    """Number of single scores on each level: (n, k, m, q) -> (n, k * m, levels)."""
    n, k, m, _ = scores.shape
    there = ~np.isnan(scores)
    code = np.searchsorted(edges, np.where(there, scores, 0.0))
    out = np.stack([((code == c) & there).sum(axis=3) for c in range(len(edges) + 1)], axis=-1)
    return out.reshape(n, k * m, -1).astype(np.float64)


def _cells(
    panel: Panel, fit: OrdinalFit, answers: Panel, level: float, resamples: int, seed: int
) -> tuple[pd.DataFrame, float]:
    """The interaction in logits with its intervals: task influences take the place of task values (section 4)."""
    _, k, m = panel.shape
    influence = sum_clusters(fit.influence, answers.cluster)
    g = len(influence)
    latent = double_centre(fit.cells.reshape(k, m)).ravel()
    values = latent + g * double_centre(influence.reshape(g, k, m)).reshape(g, -1)
    ones = np.ones(g)
    _, se = mean_and_se(values, ones)
    # All scores at one end leave no spread over tasks to go by: the model's own error stands in.
    weight = double_centre(np.eye(k * m).reshape(-1, k, m)).reshape(k * m, -1) ** 2
    se = np.sqrt(se**2 + (fit.separated * np.diag(fit.inverse)) @ weight)
    critical, _ = band_critical(values, ones, se <= 0, level, resamples, seed)
    informed = np.minimum(informing(panel).ravel(), g)
    half = stdtrit(informed - 1, (1 + level) / 2) * se
    band = (critical if panel.complete else own_critical(critical, g, informed)) * se
    table = panel.long(
        latent=latent,
        se=se,
        low=latent - half,
        high=latent + half,
        band_low=latent - band,
        band_high=latent + band,
        clear=np.abs(latent) > band,
    )
    return table, critical


def _agrees(cells: pd.DataFrame, linear: pd.DataFrame) -> list[str]:
    """What became of each cell: see `Bounded`."""
    clear, before = cells["clear"].to_numpy(), cells["linear_clear"].to_numpy()
    same = (np.sign(cells["latent"]) == np.sign(cells["linear"])).to_numpy()
    holds = same & ((cells["low"] > 0) | (cells["high"] < 0)).to_numpy()
    held = same & (linear["verdict"] != "unclear").to_numpy()
    out = np.full(len(cells), "same", object)
    out[before & ~holds] = "lost"
    out[clear & ~held] = "new"
    out[clear & before & ~same] = "turned"
    return out.tolist()


def _verdict(cells: pd.DataFrame) -> tuple[Say, bool]:
    """Whether the linear conclusion survives: no clear cell turns round, the largest stays, and so do half of them;
    and where no cell is clear in points none is clear in logits."""
    linear = cells[cells["linear_clear"]]
    counts = {name: int((cells["agrees"] == name).sum()) for name in ("same", "lost", "new", "turned")}
    values = {**counts, "clear": int(cells["clear"].sum()), "linear": len(linear), "cells": len(cells)}
    if linear.empty:
        survives = counts["new"] == 0
        first = cells.iloc[int(cells["latent"].abs().argmax())]
    else:
        first = linear.iloc[int(linear["linear"].abs().argmax())]
        kept = int((linear["agrees"] == "same").sum())
        survives = counts["turned"] == 0 and first["agrees"] == "same" and kept >= KEPT * len(linear)
    values |= {name: first[name] for name in ("language", "judge", "latent", "band_low", "band_high", "agrees")}
    return say("bounded.survives" if survives else "bounded.fails", **values), survives
