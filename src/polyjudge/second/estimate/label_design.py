"""The design of labels: strata of the panel's mean in each language, and how many labels drawn from them are enough."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.panel import Panel

STRATA = 4
"""Strata of the panel's mean in each language from which items are drawn."""
BINS = 50
"""Bins of the panel's mean from which strata are cut."""
MANY = 200
"""No round is larger: labels that came back tell better how many more it takes."""
FIRST = 20
"""No first round is smaller: from here on the intervals of few labels keep their level."""
SEEN = 50_000
"""Answers that tell how far judges differ; of more, so many are looked at."""


def cut_points(mean: Array, low: float, high: float) -> list[float]:
    """Values that divide a language's panel means into strata: equal steps of the cumulated root of their density."""
    place = np.clip(((mean - low) / max(high - low, 1e-300) * BINS).astype(int), 0, BINS - 1)
    total = np.cumsum(np.sqrt(np.bincount(place, minlength=BINS)))
    stratum = np.minimum((total / total[-1] * STRATA - 1e-9).astype(int), STRATA - 1)
    used = stratum[np.unique(place)]
    edges = [i for i in range(1, BINS) if stratum[i] != stratum[i - 1] and (used >= stratum[i]).any()]
    return [float(low + i / BINS * (high - low)) for i in edges]


def design_cuts(panel: Panel) -> dict[str, list[float]]:
    """The values that divide each language's panel means into the strata from which items are drawn."""
    mean = panel.scores.mean(axis=2)
    low, high = panel.range
    return {name: cut_points(x[~np.isnan(x)], low, high) for name, x in zip(panel.languages, mean.T, strict=True)}


def by_neyman(stratum: NDArray[np.int64], spread: Array, within: float, level: float = 0.95) -> Array:
    """(k,) labels that bring means to +-`within` when they are drawn by Neyman's rule from strata (n, k) with these
    spreads (k, H)."""
    size = np.stack([(stratum == h).sum(axis=0) for h in range(spread.shape[1])], axis=1)
    share = size / np.maximum(size.sum(axis=1, keepdims=True), 1)
    z = float(stdtrit(30, (1 + level) / 2))
    return np.maximum(np.ceil(((share * spread).sum(axis=1) * z / within) ** 2), 2.0)


def for_most(needed: Array, least: int = 10) -> int | None:
    """One number for nine languages in ten: `least` to `MANY`, None when there is none above 0."""
    most = float(np.nanquantile(needed, 0.9)) if np.isfinite(needed).any() else 0.0
    return int(np.clip(np.ceil(most), least, MANY)) if most > 0 else None


def labels_expected(panel: Panel, within: float) -> int | None:
    """Labels a language before there are any: what brings its mean to +-`within` if people differ from the panel as a
    judge does from the others. None where that cannot be told: one judge, preferences, tasks summed into units."""
    margins = panel.reading is not None and panel.reading.values.get("kind") == "margins"
    if len(panel.judges) < 2 or margins or (panel.weights != 1).any() or not within > 0:
        return None
    units = panel.by_system() if panel.systems else panel
    scores = units.scores[:: max(len(units.scores) // SEEN, 1)]
    mean = scores.mean(axis=2)
    own = (scores - mean[..., None]) * scores.shape[2] / (scores.shape[2] - 1)  # less the mean of the other judges
    stratum, spread = np.full(mean.shape, -1), np.zeros((mean.shape[1], STRATA))
    for i, there in enumerate(~np.isnan(mean.T)):
        x = mean[there, i]
        stratum[there, i] = np.searchsorted(cut_points(x, *units.range), x, side="right") if len(x) else -1
        for h in np.unique(stratum[there, i]):
            spread[i, h] = np.sqrt(own[stratum[:, i] == h, i].var(axis=0).mean())
    return for_most(np.where((stratum >= 0).any(axis=0), by_neyman(stratum, spread, within), np.nan), FIRST)
