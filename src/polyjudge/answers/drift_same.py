"""What changed on the same tasks: every judge's mean in every language, as it was measured (METHODS 21)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polyjudge.answers.drift_words import (
    Changes,
    Limits,
    answers_of,
    changed_findings,
    coarse_finding,
    everything_else_finding,
    judge_name,
    quiet_finding,
)
from polyjudge.base.numbers import percent
from polyjudge.base.text import name, names
from polyjudge.panel import Panel
from polyjudge.report.model import Finding
from polyjudge.stats.blind import BlindSpot, blind_spot
from polyjudge.stats.cells import complete, mean_seen, unit_means
from polyjudge.stats.interval import FEWEST, Interval, interval, ruled_out

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Index = NDArray[np.int64]
POWER = 0.84
"""Normal quantile of the chance, 80%, with which a change would have been detected."""
ROUNDING = 1e-9
"""Differences below this share of the scale are rounding."""
FEW_DIFFERING = 10
"""Where fewer units differ, a t interval says little of those that differ and were not drawn."""
SIDE_SHARE = 0.2
"""Share of the error level reserved for two side questions: did systems change, and did scores go missing?"""
LOST = 0.1
"""Smallest increase in missing scores that is reported."""


@dataclass(frozen=True)
class Request:
    """What the user asks for.

    matters : smallest change that matters, in points
    runs : number of comparisons for which the level holds
    level : confidence level
    """

    matters: float
    runs: int
    level: float

    @property
    def error(self) -> float:
        """Chance of a false alarm that this comparison may take."""
        return (1 - self.level) / self.runs


@dataclass(frozen=True)
class PairedScores:
    """Scores of the tasks that both runs have. Shape of scores: (tasks, systems, languages, judges), NaN if missing.

    before, after : scores of the two runs
    difference : after - before, 0 where it is rounding
    unit, weight : (tasks,) sampling unit of each task, and how many tasks its scores are the mean of
    low, width : of the scale
    """

    before: Array
    after: Array
    difference: Array
    unit: Index
    weight: Array
    low: float
    width: float

    @property
    def is_weighted(self) -> bool:
        """Whether scores are means of several tasks."""
        return bool((self.weight != 1).any())

    @property
    def n_tasks(self) -> int:
        """Number of tasks behind the scores."""
        return round(float(self.weight.sum()))

    def select_systems(self, systems: list[int]) -> PairedScores:
        """The scores of some systems."""
        return replace(
            self,
            before=self.before.take(systems, axis=1),
            after=self.after.take(systems, axis=1),
            difference=self.difference.take(systems, axis=1),
        )


@dataclass(frozen=True)
class CellChanges:
    """How much each judge changed in each language, as numbers.

    A cell is one judge in one language; (cells,) is (languages, judges) in one axis.

    systems : positions of the systems that are averaged; one that changed by itself is not among them
    by_unit : (units, cells) change in each sampling unit
    interval : (cells,) mean change, with limits that hold for all cells simultaneously
    level : of these limits
    upper_limit : (cells,) largest change that the drawn units do not rule out
    changed_mask : (cells,) whether a cell has certainly changed
    differs_mask : (cells,) whether a single score of it is not what it was
    before, after : (languages, judges) mean of the scores that both runs have
    blind : what failures could change that no drawn unit shows
    """

    systems: list[int]
    by_unit: Array
    interval: Interval
    level: float
    upper_limit: Array
    changed_mask: Mask
    differs_mask: Mask
    before: Array
    after: Array
    blind: BlindSpot

    @property
    def known_mask(self) -> Mask:
        """Cells with enough units for an interval."""
        return np.isfinite(self.interval.q)

    @property
    def unchanged_mask(self) -> Mask:
        """Cells with an interval that have not certainly changed."""
        return self.known_mask & ~self.changed_mask

    @property
    def any_cell_changed(self) -> bool:
        """Whether any cell has certainly changed."""
        return bool(self.changed_mask.any())

    @property
    def any_score_differs(self) -> bool:
        """Whether a single score is not what it was."""
        return bool(self.differs_mask.any())

    @property
    def largest_unreported(self) -> float:
        """Upper limit of every change that is not reported; NaN if no cell is known."""
        if not self.known_mask.any():
            return np.nan
        largest = float(self.upper_limit[self.unchanged_mask].max(initial=0.0))
        return max(largest, self.blind.size) if self.unchanged_mask.any() else largest

    @property
    def detectable(self) -> float:
        """The change that would have been detected in any known cell with a chance of 80%; NaN if no cell is known."""
        if not self.known_mask.any():
            return np.nan
        q = np.where(self.interval.q > 0, self.interval.q, 1.0)
        half_width = self.interval.q * self.interval.se
        return float((half_width * (1 + POWER / q))[self.known_mask].max())

    def mean_change(self, cells: NDArray[np.intp]) -> Limits:
        """Mean change of some cells, with limits at the level of all cells."""
        mean_by_unit = self.by_unit[:, cells].mean(axis=1, keepdims=True)
        one = interval(mean_by_unit, level=self.level, together=self.by_unit.shape[1])
        return float(one.estimate[0]), float(one.low[0]), float(one.high[0])


@dataclass(frozen=True)
class SystemChanges:
    """How systems changed. unchanged : positions of those that did not change by themselves"""

    frame: pd.DataFrame
    findings: list[Finding]
    unchanged: list[int]


def pair_scores(old: Panel, new: Panel, rows: tuple[Index, Index]) -> PairedScores:
    """Put the scores of the same tasks side by side. rows : positions of these in the old and in the new scores"""
    old_rows, new_rows = rows
    before, after = old.scores[old_rows], new.scores[new_rows]
    difference = after - before
    is_rounding = np.abs(difference) <= ROUNDING * new.width
    return PairedScores(
        before=before,
        after=after,
        difference=np.where(is_rounding, 0.0, difference),
        unit=np.unique(old.unit[old_rows], return_inverse=True)[1],
        weight=new.weight[new_rows],
        low=new.scale[0],
        width=new.width,
    )


def estimate_changes(paired: PairedScores, systems: list[int], level: float) -> CellChanges:
    """Estimate the mean change of each cell over tasks and some of the systems."""
    kept = paired.select_systems(systems)
    by_unit, n_units = _average_by_unit(kept)
    grid = paired.difference.shape[2], paired.difference.shape[3]
    tested = interval(by_unit, level=level, df=np.maximum(n_units - 1.0, 1.0), grid=grid)
    differs_mask = (np.abs(np.nan_to_num(kept.difference)) > 0).any(axis=(0, 1)).ravel()  # over tasks and systems
    upper_limit = tested.limit
    if differs_mask.any():  # else nothing says that scores can change
        upper_limit = np.maximum(upper_limit, _largest_rare_change(by_unit, kept.width, level))
    before, after = _mean_of_paired(kept.before, kept), _mean_of_paired(kept.after, kept)
    return CellChanges(
        systems=systems,
        by_unit=by_unit,
        interval=tested,
        level=level,
        upper_limit=upper_limit,
        changed_mask=tested.clear(ROUNDING * kept.width) & np.isfinite(tested.q),
        differs_mask=differs_mask,
        before=before,
        after=after,
        blind=blind_spot(np.maximum(before, after), kept.low, len(by_unit)),
    )


def _average_by_unit(paired: PairedScores) -> tuple[Array, Index]:
    """Pseudo-values of the mean change (units, cells), and the number of units with scores in both runs (cells,)."""
    n_tasks, n_systems, n_languages, n_judges = paired.difference.shape
    n_cells = n_languages * n_judges
    task_and_system_rows = paired.difference.reshape(n_tasks * n_systems, n_cells)
    by_unit, n_units = unit_means(task_and_system_rows, np.repeat(paired.unit, n_systems))
    if not paired.is_weighted:
        return by_unit, n_units
    task_rows = paired.difference.mean(axis=1).reshape(n_tasks, n_cells)  # over systems
    return complete(task_rows, paired.unit, paired.weight).v, n_units


def _largest_rare_change(by_unit: Array, width: float, level: float) -> Array:
    """Upper limit of the mean change (cells,) by units that were not drawn; 0 where many of those drawn differ.

    Where few units differ, others may differ that were not drawn, and a t interval does not know of them. Each of them
    may differ by the width of the scale.
    """
    n_units, n_cells = by_unit.shape
    n_differing = (np.abs(by_unit) > ROUNDING * width).sum(axis=0)  # over units
    few_differ_mask = (n_differing < FEW_DIFFERING) & (n_differing <= n_units / 2)
    largest = np.zeros(n_cells)
    for cell in np.flatnonzero(few_differ_mask):
        largest[cell] = width * ruled_out(int(n_differing[cell]), n_units, level, n_cells)
    return largest


def _mean_of_paired(scores: Array, paired: PairedScores) -> Array:
    """Mean (languages, judges) of the scores that both runs have."""
    scores_in_both = np.where(np.isfinite(paired.difference), scores, np.nan)
    return np.asarray(mean_seen(scores_in_both, (0, 1), paired.weight))  # over tasks and systems


# --- sentences ---


def same_task_findings(panel: Panel, paired: PairedScores, changes: CellChanges, matters: float) -> list[Finding]:
    """What has certainly changed, compared with before; and how much may have changed without being reported."""
    k, m = len(panel.languages), len(panel.judges)
    compared_with = "than before"
    if _has_system_aside(panel, changes):
        noun = "system" if len(changes.systems) == 1 else "systems"
        compared_with = f"than before on the other {noun}"
    limits = np.stack([changes.interval.estimate, changes.interval.low, changes.interval.high]).reshape(3, k, m)
    certain = changes.changed_mask.reshape(k, m)
    said = Changes(limits, certain, changes.mean_change, matters, compared_with)
    return [*changed_findings(panel, said), *_unchanged_findings(panel, paired, changes, matters)]


def _unchanged_findings(panel: Panel, paired: PairedScores, changes: CellChanges, matters: float) -> list[Finding]:
    if not changes.known_mask.any():
        return [_too_few_tasks_finding(n_units=len(changes.by_unit))]
    if not changes.any_score_differs:
        return [_no_score_differs_finding(panel, paired, changes)]
    coarse = coarse_finding(panel, changes.detectable, matters)
    findings = [_rest_finding(panel, changes)] if changes.unchanged_mask.any() else []
    return [*findings, coarse] if coarse else findings


def _rest_finding(panel: Panel, changes: CellChanges) -> Finding:
    """How much the cells changed that are not reported."""
    limit, blind = changes.largest_unreported, changes.blind
    has_aside = _has_system_aside(panel, changes)
    if changes.any_cell_changed:
        if not changes.differs_mask[changes.unchanged_mask].any():
            return Finding("info", "rest", "All other scores are the same as before.", "Changed")
        averaged = f", averaged over {_systems_phrase(panel, changes)}," if len(changes.systems) > 1 else ""
        return everything_else_finding(panel, limit, blind, averaged)
    if has_aside:
        what = f" of a judge's mean over {_systems_phrase(panel, changes)}" if len(changes.systems) > 1 else ""
        return quiet_finding(panel, limit, blind, what, is_apart=True)
    what = f"'s mean over {_systems_phrase(panel, changes)}" if len(changes.systems) > 1 else ""
    return quiet_finding(panel, limit, blind, what)


def _too_few_tasks_finding(n_units: int) -> Finding:
    """No cell has an interval."""
    text = f"Too few tasks were scored in both runs to tell what has changed: {n_units}, and {FEWEST} are needed."
    return Finding("warning", "too-few", text, "Changed")


def _no_score_differs_finding(panel: Panel, paired: PairedScores, changes: CellChanges) -> Finding:
    """Every score is what it was, but for systems that are set aside."""
    if _has_system_aside(panel, changes):
        return Finding("info", "same", "All other scores are the same as before.", "Changed")
    n_scores_by_row = np.isfinite(paired.difference).sum(axis=(1, 2, 3))  # over systems, languages and judges
    n_scores = round(float((n_scores_by_row * paired.weight).sum()))
    return Finding("info", "same", f"All {n_scores:,} scores are the same as before.", "Changed")


def _has_system_aside(panel: Panel, changes: CellChanges) -> bool:
    """Whether a system changed by itself and is not averaged."""
    return len(changes.systems) < len(panel.systems)


def _systems_phrase(panel: Panel, changes: CellChanges) -> str:
    """The systems that are averaged, in a sentence."""
    return "the other systems" if _has_system_aside(panel, changes) else "systems"


# --- missing scores ---


def missing_findings(
    old: Panel, new: Panel, rows: tuple[Index, Index], changes: CellChanges, error: float
) -> list[Finding]:
    """Cells whose scores are missing now and were not before, certainly more of them; and cells without an interval."""
    old_rows, new_rows = rows
    before, after = np.isfinite(old.scores[old_rows]).mean(1), np.isfinite(new.scores[new_rows]).mean(1)
    was, now = before.mean(0), after.mean(0)
    unit = np.unique(old.unit[old_rows], return_inverse=True)[1]
    fewer = interval(unit_means((before - after).reshape(len(unit), -1), unit)[0], level=1 - error).clear()
    lost_mask = (was > 0) & ((now == 0) | (was - now >= LOST) & fewer.reshape(was.shape))
    findings = []
    for x, b in np.argwhere(lost_mask):
        answers = answers_of(new, new.languages[x])
        text = f"leaves {percent(1 - now[x, b])} of {answers} without a score, before {percent(1 - was[x, b])}."
        if not now[x, b]:
            text = f"no longer has scores of {answers}."
        where = {"language": new.languages[x], "judge": new.judges[b]}
        findings.append(Finding("warning", "missing", f"{judge_name(new, int(b))} {text}", "Missing", where))
    thin_mask = ~changes.known_mask.reshape(was.shape) & (was > 0) & (now > 0)
    if thin_mask.any() and not thin_mask.all():
        cells = names([f"{name(new.judges[b])} in {name(new.languages[x])}" for x, b in np.argwhere(thin_mask)])
        findings.append(Finding("warning", "thin", f"Too few tasks in both runs to compare {cells}.", "Missing"))
    return findings
