"""Scores in rows on their way to a panel: labels are numbers, an array is made at the end (METHODS 17)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyjudge.base.errors import PanelError
from polyjudge.panel import AXES, CELLS, Array, Codes, Panel

if TYPE_CHECKING:
    import pandas as pd

Sums = tuple[Codes, Codes, Array, Codes]
"""Rows of task, cell, sum of a value and number of scores."""


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

    def with_indicator(self, panel: Panel, sums: Callable[[str], Sums]) -> Panel:
        """The panel of hashed units, which asks again for the share of scores that pass a test, such as `> 3`."""
        return replace(panel, indicator=Indicator(panel, self, sums))

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


@dataclass
class Indicator:
    """Of a panel of hashed units: the share of scores that pass a test, asked of the engine again.

    panel : without an indicator of its own
    long : places of units and cells in its array
    sums : asks the engine; None after unpickling, as no connection can be pickled
    read, source, options : how to read the panel again
    """

    panel: Panel
    long: Long
    sums: Callable[[str], Sums] | None
    read: Callable[..., Panel] | None = None
    source: Any = None
    options: Mapping[str, Any] | None = None

    def __call__(self, threshold: float, how: str) -> Panel:
        """The panel of shares: `how` is ">", ">=" or "floor" (at most, or missing)."""
        if self.sums is None:
            self.sums = self._ask_again()
        panel, tiny = self.panel, 1e-9 * self.panel.width
        tests = {">": f"> {threshold + tiny!r}", ">=": f">= {threshold - tiny!r}"}
        task, cell, total, times = self.sums(tests.get(how, f"<= {threshold + tiny!r}"))
        renamed = self.long.renamed
        place = self.long.place(task if renamed is None else renamed[task], cell)
        shares = np.full(panel.scores.size, np.nan)
        shares[place[place >= 0]] = (total / times)[place >= 0]
        scores = shares.reshape(panel.scores.shape)
        if how == "floor":
            is_scored_elsewhere = np.isfinite(scores).any((1, 3), keepdims=True)  # by any system and judge
            scores = np.where(np.isnan(scores) & is_scored_elsewhere, 1.0, scores)
        return replace(panel, scores=scores, scale=(0.0, 1.0), two_valued=True, indicator=None)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"sums": None}

    def _ask_again(self) -> Callable[[str], Sums]:
        """Read the source once more, as it was read before."""
        if self.read is None:
            raise PanelError("This panel was copied without its source. Read it again to count what passes.")
        again = self.read(self.source, **(self.options or {})).indicator
        if not isinstance(again, Indicator) or again.panel.shape != self.panel.shape or again.sums is None:
            raise PanelError("The source of this panel has changed since it was read. Read it again.")
        return again.sums


def make_panel(
    long: Long,
    scores: Array,
    repeats: Array | None,
    scales: Sequence[Mapping[str, Any]],
    is_declared: bool,
    **parts: Any,
) -> Panel:
    """The panel of rows of scores.

    scores : (tasks, systems, languages, judges, criteria)
    scales : scale and two-valuedness of each criterion
    """
    tasks, systems, languages, judges, criteria = (tuple(labels) for labels in long.labels.values())
    parts |= {"tasks": tasks, "systems": systems, "languages": languages, "judges": judges, "length": long.lengths()}
    parts |= {key: value for key, value in (("unit", long.unit), ("weight", long.weight)) if value is not None}
    if len(criteria) == 1:
        return Panel(scores=scores[..., 0], criterion=criteria[0], replicates=repeats, **scales[0], **parts)
    of_criteria = {}
    for place, criterion in enumerate(criteria):
        own = parts | {"notes": ()}
        of_criteria[criterion] = Panel(scores=scores[..., place], criterion=criterion, **scales[place], **own)
    lows, highs = np.array([each["scale"] for each in scales]).T
    is_one_scale = is_declared or bool(highs.max() <= 2 * highs.min() and len(set(lows)) <= 2)
    ends = (float(lows.min()), float(highs.max()))
    if not is_one_scale:
        scores, ends = (scores - lows) / np.maximum(highs - lows, 1e-300), (0.0, 1.0)
        note = "Criteria are on different scales: their mean is of scores brought to 0 to 1."
        parts["notes"] = (*parts["notes"], note)
    return Panel(scores=_mean_of_criteria(scores), scale=ends, criteria=of_criteria, **parts)


def _mean_of_criteria(scores: Array) -> Array:
    """The mean over criteria, missing where one is missing that the judge uses in that language."""
    is_used = np.isfinite(scores).any((0, 1))  # languages, judges, criteria: over tasks and systems
    is_whole = np.where(is_used, np.isfinite(scores), True).all(-1) & is_used.any(-1)
    total = np.where(is_used & np.isfinite(scores), scores, 0.0).sum(-1)
    return np.where(is_whole, total / np.maximum(is_used.sum(-1), 1), np.nan)


def distinct(numbers: Codes, size: int) -> Codes:
    """The distinct ones of whole numbers below a size, sorted."""
    if size > 20 * len(numbers) + 1_000_000:
        return np.unique(numbers)
    there = np.zeros(size, dtype=bool)
    there[numbers] = True
    return np.flatnonzero(there)
