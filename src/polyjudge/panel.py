"""Panel: scores of tasks x systems x languages x judges, and what belongs to them (METHODS 1, 14, 17).

A row is a task; where a table has more than 100,000 tasks, the engine makes rows of hashed units (all tasks of a unit
that were seen in the same cells are one row, with their number as weight and their mean as scores). `values()` reduces
any panel to one number per unit and cell: nothing later knows of rows, weights, holes or clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyjudge.base.errors import PanelError
from polyjudge.base.text import count, name, plural
from polyjudge.stats.cells import Values, complete, least_squares_cells, least_squares_systems

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
AXES = ("system", "language", "judge")
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
        import pandas as pd

        names: list[tuple[str, ...]] = []
        codes = []
        for axis in ("task", *AXES):
            if axis in frame.columns:
                code, found = pd.factorize(frame[axis].astype(str))
                names.append(tuple(map(str, found)))
            else:
                code = np.zeros(len(frame), dtype=int)
                names.append(("",))
            codes.append(code)
        shape = tuple(map(len, names))
        flat = np.ravel_multi_index(tuple(codes), shape)
        y = pd.to_numeric(frame["score"]).to_numpy(dtype=float)
        ok = np.isfinite(y)
        size = int(np.prod(shape))
        times = np.bincount(flat[ok], minlength=size)
        total = np.bincount(flat[ok], y[ok], minlength=size)
        scores = np.where(times > 0, total / np.maximum(times, 1), np.nan).reshape(shape)
        return cls.from_array(scores, tasks=names[0], systems=names[1], languages=names[2], judges=names[3], **more)

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
        tasks = round(self.weight.sum())
        parts = [count(tasks, "task")]
        parts += [count(s, "system")] if s > 1 else []
        parts += [count(k, self.noun)] if k > 1 else []
        parts += [count(m, "judge")]
        seen = round((np.isfinite(self.scores).sum((1, 2, 3)) * self.weight).sum())
        gone = tasks * s * k * m - seen
        low, high = self.scale
        left = f"{gone:,} of {gone + seen:,} missing" if gone else "none missing"
        kind = f"scores from {low:g} to {high:g}" if not self.two_valued else f"scores, {low:g} or {high:g}"
        more = f" {count(self.units, 'cluster')}." if self.clustered else ""
        return f"{' x '.join(parts)}: {seen:,} {kind}, {left}.{more}"

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
