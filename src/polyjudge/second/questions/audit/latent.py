"""Scores with few levels or heavy ends: the interaction on a scale without ends, and whether the linear one survives.

A judge whose scores pile up at an end shows small differences there whatever the language does, and so double centring
can make an interaction out of nothing, or hide one. The cumulative logit model of `estimate.ordinal` (two levels: the
logistic one) has no ends. See docs/methods.md.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from polyjudge.second.estimate.bands import Uncertainty, band_critical, own_critical, uncertainty
from polyjudge.second.estimate.incomplete import informing_interaction
from polyjudge.second.estimate.kernels import double_centre
from polyjudge.second.estimate.levels import Latent, Reason, asks, latent_cells
from polyjudge.second.estimate.resample import check_level, check_resamples, mean_and_se
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import Say, say
from polyjudge.second.report.result import Result

KEPT = 0.5
"""The linear conclusion survives only if at least this share of its clear cells stays clear."""


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
    unit_sd: float
    """Standard deviation of the tasks' (with systems: answers') own effects, in logits."""
    level: float
    survives: bool
    verdict: Say
    notes: tuple[Say, ...]


def bounded(
    panel: Panel,
    *,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 7,
    linear: Uncertainty | None = None,
    latent: Latent | None = None,
) -> Bounded:
    """The interaction on the latent scale of an ordinal (or binary) mixed model, and whether the linear one survives.

    level : confidence level of every interval and of the band
    resamples, seed : of the task bootstrap behind the band
    linear : the linear result to compare with; `uncertainty` of the same panel when not given
    latent : the fitted model of levels of the same panel, where it is at hand

    >>> from polyjudge.second import simulate_panel
    >>> panel, _ = simulate_panel(scale="integer", steps=5, seed=1)
    >>> bounded(panel).reason
    'few-levels'
    """
    check_level(level)
    check_resamples(resamples)
    latent = latent or latent_cells(panel, seed)
    linear = linear or uncertainty(panel, level=level, resamples=resamples, seed=seed)
    fit, notes = latent.fit, list(latent.notes)
    _, k, m = panel.shape
    cells = _cells(panel, latent, level, resamples, seed)
    own = linear.cells
    cells["linear"], cells["linear_clear"] = own["interaction"].to_numpy(), own["clear"].to_numpy(dtype=bool)
    cells["agrees"] = _agrees(cells, own)
    cells["separated"] = fit.separated
    if fit.separated.any():
        notes.append(say("bounded.separated", count=int(fit.separated.sum()), cells=k * m))
    verdict, survives = _verdict(cells)
    return Bounded(
        cells=cells,
        levels=latent.levels,
        reason=asks(panel),
        binned=latent.binned,
        unit_sd=fit.sigma,
        level=level,
        survives=survives,
        verdict=verdict,
        notes=tuple(notes),
    )


def _cells(panel: Panel, model: Latent, level: float, resamples: int, seed: int) -> pd.DataFrame:
    """The interaction in logits with its intervals: task influences take the place of task values (section 4)."""
    _, k, m = panel.shape
    fit, g = model.fit, len(model.values)
    latent = double_centre(model.cells).ravel()
    values = double_centre(model.values).reshape(g, -1)
    ones = np.ones(g)
    _, se = mean_and_se(values, ones)
    # All scores at one end leave no spread over tasks to go by: the model's own error stands in.
    weight = double_centre(np.eye(k * m).reshape(-1, k, m)).reshape(k * m, -1) ** 2
    se = np.sqrt(se**2 + (fit.separated * np.diag(fit.inverse)) @ weight)
    critical, _ = band_critical(values, ones, se <= 0, level, resamples, seed)
    informed = np.minimum(informing_interaction(panel).ravel(), g)
    half = stdtrit(informed - 1, (1 + level) / 2) * se
    band = (critical if panel.complete else own_critical(critical, g, informed)) * se
    return panel.long(
        latent=latent,
        se=se,
        low=latent - half,
        high=latent + half,
        band_low=latent - band,
        band_high=latent + band,
        clear=np.abs(latent) > band,
    )


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
