"""The human-anchor check of the paper, end to end: a gain of 55 decisions that rounding made.

See docs/methods.md, section 12.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from polyjudge.estimate.kernels import double_centre
from polyjudge.panel.arrays import Array, tie_gap
from polyjudge.panel.gold import proportional
from polyjudge.panel.panel import Panel
from polyjudge.paper.draws import strata_draws
from polyjudge.report.result import Result

MARGIN_RANGE = (-4.0, 4.0)
"""Smallest and largest margin of two scores from 1 to 5."""

PROOF = (
    "Identity I1: the interaction sums to zero over judges, so the mean over judges of S - beta is the mean over "
    "judges of S, for every item and language. The panel-mean decision cannot change; where it seems to, rounding "
    "decided a tie."
)


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class HumanAnchor(Result):
    """Agreement of the panel-mean decision with the human preference, as published and with a tie tolerance.

    `by_language` ends with the row "all": rows, agreement counts as published (raw_published, calibrated_published) and
    with the tolerance (raw, calibrated), `ties` (exact ties of the raw margin), `rounding` (ties that rounding gave a
    sign: a margin of 0 became about 1e-17), `counted` (those of them that were then counted as agreement), `shifted`
    (margins that moved by more than the tolerance: items that lack a judge's score, so that I1 does not bind),
    `changed` (decisions that changed by more than the tolerance).
    `intervals` has rate, low and high of each agreement and gain: bootstrap over items inside language and subset.
    """

    by_language: pd.DataFrame
    intervals: pd.DataFrame
    strata: dict[str, int]
    """Sampled items of each subset, over all languages."""
    tolerance: float
    resamples: int
    seed: int
    published_draws: dict[str, Array]
    """Agreement as published in every resample: raw, cbc, gain."""
    proof: str = PROOF

    def interval(self, name: str) -> tuple[float, float, float]:
        """Rate, low and high of one row of `intervals`."""
        row = self.intervals.loc[self.intervals["quantity"] == name, ["rate", "low", "high"]].to_numpy(float)[0]
        return float(row[0]), float(row[1]), float(row[2])


def draw_sample(panel: Panel, per_language: int = 100, seed: int = 107) -> pd.DataFrame:
    """The sampled items of the check, drawn from the panel as published, with the panel-mean margin before and after.

    In each language every subset gives its share of items (largest remainder), without replacement. The columns are
    those of `sources.anchor_sample`.
    """
    assert panel.grouping is not None
    assert panel.grouping.task is not None
    rng = np.random.default_rng(seed)
    by_name = np.argsort(np.array(panel.tasks), kind="stable")
    subset = panel.grouping.task[by_name]
    size = proportional(np.bincount(subset, minlength=len(panel.grouping.labels)), per_language)
    beta = double_centre(np.nanmean(panel.scores, axis=0))
    parts = []
    for language in sorted(panel.languages):
        l = panel.languages.index(language)  # noqa: E741
        for s in np.argsort(panel.grouping.labels):
            members = by_name[subset == s]
            chosen = members[rng.choice(len(members), size[s], replace=False)]
            margins = panel.scores[chosen, l]
            part = pd.DataFrame({"item": [panel.tasks[i] for i in chosen], "subset": panel.grouping.labels[s]})
            part["language"] = language
            part["raw_margin"] = np.nanmean(margins, axis=1)
            part["cbc_margin"] = np.nanmean(margins - beta[l], axis=1)
            parts.append(part)
    return pd.concat(parts, ignore_index=True)


def human_anchor(sample: pd.DataFrame, languages: list[str], resamples: int = 1000, seed: int = 107) -> HumanAnchor:
    """The check on the authors' sample (columns of `sources.anchor_sample`)."""
    tolerance = tie_gap(*MARGIN_RANGE)
    raw, calibrated = (sample[name].to_numpy(float) for name in ("raw_margin", "cbc_margin"))
    decision, after = (np.where(np.abs(x) <= tolerance, 0, np.sign(x)) for x in (raw, calibrated))
    facts = pd.DataFrame(
        {
            "language": sample["language"].to_numpy(),
            "rows": 1,
            # As published: the bare sign of a floating-point mean.
            "raw_published": raw > 0,
            "calibrated_published": calibrated > 0,
            "raw": decision > 0,
            "calibrated": after > 0,
            "ties": decision == 0,
            "rounding": (np.sign(raw) != np.sign(calibrated)) & (decision == after),
            "counted": (raw <= 0) & (calibrated > 0) & (decision == after),
            "shifted": np.abs(calibrated - raw) > tolerance,
            "changed": decision != after,
        }
    )
    table = facts.groupby("language").sum().loc[languages]
    table.loc["all"] = table.sum()
    table = table.astype(np.int64).reset_index()
    strata = np.asarray(sample.groupby(["language", "subset"]).ngroup(), dtype=np.int64)
    intervals, draws = _intervals(facts, strata, resamples, seed)
    return HumanAnchor(
        by_language=table,
        intervals=intervals,
        strata={str(k): int(v) for k, v in sample["subset"].value_counts().items()},
        tolerance=tolerance,
        resamples=resamples,
        seed=seed,
        published_draws={"raw": draws[:, 0], "cbc": draws[:, 1], "gain": draws[:, 1] - draws[:, 0]},
    )


def _intervals(facts: pd.DataFrame, strata: NDArray[np.int64], resamples: int, seed: int) -> tuple[pd.DataFrame, Array]:
    """Percentile intervals, and the draws: items with replacement inside each language and subset, as sampled."""
    names = ["raw_published", "calibrated_published", "raw", "calibrated"]
    flags = facts[names].to_numpy(float)
    draws = strata_draws(strata, resamples, seed) @ flags / len(flags)
    rates: Array = flags.mean(axis=0)
    rows = [(name, rates[i], *np.percentile(draws[:, i], [2.5, 97.5])) for i, name in enumerate(names)]
    for name, a, b in (("gain_published", 0, 1), ("gain", 2, 3)):
        rows.append((name, rates[b] - rates[a], *np.percentile(draws[:, b] - draws[:, a], [2.5, 97.5])))
    return pd.DataFrame(rows, columns=["quantity", "rate", "low", "high"]), draws
