"""Main effects of languages and judges; of languages also the shift that most judges share, whatever one of them does.

The mean over judges of one broken cell looks like a shift of its whole language. The median does not move with it;
where the two disagree no shift is shared (docs/methods.md).
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from polyjudge.estimate.incomplete import sampling_panel
from polyjudge.estimate.kernels import ranks
from polyjudge.estimate.resample import bootstrap_means, mean_and_se
from polyjudge.panel.arrays import Array
from polyjudge.panel.panel import Panel


def judge_effect(panel: Panel, level: float) -> pd.DataFrame:
    """Overall mean of each judge less the grand mean: judge, effect, se, low, high, rank."""
    return _effect(panel, 1, level, "judge", panel.judges)


def language_effect(panel: Panel, level: float, matters: float, resamples: int, seed: int) -> pd.DataFrame:
    """Shared shift of each language: language, effect (mean over judges), se, low, high, rank; median (over judges, of
    what a language adds to each one's own mean), median_low, median_high; odd (the judge farthest from the median) and
    disagrees: mean and median surely differ, by what matters or more. Languages are tested together. A judge that is
    the odd one where they differ is left out of the medians.
    """
    frame = _effect(panel, 2, level, "language", panel.languages)
    panel = sampling_panel(panel)
    n, k, m = panel.shape

    def own(means: Array) -> Array:
        out: Array = means - means.mean(axis=-2, keepdims=True)
        return out

    seen, drawn = own(panel.cell_means), own(bootstrap_means(panel.scores, panel.weights, resamples, seed))
    inflate = np.sqrt(n / (n - 1))
    middle = np.median(seen, axis=1)
    gap = seen.mean(axis=1) - middle
    error = (drawn.mean(axis=2) - np.median(drawn, axis=2)).std(axis=0) * inflate
    sure = np.abs(gap) > stdtrit(n - 1, 1 - (1 - level) / (2 * k)) * error + panel.tie_gap
    odd = np.abs(seen - middle[:, None]).argmax(axis=1)
    frame["disagrees"] = sure & (np.abs(gap) >= matters)
    # A judge that makes the mean of a language still draws the median of few others towards it.
    kept = ~np.isin(np.arange(m), odd[frame["disagrees"]])
    if kept.sum() > 1:
        seen, drawn = seen[:, kept], drawn[..., kept]
    middle = np.median(seen, axis=1)
    half = stdtrit(n - 1, (1 + level) / 2) * np.median(drawn, axis=2).std(axis=0) * inflate
    frame["median"], frame["median_low"], frame["median_high"] = middle, middle - half, middle + half
    frame["odd"] = np.array(panel.judges, object)[odd]
    return frame


def _effect(panel: Panel, over: int, level: float, word: str, labels: tuple[str, ...]) -> pd.DataFrame:
    """Main effect of languages (`over` the judge axis) or of judges, from its value in every task."""
    panel = sampling_panel(panel)
    scores = panel.scores
    values: Array = scores.mean(axis=over) - scores.mean(axis=(1, 2))[:, None]
    effect, se = mean_and_se(values, panel.weights)
    half = stdtrit(len(values) - 1, (1 + level) / 2) * se
    frame = pd.DataFrame({word: labels, "effect": effect, "se": se, "low": effect - half, "high": effect + half})
    frame["rank"] = ranks(effect, panel.tie_gap)
    return frame
