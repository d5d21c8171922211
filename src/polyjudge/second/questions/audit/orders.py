"""The order of the judges: who changes places between languages, and whose ranks cannot be told apart.

See docs/methods.md, section 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from polyjudge.second.estimate.incomplete import estimate_interaction, informed_share, informing, sampling_panel
from polyjudge.second.estimate.kernels import BLOCK, CHUNK, double_centre, pair_chunks, pair_index, ranks
from polyjudge.second.estimate.pairs import PairOrder, order_pairs
from polyjudge.second.estimate.resample import (
    bootstrap_blocks,
    check_alpha,
    check_resamples,
    false_discovery,
    mean_and_se,
    noise_gap,
    upper_tail,
)
from polyjudge.second.panel.arrays import Array, row_blocks
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.progress import track
from polyjudge.second.panel.records import long_table
from polyjudge.second.report.result import Result

ALL = "(all, calibrated)"
"""The scope of the order over all languages, which calibration gives to every one of them."""
MOST_PERMUTED = 100_000_000
"""Above this many permuted residuals the null means are drawn from their normal limit, with the exact moments."""


class RankReversals(Result):
    """Which pairs of judges change places between two languages.

    `pairs` has one row per pair of judges: `delta` is minus the product of the two witness gaps (0: no reversal),
    `p_published` ignores that the witnesses were picked from the data, `p_selected` allows for it and for skewed scores
    (task bootstraps of the largest studentised gap over the languages, on both sides); both are adjusted over all pairs
    (Benjamini-Hochberg). `reverses` is the verdict: `p_selected` <= `alpha`.
    """

    pairs: pd.DataFrame
    count: int
    """Pairs with a reversal in the means, tested or not."""
    count_selected: int
    p_global: float
    """Additive null: are there more reversing pairs than a panel without interaction shows by chance?"""
    p_global_unequal: float
    """The same against task bootstraps of the noise of each cell, so that noise may differ between languages."""
    p_floor: float
    """The smallest p that so many draws can give: a global p at it is "at most" this."""
    null_mean: float
    null_high: float
    """Mean and 95th percentile of the number of reversing pairs under the additive null."""
    global_method: str
    alpha: float
    top: pd.DataFrame
    """Top judge of every language and its bootstrap probability of being top."""
    rank_probabilities: pd.DataFrame

    @property
    def p_more(self) -> float:
        """The verdict's p: the larger of both global ones, so that neither equal nor unequal noise makes a finding."""
        return max(self.p_global, self.p_global_unequal)


def rank_reversals(
    panel: Panel, *, alpha: float = 0.05, draws: int = 1000, resamples: int = 1000, seed: int = 7,
    order: PairOrder | None = None,
) -> RankReversals:  # fmt: skip
    """Rank reversals between languages.

    alpha : level of the verdicts (false discovery rate)
    draws : permutations of the global test
    resamples : task bootstraps of the rank probabilities
    order : the judges of the same panel compared (`order_judges`), where that is at hand
    """
    check_alpha(alpha)
    check_resamples(draws, 19)
    check_resamples(resamples)
    order = order or order_judges(panel, resamples=resamples, seed=seed)
    joined = panel.complete or estimate_interaction(panel).design != "answers"
    tasks, panel = informing(panel), sampling_panel(panel)
    gap = panel.tie_gap
    i, j = np.triu_indices(len(panel.judges), 1)
    mean, se = pair_gaps(panel)
    n = np.minimum(tasks[:, i], tasks[:, j])
    above = upper_tail(mean, se, n, noise_gap(panel))
    below = upper_tail(-mean, se, n, noise_gap(panel))

    lower, upper = mean.argmin(axis=0), mean.argmax(axis=0)
    at = np.arange(len(i))
    turns = (mean[upper, at] > gap) & (mean[lower, at] < -gap)
    p_published = np.where(turns, np.maximum(above[upper, at], below[lower, at]), 1.0)
    p_selected = np.maximum(order.p_above, order.p_below)
    first, second = np.minimum(lower, upper), np.maximum(lower, upper)
    judges, languages = np.array(panel.judges, object), np.array(panel.languages, object)
    pairs = pd.DataFrame(
        {
            "judge_i": judges[i],
            "judge_j": judges[j],
            "delta": np.where(turns, -mean[upper, at] * mean[lower, at], 0.0),
            "language_a": np.where(turns, languages[first], None),
            "language_b": np.where(turns, languages[second], None),
            "gap_a": np.where(turns, mean[first, at], np.nan),
            "gap_b": np.where(turns, mean[second, at], np.nan),
            "gap_a_se": np.where(turns, se[first, at], np.nan),
            "gap_b_se": np.where(turns, se[second, at], np.nan),
            "p_published": false_discovery(p_published),
            "p_selected": false_discovery(p_selected),
        }
    )
    pairs["reverses"] = pairs["p_selected"] <= alpha
    observed = int(turns.sum())
    unequal = unequal_null(panel, draws, seed)
    # Residuals change places between the languages of one task: tasks of one language have nothing to change with.
    null, how = additive_null(panel, draws, seed) if joined else (unequal, "resampled tasks")
    probabilities, top = _rank_probabilities(panel, resamples, seed)
    return RankReversals(
        pairs=pairs,
        count=observed,
        count_selected=int(pairs["reverses"].sum()),
        p_global=float((1 + np.sum(null >= observed)) / (1 + draws)),
        p_global_unequal=float((1 + np.sum(unequal >= observed)) / (1 + draws)),
        p_floor=1 / (1 + draws),
        null_mean=float(null.mean()),
        null_high=float(np.quantile(null, 0.95)),
        global_method=how,
        alpha=alpha,
        top=top,
        rank_probabilities=probabilities,
    )


def pair_gaps(panel: Panel) -> tuple[Array, Array]:
    """d_ij(l) of every judge pair and its standard error over tasks: two arrays (k, pairs)."""
    panel = sampling_panel(panel)
    n, k, m = panel.shape
    scores = panel.scores
    parts = [mean_and_se(scores[..., i] - scores[..., j], panel.weights) for i, j in pair_chunks(m, n * k)]
    mean, se = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
    return mean, se


def reversals(means: Array, gap: float) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]]:
    """Judge pairs i, j and whether they change places between languages, in parts: (..., k, m) -> (..., pairs)."""
    for i, j in pair_chunks(means.shape[-1], means[..., 0].size):
        d = means[..., i] - means[..., j]
        yield i, j, (d.max(axis=-2) > gap) & (d.min(axis=-2) < -gap)


def count_reversals(means: Array, gap: float) -> Array:
    """Number of judge pairs that change places between languages: (..., k, m) -> (...)."""
    return sum((there.sum(axis=-1) for _, _, there in reversals(means, gap)), np.zeros(means.shape[:-2]))


def additive_null(panel: Panel, draws: int, seed: int) -> tuple[Array, str]:
    """Reversing pairs of panels without interaction: residuals permuted over languages inside each (task, judge)."""
    _, k, m = panel.shape
    share = panel.weights / panel.weights.sum()
    means = panel.cell_means
    language, judge = means.mean(axis=1, keepdims=True), means.mean(axis=0, keepdims=True)
    additive = language + judge - means.mean()
    residual = panel.scores - panel.scores.mean(axis=(1, 2), keepdims=True)
    residual -= additive
    residual += means.mean()
    exact = draws * residual.size <= MOST_PERMUTED
    counts = []
    if not exact:
        centre = np.tensordot(share, residual.mean(axis=1), 1)
        spread = np.sqrt(sum(share[p] ** 2 @ residual[p].var(axis=1, ddof=1) for p in row_blocks(residual)))
    else:
        weighted = np.ascontiguousarray((residual * share[:, None, None]).transpose(0, 2, 1))
        permuted, ones = np.empty_like(weighted), np.ones(len(weighted))
    starts = range(0, draws, BLOCK)
    for block, start in enumerate(track(starts, len(starts), "permuting residuals")):
        size = min(BLOCK, draws - start)
        rng = np.random.default_rng([seed, 1, block])
        if exact:
            noise = np.empty((size, k, m))
            for row in noise:
                row[:] = (ones @ rng.permuted(weighted, axis=2, out=permuted).reshape(len(ones), -1)).reshape(m, k).T
        else:
            z = rng.standard_normal((size, k, m))
            noise = centre + spread * (z - z.mean(axis=1, keepdims=True))
        counts.append(count_reversals(additive + noise, panel.tie_gap))
    return np.concatenate(counts), "permutation" if exact else "normal limit of the permutation"


def unequal_null(panel: Panel, draws: int, seed: int) -> Array:
    """Reversing pairs of additive panels whose cells have the noise of resampled tasks, each its own: (draws,)."""
    n = len(panel.weights)
    means = panel.cell_means
    additive, wider = means - double_centre(means), np.sqrt(n / (n - 1))
    counts = [
        count_reversals(additive + double_centre(drawn - means) * wider, panel.tie_gap)
        for drawn in bootstrap_blocks(panel.scores, panel.weights, draws, seed)
    ]
    return np.concatenate(counts)


def _rank_probabilities(panel: Panel, resamples: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Probability of every rank, in each language and of the calibrated order; and who is top where."""
    _, k, m = panel.shape
    shares = np.zeros((k + 1, m, m))
    for raw in bootstrap_blocks(panel.scores, panel.weights, resamples, seed):
        stacked = np.concatenate([raw, raw.mean(axis=1, keepdims=True)], axis=1)
        shares += rank_shares(stacked, panel.tie_gap) * (len(raw) / resamples)
    scope, name = ["language"] * k + ["calibrated"], [*panel.languages, ALL]
    axes = {"language": name, "judge": panel.judges, "rank": range(1, m + 1)}
    frame = long_table(axes, probability=shares).astype({"rank": int})
    frame.insert(0, "scope", np.repeat(scope, m * m))
    means = np.vstack([panel.cell_means, panel.cell_means.mean(axis=0)])
    best = ranks(means, panel.tie_gap).argmin(axis=1)
    judges, chance = [panel.judges[b] for b in best], shares[np.arange(k + 1), best, 0]
    return frame, pd.DataFrame({"scope": scope, "language": name, "judge": judges, "probability": chance})


def rank_shares(values: Array, gap: float) -> Array:
    """Share of resamples in which each judge has each rank: (R, s, m) -> (s, m, m). A tie shares its ranks evenly."""
    resamples, scopes, m = values.shape
    total = np.zeros((*values.shape[1:], m))
    rank = np.arange(m)
    step = min(BLOCK, max(1, CHUNK // (scopes * m * m)))
    for start in range(0, resamples, step):
        v = values[start : start + step]
        diff = v[..., None, :] - v[..., :, None]
        above = (diff > gap).sum(axis=-1)[..., None]
        tied = (np.abs(diff) <= gap).sum(axis=-1)[..., None]
        total += (((rank >= above) & (rank < above + tied)) / tied).sum(axis=0)
    out: Array = total / resamples
    return out


class TiedSets(Result):
    """Ranks with what is not known about them.

    One row per scope (a language, or all) and judge: `rank_low` .. `rank_high` are the ranks that the data cannot rule
    out, all judges of a scope at once; `top_set` marks the confidence set of the top judge; `tied_with` names the
    judges this one cannot be told apart from.
    """

    table: pd.DataFrame
    alpha: float
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
    resamples: int = 1000,
    seed: int = 7,
    order: PairOrder | None = None,
) -> TiedSets:
    """Tied sets of judges per language and over all languages.

    Every two judges are compared by the paired differences of their scores over tasks, studentised, against task
    bootstraps of the largest of them (`order_pairs`). A rank range is one plus the judges surely above, up to m less
    the judges surely below.

    order : the judges of the same panel compared with these options (`order_judges`), where that is at hand
    """
    check_alpha(alpha)
    check_resamples(resamples)
    order = order or order_judges(panel, alpha=alpha, resamples=resamples, seed=seed)
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
    return TiedSets(table=table, alpha=alpha, contaminated=carried)


def order_judges(panel: Panel, **options: Any) -> PairOrder:
    """`order_pairs` of the judges of a panel, languages as scopes."""
    whole = sampling_panel(panel)
    options |= {"tasks": informing(panel), "gap": noise_gap(panel), "share": informed_share(panel)}
    return order_pairs(whole.scores, whole.weights, **options)
