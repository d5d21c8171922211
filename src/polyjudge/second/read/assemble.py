"""From an engine's grouped answers to a Panel, with every check on the way."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from polyjudge.second.panel.arrays import Array, mean_there
from polyjudge.second.panel.columns import Columns
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.panel import Grouping, Panel, averaged
from polyjudge.second.panel.reading import Reading, Unclear, message
from polyjudge.second.panel.say import Say, Words, say
from polyjudge.second.read.engine import GREW, HASH, SUMS, Cells, Codes, Duplicates, Engine, Entries, Found, Labels, Units
from polyjudge.second.read.formats.names import ALIASES
from polyjudge.second.read.limits import LARGEST_SCORE, LONGEST_LABEL

MOST_ENTRIES = 200_000_000
"""Replicates are kept apart while the array unit x language x judge x replicate has at most this many entries."""
MOST_LABELS = 10_000
OTHER_SCALE, SURELY_OTHER, FEW_SCORES = 1.6, 5.0, 10
"""Judges are asked about whose scores reach and spread so many times further than the others' (or less far); with fewer
scores than `FEW_SCORES` of any judge only a much larger factor is a sign."""
MOST_ODD = 1_000_000
"""Tasks with unusual signs in their names whose spellings are compared."""
MOST_TASKS, UNITS = 100_000, 10_000
"""Beyond so many tasks they are hashed into so many units (benchmarks/units.py), unless the user says `max_units`."""
FAR = 5.0
"""A number so many times larger than all others may stand for "no score"."""


@dataclass(frozen=True, kw_only=True)
class Ways:
    """What the user said of rows and labels, as for `read_panel`; `limits` is the range."""

    limits: tuple[float, float] | None
    duplicates: Duplicates
    chosen: Mapping[str, list[str]]
    """Axis -> the labels that were asked for, in their order."""
    incomplete: str
    max_units: int | None
    alike: str | None
    rescale: Mapping[str, tuple[float, float]]


@dataclass
class _Work:
    """What is asked, by whom, and what is said on the way."""

    engine: Engine
    columns: Columns
    ways: Ways
    notes: list[Words]
    reading: Reading

    def ask(self, question: Say) -> NoReturn:
        """Stop with a question."""
        asks = replace(self.reading, questions=(question,))
        raise Unclear(message(asks), asks)


def assemble(engine: Engine, columns: Columns, ways: Ways, notes: Sequence[Words], reading: Reading) -> Panel:
    """Ask the engine, check the answers, build the panel."""
    work, limits = _Work(engine, columns, ways, list(notes), reading), ways.limits
    if ways.duplicates == "first" and not engine.ordered:
        raise UsageError(f"{engine.where} has no row order, so duplicates='first' has no meaning. Use 'mean'.")
    cells = engine.cells()
    _check_rows(work, cells)
    labels, cells = _choose_labels(work, _clear_labels(work, cells))
    cells = _on_one_scale(cells, ways.rescale, limits)
    for axis in ("language", "judge", "system", "replicate"):
        _check_lengths(axis, getattr(labels, axis, ()), engine.where)
    if limits is not None and bool(((cells["low"] < limits[0]) | (cells["high"] > limits[1])).any()):
        raise PanelError(
            f"{engine.where} has scores outside the declared range {limits[0]:g}:{limits[1]:g}: "
            f"{_rows(engine.find('outside', limits))}. Correct them, or the range (--range LOW:HIGH)."
        )
    if columns.group is not None:
        strata, by_task = engine.groups()
        labels = replace(labels, group=tuple(strata), by_task=by_task)
        if not by_task and ways.duplicates == "error":  # the rows inside a task are its requirements
            work.ways = ways = replace(ways, duplicates="mean")  # a group may hold several
    if columns.cluster is not None and (split := engine.split_cluster()) is not None:
        raise PanelError(
            f"Task {clean(split)!r} of {engine.where} lies in several clusters ({clean(columns.cluster)}). A task has "
            "one: make them agree, or name another column (--cluster)."
        )
    units, entries, n = _grouped(work, labels, int(cells["rows"].sum()), int(cells["scored"].sum()))
    shown = engine.shown()
    engine.finish()
    if ways.duplicates == "error" and not units.hashed and int(entries.rows.sum()) != int(cells["scored"].sum()):
        raise PanelError(GREW.format(where=engine.where))
    observed = (float(np.nanmin(cells["low"])), float(np.nanmax(cells["high"])))
    panel = _build(work, units, entries, labels, shown=shown, observed_range=observed)
    if not units.hashed:
        _refuse_summaries(panel, engine.where)
    if ways.rescale and limits is not None:
        panel = _rescaled(panel, ways.rescale, limits)
    elif limits is None and not _stand_in(panel) and (scales := _scales(panel)) is not None:
        work.ask(scales)
    return _settle_incomplete(_with_reading(panel, reading, labels, n), ways.incomplete)


def _grouped(work: _Work, labels: Labels, rows: int, scored: int) -> tuple[Units, Entries, int]:
    """Tasks, or units of them, the scores of each, and the number of tasks. So many rows have as many tasks at most."""
    engine, duplicates, most = work.engine, work.ways.duplicates, work.ways.max_units
    if rows > (most or MOST_TASKS) and (n := engine.count_tasks()) > (most or MOST_TASKS):
        if twins := _twins_of_many(engine, work.notes):
            _settle_twins(work, "task", twins)
            n = engine.count_tasks()
        return *_hashed(work, labels, most or UNITS, n), n
    units = engine.tasks(labels)
    if twins := _twins(units.labels, "task"):
        _settle_twins(work, "task", twins)
        units = engine.tasks(labels)
    _check_lengths("task", units.labels, engine.where)
    entries = engine.entries(units, labels, duplicates)
    if work.ways.alike != "different" and (twins := _parted(units, entries, len(labels.judge))):
        _settle_twins(work, "task", twins)
        units = engine.tasks(labels)
        entries = engine.entries(units, labels, duplicates)
    if int(entries.rows.max(initial=0)) > 1:
        if duplicates == "error":
            raise PanelError(_duplicate_message(engine, labels, work.reading.unused))
        work.notes.append(say("panel.averaged", count=int((entries.rows > 1).sum())))
    elif duplicates == "first" and scored > len(entries.rows):
        work.notes.append(say("panel.first-kept", count=scored - len(entries.rows)))
    return units, entries, units.size


def _stand_in(panel: Panel) -> tuple[Say, ...]:
    """A number that likely stands for "no score": -1 below scores from 0, or 999 far above all others."""
    low, high = panel.observed_range
    values = panel.finest
    if low in (-1, -9, -99, -999) and high > 2 and not bool(((values < 0) & (values != low)).any()):
        value = low
    elif high in (99, 999, 9999) and high > FAR * max(np.nanmax(values, where=values < high, initial=1.0), -low):
        value = high
    else:
        return ()
    return (say("read.stand_in", value=value, count=int((values == value).sum())),)


def _with_reading(panel: Panel, reading: Reading, labels: Labels, tasks: int) -> Panel:
    """The panel with its reading: how many labels each role has, now that all rows were seen, and what looks odd."""
    counts = {"task": tasks} | {axis: len(getattr(labels, axis)) for axis in labels.used()}
    shown = {axis: getattr(labels, axis)[:8] for axis in labels.used()}
    roles = tuple(
        replace(r, distinct=counts.get(r.role, r.distinct), labels=shown.get(r.role, r.labels)) for r in reading.roles
    )
    odd = () if panel.declared_range is not None else _stand_in(panel)
    reading = replace(reading, roles=roles, doubts=(*reading.doubts, *odd))
    return replace(panel, reading=reading, notes=(*panel.notes, *odd))


# --- checks ---


def _check_lengths(axis: str, names: Sequence[str], where: str) -> None:
    longest = max(map(len, names), default=0)
    if longest > LONGEST_LABEL:
        raise PanelError(
            f"{where} has a {axis} whose name has {longest} characters; at most {LONGEST_LABEL} are read. That is a "
            f"text, not a name: choose another column (--{axis})."
        )


def _check_rows(work: _Work, cells: Cells) -> None:
    names = ["language", "judge"] + [a for a in ("system", "replicate") if getattr(work.columns, a)]
    if int(cells["unlabelled"].sum()) or any(None in cells[name] for name in names):
        raise PanelError(
            f"{work.engine.where} has rows without a task, {', '.join(names[:-1])} or {names[-1]}: "
            f"{', '.join(f.place for f in work.engine.find('unlabelled'))}. Fill the label in, or remove the row."
        )
    check_scores(work.engine, cells, work.columns)
    lacking = int(cells["rows"].sum()) - int(cells["scored"].sum())
    if lacking:
        work.notes.append(say("panel.no-score", count=lacking))


def check_scores(engine: Engine, cells: Cells, columns: Columns) -> None:
    """Scores must be finite numbers, or absent."""
    if not int(cells["rows"].sum()):
        raise PanelError(f"{engine.where} has columns but no rows.")
    text = int(cells["text"].sum())
    if text:
        raise PanelError(
            f"The score column {columns.score!r} of {engine.where} holds text in {text} rows: "
            f"{_rows(engine.find('text'))}. Scores must be numbers with a decimal point, or empty. Say what "
            "words stand for (--map WORD=NUMBER), or name another column (--score)."
        )
    total, low, high = (cells[name][cells["scored"] > 0] for name in SUMS)
    if not len(total):
        raise PanelError(f"The score column {columns.score!r} of {engine.where} is empty in every row.")
    largest = float(np.nanmax(np.abs([low, high])))
    if LARGEST_SCORE < largest < np.inf:
        raise PanelError(
            f"{engine.where} has scores up to {largest:g}, which no scale has; sums of squares of such numbers leave "
            "the range of arithmetic. Correct them, or divide all scores by a power of ten."
        )
    if not np.isfinite([total, low, high]).all():
        raise PanelError(
            f"{engine.where} has scores that are not finite numbers: {_rows(engine.find('not finite'))}. Leave the "
            "field empty where there is no score."
        )


def _choose_labels(work: _Work, cells: Cells) -> tuple[Labels, Cells]:
    where, order = work.engine.where, dict[str, Any]()
    for axis, wanted in work.ways.chosen.items():
        there = set(cells[axis])
        unknown = [w for w in wanted if w not in there]
        if unknown or len(set(wanted)) < len(wanted):
            what = f"no {axis} {clean(unknown[0])!r}" if unknown else f"a {axis} is named twice in the order given"
            raise PanelError(f"{where}: {what}; it has {', '.join(clean(x) for x in sorted(there)[:12])}.")
        left = len(there) - len(wanted)
        if left:
            work.notes.append(say("panel.chosen", count=left, all=len(there), axis=axis))
            work.engine.keep(axis, wanted)
            kept = np.isin(cells[axis], wanted)
            cells = {name: values[kept] for name, values in cells.items()}
        order[axis] = tuple(wanted)
    for axis in ("language", "judge", "system", "replicate"):
        if axis not in cells:
            continue
        names = order.setdefault(axis, _in_order(cells, axis))
        if len(names) > MOST_LABELS:
            raise PanelError(
                f"{where} has {len(names)} different {axis}s. Check that the {axis} column is the right one "
                f"(--{axis} NAME)."
            )
    return Labels(**order), cells


def _in_order(cells: Cells, axis: str) -> tuple[str, ...]:
    if "first" in cells:
        return tuple(dict.fromkeys(label for _, label in sorted(zip(cells["first"], cells[axis], strict=True))))
    return tuple(sorted(set(cells[axis])))


INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
"""Characters that change a label and cannot be seen."""


SUMMARIES = {
    "judge": "mean avg average median overall total sum consensus majority",
    "language": "all overall total mean avg average",
}
"""Labels of rows that are made of the others: a judge called "average", all languages."""


def _clear_labels(work: _Work, cells: Cells) -> Cells:
    """The cells once labels that may be one, or that sum up others, are settled; those that were chosen are clear."""
    for axis in ("language", "judge", "system"):
        if axis not in cells or axis in work.ways.chosen:
            continue
        if twins := _twins(_in_order(cells, axis), axis) or _versions(cells, axis, work.ways.alike):
            _settle_twins(work, axis, twins)
            cells = work.engine.cells()
        role, labels = work.reading.role(axis), _in_order(cells, axis)
        made = [x for x in labels if x.strip(" ()").lower() in SUMMARIES.get(axis, "").split()]
        rest = [x for x in labels if x not in made]
        in_names = role is not None and role.how == "column names"  # columns of summaries are left out before
        if made and len(rest) > 1 and not in_names:
            work.ask(Say("read.summary", {"axis": axis, "labels": made, "rest": rest}))
    return cells


def _refuse_summaries(panel: Panel, where: str) -> None:
    """A task called "average" whose scores are the means (or sums) of the other tasks' is a line below the table."""
    for i, task in enumerate(panel.tasks):
        if task.strip(" ()").lower() in SUMMARIES["judge"].split() and len(panel.tasks) > 3:
            others = np.delete(panel.scores, i, axis=0)
            near = 0.006 * np.nanmax(np.abs(panel.scores[i]), initial=1.0)
            for made in (mean_there(others, axis=0), np.nansum(others, axis=0), np.nanmedian(others, axis=0)):
                if bool((np.abs(made - panel.scores[i])[~np.isnan(panel.scores[i])] <= near).all()):
                    raise PanelError(
                        f"The rows of task {clean(task)!r} in {where} sum up those of the other tasks. Remove them: "
                        "they are no scores of their own."
                    )


VERSION = {"language": r"[-_]\w+$", "judge": r"[-_@:]?(\d{4}-?\d\d-?\d\d|\d{4}|latest|preview)$"}
"""What may follow a label that is otherwise the same: a country, the day of a model."""


def _versions(cells: Cells, axis: str, alike: str | None) -> dict[str, str]:
    """en and en-US, gpt-4o and gpt-4o-2024-08-06, where no judge has both languages, and no language both judges."""
    out: dict[str, str] = {}
    labels = dict.fromkeys(cells[axis]) if axis in VERSION and alike != "different" else ()
    for label in labels:
        short = re.sub(VERSION[axis], "", label)
        if short != label and short in labels:
            other = "judge" if axis == "language" else "language"
            one, two = (set(cells[other][cells[axis] == x]) for x in (short, label))
            out |= {} if one & two else {label: short}
    return out


def _parted(units: Units, entries: Entries, judges: int) -> dict[str, str]:
    """Tasks that are torn in two by the case or the leading zeros of their names: most tasks have such a twin, and no
    judge scored both in one language."""
    groups: dict[str, list[int]] = {}
    for place, label in enumerate(units.labels):
        groups.setdefault(re.sub(r"[\s_-]+|0+(?=\d)", "", label).casefold(), []).append(place)
    torn = [places for places in groups.values() if len(places) > 1]
    if 2 * sum(map(len, torn)) <= len(units.labels):
        return {}
    group = np.empty(len(units.labels), np.int64)
    for i, places in enumerate(groups.values()):
        group[places] = i
    unit, cell = entries.codes["unit"], entries.codes["language"] * judges + entries.codes["judge"]
    each = np.unique(np.stack([group[unit], cell, unit]), axis=1)
    if len(np.unique(each[:2], axis=1).T) < each.shape[1]:
        return {}
    return {units.labels[other]: units.labels[one] for one, *more in torn for other in more}


def _seen_as(label: str) -> str:
    """What a label looks like."""
    plain = label if label.isascii() else INVISIBLE.sub("", unicodedata.normalize("NFKC", label))
    return " ".join(plain.split())


def _twins_of_many(engine: Engine, notes: list[Words]) -> dict[str, str]:
    """Twins of more tasks than are looked at one by one: only those with unusual signs can be some."""
    odd = engine.odd_tasks(MOST_ODD)
    if len(odd) == MOST_ODD:
        notes.append(say("panel.spellings", count=MOST_ODD))
    others = {look for task in odd if (look := _seen_as(task)) != task}
    plain = engine.odd_tasks(MOST_ODD, sorted(others)) if others else []
    return _twins(list(dict.fromkeys([*sorted(plain), *sorted(odd)])), "task")


def _twins(labels: Sequence[str], axis: str) -> dict[str, str]:
    """Labels that are most likely another one in another spelling -> that one. Of tasks only what looks the same:
    identifiers may differ in case."""
    seen: dict[str, str] = {}
    out = {}
    for label in labels:
        key = _seen_as(label)
        if axis != "task":
            key = re.sub(r"[\s_-]+", "", key).casefold()
        if axis == "language":
            key = ALIASES.get(key, key)
        if seen.setdefault(key, label) != label:
            out[label] = seen[key]
    return out


def _settle_twins(work: _Work, axis: str, twins: Mapping[str, str]) -> None:
    """One label or two? Kept apart, the scores of one judge would be torn in two."""
    if work.ways.alike is None:
        other, one = next(iter(twins.items()))
        work.ask(Say("read.alike", {"axis": axis, "one": one, "other": other, "count": len(twins)}))
    if work.ways.alike == "same":
        work.engine.relabel(axis, twins)


# --- scales ---


def _scales(panel: Panel) -> Say | None:
    """The judges whose scores lie on another scale than the others': both their reach and their spread are far off."""
    values = np.moveaxis(panel.seen, -2 if panel.replicated else -1, 0).reshape(len(panel.judges), -1)
    count = (~np.isnan(values)).sum(axis=1)
    if len(values) < 2 or count.min() < 2:
        return None
    low, high, spread = np.nanmin(values, axis=1), np.nanmax(values, axis=1), np.nanstd(values, axis=1)
    reach = np.maximum(np.abs(low), np.abs(high))
    if spread.min() <= 1e-9 * reach.max() or reach.min() == 0:
        return None
    off = []
    few = count.min() < FEW_SCORES
    least, signs = (
        (SURELY_OTHER, (reach, spread, np.nanmean(np.abs(values), axis=1))) if few else (OTHER_SCALE, (reach, spread))
    )
    for j in range(len(values)):
        others = np.arange(len(values)) != j
        ratios = [float(x[j] / np.median(x[others])) for x in signs]
        off.append(min(ratios) >= least or max(ratios) <= 1 / least)
    if not any(off):
        return None
    if all(off):  # two camps: the larger numbers are taken for the panel's scale
        off = list(reach < reach.max() / OTHER_SCALE)
    rest = ~np.array(off)
    bottom, top = float(low[rest].min()), float(high[rest].max())
    named = {panel.judges[j]: (float(low[j]), float(high[j])) for j in np.flatnonzero(off)}
    whole = _ends(bottom, top)
    # A scale that begins where the panel's does is likelier: scores of 2.7 to 9.4 beside 0:100 are of 0:10, not 1:10.
    first = 0.0 if whole.startswith("0:") else 1.0
    own = {judge: _ends(min(low, first) if low > 0 else low, high) for judge, (low, high) in named.items()}
    return say("read.scales", judges=named, low=bottom, high=top, range=whole, rescale=own)


def _ends(low: float, high: float) -> str:
    """The usual scale that scores lie on, as LOW:HIGH."""
    for bottom, top in ((0, 1), (1, 5), (0, 5), (1, 10), (0, 10), (0, 100)):
        if bottom <= low and top / 2 < high <= top:
            return f"{bottom}:{top}"
    return f"{low:g}:{high:g}"


def _on_one_scale(
    cells: Cells, rescale: Mapping[str, tuple[float, float]], limits: tuple[float, float] | None
) -> Cells:
    """Lowest and highest score of each cell as they will be on the panel's scale."""
    if not rescale:
        return cells
    unknown = [judge for judge in rescale if judge not in set(cells["judge"])]
    if limits is None or unknown:
        what = f"names no judge {clean(unknown[0])!r}" if unknown else "needs the scale that scores are brought to"
        raise UsageError(f"--rescale {what}: --range LOW:HIGH --rescale JUDGE=LOW:HIGH.")
    cells = dict(cells)
    for judge, (low, high) in rescale.items():
        at = cells["judge"] == judge
        for end in ("low", "high"):
            values = np.where(at, cells[end], np.nan)
            if bool(((values < low) | (values > high)).any()):
                raise PanelError(f"Judge {clean(judge)!r} has scores outside {low:g}:{high:g}, its scale in --rescale.")
            cells[end] = np.where(at, limits[0] + (values - low) * (limits[1] - limits[0]) / (high - low), cells[end])
    return cells


def _rescaled(panel: Panel, rescale: Mapping[str, tuple[float, float]], limits: tuple[float, float]) -> Panel:
    """The scores of some judges in proportion on the panel's scale."""
    scale, shift = np.ones(panel.shape[1:]), np.zeros(panel.shape[1:])
    for judge, (low, high) in rescale.items():
        j = panel.judges.index(judge)
        scale[:, j] = (high - low) / (limits[1] - limits[0])
        shift[:, j] = low - limits[0] * scale[0, j]
    note = say("panel.rescaled", judges=list(rescale))
    return replace(panel.adjusted(shift, scale), declared_range=limits, notes=(*panel.notes, note))


def _rows(found: Sequence[Found]) -> str:
    return ", ".join(f"{f.place} ({f.text!r})" for f in found)


def _duplicate_message(engine: Engine, labels: Labels, unused: Sequence[str] = ()) -> str:
    names = ["task", "language", "judge"] + [a for a in ("system", "replicate") if getattr(labels, a)]
    rows = engine.find_duplicates()
    some = "; ".join(", ".join(clean(x, 40) for x in row[: len(names)]) + f" ({row[-1]} rows)" for row in rows[:3])
    left = f" Not used: {', '.join(clean(x, 40) for x in unused[:6])}." if unused else ""
    return (
        f"{engine.where} has several rows with the same {', '.join(names)}: {some}. If they belong to different "
        "systems, name that column (--system NAME); if they are repeats, name theirs (--replicate NAME); else choose "
        f"--duplicates mean or --duplicates first.{left}"
    )


# --- hashed units ---


def _hashed(work: _Work, labels: Labels, size: int, n: int) -> tuple[Units, Entries]:
    """Beyond `size` tasks: units by hash, and the proof that each cell holds every task of its unit exactly once."""
    engine, duplicates = work.engine, work.ways.duplicates
    if labels.group and not labels.by_task:
        raise PanelError(
            f"{engine.where} has {n} tasks and groups that divide the rows inside tasks, which hashing tasks into "
            f"units would lose. Raise max_units above {n}, or read one group at a time."
        )
    units = engine.hashed_units(size, labels)
    entries = engine.entries(units, labels, duplicates)
    if not _whole(units, entries, labels):
        if duplicates == "error" and engine.find_duplicates(1):
            raise PanelError(_duplicate_message(engine, labels, work.reading.unused))
        if work.ways.incomplete == "error":
            raise PanelError(
                f"{engine.where} is incomplete: not every task has a score from every judge in every language. "
                "Use --incomplete drop to leave such tasks out."
            )
        dropped = engine.drop_incomplete(labels)
        left = n - dropped
        if left < 2:
            raise PanelError(
                f"Hardly a task of {engine.where} has a score in every language by every judge (and replicate): "
                f"{left} of {n}. Score the missing entries, read fewer judges or languages, or raise max_units above "
                f"{n} so that incomplete tasks can be used."
            )
        work.notes.append(say("panel.dropped", count=dropped, tasks=n, hashed=True))
        if dropped:
            units = engine.hashed_units(size, labels)
            entries = engine.entries(units, labels, duplicates)
        n = left
    what = HASH if not units.clusters else HASH.replace("task label", "cluster label")
    work.notes.append(say("panel.hashed", tasks=n, units=units.size, how=what))
    return units, entries


def _whole(units: Units, entries: Entries, labels: Labels) -> bool:
    """Whether every cell of every unit holds every task of the unit exactly once.

    The number of rows and the exclusive or of the tasks' hashes must both agree with the unit's. A repeated task beside
    a missing one would need a collision of 64-bit hashes to pass.
    """
    assert units.weights is not None
    if len(entries.rows) != units.size * labels.entries_per_task():
        return False
    unit = entries.codes["unit"]
    if not np.array_equal(entries.rows, units.weights[unit].astype(np.int64)):
        return False
    return entries.mark is None or units.mark is None or bool(np.array_equal(entries.mark, units.mark[unit]))


# --- arrays ---


def _build(work: _Work, units: Units, entries: Entries, labels: Labels, **more: Any) -> Panel:
    shape = (units.size, len(labels.language), len(labels.judge))
    cell = np.ravel_multi_index(tuple(entries.codes[axis] for axis in ("unit", "language", "judge")), shape)
    weights = units.weights if units.weights is not None else np.ones(units.size)
    arrays = _scores(entries, labels, weights, _crossed(work, entries, labels, cell), work.notes)
    group = work.columns.group or "group"
    grouping = None
    if labels.by_task:
        grouping = Grouping(group, labels.group, units.group)
    elif labels.group:
        at, inside = entries.codes["group"] * int(np.prod(shape)) + cell, (len(labels.group), *shape)
        rows = _total(at, entries.rows, inside).astype(np.int64)
        grouping = Grouping(group, labels.group, None, _mean(at, entries, inside), rows)
    return Panel(
        tasks=units.labels,
        languages=labels.language,
        judges=labels.judge,
        counts=_total(cell, entries.rows, shape).astype(np.int64),
        weights=weights,
        grouping=grouping,
        declared_range=work.ways.limits,
        clusters=units.clusters,
        cluster=units.cluster,  # type: ignore[arg-type]  # None: every task its own
        notes=tuple(work.notes),
        **arrays,
        **more,
    )


def _scores(entries: Entries, labels: Labels, weights: Array, s: int, notes: list[Words]) -> dict[str, Any]:
    """The arrays of a panel with their labels, as arguments of `Panel`: the finest that fits, and its means.

    s : number of systems that can be compared
    """
    n, k, m, r = len(weights), len(labels.language), len(labels.judge), len(labels.replicate)
    if s * max(r, 1) * n * k * m > MOST_ENTRIES:
        notes.append(say("panel.too-large", count=s, what="systems", entries=s * max(r, 1) * n * k * m))
        s = 0
    if r and n * k * m * r > MOST_ENTRIES:
        notes.append(say("panel.too-large", count=r, what="replicates", entries=n * k * m * r))
        r = 0
    axes = {"unit": n, "system": s, "language": k, "judge": m, "replicate": r}
    axes = {axis: size for axis, size in axes.items() if size}
    shape = tuple(axes.values())
    finest = _mean(np.ravel_multi_index(tuple(entries.codes[axis] for axis in axes), shape), entries, shape)
    out = averaged(finest, weights, bool(s), bool(r))
    if s and (holes := int((np.isnan(out["system_scores"]) & ~np.isnan(out["scores"])[:, None]).sum())):
        notes.append(say("panel.system-holes", count=holes, all=out["system_scores"].size))
    return {**out, "replicates": labels.replicate if r else (), "systems": labels.system if s else ()}


def _crossed(work: _Work, entries: Entries, labels: Labels, cell: Codes) -> int:
    """Number of systems; 0 where no judge scored two of them on one task: nothing can be compared."""
    if not labels.system:
        return 0
    last = np.zeros(int(cell.max(initial=0)) + 1, np.int64)
    last[cell] = entries.codes["system"]
    if bool((last[cell] != entries.codes["system"]).any()):
        return len(labels.system)
    work.notes.append(say("panel.no-system", column=work.columns.system, systems=len(labels.system)))
    return 0


def _total(at: Any, values: Any, shape: tuple[int, ...]) -> Array:
    out: Array = np.bincount(at, weights=np.asarray(values, np.float64), minlength=int(np.prod(shape))).astype(float)
    return out.reshape(shape)


def _mean(at: Any, entries: Entries, shape: tuple[int, ...]) -> Array:
    """Mean per place, NaN where nothing fell. A place with one row keeps the bits of its score."""
    count = _total(at, entries.rows, shape)
    with np.errstate(invalid="ignore", divide="ignore"):
        out: Array = np.where(count > 0, _total(at, entries.total, shape) / count, np.nan)
    return out


def _settle_incomplete(panel: Panel, incomplete: str) -> Panel:
    whole = np.atleast_1d(~(np.isnan(panel.scores) & panel.own[..., None]).any(axis=(1, 2)))
    if whole.all() or incomplete == "estimate":
        return panel
    if incomplete == "error":
        panel.require_complete("the analyses asked for")
    if int(whole.sum()) < 2:
        raise PanelError(
            f"Only {int(whole.sum())} of {len(whole)} tasks have a score in every language by every judge, so none "
            "can be dropped. Read fewer judges or languages, or use --incomplete estimate."
        )
    kept = panel.select(tasks=[t for t, w in zip(panel.tasks, whole, strict=True) if w])
    note = say("panel.dropped", count=int((~whole).sum()), tasks=len(whole), hashed=False)
    return replace(kept, notes=(*kept.notes, note))
