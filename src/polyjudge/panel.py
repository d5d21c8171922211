"""Panel: scores of tasks x systems x languages x judges, and what belongs to them (METHODS 1, 14, 17).

A row is a task; where a table has more than 100,000 tasks, the engine makes rows of hashed units (all tasks of a unit
that were seen in the same cells are one row, with their number as weight and their mean as scores). `values()` reduces
any panel to one number per unit and cell: nothing later knows of rows, weights, holes or clusters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyjudge.base.errors import PanelError, UsageError
from polyjudge.base.text import count, name, plural
from polyjudge.stats.cells import Values, complete, least_squares_cells, least_squares_systems

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
AXES = ("system", "language", "judge")
CELLS = (*AXES, "criterion")
TEXTS = ("prompt", "response", "reason")
MOST = 1e100
"""Beyond it squares of scores are no numbers."""


@dataclass(frozen=True, eq=False, repr=False)
class Panel:
    """Scores of one criterion. Make one with `read_panel`, `Panel.from_array` or `Panel.from_frame`.

    scores : (rows, systems, languages, judges), NaN where missing; the mean of replicates
    tasks, systems, languages, judges : names; one system named "" where there are none, likewise languages and judges
    scale : lowest and highest score, declared or evident
    unit : (rows,) number of the sampling unit of each row: the task, its cluster, or its hashed unit
    weight : (rows,) number of tasks in each row
    human : people's labels: task, system, language, annotator, label
    criteria : panels of the single criteria, where there are several; `scores` is then their mean
    noun : what the languages are called ("language", "rubric", "domain"), `by` which judges are compared
    texts : tasks -> frame of task, system, language, judge, score, prompt, response, reason (columns may be missing)
    indicator : threshold, how (">", ">=", "floor") -> panel of 0 and 1; set by the engine where rows are means
    order : pairwise verdicts: task, language, judge, first, second, won (1: the first place won, 0.5 tie, 0)
    length : (rows, systems, languages) log of the length of the responses
    replicates : (rows, systems, languages, judges, replicates), where there are any and the panel is small
    notes : how it was read, where that is not obvious; each one sentence
    source : as the user named it; `read` : words of the command line that name columns
    """

    scores: Array
    tasks: tuple[str, ...]
    languages: tuple[str, ...]
    judges: tuple[str, ...]
    systems: tuple[str, ...] = ("",)
    scale: tuple[float, float] = (0.0, 100.0)
    unit: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    weight: Array = field(default_factory=lambda: np.zeros(0))
    human: pd.DataFrame | None = None
    criteria: Mapping[str, Panel] = field(default_factory=dict)
    criterion: str = ""
    noun: str = "language"
    two_valued: bool = False
    texts: Callable[[Sequence[str]], pd.DataFrame] | None = None
    indicator: Callable[[float, str], Panel] | None = None
    order: pd.DataFrame | None = None
    length: Array | None = None
    replicates: Array | None = None
    notes: tuple[str, ...] = ()
    source: str = ""
    read: tuple[str, ...] = ()
    clustered: bool = False

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        n = len(self.scores)
        set_(self, "unit", np.arange(n) if len(self.unit) == 0 else np.unique(self.unit, return_inverse=True)[1])
        set_(self, "weight", np.ones(n) if len(self.weight) == 0 else np.asarray(self.weight, dtype=float))
        shape = (len(self.tasks), len(self.systems), len(self.languages), len(self.judges))
        if self.scores.shape != shape:
            raise PanelError(f"The scores have the shape {self.scores.shape}, and the names {shape}.")
        if not np.isfinite(self.scores).any():
            raise PanelError("There is no score in this panel. Name the column of scores: score='...' (--score).")
        if self.human is not None and not len(self.human):
            set_(self, "human", None)
            set_(self, "notes", (*self.notes, "The column of human labels is empty."))
        if np.nanmax(np.abs(self.scores)) > MOST:
            raise PanelError("Some scores are infinite or far too large. Make them numbers, or leave them empty.")

    # --- making one ---

    @classmethod
    def from_array(
        cls,
        scores: Any,
        *,
        tasks: Sequence[str] | None = None,
        systems: Sequence[str] | None = None,
        languages: Sequence[str] | None = None,
        judges: Sequence[str] | None = None,
        scale: tuple[float, float] | None = None,
        **more: Any,
    ) -> Panel:
        """A panel of an array: task x language x judge, or task x system x language x judge; NaN is missing.

        >>> Panel.from_array([[[1, 2], [3, 5]]], judges=["A", "B"]).shape
        (1, 1, 2, 2)
        """
        y = np.array(scores, dtype=float)
        if y.ndim == 3:
            y = y[:, None]
        if y.ndim != 4:
            raise PanelError(f"Scores have three or four axes (task, system, language, judge), not {y.ndim}.")
        n, s, k, m = y.shape
        seen = y[np.isfinite(y)]
        more.setdefault("two_valued", len(np.unique(seen[:1000])) <= 2 and len(np.unique(seen)) <= 2)
        return cls(
            scores=y,
            tasks=tuple(tasks or (f"t{i + 1}" for i in range(n))),
            systems=tuple(systems or (("",) if s == 1 else (f"s{i + 1}" for i in range(s)))),
            languages=tuple(languages or (("",) if k == 1 else (f"l{i + 1}" for i in range(k)))),
            judges=tuple(judges or (f"J{i + 1}" for i in range(m))),
            scale=scale or (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 0.0),
            **more,
        )

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, **more: Any) -> Panel:
        """A panel of a long table with the columns task, judge, score, and perhaps system and language. No guessing:
        for files and other names of columns there is `read_panel`. Repeated rows are replicates: their mean counts."""
        long = Long.from_frame(frame)
        tasks, systems, languages, judges = (long.labels[a] for a in ("task", *AXES))
        y = long.average()[0][..., 0]
        return cls.from_array(y, tasks=tasks, systems=systems, languages=languages, judges=judges, **more)

    @classmethod
    def from_long(
        cls, long: Long, y: Array, repeats: Array | None, scales: list[dict[str, Any]], declared: bool, **made: Any
    ) -> Panel:
        """The panel of rows of scores, of which `y` is the array; `scales` of its criteria."""
        tasks, systems, languages, judges, criteria = (tuple(x) for x in long.labels.values())
        made |= {"tasks": tasks, "systems": systems, "languages": languages, "judges": judges, "length": long.lengths()}
        made |= {k: v for k, v in (("unit", long.unit), ("weight", long.weight)) if v is not None}
        if len(criteria) == 1:
            return cls(scores=y[..., 0], criterion=criteria[0], replicates=repeats, **scales[0], **made)
        parts = {
            c: cls(scores=y[..., i], criterion=c, **scales[i], **made | {"notes": ()}) for i, c in enumerate(criteria)
        }
        lows, highs = np.array([s["scale"] for s in scales]).T
        same = (highs.max() <= 2 * highs.min() and len(set(lows)) <= 2) or declared
        z = y if same else (y - lows) / np.maximum(highs - lows, 1e-300)
        if not same:
            note = "Criteria are on different scales: their mean is of scores brought to 0 to 1."
            made["notes"] = (*made["notes"], note)
        used = np.isfinite(y).any((0, 1))  # a judge may lack a criterion in a language
        there = np.where(used, np.isfinite(y), True).all(-1) & used.any(-1)
        total = np.where(used & np.isfinite(z), z, 0.0).sum(-1) / np.maximum(used.sum(-1), 1)
        ends = (float(lows.min()), float(highs.max())) if same else (0.0, 1.0)
        return cls(scores=np.where(there, total, np.nan), scale=ends, criteria=parts, **made)

    # --- what it is ---

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Rows, systems, languages, judges."""
        n, s, k, m = self.scores.shape
        return n, s, k, m

    @property
    def units(self) -> int:
        """Number of sampling units."""
        return int(self.unit.max()) + 1

    @property
    def width(self) -> float:
        """Of the scale."""
        return max(self.scale[1] - self.scale[0], 1e-300)

    @property
    def matters(self) -> float:
        """The smallest difference that matters unless the user says otherwise: 2% of the scale, to one digit."""
        return float(f"{0.02 * self.width:.1g}")

    def least(self, given: float | None) -> float:
        """What matters, in scores: what the user says in points, of pass or fail in percentage points, or `matters`."""
        if given is None:
            return self.matters
        if not (np.isfinite(given) and given >= 0):
            raise UsageError(f"What matters is a number of points from 0 on, not {given:g}.")
        return given / self.factor

    @property
    def unit_name(self) -> str:
        """What differences of scores are counted in."""
        return "percentage points" if self.two_valued else "points"

    @property
    def factor(self) -> float:
        """What differences are multiplied by to be shown: pass or fail is shown in percentage points."""
        return 100.0 / self.width if self.two_valued else 1.0

    @property
    def has_systems(self) -> bool:
        """Whether answers of several systems are compared."""
        return len(self.systems) > 1

    @property
    def complete(self) -> bool:
        """Whether no score is missing."""
        return bool(np.isfinite(self.scores).all())

    @property
    def facts(self) -> str:
        """The first line of every screen: what was read."""
        _, s, k, m = self.shape
        parts = [count(round(self.weight.sum()), "task")]
        parts[0] += f" (each in one of {count(k, self.noun)})" if self.apart else ""
        parts += [count(s, "system")] if s > 1 else []
        parts += [count(k, self.noun)] if k > 1 and not self.apart else []
        parts += [count(m, "judge")]
        seen, whole = (int(x.sum()) for x in self.coverage)
        low, high = self.scale
        left = f"{whole - seen:,} of {whole:,} missing" if whole > seen else "none missing"
        kind = f", {low:g} or {high:g}" if self.two_valued else f" from {low:g} to {high:g}"
        kind = kind if low < high else f" of {low:g}"
        runs = [1] if self.replicates is None else np.isfinite(self.replicates).sum(-1)[np.isfinite(self.scores)]
        few, many = int(np.min(runs)), int(np.max(runs))
        if many > 1:
            left = f"each the mean of {'up to ' if few < many else ''}{many} runs, {left}"
        more = f" {count(self.units, 'cluster')}." if self.clustered else ""
        return f"{(', ' if self.apart else ' x ').join(parts)}: {count(seen, 'score')}{kind}, {left}.{more}"

    @property
    def apart(self) -> bool:
        """Whether there are several languages, and no task is in two of them."""
        return self.shape[2] > 1 and int(np.isfinite(self.scores).any((1, 3)).sum(1).max()) == 1

    @property
    def coverage(self) -> tuple[Codes, Codes]:
        """The scores of each language and judge, and how many there could be: of all tasks and systems; where no task
        is in two languages, of the tasks, systems and judges that have a score in that language."""
        there = np.isfinite(self.scores)
        seen = np.einsum("nslb,n->lb", there.astype(float), self.weight)
        whole = np.full_like(seen, self.weight.sum() * self.shape[1])
        if self.apart:
            own = self.weight @ there.any((1, 3)) * there.any((0, 3)).sum(0)
            whole = own[:, None] * there.any((0, 1))
        return seen.round().astype(np.int64), whole.round().astype(np.int64)

    @property
    def hashed(self) -> bool:
        """Whether rows are means of the tasks of hashed units, and no single tasks."""
        return self.indicator is not None or bool((self.weight != 1).any())

    def __repr__(self) -> str:
        return f"<Panel: {self.facts}>"

    def __dir__(self) -> list[str]:
        """What means something to a user; the rest is for the rooms above."""
        names = (
            "tasks systems languages judges scores scale human criteria noun notes shape units facts complete matters"
        )
        return [*names.split(), "from_array", "from_frame", "to_frame", "select", "passes"]

    @property
    def nouns(self) -> str:
        """The plural of the noun."""
        return plural(self.noun)

    # --- parts of it ---

    def select(
        self,
        *,
        systems: Sequence[str] | None = None,
        languages: Sequence[str] | None = None,
        judges: Sequence[str] | None = None,
        rows: NDArray[Any] | None = None,
    ) -> Panel:
        """The part with these systems, languages, judges and rows, in the order given."""
        where = {}
        for axis, wanted in zip(AXES, (systems, languages, judges), strict=True):
            have: tuple[str, ...] = getattr(self, plural(axis))
            if wanted is None:
                where[axis] = np.arange(len(have))
                continue
            for x in wanted:
                if x not in have:
                    known = ", ".join(map(name, have[:8])) + (", ..." if len(have) > 8 else "")
                    noun = self.noun if axis == "language" else axis
                    raise PanelError(f"There is no {noun} {name(x)!r} in this panel. It has: {known}.")
            where[axis] = np.array([have.index(x) for x in wanted], dtype=int)
        r = np.arange(len(self.tasks)) if rows is None else np.arange(len(self.tasks))[rows]
        s, k, m = where["system"], where["language"], where["judge"]
        again = self.indicator
        return replace(
            self,
            scores=self.scores[np.ix_(r, s, k, m)],
            tasks=tuple(self.tasks[i] for i in r),
            systems=tuple(self.systems[i] for i in s),
            languages=tuple(self.languages[i] for i in k),
            judges=tuple(self.judges[i] for i in m),
            unit=self.unit[r],
            weight=self.weight[r],
            length=None if self.length is None else self.length[np.ix_(r, s, k)],
            replicates=None if self.replicates is None else self.replicates[np.ix_(r, s, k, m)],
            indicator=None
            if again is None
            else lambda t, how: again(t, how).select(systems=systems, languages=languages, judges=judges, rows=rows),
        )

    def passes(self, threshold: float, how: str = ">") -> Panel:
        """The panel of 1 (the score is above, with ">=" at least, `threshold`) and 0. "floor": at most, or missing."""
        if self.indicator is not None:
            return self.indicator(threshold, how)
        y, tiny = self.scores, 1e-9 * self.width
        if how == "floor":
            hit = np.where(np.isfinite(y), y <= threshold + tiny, np.isfinite(y).any((1, 3), keepdims=True))
            made = hit.astype(float)
        else:
            made = np.where(np.isfinite(y), (y > threshold + tiny) if how == ">" else (y >= threshold - tiny), np.nan)
        return replace(self, scores=made, scale=(0.0, 1.0), two_valued=True, replicates=None)

    def to_frame(self) -> pd.DataFrame:
        """A long table: task, system, language, judge, score; missing scores are left out."""
        import pandas as pd

        at = np.nonzero(np.isfinite(self.scores))
        frame = pd.DataFrame({"task": np.array(self.tasks, dtype=object)[at[0]]})
        for axis, i in zip(AXES, at[1:], strict=True):
            have: tuple[str, ...] = getattr(self, plural(axis))
            if have != ("",):
                frame[axis] = np.array(have, dtype=object)[i]
        return frame.assign(score=self.scores[at])

    # --- values (METHODS 17) ---

    def values(self) -> Values:
        """One number per unit and language-judge cell; their mean over units is the estimate of each cell mean."""
        if self.complete:
            return complete(self.scores.mean(1), self.unit, self.weight)
        return least_squares_cells(self.scores, self.unit, self.weight)

    def system_values(self, languages: Sequence[str] | None = None, judges: Sequence[str] | None = None) -> Values:
        """One number per unit and system, compared inside (task, language, judge)."""
        part = self if languages is None and judges is None else self.select(languages=languages, judges=judges)
        if part.complete:
            return complete(part.scores.mean((2, 3)), part.unit, part.weight)
        return least_squares_systems(part.scores, part.unit, part.weight)


def with_texts(panel: Panel, rows: pd.DataFrame, by: Sequence[str] = ("task", *AXES)) -> pd.DataFrame:
    """Rows with prompt, response and reason beside the first 200, where the scores came with them."""
    if panel.texts is None or not len(rows):
        return rows
    texts = panel.texts(list(dict.fromkeys(rows["task"].head(200))))
    keys = [c for c in by if c in texts.columns and c in rows.columns]
    told = [c for c in TEXTS if c in texts.columns]
    if not told or "task" not in keys:
        return rows
    texts = texts[[*keys, *told]].assign(**{c: texts[c].astype(str) for c in keys})
    return rows.merge(texts.groupby(keys, sort=False).first().reset_index(), on=keys, how="left", sort=False)


# --- from rows of scores to an array ---


@dataclass
class Long:
    """Scores in rows, on their way to a panel: each row is the sum of `times` scores of one cell of a task.

    labels : axis -> names; `tasks` is one of them, or of the units that stand for them
    codes : axis of cells -> number of its label in each cell
    task, cell : numbers of each row
    weight, unit : of each task: the number of tasks in it, where it stands for several; its cluster or hashed unit
    levels : cell, score and number, where rows are sums
    replicate : number of the repeat in each row; `any_row`: rows that repeat are such
    """

    labels: dict[str, list[str]]
    codes: dict[str, Codes]
    task: Codes
    cell: Codes
    total: Array
    times: Codes
    weight: Array | None = None
    unit: Codes | None = None
    levels: tuple[Codes, Array, Codes] | None = None
    renamed: Codes | None = None
    """The present number of each first number of a task; -1 where it is left out."""
    replicate: Codes | None = None
    any_row: bool = False
    length: Array | None = None
    """Characters of the response, in each row."""

    @classmethod
    def from_frame(cls, frame: pd.DataFrame) -> Long:
        """Rows of a frame with columns of these names; an axis that it lacks has one label."""
        import pandas as pd

        labels, places = {}, []
        for axis in ("task", *CELLS):
            at, found = pd.factorize(frame[axis].astype(str)) if axis in frame else (np.zeros(len(frame), int), [""])
            labels[axis] = list(map(str, found))
            places.append(at)
        sizes = [len(labels[a]) for a in CELLS]
        cell = np.ravel_multi_index(tuple(places[1:]), sizes)
        codes = dict(zip(CELLS, np.unravel_index(np.arange(int(np.prod(sizes))), sizes), strict=True))
        score = pd.to_numeric(frame["score"]).to_numpy(dtype=float)
        long = cls(labels, codes, places[0], cell, score, np.ones(len(frame), dtype=np.int64))
        long.keep(np.isfinite(score))
        return long

    def of(self, axis: str) -> Codes:
        """The number of the label in each row."""
        return self.task if axis == "task" else self.codes[axis][self.cell]

    def sort(self, axis: str, key: Callable[[str], Any]) -> None:
        """Put labels in order."""
        labels = self.labels[axis]
        order = np.array(sorted(range(len(labels)), key=lambda i: key(labels[i])), dtype=np.int64)
        self.labels[axis], rank = [labels[i] for i in order], np.argsort(order)
        if axis == "task":
            self.task, self.unit = rank[self.task], None if self.unit is None else self.unit[order]
        else:
            self.codes[axis] = np.where(self.codes[axis] < 0, -1, rank[self.codes[axis]])

    def counts(self, axis: str) -> tuple[list[str], list[int]]:
        """The labels of an axis, and the number of scores of each."""
        times = np.bincount(self.of(axis), self.times, minlength=len(self.labels[axis]))
        return self.labels[axis], times.astype(int).tolist()

    def having(self, axis: str, labels: Sequence[str]) -> NDArray[np.bool_]:
        """Which rows have one of these labels."""
        if not labels:
            return np.zeros(len(self.total), dtype=bool)
        return np.array([x in labels for x in self.labels[axis]], dtype=bool)[self.of(axis)]

    def keep(self, rows: NDArray[np.bool_]) -> None:
        """Only these rows."""
        for part in ("task", "cell", "total", "times", "replicate", "length"):
            if getattr(self, part) is not None:
                setattr(self, part, getattr(self, part)[rows])

    def seen(self, criterion: int) -> tuple[Codes, Array, Codes]:
        """Cell, score and number of a criterion: all scores, or the distinct ones of each cell that is left."""
        cell, score, times = self.levels or (self.cell, self.total, self.times)
        if self.levels is None and len(self.labels["criterion"]) == 1:
            return cell, score, times
        left = np.min(list(self.codes.values()), axis=0) >= 0
        own = (left & (self.codes["criterion"] == criterion))[cell]
        return cell[own], score[own], times[own]

    def merge(self, axis: str, same: Mapping[str, str]) -> dict[str, str]:
        """Make one of two labels where no answer has both: other -> the one that is kept. Returns what was merged."""
        labels = self.labels[axis]
        place = {x: i for i, x in enumerate(labels)}
        to = np.arange(len(labels))
        for other, kept in same.items():
            to[place[other]] = place[kept]
        own = self.of(axis)
        rows = np.isin(to[own], [place[x] for x in same.values()])
        rest = self.cell[rows]
        if axis != "task":
            others = [a for a in self.codes if a != axis]
            sizes = [len(self.labels[a]) for a in others]
            rest = np.ravel_multi_index(tuple(self.codes[a] for a in others), sizes)[rest]
            rest = rest + self.task[rows] * int(np.prod(sizes))
        both = np.unique(np.stack([rest, own[rows]]), axis=1)  # an answer and a label that it has
        answers, counts = np.unique(np.stack([both[0], to[both[1]]]), axis=1, return_counts=True)
        for kept in answers[1, counts > 1]:
            to[to == kept] = np.flatnonzero(to == kept)
        if axis == "task":
            self.task = to[self.task]
        else:
            self.codes[axis] = to[self.codes[axis]]
        return {other: kept for other, kept in same.items() if to[place[other]] != place[other]}

    def shrink(self) -> None:
        """Leave out labels that no row has: the numbers of tasks change, and cells may have none."""
        for axis, labels in self.labels.items():
            used = np.bincount(self.of(axis), minlength=len(labels)) > 0
            to = np.where(used, np.cumsum(used) - 1, -1)
            self.labels[axis] = [x for x, yes in zip(labels, used, strict=True) if yes]
            if axis != "task":
                self.codes[axis] = np.where(self.codes[axis] < 0, -1, to[self.codes[axis]])
                continue
            self.task, self.renamed = to[self.task], to if self.renamed is None else to[self.renamed]
            self.weight = None if self.weight is None else self.weight[used]
            self.unit = None if self.unit is None else self.unit[used]

    @property
    def shape(self) -> tuple[int, ...]:
        """Tasks, systems, languages, judges, criteria."""
        return tuple(map(len, self.labels.values()))

    def place(self, task: Codes, cell: Codes) -> Codes:
        """The places of tasks and cells in an array of that shape; -1 for cells that are left out."""
        codes = np.stack(list(self.codes.values()))
        inner = np.ravel_multi_index(tuple(np.maximum(codes, 0)), self.shape[1:])
        at = np.where((codes < 0).any(0), -1, inner)[cell]
        return np.asarray(np.where((task < 0) | (at < 0), -1, task * int(np.prod(self.shape[1:])) + at), dtype=np.int64)

    def average(self) -> tuple[Array, Array | None, tuple[int, int] | None, int]:
        """Scores as an array: the mean of replicates; these by themselves, where the panel is small; the row of one of
        several scores that are no replicates, and their number; how many rows repeat others with the same score."""
        size, flat = int(np.prod(self.shape)), self.place(self.task, self.cell)
        y = np.full(size, np.nan)
        rows = times = np.bincount(flat, minlength=size)
        if self.weight is not None:
            times = np.bincount(flat, self.times / self.weight[self.task], minlength=size)
        if rows.max() <= 1:
            y[flat] = self.total / self.times
        else:
            order = np.lexsort((self.total, flat))  # the order of rows does not matter
            first = np.flatnonzero(np.diff(flat[order], prepend=-1))
            sums, counts = (np.add.reduceat(x[order], first) for x in (self.total, self.times))
            y[flat[order][first]] = sums / counts
        y, most = y.reshape(self.shape), int(np.argmax(times))
        if times[most] <= 1 or self.any_row:
            return y, self._repeats(flat), None, 0
        if self.replicate is not None:
            inner = flat * (int(self.replicate.max()) + 1) + self.replicate
            if self.weight is not None or len(np.unique(inner)) == len(inner):
                return y, self._repeats(flat), None, 0
        if self.weight is not None or not np.allclose(y.ravel()[flat], self.total, rtol=1e-12, atol=0):
            return y, None, (int(np.flatnonzero(flat == most)[0]), round(times[most])), 0
        return y, None, None, int((rows[rows > 1] - 1).sum())

    def _repeats(self, flat: Codes) -> Array | None:
        """Scores with an axis of replicates."""
        if self.replicate is None or self.weight is not None or self.shape[-1] > 1:
            return None
        r, size = int(self.replicate.max()) + 1, int(np.prod(self.shape))
        inner = flat * r + self.replicate
        if r * size > 5_000_000 or len(np.unique(inner)) < len(inner):
            return None
        z = np.full(size * r, np.nan)
        z[inner] = self.total
        return z.reshape(*self.shape[:-1], r)

    def with_indicator(self, panel: Panel, sums: Callable[[str], tuple[Codes, Codes, Array, Codes]]) -> Panel:
        """The panel of hashed units, which asks again for the share of scores that pass a test, such as `> 3`."""

        def indicator(threshold: float, how: str) -> Panel:
            tiny = 1e-9 * panel.width
            test = {">": f"> {threshold + tiny!r}", ">=": f">= {threshold - tiny!r}"}
            task, cell, total, times = sums(test.get(how, f"<= {threshold + tiny!r}"))
            flat = self.place(task if self.renamed is None else self.renamed[task], cell)
            passed = np.full(panel.scores.size, np.nan)
            passed[flat[flat >= 0]] = (total / times)[flat >= 0]
            z = passed.reshape(panel.scores.shape)
            if how == "floor":
                z = np.where(np.isnan(z) & np.isfinite(z).any((1, 3), keepdims=True), 1.0, z)
            return replace(panel, scores=z, scale=(0.0, 1.0), two_valued=True, indicator=None)

        return replace(panel, indicator=indicator)

    def lengths(self) -> Array | None:
        """Logarithm of the length of each answer, (tasks, systems, languages)."""
        if self.length is None or not (self.length > 0).any():
            return None
        rows = self.length > 0
        shape = self.shape[:3]
        flat = np.ravel_multi_index((self.task[rows], *(self.of(a)[rows] for a in AXES[:2])), shape)
        size = int(np.prod(shape))
        times = np.bincount(flat, minlength=size)
        total = np.bincount(flat, np.log(self.length[rows]), minlength=size)
        return np.where(times > 0, total / np.maximum(times, 1), np.nan).reshape(shape)

    def joined(self, axis: str) -> int:
        """The most labels of an axis that one task has."""
        size = len(self.labels[axis])
        pairs = distinct(self.task * size + self.of(axis), len(self.labels["task"]) * size)
        return int(np.bincount(pairs // size).max())

    def alike_by_name(self) -> bool:
        """Whether tasks whose names begin alike are scored alike, as parts of one document are."""
        fronts = [re.sub(r"[-_:/.]+[^-_:/.]*$", "", x) for x in self.labels["task"]]
        groups, at = np.unique(fronts, return_inverse=True)
        n, g = len(fronts), len(groups)
        if not 5 <= g <= n / 2:
            return False
        level = np.bincount(self.cell, self.total) / np.maximum(np.bincount(self.cell), 1)
        times = np.maximum(np.bincount(self.task, minlength=n), 1)
        means = np.bincount(self.task, self.total - level[self.cell], minlength=n) / times
        own = np.bincount(at, means) / np.bincount(at)
        within, between = float(((means - own[at]) ** 2).sum()), float((own[at] ** 2).sum() - n * means.mean() ** 2)
        return between / (g - 1) > 3 * max(within, 1e-12) / (n - g)


def distinct(numbers: Codes, size: int) -> Codes:
    """The distinct ones of whole numbers below a size, sorted."""
    if size > 20 * len(numbers) + 1_000_000:
        return np.unique(numbers)
    there = np.zeros(size, dtype=bool)
    there[numbers] = True
    return np.flatnonzero(there)


def evident(low: float, high: float) -> tuple[float, float]:
    """The usual scale that scores from `low` to `high` lie on, or just these ends.

    >>> evident(13.0, 100.0), evident(0.2, 0.9), evident(2.0, 5.0), evident(0.0, 40.0), evident(-3.0, 2.0)
    ((0.0, 100.0), (0.0, 1.0), (1.0, 5.0), (0.0, 40.0), (-3.0, 2.0))
    """
    if low >= 0 and high <= 1:
        return 0.0, 1.0
    if low >= 0 and 80 <= high <= 100:
        return 0.0, 100.0
    return (min(low, 1.0), high) if low >= 0 and high in (5, 7, 10) else (low, high)


def scale_of(levels: Array, given: tuple[float, float] | None) -> dict[str, Any]:
    """The lowest and highest score, declared or evident; whether scores are pass or fail."""
    low, high = float(levels.min()), float(levels.max())
    two = bool(np.isin(levels, (0.0, 100.0) if (low, high) == (0.0, 100.0) else (0.0, 1.0)).all())
    if given:
        return {"scale": given, "two_valued": two and (low, high) == given}
    return {"scale": evident(low, high), "two_valued": two}
