"""Adaptive collection: buy only what an open question needs (docs/adaptive.md).

Each look of the rule is a sitting of the ordinary runner with another order of calls. What was planned, and what each
look found, is kept in the store before the next call is made, so that a run can stop anywhere and goes on with the same
decisions.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from polyjudge.collect.calls import Call, Remaining, Work, begin
from polyjudge.collect.plan import Plan
from polyjudge.collect.runner import Asking, opened, ready, sit
from polyjudge.collect.store import ADAPTIVE, FILE, damaged, read_meta, write_meta
from polyjudge.collect.summary import Summary, summarise
from polyjudge.panel.arrays import Array
from polyjudge.panel.errors import CollectError
from polyjudge.panel.labels import clean
from polyjudge.panel.records import plain
from polyjudge.panel.say import Say, say
from polyjudge.questions.plan.sequential import Purchase, Sequential, State, forecast, replay_of
from polyjudge.report.result import Result

if TYPE_CHECKING:
    from polyjudge.collect.preview import Estimate

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


class _Bought:
    """A plan seen by the rule: its tasks in the order of buying, its systems, its clusters.

    asked : languages and judges in the order of the questions, when a run has noted them
    """

    def __init__(self, work: Work, rule: dict[str, Any], asked: dict[str, list[str]] | None = None) -> None:
        aligned, plan = work.aligned, work.plan
        self.work = work
        self.tasks = list(dict.fromkeys(name.task for name in aligned.names))
        self.systems = list(dict.fromkeys(name.system for name in aligned.names))
        first = {
            name.task: cluster
            for name, cluster in zip(reversed(aligned.names), reversed(aligned.clusters), strict=True)
        }
        labels = [first[task] or f"\0{task}" for task in self.tasks]
        codes = np.unique(labels, return_inverse=True)[1]
        named = [s for s in self.systems if s]
        asked = asked or _asked(plan)
        self.rule = Sequential(
            languages=tuple(asked["languages"]),
            judges=tuple(asked["judges"]),
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
    asking: Asking | None = None,
    *,
    tell: Callable[[Say], None] | None = None,
    **options: Any,
) -> Summary:
    """Collect until every question is settled, all is bought, or the money is spent. Goes on where it stopped.

    settings : of `Sequential`: matters, questions, level, threshold, at_least, first, seed
    read : reads the scores of the run folder
    tell : called after every look with what it found
    options : of `Asking`, such as max_cost=20
    """
    folder, asking = Path(folder), replace(asking or Asking(), **options)
    work = ready(plan, asking)
    with opened(folder) as con:
        with damaged(folder / FILE):
            bought, state = _planned(con, work, settings)
            begin(con, work, asking.retry_missing)
            write_meta(con, ADAPTIVE, {**(read_meta(con, ADAPTIVE) or {}), **_note(settings, bought, state)})
        while (purchase := bought.rule.next(state)) is not None:
            places, cells = bought.places(purchase), bought.cells(purchase)

            def order(remaining: Remaining, places: list[int] = places, cells: Any = cells) -> InLook:
                return InLook(remaining, places, cells)

            summary = sit(con, folder, work, asking, order)
            left = order(Remaining(con, work))
            if any(left.take(judge.name) for judge in plan.judges):
                return summary  # a judge set aside, money spent, calls given up
            scores = bought.scores(read(folder), purchase.stop)
            clusters = None if bought.clusters is None else bought.clusters[: purchase.stop]
            state = bought.rule.look(state, scores, clusters)
            note, so_far = _note(settings, bought, state), replay_of(bought.rule, state, scores, clusters)
            note["blind_spot"] = plain(so_far.blind_spot)
            if bought.rule.next(state) is None:  # what all scores together say
                note["final"] = plain(so_far.unbiased()[0])
            write_meta(con, ADAPTIVE, note)
            if tell is not None:
                tell(_line(bought, state, purchase, summary, scores, clusters))
        with damaged(folder / FILE):
            return summarise(con, folder, {})


def _line(
    run: _Bought, state: State, purchase: Purchase, summary: Summary, scores: Array, clusters: NDArray[np.int64] | None
) -> Say:
    """What a look found, and what is still to come at the calls and the money that each score took so far.

    `calls` of `whole` are made, `saved` are not needed any more, `ahead` are still to come and will cost `money`, where
    prices are known.
    """
    judges = summary.judges.set_index("judge").loc[list(run.rule.judges)]
    calls, whole = (int(judges[column].sum()) for column in ("answered", "calls"))
    ahead, money, saved = (0.0, 0.0, 0.0), None, whole - calls
    if run.rule.next(state) is not None:
        bought = forecast(run.rule, scores, state, clusters, runs=10)
        had = np.maximum(1, (~np.isnan(scores)).sum(axis=(0, 1, 2)))
        each = judges["answered"].to_numpy() / had  # calls of a score
        ahead = _range(bought @ each)
        idle = (~run.rule.needed(state.open)).sum(axis=(0, 1)) * (run.rule.tasks - purchase.stop)
        saved = round(float(idle @ each))
        money = _range(bought @ (judges["cost"].to_numpy() / had)) if judges["cost"].notna().all() else None
    still = int(state.open.sum())
    return say(
        "adaptive.look",
        look=state.look,
        looks=len(run.rule.looks),
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


def expected(work: Work, settings: dict[str, Any], costs: Estimate, pilot: Array | None) -> Expected:
    """Before a run: the looks, and the calls and money it is expected to take.

    pilot : (n, k, m) or (n, s, k, m) earlier scores of the plan's languages and judges
    """
    rule = _Bought(work, settings).rule
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
    if not path.is_file():
        return None
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


def _asked(plan: Plan) -> dict[str, list[str]]:
    """What is compared."""
    return {"languages": [x.name for x in plan.languages], "judges": [x.name for x in plan.judges]}


def _planned(con: sqlite3.Connection, work: Work, settings: dict[str, Any]) -> tuple[_Bought, State]:
    """The rule and the state in the store; a new run notes what it plans before the first call."""
    kept = read_meta(con, ADAPTIVE)
    if kept is None:
        bought = _Bought(work, settings)
        if con.execute("select 1 from answers limit 1").fetchone():
            raise CollectError(
                "This run was begun without --until. Answers bought in another order cannot be looked at with a "
                "guarantee: use a new folder (-o)."
            )
        return bought, bought.rule.start()
    asked, gone = _still_asked(work.plan, kept, settings)
    bought = _Bought(work, settings, asked)
    state = State.from_dict(kept["state"])
    now = _note(settings, bought, bought.rule.start())
    changed = [name for name in ("settings", "looks", "order", "systems") if kept.get(name) != now[name]]
    if changed:
        raise CollectError(
            f"This run was planned with other {changed[0]}: looks are never moved after seeing results. Go on with the "
            "same options and items, or use a new folder (-o)."
        )
    if gone:  # their questions are withdrawn; the others keep their verdicts and their level
        place = {tuple(question): i for i, question in enumerate(kept["questions"])}
        which = [place[tuple(question)] for question in now["questions"]]
        each = ("verdict", "settled_at", "estimate", "low", "high")
        kept = {**kept["state"], **{name: [kept["state"][name][i] for i in which] for name in each}}
        state = State.from_dict(kept)
    return bought, state


def _still_asked(plan: Plan, kept: dict[str, Any], settings: dict[str, Any]) -> tuple[dict[str, list[str]], list[str]]:
    """What a run that goes on compares, in the order it was begun with, and what it no longer does.

    A judge or a language may be left out where every question stands on its own. Nothing may be added: a question that
    was not asked from the start has missed looks. The order in the plan is free.
    """
    now, kind = _asked(plan), settings.get("questions", "judges")
    gone: list[str] = []
    for axis, alone in (("judges", kind == "judges"), ("languages", kind in ("judges", "systems"))):
        new = [name for name in now[axis] if name not in kept[axis]]
        lost = [name for name in kept[axis] if name not in now[axis]]
        if new:
            raise CollectError(
                f"This run compares the {axis} {clean(', '.join(kept[axis]), 200)}; {clean(', '.join(new), 200)} was "
                "not among them, and nothing can be added once looks were planned. Take it out of the plan to go on "
                "here, or give the new plan a folder of its own: polyjudge collect PLAN --until settled -o NEW_RUN"
            )
        if lost and not alone:
            raise CollectError(
                f"The plan no longer has {clean(', '.join(lost), 200)}, and in this run every question compares all "
                f"{axis} with each other. Put it back to go on, or use a new folder (-o)."
            )
        gone += lost
    return {axis: [name for name in kept[axis] if name in now[axis]] for axis in now}, gone


def _note(settings: dict[str, Any], bought: _Bought, state: State) -> dict[str, Any]:
    return {
        "settings": settings,
        "looks": list(bought.rule.looks),
        "order": bought.order,
        "languages": list(bought.rule.languages),
        "judges": list(bought.rule.judges),
        "systems": list(bought.rule.systems),
        "questions": bought.rule.asked.to_numpy().tolist(),
        "state": state.to_dict(),
        "tasks": 0 if state.look == 0 else bought.rule.looks[state.look - 1],
    }


def with_defaults(settings: dict[str, Any], scale: tuple[float, float]) -> dict[str, Any]:
    """Settings with the width of the scale (100 points for a gate), and `matters` at 2% of it where it is not given."""
    width = 100.0 if settings.get("threshold") is not None else scale[1] - scale[0]
    given = {name: value for name, value in settings.items() if value is not None}
    return {"matters": 0.02 * width, "width": width, **given}
