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

from polyjudge.base.errors import PanelError, UsageError
from polyjudge.base.text import count, name, plural
from polyjudge.stats.cells import Values, complete, least_squares_cells, least_squares_systems
from polyjudge.verdicts import Verdicts

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
    in_percent : scores are shares of wins, shown in percent
    texts : tasks -> frame of task, system, language, judge, score, prompt, response, reason (columns may be missing)
    indicator : threshold, how (">", ">=", "floor") -> panel of 0 and 1; set by the engine where rows are means
    pairs : verdicts on pairs of systems, of which scores are the shares that each system won; with people's votes
    order : verdicts whose order is known: task, language, judge, first, second, won (1: the first place, 0.5 tie, 0)
    length : (rows, systems, languages) log of the length of the responses
    replicates : (rows, systems, languages, judges, replicates), where there are any and the panel is small
    notes : how it was read, where that is not obvious; each one sentence
    source : as the user named it; `read` : words of the command line that name columns
    blank_tasks, blank_scores : tasks of the source without any score, which are no rows, and their missing scores
    roles : what was taken for what, in words: "judges" -> "gpt-4o, claude"; empty where a panel was not read
    question : about these roles, where one is in doubt
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
    in_percent: bool = False
    texts: Callable[[Sequence[str]], pd.DataFrame] | None = None
    indicator: Callable[[float, str], Panel] | None = None
    order: pd.DataFrame | None = None
    pairs: Verdicts | None = None
    length: Array | None = None
    replicates: Array | None = None
    notes: tuple[str, ...] = ()
    source: str = ""
    read: tuple[str, ...] = ()
    clustered: bool = False
    blank_tasks: int = 0
    blank_scores: int = 0
    roles: Mapping[str, str] = field(default_factory=dict)
    question: str = ""

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        n = len(self.scores)
        set_(self, "unit", np.arange(n) if len(self.unit) == 0 else np.unique(self.unit, return_inverse=True)[1])
        set_(self, "weight", np.ones(n) if len(self.weight) == 0 else np.asarray(self.weight, dtype=float))
        shape = (len(self.tasks), len(self.systems), len(self.languages), len(self.judges))
        if self.scores.shape != shape:
            raise PanelError(f"The scores have the shape {self.scores.shape}, and the names {shape}.")
        if not np.isfinite(self.scores).any():
            raise _no_score_error()
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
        if not np.isfinite(y).any():
            raise _no_score_error()
        return cls(
            scores=y,
            tasks=tuple(tasks or (f"t{i + 1}" for i in range(n))),
            systems=tuple(systems or (("",) if s == 1 else (f"s{i + 1}" for i in range(s)))),
            languages=tuple(languages or (("",) if k == 1 else (f"l{i + 1}" for i in range(k)))),
            judges=tuple(judges or (f"J{i + 1}" for i in range(m))),
            **scale_of(y[np.isfinite(y)], scale) | more,
        )

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, **more: Any) -> Panel:
        """A panel of a long table with the columns task, judge, score, and perhaps system and language. No guessing:
        for files and other names of columns there is `read_panel`. Repeated rows are replicates: their mean counts."""
        import pandas as pd

        labels, codes = {}, []
        for axis in ("task", *AXES):
            texts = frame[axis].astype(str) if axis in frame else pd.Series([""] * len(frame), dtype=object)
            code, distinct = pd.factorize(texts)
            labels[plural(axis)] = list(map(str, distinct))
            codes.append(code)
        scores = pd.to_numeric(frame["score"]).to_numpy(dtype=float)
        is_score = np.isfinite(scores)
        shape = tuple(len(names) for names in labels.values())
        place = np.ravel_multi_index(tuple(code[is_score] for code in codes), shape)
        # In the order of scores, so that the mean of replicates does not depend on the order of rows.
        order = np.lexsort((scores[is_score], place))
        total = np.bincount(place[order], scores[is_score][order], minlength=int(np.prod(shape)))
        times = np.bincount(place, minlength=len(total))
        means = np.where(times > 0, total / np.maximum(times, 1), np.nan)
        return cls.from_array(means.reshape(shape), **labels, **more)  # type: ignore[arg-type]

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
        return "percentage points" if self.two_valued or self.in_percent else "points"

    @property
    def factor(self) -> float:
        """What differences are multiplied by to be shown: pass or fail, and wins, are shown in percentage points."""
        return 100.0 / self.width if self.two_valued or self.in_percent else 1.0

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
        if self.pairs is None:
            return self._describe_scores()
        _, s, k, m = self.shape
        languages = f", {count(k, self.noun)}" if k > 1 else ""
        return self.pairs.describe(round(self.weight.sum()), s, languages, m)

    def _describe_scores(self) -> str:
        """How many scores there are, of what, and how many are missing."""
        _, s, k, m = self.shape
        parts = [count(round(self.weight.sum()), "task")]
        parts[0] += f" (each in one of {count(k, self.noun)})" if self.apart else ""
        parts += [count(s, "system")] if s > 1 else []
        parts += [count(k, self.noun)] if k > 1 and not self.apart else []
        parts += [count(m, "judge")]
        seen, whole = (int(x.sum()) for x in self.coverage)
        low, high = self.scale
        left = self._describe_missing(seen, whole + self.blank_scores)
        kind = f", {low:g} or {high:g}" if self.two_valued else f" from {low:g} to {high:g}"
        kind = kind if low < high else f" of {low:g}"
        runs = [1] if self.replicates is None else np.isfinite(self.replicates).sum(-1)[np.isfinite(self.scores)]
        few, many = int(np.min(runs)), int(np.max(runs))
        if many > 1:
            left = f"each the mean of {'up to ' if few < many else ''}{many} runs, {left}"
        more = f" {count(self.units, 'cluster')}." if self.clustered else ""
        return f"{(', ' if self.apart else ' x ').join(parts)}: {count(seen, 'score')}{kind}, {left}.{more}"

    def _describe_missing(self, seen: int, whole: int) -> str:
        """How many scores are missing, those of tasks without any score among them."""
        missing = f"{whole - seen:,} of {whole:,} missing" if whole > seen else "none missing"
        if not self.blank_tasks:
            return missing
        verb = "has" if self.blank_tasks == 1 else "have"
        return f"{missing} ({count(self.blank_tasks, 'more task')} {verb} no score)"

    @property
    def read_line(self) -> str:
        """What was taken for what, and what is in doubt; empty where every column has the plain name of its role."""
        listed = " · ".join(f"{role}: {text}" for role, text in self.roles.items())
        return ". ".join(part for part in (f"Read  {listed}" if listed else "", self.question) if part)

    @property
    def read_facts(self) -> tuple[str, ...]:
        """The first lines of every screen: what was read, and what was taken for what."""
        return (self.facts, self.read_line) if self.read_line else (self.facts,)

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
        indicator = self.indicator
        if indicator is not None:
            indicator = SelectedIndicator(indicator, systems, languages, judges, rows)
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
            indicator=indicator,
            pairs=None if self.pairs is None else self.pairs.select(r, s, k, m),
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
        if part.pairs is not None:
            return part.pairs.system_values(len(part.systems), part.unit)
        if part.complete:
            return complete(part.scores.mean((2, 3)), part.unit, part.weight)
        return least_squares_systems(part.scores, part.unit, part.weight)


@dataclass(frozen=True)
class SelectedIndicator:
    """The indicator of a part of a panel: the part of what the indicator of the whole panel gives."""

    indicator: Callable[[float, str], Panel]
    systems: Sequence[str] | None
    languages: Sequence[str] | None
    judges: Sequence[str] | None
    rows: NDArray[Any] | None

    def __call__(self, threshold: float, how: str) -> Panel:
        """The panel of shares."""
        whole = self.indicator(threshold, how)
        return whole.select(systems=self.systems, languages=self.languages, judges=self.judges, rows=self.rows)


def _no_score_error() -> PanelError:
    return PanelError("There is no score in this panel. Name the column of scores: score='...' (--score).")


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
    """The lowest and highest of these scores, declared or evident; whether they are pass or fail (0 and 1, 0 and 100).

    >>> scale_of(np.array([0.0, 1.0]), None), scale_of(np.array([3.0, 4.0]), None)
    ({'scale': (0.0, 1.0), 'two_valued': True}, {'scale': (3.0, 4.0), 'two_valued': False})
    """
    low, high = float(levels.min()), float(levels.max())
    pass_or_fail = (0.0, 100.0) if (low, high) == (0.0, 100.0) else (0.0, 1.0)
    is_two_valued = bool(np.isin(levels, pass_or_fail).all())
    if given:
        return {"scale": given, "two_valued": is_two_valued and (low, high) == tuple(given)}
    return {"scale": evident(low, high), "two_valued": is_two_valued}
