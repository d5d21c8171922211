"""Whom does calibration help, whom does it hurt? (docs/methods.md, section 13)

Let u = beta(l,b) be a cell's interaction and e(l) the centred shift of the panel mean against the humans. The judge's
language-specific error is u + e before calibration and e after it, so the cell gains u (u + 2e) = u v points squared.
Both u and v are means over tasks, free of bias. The band of the product is what the two intervals of its factors allow,
and it excludes zero exactly when both do; so a verdict needs no estimate of a squared quantity. The printed gain is
cross-fitted: u and v never come from the same task.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from polyjudge.second.calibrate.anchored import ShiftEstimate, estimate_shift
from polyjudge.second.estimate.incomplete import stand_in
from polyjudge.second.estimate.kernels import double_centre, draw_blocks
from polyjudge.second.estimate.shares import quantiles
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.gold import Gold
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import Say, say
from polyjudge.second.report.result import Result

FEWEST_FOR_BOOTSTRAP = 10
"""With fewer labels in a language the pointwise interval comes from Student's t, like the band."""


class Helped(Result):
    """Per cell: language, judge, labels, interaction, centred_shift, gain (points squared, cross-fitted), low, high
    (pointwise), band_low, band_high (all cells at once), verdict, open_because, more_labels.

    `verdict` is helped, hurt or cannot tell. `open_because` of an undecided cell: "labels" (more would settle it),
    "tasks" (its interaction is not clear itself, or the spread left after any number of labels is too large), "no
    labels". `more_labels` per language would settle the cell if the present estimates are right and every language gets
    more in proportion.
    """

    cells: pd.DataFrame
    helped: int
    hurt: int
    unclear: int
    level: float
    resamples: int
    seed: int
    notes: tuple[Say, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class CellFactors:
    """u and v of the cells of labelled languages, (q, m), with standard errors, degrees of freedom and covariance."""

    shift: ShiftEstimate
    interactions: Array
    """(n, q, m): double centring of each task over the labelled languages, 0 for tasks that lack a score."""
    weights: Array
    """(n,): task weights, 0 for tasks that lack a score."""
    u: Array
    v: Array
    se_u: Array
    se_v: Array
    df_u: float
    df_v: Array
    covariance: Array
    label_variance: Array
    """(q, 1): the part of v's variance that more labels, in proportion, would lower."""
    gap: float

    @property
    def gain(self) -> Array:
        """The cell's gain u v without the bias of estimating both from the same tasks."""
        return self.u * self.v - self.covariance


def cell_factors(panel: Panel, gold: Gold) -> CellFactors:
    """Estimate both factors for the languages with at least two labels."""
    shift = estimate_shift(panel, gold)
    q = len(shift.languages)
    if q < 2:
        raise PanelError(
            "Whom calibration helps is a comparison of languages: at least two need two or more human scores each; "
            f"here {'none has' if q == 0 else 'only ' + panel.languages[shift.languages[0]] + ' has'}."
        )
    n = int(panel.cluster.max()) + 1
    interactions = double_centre(stand_in(panel).scores[:, shift.languages])
    weights = panel.weights
    share = weights / weights.sum()
    u = np.tensordot(share, interactions, 1)
    psi = shift.summed(share[:, None, None] * (interactions - u)) * np.sqrt(n / (n - 1))
    chi = psi + 2 * shift.summed(shift.centred_influence)[:, :, None]
    var_v = (chi**2).sum(axis=0)
    parts = 4 * (np.eye(q) - 1 / q) ** 2 * shift.variance
    label_variance = parts.sum(axis=1, keepdims=True)
    rest = np.maximum(var_v - label_variance, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        df_v = (label_variance + rest) ** 2 / (
            (parts**2 / (shift.clusters - 1)).sum(axis=1, keepdims=True) + rest**2 / (n - 1)
        )
    df_v = np.where(np.isfinite(df_v), np.minimum(df_v, n - 1), n - 1)
    return CellFactors(
        shift=shift,
        interactions=interactions,
        weights=weights,
        u=u,
        v=u + 2 * shift.centred[:, None],
        se_u=np.sqrt((psi**2).sum(axis=0)),
        se_v=np.sqrt(var_v),
        df_u=float(n - 1),
        df_v=df_v,
        covariance=(psi * chi).sum(axis=0),
        label_variance=label_variance,
        gap=panel.tie_gap,
    )


def product_band(f: CellFactors, tail: float) -> tuple[Array, Array]:
    """What the product u v can be when each factor stays within its t interval with `tail` on either side."""
    # a factor within the tie gap of zero is zero, however small its spread: rounding must not become a verdict
    half_u = np.maximum(stdtrit(f.df_u, 1 - tail) * f.se_u, f.gap)
    half_v = np.maximum(stdtrit(f.df_v, 1 - tail) * f.se_v, f.gap)
    ends = np.stack([(f.u + i * half_u) * (f.v + j * half_v) for i in (-1, 1) for j in (-1, 1)])
    return ends.min(axis=0), ends.max(axis=0)


def whom_it_helps(panel: Panel, gold: Gold, *, level: float = 0.95, resamples: int = 1000, seed: int = 7) -> Helped:
    """Helped, hurt or cannot tell, for every cell, from human scores set beside the panel.

    All verdicts hold at once with probability `level`: a cell's error takes one of two tails, so each factor of each
    cell gets (1 - level) / (2 cells).
    """
    f = cell_factors(panel, gold)
    q, m = f.u.shape
    tail = (1 - level) / (2 * q * m)
    band_low, band_high = product_band(f, tail)
    verdict = np.where(band_low > 0, "helped", np.where(band_high < 0, "hurt", "cannot tell")).astype(object)
    low, high = _pointwise(f, level, resamples, seed)
    because, more = _what_settles(f, tail, verdict, len(panel.tasks))
    k = len(panel.languages)

    def full(values: Array, empty: Any = np.nan) -> NDArray[Any]:
        out = np.full((k, m), empty, dtype=values.dtype)
        out[f.shift.languages] = values
        return out

    cells = panel.long(
        labels=np.repeat(gold.there.sum(axis=0), m),
        interaction=full(f.u),
        centred_shift=full(f.shift.centred[:, None]),
        gain=full(f.gain),
        low=full(low),
        high=full(high),
        band_low=full(band_low),
        band_high=full(band_high),
        verdict=full(verdict, "cannot tell"),
        open_because=full(because, "no labels"),
        more_labels=full(more),
    )
    notes = []
    if q < k:
        left = [lang for i, lang in enumerate(panel.languages) if i not in f.shift.languages]
        notes.append(say("labels.under-two", languages=left))
    if f.shift.labels.min() < FEWEST_FOR_BOOTSTRAP:
        notes.append(say("labels.few-wide", fewest=FEWEST_FOR_BOOTSTRAP))
    count = cells["verdict"].value_counts()
    return Helped(
        cells=cells,
        helped=int(count.get("helped", 0)),
        hurt=int(count.get("hurt", 0)),
        unclear=int(count.get("cannot tell", 0)),
        level=level,
        resamples=resamples,
        seed=seed,
        notes=tuple(notes),
    )


def _pointwise(f: CellFactors, level: float, resamples: int, seed: int) -> tuple[Array, Array]:
    """Task-bootstrap percentiles of the gain, moved by twice the covariance that a resample adds to the product."""
    n = len(f.weights)
    flat = (f.interactions * f.weights[:, None, None]).reshape(n, -1)
    draws = []
    for counts in draw_blocks(n, resamples, seed, f.shift.cluster):
        c = counts.astype(np.float64)
        weight = (c @ f.weights)[:, None]
        u = np.divide(c @ flat, weight, out=np.full((len(c), flat.shape[1]), np.nan), where=weight > 0)
        u = u.reshape(-1, *f.u.shape)
        g = f.shift.resample(c)
        e = g - g.mean(axis=1, keepdims=True)
        draws.append(u * (u + 2 * e[..., None]) - 2 * f.covariance)
    low, high = quantiles(np.concatenate(draws), level)
    few = (f.shift.labels < FEWEST_FOR_BOOTSTRAP)[:, None]
    band = product_band(f, (1 - level) / 2)
    return np.where(few, band[0], low), np.where(few, band[1], high)


def _what_settles(f: CellFactors, tail: float, verdict: Array, tasks: int) -> tuple[Array, Array]:
    """Why a cell is open, and how many more labels per language would close it (NaN when labels cannot)."""
    z = stdtrit(f.df_u, 1 - tail)
    clear = np.abs(f.u) > z * f.se_u
    rest = np.maximum(f.se_v**2 - f.label_variance, 0.0)
    room = (f.v / z) ** 2 - rest
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(room > 0, f.label_variance / np.where(room > 0, room, 1.0), np.inf)
    labels = f.shift.labels[:, None]
    needed = np.ceil(factor * labels)
    solvable = clear & (needed <= tasks)
    is_open = verdict == "cannot tell"
    because = np.where(is_open, np.where(solvable, "labels", "tasks"), "").astype(object)
    more = np.where(is_open & solvable, np.maximum(needed - labels, 1), np.nan)
    return because, more
