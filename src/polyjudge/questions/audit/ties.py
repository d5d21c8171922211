"""Which judges cannot be told apart: paired task-level differences, all pairs at once, as ranges of ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from polyjudge.estimate.incomplete import informing, sampling_panel
from polyjudge.estimate.kernels import pair_index, ranks
from polyjudge.estimate.pairs import PairOrder, order_pairs
from polyjudge.estimate.resample import check_resamples, noise_gap
from polyjudge.panel.errors import UsageError
from polyjudge.panel.panel import Panel
from polyjudge.panel.records import long_table
from polyjudge.report.result import Result

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
    joint: bool
    """Whether the statements of all languages hold at once, or those of each language for itself."""
    contaminated: pd.DataFrame
    """Pairs of which a few tasks carry nearly all the spread (failed calls?): judge_i, judge_j, carried (share of the
    variance in the 5% of task values that carry most). With few tasks no interval of such a pair can be trusted; its
    languages borrow each other's spread."""

    def top_set(self, language: str | None = None) -> list[str]:
        """Judges that may be top in a language, or of the calibrated order."""
        wanted = (
            (self.table["scope"] == "calibrated")
            if language is None
            else ((self.table["scope"] == "language") & (self.table["language"] == language))
        )
        return self.table.loc[wanted & self.table["top_set"], "judge"].tolist()


def tied_sets(
    panel: Panel,
    *,
    alpha: float = 0.05,
    joint: bool = False,
    resamples: int = 1000,
    seed: int = 7,
    order: PairOrder | None = None,
) -> TiedSets:
    """Tied sets of judges per language and over all languages.

    Every two judges are compared by the paired differences of their scores over tasks, studentised, against task
    bootstraps of the largest of them (`order_pairs`). A rank range is one plus the judges surely above, up to m less
    the judges surely below.

    joint : all languages at once instead of each for itself
    order : the judges of the same panel compared with these options (`order_judges`), where that is at hand
    """
    if not 0 < alpha < 0.5:
        raise UsageError(f"alpha must lie between 0 and 0.5, not {alpha}.")
    check_resamples(resamples)
    order = order or order_judges(panel, alpha=alpha, resamples=resamples, seed=seed, joint=joint)
    panel = sampling_panel(panel)
    _, k, m = panel.shape
    overall = order_pairs(
        panel.scores.mean(axis=1, keepdims=True),
        panel.weights, alpha=alpha, resamples=resamples, seed=seed, gap=noise_gap(panel),
    )  # fmt: skip
    better = np.concatenate([order.above, overall.above])
    means = np.vstack([panel.cell_means, panel.cell_means.mean(axis=0)])
    place = ranks(means, panel.tie_gap)
    low, high = 1 + better.sum(axis=1), m - better.sum(axis=2)
    axes = {"language": [*panel.languages, ALL], "judge": panel.judges}
    table = long_table(axes, mean=means, rank=place, rank_low=low, rank_high=high, top_set=low == 1)
    table.insert(0, "scope", ["language"] * (k * m) + ["calibrated"] * m)
    names = np.array(panel.judges, object)
    tied = ~(better | better.swapaxes(1, 2) | np.eye(m, dtype=bool))
    table["tied_with"] = [tuple(names[row]) for row in tied.reshape(-1, m)]
    i, j = (x[order.contaminated] for x in pair_index(m))
    carried = pd.DataFrame({"judge_i": names[i], "judge_j": names[j], "carried": order.carried[order.contaminated]})
    return TiedSets(table, alpha, joint, carried)


def order_judges(panel: Panel, **options: Any) -> PairOrder:
    """`order_pairs` of the judges of a panel, languages as scopes."""
    whole = sampling_panel(panel)
    return order_pairs(whole.scores, whole.weights, tasks=informing(panel), gap=noise_gap(panel), **options)
