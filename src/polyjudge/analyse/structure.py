"""The pattern of the interaction: scale use (Tukey's one degree of freedom) and leading patterns (singular values)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtr

from polyjudge.core.arrays import Array, ratio
from polyjudge.core.panel import Panel
from polyjudge.core.results import Result
from polyjudge.core.sections import Say, say
from polyjudge.estimate.incomplete import sampling_panel
from polyjudge.estimate.kernels import double_centre
from polyjudge.estimate.resample import check_level, jackknife, leave_out

DOMINANT = 0.6
"""A leading pattern with at least this share of the squared interaction is called dominant."""
SCALED = 0.25
"""Use of the scale is called one with at least this share."""
TUKEY = ("tukey_slope", "tukey_low", "tukey_high", "tukey_p", "tukey_share", "tukey_p_without", "tukey_share_without")
CELLS_TRIED = 3
"""Cells that are left out of the test of scale use: so many of the largest, and of those that carry most of it."""


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Structure(Result):
    """What the interaction looks like.

    `patterns`: pattern, singular_value, share (of the squared interaction), low, high (jackknife over tasks).
    `scale_use`: judge, slope, low, high: how much a judge's mean moves when the panel's mean of a language moves by one
    point; 1 is the panel's own width, more is a wider use of the scale. `tukey_share` is the part of the squared
    interaction that judge and language effects multiplied explain.
    """

    patterns: pd.DataFrame
    languages: pd.DataFrame
    """Loading of each language on the leading pattern, and its share of the squared interaction."""
    judges: pd.DataFrame
    scale_use: pd.DataFrame
    tukey_slope: float | None
    tukey_low: float | None
    tukey_high: float | None
    tukey_p: float | None
    tukey_share: float | None
    tukey_p_without: float | None
    """The same without the one cell that matters most to it, and ..."""
    tukey_share_without: float | None
    """... the share then: scale use is diagnosed only if it does not hang on one cell."""
    advice: Say
    level: float
    notes: tuple[Say, ...]

    @property
    def scaled(self) -> bool:
        """Whether part of the interaction is use of the scale, with any one cell left out too."""
        return _scaled(vars(self), 1 - self.level)


def structure(panel: Panel, *, level: float = 0.95) -> Structure:
    """Structure of the interaction of a panel."""
    check_level(level)
    panel = sampling_panel(panel)
    _, k, m = panel.shape
    w = panel.weights
    means = panel.cell_means
    left = leave_out(w[:, None, None] * panel.scores) / leave_out(w)[:, None, None]
    beta = double_centre(means)
    notes: list[Say] = []
    total = float((beta**2).sum())
    flat = float(np.abs(beta).max()) <= panel.tie_gap
    if flat:
        notes.append(say("structure.flat"))

    u, s, vt = np.linalg.svd(beta, full_matrices=False)
    patterns = _patterns(s, left, min(k, m) - 1, 0.0 if flat else total, panel.tie_gap, level)
    language, judge = u[:, 0], vt[0]
    if judge[np.abs(judge).argmax()] < 0:  # the sign of a pattern is arbitrary: its strongest judge is positive
        language, judge = -language, -judge
    squared = beta**2 / total if not flat else np.zeros_like(beta)
    languages = _loadings("language", panel.languages, language, squared.sum(axis=1))
    judges = _loadings("judge", panel.judges, judge, squared.sum(axis=0))

    tukey_test, use = _scale_use(panel, means, left, level, notes)
    return Structure(
        patterns=patterns,
        languages=languages,
        judges=judges,
        scale_use=use,
        advice=_advice(patterns, languages, judges, tukey_test, 1 - level, flat),
        level=level,
        notes=tuple(notes),
        **tukey_test,
    )


def _patterns(s: Array, left: Array, rank: int, total: float, gap: float, level: float) -> pd.DataFrame:
    """Singular values of the interaction, their shares of its sum of squares, and jackknife intervals."""
    shares = s[:rank] ** 2 / total if total > 0 else np.zeros(rank)
    parts = np.linalg.svd(double_centre(left), compute_uv=False)[:, :rank] ** 2
    around = parts.sum(axis=1, keepdims=True)
    parts = np.divide(parts, around, out=np.zeros_like(parts), where=around > gap**2)
    _, low, high = jackknife(shares, parts, level)
    numbers = {"pattern": np.arange(1, rank + 1), "singular_value": s[:rank], "share": shares}
    return pd.DataFrame({**numbers, "low": np.clip(low, 0, 1), "high": np.clip(high, 0, 1)})


def _scale_use(
    panel: Panel, means: Array, left: Array, level: float, notes: list[Say]
) -> tuple[dict[str, float | None], pd.DataFrame]:
    """Tukey's one degree of freedom with its jackknife test, and each judge's slope on the language means."""
    if min(np.ptp(means.mean(axis=axis)) for axis in (0, 1)) <= panel.tie_gap:
        notes.append(say("structure.equal-means"))
        return dict.fromkeys(TUKEY), pd.DataFrame(
            {"judge": panel.judges, "slope": np.nan, "low": np.nan, "high": np.nan}
        )
    tukey, slopes = tukey_slope(means), scale_slopes(means)
    se, low, high = jackknife(tukey, tukey_slope(left), level)
    p = float(2 * stdtr(len(left) - 1, -abs(float(tukey)) / float(se))) if se > 0 else None
    found = (float(tukey), float(low), float(high), p, float(tukey_share(means)), *_without_a_cell(means, left))
    test: dict[str, float | None] = dict(zip(TUKEY, found, strict=True))
    _, low, high = jackknife(slopes, scale_slopes(left), level)
    return test, pd.DataFrame({"judge": panel.judges, "slope": slopes, "low": low, "high": high})


def _without_a_cell(means: Array, left: Array) -> tuple[float | None, float]:
    """The weakest test and the smallest share of scale use with one cell left out: the cells that carry most are tried.

    A cell that is left out takes the value that leaves it no interaction, as a missing plot does.
    """
    g, a, beta = _effects(means)
    carried = np.abs(beta * g * a)
    tried = {int(i) for size in (np.abs(beta), carried) for i in np.argsort(-size, axis=None)[:CELLS_TRIED]}
    p_values, shares = [0.0], []
    for cell in tried:
        at = np.unravel_index(cell, means.shape)
        whole, parts = _filled(means, at), _filled(left, at)
        slope = float(tukey_slope(whole))
        se, _, _ = jackknife(np.array(slope), tukey_slope(parts), 0.95)
        p_values.append(float(2 * stdtr(len(left) - 1, -abs(slope) / float(se))) if se > 0 else 1.0)
        shares.append(float(tukey_share(whole)))
    return max(p_values), min(shares)


def _filled(means: Array, at: tuple[np.intp, ...]) -> Array:
    """(..., k, m) means with one cell at the value that leaves it no interaction."""
    k, m = means.shape[-2:]
    out = means.copy()
    out[..., at[0], at[1]] = 0.0
    row, column = out[..., at[0], :].sum(axis=-1), out[..., :, at[1]].sum(axis=-1)
    out[..., at[0], at[1]] = (k * row + m * column - out.sum(axis=(-2, -1))) / ((k - 1) * (m - 1))
    return out


def _scaled(test: Mapping[str, Any], alpha: float) -> bool:
    """Whether scale use is clear and large, with and without any one cell."""
    pairs = [(test[f"tukey_p{end}"], test[f"tukey_share{end}"]) for end in ("", "_without")]
    return all(p is not None and share is not None and p <= alpha and share >= SCALED for p, share in pairs)


def _loadings(word: str, labels: tuple[str, ...], loading: Array, share: Array) -> pd.DataFrame:
    frame = pd.DataFrame({word: labels, "loading": loading, "share": share})
    return frame.sort_values("loading", key=np.abs, ascending=False, kind="stable", ignore_index=True)


def _effects(means: Array) -> tuple[Array, Array, Array]:
    grand = means.mean(axis=(-2, -1), keepdims=True)
    return means.mean(axis=-1, keepdims=True) - grand, means.mean(axis=-2, keepdims=True) - grand, double_centre(means)


def tukey_slope(means: Array) -> Array:
    """Slope of the interaction on language effect times judge effect: (..., k, m) -> (...)."""
    g, a, beta = _effects(means)
    square = (g**2 * a**2).sum(axis=(-2, -1))
    top = (beta * g * a).sum(axis=(-2, -1))
    return ratio(top, square)


def tukey_share(means: Array) -> Array:
    """Share of the squared interaction that this slope explains."""
    g, a, beta = _effects(means)
    total = (beta**2).sum(axis=(-2, -1))
    top = tukey_slope(means) ** 2 * (g**2 * a**2).sum(axis=(-2, -1))
    return ratio(top, total)


def scale_slopes(means: Array) -> Array:
    """Slope of each judge's language means on the panel's: (..., k, m) -> (..., m). Their mean is 1."""
    g, _, beta = _effects(means)
    square = (g**2).sum(axis=-2)
    top = (beta * g).sum(axis=-2)
    return 1 + ratio(top, square)


def _advice(
    patterns: pd.DataFrame,
    languages: pd.DataFrame,
    judges: pd.DataFrame,
    test: Mapping[str, Any],
    alpha: float,
    flat: bool,
) -> Say:
    if flat:
        return say("structure.flat")
    lead = patterns.iloc[0]
    if _scaled(test, alpha):
        return say("structure.scale-use", share=test["tukey_share"], p=test["tukey_p"])
    if lead["share"] >= DOMINANT and len(patterns) > 1:
        values = {name: float(lead[name]) for name in ("share", "low", "high")}
        first = {"judge": judges["judge"].iloc[0], "language": languages["language"].iloc[0]}
        return say("structure.one-pattern", **first, **values)
    return say("structure.single" if len(patterns) == 1 else "structure.several")
