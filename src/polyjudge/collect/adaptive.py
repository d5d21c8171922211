"""Adaptive collection: buy only what an open question needs (docs/adaptive.md).

Each look of the rule is a sitting of the ordinary runner with another order of calls. What was planned, and what each
look found, is kept in the store before the next call is made, so that a run can stop anywhere and goes on with the same
decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from polyjudge.analyse.sequential import Purchase, Sequential, State, forecast
from polyjudge.collect.calls import Call, Remaining, prepare
from polyjudge.collect.items import load_items
from polyjudge.collect.plan import Plan
from polyjudge.collect.runner import Status, collect
from polyjudge.collect.store import FILE, create_store, damaged, locked, open_store, read_meta, write_meta
from polyjudge.collect.summary import Summary
from polyjudge.core.arrays import Array
from polyjudge.core.errors import CollectError

META = "adaptive"
Read = Callable[[Path], pd.DataFrame]
"""The scores of a run folder: task, [system], language, judge, score."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """What one look found, for the line that is shown."""

    look: int
    looks: int
    tasks: int
    settled: int
    open: int
    calls: int
    whole: int
    cost: float | None
    ahead: tuple[float, float, float]
    """Scores still to buy: 10th percentile, median, 90th percentile."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """An adaptive run as it stands."""

    rule: Sequential
    state: State
    summary: Summary | None
    calls: int
    whole: int
    finished: bool
    """Whether the rule has nothing left to buy."""


class InLook:
    """The calls of one purchase, task by task in the order of the rule, through all cells that are needed."""

    def __init__(
        self, remaining: Remaining, judges: Sequence[str], places: Sequence[int], cells: set[tuple[str, str, str]]
    ):
        self._calls = {judge: self._of(remaining, judge, places, cells) for judge in judges}

    @staticmethod
    def _of(
        remaining: Remaining, judge: str, places: Sequence[int], cells: set[tuple[str, str, str]]
    ) -> Iterator[Call]:
        for call in remaining.of(judge, places):
            if (call.key.system, call.key.language, judge) in cells:
                yield call

    def take(self, judge: str) -> Call | bool:
        """The judge's next call; False: none any more."""
        return next(self._calls[judge], False)

    def settle(self, call: Call, score: float | None) -> None:
        """Nothing waits for an answer inside a look."""

    def leave(self, judge: str) -> None:
        """A judge makes no more calls in this sitting."""
        self._calls[judge] = iter(())


class _Work:
    """A plan seen by the rule: its tasks in the order of buying, its systems, its clusters."""

    def __init__(self, plan: Plan, rule: dict[str, Any]) -> None:
        aligned = load_items(plan)
        self.plan = plan
        self.tasks = list(dict.fromkeys(name.task for name in aligned.names))
        self.systems = list(dict.fromkeys(name.system for name in aligned.names))
        first = {
            name.task: cluster
            for name, cluster in zip(reversed(aligned.names), reversed(aligned.clusters), strict=True)
        }
        labels = [first[task] or f"\0{task}" for task in self.tasks]
        codes = np.unique(labels, return_inverse=True)[1]
        named = [s for s in self.systems if s]
        self.rule = Sequential(
            languages=tuple(language.name for language in plan.languages),
            judges=tuple(judge.name for judge in plan.judges),
            systems=tuple(named) if len(named) > 1 else (),
            tasks=len(self.tasks),
            **rule,
        )
        clustered = any(first.values())
        order = self.rule.order(codes if clustered else None)
        self.order = [self.tasks[i] for i in order]
        self.clusters: NDArray[np.int64] | None = codes[order] if clustered else None
        self._places: dict[str, list[int]] = {}
        for place, name in enumerate(aligned.names):
            self._places.setdefault(name.task, []).append(place)

    def places(self, purchase: Purchase) -> list[int]:
        """Items of the tasks to buy, in order."""
        return [p for task in self.order[purchase.start : purchase.stop] for p in self._places[task]]

    def cells(self, purchase: Purchase) -> set[tuple[str, str, str]]:
        """(system, language, judge) to buy."""
        out = set()
        for s, l, b in zip(*np.nonzero(purchase.cells), strict=True):  # noqa: E741
            systems = [self.rule.systems[s]] if self.rule.systems else self.systems
            out |= {(system, self.rule.languages[l], self.rule.judges[b]) for system in systems}
        return out

    def scores(self, frame: pd.DataFrame, tasks: int) -> Array:
        """(tasks, s, k, m) in the order of buying, NaN where there is no score."""
        systems = self.rule.systems or ("",)
        shape = (tasks, len(systems), len(self.rule.languages), len(self.rule.judges))
        place = {task: i for i, task in enumerate(self.order[:tasks])}
        frame = frame[frame["task"].isin(place)]
        column = frame["system"] if self.rule.systems else pd.Series("", index=frame.index)
        at = [
            frame["task"].map(place),
            column.map({s: i for i, s in enumerate(systems)}),
            frame["language"].map({x: i for i, x in enumerate(self.rule.languages)}),
            frame["judge"].map({x: i for i, x in enumerate(self.rule.judges)}),
        ]
        value = frame["score"].to_numpy(dtype=float)
        index = np.ravel_multi_index([a.to_numpy(dtype=np.int64) for a in at], shape)
        there = ~np.isnan(value)
        count = np.bincount(index[there], minlength=int(np.prod(shape)))
        total = np.bincount(index[there], weights=value[there], minlength=int(np.prod(shape)))
        out: Array = np.where(count > 0, total / np.maximum(count, 1), np.nan).reshape(shape)
        return out


def collect_until(
    plan: Plan,
    folder: str | Path,
    settings: dict[str, Any],
    read: Read,
    *,
    max_cost: float | None = None,
    watch: Callable[[list[Status]], None] | None = None,
    tell: Callable[[Look], None] | None = None,
    send_key: Sequence[str] = (),
) -> Outcome:
    """Collect until every question is settled, all is bought, or the money is spent. Goes on where it stopped.

    settings : of `Sequential`: matters, questions, level, threshold, at_least, first, seed
    read : reads the scores of the run folder
    tell : called after every look
    """
    folder = Path(folder)
    work = _Work(plan, settings)
    state = _planned(folder, work, settings)
    summary: Summary | None = None
    whole = len(work.tasks) * max(1, len(work.systems)) * len(work.rule.languages) * len(work.rule.judges)
    while (purchase := work.rule.next(state)) is not None:
        places, cells = work.places(purchase), work.cells(purchase)
        names = [judge.name for judge in plan.judges]
        summary = collect(
            plan,
            folder,
            max_cost,
            watch,
            send_key=send_key,
            order=lambda remaining: InLook(remaining, names, places, cells),  # noqa: B023  # used at once
        )
        if _unanswered(folder, plan, places, cells):
            return Outcome(
                rule=work.rule, state=state, summary=summary, calls=_bought(folder), whole=whole, finished=False
            )
        scores = work.scores(read(folder), purchase.stop)
        clusters = None if work.clusters is None else work.clusters[: purchase.stop]
        state = work.rule.look(state, scores, clusters)
        _keep(folder, settings, work, state)
        if tell is not None:
            ahead = forecast(work.rule, scores, state, clusters, runs=10) if work.rule.next(state) else (0.0, 0.0, 0.0)
            still = int(state.open.sum())
            tell(
                Look(
                    look=state.look,
                    looks=len(work.rule.looks),
                    tasks=purchase.stop,
                    settled=len(state.verdict) - still,
                    open=still,
                    calls=_bought(folder),
                    whole=whole,
                    cost=summary.cost,
                    ahead=ahead,
                )
            )
    return Outcome(rule=work.rule, state=state, summary=summary, calls=_bought(folder), whole=whole, finished=True)


def expected(plan: Plan, settings: dict[str, Any], pilot: Array) -> tuple[Sequential, tuple[float, float, float], int]:
    """Before a run: the rule, the scores it is expected to buy (10th, 50th, 90th percentile), and all there are.

    pilot : (n, k, m) or (n, s, k, m) scores of the plan's languages and judges
    """
    work = _Work(plan, settings)
    rule = work.rule
    if pilot.shape[-2:] != (len(rule.languages), len(rule.judges)):
        raise CollectError("The pilot must have the plan's languages and judges.")
    if rule.systems and (pilot.ndim != 4 or pilot.shape[1] != len(rule.systems)):
        raise CollectError("The pilot must have the plan's systems.")
    whole = rule.tasks * max(1, len(work.systems)) * len(rule.languages) * len(rule.judges)
    return rule, forecast(rule, pilot), whole


def _planned(folder: Path, work: _Work, settings: dict[str, Any]) -> State:
    """The state in the store; a new run notes what it plans before the first call."""
    with locked(folder):
        con = create_store(folder)
        try:
            with damaged(folder / FILE):
                kept = read_meta(con, META)
                if kept is None:
                    if con.execute("select 1 from answers limit 1").fetchone():
                        raise CollectError(
                            "This run was begun without --until. Answers bought in another order cannot be looked at "
                            "with a guarantee: use a new folder (-o)."
                        )
                    write_meta(con, META, _note(settings, work, work.rule.start()))
                    return work.rule.start()
        finally:
            con.close()
    now = _note(settings, work, work.rule.start())
    changed = [name for name in ("settings", "looks", "order") if kept.get(name) != now[name]]
    if changed:
        raise CollectError(
            f"This run was planned with other {changed[0]}: looks are never moved after seeing results. Go on with the "
            "same options and items, or use a new folder (-o)."
        )
    return State.from_dict(kept["state"])


def _note(settings: dict[str, Any], work: _Work, state: State) -> dict[str, Any]:
    return {
        "settings": settings,
        "looks": list(work.rule.looks),
        "order": work.order,
        "state": state.to_dict(),
        "tasks": 0 if state.look == 0 else work.rule.looks[state.look - 1],
    }


def _keep(folder: Path, settings: dict[str, Any], work: _Work, state: State) -> None:
    with locked(folder):
        con = create_store(folder)
        try:
            with damaged(folder / FILE):
                write_meta(con, META, _note(settings, work, state))
        finally:
            con.close()


def _unanswered(folder: Path, plan: Plan, places: Sequence[int], cells: set[tuple[str, str, str]]) -> bool:
    """Whether a call of the purchase has no answer yet (a judge set aside, money spent, calls given up)."""
    con = open_store(folder)
    try:
        remaining = Remaining(con, prepare(plan))
        return any(
            (call.key.system, call.key.language, judge.name) in cells
            for judge in plan.judges
            for call in remaining.of(judge.name, places)
        )
    finally:
        con.close()


def _bought(folder: Path) -> int:
    """Scores bought so far, whatever number of calls each took."""
    con = open_store(folder)
    try:
        rows = "select distinct task, system, replicate, repeat, language, judge from answers"
        return int(con.execute(f"select count(*) from ({rows})").fetchone()[0])
    finally:
        con.close()


def with_defaults(settings: dict[str, Any], scale: tuple[float, float]) -> dict[str, Any]:
    """Settings with `matters` at 2% of the scale (of 100 percentage points for a gate) where it is not given."""
    if settings.get("matters") is None:
        width = 100.0 if settings.get("threshold") is not None else scale[1] - scale[0]
        settings = {**settings, "matters": 0.02 * width}
    return settings
