"""Panel: the labelled array unit x language x judge (x replicate) that every analysis takes. Validated here, once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from polyjudge.core.arrays import Array, tie_gap, unit_mean
from polyjudge.core.errors import PanelError
from polyjudge.core.labels import clean

Labels = tuple[str, ...]

FARTHEST = 1e100
"""Scores beyond it, or closer together than one part of it, would overflow or vanish when they are squared."""


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
            codes, used = _recode(self.task[tasks])
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

    Parameters
    ----------
    scores : (n, k, m) mean over replicates; NaN is a missing entry
    tasks, languages, judges : labels of the three axes, unique
    replicates : labels of the fourth axis; empty when replicates were not kept
    replicate_scores : (n, k, m, r) with NaN for missing, or None
    counts : (n, k, m) number of rows averaged into each entry, 0 where it is missing
    weights : (n,) number of tasks in each unit (1 unless tasks were hashed into units)
    grouping : strata of tasks, or of rows inside tasks
    declared_range : (low, high) of the score scale when the user gave it
    observed_range : smallest and largest single score; taken from the arrays when not given
    notes : what the reader did to the rows that a person should know (averaged duplicates, dropped rows, ...)

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
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        put = object.__setattr__
        scores = np.ascontiguousarray(self.scores, dtype=np.float64)
        put(self, "scores", scores)
        if self.weights is None:
            put(self, "weights", np.ones(len(scores)))
        if self.counts is None:
            rows = (
                np.isfinite(scores) if self.replicate_scores is None else np.isfinite(self.replicate_scores).sum(axis=3)
            )
            put(self, "counts", _rows_of_units(rows.astype(np.int64), self.weights))
        _check(self)
        if self.observed_range is None:
            values = scores if self.replicate_scores is None else self.replicate_scores
            put(self, "observed_range", (float(np.nanmin(values)), float(np.nanmax(values))))
        for array in (scores, self.counts, self.weights, self.replicate_scores):
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
        **more: Any,
    ) -> Panel:
        """A panel from an array (n, k, m) or (n, k, m, r). Labels default to task1.., language1.., judge1.. .

        >>> Panel.from_array([[[1, 2], [3, 5]], [[2, 2], [4, 4]]]).scores.shape
        (2, 2, 2)
        """
        array = np.array(scores, dtype=np.float64)
        if array.ndim not in (3, 4):
            raise PanelError(
                f"A panel needs an array task x language x judge, or with replicates as a fourth axis; "
                f"this one has {array.ndim} axes."
            )

        def labels(given: Iterable[Any] | None, word: str, size: int) -> Labels:
            return tuple(f"{word}{i + 1}" for i in range(size)) if given is None else tuple(map(str, given))

        n, k, m = array.shape[:3]
        names = (labels(tasks, "task", n), labels(languages, "language", k), labels(judges, "judge", m))
        if array.ndim == 3:
            return cls(array, *names, **more)
        return cls(nan_mean(array), *names, labels(replicates, "replicate", array.shape[3]), array, **more)

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
        """Scores closer than this count as tied (METHODS section 7)."""
        return tie_gap(*self.range)

    @cached_property
    def complete(self) -> bool:
        """Whether every (task, language, judge) has a score."""
        return not bool(np.isnan(self.scores).any())

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

    def require_complete(self, purpose: str) -> None:
        """Raise a PanelError that shows where scores are missing, unless none is."""
        if self.complete:
            return
        missing = self.missing()
        raise PanelError(
            f"The panel is incomplete and {purpose} need every task scored in every language by every judge: "
            f"{int(missing['missing'].sum())} of {self.scores.size} entries have no score.\n"
            f"{missing_table(missing)}\n"
            "Score the missing entries, or drop the tasks, languages or judges that lack them "
            "(panel.select, or --incomplete drop)."
        )

    def missing(self) -> pd.DataFrame:
        """Cells that lack scores: language, judge, missing (tasks without a score), tasks, share; worst first."""
        lacking = np.isnan(self.scores).sum(axis=0)
        language, judge = np.nonzero(lacking)
        frame = pd.DataFrame(
            {
                "language": [self.languages[i] for i in language],
                "judge": [self.judges[i] for i in judge],
                "missing": lacking[language, judge],
                "tasks": len(self.tasks),
            }
        )
        frame["share"] = frame["missing"] / max(len(self.tasks), 1)
        return frame.sort_values("missing", ascending=False, kind="stable", ignore_index=True)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over labels, scores, counts and weights: equal for equal panels, whatever file they came from."""
        digest = hashlib.sha256()
        for labels in (self.tasks, self.languages, self.judges, self.replicates):
            for label in labels:
                digest.update(label.encode("utf-8", "surrogatepass") + b"\0")
            digest.update(b"\1")
        finest = self.scores if self.replicate_scores is None else self.replicate_scores
        for array in (finest, self.counts, self.weights):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    # --- parts and other shapes ---

    def select(
        self,
        tasks: Iterable[str] | None = None,
        languages: Iterable[str] | None = None,
        judges: Iterable[str] | None = None,
        replicates: Iterable[str] | None = None,
    ) -> Panel:
        """The part with these labels, in the order given."""
        t = _positions(tasks, self.tasks, "task")
        l = _positions(languages, self.languages, "language")  # noqa: E741
        b = _positions(judges, self.judges, "judge")
        r = _positions(replicates, self.replicates, "replicate")
        index = np.ix_(t, l, b)
        kept = None if self.replicate_scores is None else self.replicate_scores[np.ix_(t, l, b, r)]
        fewer = kept is not None and replicates is not None
        return Panel(
            nan_mean(kept) if fewer and kept is not None else self.scores[index],
            tuple(self.tasks[i] for i in t),
            tuple(self.languages[i] for i in l),
            tuple(self.judges[i] for i in b),
            tuple(self.replicates[i] for i in r),
            kept,
            None if fewer else self.counts[index],  # type: ignore[arg-type]
            self.weights[t],
            None if self.grouping is None else self.grouping.take(t, l, b),
            self.declared_range,
            notes=self.notes,
        )

    def slice(self, group: str) -> Panel:
        """The panel of one group: its tasks, or the mean over its rows of every task that has any."""
        if self.grouping is None:
            raise PanelError("This panel has no groups. Name the column that holds them: group=... or --group.")
        if group not in self.grouping.labels:
            raise PanelError(f"No group {group!r}; the groups are {_some(self.grouping.labels)}.")
        g = self.grouping.labels.index(group)
        if self.grouping.task is not None:
            return self.select(tasks=[self.tasks[i] for i in np.flatnonzero(self.grouping.task == g)])
        assert self.grouping.scores is not None
        assert self.grouping.counts is not None
        rows = self.grouping.counts[g].any(axis=(1, 2))
        return Panel(
            self.grouping.scores[g][rows],
            tuple(t for t, has in zip(self.tasks, rows, strict=True) if has),
            self.languages,
            self.judges,
            counts=self.grouping.counts[g][rows],
            weights=self.weights[rows],
            declared_range=self.declared_range,
        )

    def to_long(self) -> pd.DataFrame:
        """One row per score: task, language, judge, [replicate], [group], [weight], score. Missing entries have no row.

        `read_panel(panel.to_long())` gives the panel back. Groups of rows inside tasks are not in it: see `slice`.
        """
        finest = self.scores if self.replicate_scores is None else self.replicate_scores
        at = np.nonzero(~np.isnan(finest))
        axes = [("task", self.tasks), ("language", self.languages), ("judge", self.judges)]
        if self.replicate_scores is not None:
            axes.append(("replicate", self.replicates))
        columns: dict[str, Any] = {
            name: np.array(labels, dtype=object)[codes] for (name, labels), codes in zip(axes, at, strict=True)
        }
        if self.grouping is not None and self.grouping.task is not None:
            columns["group"] = np.array(self.grouping.labels, dtype=object)[self.grouping.task[at[0]]]
        if not np.all(self.weights == 1):
            columns["weight"] = self.weights[at[0]]
        columns["score"] = finest[at]
        return pd.DataFrame(columns)

    def with_scores(self, scores: Array, replicate_scores: Array | None = None) -> Panel:
        """The same labels, counts and weights around other scores."""
        return Panel(
            scores,
            self.tasks,
            self.languages,
            self.judges,
            self.replicates if replicate_scores is not None else (),
            replicate_scores,
            self.counts,
            self.weights,
            self.grouping if self.grouping is None or self.grouping.task is not None else None,
            notes=self.notes,
        )

    def matrix(self, cells: Array) -> pd.DataFrame:
        """A (k, m) array as a labelled language x judge table."""
        return pd.DataFrame(
            cells,
            index=pd.Index(self.languages, name="language"),
            columns=pd.Index(self.judges, name="judge"),
        )

    def __repr__(self) -> str:
        n, k, m = self.shape
        units = "tasks" if np.all(self.weights == 1) else f"units of {self.n_tasks} tasks"
        parts = [f"Panel: {n} {units} x {k} languages x {m} judges"]
        if self.replicates:
            parts[0] += f" x {len(self.replicates)} replicates"
        low, high = self.range
        parts += [
            f"  languages: {_some(self.languages)}",
            f"  judges:    {_some(self.judges)}",
            f"  scores:    {self.n_scores} in [{low:g}, {high:g}]"
            + ("" if self.declared_range else " (observed)")
            + ("" if self.complete else f", {int(np.isnan(self.scores).sum())} entries missing"),
        ]
        if self.grouping is not None:
            parts.append(f"  groups:    {_some(self.grouping.labels)} ({self.grouping.name})")
        parts += [f"  note:      {note}" for note in self.notes]
        return "\n".join(parts)


def nan_mean(replicate_scores: Array) -> Array:
    """Mean over the last axis of what is there; NaN where nothing is."""
    there = ~np.isnan(replicate_scores)
    if there.all():
        full: Array = replicate_scores.mean(axis=-1)
        return full
    count = there.sum(axis=-1)
    total = np.where(there, replicate_scores, 0.0).sum(axis=-1)
    out: Array = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return out


def missing_table(missing: pd.DataFrame, rows: int = 12) -> str:
    """The worst cells of `Panel.missing` as text."""
    lines = [
        f"  {clean(r.language)} x {clean(r.judge)}: {r.missing} of {r.tasks} tasks missing"
        for r in missing.head(rows).itertuples()
    ]
    if len(missing) > rows:
        lines.append(f"  ... and {len(missing) - rows} more cells")
    return "\n".join(lines)


def _some(labels: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(clean(label) for label in labels[:most])
    return shown if len(labels) <= most else f"{shown}, ... ({len(labels)} in all)"


def _positions(wanted: Iterable[str] | None, labels: Labels, word: str) -> NDArray[np.int64]:
    if wanted is None:
        return np.arange(len(labels))
    place = {label: i for i, label in enumerate(labels)}
    wanted = [wanted] if isinstance(wanted, str) else list(wanted)
    unknown = [w for w in wanted if w not in place]
    if unknown:
        raise PanelError(f"No {word} {_some(unknown)} in this panel; it has {_some(labels)}.")
    return np.array([place[w] for w in wanted], dtype=np.int64)


def _rows_of_units(rows: NDArray[np.int64], weights: Array) -> NDArray[np.int64]:
    """Rows behind each entry when every task of a unit has as many: (n, k, m)."""
    if np.shape(weights) != (len(rows),) or not np.all(np.isfinite(weights)):
        return rows  # refused by the check that follows
    return rows * np.maximum(np.round(weights), 1).astype(np.int64)[:, None, None]


def _recode(codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    used, new = np.unique(codes, return_inverse=True)
    return new.astype(np.int64), used


def _check(panel: Panel) -> None:
    """The one place where a panel's shape, labels and values are validated."""
    if panel.scores.ndim != 3:
        raise PanelError(f"Panel.scores must be task x language x judge; it has {panel.scores.ndim} axes.")
    for size, labels, word, least in zip(
        panel.scores.shape,
        (panel.tasks, panel.languages, panel.judges),
        ("task", "language", "judge"),
        (2, 2, 2),
        strict=True,
    ):
        if len(labels) != size:
            raise PanelError(f"{len(labels)} {word} labels for {size} {word}s.")
        broken = next((label for label in labels if any("\ud800" <= c <= "\udfff" for c in label)), None)
        if broken is not None:
            raise PanelError(
                f"The {word} label {clean(broken)!r} holds half of a surrogate pair, which is no character. Read the "
                "scores with their right encoding."
            )
        if len(set(labels)) != size:
            twice = next(label for label in labels if labels.count(label) > 1)
            raise PanelError(f"The {word} label {clean(twice)!r} stands twice.")
        if size < least:
            name = f" ({clean(labels[0])})" if labels else ""
            why = {
                "task": "the spread over tasks is what every interval comes from",
                "language": "an interaction of language and judge needs two to compare",
                "judge": "an interaction of language and judge needs two to compare",
            }[word]
            raise PanelError(
                f"A panel needs at least {least} {word}s; this one has {size}{name}: {why}. "
                f"Check that the {word} column is the right one."
            )
    if np.isinf(panel.scores).any():
        raise PanelError("A score is infinite. Remove it or leave the entry missing.")
    if not np.isfinite(panel.scores).any():
        raise PanelError("The panel has no score at all.")
    largest, spread = float(np.nanmax(np.abs(panel.scores))), float(np.nanmax(panel.scores) - np.nanmin(panel.scores))
    if largest > FARTHEST or 0 < spread < 1 / FARTHEST:
        raise PanelError(
            f"The scores reach {largest:.3g} and spread over {spread:.3g}: their squares are beyond what a computer "
            f"number holds. Rescale them, for example to 0-100."
        )
    if panel.replicate_scores is not None and panel.replicate_scores.shape != (
        *panel.scores.shape,
        len(panel.replicates),
    ):
        raise PanelError("replicate_scores must be task x language x judge x replicate with a label for each.")
    if panel.counts.shape != panel.scores.shape or np.any((panel.counts > 0) == np.isnan(panel.scores)):
        raise PanelError("counts must be 0 exactly where a score is missing.")
    if panel.weights.shape != (len(panel.tasks),) or not np.all(panel.weights > 0):
        raise PanelError("weights must be positive, one for each unit.")
