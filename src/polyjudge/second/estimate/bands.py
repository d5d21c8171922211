"""How sure is each cell of the interaction: intervals, a band over all cells at once, and two bounds.

See docs/methods.md, section 4.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from polyjudge.second.estimate.incomplete import estimate_interaction, informed_share, informing_interaction, sampling_panel
from polyjudge.second.estimate.pairs import borrowed
from polyjudge.second.estimate.resample import (
    bootstrap_t,
    check_level,
    check_resamples,
    in_groups,
    mean_and_se,
    noise_gap,
    task_interactions,
)
from polyjudge.second.panel.arrays import Array, row_blocks
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.records import Record
from polyjudge.second.panel.say import Say, say

ENOUGH_FOR_BOOTSTRAP = 30
"""With fewer tasks the bootstrap's critical value, which is far too wide of very few, is drawn towards Bonferroni's t,
which is too narrow for skewed scores: half way up to 8 tasks, then less and less. No jump anywhere."""
COLUMNS = 10_000
"""Cells that are resampled together: what that takes does not grow with their number."""
WIDEST = 4.0
"""The bootstrap's critical value counts as at most this many times Bonferroni's."""


class Uncertainty(Record):
    """The interaction with its uncertainty.

    `cells` has one row per cell. `verdict` is "clear" (the band excludes 0), "pointwise" (only the cell's own interval
    does) or "unclear". `bounds` lists the half-widths of the band and of the bounds that need no bootstrap.
    """

    cells: pd.DataFrame
    bounds: pd.DataFrame
    level: float
    tasks: int
    critical: float
    """The band is interaction +- critical * se; wider for cells that miss scores."""
    band_method: str
    sigma_noise: float
    sigma_scores: float
    """Of all scores, as published: too wide, because it counts task, judge and language differences as noise. NaN where
    units hold several tasks."""
    notes: tuple[Say, ...]

    @property
    def clear(self) -> int:
        """Number of cells whose band excludes 0."""
        return int(self.cells["clear"].sum())


def uncertainty(panel: Panel, *, level: float = 0.95, resamples: int = 1000, seed: int = 7) -> Uncertainty:
    """Uncertainty of the interaction.

    level : confidence level of every interval and of the band
    resamples, seed : of the task bootstrap behind the band

    >>> from polyjudge.second import simulate_panel
    >>> panel, truth = simulate_panel(seed=1)
    >>> u = uncertainty(panel)
    >>> bool((abs(u.to_frame()["interaction"]) > 0).all())
    True
    """
    check_level(level)
    check_resamples(resamples)
    _, k, m = panel.shape
    w = sampling_panel(panel).weights
    n = len(w)
    deviations = task_interactions(panel)
    beta, se = (x.ravel() for x in mean_and_se(deviations, w))
    constant = se <= noise_gap(panel)
    se = np.where(constant, 0.0, se)
    # A cell that happens to hold none of its judge's failed calls looks too sure: it borrows the judge's spread.
    safe, _ = borrowed(in_groups(deviations, w)[0], beta.reshape(k, m), se.reshape(k, m), informed_share(panel))
    half = stdtrit(informing_interaction(panel).ravel() - 1, (1 + level) / 2) * safe.ravel()
    critical, method = band_critical(deviations.reshape(n, -1), w, constant, level, resamples, seed)
    band = (critical if panel.complete else own_critical(critical, n, informing_interaction(panel).ravel())) * se
    # Where every task gives the same deviation there is no spread to scale by: the sign test stands in.
    same_sign = np.where(np.abs(beta) > panel.tie_gap, 2 * 0.5**n, 1.0)
    clear = np.where(constant, same_sign * k * m <= 1 - level, np.abs(beta) > band)
    pointwise = np.where(constant, same_sign <= 1 - level, np.abs(beta) > half)
    cells = panel.long(
        interaction=beta,
        se=se,
        low=beta - half,
        high=beta + half,
        band_low=beta - band,
        band_high=beta + band,
        clear=clear,
        verdict=np.where(clear, "clear", np.where(pointwise, "pointwise", "unclear")),
    )
    noise, scores = noise_sigma(panel), score_sigma(panel)
    return Uncertainty(
        cells=cells,
        bounds=_bounds(panel, band, noise, scores, level),
        level=level,
        tasks=panel.n_tasks,
        critical=critical,
        band_method=method,
        sigma_noise=noise,
        sigma_scores=scores,
        notes=tuple(_notes(panel, critical, constant, scores)),
    )


def _bounds(panel: Panel, band: Array, noise: float, scores: float, level: float) -> pd.DataFrame:
    """Half-widths of the band and of the bounds that need no bootstrap: bound, sigma, radius."""
    (_, k, m), tasks = panel.shape, panel.n_tasks
    free = free_radius(panel.range[1] - panel.range[0], tasks, k, m, level) if panel.complete else np.nan
    rows = [
        ("band, widest cell", np.nan, float(band.max())),
        ("band, narrowest cell", np.nan, float(band.min())),
        ("Gaussian, sigma of the noise", noise, gaussian_radius(noise, tasks, k, m, level)),
        ("Gaussian, sigma of all scores", scores, gaussian_radius(scores, tasks, k, m, level)),
        ("distribution-free", np.nan, free),
    ]
    return pd.DataFrame(rows, columns=["bound", "sigma", "radius"])


def _notes(panel: Panel, critical: float, constant: NDArray[np.bool_], scores: float) -> list[Say]:
    low, high = panel.range
    notes: list[Say] = []
    if np.isinf(critical):
        notes.append(say("uncertainty.no-band"))
    if constant.any():
        notes.append(say("uncertainty.constant-cells", constant=int(constant.sum()), cells=constant.size))
    if not panel.complete:
        notes += [] if panel.whole else [say("uncertainty.missing")]
    elif panel.declared_range is None:
        notes.append(say("uncertainty.observed-scale", low=low, high=high))
    if np.isnan(scores):
        notes.append(say("uncertainty.units"))
    return notes


def band_critical(
    values: Array, w: Array, constant: NDArray[np.bool_], level: float, resamples: int, seed: int
) -> tuple[float, str]:
    """The critical value of the band over all cells, and how it was found. Overwrites the values (n, cells)."""
    n, count = values.shape
    maxima = np.zeros(resamples)
    for start in range(0, count, COLUMNS):
        part, at = slice(start, start + COLUMNS), 0
        for mean, se in bootstrap_t(values[:, part], w, resamples, seed, own=True):
            with np.errstate(divide="ignore", invalid="ignore"):
                t = np.abs(mean) / se
            t[:, constant[part]] = 0.0
            largest = np.fmax.reduce(t, axis=1, initial=0.0)  # what is no number counts as 0
            maxima[at : at + len(t)] = np.maximum(maxima[at : at + len(t)], largest)
            at += len(t)
    critical = float(np.quantile(maxima, level, method="higher"))
    if n >= ENOUGH_FOR_BOOTSTRAP:
        return critical, "studentised bootstrap"
    plain = bonferroni_t(n, count, level)
    share = min(1.0, 0.5 + 0.5 * max(0, n - 8) / (ENOUGH_FOR_BOOTSTRAP - 8))
    mixed = plain * min(max(critical / plain, np.finfo(float).tiny), WIDEST) ** share
    return mixed, "studentised bootstrap and Bonferroni t"


def own_critical(critical: float, n: int, tasks: Array) -> Array:
    """The critical value of each cell, (cells,): the same tail probability with as many tasks as inform the cell."""
    tail = stdtr(n - 1, -critical)
    return np.maximum(critical, -stdtrit(tasks - 1, tail)) if tail > 0 else np.full(tasks.shape, critical)


def bonferroni_t(n: int, cells: int, level: float) -> float:
    """Critical value of `cells` two-sided t tests at once."""
    return float(stdtrit(n - 1, 1 - (1 - level) / (2 * cells)))


def noise_sigma(panel: Panel, deviations: Array | None = None) -> float:
    """Noise sd per task from what double centring leaves: sum (D_t - beta^)^2 / ((n-1)(k-1)(m-1)) under the root."""
    n, k, m = panel.shape
    d = estimate_interaction(panel).influence if deviations is None else deviations
    mean, w = np.tensordot(panel.weights / panel.weights.sum(), d, 1), panel.weights
    square = sum(np.tensordot(w[part], (d[part] - mean) ** 2, 1) for part in row_blocks(d))
    return float(np.sqrt(np.sum(square) / ((n - 1) * (k - 1) * (m - 1))))


def score_sigma(panel: Panel) -> float:
    """Sd of all scores (replicates averaged), as the published bound takes it; NaN where units hold several tasks."""
    if not np.all(panel.weights == 1):
        return float("nan")
    scores = panel.scores
    count = int(np.isfinite(scores).sum())
    mean = sum(np.nansum(scores[part]) for part in row_blocks(scores)) / count
    return float(np.sqrt(sum(np.nansum((scores[part] - mean) ** 2) for part in row_blocks(scores)) / count))


def gaussian_radius(sigma: float, tasks: float, k: int, m: int, level: float) -> float:
    """Simultaneous radius of the Gaussian bound over all cells."""
    return float(sigma * np.sqrt(2 * (1 - 1 / m) * (1 - 1 / k) * np.log(2 * m * k / (1 - level)) / tasks))


def free_radius(width: float, tasks: float, k: int, m: int, level: float) -> float:
    """Simultaneous radius of the distribution-free bound for scores on a scale of this width."""
    c = (1 - 1 / k) * (1 - 1 / m)
    return float(c * width * np.sqrt(8 * np.log(2 * m * k / (1 - level)) / tasks))
