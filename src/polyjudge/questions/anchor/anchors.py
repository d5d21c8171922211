"""`anchor`: what human labels say about a panel, raw and calibrated (docs/methods.md, sections 12 and 13)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.special import ndtri
from scipy.stats import rankdata

from polyjudge.estimate.crossfit import FOLDS, CrossFit, crossfit, no_crossfit
from polyjudge.estimate.resample import tracked_draws
from polyjudge.estimate.severity import guess_of, strata_of, take_off_severity
from polyjudge.estimate.shares import gain_interval, quantiles, share_interval
from polyjudge.panel.arrays import Array
from polyjudge.panel.errors import PanelError, UsageError
from polyjudge.panel.gold import Contradictions, Gold, Kind, align_gold, by_answer, judge_as_gold, stratified_sample
from polyjudge.panel.panel import Panel
from polyjudge.panel.records import long_table
from polyjudge.panel.say import Words, say
from polyjudge.panel.scale import scale_of
from polyjudge.questions.anchor.choices import (
    MISSING,
    Labelled,
    agreement_of,
    decide,
    decision_names,
    pass_rates,
    pooled_auc,
    resample_confusions,
)
from polyjudge.questions.anchor.distance import (
    LanguageMeans,
    PanelGain,
    SharedShift,
    error_tables,
    language_means,
    shared_shift,
)
from polyjudge.questions.anchor.helped import Helped, whom_it_helps
from polyjudge.questions.anchor.humans import LanguageError, language_error
from polyjudge.questions.anchor.raters import Annotators, annotators
from polyjudge.questions.anchor.worth import PanelWorth, panel_worth
from polyjudge.report.result import Result

FEWEST = 10
"""Labels that a correlation in a language needs."""


class Invariance(Result):
    """The check of identity I1 on labelled entries: calibration leaves the mean over a complete panel where it was."""

    entries: int
    """Labelled entries that every judge has scored: I1 holds for these."""
    incomplete: int
    """Labelled entries that some judge has not scored: there the mean of the others can move."""
    largest_change: float
    """Largest change of the panel mean over `entries`, in score points (rounding only)."""
    changed: int
    """Decisions of the panel mean that changed over `entries`."""
    holds: bool


class Anchor(Result):
    """A panel beside human labels. `table` has one row per decision: the panel mean, a majority vote, each judge.

    `measure` says what `table` and `by_language` hold: "agreement" (share of human choices met) or "squared error"
    (mean squared distance to human scores, points squared; there is no vote on scores). A gain is better in both. Parts
    that need human scores are None for preferences.
    """

    raters: Annotators | None
    """The annotators among themselves; None where the labels do not name them."""
    humans: LanguageError | None
    """The panel against human scores by language, and what correcting it by them removes."""
    passing: pd.DataFrame | None
    """Pass or fail: rates as humans would give them, by two corrections, and what each judge sees."""
    kind: Kind
    measure: Literal["agreement", "squared error"]
    table: pd.DataFrame
    by_language: pd.DataFrame
    invariance: Invariance
    panel_gain: PanelGain | None
    helped: Helped | None
    shift: SharedShift | None
    means: LanguageMeans
    worth: PanelWorth
    labels: pd.Series[int]
    trusted: str | None
    """The judge that stands in for the humans, if one does."""
    resamples: int
    folds: int
    seed: int
    notes: tuple[Words, ...]
    probes: pd.DataFrame | None = None
    """What probes say of the judges beside what the labels say; None without probes."""

    def to_frame(self) -> pd.DataFrame:
        return self.table

    def tables(self) -> dict[str, pd.DataFrame]:
        """Every table that the labels allowed, by name."""
        parts = {"helped": self.helped, "shift": self.shift, "panel_gain": self.panel_gain}
        out = {"anchor": self.table, "anchor_by_language": self.by_language}
        out |= {name: part.to_frame() for name, part in parts.items() if part is not None}
        out |= {} if self.probes is None else {"probes": self.probes}
        out |= {} if self.passing is None else {"passing": self.passing}
        if self.raters is not None:
            out |= {"annotators": self.raters.table, "annotator_pairs": self.raters.pairs}
        if self.humans is not None:
            h = self.humans
            out |= {"language_error": h.table, "judges_by_language": h.judges}
            out |= {} if h.board is None else {"leaderboard_by_humans": h.board}
        return out | {"language_means": self.means.table, "panel_worth": self.worth.table}


def anchor(
    panel: Panel,
    gold: Any = None,
    *,
    trusted: str | None = None,
    kind: Kind | None = None,
    threshold: float | None = None,
    scale: tuple[float, float] | None = None,
    contradictions: Contradictions = "error",
    sample: int | None = None,
    probed: Any = None,
    matters: float | None = None,
    resamples: int = 1000,
    folds: int = FOLDS,
    seed: int = 7,
) -> Anchor:
    """Compare a panel's decisions with human labels, raw and calibrated on other tasks.

    gold : table with columns task, [system,] language, and preference (+1, -1, 0) or score; any part of the panel's
        tasks. With systems a label speaks of one system's answer; without that column of the task
    trusted : a judge of the panel to take as the human, instead of `gold`
    threshold : with human scores, compare the decisions "above the threshold" instead of the squared error
    sample : use at most this many labels per language, in proportion to the panel's strata
    probed : what `probe` gave; it is compared with what the labels say of each judge
    matters : an error of the panel within +- this is small; 5% of the scale when not given
    resamples, seed : of the task bootstrap behind the intervals; `folds` of the calibration fitted on other tasks
    """
    whole = panel
    _check(gold, trusted, resamples, folds, seed)
    if trusted is not None:
        panel, labels = judge_as_gold(panel.by_system(), trusted)
    else:
        panel, gold = by_answer(panel, gold)
        labels = align_gold(panel, gold, kind=kind, scale=scale, contradictions=contradictions)
    if sample is not None:
        labels = stratified_sample(panel, labels, sample, seed)
    if threshold is not None:
        _check_threshold(panel, labels, threshold)
    notes: list[Words] = [*labels.notes, *_missing(panel)]
    fit = _fit(panel, seed, folds, notes)
    entries = Labelled.of(panel, labels, threshold or 0.0)
    calibrated = entries.calibrated(fit, panel.weights)
    raw_decisions, new_decisions = decide(entries.margins, entries.gap), decide(calibrated, entries.gap)
    invariance = _invariance(entries, calibrated, raw_decisions, new_decisions)
    raters = annotators(panel, labels, guess_of(panel, labels), resamples=resamples, seed=seed)
    labels = take_off_severity(panel, labels)[0]
    parts: dict[str, Any] = dict.fromkeys(("panel_gain", "shift", "helped", "humans"))
    if labels.kind == "score":
        systems = whole.answers()[1] if panel is not whole and trusted is None else None
        parts = _scored(panel, labels, fit, raters, systems, matters, resamples, seed, notes)
    if labels.kind == "preference" or threshold is not None:
        parts |= _decision_tables(panel, entries, raw_decisions, new_decisions, resamples, seed)
    return Anchor(
        **parts,
        raters=raters,
        passing=_passing(panel, labels, threshold, resamples, seed),
        kind=labels.kind,
        measure="squared error" if labels.kind == "score" and threshold is None else "agreement",
        invariance=invariance,
        means=language_means(panel, labels),
        worth=panel_worth(panel, labels, resamples=resamples, seed=seed),
        labels=labels.counts,
        trusted=trusted,
        resamples=resamples,
        folds=fit.folds,
        seed=seed,
        notes=tuple(notes),
        probes=None if probed is None else _beside(panel, labels, probed, parts["helped"]),
    )


def _scored(
    panel: Panel, labels: Gold, fit: CrossFit, raters: Annotators | None, systems: list[str] | None,
    matters: float | None, resamples: int, seed: int, notes: list[Words],
) -> dict[str, Any]:  # fmt: skip
    """The parts that need human scores."""
    table, by_language, gain = error_tables(panel, labels, fit, resamples, seed)
    return {
        "table": table,
        "by_language": by_language,
        "panel_gain": None if fit.void else gain,
        "shift": shared_shift(panel, labels),
        "helped": None if fit.void else _helped(panel, labels, resamples, seed, notes),
        "humans": language_error(panel, labels, raters, systems, matters=matters, seed=seed),
    }


def _check(gold: Any, trusted: str | None, resamples: int, folds: int, seed: int) -> None:
    if (gold is None) == (trusted is None):
        raise UsageError("anchor needs either a table of labels (gold) or a trusted judge (trusted), one of the two.")
    if resamples < 2 or folds < 2 or seed < 0:
        raise UsageError("anchor needs resamples >= 2, folds >= 2 and a seed of 0 or more.")


def _beside(panel: Panel, labels: Gold, probed: Any, helped: Helped | None) -> pd.DataFrame:
    """What probes say of the cells that have labels too: language, judge, sight, verdict (of probes), labels,
    correlation with low and high (rank correlation of the judge's scores and the labels), calibrating ("helped",
    "hurt", "cannot tell" by labels), answer.

    probed : what `probe` gave, or its table of cells
    answer : "agrees", "contradicts" or "open". A judge that sees should follow the labels, a blind one should not;
        calibrating should not hurt severity, and not help competence.
    """
    cells = getattr(probed, "cells", probed)
    needed = {"language", "judge", "sight", "verdict"}
    if not isinstance(cells, pd.DataFrame) or not needed <= set(cells.columns):
        raise UsageError("probed is what polyjudge.probe gave: a table of cells with language, judge, sight, verdict.")
    effect = {} if helped is None else {(r.language, r.judge): r.verdict for r in helped.cells.itertuples()}
    rows = []
    for r in cells.itertuples():
        if r.language not in panel.languages or r.judge not in panel.judges:
            continue
        language, judge = panel.languages.index(str(r.language)), panel.judges.index(str(r.judge))
        scores, truth = panel.scores[:, language, judge], labels.values[:, language]
        known = ~np.isnan(scores) & ~np.isnan(truth)
        value, low, high = _rank_correlation(scores[known], truth[known])
        calibrating = str(effect.get((r.language, r.judge), ""))
        answer = _answer(str(r.sight), str(r.verdict), calibrating, low, high)
        rows.append((r.language, r.judge, r.sight, r.verdict, int(known.sum()), value, low, high, calibrating, answer))
    if not rows:
        raise PanelError("The probes and the scores share no language and judge: nothing to compare.")
    columns = ["language", "judge", "sight", "verdict", "labels", "correlation", "low", "high", "calibrating", "answer"]
    return pd.DataFrame(rows, columns=columns)


def _rank_correlation(a: Array, b: Array, level: float = 0.95) -> tuple[float, float, float]:
    """Rank correlation with an interval on Fisher's scale; not a number for few labels or for constant ones."""
    if len(a) < FEWEST or np.ptp(a) == 0 or np.ptp(b) == 0:
        return (np.nan,) * 3
    value = float(np.corrcoef(rankdata(a), rankdata(b))[0, 1])
    centre = np.arctanh(np.clip(value, -0.9999, 0.9999))
    half = ndtri((1 + level) / 2) * np.sqrt((1 + value**2 / 2) / (len(a) - 3))
    return value, float(np.tanh(centre - half)), float(np.tanh(centre + half))


def _answer(sight: str, verdict: str, calibrating: str, low: float, high: float) -> str:
    """What the labels say to the probes' word."""
    if (verdict, calibrating) in {("severity", "hurt"), ("competence", "helped")}:
        return "contradicts"
    if (verdict, calibrating) in {("severity", "helped"), ("competence", "hurt")}:
        return "agrees"
    if sight == "cannot tell" or np.isnan(low):
        return "open"
    if sight == "blind":  # half of what a good judge shows would be no blindness
        return "contradicts" if low > 0.3 else "agrees" if high < 0.5 else "open"
    return "agrees" if low > 0 else "contradicts" if high < 0.1 else "open"


def _fit(panel: Panel, seed: int, folds: int, notes: list[Words]) -> CrossFit:
    """Calibration fitted on other tasks; where there is none to be had, one that changes nothing."""
    if min(panel.shape[1:]) < 2:
        notes.append(say("anchor.no-interaction"))
        return no_crossfit(panel)
    try:
        return crossfit(panel, seed, folds)
    except PanelError as error:
        notes.append(str(error))
        return no_crossfit(panel)


def _passing(panel: Panel, labels: Gold, threshold: float | None, resamples: int, seed: int) -> pd.DataFrame | None:
    scale = scale_of(panel)
    if labels.kind != "score" or (threshold is None and scale.kind != "binary"):
        return None
    at = sum(scale.ends) / 2 if threshold is None else threshold
    return pass_rates(panel, labels, strata_of(panel, labels), at, resamples, seed)


def _missing(panel: Panel) -> list[Words]:
    if panel.complete:
        return []
    holed = int((np.isnan(panel.scores).sum(axis=(1, 2)) > 0).sum())
    return [say("anchor.missing", holed=holed, tasks=len(panel.tasks))]


def _check_threshold(panel: Panel, labels: Gold, threshold: float) -> None:
    if labels.kind == "preference":
        raise UsageError("A threshold goes with human scores; preferences decide by the sign of the margin.")
    low, high = panel.range
    if not low <= threshold < high:
        raise UsageError(f"The threshold {threshold:g} lies outside the scores [{low:g}, {high:g}). Choose one inside.")


def _helped(panel: Panel, labels: Gold, resamples: int, seed: int, notes: list[Words]) -> Helped | None:
    try:
        return whom_it_helps(panel, labels, resamples=resamples, seed=seed)
    except PanelError as error:
        notes.append(str(error))
        return None


def _invariance(entries: Labelled, calibrated: Array, raw: Any, new: Any) -> Invariance:
    whole = ~np.isnan(entries.margins).any(axis=1)
    before, after = entries.margins[whole].mean(axis=1), calibrated[whole].mean(axis=1)
    largest = float(np.abs(after - before).max(initial=0.0))
    changed = int((raw[whole, 0] != new[whole, 0]).sum())
    holds = largest <= entries.gap and changed == 0
    sizes = {"entries": int(whole.sum()), "incomplete": int((~whole).sum())}
    return Invariance(**sizes, largest_change=largest, changed=changed, holds=holds)


def _decision_tables(
    panel: Panel, entries: Labelled, raw: Any, new: Any, resamples: int, seed: int
) -> dict[str, pd.DataFrame]:
    """Agreement overall and by language, with task-bootstrap intervals."""
    if not (entries.gold != 0).any():
        raise PanelError("Every label is a tie: there is no human choice to agree with.")
    names = decision_names(panel)
    weights = entries.weight
    counts = [entries.confusion(d, weights) for d in (raw, new)]
    draws = [resample_confusions(entries, d, panel, resamples, seed) for d in (raw, new)]
    # A raw tie that a shift pushes to one side counts as a change although the judge said nothing new.
    changed = np.stack([entries.count(raw != new), entries.count((raw != new) & (raw == 0))])
    tasks = entries.count((raw != MISSING) & (entries.gold != 0)[:, None])  # a task has one label in a language
    complete = not np.isnan(entries.margins).any()
    same = np.arange(len(names)) == (0 if complete else -1)  # the panel mean of a complete panel cannot change

    def frame(pick: Any, changed: Any, tasks: Any) -> dict[str, Any]:
        point = [agreement_of(pick(c)) for c in counts]
        drawn = [agreement_of(pick(d)) for d in draws]
        out: dict[str, Any] = {}
        for word, p, d in zip(("raw", "calibrated"), point, drawn, strict=True):
            low, high = share_interval(d["agreement"], p["agreement"], tasks)
            out |= {word: p["agreement"], f"{word}_low": low, f"{word}_high": high}
        out |= {"changed": changed[0], "broken_ties": changed[1]}
        for word, key in (("gain", "agreement"), ("gain_half", "half")):
            low, high = gain_interval(drawn[1][key] - drawn[0][key], tasks, same)
            out |= {word: point[1][key] - point[0][key], f"{word}_low": low, f"{word}_high": high}
        out |= {"labels": point[0]["labels"].round().astype(int)}
        for word, c in zip(("raw", "calibrated"), counts, strict=True):
            ties = pick(c)[..., [0, 2], 1].sum(axis=-1)
            out[f"{word}_ties"] = ties.round().astype(int)
        for word, p in zip(("raw", "calibrated"), point, strict=True):
            out[f"{word}_half"] = p["half"]
        for word, p, d in zip(("raw", "calibrated"), point, drawn, strict=True):
            low, high = quantiles(d["kappa"])
            none = np.isnan(p["kappa"]) | (tasks < 2) | (low == high)  # a width of 0 is no interval
            low, high = (np.where(none, np.nan, x) for x in (low, high))
            out |= {f"{word}_kappa": p["kappa"], f"{word}_kappa_low": low, f"{word}_kappa_high": high}
        return out

    table = pd.DataFrame({"decision": names, **frame(lambda c: c.sum(axis=-4), changed.sum(axis=1), tasks.max(axis=0))})
    table.insert(7, "identity", [complete, *[False] * (len(names) - 1)])
    drawn = tracked_draws(len(panel.tasks), resamples, seed, panel.cluster)
    blocks = [pooled_auc(entries, w[:, entries.task] * weights) for w in drawn]
    area, (low, high) = pooled_auc(entries, weights[None])[0], quantiles(np.concatenate(blocks))
    for word, values in (("auc", area), ("auc_low", low), ("auc_high", high)):
        values = np.where(np.isnan(area) | ((word != "auc") & (low == high)), np.nan, values)
        table[word] = [values[0], np.nan, *values[1:]]
    parts = frame(lambda c: c, changed, tasks)
    return {"table": table, "by_language": long_table({"language": panel.languages, "decision": names}, **parts)}
