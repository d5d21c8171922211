"""Agreement of decisions with human choices, raw and calibrated (docs/methods.md, section 12).

A decision is the sign of a margin. A margin within the tie tolerance of zero is a tie, whatever rounding left there:
no function here compares a margin with zero in any other way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array

from polyjudge.second.estimate.few_labels import label_weights, powered_means, t_interval
from polyjudge.second.estimate.resample import resampled, tracked_draws
from polyjudge.second.estimate.severity import gold_weights
from polyjudge.second.estimate.shares import gain_interval, quantiles, share_interval
from polyjudge.second.panel.arrays import Array, mean_there, ratio
from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.gold import Gold
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.records import long_table

Signs = NDArray[np.int8]
MISSING = 9
"""Sign of a decision that cannot be made because the margin is missing."""


def sign(margins: Array, gap: float) -> Signs:
    """-1, 0 or 1 with the tie rule; MISSING where the margin is."""
    out = (margins > gap).astype(np.int8) - (margins < -gap).astype(np.int8)
    out[np.isnan(margins)] = MISSING
    return out


def decide(margins: Array, gap: float) -> Signs:
    """Decisions (..., m) -> (..., m + 2): of the panel mean, of a majority vote, then of each judge.

    Both panel decisions use the judges that have a margin. Votes that balance are a tie.
    """
    votes = sign(margins, gap)
    there = votes != MISSING
    ballots = np.where(there, votes, 0).sum(axis=-1, dtype=np.int64)
    majority = np.where(there.any(axis=-1), np.sign(ballots), MISSING).astype(np.int8)
    return np.concatenate([sign(mean_there(margins, -1), gap)[..., None], majority[..., None], votes], axis=-1)


def human_signs(panel: Panel, gold: Gold, threshold: float) -> Signs:
    """(n, k) what humans chose: -1, 0 or 1, of scores by the threshold; MISSING where there is no label."""
    return sign(gold.values - threshold, 0.0 if gold.kind == "preference" else panel.tie_gap)


def decision_tables(
    panel: Panel, gold: Gold, margins: Array, calibrated: Array, threshold: float, resamples: int, seed: int
) -> dict[str, pd.DataFrame]:
    """Agreement of decisions with human choices, overall and by language, with task-bootstrap intervals.

    margins, calibrated : (n, k, m) scores less the threshold, before and after. The decisions stay as they are in
        resamples
    """
    rows = np.flatnonzero(gold.there.any(axis=1))
    labelled, human = gold.there[rows], human_signs(panel, gold, threshold)[rows]
    margins, calibrated, weight = margins[rows], calibrated[rows], gold_weights(panel, gold)[rows]
    choice = np.abs(human) == 1
    if not choice.any():
        raise PanelError("Every label is a tie: there is no human choice to agree with.")
    raw, new = (decide(x, panel.tie_gap) for x in (margins, calibrated))
    names, k = ["panel mean", "majority", *panel.judges], len(panel.languages)
    there = choice[..., None] & (raw != MISSING)
    ties = [(x == 0).astype(float) for x in (raw, new)]
    agree = [(x == human[..., None]).astype(float) for x in (raw, new)]
    half = [a + t / 2 for a, t in zip(agree, ties, strict=True)]
    values = np.stack([*agree, *half, *ties], axis=1)
    point, draws, count = label_means(values, there, weight, panel, resamples, seed, rows)
    # A raw tie that a shift pushes to one side counts as a change although the judge said nothing new.
    moved = (raw != new) & labelled[..., None]
    changed = np.stack([moved.sum(axis=0), (moved & (raw == 0)).sum(axis=0)])
    tasks = there.sum(axis=0)  # a task has one label in a language
    complete = not np.isnan(margins[labelled]).any()
    same = np.arange(len(names)) == (0 if complete else -1)  # the panel mean of a complete panel cannot change

    def frame(part: Any, changed: Any, tasks: Any) -> dict[str, Any]:
        value, drawn, labels = point[:, part], draws[:, :, part], count[part]
        out: dict[str, Any] = {}
        for at, word in enumerate(("raw", "calibrated")):
            low, high = share_interval(drawn[:, at], value[at], tasks)
            out |= {word: value[at], f"{word}_low": low, f"{word}_high": high}
        out |= {"changed": changed[0], "broken_ties": changed[1]}
        for at, word in ((0, "gain"), (2, "gain_half")):
            low, high = gain_interval(drawn[:, at + 1] - drawn[:, at], tasks, same)
            out |= {word: value[at + 1] - value[at], f"{word}_low": low, f"{word}_high": high}
        tied = np.nan_to_num(value[4:] * labels).round().astype(int)
        out |= {"labels": labels.round().astype(int), "raw_ties": tied[0], "calibrated_ties": tied[1]}
        return out | {"raw_half": value[2], "calibrated_half": value[3]}

    table = pd.DataFrame({"decision": names, **frame(k, changed.sum(axis=1), tasks.max(axis=0))})
    table.insert(7, "identity", [complete, *[False] * (len(names) - 1)])
    columns = np.concatenate([mean_there(margins, 2)[..., None], margins], axis=2)

    def areas(times: NDArray[Any]) -> Array:
        return pooled_auc(columns, human, weight, (times * panel.weights)[:, rows], panel.tie_gap)

    area = areas(np.ones((1, len(panel.tasks))))[0]
    blocks = [areas(times) for times in tracked_draws(len(panel.tasks), resamples, seed, panel.cluster)]
    low, high = quantiles(np.concatenate(blocks))
    for word, values in (("auc", area), ("auc_low", low), ("auc_high", high)):
        values = np.where(np.isnan(area) | ((word != "auc") & (low == high)), np.nan, values)
        table[word] = [values[0], np.nan, *values[1:]]
    parts = frame(slice(k), changed, tasks)
    return {"table": table, "by_language": long_table({"language": panel.languages, "decision": names}, **parts)}


def label_means(
    values: Array, there: NDArray[np.bool_], weight: Array, panel: Panel, resamples: int, seed: int,
    rows: NDArray[np.int64],
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Means over labelled tasks (`rows`) of values (n, c, k, d) where they are `there` (n, k, d), with weights (n, k):
    by language and last over all of them.

    Of all tasks, (c, k + 1, d), of resampled ones, (R, c, k + 1, d), and the weight behind them, (k + 1, d).
    """
    size = (there * weight[..., None])[:, None]
    terms = np.concatenate([np.where(there[:, None], values, 0.0) * size, size], axis=1)

    def means(sums: Array) -> Array:
        sums = np.concatenate([sums, sums.sum(axis=2, keepdims=True)], axis=2)
        found = ratio(sums[:, :-1], np.repeat(sums[:, -1:], sums.shape[1] - 1, axis=1), np.nan)
        return np.concatenate([found, sums[:, -1:]], axis=1)

    point, draws = resampled(means, terms, panel, resamples, seed, rows)
    return point[:-1], draws[:, :-1], point[-1]


def auc(values: Array, positive: NDArray[np.bool_], weights: Array, gap: float) -> tuple[Array, Array]:
    """Concordant (ties count half) and possible pairs of human +1 and -1 entries: weights (R, E) -> two (R,).

    Entries with tied values form a group; only the weight of each group by human choice matters.
    """
    order = np.argsort(values, kind="stable")
    group = np.empty(len(values), np.int64)
    group[order] = np.concatenate([[0], (np.diff(values[order]) > gap).cumsum()])
    at = (group, np.arange(len(values)))
    up, down = (np.asarray(csr_array((side.astype(float), at)) @ weights.T) for side in (positive, ~positive))
    below = np.cumsum(down, axis=0) - down / 2
    return (up * below).sum(axis=0), up.sum(axis=0) * down.sum(axis=0)


def pooled_auc(columns: Array, human: Signs, weight: Array, times: Array, gap: float) -> Array:
    """AUC of columns (n, k, c) inside languages, pooled by pairs, against human signs (n, k), whose labels have these
    weights (n, k), for `times` (R, n) that tasks count: -> (R, c)."""
    good, pairs = np.zeros((2, len(times), columns.shape[2]))
    for language, column in np.ndindex(columns.shape[1:]):
        values = columns[:, language, column]
        at = np.flatnonzero((np.abs(human[:, language]) == 1) & ~np.isnan(values))
        if len(at):
            own = times[:, at] * weight[at, language]
            found = auc(values[at], human[at, language] > 0, own, gap)
            good[:, column], pairs[:, column] = good[:, column] + found[0], pairs[:, column] + found[1]
    return ratio(good, pairs, np.nan)


def pass_rates(
    panel: Panel, gold: Gold, stratum: NDArray[np.int64], at: float, resamples: int, seed: int
) -> pd.DataFrame:
    """Pass rates as humans would give them (score above `at`), by language and decision (panel mean, each judge).

    Columns: language, decision, labels, own (the decision's rate over all tasks), sensitivity, specificity, balanced
    (accuracy), mcc, rogan_gladen with low and high (the rate that sensitivity and specificity leave), and for the panel
    mean powered with low and high (labels and decisions together).
    """
    margins = np.concatenate([panel.scores.mean(axis=2, keepdims=True), panel.scores], axis=2) - at
    says = np.where(np.isnan(margins), np.nan, (margins > panel.tie_gap).astype(float))
    truth = np.where(gold.there, (gold.values - at > panel.tie_gap).astype(float), np.nan)
    known = ~np.isnan(truth)[..., None] & ~np.isnan(says) & (stratum >= 0)[..., None]
    size = label_weights(stratum, ~np.isnan(truth) & (stratum >= 0), panel.weights)
    parts = [(truth == t)[..., None] & (says == d) & known for t, d in ((1, 1), (1, 0), (0, 1), (0, 0))]
    terms = np.stack([np.where(p, size[..., None], 0.0) for p in parts], 3)
    terms = np.concatenate([terms, np.nan_to_num(says)[..., None], (~np.isnan(says)).astype(float)[..., None]], axis=3)

    def measures(sums: Array) -> Array:
        tp, fn, fp, tn, passed, count = np.moveaxis(sums, -1, 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            own, sens, spec = passed / count, tp / (tp + fn), tn / (tn + fp)
            seen = sens + spec - 1
            rate = np.where(seen > 0.1, np.clip((own + spec - 1) / seen, 0, 1), np.nan)
            mcc = (tp * tn - fp * fn) / np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
        return np.stack([own, sens, spec, (sens + spec) / 2, mcc, rate], axis=1)

    point, draws = resampled(measures, terms, panel, resamples, seed)
    low, high = quantiles(draws[:, -1])
    names = ("own", "sensitivity", "specificity", "balanced", "mcc", "rogan_gladen")
    columns = dict(zip(names, point, strict=True)) | {"low": low, "high": high}
    powered = powered_means(truth, says[..., 1:], stratum, panel.weights, panel.cluster)
    ends = t_interval(powered.mean[:, 0], np.sqrt(powered.variance[:, 0]), powered.df[:, 0])
    for name, value in zip(("powered", "powered_low", "powered_high"), (powered.mean[:, 0], *ends), strict=True):
        columns[name] = np.full(low.shape, np.nan)
        columns[name][:, 0] = np.clip(value, 0, 1)
    axes = {"language": panel.languages, "decision": ["panel mean", *panel.judges]}
    return long_table(axes, labels=known.sum(axis=0), **columns)
