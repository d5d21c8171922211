"""What a reader asks of the engine that holds the rows. Two engines answer: DuckDB in SQL, any other through Ibis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.labels import clean

if TYPE_CHECKING:
    from polyjudge.second.panel.shown import Shown

Duplicates = Literal["error", "mean", "first"]
Codes = NDArray[np.int64]
Cells = dict[str, NDArray[Any]]
"""Columns of the cells: language, judge, [system], [replicate], rows, scored, text, unlabelled, total, low, high,
[first]."""
COUNTS, SUMS = ("rows", "scored", "text", "unlabelled"), ("total", "low", "high")
AXES = ("language", "judge", "system", "replicate", "group")

HASH = "first 32 bits of MD5 of the task label, modulo the number of units"
"""How a task finds its unit beyond `max_units`; with clusters, how a cluster does. The same in every engine."""

ODD = "[^ -~]|^ | $|  "
"""Names that may look like others: signs that are not ASCII, spaces that are not seen."""

GREW = "{where} grew while it was read. Read it again, or from a snapshot."


@dataclass(frozen=True)
class Labels:
    """Labels of the axes in the order the panel will have; empty where the table has no such column."""

    language: tuple[str, ...]
    judge: tuple[str, ...]
    replicate: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    system: tuple[str, ...] = ()
    by_task: bool = False
    """Groups divide the tasks, not the rows inside them."""

    def used(self) -> list[str]:
        """The axes that the table has."""
        return [axis for axis in AXES if getattr(self, axis)]

    def entry_axes(self) -> list[str]:
        """The axes that tell the entries of a task apart."""
        return [axis for axis in self.used() if axis != "group" or not self.by_task]

    def entries_per_task(self) -> int:
        """How many scores a task has that lacks none."""
        return int(np.prod([len(getattr(self, axis)) for axis in self.used() if axis != "group"]))

    def units_per_group(self, size: int) -> int:
        """How many of `size` hashed units each group of tasks has."""
        return max(size // len(self.group), 1) if self.by_task else size


@dataclass(frozen=True)
class Units:
    """The first axis: tasks in order with one row each, or numbered units with their number of tasks.

    `mark` is the exclusive or of the tasks' hashes in each unit: a cell that holds every task of its unit once has the
    same mark and as many rows as the unit has tasks. `cluster` holds each unit's index into `clusters`: a cluster is
    hashed as a whole, so it lies in one unit, or in one unit of each group. `places` are the units' numbers by their
    hash, rising: units that no task fell into are left out.
    """

    size: int
    hashed: bool
    labels: tuple[str, ...] = ()
    weights: Array | None = None
    group: Codes | None = None
    mark: Codes | None = None
    clusters: tuple[str, ...] = ()
    cluster: Codes | None = None
    places: Codes | None = None

    def at(self, places: Codes, where: str) -> Codes:
        """The units at the places that a hash gave."""
        assert self.places is not None
        found = np.searchsorted(self.places, places)
        if found.max(initial=0) >= self.size or not np.array_equal(self.places[found], places):
            raise PanelError(GREW.format(where=where))
        return found

    @staticmethod
    def by_hash(places: Codes, weights: Array, mark: Codes, each: int, labels: Labels, clustered: bool) -> Units:
        """Units by the place their hash gave them, `each` in a group. A cluster may lie in units of several groups."""
        used, cluster = np.unique(places % each, return_inverse=True) if clustered else ((), None)
        clusters = tuple(f"cluster{i + 1}" for i in range(len(used)))
        names = tuple(f"unit{i + 1}" for i in range(len(places)))
        group = places // each if labels.by_task else None
        return Units(len(places), True, names, weights, group, mark, clusters, cluster, places)


@dataclass(frozen=True)
class Entries:
    """The grouped scores: codes of unit, language, judge, system, replicate, group; sum and number of scores."""

    codes: dict[str, Codes]
    total: Array
    rows: Codes
    mark: Codes | None = None


@dataclass(frozen=True)
class Found:
    """One row worth showing in an error message."""

    place: str
    text: str

    @staticmethod
    def at(raw: Any, task: Any, language: Any, judge: Any) -> Found:
        """A row by its labels, where rows have no number."""
        labels = {"task": task, "language": language, "judge": judge}
        return Found(", ".join(f"{axis} {clean(x, 40)}" for axis, x in labels.items() if x), clean(raw, 40))


def cells_of(columns: Mapping[str, Sequence[Any]]) -> Cells:
    """Columns of the cells as arrays; what is missing is None among labels and NaN among numbers."""
    kinds: dict[str, Any] = dict.fromkeys(COUNTS, np.int64) | dict.fromkeys(SUMS, np.float64)
    return {name: np.array([*values], kinds.get(name, object)) for name, values in columns.items()}


def coded(values: Sequence[str]) -> tuple[tuple[str, ...], Codes]:
    """The different values in the order of their first appearance, and the place of each value among them."""
    place = {value: i for i, value in enumerate(dict.fromkeys(values))}
    return tuple(place), np.array([place[value] for value in values], np.int64)


class Engine(Protocol):
    """The questions, in the order they are asked. Every answer is small: a grouped result, never the rows."""

    where: str
    ordered: bool

    def cells(self) -> Cells:
        """How many rows each cell has, and its scores summed up."""

    def keep(self, axis: str, wanted: list[str]) -> None:
        """From now on read only the rows with these labels."""

    def relabel(self, axis: str, names: Mapping[str, str]) -> None:
        """From now on these other spellings of labels are those labels."""

    def groups(self) -> tuple[list[str], bool]:
        """Labels of the groups in order, and whether every task lies in one of them."""

    def split_cluster(self) -> str | None:
        """A task whose rows lie in several clusters, or None."""

    def count_tasks(self) -> int:
        """Number of different tasks."""

    def odd_tasks(self, most: int, among: Sequence[str] = ()) -> list[str]:
        """Tasks whose names are `ODD`, or that are among these; at most so many."""

    def tasks(self, labels: Labels) -> Units:
        """One unit per task."""

    def hashed_units(self, size: int, labels: Labels) -> Units:
        """Tasks hashed into units."""

    def entries(self, units: Units, labels: Labels, duplicates: Duplicates) -> Entries:
        """The grouped scores."""

    def shown(self) -> Shown | None:
        """Verdicts on pairs in the order of showing, where that is known; asked after the tasks."""

    def drop_incomplete(self, labels: Labels) -> int:
        """Leave out every task that does not have each language, judge, system and replicate; return how many."""

    def find(self, what: str, limits: tuple[float, float] | None = None, most: int = 5) -> list[Found]:
        """The first rows with `what`: "text", "not finite", "unlabelled", "outside"."""

    def find_duplicates(self, most: int = 5) -> list[tuple[Any, ...]]:
        """The first keys that stand more than once, with their number of rows."""

    def finish(self) -> None:
        """Check that the source did not change, and let go of it."""
