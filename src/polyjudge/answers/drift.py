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
ASIDE = 0.2
"""Share of the error level that is spent on whether systems themselves changed, and on whether scores went missing."""
LOST = 0.1
"""Share of scores that are missing now and were not before, from which it is said."""


@dataclass(frozen=True, repr=False)
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
        more = f"; the limits hold for {self.runs:,} such comparisons" if self.runs > 1 else ""
        after = Step(command(p, "audit"), "look at the new scores")
        after = (
            Step("polyjudge drift OLD NEW", "score some of the old tasks again, and compare these") if alone else after
        )
        return Report(
            "drift",
            "What has changed",
            (p.facts, f"Compared: {how}{more}."),
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
    return read_panel(source) if isinstance(source, Panel) else read_panel(source, **columns)


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
            one = f"The {noun} {names(fresh)} is new and was not compared."
            text = one if len(fresh) == 1 else f"The {plural(noun)} {names(fresh)} are new and were not compared."
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
    old: Panel, new: Panel, rows: Any, matters: float, runs: int, level: float, share: float, notes: list[Finding]
) -> Drift:
    before, after = old.scores[rows[0]], new.scores[rows[1]]
    d = after - before
    d = np.where(np.abs(d) <= 1e-9 * new.width, 0.0, d)
    unit = np.unique(old.unit[rows[0]], return_inverse=True)[1]
    weight = new.weight[rows[1]]
    whole, aside = bool((weight == 1).all()), share * ASIDE
    system_frame, changed_systems, said = _systems(d if whole else d[:, :1], unit, new, matters, aside)
    share -= aside if len(new.systems) > 1 else 0.0
    kept = [i for i in range(len(new.systems)) if i not in changed_systems]
    n, _, k, m = d.shape
    flat = d[:, kept].reshape(n * len(kept), k * m)
    v, seen = unit_means(flat, np.repeat(unit, len(kept)))
    if not whole:
        v = complete(d.mean(1).reshape(n, k * m), unit, weight).v
    found = interval(v, level=1 - share, df=np.maximum(seen - 1.0, 1.0), grid=(k, m))
    tasks = round(float(weight.sum()))
    both = np.isfinite(flat).reshape(n, len(kept), k, m)
    was, now = (mean_seen(np.where(both, y[:, kept], np.nan), (0, 1), weight) for y in (before, after))
    clear = found.clear(1e-9 * new.width) & np.isfinite(found.q)
    sure, change = clear.reshape(k, m), found.estimate.reshape(k, m)
    frame = _frame(new, was, now, change, found.low.reshape(k, m), found.high.reshape(k, m), sure)
    than = f"than before on the other system{'s' * (len(kept) > 1)}" if changed_systems else "than before"

    def mean(at: Array) -> tuple[float, float, float]:
        one = interval(v[:, at].mean(1, keepdims=True), level=1 - share, together=k * m)
        return one.estimate[0], one.low[0], one.high[0]

    said += _changed_words(new, sure, _sizes(found), mean, matters, than)
    limits, some = found.limit.copy(), bool((np.abs(flat) > 0).any())
    hits = (np.abs(v) > 1e-9 * new.width).sum(0)  # where few units differ, others may that were not drawn
    for i in np.flatnonzero((hits < 10) & (2 * hits <= len(v)) & np.isfinite(limits)) if some else ():
        limits[i] = max(limits[i], new.width * ruled_out(int(hits[i]), len(v), 1 - share, k * m))
    half = found.q * found.se * (1 + POWER / np.where(found.q > 0, found.q, 1.0))
    known = np.isfinite(found.q)
    lost = _missing(old, new, rows, ~known.reshape(k, m), aside)
    if not known.any():
        text = f"Too few tasks were scored in both runs to tell what has changed: {len(v)}, and {FEWEST} are needed."
        limit, smallest = np.nan, np.nan
        said.append(Finding("warning", "too-few", text, "Changed"))
    else:
        rest = limits[known & ~clear]
        limit, smallest = float(rest.max(initial=0.0)), float(half[known].max())
        if not some:
            many = round(float((np.isfinite(d).sum((1, 2, 3)) * weight).sum()))
            text = f"All {'other' if changed_systems else f'{many:,}'} scores are the same as before."
            said.append(Finding("info", "same", text, "Changed"))
        elif len(rest):
            if clear.any() and not np.nan_to_num(d).any((0, 1)).ravel()[~clear & known].any():
                said.append(Finding("info", "rest", "All other scores are the same as before.", "Changed"))
            else:
                over = f"over {'the other ' if changed_systems else ''}systems"
                what, where = (f"mean {over}", f", averaged {over},") if len(kept) > 1 else ("", "")
                said.append(_rest(new, limit, bool(clear.any()), what, where, apart=bool(changed_systems)))
        said += _coarse(new, smallest, matters, bool(clear.any())) if some else []
    said += lost + notes
    return Drift(frame, system_frame, True, (tasks, tasks), smallest, limit, matters, runs, level, tuple(said), new)


def _frame(p: Panel, before: Array, after: Array, change: Array, low: Array, high: Array, sure: Mask) -> pd.DataFrame:
    import pandas as pd

    at = [(x, j) for x in p.languages for j in p.judges]
    values = {"before": before, "after": after, "change": change, "low": low, "high": high, "changed": sure}
    return pd.DataFrame(at, columns=["language", "judge"]).assign(**{x: y.ravel() for x, y in values.items()})


def _systems(
    d: Array, unit: NDArray[np.int64], p: Panel, matters: float, share: float
) -> tuple[pd.DataFrame, list[int], list[Finding]]:
    """Measured change of each system, those that changed by all judges alike, and what is said of them.

    Whether a system surely changed otherwise than the median one is asked by all judges and by each. What is said then
    is what was measured, where that is surely a change; else, and where both of two changed, the difference.
    """
    import pandas as pd

    n, s, k, m = d.shape
    if s < 2:
        return pd.DataFrame(columns=["system", "change", "low", "high", "changed"]), [], []
    v, seen = unit_means(d.transpose(0, 2, 1, 3).reshape(n * k, s * m), np.repeat(unit, k))
    tiny, df, v = 1e-9 * p.width, np.maximum(seen - 1.0, 1.0), v.reshape(-1, s, m)
    least = np.where(np.isfinite(v).all(0), df.reshape(s, m), df.max()).min(1)

    def found(x: Array, share: float, scale: Array) -> tuple[Interval, Interval]:
        """By all judges, and by each."""
        return (
            interval(mean_seen(x, (2,)), level=1 - share, together=s, df=least, scale=scale),
            interval(x.reshape(-1, s * m), level=1 - share, together=s * m, df=df, scale=np.repeat(scale, m)),
        )

    def alike(x: Array) -> bool:
        """Whether no judge is surely the half of a system's change away from the others: then it is the system."""
        x = x[:, np.isfinite(x).all(0)]
        apart = interval(x - x.mean(1, keepdims=True), level=1 - share, df=np.full(x.shape[1], df.min()))
        same = bool((np.sign(x.mean(0)) == np.sign(x.mean())).all())
        return same and not apart.clear(abs(float(x.mean())) / 2).any()

    own, each = found(v, share, np.ones(s))
    some = max(int(np.isfinite(own.estimate).sum()), 1)
    middle = np.argsort(own.estimate)[(some - 1) // 2 : some // 2 + 1]  # one or two, whose variance is another
    x = v - (v[:, ::-1] if s == 2 else mean_seen(v[:, middle], (1,))[:, None])
    x[:, middle if len(middle) == 1 else []] = np.nan
    every, by = found(x, share / 2, np.where(np.isin(range(s), middle), 1.0, 3.0))
    left = [i for i in np.flatnonzero(every.clear(tiny)).tolist() if alike(x[:, i])]
    hits = [i for i in left if own.clear(tiny)[i] and not (s == 2 and own.clear(tiny).all())]
    who = f"{'Both' if m == 2 else 'All'} judges score" if m > 1 else f"{_judge(p, 0)} scores"
    said = [_system_words(p, who, hits, left, _sizes(own), _sizes(every), matters)] if left else []
    for b in range(m):
        at = [i for i in np.flatnonzero(by.clear(tiny)[b::m]).tolist() if i not in left]
        sure, sizes = [i for i in at if each.clear(tiny)[b::m][i]], (_sizes(each)[:, b::m], _sizes(by)[:, b::m])
        said += [_system_words(p, f"{_judge(p, b)} scores", sure, at, *sizes, matters)] if at else []
    frame = pd.DataFrame({"system": p.systems, "change": own.estimate, "low": own.low, "high": own.high})
    return frame.assign(changed=np.isin(range(s), hits or left)), hits if len(hits) < s else [], said


# --- other tasks: the gaps between judges ---


def _gaps(old: Panel, new: Panel, matters: float, runs: int, level: float, share: float, notes: list[Finding]) -> Drift:
    """Change of each judge's gap to the others, two samples; the largest is left out and the others are fitted anew."""
    _, _, k, m = new.shape
    empty = _systems(np.zeros((1, 1, k, m)), np.zeros(1, dtype=np.int64), new, matters, share)[0]
    tasks = (round(float(old.weight.sum())), round(float(new.weight.sum())))
    if m < 2 or min(old.units, new.units) < FEWEST:
        text = (
            "The tasks are not those of the earlier run, and with one judge its change cannot be told from theirs."
            if m < 2
            else f"Fewer than {FEWEST} tasks are too few to tell what has changed."
        )
        said = [Finding("warning", "too-few", text, "Changed"), *notes]
        frame = _frame(new, *(np.full((k, m), np.nan),) * 5, np.zeros((k, m), bool))
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
    sure = np.zeros(k * m, dtype=bool)
    sure[out] = True

    def mean(at: Array) -> tuple[float, float, float]:
        one = _Gap.of(old, new, values, out, share, at)
        return one.change[0], one.low[0], one.high[0]

    than = "than before, relative to the other judges"
    said = _changed_words(new, sure.reshape(k, m), _sizes(gap), mean, matters, than)
    for language in split:
        t = np.where(first.clear, np.abs(first.change), -1.0)[language * m :][:m]
        at = [language * m + i for i in np.argsort(-t, kind="stable")[: max(int((t > 0).sum()), 1) if m > 2 else 1]]
        sure[at] = True
        said.append(_gap_words(new, at, first, matters))
    known = np.isfinite(first.q)
    rest = [i for i in np.flatnonzero(np.isfinite(gap.q)) if not sure[i] and i // m not in split]
    limit = float((np.abs(gap.change) + gap.q * gap.se)[rest].max(initial=0.0)) if rest else 0.0
    smallest = float((first.se * (first.q + POWER))[known].max()) if known.any() else np.nan
    if rest:
        where = f" in {names(new.languages[x] for x in sorted({i // m for i in rest}))}" if split else ""
        said.append(_rest(new, limit, bool(sure.any()), "gap to the other judges", where))
    if not known.any():
        text = "These judges share no tasks, so what has changed cannot be told."
        said.append(Finding("warning", "too-few", text, "Changed"))
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
            grid = (k, m) if mean is None else None
            both.append(interval(x, prior=prior, df=group_df(x, found.seen), grid=grid))
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


def _sizes(found: Interval | _Gap) -> Array:
    """Changes with their limits (3, number)."""
    return np.stack([found.change if isinstance(found, _Gap) else found.estimate, found.low, found.high])


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
            where = {"language": p.languages[x]}
            said.append(Finding(_severity(e[x], matters), "changed-language", text, "Changed", where))
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


def _listed(p: Panel, labels: list[str], sizes: Array) -> str:
    """Changes (3, labels) that were measured, at most four of them; the first label begins the sentence."""
    said = [f"{x} {_size(p, *one, unit=i == 0)}" for i, (x, one) in enumerate(zip(labels[:4], sizes.T, strict=False))]
    said[0] += " than before"
    more = [f"{len(labels) - 4:,} more changed"] if len(labels) > 4 else []
    return " and ".join(x for x in (", ".join((said + more)[:-1]), (said + more)[-1]) if x)


def _gap_words(p: Panel, at: list[int], g: _Gap, matters: float) -> Finding:
    """Changes in one language that cannot be laid to one judge, the largest first."""
    m, language = len(p.judges), p.languages[at[0] // len(p.judges)]
    to = name(p.judges[1 - at[0] % m]) if m == 2 else "the other judges"
    where = f" on {_answers(p, language)}" if language else ""
    who = [f"{name(p.judges[i % m])}'s" for i in at]
    text = _listed(p, [f"{who[0]} gap to {to}{where} is", *who[1:]], _sizes(g)[:, at])
    text += "; which judge changed cannot be told."
    return Finding(_severity(g.change[at], matters), "changed-gap", text, "Changed", {"language": language})


def _system_words(
    p: Panel, who: str, sure: list[int], at: list[int], own: Array, than: Array, matters: float
) -> Finding:
    """Changes of systems as measured; where none is sure, the largest against the others. own, than : (3, systems)"""
    sizes = own if sure else than
    at = sorted(sure or at, key=lambda i: (-round(abs(float(sizes[0, i])), 9), -sizes[0, i]))[: None if sure else 1]
    text = _listed(p, [f"{who} {name(p.systems[at[0]])}", *(name(p.systems[i]) for i in at[1:])], sizes[:, at])
    if not sure:
        to, one = (name(p.systems[1 - at[0]]), "one") if len(p.systems) == 2 else ("the median system", "system")
        text += f", relative to {to}; which {one} changed cannot be told"
    return Finding(_severity(sizes[0, at], matters), "changed-system", f"{text}.", "Systems")


def _rest(p: Panel, limit: float, changed: bool, what: str = "", where: str = "", apart: bool = False) -> Finding:
    size = _up(p, limit)
    if changed:
        return Finding("info", "rest", f"Everything else{where} is within {size} of before.", "Changed")
    where = f" in any {p.noun}" if len(p.languages) > 1 else ""
    who = ("No judge" if len(p.judges) > 1 else "The judge") + (f"'s {what}" if what else "")
    text = f"{who} has{'' if len(p.judges) > 1 else ' not'} changed by more than {size}{where}."
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


def _missing(old: Panel, new: Panel, rows: Any, unknown: Mask, share: float) -> list[Finding]:
    """Where scores are missing that were there before, surely more of them."""
    before, after = (np.isfinite(x.scores[r]).mean(1) for x, r in zip((old, new), rows, strict=True))
    was, now = before.mean(0), after.mean(0)
    unit = np.unique(old.unit[rows[0]], return_inverse=True)[1]
    fewer = interval(unit_means((before - after).reshape(len(unit), -1), unit)[0], level=1 - share).clear()
    said = []
    for x, b in np.argwhere((was > 0) & ((now == 0) | (was - now >= LOST) & fewer.reshape(was.shape))):
        what, where = _answers(new, new.languages[x]), {"language": new.languages[x], "judge": new.judges[b]}
        text = f"leaves {percent(1 - now[x, b])} of {what} without a score, before {percent(1 - was[x, b])}."
        text = text if now[x, b] else f"no longer has scores of {what}."
        said.append(Finding("warning", "missing", f"{_judge(new, b)} {text}", "Missing", where))
    thin = unknown & (was > 0) & (now > 0)
    if thin.any() and not thin.all():
        pairs = names([f"{name(new.judges[b])} in {name(new.languages[x])}" for x, b in np.argwhere(thin)])
        said.append(Finding("warning", "thin", f"Too few tasks in both runs to compare {pairs}.", "Missing"))
    return said
