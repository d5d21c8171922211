"""How many judges is the panel worth? Agreement between judges, and how far their errors go together.

Krippendorff's alpha (interval metric) needs no labels. With labels the errors can be correlated: m judges whose errors
correlate by r on average say as much as m / (1 + (m - 1) r) independent ones.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from polyjudge.second.estimate.resample import resampled
from polyjudge.second.estimate.shares import quantiles
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.gold import Gold
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import Say, say
from polyjudge.second.questions.anchor.choices import MISSING, sign
from polyjudge.second.report.result import Result


class PanelWorth(Result):
    """Rows by language ("all" pools them) and by the judge left out ("" for the whole panel).

    Columns: language, without, judges, labels, alpha, alpha_low, alpha_high, correlation (mean over judge pairs of the
    correlation of errors), correlation_low, correlation_high, effective (independent judges), effective_low,
    effective_high. Noise of the labels themselves is shared by all errors, so the correlation is an upper bound and the
    effective number a lower one.
    """

    table: pd.DataFrame
    notes: tuple[Say, ...]


def panel_worth(panel: Panel, gold: Gold, *, resamples: int = 1000, seed: int = 7) -> PanelWorth:
    """Alpha between judges, the correlation of their errors by the labels, and the effective number of judges.

    For human scores an error is score minus human; for preferences it is a wrong decision (a tie is half wrong).
    """
    k, m = panel.shape[1:]
    subsets = [np.arange(m)] + ([np.delete(np.arange(m), b) for b in range(m)] if m > 2 else [])
    sizes = np.array([len(s) for s in subsets])
    alphas = np.stack([alpha_terms(panel.scores[..., keep]) for keep in subsets], axis=1)
    errors = _errors(panel, gold)

    def effective(correlation: Array) -> Array:
        below = 1 + (sizes[:, None] - 1) * correlation  # 0 at the limit where the errors cancel exactly
        return np.where(below > 1e-9, sizes[:, None] / np.where(below > 1e-9, below, 1.0), np.nan)

    # each (subsets, k + 1), and (R, subsets, k + 1) of resamples: the languages, then all together
    found = {"alpha": resampled(_alpha, alphas, panel, resamples, seed)}
    rows = np.flatnonzero(gold.there.any(axis=1))
    terms = _error_terms(errors[rows])
    whole, drawn = resampled(lambda sums: _correlations(sums, subsets), terms, panel, resamples, seed, rows)
    found |= {"correlation": (whole, drawn), "effective": (effective(whole), effective(drawn))}
    labels = (~np.isnan(errors).any(axis=2)).sum(axis=0)
    frame = pd.DataFrame(
        {
            "language": [*panel.languages, "all"] * len(subsets),
            "without": np.repeat(["", *panel.judges][: len(subsets)], k + 1),
            "judges": np.repeat(sizes, k + 1),
            "labels": np.tile([*labels, labels.sum()], len(subsets)),
        }
    )
    for name, (value, draws) in found.items():
        for end, x in zip(("", "_low", "_high"), (value, *quantiles(draws)), strict=True):
            frame[name + end] = np.where(np.isnan(value), np.nan, x).ravel()
    notes = [say("worth.two-judges")] if m == 2 else []
    return PanelWorth(table=frame, notes=(*notes, say("worth.upper-bound")))


def alpha_terms(scores: Array) -> Array:
    """What each unit adds to alpha, (n, k, m) -> (n, k, 4): number of values, sum, sum of squares, spread inside.

    Units with fewer than two values take no part.
    """
    there = ~np.isnan(scores)
    count = there.sum(axis=2)
    there &= (count > 1)[..., None]
    size = np.where(count > 1, count, 0).astype(np.float64)
    centre = scores[there].mean() if there.any() else 0.0
    values = np.where(there, scores - centre, 0.0)
    first, second = values.sum(axis=2), (values**2).sum(axis=2)
    inside = (second - first**2 / np.maximum(size, 1)) * size / np.maximum(size - 1, 1)
    return np.stack([size, first, second, np.maximum(inside, 0.0)], axis=2)


def _alpha(sums: Array) -> Array:
    """Alpha of summed terms (..., k, 4), and of all languages together: -> (..., k + 1)."""
    sums = np.concatenate([sums, sums.sum(axis=-2, keepdims=True)], axis=-2)
    size, first, second, inside = np.moveaxis(sums, -1, 0)
    safe = np.maximum(size, 2.0)
    expected = (second - first**2 / safe) / (safe - 1)
    # values that differ by rounding only have no spread
    known = (size > 1) & (expected > 1e-18 * np.maximum(second, np.finfo(float).tiny))
    return np.where(known, 1 - inside / safe / np.where(known, expected, 1.0), np.nan)


def _errors(panel: Panel, gold: Gold) -> Array:
    if gold.kind == "score":
        return panel.scores - gold.values[:, :, None]
    decisions = sign(panel.scores, panel.tie_gap)
    human = gold.values[:, :, None]
    wrong = np.where(decisions == 0, 0.5, (decisions != human).astype(np.float64))
    return np.where((decisions == MISSING) | np.isnan(human) | (human == 0), np.nan, wrong)


def _error_terms(errors: Array) -> Array:
    """What each unit adds to the correlations, (n, k, m) -> (n, k, 1 + m + m * m); 0 where an error is missing."""
    n, k, m = errors.shape
    there: NDArray[np.bool_] = np.isnan(errors).sum(axis=2) == 0
    count = there.sum(axis=0)
    centre = np.where(there[..., None], errors, 0.0).sum(axis=0) / np.maximum(count, 1)[:, None]
    x = np.where(there[..., None], errors - centre, 0.0)
    products = (x[..., :, None] * x[..., None, :]).reshape(n, k, m * m)
    return np.concatenate([there[..., None].astype(np.float64), x, products], axis=2)


def _correlations(sums: Array, subsets: list[NDArray[np.int64]]) -> Array:
    """Mean correlation over each subset's pairs, by language and pooled within languages: (..., subsets, k + 1)."""
    m = round((sums.shape[-1] - 0.75) ** 0.5 - 0.5)
    size = np.maximum(sums[..., 0], 1e-300)[..., None, None]
    first, second = sums[..., 1 : 1 + m], sums[..., 1 + m :].reshape(*sums.shape[:-1], m, m)
    spread = second - first[..., :, None] * first[..., None, :] / size
    spread = np.concatenate([spread, spread.sum(axis=-3, keepdims=True)], axis=-3)
    variance = np.diagonal(spread, axis1=-2, axis2=-1)
    raw = np.diagonal(np.concatenate([second, second.sum(axis=-3, keepdims=True)], axis=-3), axis1=-2, axis2=-1)
    known = variance > 1e-12 * np.maximum(raw, np.finfo(float).tiny)
    scale = np.sqrt(np.where(known, variance, 1.0))
    each = spread / (scale[..., :, None] * scale[..., None, :])
    out = []
    for keep in subsets:
        i, j = (keep[x] for x in np.triu_indices(len(keep), 1))
        known_all = known[..., keep].all(axis=-1)
        out.append(np.where(known_all, each[..., i, j].mean(axis=-1), np.nan) if len(i) else known_all * np.nan)
    return np.stack(out, axis=-2)
