"""Adaptive collection: buy only what an open question needs (docs/adaptive.md).

Each look of the rule is a sitting of the ordinary runner with another order of calls. What was planned, and what each
look found, is kept in the store before the next call is made, so that a run can stop anywhere and goes on with the same
decisions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from polyjudge.collect.calls import Call, Remaining, prepare
from polyjudge.collect.cost import Estimate
from polyjudge.collect.database import FILE, damaged, open_store, read_meta
from polyjudge.collect.items import load_items
from polyjudge.collect.plan import Plan
from polyjudge.collect.runner import Status, collect
from polyjudge.collect.store import create_store, locked, write_meta
from polyjudge.collect.summary import ADAPTIVE, Summary, read_summary
from polyjudge.panel.arrays import Array
from polyjudge.panel.errors import CollectError
from polyjudge.panel.labels import clean
from polyjudge.panel.records import plain
from polyjudge.panel.say import Say, say
from polyjudge.questions.plan.sequential import Purchase, Sequential, State, forecast, replay_of
from polyjudge.report.result import Result

Read = Callable[[Path], pd.DataFrame]
"""The scores of a run folder: task, [system], language, judge, score."""


Range = tuple[float, float, float]
"""10th percentile, median and 90th percentile of simulated runs."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Expected(Result):
    """What an adaptive run is expected to take. `calls` of `whole`, and `money` where prices are known; None without
    earlier scores to simulate it from."""

    looks: tuple[int, ...]
    whole: int
    calls: Range | None = None
    money: Range | None = None

    def to_frame(self) -> pd.DataFrame:
        return pd.DataFrame({"look": range(1, len(self.looks) + 1), "tasks": self.looks})


class InLook:
    """The calls of one purchase, task by task in the order of the rule, through all cells that are needed."""

    def __init__(self, remaining: Remaining, places: Sequence[int], cells: set[tuple[str, str, str]]):
        def wanted(call: Call) -> bool:
            return (call.key.system, call.key.language, call.key.judge) in cells

        judges = [judge.name for judge in remaining.work.plan.judges]
        self._calls: dict[str, Iterator[Call]] = {j: filter(wanted, remaining.of(j, places)) for j in judges}

    def take(self, judge: str) -> Call | bool:
        return next(self._calls[judge], False)

    def settle(self, call: Call, score: float | None) -> None:
        """Nothing waits for an answer inside a look."""

    def leave(self, judge: str) -> None:
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
    tell: Callable[[Say], None] | None = None,
    send_key: Sequence[str] = (),
) -> Summary:
    """Collect until every question is settled, all is bought, or the money is spent. Goes on where it stopped.

    settings : of `Sequential`: matters, questions, level, threshold, at_least, first, seed
    read : reads the scores of the run folder
    tell : called after every look with what it found
    """
    folder = Path(folder)
    work = _Work(plan, settings)
    state = _planned(folder, work, settings)
    while (purchase := work.rule.next(state)) is not None:
        places, cells = work.places(purchase), work.cells(purchase)
        summary = collect(
            plan,
            folder,
            max_cost,
            watch,
            send_key=send_key,
            order=lambda remaining: InLook(remaining, places, cells),  # noqa: B023  # used at once
        )
        if _unanswered(folder, plan, places, cells):
            return summary
        scores = work.scores(read(folder), purchase.stop)
        clusters = None if work.clusters is None else work.clusters[: purchase.stop]
        state = work.rule.look(state, scores, clusters)
        _keep(folder, settings, work, state, scores, clusters)
        if tell is not None:
            tell(_line(work, state, purchase, summary, scores, clusters))
    return read_summary(folder)


def _line(
    work: _Work, state: State, purchase: Purchase, summary: Summary, scores: Array, clusters: NDArray[np.int64] | None
) -> Say:
    """What a look found, and what is still to come at the calls and the money that each score took so far.

    `calls` of `whole` are made, `saved` are not needed any more, `ahead` are still to come and will cost `money`, where
    prices are known.
    """
    judges = summary.judges
    calls, whole = (int(judges[column].sum()) for column in ("answered", "calls"))
    ahead, money, saved = (0.0, 0.0, 0.0), None, whole - calls
    if work.rule.next(state) is not None:
        bought = forecast(work.rule, scores, state, clusters, runs=10)
        had = np.maximum(1, (~np.isnan(scores)).sum(axis=(0, 1, 2)))
        each = judges["answered"].to_numpy() / had  # calls of a score
        ahead = _range(bought @ each)
        idle = (~work.rule.needed(state.open)).sum(axis=(0, 1)) * (work.rule.tasks - purchase.stop)
        saved = round(float(idle @ each))
        money = _range(bought @ (judges["cost"].to_numpy() / had)) if judges["cost"].notna().all() else None
    still = int(state.open.sum())
    return say(
        "adaptive.look",
        look=state.look,
        looks=len(work.rule.looks),
        tasks=purchase.stop,
        settled=len(state.verdict) - still,
        open=still,
        calls=calls,
        whole=whole,
        saved=saved,
        cost=summary.cost,
        ahead=ahead,
        money=money,
    )


def _range(values: Array) -> Range:
    low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
    return float(low), float(middle), float(high)


def expected(plan: Plan, settings: dict[str, Any], costs: Estimate, pilot: Array | None) -> Expected:
    """Before a run: the looks, and the calls and money it is expected to take.

    pilot : (n, k, m) or (n, s, k, m) earlier scores of the plan's languages and judges
    """
    work = _Work(plan, settings)
    rule = work.rule
    judges = costs.judges
    whole = int(judges["calls"].sum())
    if pilot is None:
        return Expected(looks=rule.looks, whole=whole)
    if pilot.shape[-2:] != (len(rule.languages), len(rule.judges)):
        raise CollectError("The pilot must have the plan's languages and judges.")
    if rule.systems and (pilot.ndim != 4 or pilot.shape[1] != len(rule.systems)):
        raise CollectError("The pilot must have the plan's systems.")
    bought = forecast(rule, pilot) / (rule.tasks * max(1, len(rule.systems)) * len(rule.languages))  # shares of all
    money = None
    if judges["cost"].notna().all():
        ends = [_range(bought @ judges[c].to_numpy()) for c in ("cost_low", "cost", "cost_high")]
        money = (ends[0][0], ends[1][1], ends[2][2])
    return Expected(looks=rule.looks, whole=whole, calls=_range(bought @ judges["calls"].to_numpy()), money=money)


def audited_scores(path: Path, plan: Plan) -> Array | None:
    """The scores that an audit's JSON remembers, (n, k, m) of the plan's languages and judges; None for other files."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))["calibrator"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    try:
        cells = np.array(kept["memory"]["cells"], dtype=float)
        languages, judges = (
            [list(map(str, kept[axis])).index(part.name) for part in parts]
            for axis, parts in (("languages", plan.languages), ("judges", plan.judges))
        )
        if cells.ndim != 3 or (np.array(kept["counts"]) != len(cells)).any():
            raise ValueError
        return cells[:, languages][:, :, judges]
    except (ValueError, KeyError, TypeError):
        raise CollectError(
            f"{clean(path, 200)} does not hold complete scores of the plan's languages and judges. Give the scores "
            "themselves: --pilot SCORES."
        ) from None


def _planned(folder: Path, work: _Work, settings: dict[str, Any]) -> State:
    """The state in the store; a new run notes what it plans before the first call."""
    now = _note(settings, work, work.rule.start())
    with locked(folder), closing(create_store(folder)) as con, damaged(folder / FILE):
        kept = read_meta(con, ADAPTIVE)
        if kept is None:
            if con.execute("select 1 from answers limit 1").fetchone():
                raise CollectError(
                    "This run was begun without --until. Answers bought in another order cannot be looked at with a "
                    "guarantee: use a new folder (-o)."
                )
            write_meta(con, ADAPTIVE, now)
            return work.rule.start()
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
        "questions": work.rule.asked.to_numpy().tolist(),
        "state": state.to_dict(),
        "tasks": 0 if state.look == 0 else work.rule.looks[state.look - 1],
    }


def _keep(
    folder: Path, settings: dict[str, Any], work: _Work, state: State, scores: Array,
    clusters: NDArray[np.int64] | None,
) -> None:  # fmt: skip
    """Note what a look found; after the last one also what all scores together say."""
    note = _note(settings, work, state)
    if work.rule.next(state) is None:
        note["final"] = plain(replay_of(work.rule, state, scores, clusters).unbiased()[0])
    with locked(folder), closing(create_store(folder)) as con, damaged(folder / FILE):
        write_meta(con, ADAPTIVE, note)


def _unanswered(folder: Path, plan: Plan, places: Sequence[int], cells: set[tuple[str, str, str]]) -> bool:
    """Whether a call of the purchase has no answer yet (a judge set aside, money spent, calls given up)."""
    with closing(open_store(folder)) as con:
        order = InLook(Remaining(con, prepare(plan)), places, cells)
        return any(order.take(judge.name) for judge in plan.judges)


def with_defaults(settings: dict[str, Any], scale: tuple[float, float]) -> dict[str, Any]:
    """Settings with `matters` at 2% of the scale (of 100 percentage points for a gate) where it is not given."""
    if settings.get("matters") is None:
        width = 100.0 if settings.get("threshold") is not None else scale[1] - scale[0]
        settings = {**settings, "matters": 0.02 * width}
    return settings
