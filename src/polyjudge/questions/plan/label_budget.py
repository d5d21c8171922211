"""How many labels? For a target half-width of each language's mean, with the panel's help and without it.

With n labels on N tasks, a human spread sd and a correlation r between panel mean and human, the variance of the tuned
prediction-powered mean is sd^2 / n * (1 - r^2 (N - n) / N); labels alone have sd^2 / n.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from polyjudge.estimate.kernels import draw_blocks
from polyjudge.panel.arrays import Array
from polyjudge.panel.errors import PanelError, UsageError
from polyjudge.panel.gold import Gold
from polyjudge.panel.panel import Panel
from polyjudge.panel.say import Say, say
from polyjudge.questions.anchor.helped import whom_it_helps
from polyjudge.questions.anchor.ppi import predictor
from polyjudge.report.result import Result

FEWEST = 5
"""A language with fewer pilot labels borrows spread and correlation from all languages together."""


@dataclass(frozen=True, repr=False, eq=False)
class LabelBudget(Result):
    """Per language: labels (so far), tasks, sd (of labels), correlation (of panel mean and label), half_width (now),
    labels_only and with_panel (labels needed in all, with low and high), next_labels (share of the next `batch`),
    next_half_width (after them), settles (open cells that more labels would settle), pooled.

    NaN in `with_panel` or its ends means that more tasks are needed than the panel has. `pooled` marks languages that
    borrow spread and correlation from the others for want of labels.
    """

    table: pd.DataFrame
    half_width: float
    level: float
    batch: int
    quantity: str
    notes: tuple[Say, ...]


def labels_needed(sd: Array, correlation: Array, tasks: Array, half_width: float, level: float = 0.95) -> Array:
    """Labels for a half-width, with a predictor of this correlation (0: labels alone); NaN when `tasks` are too few.

    >>> float(labels_needed(np.array(10.0), np.array(0.0), np.array(1000), 2.0))
    97.0
    >>> float(labels_needed(np.array(10.0), np.array(0.8), np.array(1000), 2.0))
    37.0
    """
    if not half_width > 0:
        raise UsageError("The half-width must be above 0.")
    if not 0 < level < 1:
        raise UsageError(f"level is a confidence level between 0 and 1, not {level}.")
    spread = (float(ndtri((1 + level) / 2)) * sd) ** 2
    r2 = np.maximum(correlation, 0.0) ** 2
    enough = spread <= half_width**2 * tasks
    left = np.where(enough, half_width**2 - spread * r2 / tasks, 1.0)
    needed = np.ceil(np.where(enough, spread * (1 - r2) / left, np.nan) - 1e-9)
    return np.maximum(needed, np.where(np.isnan(needed), np.nan, 2.0))


def powered_variance(sd: Array, correlation: Array, tasks: Array, labels: Array) -> Array:
    """Variance of the tuned mean with `labels` of `tasks` labelled."""
    r2 = np.maximum(correlation, 0.0) ** 2
    return sd**2 / labels * (1 - r2 * np.maximum(tasks - labels, 0) / tasks)


def label_budget(
    panel: Panel,
    gold: Gold,
    half_width: float,
    *,
    level: float = 0.95,
    batch: int = 100,
    resamples: int = 1000,
    seed: int = 7,
) -> LabelBudget:
    """Labels per language for a target half-width, from a pilot of labels; and where the next `batch` helps most.

    The next labels are shared out one by one, each to the language where it lowers the variance of the mean most.
    """
    if batch < 1:
        raise UsageError("The next batch needs at least one label.")
    quantity, guess = predictor(panel, gold)
    used = gold.there & ~np.isnan(guess)
    if used.sum() < FEWEST:
        raise PanelError(
            f"A budget needs a pilot of at least {FEWEST} labels to know their spread; here are {int(used.sum())}."
        )
    tasks = (~np.isnan(guess)).sum(axis=0).astype(np.float64)
    labels = used.sum(axis=0)
    y, f = (np.where(used, x, 0.0) for x in (gold.values, guess))
    terms = np.stack([used.astype(np.float64), y, f, y * y, f * f, y * f], axis=2)
    sd, correlation = (x[0] for x in _moments(terms, labels, panel.weights[None]))
    if not (sd > 0).any():
        raise PanelError("All pilot labels are equal, so their spread is not known. Label more tasks.")
    draws = [
        _moments(terms, labels, c * panel.weights)
        for c in draw_blocks(len(panel.tasks), resamples, seed, panel.cluster)
    ]
    drawn_sd, drawn_r = (np.concatenate([d[i] for d in draws]) for i in range(2))
    z, ask = float(ndtri((1 + level) / 2)), (half_width, level)
    columns = _needed("labels_only", sd, 0 * correlation, drawn_sd, 0 * drawn_r, np.full(len(tasks), np.inf), ask)
    columns |= _needed("with_panel", sd, correlation, drawn_sd, drawn_r, tasks, ask)
    extra = _share_out(sd, correlation, tasks, labels, batch)
    variance = powered_variance(sd, correlation, tasks, np.maximum(labels, 1))
    after = powered_variance(sd, correlation, tasks, np.maximum(labels + extra, 1))
    table = pd.DataFrame(
        {
            "language": panel.languages,
            "labels": labels,
            "tasks": tasks.astype(np.int64),
            "sd": sd,
            "correlation": correlation,
            "half_width": np.where(labels > 1, z * np.sqrt(variance), np.nan),
            **columns,
            "next_labels": extra,
            "next_half_width": np.where(labels + extra > 1, z * np.sqrt(after), np.nan),
            "settles": np.asarray(_settles(panel, gold, seed)).astype(np.int64),
            "pooled": labels < FEWEST,
        }
    )
    return LabelBudget(table, half_width, level, batch, quantity, tuple(_notes(table)))


def _moments(terms: Array, labels: NDArray[np.int64], weights: Array) -> tuple[Array, Array]:
    """Spread and correlation of each language, (R, k), for task weights (R, n); pooled where labels (k,) are few.

    terms : (n, k, 6) of each labelled task: 1, label, guess, their squares and product; 0 where there is no label
    """
    sums = (weights @ terms.reshape(len(terms), -1)).reshape(-1, *terms.shape[1:])
    n, a, b, aa, bb, ab = np.moveaxis(sums, -1, 0)
    safe = np.maximum(n, 1e-300)
    yy, ff, yf = aa - a * a / safe, bb - b * b / safe, ab - a * b / safe
    # ratio of effective counts: a language's own, and the sum for the pool
    free = np.maximum(n - n / np.maximum(labels, 1), 1e-300)
    pool = [x.sum(axis=1, keepdims=True) for x in (yy, ff, yf, np.where(labels > 1, free, 0.0))]
    yy, ff, yf, free = (np.where(labels < FEWEST, p, x) for x, p in zip((yy, ff, yf, free), pool, strict=True))
    scale = np.sqrt(np.maximum(yy * ff, 0.0))
    return np.sqrt(np.maximum(yy, 0.0) / free), np.where(scale > 0, yf / np.where(scale > 0, scale, 1.0), 0.0)


def _needed(
    name: str, sd: Array, r: Array, drawn_sd: Array, drawn_r: Array, room: Array, ask: tuple[float, float]
) -> dict[str, Array]:
    """Labels needed for a half-width at a level (`ask`), with their interval over resamples of the pilot."""
    drawn = labels_needed(drawn_sd, drawn_r, room, *ask)
    drawn = np.where(np.isnan(drawn), np.inf, drawn)  # more tasks than there are: an end without a number
    low = np.quantile(drawn, 0.025, axis=0, method="lower")
    high = np.quantile(drawn, 0.975, axis=0, method="higher")
    ends = {f"{name}_{end}": np.where(np.isinf(x), np.nan, x) for end, x in (("low", low), ("high", high))}
    return {name: labels_needed(sd, r, room, *ask), **ends}


def _notes(table: pd.DataFrame) -> list[Say]:
    """What the numbers take for granted, and the languages where they mean little."""
    where = {"labels.all-equal": ~(table["sd"] > 0), "labels.pooled": table["pooled"]}
    listed = {code: table["language"][mask.astype(bool)].tolist() for code, mask in where.items()}
    return [
        say("labels.pilot"),
        *(say(code, languages=names, fewest=FEWEST) for code, names in listed.items() if names),
    ]


def _share_out(sd: Array, correlation: Array, tasks: Array, labels: Array, batch: int) -> Array:
    """The next labels of each language, (k,), shared out where the variance falls most; never beyond its tasks."""
    have = labels.astype(np.float64)
    extra = np.zeros(len(have), np.int64)
    for _ in range(batch):
        now = np.where(have > 0, powered_variance(sd, correlation, tasks, np.maximum(have, 1)), 4 * sd**2)
        fall = np.where(have < tasks, now - powered_variance(sd, correlation, tasks, have + 1), -np.inf)
        best = int(fall.argmax())
        if not fall[best] > 0:
            break
        have[best] += 1
        extra[best] += 1
    return extra  # type: ignore[return-value]


def _settles(panel: Panel, gold: Gold, seed: int) -> Array | int:
    """Open cells of each language that more labels would settle; 0 where that cannot be known."""
    if gold.kind != "score":
        return 0
    try:
        cells = whom_it_helps(panel, gold, resamples=64, seed=seed).cells
    except PanelError:
        return 0
    open_cells = (cells["open_because"] == "labels").astype(float)
    return np.asarray(open_cells.groupby(cells["language"], sort=False).sum(), np.float64)
