"""Panel: the labelled array unit x (system x) language x judge (x replicate) that every analysis takes.

Validated here, once.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyjudge.second.panel.arrays import Array, mean_there, pd, tie_gap, unit_mean
from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.fill import average_systems
from polyjudge.second.panel.labels import clean, some
from polyjudge.second.panel.reading import Reading
from polyjudge.second.panel.records import long_table
from polyjudge.second.panel.say import LANGUAGE, Words, plural

if TYPE_CHECKING:
    from polyjudge.second.panel.shown import Shown

Labels = tuple[str, ...]

LEAST = 2
"""Tasks of a panel, at least. One language or one judge is a panel too: `require_crossed` asks for two of each."""
FARTHEST = 1e100
"""Scores beyond it, or closer together than one part of it, would overflow or vanish when they are squared."""

ARRAYS = {
    "system_replicates": ("task", "system", "language", "judge", "replicate"),
    "system_scores": ("task", "system", "language", "judge"),
    "replicate_scores": ("task", "language", "judge", "replicate"),
    "scores": ("task", "language", "judge"),
}
"""The arrays of a panel and their axes, the finest first."""


@dataclass(frozen=True, eq=False)
class Grouping:
    """Strata of a panel: either every task lies in one group, or the rows inside a task belong to several.

    `task` is (n,) of indices into `labels`, or None when groups divide the rows inside tasks. Then `scores` and
    `counts` are (g, n, k, m): the mean over the group's rows of each entry (NaN where it has none) and their number.
    """

    name: str
    labels: Labels
    task: NDArray[np.int64] | None = None
    scores: Array | None = None
    counts: NDArray[np.int64] | None = None

    def take(self, tasks: NDArray[np.int64], languages: NDArray[np.int64], judges: NDArray[np.int64]) -> Grouping:
        """The same strata for a part of the panel. A stratum that the part does not hold is dropped."""
        if self.task is not None:
            used, codes = np.unique(self.task[tasks], return_inverse=True)
            return Grouping(self.name, tuple(self.labels[u] for u in used), codes)
        assert self.scores is not None
        assert self.counts is not None
        index = np.ix_(np.arange(len(self.labels)), tasks, languages, judges)
        counts = self.counts[index]
        used = np.flatnonzero(counts.any(axis=(1, 2, 3)))
        return Grouping(self.name, tuple(self.labels[u] for u in used), None, self.scores[index][used], counts[used])


@dataclass(frozen=True, eq=False)
class Panel:
    """Scores of `n` units in `k` languages by `m` judges.

    scores : (n, k, m) mean over systems and replicates; NaN is a missing entry
    tasks, languages, judges : labels of the three axes, unique
    replicates : labels of the fourth axis; empty when replicates were not kept
    replicate_scores : (n, k, m, r) with NaN for missing, or None; with systems each replicate's mean over systems, so
        that its spread over replicates is the noise of `scores`
    systems : labels of what is judged; empty when the panel has no systems
    system_scores : (n, s, k, m) mean over replicates with NaN for missing, or None
    system_replicates : (n, s, k, m, r) with NaN for missing, or None: the single scores of systems with replicates
    clusters : labels of the clusters of tasks; empty when none were declared
    cluster : (n,) index of each unit's cluster. Without clusters every unit is its own: clusters are what is resampled
    looks : looks that an adaptive collection planned, after any of which it may have stopped; 0 for other panels
    absent : (k, m) cells that are missing by design (left out by the user), or None. They count as neither asked for
        nor lost nor scored, and the scale does not look at them; `scores` may hold fitted values there, so that a table
        of languages and judges has no gap
    condition : what the second axis is: "language", or whatever else the same tasks were judged under (`--by`)
    shown : verdicts in the order of showing, where the panel was read from pairs whose order is known; else None
    counts : (n, k, m) number of rows averaged into each entry, 0 where it is missing
    weights : (n,) number of tasks in each unit (1 unless tasks were hashed into units)
    grouping : strata of tasks, or of rows inside tasks
    declared_range : (low, high) of the score scale when the user gave it
    observed_range : smallest and largest single score; taken from the arrays when not given
    notes : what the reader did to the rows that a person should know (averaged duplicates, dropped rows, ...)
    reading : how the source was understood: which column was taken for what, its shape and values; None for an array

    Build one with `read_panel`, `Panel.from_array` or `simulate_panel`.
    """

    scores: Array
    tasks: Labels
    languages: Labels
    judges: Labels
    replicates: Labels = ()
    replicate_scores: Array | None = None
    counts: NDArray[np.int64] = None  # type: ignore[assignment]  # set below
    weights: Array = None  # type: ignore[assignment]  # set below
    grouping: Grouping | None = None
    declared_range: tuple[float, float] | None = None
    observed_range: tuple[float, float] = None  # type: ignore[assignment]  # set below
    notes: tuple[Words, ...] = field(default=())
    reading: Reading | None = None
    systems: Labels = ()
    system_scores: Array | None = None
    system_replicates: Array | None = None
    clusters: Labels = ()
    cluster: NDArray[np.int64] = None  # type: ignore[assignment]  # set below
    looks: int = 0
    absent: NDArray[np.bool_] | None = None
    condition: str = LANGUAGE
    shown: Shown | None = None

    def __post_init__(self) -> None:
        # Everything is set here, once; cached properties and this block write to the same dictionary.
        own = vars(self)
        own["scores"] = scores = np.ascontiguousarray(self.scores, dtype=np.float64)
        if self.weights is None:
            own["weights"] = np.ones(len(scores))
        if self.cluster is None:
            own["cluster"] = np.arange(len(scores))
        if self.counts is None:
            own["counts"] = _rows_there(self)
        if self.absent is not None:
            own["counts"] = np.where(self.absent, 0, self.counts)
        _check(self)
        if self.observed_range is None:
            seen = self.seen
            own["observed_range"] = (float(np.nanmin(seen)), float(np.nanmax(seen)))
        arrays = (scores, self.counts, self.weights, self.cluster)
        for array in (*arrays, self.replicate_scores, self.system_scores, self.system_replicates):
            if array is not None:
                array.flags.writeable = False

    @classmethod
    def from_array(
        cls,
        scores: ArrayLike,
        tasks: Iterable[Any] | None = None,
        languages: Iterable[Any] | None = None,
        judges: Iterable[Any] | None = None,
        replicates: Iterable[Any] | None = None,
        systems: Iterable[Any] | None = None,
        **more: Any,
    ) -> Panel:
        """A panel from an array (n, k, m) or (n, k, m, r); with `systems` (n, s, k, m) or (n, s, k, m, r).

        Labels default to task1.., language1.., judge1.. .

        >>> Panel.from_array([[[1, 2], [3, 5]], [[2, 2], [4, 4]]]).scores.shape
        (2, 2, 2)
        """
        try:
            array = np.array(scores, dtype=np.float64)
        except (TypeError, ValueError):
            raise PanelError("A panel needs an array of numbers, task x language x judge.") from None
        by, of, last = ("", "", "fourth") if systems is None else (" with systems", "system x ", "fifth")
        axes = 3 if systems is None else 4
        if array.ndim not in (axes, axes + 1):
            raise PanelError(
                f"A panel{by} needs an array task x {of}language x judge, or with replicates as a {last} axis; "
                f"this one has {array.ndim} axes."
            )
        n, k, m = array.shape[0], *array.shape[axes - 2 : axes]
        more |= {"tasks": _labels(tasks, "task", n), "languages": _labels(languages, "language", k)}
        more |= {"judges": _labels(judges, "judge", m)}
        replicated = array.ndim > axes
        if replicated:
            more["replicates"] = _labels(replicates, "replicate", array.shape[-1])
        if systems is not None:
            more["systems"] = tuple(map(str, systems))
        weights = np.asarray(more.get("weights", np.ones(n)), np.float64)
        return cls(**averaged(array, weights, systems is not None, replicated), **more)

    # --- what it holds ---

    @property
    def shape(self) -> tuple[int, int, int]:
        """(tasks, languages, judges)."""
        n, k, m = self.scores.shape
        return n, k, m

    @property
    def range(self) -> tuple[float, float]:
        """The score scale: as declared, else the smallest and largest score seen."""
        return self.declared_range or self.observed_range

    @property
    def tie_gap(self) -> float:
        """Scores closer than this count as tied (docs/methods.md, section 7)."""
        return tie_gap(*self.range)

    @property
    def finest(self) -> Array:
        """The finest scores the panel holds: by task, (system,) language, judge (and replicate)."""
        return next(x for name in ARRAYS if (x := getattr(self, name)) is not None)

    @property
    def replicated(self) -> bool:
        """Whether the finest scores are single replicates."""
        return self.finest.ndim - (self.system_scores is not None) == 4

    @property
    def seen(self) -> Array:
        """The same, NaN in cells that are missing by design."""
        if self.absent is None:
            return self.finest
        return np.where(self.absent[..., None] if self.replicated else self.absent, np.nan, self.finest)

    @property
    def singles(self) -> Array:
        """(n, k, m, q): the single scores behind each entry, of all systems and replicates; NaN for missing."""
        if self.system_replicates is not None:
            apart = np.moveaxis(self.system_replicates, 1, -1)
            return apart.reshape(*self.scores.shape, -1)
        if self.system_scores is not None:
            return np.moveaxis(self.system_scores, 1, -1)
        return self.scores[..., None] if self.replicate_scores is None else self.replicate_scores

    @cached_property
    def complete(self) -> bool:
        """Whether every (task, language, judge) has a score."""
        return not bool(np.isnan(self.scores).any())

    @property
    def systems_complete(self) -> bool:
        """Whether every (task, language, judge) has a score of every system."""
        return self.system_scores is None or not bool(np.isnan(self.system_scores).any())

    @property
    def whole(self) -> bool:
        """Whether every judge scored every answer of a language's own tasks."""
        return not (bool(self.lost.any()) or self.unanswered)

    @property
    def order_known(self) -> bool | None:
        """Whether the order of showing is known in both ways; None where the scores are no verdicts on pairs."""
        if self.shown is not None:
            return True
        return False if self.reading is not None and self.reading.shape == "pairs" else None

    def level_left(self, level: float) -> float:
        """The level of one interval such that, whenever an adaptive collection stopped, all looks together keep
        `level`; `level` itself for other panels."""
        return 1 - (1 - level) / max(1, self.looks)

    @property
    def clustered(self) -> bool:
        """Whether clusters of tasks were declared."""
        return bool(self.clusters)

    @property
    def n_tasks(self) -> int:
        """Number of tasks behind the units."""
        return round(float(self.weights.sum()))

    @property
    def n_scores(self) -> int:
        """Number of single scores (rows) averaged into the panel."""
        return int(self.counts.sum())

    @cached_property
    def cell_means(self) -> Array:
        """M(l, b): mean over tasks, (k, m). Needs a complete panel."""
        self.require_complete("cell means")
        return unit_mean(self.scores, self.weights)

    @cached_property
    def shared(self) -> NDArray[np.int64]:
        """(k, k): tasks that two languages have in common; on the diagonal those of each language."""
        has = np.asarray((self.counts > 0).any(axis=2), dtype=np.int64)
        return has.T @ has

    @property
    def apart(self) -> bool:
        """Whether no two languages share a task, as where each has items of its own. What compares answers to one task
        inside a language is still told; what compares languages task by task is not."""
        return len(self.languages) > 1 and not bool(np.triu(self.shared, 1).any())

    @property
    def strata(self) -> NDArray[np.int64] | None:
        """(n,) the language of each task, where every task and cluster has one; else None."""
        if not self.apart:
            return None
        of = (self.counts > 0).any(axis=2).argmax(axis=1)
        one = len(np.unique(np.stack([self.cluster, of]), axis=1).T) == len(np.unique(self.cluster))
        return of if one else None

    @cached_property
    def own(self) -> NDArray[np.bool_]:
        """(n, k): tasks that should be there in a language: its own, and those of all languages that tasks join it
        with. A task of another is not missing there."""
        joined = (self.shared > 0) | (np.diag(self.shared) == 0)  # a language without any score lacks every task
        part, before = np.arange(len(joined)), None
        while before is None or (part != before).any():
            before, part = part, np.where(joined, part, len(part)).min(axis=1)
        own = np.zeros((len(self.tasks), len(joined)), bool)
        for each in np.unique(part):
            own[:, part == each] = np.asarray((self.counts[:, part == each] > 0).any(axis=(1, 2)))[:, None]
        own[~own.any(axis=1)] = True
        return own

    def require_crossed(self) -> None:
        """Raise a PanelError unless there are two languages and two judges."""
        for labels, word in ((self.languages, "language"), (self.judges, "judge")):
            if len(labels) < 2:
                raise PanelError(
                    f"This needs at least 2 {word}s; these scores have 1 ({clean(labels[0])}): an interaction of "
                    f"language and judge needs two to compare. Check that the {word} column is the right one."
                )

    def require_complete(self, purpose: str) -> None:
        """Raise a PanelError that shows where scores are missing, unless none is."""
        if self.complete:
            return
        missing, most = self.missing(), 8
        cells = (f"{clean(r.language)} x {clean(r.judge)} {r.missing} of {r.tasks} tasks" for r in missing.itertuples())
        more = f"; and {len(missing) - most} more cells" if len(missing) > most else ""
        asked = int(self.own.sum()) * len(self.judges)
        listed = "; ".join(islice(cells, most)) + more
        lost = f"{int(missing['missing'].sum())} of {asked} entries have no score: {listed}"
        raise PanelError(
            f"The panel is incomplete and {purpose} need every task scored in every language by every judge: "
            f"{lost if len(missing) else 'no task is in all languages'}. Score them, or drop the tasks, languages or "
            "judges that lack them (panel.select or --incomplete drop)."
        )

    @cached_property
    def asked(self) -> NDArray[np.int64]:
        """Scores that should be there, (k, m). With systems those of answers that at least one judge scored: an answer
        that none did was not there to be judged."""
        if self.system_scores is not None:
            answers = (~np.isnan(self.system_scores)).any(axis=3).sum(axis=(0, 1))
        else:
            answers = self.own.sum(axis=0)
        out = np.repeat(answers[:, None], len(self.judges), axis=1)
        return out if self.absent is None else np.where(self.absent, 0, out)

    @cached_property
    def lost(self) -> NDArray[np.int64]:
        """Scores that should be there and are not, (k, m)."""
        finest = self.scores[:, None] if self.system_scores is None else self.system_scores
        out: NDArray[np.int64] = self.asked - (~np.isnan(finest)).sum(axis=(0, 1))
        return out if self.absent is None else np.where(self.absent, 0, out)

    @property
    def unanswered(self) -> int:
        """Answers (task, system, language) of a language's own tasks that no judge scored; 0 without systems."""
        if self.system_scores is None:
            return 0
        return int((np.isnan(self.system_scores).all(axis=3) & self.own[:, None]).sum())

    def missing(self) -> pd.DataFrame:
        """Cells that lack scores: language, judge, missing (tasks without a score), tasks, share; worst first."""
        lacking = (np.isnan(self.scores) & self.own[..., None]).sum(axis=0)
        lacking *= 1 if self.absent is None else ~self.absent
        n = np.broadcast_to(np.maximum(self.own.sum(axis=0), 1)[:, None], lacking.shape)
        frame = self.long(missing=lacking, tasks=n, share=lacking / n)
        frame = frame[frame["missing"] > 0]
        return frame.sort_values("missing", ascending=False, kind="stable", ignore_index=True)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over labels, scores, counts and weights: equal for equal panels, whatever file they came from."""
        digest = hashlib.sha256()
        for labels in (self.tasks, self.languages, self.judges, self.replicates):
            for label in labels:
                digest.update(label.encode("utf-8", "surrogatepass") + b"\0")
            digest.update(b"\1")
        more: tuple[Any, ...] = ()
        if self.systems or self.clusters:  # panels without either keep the digest they always had
            digest.update("\0".join((*self.systems, "\1", *self.clusters)).encode("utf-8", "surrogatepass"))
            more = (self.cluster,)
        for array in (self.finest, self.counts, self.weights, *more):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    # --- parts and other shapes ---

    def select(
        self,
        tasks: Iterable[str] | None = None,
        languages: Iterable[str] | None = None,
        judges: Iterable[str] | None = None,
        replicates: Iterable[str] | None = None,
        systems: Iterable[str] | None = None,
    ) -> Panel:
        """The part with these labels, in the order given. With one system the part is a panel without systems."""
        wanted = {"task": tasks, "language": languages, "judge": judges, "replicate": replicates, "system": systems}
        at = {axis: _positions(names, getattr(self, f"{axis}s"), axis) for axis, names in wanted.items()}
        t, l, b = at["task"], at["language"], at["judge"]  # noqa: E741
        more: dict[str, Any] = {
            f"{axis}s": tuple(getattr(self, f"{axis}s")[i] for i in places) for axis, places in at.items()
        }
        for name, axes in ARRAYS.items():
            array = getattr(self, name)
            more[name] = None if array is None else array[np.ix_(*(at[axis] for axis in axes))]
        fewer = replicates is not None or systems is not None
        if fewer:
            finest = next(more[name] for name in ARRAYS if more[name] is not None)
            more |= averaged(finest, self.weights[t], bool(self.systems), self.replicated)
        chosen = more["systems"]
        if systems is not None and len(chosen) == 1:
            more |= {"systems": (), "system_scores": None, "system_replicates": None}
        used, codes = np.unique(self.cluster[t], return_inverse=True)
        return replace(
            self,
            **more,
            counts=None if fewer else self.counts[np.ix_(t, l, b)],  # type: ignore[arg-type]
            weights=self.weights[t],
            grouping=self.grouping and self.grouping.take(t, l, b),
            observed_range=None,  # type: ignore[arg-type]  # of the part
            absent=None if self.absent is None else self.absent[np.ix_(l, b)],
            clusters=tuple(self.clusters[i] for i in used) if self.clusters else (),
            cluster=codes if self.clusters else None,  # type: ignore[arg-type]  # every task its own
            shown=self.shown and self.shown.take(t, l, b, None if systems is None else chosen),
        )

    def slice(self, group: str) -> Panel:
        """The panel of one group: its tasks, or the mean over its rows of every task that has any."""
        if self.grouping is None:
            raise PanelError("This panel has no groups. Name the column that holds them: group=... or --group.")
        if group not in self.grouping.labels:
            raise PanelError(f"No group {group!r}; the groups are {some(self.grouping.labels)}.")
        g = self.grouping.labels.index(group)
        if self.grouping.task is not None:
            return self.select(tasks=[self.tasks[i] for i in np.flatnonzero(self.grouping.task == g)])
        assert self.grouping.scores is not None
        assert self.grouping.counts is not None
        rows = np.flatnonzero(self.grouping.counts[g].any(axis=(1, 2)))
        own = {"clusters": self.clusters, "cluster": self.cluster[rows]} if self.clusters else {}
        scores, counts = self.grouping.scores[g][rows], self.grouping.counts[g][rows]
        return self._units(scores, rows, [self.tasks[i] for i in rows], counts=counts, **own)

    def _units(self, scores: Array, of: NDArray[np.int64], names: Iterable[str], **more: Any) -> Panel:
        """A panel of other units without systems, each `of` a unit of this one."""
        same = ("languages", "judges", "declared_range", "notes", "looks", "condition", "absent", "reading")
        more |= {name: getattr(self, name) for name in same}
        return Panel(scores, tuple(names), weights=self.weights[of], **more)

    def answers(self) -> tuple[list[str], list[str]]:
        """Task and system of every answer that has a score, in the order of the units of `by_system`."""
        assert self.system_scores is not None
        t, s = np.nonzero((~np.isnan(self.system_scores)).any(axis=(2, 3)))
        return [self.tasks[i] for i in t], [self.systems[j] for j in s]

    def by_system(self) -> Panel:
        """The panel whose units are the pairs of task and system that have a score, clustered by task.

        Decisions fall on a system's answer to a task, so gates, labels and pass rates count here; the task (or its
        cluster) stays what is resampled. Without systems it is the panel itself.
        """
        if self.system_scores is None:
            return self
        t, s = np.nonzero((~np.isnan(self.system_scores)).any(axis=(2, 3)))
        pairs = list(zip(*self.answers(), strict=True))
        names = [" / ".join(pair) for pair in pairs]
        if len(set(names)) < len(names):  # "a / b" + "c" and "a" + "b / c"
            names = [repr(pair) for pair in pairs]
        more: dict[str, Any] = {"clusters": self.clusters or self.tasks, "cluster": self.cluster[t]}
        if self.system_replicates is not None:
            more |= {"replicates": self.replicates, "replicate_scores": self.system_replicates[t, s]}
        if self.grouping is not None and self.grouping.task is not None:
            more["grouping"] = replace(self.grouping, task=self.grouping.task[t])
        return self._units(self.system_scores[t, s], t, names, observed_range=self.observed_range, **more)

    def to_frame(self) -> pd.DataFrame:
        """The scores as a data frame: `to_long`."""
        return self.to_long()

    def to_long(self) -> pd.DataFrame:
        """One row per score: task, [system], language, judge, [replicate], [group], [cluster], [weight], score.

        Missing entries have no row. `read_panel(panel.to_long())` gives the panel back, unless its units hold several
        tasks. Groups of rows inside tasks are not in it: see `slice`.
        """
        finest = self.finest
        at = np.nonzero(~np.isnan(self.seen))
        axes = [("task", self.tasks), ("language", self.languages), ("judge", self.judges)]
        if self.system_scores is not None:
            axes.insert(1, ("system", self.systems))
        if finest.ndim > len(axes):
            axes.append(("replicate", self.replicates))
        columns: dict[str, Any] = {
            name: np.array(labels, dtype=object)[codes] for (name, labels), codes in zip(axes, at, strict=True)
        }
        if self.grouping is not None and self.grouping.task is not None:
            columns["group"] = np.array(self.grouping.labels, dtype=object)[self.grouping.task[at[0]]]
        if self.clusters:
            columns["cluster"] = np.array(self.clusters, dtype=object)[self.cluster[at[0]]]
        if not np.all(self.weights == 1):
            columns["weight"] = self.weights[at[0]]
        columns["score"] = finest[at]
        return pd.DataFrame(columns)

    def with_scores(
        self,
        scores: Array,
        replicate_scores: Array | None = None,
        system_scores: Array | None = None,
        system_replicates: Array | None = None,
    ) -> Panel:
        """The same labels, counts, weights and clusters around other scores."""
        return replace(
            self,
            scores=scores,
            replicates=self.replicates if replicate_scores is not None else (),
            replicate_scores=replicate_scores,
            grouping=self.grouping if self.grouping is None or self.grouping.task is not None else None,
            declared_range=None,
            observed_range=None,  # type: ignore[arg-type]  # of the new scores
            systems=self.systems if system_scores is not None else (),
            system_scores=system_scores,
            system_replicates=system_replicates,
        )

    def adjusted(self, shift: Array, scale: Array | None = None, limits: tuple[float, float] | None = None) -> Panel:
        """(score - shift) / scale with the (k, m) values of each cell, cut to `limits` when given. Systems and
        replicates stay."""

        moved: dict[str, Any] = {}
        for name, axes in ARRAYS.items():
            replicated = (..., None) if axes[-1] == "replicate" else ...
            array = getattr(self, name)
            if array is not None:
                array = array - shift[replicated]
                array = array if scale is None else array / scale[replicated]
                array = array if limits is None else np.clip(array, *limits)
            moved[name] = array
        return self.with_scores(**moved)

    def bent(self, curves: Array, span: tuple[float, float], limits: tuple[float, float] | None = None) -> Panel:
        """Every single score along the curve of its cell (k, m, Q), given at even steps over `span`; means over systems
        and replicates are of the new scores."""
        grid = np.linspace(*span, curves.shape[2])

        out = self.finest.copy()
        for i, j in np.ndindex(curves.shape[:2]):
            at = (..., i, j, slice(None)) if self.replicated else (..., i, j)
            out[at] = np.interp(out[at], grid, curves[i, j])
        out = out if limits is None else np.clip(out, *limits)
        return self.with_scores(**averaged(out, self.weights, bool(self.systems), self.replicated))

    def matrix(self, cells: NDArray[Any]) -> pd.DataFrame:
        """A (k, m) array as a labelled language x judge table."""
        language, judge = self._indexes
        return pd.DataFrame(cells, language.view(), judge.view())

    @cached_property
    def _indexes(self) -> tuple[pd.Index, pd.Index]:
        """Languages and judges as pandas has them: made once, because that takes longer than a table."""
        return pd.Index(self.languages, name="language"), pd.Index(self.judges, name="judge")

    def long(self, **cells: Any) -> pd.DataFrame:
        """(k, m) arrays (or single values) as columns of a long table after language and judge."""
        return long_table({"language": self.languages, "judge": self.judges}, **cells)

    def __repr__(self) -> str:
        n, k, m = self.shape
        units = "tasks" if np.all(self.weights == 1) else f"units of {self.n_tasks} tasks"
        systems = f" x {len(self.systems)} systems" if self.systems else ""
        cells = f"{k} {plural(k, 'language', 'languages')} x {m} {plural(m, 'judge', 'judges')}"
        replicates = f" x {len(self.replicates)} replicates" if self.replicates else ""
        low, high = self.range
        gone = int((np.isnan(self.scores) & self.own[..., None]).sum())
        observed = "" if self.declared_range else " (observed)"
        lines = [
            ("systems", some(self.systems)),
            ("languages", some(self.languages)),
            ("judges", some(self.judges)),
            ("scores", f"{self.n_scores} in [{low:g}, {high:g}]{observed}" + f", {gone} entries missing" * bool(gone)),
            ("groups", f"{some(self.grouping.labels)} ({self.grouping.name})" if self.grouping else ""),
            ("clusters", str(len(self.clusters) or "")),
            *(("note", str(note)) for note in self.notes),
        ]
        head = f"Panel: {n} {units}{systems} x {cells}{replicates}"
        return "\n".join([head, *(f"  {name + ':':<10} {text}" for name, text in lines if text)])

    def _repr_html_(self) -> str:
        """For a notebook: what `repr` says, as a table."""
        head, *lines = map(escape, repr(self).split("\n"))
        rows = "".join("<tr><th>{}</th><td>{}</td></tr>".format(*line.strip().split(":", 1)) for line in lines)
        return f"<table><caption>{head}</caption>{rows}</table>"


def _labels(given: Iterable[Any] | None, word: str, size: int) -> Labels:
    return tuple(f"{word}{i + 1}" for i in range(size)) if given is None else tuple(map(str, given))


def averaged(finest: Array, weights: Array, systems: bool, replicated: bool) -> dict[str, Any]:
    """The arrays of a panel, as its arguments, from the finest scores (n, [s,] k, m[, r])."""
    mean, single = (mean_there(finest, -1), finest) if replicated else (finest, None)
    if not systems:
        return {"scores": mean, "replicate_scores": single}
    each = [average_systems(finest[..., r], weights) for r in range(finest.shape[-1])] if replicated else None
    return {
        "scores": average_systems(mean, weights),
        "replicate_scores": each and np.stack(each, axis=-1),
        "system_scores": mean,
        "system_replicates": single,
    }


def _positions(wanted: Iterable[str] | None, labels: Labels, word: str) -> NDArray[np.int64]:
    if wanted is None:
        return np.arange(len(labels))
    place = {label: i for i, label in enumerate(labels)}
    if not isinstance(wanted, Iterable):
        raise PanelError(f"select takes lists of names, not {wanted!r} for the {word}s.")
    wanted = [wanted] if isinstance(wanted, str) else list(wanted)
    unknown = [w for w in wanted if w not in place]
    if unknown:
        raise PanelError(f"No {word} {some(unknown)} in this panel; it has {some(labels)}.")
    return np.array([place[w] for w in wanted], dtype=np.int64)


def _rows_there(panel: Panel) -> NDArray[np.int64]:
    """(n, k, m): rows behind each entry, when every task of a unit has as many."""
    rows: NDArray[np.int64] = np.isfinite(panel.singles).sum(axis=-1)
    if np.shape(panel.weights) != (len(rows),) or not np.all(np.isfinite(panel.weights)):
        return rows  # refused by the check that follows
    return rows * np.maximum(np.round(panel.weights), 1).astype(np.int64)[:, None, None]


HALVES = re.compile("[\ud800-\udfff]")
"""Half of a pair that stands for one character."""


def _check(panel: Panel) -> None:
    """The one place where a panel's shape, labels and values are validated."""
    if panel.scores.ndim != 3:
        raise PanelError(f"Panel.scores must be task x language x judge; it has {panel.scores.ndim} axes.")
    axes = ((panel.tasks, "task"), (panel.languages, "language"), (panel.judges, "judge"))
    for size, (labels, word) in zip(panel.scores.shape, axes, strict=True):
        _check_labels(size, labels, word)
    if np.isinf(panel.scores).any():
        raise PanelError("A score is infinite. Remove it or leave the entry missing.")
    if not np.isfinite(panel.scores).any():
        raise PanelError("The panel has no score at all.")
    low, high = float(np.nanmin(panel.scores)), float(np.nanmax(panel.scores))
    largest, spread = max(-low, high), high - low
    if largest > FARTHEST or 0 < spread < 1 / FARTHEST:
        raise PanelError(
            f"The scores reach {largest:.3g} and spread over {spread:.3g}: their squares are beyond what a computer "
            f"number holds. Rescale them, for example to 0-100."
        )
    _check_shapes(panel)
    if panel.absent is not None and (panel.absent.shape != panel.scores.shape[1:] or panel.absent.all()):
        raise PanelError("absent must mark some cells (language x judge) as missing by design, and not all of them.")
    gone = np.isnan(panel.scores) if panel.absent is None else np.isnan(panel.scores) | panel.absent
    if panel.counts.shape != panel.scores.shape or np.any((panel.counts > 0) == gone):
        raise PanelError("counts must be 0 exactly where a score is missing.")
    if panel.weights.shape != (len(panel.tasks),) or not np.all(panel.weights > 0):
        raise PanelError("weights must be positive, one for each unit.")
    _check_clusters(panel)


def _check_labels(size: int, labels: Labels, word: str) -> None:
    if len(labels) != size:
        raise PanelError(f"{len(labels)} {word} labels for {size} {word}s.")
    if not (joined := "".join(labels)).isascii() and HALVES.search(joined):
        broken = next(filter(HALVES.search, labels))
        raise PanelError(
            f"The {word} label {clean(broken)!r} holds half of a surrogate pair, which is no character. Read the "
            "scores with their right encoding."
        )
    if len(set(labels)) != size:
        twice = next(label for label in labels if labels.count(label) > 1)
        raise PanelError(f"The {word} label {clean(twice)!r} stands twice.")
    if size < (LEAST if word == "task" else 1):
        name = f" ({clean(labels[0])})" if labels else ""
        why = ": the spread over tasks is what every interval comes from" if word == "task" else ""
        raise PanelError(
            f"A panel needs at least {LEAST if word == 'task' else 1} {word}s; this one has {size}{name}{why}. "
            f"Check that the {word} column is the right one."
        )


def _check_clusters(panel: Panel) -> None:
    if panel.cluster.shape != (len(panel.tasks),):
        raise PanelError("cluster must hold the index of a cluster for each unit.")
    most = len(panel.clusters) if panel.clusters else len(panel.tasks)
    if len(panel.cluster) and (int(panel.cluster.min()) < 0 or int(panel.cluster.max()) >= most):
        raise PanelError("cluster must hold indices into clusters.")
    if panel.clusters and len(np.unique(panel.cluster)) < 2:
        raise PanelError(
            f"All tasks lie in one cluster ({clean(panel.clusters[0])}): with one there is nothing to resample. Check "
            "that the cluster column is the right one."
        )


def _check_shapes(panel: Panel) -> None:
    if (panel.system_scores is None) != (not panel.systems):
        raise PanelError("systems and system_scores belong together: give both or neither.")
    if panel.systems and (len(set(panel.systems)) != len(panel.systems) or len(panel.systems) < 2):
        raise PanelError("A panel with systems needs at least two, each with a label of its own.")
    for name, axes in ARRAYS.items():
        array = getattr(panel, name)
        if array is not None and array.shape != tuple(len(getattr(panel, f"{axis}s")) for axis in axes):
            raise PanelError(f"{name} must be {' x '.join(axes)} with a label for each.")
    if panel.system_scores is not None and np.any(np.isnan(panel.system_scores).all(axis=1) != np.isnan(panel.scores)):
        raise PanelError("A score must be missing exactly where no system has one.")
