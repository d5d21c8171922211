"""What has changed since an earlier run of the same judges? (METHODS 21, 29, 34)

Same tasks: the change of every judge's mean in every language, as it was measured, all of them together. Other tasks:
the change of each judge's gap to the other judges, two samples, named by leaving out the largest. Either way the
smallest change that would have been detected; where that is large, the answer is not complete and the command ends
with 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyjudge.answers.audit.advice import command
from polyjudge.answers.drift_other import TwoRuns, describe_other_tasks
from polyjudge.answers.drift_same import (
    SIDE_SHARE,
    Request,
    estimate_changes,
    missing_findings,
    pair_scores,
    same_task_findings,
)
from polyjudge.answers.drift_strata import Strata, find_strata
from polyjudge.answers.drift_systems import compare_systems, no_systems
from polyjudge.answers.margins import choose_system, margins
from polyjudge.base.errors import PanelError, UsageError
from polyjudge.base.text import count, name, names, plural
from polyjudge.calibrate.consensus import GROUPED, ConsensusCalibrator
from polyjudge.calibrate.saved import FORMAT, load_consensus
from polyjudge.panel import Panel
from polyjudge.report.model import Chart, Finding, Report, Result, Section, Step, Table
from polyjudge.stats.interval import FEWEST

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Index = NDArray[np.int64]


@dataclass(frozen=True, repr=False, kw_only=True)
class Drift(Result):
    """What changed. Frames:

    cells : language, judge, before, after, change, low, high, changed. Same tasks: mean scores; other tasks: gaps to
        the mean of the other judges. The intervals hold for all cells and all runs together
    systems : system, change, low, high, changed (by all judges alike, and otherwise than the other systems); empty
        where tasks are others
    """

    cells: pd.DataFrame
    systems: pd.DataFrame
    same_tasks: bool
    tasks: tuple[int, int]
    seen: float
    """The smallest change of one judge in one language that would have been seen with a chance of 80%."""
    limit: float
    """No change but those that are named is larger than this."""
    blind: float
    """What failures that were not drawn could change, in points."""
    strata: str
    """The column inside whose values other tasks were compared; "" where there is none."""
    matters: float
    runs: int
    level: float
    findings: tuple[Finding, ...]
    panel_: Panel

    @property
    def incomplete(self) -> bool:
        """Something changed, or a change might have gone unseen: the command ends with 1."""
        return any(f.severity in ("warning", "serious") for f in self.findings)

    def report(self) -> Report:
        """The report."""
        p = self.panel_
        columns = ["before", "after", "change", "low", "high"]
        shown = self.cells.assign(**{x: self.cells[x] * p.factor for x in columns})
        what = "mean score" if self.same_tasks else "gap to the other judges"
        table = Table(
            "cells",
            f"Change of each judge in each {p.noun}, {p.unit_name}",
            shown,
            {"language": "name", "judge": "name", "before": "points", "after": "points",
             "change": "+points low high", "changed": "yes"},
            {"language": p.noun, "before": f"{what} before", "after": "now"},
        )  # fmt: skip
        mark = np.where(shown["changed"], "clear", "")
        heat = Chart(
            "changes",
            "heatmap",
            f"Change since the earlier run, {p.unit_name}",
            shown.rename(columns={"language": "row", "judge": "column", "change": "value"}).assign(mark=mark),
            f"Change of each judge in each {p.noun}: {int(shown['changed'].sum())} of {len(shown)} changed.",
            x="judge",
            y=p.noun,
        )
        tables = [table]
        if len(self.systems):
            own = self.systems.assign(**{x: self.systems[x] * p.factor for x in columns[2:]})
            head = {"system": "name", "change": "+points low high", "changed": "yes"}
            tables.append(Table("systems", f"Change of each system, {p.unit_name}", own, head))
        how, alone = f"{count(self.tasks[1], 'task')} scored in both runs", not self.same_tasks and len(p.judges) == 1
        if not self.same_tasks:
            how = f"{self.tasks[0]:,} tasks then and {self.tasks[1]:,} now, not task by task"
            how += "" if alone else ": judges are compared by their gaps to each other"
            how += f", inside the values of {name(self.strata)}" if self.strata else ""
        more = f"; the limits hold for {self.runs:,} such comparisons" if self.runs > 1 else ""
        after = Step(command(p, "audit"), "look at the new scores")
        after = (
            Step("polyjudge drift OLD NEW", "score some of the old tasks again, and compare these") if alone else after
        )
        return Report(
            "drift",
            "What has changed",
            (*p.read_facts, f"Compared: {how}{more}."),
            self.findings,
            next=(after,) if self.incomplete else (),
            sections=(Section("cells", "Change of each judge", tables=tuple(tables), charts=(heat,)),),
            about={"level": self.level},
        )


def drift(
    old: Any,
    new: Any,
    *,
    runs: int = 1,
    matters: float | None = None,
    strata: str | None = None,
    level: float = 0.95,
    **columns: Any,
) -> Drift:
    """What has changed since an earlier run: which judge, in which language, by how much.

    Score the same tasks again and the change of each judge is measured directly. Of other tasks only the gaps between
    the judges can be compared, inside the values of a column that sorts tasks where there is one. Ends with 1 where
    something changed by `matters` or more, or where a change of 10% of the scale (of `matters`, if that is more) might
    have gone unseen.

    old : scores of the earlier run, or a calibrator that was saved with them
    new : scores of this run
    runs : number of such comparisons for which the level is kept: 365 for a nightly job
    matters : smallest change that matters, in points (pass or fail: percentage points); 2% of the scale unless said
    strata : column of both runs that sorts tasks, such as domain: for other tasks; found where one column does
    level : confidence level of the intervals

    Examples:
        polyjudge drift march.csv today.csv
        polyjudge drift cal.json today.csv --runs 365
    """
    if runs < 1:
        raise UsageError(f"--runs is a number of comparisons from 1 on, not {runs}.")
    if not 0.5 <= level < 1:
        raise UsageError(f"The level of an interval is at least 0.5 and below 1, such as 0.95, not {level:g}.")
    before, after = _picks(_panel(old, columns, is_old=True), _panel(new, columns))
    notes = _scale(before, after)
    own_scale = after.scale
    widest = min(before.scale[0], own_scale[0]), max(before.scale[1], own_scale[1])
    after = replace(after, scale=widest)
    request = Request(after.least(matters), runs, level)
    before, after, differences = _restrict_to_shared(before, after)
    notes += differences
    rows = _pairs(before, after)
    if rows is not None:
        result = _compare_same_tasks(before, after, rows, request, notes)
    else:
        sorting = find_strata((old, new), (before, after), strata, columns.get("task"))
        result = _compare_other_tasks(before, after, request, notes, sorting)
    return replace(result, panel_=replace(after, scale=own_scale))


# --- what is compared ---


def _panel(source: Any, columns: dict[str, Any], is_old: bool = False) -> Panel:
    """Scores; of the earlier run also those that a calibrator keeps."""
    from polyjudge.read import read_panel

    if is_old and isinstance(source, (str, Path)) and str(source).endswith(".json") and _is_calibrator(Path(source)):
        source = load_consensus(source)
    if isinstance(source, ConsensusCalibrator):
        if source.fit_ is None:
            raise PanelError(
                "This calibrator has too many cells to keep the values of its fit. Give the old scores themselves."
            )
        if source.fit_.source == GROUPED:  # each stands for as many tasks
            size = source.tasks_ / len(source.fit_.tasks)
            return replace(source.fit_, weight=np.full(len(source.fit_.tasks), size))
        return source.fit_
    return read_panel(source) if isinstance(source, Panel) else read_panel(source, **columns)


def _picks(old: Panel, new: Panel) -> tuple[Panel, Panel]:
    """Verdicts on pairs as how often one system is picked, the same in both runs."""
    if old.pairs is None:
        return old, margins(new)
    system = choose_system(old)
    return margins(old, system), margins(new, system)


def _is_calibrator(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return FORMAT.encode() in file.read(200)
    except OSError:
        return False


def _scale(old: Panel, new: Panel) -> list[Finding]:
    """Whether the scores lie on another scale than before."""
    quarter = old.width / 4
    if abs(new.scale[0] - old.scale[0]) <= quarter and abs(new.scale[1] - old.scale[1]) <= quarter:
        return []
    text = (
        f"The scale may have changed: scores were {old.scale[0]:g} to {old.scale[1]:g}, "
        f"now they are {new.scale[0]:g} to {new.scale[1]:g}."
    )
    return [Finding("warning", "scale", text, "Scale")]


def _restrict_to_shared(old: Panel, new: Panel) -> tuple[Panel, Panel, list[Finding]]:
    """Both runs restricted to the languages, judges and systems they share, and findings about the rest."""
    if old.systems == ("",) or new.systems == ("",):  # one of them does not name its system
        if max(len(old.systems), len(new.systems)) > 1:
            raise PanelError("One run compares systems and the other has none. Name the column of systems: --system.")
        new = replace(new, systems=old.systems)
    findings: list[Finding] = []
    shared: dict[str, Any] = {}
    for axis, noun in (("languages", new.noun), ("judges", "judge"), ("systems", "system")):
        before, now = getattr(old, axis), getattr(new, axis)
        shared[axis] = [x for x in now if x in before]
        if not shared[axis]:
            raise PanelError(f"The two runs have no {noun} in common: {names(before)} before, {names(now)} now.")
        findings += _difference_findings(noun, before, now)
    return old.select(**shared), new.select(**shared), findings


def _difference_findings(noun: str, before: tuple[str, ...], now: tuple[str, ...]) -> list[Finding]:
    """What the new run lacks, and what is new in it."""
    findings = []
    if missing := [x for x in before if x not in now]:
        text = f"The new scores lack the {noun if len(missing) == 1 else plural(noun)} {names(missing)}."
        findings.append(Finding("warning", "gone", text, "Lacking"))
    if fresh := [x for x in now if x not in before]:
        text = f"The {noun} {names(fresh)} is new and was not compared."
        if len(fresh) > 1:
            text = f"The {plural(noun)} {names(fresh)} are new and were not compared."
        findings.append(Finding("notice", "fresh", text, "New"))
    return findings


def _pairs(old: Panel, new: Panel) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Rows of the tasks that both runs have, where they are half of them and so can be compared one by one."""
    at = {x: i for i, x in enumerate(old.tasks)} if old.source != GROUPED else {}
    found = np.array([(at[x], i) for i, x in enumerate(new.tasks) if x in at], dtype=np.int64).reshape(-1, 2)
    if 2 * len(found) < min(len(old.tasks), len(new.tasks)):
        return None
    if (old.weight != 1).any() or (new.weight != 1).any():  # rows are hashed units: the same ones, or none
        same = len(found) == len(old.tasks) == len(new.tasks) and old.complete and new.complete
        if not same or not np.allclose(old.weight[found[:, 0]], new.weight[found[:, 1]]):
            return None
    return found[:, 0], found[:, 1]


# --- the two ways ---


def _compare_same_tasks(
    old: Panel, new: Panel, rows: tuple[Index, Index], request: Request, notes: list[Finding]
) -> Drift:
    """Compare every judge's mean in every language, task by task.

    Systems come first: one that changed by itself is set aside, so that its change is not blamed on the judges.

    rows : positions of the shared tasks in the old and in the new scores
    """
    paired = pair_scores(old, new, rows)
    side_error = request.error * SIDE_SHARE
    cell_error = request.error - (side_error if len(new.systems) > 1 else 0.0)
    systems = compare_systems(paired, new, request.matters, side_error)
    changes = estimate_changes(paired, systems.unchanged, level=1 - cell_error)
    findings = [
        *systems.findings,
        *same_task_findings(new, paired, changes, request.matters),
        *missing_findings(old, new, rows, changes, side_error),
        *notes,
    ]
    columns: dict[str, Array | Mask] = {
        "before": changes.before,
        "after": changes.after,
        "change": changes.interval.estimate,
    }
    columns |= {"low": changes.interval.low, "high": changes.interval.high, "changed": changes.changed_mask}
    return Drift(
        cells=_cells_frame(new, columns),
        systems=systems.frame,
        same_tasks=True,
        tasks=(paired.n_tasks, paired.n_tasks),
        seen=changes.detectable,
        limit=changes.largest_unreported,
        blind=new.factor * changes.blind.size,
        strata="",
        matters=request.matters,
        runs=request.runs,
        level=request.level,
        findings=tuple(findings),
        panel_=new,
    )


def _compare_other_tasks(
    old: Panel, new: Panel, request: Request, notes: list[Finding], strata: Strata | None
) -> Drift:
    """Compare the gaps between judges, two samples of tasks."""
    tasks = round(float(old.weight.sum())), round(float(new.weight.sum()))
    if len(new.judges) < 2 or min(old.units, new.units) < FEWEST:
        return _too_few(new, tasks, request, notes)
    runs = TwoRuns(old, new, (old.values(), new.values()), request.error, strata)
    found = describe_other_tasks(runs, request.matters)
    first = found.named.first
    columns: dict[str, Array | Mask] = {"before": first.before, "after": first.after, "change": first.change}
    columns |= {"low": first.low, "high": first.high, "changed": found.changed_mask}
    return Drift(
        cells=_cells_frame(new, columns),
        systems=no_systems(new).frame,
        same_tasks=False,
        tasks=tasks,
        seen=found.detectable,
        limit=found.limit,
        blind=new.factor * runs.blind.size,
        strata=strata.column if strata else "",
        matters=request.matters,
        runs=request.runs,
        level=request.level,
        findings=(*found.findings, *notes),
        panel_=new,
    )


def _too_few(new: Panel, tasks: tuple[int, int], request: Request, notes: list[Finding]) -> Drift:
    """Nothing can be told."""
    text = f"Fewer than {FEWEST} tasks are too few to tell what has changed."
    if len(new.judges) < 2:
        text = "The tasks are not those of the earlier run, and with one judge its change cannot be told from theirs."
    n_cells = len(new.languages) * len(new.judges)
    unknown = dict.fromkeys(("before", "after", "change", "low", "high"), np.full(n_cells, np.nan))
    return Drift(
        cells=_cells_frame(new, {**unknown, "changed": np.zeros(n_cells, dtype=bool)}),
        systems=no_systems(new).frame,
        same_tasks=False,
        tasks=tasks,
        seen=np.nan,
        limit=np.nan,
        blind=np.nan,
        strata="",
        matters=request.matters,
        runs=request.runs,
        level=request.level,
        findings=(Finding("warning", "too-few", text, "Changed"), *notes),
        panel_=new,
    )


def _cells_frame(p: Panel, columns: dict[str, Array | Mask]) -> pd.DataFrame:
    """A row for each cell: language, judge, before, after, change, low, high, changed."""
    import pandas as pd

    cells = [(language, judge) for language in p.languages for judge in p.judges]
    frame = pd.DataFrame(cells, columns=["language", "judge"])
    return frame.assign(**{column: values.ravel() for column, values in columns.items()})
