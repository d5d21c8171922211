"""What has changed since an earlier run of the same judges? (METHODS 21)

Same tasks: the change of every judge's mean in every language, as it was measured, all of them together. Other tasks:
the change of each judge's gap to the other judges, two samples, named by leaving out the largest. Either way the
smallest change that would have been seen; where that is large, the answer is not whole and the command ends with 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from polyjudge.answers.audit.advice import command
from polyjudge.base.errors import PanelError, UsageError
from polyjudge.base.numbers import ci, percent
from polyjudge.base.text import count, name, names, plural
from polyjudge.calibrate.consensus import GROUPED, ConsensusCalibrator
from polyjudge.calibrate.saved import FORMAT, load_consensus
from polyjudge.panel import Panel
from polyjudge.report.model import Chart, Finding, Report, Result, Section, Step, Table
from polyjudge.stats.cells import complete, mean_seen, unit_means
from polyjudge.stats.interval import FEWEST, Interval, group_df, interval, pass_prior, ruled_out

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
COARSE = 0.1
"""Where no smaller change than this share of the scale would have been seen, the answer is not whole."""
POWER = 0.84
"""Normal quantile of the chance, 80%, with which a change would have been seen."""
SYSTEMS = 0.2
"""Share of the error level that is spent on the question whether systems themselves changed."""
LOST = 0.1
"""Share of scores that are missing now and were not before, from which it is said."""


@dataclass(frozen=True, repr=False)
class Drift(Result):
    """What changed. Frames:

    cells : language, judge, before, after, change, low, high, changed. Same tasks: mean scores; other tasks: gaps to
        the mean of the other judges. The intervals hold for all cells and all runs together
    systems : system, change (against the other systems), low, high, changed; empty where tasks or systems are others
    """

    cells: pd.DataFrame
    systems: pd.DataFrame
    same_tasks: bool
    tasks: tuple[int, int]
    seen: float
    """The smallest change of one judge in one language that would have been seen with a chance of 80%."""
    limit: float
    """No change but those that are named is larger than this."""
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
            own = self.systems.assign(**{x: self.systems[x] * p.factor for x in ("change", "low", "high")})
            head = {"system": "name", "change": "+points low high", "changed": "yes"}
            tables.append(Table("systems", f"Change of each system against the others, {p.unit_name}", own, head))
        how = (
            f"{count(self.tasks[1], 'task')} scored in both runs"
            if self.same_tasks
            else f"{self.tasks[0]:,} tasks then and {self.tasks[1]:,} now, not task by task: judges are compared by "
            "their gaps to each other"
        )
        more = f"; the limits hold for {self.runs:,} such comparisons" if self.runs > 1 else ""
        after = (Step(command(p, "audit"), "look at the new scores"),)
        return Report(
            "drift",
            "What has changed",
            (p.facts, f"Compared: {how}{more}."),
            self.findings,
            next=after if self.incomplete else (),
            sections=(Section("cells", "Change of each judge", tables=tuple(tables), charts=(heat,)),),
            about={"level": self.level},
        )


def drift(
    old: Any,
    new: Any,
    *,
    runs: int = 1,
    matters: float | None = None,
    level: float = 0.95,
    **columns: Any,
) -> Drift:
    """What has changed since an earlier run: which judge, in which language, by how much.

    Score the same tasks again and the change of each judge is measured directly. Of other tasks only the gaps between
    the judges can be compared. Ends with 1 where something changed by `matters` or more, or where a change of 10% of
    the scale (of `matters`, if that is more) might have gone unseen.

    old : scores of the earlier run, or a calibrator that was saved with them
    new : scores of this run
    runs : number of such comparisons for which the level is kept: 365 for a nightly job
    matters : smallest change that matters, in points (pass or fail: percentage points); 2% of the scale unless said
    level : confidence level of the intervals

    Examples:
        polyjudge drift march.csv today.csv
        polyjudge drift cal.json today.csv --runs 365
    """
    if runs < 1:
        raise UsageError(f"--runs is a number of comparisons from 1 on, not {runs}.")
    if not 0.5 <= level < 1:
        raise UsageError(f"The level of an interval is at least 0.5 and below 1, such as 0.95, not {level:g}.")
    before, after = _panel(old, columns, is_old=True), _panel(new, columns)
    notes = _scale(before, after)
    own = after.scale
    after = replace(after, scale=(min(before.scale[0], own[0]), max(before.scale[1], own[1])))
    what = after.least(matters)
    before, after, gone = _common(before, after)
    notes += gone
    tasks, share = _pairs(before, after), (1 - level) / runs
    if tasks is not None:
        found = _measured(before, after, tasks, what, runs, level, share, notes)
    else:
        found = _gaps(before, after, what, runs, level, share, notes)
    return replace(found, panel_=replace(after, scale=own))


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
    if isinstance(source, Panel) or not columns:
        return read_panel(source)
    return read_panel(source, **columns)


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


def _common(old: Panel, new: Panel) -> tuple[Panel, Panel, list[Finding]]:
    """Both runs with the languages, judges and systems that both have; and what one of them lacks."""
    said: list[Finding] = []
    if old.systems == ("",) or new.systems == ("",):  # one of them does not name its system
        if max(len(old.systems), len(new.systems)) > 1:
            raise PanelError("One run compares systems and the other has none. Name the column of systems: --system.")
        new = replace(new, systems=old.systems)
    part: dict[str, Any] = {}
    for axis, noun in (("languages", new.noun), ("judges", "judge"), ("systems", "system")):
        a, b = getattr(old, axis), getattr(new, axis)
        part[axis] = [x for x in b if x in a]
        if not part[axis]:
            raise PanelError(f"The two runs have no {noun} in common: {names(a)} before, {names(b)} now.")
        if gone := [x for x in a if x not in b]:
            text = f"The new scores lack the {noun if len(gone) == 1 else plural(noun)} {names(gone)}."
            said.append(Finding("warning", "gone", text, "Lacking"))
        if fresh := [x for x in b if x not in a]:
            text = f"The {noun} {names(fresh)} is new and was not compared."
            if len(fresh) > 1:
                text = f"The {plural(noun)} {names(fresh)} are new and were not compared."
            said.append(Finding("notice", "fresh", text, "New"))
    return old.select(**part), new.select(**part), said


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


# --- same tasks: what was measured ---


def _measured(
    old: Panel,
    new: Panel,
    rows: tuple[NDArray[np.int64], NDArray[np.int64]],
    matters: float,
    runs: int,
    level: float,
    share: float,
    notes: list[Finding],
) -> Drift:
    before, after = old.scores[rows[0]], new.scores[rows[1]]
    d = after - before
    d = np.where(np.abs(d) <= 1e-9 * new.width, 0.0, d)
    unit = np.unique(old.unit[rows[0]], return_inverse=True)[1]
    weight = new.weight[rows[1]]
    whole = bool((weight == 1).all())
    system_frame, changed_systems = _systems(d if whole else d[:, :1], unit, new, share * SYSTEMS)
    if len(new.systems) > 1:
        share *= 1 - SYSTEMS
    kept = [i for i, x in enumerate(new.systems) if x not in changed_systems]
    n, _, k, m = d.shape
    flat = d[:, kept].reshape(n * len(kept), k * m)
    v, seen = unit_means(flat, np.repeat(unit, len(kept)))
    if not whole:
        v = complete(d.mean(1).reshape(n, k * m), unit, weight).v
    found = interval(v, level=1 - share, df=np.maximum(seen - 1.0, 1.0))
    tasks = round(float(weight.sum()))
    both = np.isfinite(flat).reshape(n, len(kept), k, m)
    was, now = (mean_seen(np.where(both, y[:, kept], np.nan), (0, 1), weight) for y in (before, after))
    clear = found.clear(1e-9 * new.width) & np.isfinite(found.q)
    sure, change = clear.reshape(k, m), found.estimate.reshape(k, m)
    frame = _frame(new, was, now, change, found.low.reshape(k, m), found.high.reshape(k, m), sure)
    said = [_system_words(x, system_frame, new, matters) for x in changed_systems]

    def mean(at: Array) -> tuple[float, float, float]:
        one = interval(v[:, at].mean(1, keepdims=True), level=1 - share, together=k * m)
        return one.estimate[0], one.low[0], one.high[0]

    said += _changed_words(new, sure, np.stack([found.estimate, found.low, found.high]), mean, matters, "than before")
    limits, some = found.limit.copy(), bool((np.abs(flat) > 0).any())
    hits = (np.abs(v) > 1e-9 * new.width).sum(0)  # where few units differ, others may that were not drawn
    for i in np.flatnonzero((hits < 10) & (2 * hits <= len(v)) & np.isfinite(limits)) if some else ():
        limits[i] = max(limits[i], new.width * ruled_out(int(hits[i]), len(v), 1 - share, k * m))
    half = found.q * found.se * (1 + POWER / np.where(found.q > 0, found.q, 1.0))
    known = np.isfinite(found.q)
    lost = _missing(old, new, rows, ~known.reshape(k, m))
    if not known.any():
        text = f"Too few tasks were scored in both runs to tell what has changed: {len(v)}, and {FEWEST} are needed."
        limit, smallest = np.nan, np.nan
        said.append(Finding("warning", "too-few", text, "Changed"))
    else:
        rest = limits[known & ~clear]
        limit, smallest = float(rest.max(initial=0.0)), float(half[known].max())
        if not some:
            many = round(float((np.isfinite(d).sum((1, 2, 3)) * weight).sum()))
            text = "All other scores" if changed_systems else f"All {many:,} scores"
            text += " are the same as before."
            said.append(Finding("info", "same", text, "Changed"))
        elif len(rest):
            still = ~clear & known
            if (
                clear.any()
                and not (np.abs(np.where(np.isfinite(d), d, 0.0)) > 1e-9 * new.width).any((0, 1)).ravel()[still].any()
            ):
                said.append(Finding("info", "rest", "All other scores are the same as before.", "Changed"))
            else:
                said.append(_rest(new, limit, bool(clear.any()), apart=bool(changed_systems)))
        said += _coarse(new, smallest, matters, bool(clear.any())) if some else []
    said += lost + notes
    return Drift(frame, system_frame, True, (tasks, tasks), smallest, limit, matters, runs, level, tuple(said), new)


def _frame(p: Panel, before: Array, after: Array, change: Array, low: Array, high: Array, sure: Mask) -> pd.DataFrame:
    import pandas as pd

    at = [(x, j) for x in p.languages for j in p.judges]
    values = {"before": before, "after": after, "change": change, "low": low, "high": high, "changed": sure}
    return pd.DataFrame(at, columns=["language", "judge"]).assign(**{x: y.ravel() for x, y in values.items()})


def _systems(d: Array, unit: NDArray[np.int64], p: Panel, share: float) -> tuple[pd.DataFrame, list[str]]:
    """Change of each system against the others, and those that themselves changed: surely, and by all judges alike."""
    import pandas as pd

    n, s, k, m = d.shape
    columns = ["system", "change", "low", "high", "changed"]
    if s < 2:
        return pd.DataFrame(columns=columns), []
    v, seen = unit_means(d.transpose(0, 2, 3, 1).reshape(n * k * m, s), np.repeat(unit, k * m))
    tiny, df = 1e-9 * p.width, np.maximum(seen - 1.0, 1.0)
    told = np.asarray(np.isfinite(v).all(0))
    out: list[int] = []

    def against() -> Interval:
        """Each system against those of the others that are not left out."""
        k_ = np.eye(s)
        for i in range(s):
            rest = [j for j in range(s) if j != i and j not in out and told[j]]
            k_[i, rest] = -1 / max(len(rest), 1)
        x = np.where(told, np.where(told, v, 0.0) @ k_.T, np.nan)
        return interval(x, level=1 - share, together=s, df=df)

    while len(out) < (s - 1) / 2:
        found = against()
        t = np.where(found.clear(tiny), np.abs(found.estimate) / np.maximum(found.se, 1e-12 * p.width), 0.0)
        t[out] = 0.0
        if s == 2 and t.any():  # of two, the one that moved while the other did not
            alone = interval(v, level=1 - share, df=df).clear(tiny)
            t = np.where(alone & ~alone[::-1], t, 0.0)
        best = int(t.argmax())
        if t[best] <= 0 or (t >= t[best] * (1 - 1e-9)).sum() > 1 or not _alike(d, unit, best, out, share):
            break
        out.append(best)
    last = against()
    frame = pd.DataFrame({"system": p.systems, "change": last.estimate, "low": last.low, "high": last.high})
    return frame.assign(changed=np.isin(range(s), out)), [p.systems[i] for i in out]


def _alike(d: Array, unit: NDArray[np.int64], system: int, out: list[int], share: float) -> bool:
    """Whether no judge is surely the half of a system's change away from the others: then it is the system."""
    n, s, k, m = d.shape
    x = d[:, system] - mean_seen(d[:, [i for i in range(s) if i != system and i not in out]], (1,))
    v, seen = unit_means(x.reshape(n * k, m), np.repeat(unit, k))
    if not np.isfinite(v).all():
        return False
    apart = interval(v - v.mean(1, keepdims=True), level=1 - share, df=np.maximum(seen - 1.0, 1.0))
    same = bool((np.sign(v.mean(0)) == np.sign(v.mean())).all())
    return same and not apart.clear(abs(float(v.mean())) / 2).any()


# --- other tasks: the gaps between judges ---


def _gaps(old: Panel, new: Panel, matters: float, runs: int, level: float, share: float, notes: list[Finding]) -> Drift:
    """Change of each judge's gap to the others, two samples; the largest is left out and the others are fitted anew."""
    _, _, k, m = new.shape
    empty = _systems(np.zeros((1, 1, k, m)), np.zeros(1, dtype=np.int64), new, share)[0]
    tasks = (round(float(old.weight.sum())), round(float(new.weight.sum())))
    nothing = np.full((k, m), np.nan)
    if m < 2 or min(old.units, new.units) < FEWEST:
        text = (
            "The tasks are not those of the earlier run, and with one judge its change cannot be told from theirs. "
            "Score some of the old tasks again."
            if m < 2
            else f"Fewer than {FEWEST} tasks are too few to tell what has changed."
        )
        said = [Finding("warning", "too-few", text, "Changed"), *notes]
        frame = _frame(new, *(nothing,) * 5, np.zeros((k, m), bool))
        return Drift(frame, empty, False, tasks, np.nan, np.nan, matters, runs, level, tuple(said), new)
    values = old.values(), new.values()
    out: list[int] = []
    first: _Gap | None = None
    split: list[int] = []
    while True:
        gap = _Gap.of(old, new, values, out, share)
        first = first or gap
        t = np.where(gap.clear, np.abs(gap.change) / np.maximum(gap.se, 1e-12 * new.width), 0.0)
        t[[i for i in range(k * m) if i in out or i // m in split]] = 0.0
        best = int(t.argmax())
        if t[best] <= 0:
            break
        here = [i for i in out if i // m == best // m]
        if 2 * (len(here) + 1) >= m or (t >= t[best] * (1 - 1e-9)).sum() > 1:
            split.append(best // m)  # half of the judges or more: which of them changed cannot be told
            out = [i for i in out if i not in here]
            continue
        out.append(best)
    last = gap
    sure = np.zeros(k * m, dtype=bool)
    sure[out] = True

    def mean(at: Array) -> tuple[float, float, float]:
        one = _Gap.of(old, new, values, out, share, at)
        return one.change[0], one.low[0], one.high[0]

    sizes, than = np.stack([last.change, last.low, last.high]), "than before, relative to the other judges"
    said = _changed_words(new, sure.reshape(k, m), sizes, mean, matters, than)
    for language in split:
        at = language * m + int(np.nanargmax(np.where(first.clear, np.abs(first.change), -1)[language * m :][:m]))
        sure[at] = True
        said.append(_gap_words(new, at, first, matters))
    known = np.isfinite(first.q)
    rest = [i for i in np.flatnonzero(np.isfinite(last.q)) if not sure[i] and i // m not in split]
    limit = float((np.abs(last.change) + last.q * last.se)[rest].max(initial=0.0)) if rest else 0.0
    smallest = float((first.se * (first.q + POWER))[known].max()) if known.any() else np.nan
    if rest:
        said.append(_rest(new, limit, bool(sure.any()), "gap to the other judges"))
    if not known.any():
        said.append(
            Finding("warning", "too-few", "These judges share no tasks, so what has changed cannot be told.", "Changed")
        )
    said += _coarse(new, smallest, matters, bool(sure.any()))
    frame = _frame(new, first.before, first.after, first.change, first.low, first.high, sure)
    return Drift(frame, empty, False, tasks, smallest, limit, matters, runs, level, tuple(said + notes), new)


@dataclass(frozen=True)
class _Gap:
    """Gaps of each judge to the others that are not left out, then and now (all of k m)."""

    before: Array
    after: Array
    change: Array
    se: Array
    q: Array

    @property
    def low(self) -> Array:
        return self.change - self.q * self.se

    @property
    def high(self) -> Array:
        return self.change + self.q * self.se

    @property
    def clear(self) -> Mask:
        return np.isfinite(self.q) & (np.abs(self.change) > np.nan_to_num(self.q * self.se))

    @staticmethod
    def of(old: Panel, new: Panel, values: Any, out: list[int], share: float, mean: Any = None) -> _Gap:
        """Two samples, each with its own moderated variance; Welch's degrees of freedom. mean : of these cells alone"""
        _, _, k, m = new.shape
        contrasts = np.eye(k * m)
        for i in range(k * m):
            rest = [j for j in range(i // m * m, i // m * m + m) if j != i and j not in out]
            contrasts[i, rest] = -1 / max(len(rest), 1)
        contrasts = contrasts if mean is None else contrasts[mean].mean(0, keepdims=True)
        both = []
        for p, found in zip((old, new), values, strict=True):
            x = found.contrast(contrasts)
            rates = (np.where(found.present, found.mean, np.nan) - p.scale[0]) / p.width
            prior = pass_prior(rates, p.units, contrasts) if p.two_valued else None
            both.append(interval(x, prior=prior, df=group_df(x, found.seen)))
        a, b = both
        variance = a.se**2 + b.se**2
        with np.errstate(invalid="ignore", divide="ignore"):
            df = variance**2 / (a.se**4 / a.df + b.se**4 / b.df)
        df = np.where(variance > 0, df, 1e9)
        together = k if m == 2 else k * m
        q = np.where(np.isfinite(variance), stdtrit(df, 1 - (1 - (1 - share) ** (1 / together)) / 2), np.nan)
        return _Gap(a.estimate, b.estimate, b.estimate - a.estimate, np.sqrt(variance), q)


# --- words ---


def _answers(p: Panel, language: str) -> str:
    """What a judge scores in a language."""
    if not language:
        return "answers"
    return f"{name(language)} answers" if p.noun == "language" else f"answers of {p.noun} {name(language)}"


def _size(p: Panel, change: float, low: float, high: float, *, unit: bool = True) -> str:
    """A change without its sign, and which way it went."""
    sign = -p.factor if change < 0 else p.factor
    a, b = sorted((sign * low, sign * high))
    return f"{ci(sign * change, a, b, p.unit_name if unit else '')} {'lower' if change < 0 else 'higher'}"


def _up(p: Panel, size: float) -> str:
    """A limit, rounded up to two digits, with its unit."""
    size = abs(size) * p.factor
    digits = max(0, 1 - math.floor(math.log10(size))) if size > 0 else 0
    return f"{math.ceil(size * 10**digits - 1e-9) / 10**digits:,.{min(digits, 6)}f} {p.unit_name}"


def _severity(change: Any, matters: float) -> Any:
    return "warning" if np.abs(change).max() >= matters else "notice"


def _judge(p: Panel, judge: int) -> str:
    """Its name, where it has one."""
    return "The judge" if p.judges == ("judge",) else name(p.judges[judge])


def _every(number: int, nouns: str) -> str:
    return f"both {nouns}" if number == 2 else f"all {number} {nouns}"


def _changed_words(p: Panel, sure: Mask, sizes: Array, mean: Any, matters: float, than: str) -> list[Finding]:
    """What changed, in few sentences: a judge in all languages, a language by all judges, single ones.

    sizes : change, low, high of every cell; mean : the same of the mean of some cells
    """
    k, m = sure.shape
    cells, sizes = np.arange(k * m).reshape(k, m), sizes.reshape(3, k, m)
    left, e = sure.copy(), sizes[0]
    said: list[Finding] = []
    if sure.all() and abs(np.sign(e).sum()) == e.size and m > 1:
        place = f" in {_every(k, p.nouns)}" if k > 1 else ""
        size = _size(p, *mean(cells.ravel()))
        text = f"{_every(m, 'judges').capitalize()} score answers{place} {size} {than}, on average."
        said.append(Finding(_severity(e, matters), "changed-all", text, "Changed"))
        left[:] = False
    for b in range(m):
        if k > 1 and left[:, b].all() and abs(np.sign(e[:, b]).sum()) == k:
            size = _size(p, *mean(cells[:, b]))
            text = f"{_judge(p, b)} scores {size} {than}, on average over {_every(k, p.nouns)}."
            said.append(Finding(_severity(e[:, b], matters), "changed-judge", text, "Changed", {"judge": p.judges[b]}))
            left[:, b] = False
    for x in range(k):
        if m > 1 and left[x].all() and abs(np.sign(e[x]).sum()) == m:
            size = _size(p, *mean(cells[x]))
            text = f"{_answers(p, p.languages[x])} get scores {size} {than}, on average over {_every(m, 'judges')}."
            text = text[0].upper() + text[1:]
            said.append(
                Finding(_severity(e[x], matters), "changed-language", text, "Changed", {"language": p.languages[x]})
            )
            left[x] = False
    order = sorted(np.flatnonzero(left.any(0)).tolist(), key=lambda b: -round(float(np.abs(e[left[:, b], b]).max()), 9))
    for b in order:  # the judge whose largest change is largest first
        rows = sorted(np.flatnonzero(left[:, b]).tolist(), key=lambda x: -round(abs(float(e[x, b])), 9))
        up = e[:, b] > 0
        rows = [x for way in (up[rows[0]], not up[rows[0]]) for x in rows if up[x] == way]
        parts = [f"{_judge(p, b)} scores {_answers(p, p.languages[rows[0]])} {_size(p, *sizes[:, rows[0], b])} {than}"]
        for before, x in pairwise(rows):
            word = "but " if up[x] != up[before] else "and " if x == rows[-1] else ""
            what = f"{name(p.languages[x])} ones"
            what = what if p.noun == "language" else f"those of {p.noun} {name(p.languages[x])}"
            parts.append(f"{word}{what} {_size(p, *sizes[:, x, b], unit=False)}")
        where = {"judge": p.judges[b], **({"language": p.languages[rows[0]]} if len(rows) == 1 else {})}
        said.append(Finding(_severity(e[rows, b], matters), "changed", ", ".join(parts) + ".", "Changed", where))
    return said


def _gap_words(p: Panel, i: int, g: _Gap, matters: float) -> Finding:
    """A change that cannot be laid to one judge."""
    m = len(p.judges)
    language, judge = p.languages[i // m], p.judges[i % m]
    to = name(p.judges[1 - i % m]) if m == 2 else "the other judges"
    size = _size(p, float(g.change[i]), float(g.low[i]), float(g.high[i]))
    where = f" on {_answers(p, language)}" if language else ""
    text = f"{name(judge)}'s gap to {to}{where} is {size} than before; which judge changed cannot be told."
    return Finding(_severity(float(g.change[i]), matters), "changed-gap", text, "Changed", {"language": language})


def _system_words(system: str, frame: pd.DataFrame, p: Panel, matters: float) -> Finding:
    row = frame[frame["system"] == system].iloc[0]
    size = _size(p, row["change"], row["low"], row["high"])
    text = f"{name(system)} itself changed: all judges score it {size} than before, relative to the other systems."
    if len(p.judges) == 1:
        text = f"{name(system)} is scored {size} than before, relative to the other systems."
    return Finding(_severity(row["change"], matters), "changed-system", text, "Systems", {"system": system})


def _rest(p: Panel, limit: float, changed: bool, what: str = "", apart: bool = False) -> Finding:
    size = _up(p, limit)
    if changed:
        return Finding("info", "rest", f"Everything else is within {size} of before.", "Changed")
    where = f" in any {p.noun}" if len(p.languages) > 1 else ""
    who = f"No judge's {what} has" if what else "No judge has" if len(p.judges) > 1 else "The judge has not"
    text = f"{who} changed by more than {size}{where}."
    text = f"Apart from that, {text[0].lower()}{text[1:]}" if apart else text
    return Finding("info", "quiet", text, "Changed")


def _coarse(p: Panel, seen: float, matters: float, changed: bool) -> list[Finding]:
    """The smallest change that would have been seen: a warning where it is large."""
    if not np.isfinite(seen):
        return []
    size = _up(p, seen)
    if seen > max(matters, COARSE * p.width):
        text = f"Too few tasks: a change of less than {size} may have gone unseen. Score more tasks."
        return [Finding("warning", "coarse", text, "Limit")]
    text = f"A change of {size} in one judge and {p.noun} would have been seen in four of five runs."
    return [Finding("info", "seen", text, "" if changed else "Changed")]


def _missing(old: Panel, new: Panel, rows: Any, unknown: Mask) -> list[Finding]:
    """Where scores are missing that were there before."""
    was, now = (np.isfinite(x.scores[r]).mean((0, 1)) for x, r in zip((old, new), rows, strict=True))
    said = []
    for x, b in np.argwhere((was - now >= LOST) & (now > 0)):
        text = (
            f"{_judge(new, b)} leaves {percent(1 - now[x, b])} of {_answers(new, new.languages[x])} without a "
            f"score, before {percent(1 - was[x, b])}."
        )
        where = {"language": new.languages[x], "judge": new.judges[b]}
        said.append(Finding("warning", "missing", text, "Missing", where))
    for x, b in np.argwhere((was > 0) & (now == 0)):
        text = f"{_judge(new, b)} no longer has scores of {_answers(new, new.languages[x])}."
        said.append(Finding("warning", "missing", text, "Missing", {"judge": new.judges[b]}))
    thin = unknown & (was > 0) & (now > 0)
    if thin.any() and not thin.all():
        pairs = names([f"{name(new.judges[b])} in {name(new.languages[x])}" for x, b in np.argwhere(thin)])
        said.append(Finding("warning", "thin", f"Too few tasks in both runs to compare {pairs}.", "Missing"))
    return said
