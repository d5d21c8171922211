"""Buy scores only as long as a question is open: the rule of adaptive collection (docs/methods.md, section 21).

Tasks are bought in random order, in looks planned before the first call (counts that double up to the plan). At each
look every open question gets an interval, all of them at once, at level 1 - alpha / looks, so that all claims of a run
together hold at the level asked for. A question is settled when its interval excludes 0 or lies inside +-matters. What
no open question needs is no longer bought. The rule is pure: state and scores in, state and what to buy next out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, cast, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from polyjudge.second.estimate.kernels import double_centre, draw_blocks, pair_index, stream
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.records import long_table, plain
from polyjudge.second.report.result import Result

Clusters = Sequence[int] | NDArray[np.int64]
Questions = Literal["judges", "systems", "cells", "gate"]
Verdict = Literal["open", "above", "below", "tied"]
FIRST_LOOK = 24
"""Tasks before the first look: with fewer, a resample of rare failures often has no spread at all."""
FEWEST_CHANGES = 10
"""A question with fewer tasks off its median value is not settled: what happens rarely has not been seen yet."""


def planned_looks(tasks: int, first: int = FIRST_LOOK) -> tuple[int, ...]:
    """Counts of tasks at which the rule looks: from all tasks back by halves, so that no step more than doubles.

    >>> planned_looks(600)
    (38, 75, 150, 300, 600)
    """
    looks = [tasks]
    while -(-looks[0] // 2) >= first:
        looks.insert(0, -(-looks[0] // 2))
    return tuple(looks)


@dataclass(frozen=True, kw_only=True, eq=False)
class State:
    """What is known after some looks. Plain values: `to_dict` and `from_dict` keep it in a store."""

    look: int
    """Looks taken."""
    verdict: tuple[Verdict, ...]
    """Of every question."""
    settled_at: tuple[int, ...]
    """The look (from 1) that settled each question, 0 while it is open."""
    estimate: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    """Of each question at the look that settled it, or at the last one."""
    critical: tuple[float, ...] = ()
    """Half-width over standard error at every look taken."""

    def to_dict(self) -> dict[str, Any]:
        return {name: plain(getattr(self, name)) for name in self.__dataclass_fields__}

    @classmethod
    def from_dict(cls, value: dict[str, Any]) -> State:
        """The state that `to_dict` wrote."""

        def numbers(name: str) -> tuple[float, ...]:
            return tuple(np.nan if x is None else float(x) for x in value[name])

        return cls(
            look=int(value["look"]),
            verdict=tuple(value["verdict"]),
            settled_at=tuple(int(x) for x in value["settled_at"]),
            **{name: numbers(name) for name in ("estimate", "low", "high")},
            critical=tuple(np.inf if x is None else float(x) for x in value["critical"]),
        )

    @property
    def open(self) -> NDArray[np.bool_]:
        """Which questions are open, (q,)."""
        return np.array([v == "open" for v in self.verdict], bool)


@dataclass(frozen=True, kw_only=True, eq=False)
class Purchase:
    """What to buy next: tasks `start` to `stop` of the order, in the cells that an open question needs."""

    start: int
    stop: int
    cells: NDArray[np.bool_]
    """(s, k, m) of system, language, judge; s is 1 without systems."""

    @property
    def calls(self) -> int:
        """Scores to buy, one call each and replicate."""
        return int(self.cells.sum()) * (self.stop - self.start)


@dataclass(frozen=True, kw_only=True, eq=False)
class Sequential:
    """The rule of adaptive collection as an object: state and scores in, what to buy next out.

    `order()` says in which order to take the tasks, `looks` after how many it looks. `start()` is the first state;
    `next(state)` what to buy (tasks `start` to `stop` of the order, in `cells`, (systems, languages, judges)), None at
    the end; `look(state, scores)` the state after it, with scores (tasks, languages, judges) or (tasks, systems,
    languages, judges) of all tasks so far, NaN where nothing was bought; `table(state)` the answers. A state is plain
    values: `to_dict()` and `from_dict()`.

    questions : "judges" (the order of every two judges in each language), "systems" (of every two systems in each
        language, panel mean), "cells" (the interaction of every language and judge), "gate" (the same for pass rates,
        in percentage points)
    new : where only pairs with one of these are asked, the judges (systems) that joined a run later; else empty
    tasks : how many may be bought in all
    matters : the smallest difference of interest, in points
    level : of all claims of the run together
    threshold, at_least : of the gate; a score passes when it is above (or at least) the threshold
    first : fewest tasks at the first look
    resamples, seed : of the intervals and of the order in which tasks are bought

    >>> rule = Sequential(languages=("en", "de"), judges=("a", "b"), tasks=100, matters=3.0)
    >>> rule.next(rule.start()).calls
    100
    """

    languages: tuple[str, ...]
    judges: tuple[str, ...]
    systems: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    tasks: int
    matters: float
    questions: Questions = "judges"
    level: float = 0.95
    threshold: float | None = None
    at_least: bool = False
    first: int = FIRST_LOOK
    width: float | None = None
    """Of the scale: what a failed call can move a score by."""
    guard: bool = False
    """Whether intervals allow for failures too rare to have shown."""
    resamples: int = 1000
    seed: int = 7

    def __post_init__(self) -> None:
        if self.questions not in get_args(Questions):
            raise UsageError(f"questions is one of {', '.join(get_args(Questions))}, not {self.questions!r}.")
        if self.questions == "systems" and len(self.systems) < 2:
            raise UsageError("The order of systems needs at least two of them. Name the system column, or ask judges.")
        if self.questions != "systems" and len(self.judges) < 2:
            raise UsageError("With one judge there is nobody to compare it with. Ask systems, or add a second judge.")
        if self.questions in ("cells", "gate") and len(self.languages) < 2:
            raise UsageError("How far a judge is off in a language needs two languages. Ask judges, or systems.")
        if (self.questions == "gate") != (self.threshold is not None):
            raise UsageError("A gate needs its threshold (--at), and only a gate has one.")
        if not (np.isfinite(self.matters) and self.matters > 0):
            raise UsageError(f"matters is the smallest difference you care about, above 0; not {self.matters}.")
        if self.guard and self.width is None:
            raise UsageError("A guard against rare failures needs the width of the scale.")
        if not 0.5 <= self.level < 1:
            raise UsageError(f"level is a confidence level of at least 0.5 and under 1, not {self.level}.")
        if self.tasks < self.first or self.first < 2:
            raise UsageError(
                f"Looking needs at least {max(self.first, 2)} tasks and there are {self.tasks}. "
                "Buy all of them, without --until."
            )

    # --- the plan, fixed before the first call ---

    @cached_property
    def looks(self) -> tuple[int, ...]:
        """Counts of tasks at which the rule looks."""
        return planned_looks(self.tasks, self.first)

    @property
    def alpha(self) -> float:
        """Error of one look."""
        return (1 - self.level) / len(self.looks)

    def unseen(self, units: int, alpha: float) -> float:
        """Points by which failures that have not shown on so many tasks (clusters) could move a difference: their share
        is below 1 - alpha^(1 / units), about 3 in `units`."""
        width = 100.0 if self.questions == "gate" else self.width
        return np.nan if width is None else width * (1 - alpha ** (1 / units))

    def order(self, clusters: Clusters | None = None) -> NDArray[np.int64]:
        """Positions of the tasks in the order in which they are bought; tasks of one cluster stay together."""
        rng = stream(self.seed, 0, "order of tasks")
        if clusters is None:
            return rng.permutation(self.tasks)
        codes = np.asarray(clusters)
        place = rng.permutation(int(codes.max()) + 1)[codes]
        return np.lexsort((rng.permutation(len(codes)), place))

    @cached_property
    def asked(self) -> pd.DataFrame:
        """The questions, one row each: language, first, second (empty for a cell: first is its judge)."""
        if self.questions in ("cells", "gate"):
            return long_table({"language": self.languages, "first": self.judges}, second="")
        names = np.array(self.systems if self.questions == "systems" else self.judges, object)
        i, j = self.pairs
        return long_table(
            {"language": self.languages, "first": names[i]}, second=np.tile(names[j], len(self.languages))
        )

    @cached_property
    def pairs(self) -> NDArray[np.int64]:
        """The pairs that are compared in each language, (2, pairs)."""
        names = self.systems if self.questions == "systems" else self.judges
        i, j = pair_index(len(names))
        asked = [not self.new or names[a] in self.new or names[b] in self.new for a, b in zip(i, j, strict=True)]
        return np.stack([i, j])[:, asked]

    # --- the way ---

    def start(self) -> State:
        """Nothing bought, every question open."""
        q = len(self.asked)
        nan, still = (float("nan"),) * q, ("open",) * q
        return State(look=0, verdict=cast(Any, still), settled_at=(0,) * q, estimate=nan, low=nan, high=nan)

    def needed(self, still: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """(s, k, m): what open questions need; `still` is (q,), which are."""
        k, m, s = len(self.languages), len(self.judges), max(1, len(self.systems))
        out = np.zeros((s, k, m), bool)
        if self.questions in ("cells", "gate"):  # a cell stands against all others: none can be spared
            out[:] = still.any()
            return out
        at_language, pair = np.divmod(np.flatnonzero(still), self.pairs.shape[1])
        for member in self.pairs:
            if self.questions == "systems":
                out[member[pair], at_language, :] = True
            else:
                out[:, at_language, member[pair]] = True
        return out

    def next(self, state: State) -> Purchase | None:
        """What to buy before the next look; None when all is settled or bought."""
        if state.look == len(self.looks) or not state.open.any():
            return None
        return self.purchase(state.look, state.open)

    def purchase(self, taken: int, still: NDArray[np.bool_]) -> Purchase:
        """What is bought after so many looks, with these questions open."""
        return Purchase(start=(0, *self.looks)[taken], stop=self.looks[taken], cells=self.needed(still))

    def look(self, state: State, scores: Array, clusters: Clusters | None = None) -> State:
        """The state after the next look.

        scores : (n, k, m) or (n, s, k, m) of the first n tasks of the order, n the look's count; NaN where a score
            was not bought or could not be had
        clusters : (n,) cluster of each task, when tasks are not independent
        """
        if state.look == len(self.looks):
            raise UsageError("All planned looks were taken: a look is never repeated.")
        n = self.looks[state.look]
        if len(scores) != n:
            raise UsageError(f"Look {state.look + 1} is planned at {n} tasks, not {len(scores)}.")
        which = np.flatnonzero(state.open)
        values = self.values(scores)[:, which]
        centre, se, critical = simultaneous(values, clusters, self.alpha, self.resamples, self.seed + state.look)
        units = n if clusters is None else len(np.unique(np.asarray(clusters)))
        middle = (np.nanmedian if np.isnan(values).any() else np.median)(values, axis=0)
        moved = (np.abs(values - middle) > 0).sum(axis=0)
        sure = (moved >= FEWEST_CHANGES) & np.isfinite(critical) & (se > 0)
        half = np.full(len(which), np.inf)
        half[sure] = critical * se[sure] + (self.unseen(units, self.alpha) if self.guard else 0.0)
        columns: dict[str, list[Any]] = {
            name: list(getattr(state, name)) for name in ("verdict", "settled_at", "estimate", "low", "high")
        }
        for q, value, width in zip(which, centre, half, strict=True):
            columns["estimate"][q], columns["low"][q], columns["high"][q] = value, value - width, value + width
            found: Verdict = "open"
            if abs(value) > width:
                found = "above" if value > 0 else "below"
            elif abs(value) + width < self.matters:
                found = "tied"
            if found != "open":
                columns["verdict"][q], columns["settled_at"][q] = found, state.look + 1
        return replace(
            state,
            look=state.look + 1,
            critical=(*state.critical, float(critical)),
            **{name: tuple(column) for name, column in columns.items()},
        )

    def values(self, scores: Array) -> Array:
        """What each question is about in every task, (n, q): a difference, or a cell's interaction."""
        if self.questions in ("cells", "gate"):
            return double_centre(self._means(scores)).reshape(len(scores), -1)
        return self.differences(self._means(scores))

    def differences(self, means: Array) -> Array:
        """Of the pairs that are compared, (n, q), from values of what is compared, (n, ..., items)."""
        i, j = self.pairs
        return (means[..., i] - means[..., j]).reshape(len(means), -1)

    def items(self, scores: Array) -> list[Array]:
        """Groups of questions that stop together or not at all, in their order: the values they compare, (n, items)."""
        if self.questions in ("cells", "gate"):
            return [self.values(scores)]
        return [*self._means(scores).swapaxes(0, 1)]

    def _means(self, scores: Array) -> Array:
        """Of every task the systems in each language, (n, k, s), or the judges, (n, k, m); of a gate what passes."""
        scores = np.asarray(scores, float)
        by_system = scores if scores.ndim == 4 else scores[:, None]
        if self.threshold is not None:
            passes = by_system >= self.threshold if self.at_least else by_system > self.threshold
            by_system = np.where(np.isnan(by_system), np.nan, 100.0 * passes)
        systems = self.questions == "systems"
        return by_system.mean(axis=3).swapaxes(1, 2) if systems else by_system.mean(axis=1)

    def table(self, state: State) -> pd.DataFrame:
        """The questions with their answers: language, first, second, verdict, estimate, low, high, settled_at."""
        names = ("verdict", "estimate", "low", "high", "settled_at")
        return self.asked.assign(**{name: list(getattr(state, name)) for name in names})


def simultaneous(
    values: Array, clusters: Clusters | None, alpha: float, resamples: int, seed: int
) -> tuple[Array, Array, float]:
    """Means over tasks, their standard errors, and the half-width in standard errors that holds for all at once.

    The larger of two critical values: that of the studentised bootstrap, which follows skewed tails, and that of
    Gaussian multipliers over t, which is exact for normal values, where the bootstrap of few tasks is short.

    values : (n, q); NaN where a task has no value for a question
    """
    centre, se, part, rows = _parts(values, clusters)
    g, spread = len(part), se > 0
    if g < 3 or not spread.any():
        return centre, se, np.inf
    part, rows = part[:, spread].astype(np.float32), rows[:, spread].astype(np.float32)
    even = bool(np.all(rows == rows[0]))
    largest = []
    for block in draw_blocks(g, resamples, seed):
        c = block.astype(np.float32)
        weight = 1.0 if even else c @ rows
        mean = (c @ part) / weight
        square = c @ (part * part)
        if even:
            variance = square - mean**2 / g
        else:
            variance = (square - 2 * mean * (c @ (part * rows)) + mean**2 * (c @ (rows * rows))) / weight**2
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.abs(mean) / np.sqrt(np.maximum(variance, 0.0) * (g / (g - 1)))
        largest.append(np.nan_to_num(t, posinf=np.inf).max(axis=1))
    place = min(resamples - 1, int(np.ceil((resamples + 1) * (1 - alpha))) - 1)
    skewed, normal = np.sort(np.concatenate(largest))[place], _normal_largest(part, resamples, seed)[place]
    return centre, se, float(max(skewed, normal))


def _parts(values: Array, clusters: Clusters | None) -> tuple[Array, Array, Array, Array]:
    """Means, their standard errors (0 without spread), and of every task or cluster its share of each mean's error and
    of its values, (g, q)."""
    there = ~np.isnan(values)
    sums, counts = np.where(there, values, 0.0), there.astype(float)
    if clusters is not None:
        _, codes = np.unique(np.asarray(clusters), return_inverse=True)
        size = int(codes.max()) + 1
        sums, counts = (np.stack([np.bincount(codes, x, size) for x in a.T], axis=1) for a in (sums, counts))
    g = len(sums)
    total = counts.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        centre = sums.sum(axis=0) / total
        part = (sums - centre * counts) / total
        se = np.sqrt(g / (g - 1) * (part**2).sum(axis=0))
        rows = counts / total
    spread = np.isfinite(se) & (se > 1e-12 * np.abs(values[there]).max(initial=0.0))
    return centre, np.where(spread, se, 0.0), part, rows


def _normal_largest(part: Array, resamples: int, seed: int) -> Array:
    """The largest |t| of all means if the values were normal with these correlations, sorted."""
    rng = stream(seed, 0, "multipliers")
    root = np.linalg.qr(part / np.sqrt((part * part).sum(axis=0)), mode="r")  # root' root: the correlations
    g = len(part)
    chi = np.sqrt(rng.chisquare(g - 1, resamples) / (g - 1))
    return np.sort(np.abs(rng.standard_normal((resamples, len(root))) @ root).max(axis=1) / chi)


class Replay(Result):
    """The rule run over scores that are already there: what it would have bought."""

    rule: Sequential
    state: State
    looks: pd.DataFrame
    """look, tasks, settled, open, calls (so far), share (of all calls)"""
    bought: Array
    """(n, s, k, m) in the order of buying, NaN where nothing was bought"""
    clusters: NDArray[np.int64] | None = None
    """(n,) cluster of each task, when tasks are not independent"""

    @property
    def calls(self) -> int:
        """Scores that the rule would have bought."""
        return int(self.looks["calls"].iloc[-1])

    @property
    def share(self) -> float:
        """Of the scores of the whole panel."""
        return float(self.looks["share"].iloc[-1])

    @property
    def blind_spot(self) -> dict[str, float | bool] | None:
        """Of the answer that took the fewest tasks: those tasks, and the points by which failures that have not shown
        on them could move it. None where nothing was settled or the scale is not known."""
        settled = [x for x in self.state.settled_at if x]
        tasks = self.rule.looks[min(settled) - 1] if settled else 0
        points = self.rule.unseen(tasks, 1 - self.rule.level) if tasks else np.nan
        return None if np.isnan(points) else {"tasks": tasks, "points": points, "guard": self.rule.guard}

    def differences(self) -> tuple[Array, Array]:
        """What each question is about, from all scores bought: estimate (q,) and standard error (q,)."""
        centre, se, _, _ = _parts(self.rule.values(self.bought), self.clusters)
        return centre, se

    def unbiased(self, runs: int = 1000) -> Array:
        """`differences` less what stopping adds to them, (q,).

        A question that was settled by a lucky draw is settled early and keeps the luck. The tasks of the first look
        were bought whatever they said, so their mean is unbiased; what is given is its mean over orders of the tasks
        bought that stop at the same look (Rao and Blackwell), with `runs` orders drawn.
        """
        plain_, _ = self.differences()
        groups = self.rule.items(self.bought)
        parts = np.split(np.arange(len(plain_)), len(groups))
        luck = [_first_less_all(self, v, plain_[part], part, runs) for v, part in zip(groups, parts, strict=True)]
        return plain_ + np.concatenate(luck)

    @cached_property
    def final(self) -> Array:
        """`unbiased` estimates, (q,)."""
        return self.unbiased()

    def to_frame(self) -> pd.DataFrame:
        return self.rule.table(self.state).assign(final=self.final)

    def to_dict(self) -> dict[str, Any]:
        settings = {name: plain(getattr(self.rule, name)) for name in self.rule.__dataclass_fields__}
        return {
            "settings": settings,
            "planned_looks": list(self.rule.looks),
            "looks": plain(self.looks),
            "questions": plain(self.to_frame()),
            "calls": self.calls,
            "share": self.share,
            "blind_spot": self.blind_spot,
        }


def _first_less_all(replay: Replay, values: Array, centre: Array, questions: NDArray[np.int64], runs: int) -> Array:
    """How far the mean of the first look is from that of all tasks bought, (q,), over orders that stop as the run did.

    values : (n, items) as bought, of a group of questions that stop together or not at all; centre : their differences
    """
    rule, items = replay.rule, values.shape[1]
    paired = rule.questions in ("judges", "systems")
    compared = rule.pairs.T if paired else np.zeros((items, 1), np.int64)
    at = np.array(replay.state.settled_at)[questions]
    was_open = (at == 0) | (at > np.arange(1, replay.state.look + 1)[:, None])
    stop = _stops(was_open, was_open, compared, last=True)
    taken = int(stop.max()) + 1
    counts, was_open = np.array(rule.looks[:taken]), was_open[:taken]
    values, clusters = values[: counts[-1]], None if replay.clusters is None else replay.clusters[: counts[-1]]
    units = counts if clusters is None else np.array([len(np.unique(clusters[:n])) for n in counts])
    values = rule.differences(values) if paired else values
    moved = (np.abs(values - np.nanmedian(values, axis=0)) > 0).sum(axis=0) / (~np.isnan(values)).sum(axis=0)
    parts = _bought_together(values - centre, clusters, stop, counts)
    rng = stream(rule.seed + int(questions[0]), 0, "stopping")
    error, se = _resampled(parts, units, counts, runs, rng)
    sure = (se > 0) & (moved * counts[:, None] >= FEWEST_CHANGES)  # as in the run
    half = np.full(se.shape, np.inf)
    np.multiply(se, np.array(replay.state.critical)[:taken, None], out=half, where=sure)
    if rule.guard:
        half += np.array([rule.unseen(int(x), rule.alpha) for x in units])[:, None]
    walk = error - np.take_along_axis(error, np.broadcast_to(stop, (runs, 1, len(stop))), axis=1)
    free, own = (_open(np.abs(centre + x), half, rule.matters) for x in (error, walk))
    each = np.arange(len(stop))
    own[:, stop, each] = was_open[stop, each]  # all tasks are in: what they say does not depend on their order
    same = _stops(free, own, compared, last=taken == len(rule.looks) or bool(was_open[-1].any())) == stop
    share = same.mean(axis=0)
    # Over all orders the difference is 0 on average, so it need not be measured where every order stops alike.
    return ((same - share) * walk[:, 0]).mean(axis=0) / np.where(share > 0, share, 1.0)


def _bought_together(
    compared: Array, clusters: NDArray[np.int64] | None, stop: NDArray[np.int64], counts: NDArray[np.int64]
) -> list[Array]:
    """What tasks or clusters add to the errors of the questions, at every look (units, q): those that all questions
    still bought have in common, so that what belongs to a task stays together, with the spread of all that each has."""

    def sums(rows: int) -> Array:
        x = np.nan_to_num(compared[:rows])
        if clusters is None:
            return x
        codes = np.unique(clusters[:rows], return_inverse=True)[1]
        return np.stack([np.bincount(codes, column) for column in x.T], axis=1)

    whole = (sums(len(compared)) ** 2).sum(axis=0) / counts[stop]
    out = []
    for look in range(len(counts)):
        rows = counts[stop[stop >= look].min()]
        part = sums(rows)
        part = part - part.mean(axis=0)
        spread = (part**2).sum(axis=0) / rows
        scale = np.sqrt(np.divide(whole, spread, out=np.zeros_like(whole), where=(spread > 0) & (stop >= look)))
        out.append(part * scale)
    return out


def _resampled(
    parts: list[Array], units: NDArray[np.int64], counts: NDArray[np.int64], runs: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Errors of the contrasts after every look, (runs, looks, q), and the standard errors that the run would see."""
    error = np.zeros((len(units), runs, parts[0].shape[1]))
    square = np.zeros_like(error)
    for look, (drawn, part) in enumerate(zip(np.diff(units, prepend=0), parts, strict=True)):
        size = len(part)
        at = rng.integers(size, size=(runs, drawn)) + size * np.arange(runs)[:, None]
        often = np.bincount(at.ravel(), minlength=size * runs).reshape(runs, size).astype(np.float64)
        error[look], square[look] = often @ part, often @ part**2
    error, square = (x.cumsum(axis=0).transpose(1, 0, 2) for x in (error, square))
    g, n = units[:, None], counts[:, None]
    se = np.sqrt(np.maximum(square - error**2 / g, 0.0) * g / np.maximum(g - 1, 1)) / n
    return error / n, se


def _open(size: Array, half: Array, matters: float) -> NDArray[np.bool_]:
    """Which questions are open after each look, (runs, looks, q), from the size of their estimates and half-widths."""
    return np.logical_and.accumulate((size <= half) & (size + half >= matters), axis=1)


def _stops(
    free: NDArray[np.bool_], own: NDArray[np.bool_], compared: NDArray[np.int64], last: bool
) -> NDArray[np.int64]:
    """The look (from 0) after which a question's scores are no longer bought, (..., q).

    free, own : (..., looks, q) which questions are open, for others and for itself; compared : (q, 1 or 2) its items
    last : whether nothing is bought after the last of these looks
    """
    used = np.zeros((len(compared), int(compared.max()) + 1))
    np.put_along_axis(used, compared, 1.0, axis=1)
    others = (free @ used)[..., compared] - free[..., None] > 0  # does another open question need the item?
    needed = others.all(axis=-1) | own
    needed[..., -1, :] &= not last
    return np.logical_and.accumulate(needed, axis=-2).sum(axis=-2)


def forecast(
    rule: Sequential, scores: Array, state: State | None = None, clusters: Clusters | None = None, runs: int = 20
) -> Array:
    """Scores still to be bought of every judge in simulated runs, (runs, m).

    scores : (n, k, m) or (n, s, k, m) bought so far, or of a pilot when `state` is None; tasks to come are drawn from
        them with replacement
    """
    by_system = scores if scores.ndim == 4 else scores[:, None]
    begun = rule.start() if state is None else state
    known = len(by_system) if begun.look else 0
    quick = replace(rule, resamples=min(rule.resamples, 300))
    usable = np.flatnonzero(~(np.isnan(by_system) & quick.needed(begun.open)).any(axis=(1, 2, 3)))
    if not len(usable):
        usable = np.arange(len(by_system))
    bought = np.zeros((runs, len(rule.judges)))
    for run in range(runs):
        future = by_system[stream(rule.seed, run, "forecast").choice(usable, rule.tasks - known)]
        every = np.concatenate([by_system[:known], future])
        now = begun
        while (purchase := quick.next(now)) is not None:
            bought[run] += purchase.cells.sum(axis=(0, 1)) * (purchase.stop - purchase.start)
            now = quick.look(
                now, every[: purchase.stop], None if clusters is None else _longer(clusters, purchase.stop)
            )
    return bought


def _longer(clusters: Clusters, size: int) -> NDArray[np.int64]:
    """Cluster codes of `size` tasks: the known ones, then new clusters as large as these are on average."""
    codes = np.asarray(clusters, dtype=np.int64)[:size]
    each = max(1, round(len(codes) / max(1, len(np.unique(codes)))))
    more = codes.max(initial=-1) + 1 + np.arange(size - len(codes)) // each
    return np.concatenate([codes, more])


def replay(
    panel: Panel,
    *,
    questions: Questions = "judges",
    matters: float | None = None,
    level: float = 0.95,
    threshold: float | None = None,
    at_least: bool = False,
    first: int = FIRST_LOOK,
    guard: bool = False,
    resamples: int = 1000,
    seed: int = 7,
) -> Replay:
    """Run the rule over a panel that is already there: what would it have bought, and claimed?

    matters : in points, 2% of the scale by default (of 100 percentage points for a gate)
    guard : allow for failures too rare to have shown

    >>> from polyjudge.second import simulate_panel
    >>> panel, _ = simulate_panel(tasks=60, languages=2, judges=3, seed=1)
    >>> 0 < replay(panel).share <= 1
    True
    """
    low, high = panel.range
    scale = 100.0 if threshold is not None else high - low
    rule = Sequential(
        languages=panel.languages,
        judges=panel.judges,
        systems=panel.systems,
        tasks=len(panel.tasks),
        matters=0.02 * scale if matters is None else matters,
        questions=questions,
        level=level,
        threshold=threshold,
        at_least=at_least,
        first=first,
        width=high - low,
        guard=guard,
        resamples=resamples,
        seed=seed,
    )
    clusters = panel.cluster if panel.clustered else None
    order = rule.order(clusters)
    scores = panel.scores if panel.system_scores is None else panel.system_scores
    return run_rule(rule, scores[order], None if clusters is None else clusters[order])


def run_rule(rule: Sequential, scores: Array, clusters: Clusters | None = None) -> Replay:
    """Buy from `scores` ((n, k, m) or (n, s, k, m), in the order of buying) until all is settled or bought."""
    by_system = scores if scores.ndim == 4 else scores[:, None]
    bought = np.full(by_system.shape, np.nan)
    codes = None if clusters is None else np.asarray(clusters)
    state = rule.start()
    while (purchase := rule.next(state)) is not None:
        part = slice(purchase.start, purchase.stop)
        bought[part] = np.where(purchase.cells, by_system[part], np.nan)
        state = rule.look(state, bought[: purchase.stop], None if codes is None else codes[: purchase.stop])
    return replay_of(rule, state, scores, codes)


def replay_of(rule: Sequential, state: State, scores: Array, clusters: NDArray[np.int64] | None = None) -> Replay:
    """What a run over `scores` that ended in `state` bought, look by look."""
    by_system = scores if scores.ndim == 4 else scores[:, None]
    bought = np.full(by_system.shape, np.nan)
    at, rows, calls = np.array(state.settled_at), [], 0
    whole = int((~np.isnan(by_system)).sum())
    for look in range(state.look):
        purchase = rule.purchase(look, (at == 0) | (at > look))
        part = slice(purchase.start, purchase.stop)
        bought[part] = np.where(purchase.cells, by_system[part], np.nan)
        calls += int((~np.isnan(bought[part])).sum())
        settled = int(((at > 0) & (at <= look + 1)).sum())
        rows.append((look + 1, purchase.stop, settled, len(at) - settled, calls, calls / whole))
    looks = pd.DataFrame(rows, columns=["look", "tasks", "settled", "open", "calls", "share"])
    return Replay(rule=rule, state=state, looks=looks, bought=bought, clusters=clusters)
