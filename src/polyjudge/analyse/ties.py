"""Which judges cannot be told apart: paired task-level differences, adjusted over all pairs, as ranges of ranks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from polyjudge.core.arrays import Array
from polyjudge.core.errors import UsageError
from polyjudge.core.panel import Panel
from polyjudge.core.results import Result
from polyjudge.estimate.incomplete import informing, stand_in
from polyjudge.estimate.kernels import ranks
from polyjudge.estimate.resample import holm, mean_and_se, noise_gap, upper_tail

ALL = "(all, calibrated)"
"""The scope of the order over all languages, which calibration gives to every one of them."""


@dataclass(frozen=True, repr=False, eq=False)
class TiedSets(Result):
    """Ranks with what is not known about them.

    One row per scope (a language, or all) and judge: `rank_low` .. `rank_high` are the ranks that the data cannot rule
    out, all judges of a scope at once; `top_set` marks the confidence set of the top judge; `tied_with` names the
    judges this one cannot be told apart from.
    """

    table: pd.DataFrame
    alpha: float

    def to_frame(self) -> pd.DataFrame:
        return self.table

    def top_set(self, language: str | None = None) -> list[str]:
        """Judges that may be top in a language, or of the calibrated order."""
        wanted = (
            (self.table["scope"] == "calibrated")
            if language is None
            else ((self.table["scope"] == "language") & (self.table["language"] == language))
        )
        return self.table.loc[wanted & self.table["top_set"], "judge"].tolist()


def tied_sets(panel: Panel, *, alpha: float = 0.05) -> TiedSets:
    """Tied sets of judges per language and over all languages.

    Every two judges are compared by the paired differences of their scores over tasks (t test, Holm-adjusted over the
    pairs of a scope). A rank range is one plus the judges surely above, up to m less the judges surely below.
    """
    if not 0 < alpha < 0.5:
        raise UsageError(f"alpha must lie between 0 and 0.5, not {alpha}.")
    tasks = informing(panel)
    panel = stand_in(panel)
    _, k, m = panel.shape
    n = np.vstack([tasks, np.full((1, m), len(panel.tasks))])
    stacked = np.concatenate([panel.scores, panel.scores.mean(axis=1, keepdims=True)], axis=1)
    better = _surely_above(stacked, panel.weights, n, alpha, noise_gap(panel))
    means = np.vstack([panel.cell_means, panel.cell_means.mean(axis=0)])
    place = ranks(means, panel.tie_gap)
    low, high = 1 + better.sum(axis=1), m - better.sum(axis=2)
    rows = [
        {
            "scope": "language" if s < k else "calibrated",
            "language": panel.languages[s] if s < k else ALL,
            "judge": panel.judges[b],
            "mean": means[s, b],
            "rank": place[s, b],
            "rank_low": int(low[s, b]),
            "rank_high": int(high[s, b]),
            "top_set": bool(low[s, b] == 1),
            "tied_with": tuple(
                panel.judges[c] for c in range(m) if c != b and not better[s, b, c] and not better[s, c, b]
            ),
        }
        for s in range(k + 1)
        for b in range(m)
    ]
    return TiedSets(pd.DataFrame(rows), alpha)


def _surely_above(values: Array, weights: Array, tasks: NDArray[np.int64], alpha: float, gap: float) -> Array:
    """(s, m, m) of bool: judge i is above judge j in scope s, family-wise over the pairs of the scope.

    `tasks` (s, m) is the number of tasks behind each judge in each scope.
    """
    m = values.shape[-1]
    i, j = np.triu_indices(m, 1)
    mean, se = mean_and_se(values[..., i] - values[..., j], weights)
    n = np.minimum(tasks[:, i], tasks[:, j])
    p = np.minimum(1.0, 2 * np.minimum(upper_tail(mean, se, n, gap), upper_tail(-mean, se, n, gap)))
    sure = holm(p) <= alpha
    out = np.zeros((values.shape[1], m, m), bool)
    out[:, i, j] = sure & (mean > 0)
    out[:, j, i] = sure & (mean < 0)
    return out
