"""`anchor`: what human labels say about a panel, raw and calibrated (docs/methods.md, sections 12 and 13)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd

from polyjudge.second.estimate.crossfit import FOLDS, CrossFit, crossfit, no_crossfit
from polyjudge.second.estimate.severity import guess_of, strata_of, take_off_severity
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.gold import Contradictions, Gold, Kind, align_gold, by_answer, judge_as_gold, stratified_sample
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import Words, say
from polyjudge.second.panel.scale import scale_of
from polyjudge.second.questions.anchor.choices import decision_tables, pass_rates, sign
from polyjudge.second.questions.anchor.distance import LanguageMeans, PanelGain, error_tables, language_means
from polyjudge.second.questions.anchor.helped import Helped, whom_it_helps
from polyjudge.second.questions.anchor.humans import LanguageError, language_error
from polyjudge.second.questions.anchor.probed import beside_labels
from polyjudge.second.questions.anchor.raters import Annotators, annotators
from polyjudge.second.questions.anchor.worth import PanelWorth, panel_worth
from polyjudge.second.report.result import Result


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
        parts = {"helped": self.helped, "panel_gain": self.panel_gain}
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
    margins = panel.scores - (threshold or 0.0)
    calibrated = margins - fit.removed
    decided = labels.kind == "preference" or threshold is not None
    tables = decision_tables(panel, labels, margins, calibrated, threshold or 0.0, resamples, seed) if decided else {}
    invariance = _invariance(panel, labels, margins, calibrated)
    raters = annotators(panel, labels, guess_of(panel, labels), resamples=resamples, seed=seed)
    labels = take_off_severity(panel, labels)[0]
    parts: dict[str, Any] = dict.fromkeys(("panel_gain", "helped", "humans"))
    if labels.kind == "score":
        systems = whole.answers()[1] if panel is not whole and trusted is None else None
        parts = _scored(panel, labels, fit, raters, systems, matters, resamples, seed, notes)
    return Anchor(
        **parts | tables,
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
        folds=len(fit.outside),
        seed=seed,
        notes=tuple(notes),
        probes=None if probed is None else beside_labels(panel, labels, probed, parts["helped"]),
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
        "helped": None if fit.void else _helped(panel, labels, resamples, seed, notes),
        "humans": language_error(panel, labels, raters, systems, matters=matters, seed=seed),
    }


def _check(gold: Any, trusted: str | None, resamples: int, folds: int, seed: int) -> None:
    if (gold is None) == (trusted is None):
        raise UsageError("anchor needs either a table of labels (gold) or a trusted judge (trusted), one of the two.")
    if resamples < 2 or folds < 2 or seed < 0:
        raise UsageError("anchor needs resamples >= 2, folds >= 2 and a seed of 0 or more.")


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


def _invariance(panel: Panel, labels: Gold, margins: Array, calibrated: Array) -> Invariance:
    whole = labels.there & ~np.isnan(margins).any(axis=2)
    before, after = margins[whole].mean(axis=1), calibrated[whole].mean(axis=1)
    largest = float(np.abs(after - before).max(initial=0.0))
    changed = int((sign(before, panel.tie_gap) != sign(after, panel.tie_gap)).sum())
    holds = largest <= panel.tie_gap and changed == 0
    sizes = {"entries": int(whole.sum()), "incomplete": int((labels.there & ~whole).sum())}
    return Invariance(**sizes, largest_change=largest, changed=changed, holds=holds)
