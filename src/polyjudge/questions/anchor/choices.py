"""Agreement of decisions with human choices, raw and calibrated (docs/methods.md, section 12).

A decision is the sign of a margin. A margin within the tie tolerance of zero is a tie, whatever rounding left there:
no function here compares a margin with zero in any other way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from polyjudge.estimate.crossfit import CrossFit
from polyjudge.estimate.few_labels import label_weights, powered_means, t_interval
from polyjudge.estimate.kernels import draw_blocks
from polyjudge.estimate.severity import gold_weights
from polyjudge.estimate.shares import exact_binomial, quantiles
from polyjudge.panel.arrays import Array, mean_there, tie_gap
from polyjudge.panel.errors import UsageError
from polyjudge.panel.gold import Gold
from polyjudge.panel.panel import Panel
from polyjudge.panel.records import long_table
from polyjudge.report.result import Result

Signs = NDArray[np.int8]
MISSING = 9
"""Sign of a decision that cannot be made because the margin is missing."""


class Agreement(Result):
    """How often margins choose the side that humans chose. A tie is no agreement; `half_credit` counts it as a half."""

    labels: int
    agree: int
    ties: int
    share: float
    low: float
    high: float
    half_credit: float
    tolerance: float


def agreement(margins: ArrayLike, gold: ArrayLike, range: tuple[float, float]) -> Agreement:
    """Agreement of margins with human preferences (+1, -1; rows with 0, a human tie, are left out).

    `range` is the scale of the scores that the margins come from: margins within 1e-9 of it of zero are ties. The
    interval is the exact binomial one and takes the rows as independent.

    >>> agreement([0.5, 1e-17, -2.0, 1.0], [1, 1, 1, -1], range=(0, 10)).agree
    1
    """
    m, g = np.asarray(margins, float).ravel(), np.asarray(gold, float).ravel()
    low, high = map(float, range)
    if m.shape != g.shape:
        raise UsageError(f"{m.size} margins and {g.size} labels: one label for each margin is needed.")
    odd = np.flatnonzero(~np.isin(g, (-1, 0, 1)))
    if len(odd):
        raise UsageError(f"A label is +1, -1 or 0 (a human tie); number {odd[0] + 1} is {g[odd[0]]:g}.")
    if np.isinf(m).any():
        raise UsageError("A margin is infinite.")
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise UsageError("range must be the low and the high end of the score scale, low < high.")
    if np.nanmax(np.abs(m), initial=0.0) > 2 * (high - low):
        raise UsageError(f"A margin of {np.nanmax(np.abs(m)):g} does not fit scores from {low:g} to {high:g}.")
    used = (g != 0) & ~np.isnan(m)
    if not used.any():
        raise UsageError("No row has both a margin and a human choice.")
    gap = tie_gap(low, high)
    signs = sign(m[used], gap)
    agree, ties, n = int((signs == g[used]).sum()), int((signs == 0).sum()), int(used.sum())
    bounds = exact_binomial(np.array(agree / n), np.array(n))
    return Agreement(
        labels=n,
        agree=agree,
        ties=ties,
        share=agree / n,
        low=float(bounds[0]),
        high=float(bounds[1]),
        half_credit=(agree + ties / 2) / n,
        tolerance=gap,
    )


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


def decision_names(panel: Panel) -> list[str]:
    """Names of the decisions of `decide`, in its order."""
    return ["panel mean", "majority", *panel.judges]


@dataclass(frozen=True, eq=False)
class Labelled:
    """The labelled entries of a panel, sorted by language and label: E entries."""

    task: NDArray[np.int64]
    language: NDArray[np.int64]
    gold: Signs
    margins: Array
    """(E, m): score minus threshold."""
    languages: int
    gap: float
    weight: Array
    """(E,): tasks that each label stands for."""

    @classmethod
    def of(cls, panel: Panel, gold: Gold, threshold: float) -> Labelled:
        task, language = np.nonzero(gold.there)
        values = gold.values[task, language]
        human = values.astype(np.int8) if gold.kind == "preference" else sign(values - threshold, panel.tie_gap)
        order = np.lexsort((task, human, language))
        task, language, human = task[order], language[order], human[order]
        margins = panel.scores[task, language] - threshold
        weight = gold_weights(panel, gold)[task, language] * panel.weights[task]
        return cls(task, language, human, margins, len(panel.languages), panel.tie_gap, weight)

    def confusion(self, decisions: Signs, weights: Array) -> Array:
        """Weighted counts (..., languages, decisions, 3 human signs, 3 decided signs) of decisions (E, d).

        `weights` is (..., E). Missing decisions are in no count.
        """
        d = decisions.shape[-1]
        out = np.zeros((*weights.shape[:-1], self.languages, d, 3, 3))
        for language in np.unique(self.language):
            for human in (-1, 0, 1):
                at = np.flatnonzero((self.language == language) & (self.gold == human))
                if not len(at):
                    continue
                part = slice(at[0], at[-1] + 1)
                for decided in (-1, 0, 1):
                    hits = (decisions[part] == decided).astype(np.float64)
                    out[..., language, :, human + 1, decided + 1] = weights[..., part] @ hits
        return out

    def count(self, marks: NDArray[np.bool_]) -> NDArray[np.int64]:
        """How many of marks (E, d) each language has: (languages, d)."""
        out = np.zeros((self.languages, marks.shape[1]), np.int64)
        np.add.at(out, self.language, marks.astype(np.int64))
        return out

    def calibrated(self, fit: CrossFit, weights: Array) -> Array:
        """Margins (E, m) less the interaction of the tasks outside each entry's fold, with task weights (n,)."""
        return self.margins - fit.outside(weights)[fit.fold[self.task], self.language, :]


def agreement_of(confusion: Array) -> dict[str, Array]:
    """Measures of counts (..., 3, 3): agreement, with ties as half, Cohen's kappa over the three signs, and labels."""
    choice = confusion[..., [0, 2], :]
    labels = choice.sum(axis=(-1, -2))
    agree = choice[..., 0, 0] + choice[..., 1, 2]
    half = agree + choice[..., 1].sum(axis=-1) / 2
    total = confusion.sum(axis=(-1, -2))
    chance = (confusion.sum(axis=-1) * confusion.sum(axis=-2)).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = np.trace(confusion, axis1=-2, axis2=-1) / total
        expected = chance / total**2
        return {
            "labels": labels,
            "agreement": agree / labels,
            "half": half / labels,
            "kappa": np.where(expected < 1, (observed - expected) / np.where(expected < 1, 1 - expected, 1), np.nan),
        }


def resample_confusions(entries: Labelled, decisions: Signs, panel: Panel, resamples: int, seed: int) -> Array:
    """Task bootstrap of confusion counts: (R, languages, decisions, 3, 3). The decisions stay as they are."""
    return np.concatenate(
        [
            entries.confusion(decisions, drawn[:, entries.task] * entries.weight)
            for drawn in draw_blocks(len(panel.tasks), resamples, seed, panel.cluster)
        ]
    )


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


def pooled_auc(entries: Labelled, weights: Array) -> Array:
    """AUC of the panel mean and of each judge inside languages, pooled by pairs: weights (R, E) -> (R, 1 + m)."""
    columns = np.column_stack([mean_there(entries.margins, 1), entries.margins])
    out = np.empty((*weights.shape[:-1], columns.shape[1]))
    for d in range(columns.shape[1]):
        good, pairs = np.zeros(weights.shape[:-1]), np.zeros(weights.shape[:-1])
        for language in range(entries.languages):
            at = (entries.language == language) & (entries.gold != 0) & ~np.isnan(columns[:, d])
            if at.any():
                g, p = auc(columns[at, d], entries.gold[at] > 0, weights[:, at], entries.gap)
                good, pairs = good + g, pairs + p
        out[..., d] = np.where(pairs > 0, good / np.where(pairs > 0, pairs, 1.0), np.nan)
    return out


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
    flat, shape = terms.reshape(len(terms), -1), terms.shape[1:]

    def measures(weights: Array) -> dict[str, Array]:
        tp, fn, fp, tn, passed, count = np.moveaxis((weights @ flat).reshape(-1, *shape), -1, 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            own, sens, spec = passed / count, tp / (tp + fn), tn / (tn + fp)
            seen = sens + spec - 1
            rate = np.where(seen > 0.1, np.clip((own + spec - 1) / seen, 0, 1), np.nan)
            mcc = (tp * tn - fp * fn) / np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
        return {"own": own, "sensitivity": sens, "specificity": spec, "balanced": (sens + spec) / 2, "mcc": mcc,
                "rogan_gladen": rate}  # fmt: skip

    point = measures(panel.weights[None])
    drawn = [
        measures(c * panel.weights)["rogan_gladen"] for c in draw_blocks(len(flat), resamples, seed, panel.cluster)
    ]
    low, high = quantiles(np.concatenate(drawn))
    columns = {name: value[0] for name, value in point.items()} | {"low": low, "high": high}
    powered = powered_means(truth, says[..., 1:], stratum, panel.weights, panel.cluster)
    ends = t_interval(powered.mean[:, 0], np.sqrt(powered.variance[:, 0]), powered.df[:, 0])
    for name, value in zip(("powered", "powered_low", "powered_high"), (powered.mean[:, 0], *ends), strict=True):
        columns[name] = np.full(low.shape, np.nan)
        columns[name][:, 0] = np.clip(value, 0, 1)
    names = {"language": panel.languages, "decision": ["panel mean", *panel.judges]}
    return long_table(names, labels=known.sum(axis=0), **columns)
