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
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from polyjudge.second.collect.calls import Order, Remaining, Work, begin
from polyjudge.second.collect.plan import Plan
from polyjudge.second.collect.runner import Asking, opened, ready, sit
from polyjudge.second.collect.runs import read_run
from polyjudge.second.collect.store import ADAPTIVE, FILE, damaged, read_meta, write_meta
from polyjudge.second.collect.summary import Summary, summarise
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.errors import CollectError
from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.records import plain
from polyjudge.second.panel.say import Say, say
from polyjudge.second.questions.plan.sequential import Purchase, Sequential, State, forecast, replay_of
from polyjudge.second.report.result import Result

Range = tuple[float, float, float]
"""10th percentile, median and 90th percentile of simulated runs."""


class Expected(Result):
    """What an adaptive run is expected to take. `calls` of `whole`, and `money` where prices are known; None without
    earlier scores to simulate it from."""

    looks: tuple[int, ...]
    whole: int
    calls: Range | None = None
    money: Range | None = None

    def to_frame(self) -> pd.DataFrame:
        return pd.DataFrame({"look": range(1, len(self.looks) + 1), "tasks": self.looks})


class _Tasks:
    """A plan's tasks in the order of buying, its systems, its clusters; and the rule over some of its questions."""

    def __init__(self, work: Work, settings: dict[str, Any]) -> None:
        aligned = work.aligned
        self.work, self.settings = work, settings
        self.tasks = list(dict.fromkeys(name.task for name in aligned.names))
        self.systems = list(dict.fromkeys(name.system for name in aligned.names))
        named = tuple(s for s in self.systems if s)
        self.named = named if len(named) > 1 else ()
        first: dict[str, str] = {}
        for name, cluster in zip(aligned.names, aligned.clusters, strict=True):
            first.setdefault(name.task, cluster)
        labels = [first[task] or f"\0{task}" for task in self.tasks]
        codes = np.unique(labels, return_inverse=True)[1]
        clustered = any(first.values())
        order = self.rule().order(codes if clustered else None)
        self.order = [self.tasks[i] for i in order]
        self.clusters: NDArray[np.int64] | None = codes[order] if clustered else None
        self._places: dict[str, list[int]] = {}
        for place, name in enumerate(aligned.names):
            self._places.setdefault(name.task, []).append(place)

    def rule(self, languages: Sequence[str] = (), judges: Sequence[str] = (), new: Sequence[str] = ()) -> Sequential:
        """The rule over all questions of the plan, or over those of some languages and judges."""
        asked = _asked(self.work.plan)
        return Sequential(
            languages=tuple(languages or asked["languages"]), judges=tuple(judges or asked["judges"]), new=tuple(new),
            systems=self.named, tasks=len(self.tasks), **self.settings,
        )  # fmt: skip

    def places(self, purchase: Purchase) -> list[int]:
        return [p for task in self.order[purchase.start : purchase.stop] for p in self._places[task]]

    def cells(self, rule: Sequential, purchase: Purchase) -> set[tuple[str, str, str]]:
        """(system, language, judge) to buy."""
        out = set()
        for s, l, b in zip(*np.nonzero(purchase.cells), strict=True):  # noqa: E741
            systems = [rule.systems[s]] if rule.systems else self.systems
            out |= {(system, rule.languages[l], rule.judges[b]) for system in systems}
        return out

    def scores(self, rule: Sequential, frame: pd.DataFrame, tasks: int) -> Array:
        """(tasks, s, k, m) in the order of buying, NaN where there is no score."""
        system = frame["system"] if rule.systems else pd.Series("", index=frame.index)
        axes = [
            (frame["task"], self.order[:tasks]), (system, rule.systems or ("",)),
            (frame["language"], rule.languages), (frame["judge"], rule.judges),
        ]  # fmt: skip
        shape = tuple(len(names) for _, names in axes)
        at = np.stack([pd.Index(names).get_indexer(column) for column, names in axes])
        value = frame["score"].to_numpy(dtype=float)
        there = (at >= 0).all(axis=0) & ~np.isnan(value)
        index, size = np.ravel_multi_index(tuple(at[:, there]), shape), int(np.prod(shape))
        count, total = (np.bincount(index, weights=w, minlength=size) for w in (None, value[there]))
        out: Array = np.where(count > 0, total / np.maximum(count, 1), np.nan).reshape(shape)
        return out


@dataclass
class _Part:
    """Questions that were asked together, with a level of their own, and what is known of them."""

    rule: Sequential
    state: State
    more: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        rule, state = self.rule, self.state
        axes = {name: list(getattr(rule, name)) for name in ("languages", "judges", "new")}
        asked, tasks = rule.asked.to_numpy().tolist(), (0, *rule.looks)[state.look]
        return {**axes, "questions": asked, "state": state.to_dict(), "tasks": tasks, **self.more}

    @classmethod
    def from_dict(cls, kept: dict[str, Any], tasks: _Tasks, asked: dict[str, list[str]]) -> _Part | None:
        """A part of a store. What the plan no longer asks is withdrawn: the other questions keep their verdicts and
        their level. None when no question is left."""
        languages, judges, new = (
            [name for name in kept[axis] if name in asked[among]]
            for axis, among in (("languages", "languages"), ("judges", "judges"), ("new", "judges"))
        )
        alone = len(judges) < 2 and tasks.settings.get("questions", "judges") != "systems"
        if not languages or not judges or alone or (kept["new"] and not new):
            return None
        rule = tasks.rule(languages, judges, new)
        place = {tuple(question): i for i, question in enumerate(kept["questions"])}
        which = [place[tuple(question)] for question in rule.asked.to_numpy().tolist()]
        more = {name: kept[name] for name in ("blind_spot", "final") if kept.get(name) is not None}
        if "final" in more:
            more["final"] = [more["final"][i] for i in which]
        each = ("verdict", "settled_at", "estimate", "low", "high")
        state = {**kept["state"], **{name: [kept["state"][name][i] for i in which] for name in each}}
        return cls(rule, State.from_dict(state), more)


def collect_until(
    plan: Plan, folder: str | Path, settings: dict[str, Any], asking: Asking | None = None, *,
    tell: Callable[[Say], None] | None = None, **options: Any,
) -> Summary:  # fmt: skip
    """Collect until every question is settled, all is bought, or the money is spent. Goes on where it stopped.

    settings : of `Sequential`: matters, questions, level, threshold, at_least, first, seed
    tell : called after every look with what it found
    options : of `Asking`, such as max_cost=20
    """
    folder, asking = Path(folder), replace(asking or Asking(), **options)
    work = ready(plan, asking)
    with opened(folder) as con:
        with damaged(folder / FILE):
            tasks, parts = _planned(con, work, settings)
            begin(con, work, asking.retry_missing)
            write_meta(con, ADAPTIVE, _note(tasks, parts))
        for part in parts:
            rule = part.rule
            while (purchase := rule.next(part.state)) is not None:
                order = partial(Order, places=tasks.places(purchase), cells=tasks.cells(rule, purchase))
                summary = sit(con, folder, work, asking, order)
                left = order(Remaining(con, work))
                if any(left.take(judge.name) for judge in plan.judges):
                    return summary  # a judge set aside, money spent, calls given up
                scores = tasks.scores(rule, read_run(folder, every=True).frame, purchase.stop)
                clusters = None if tasks.clusters is None else tasks.clusters[: purchase.stop]
                part.state = rule.look(part.state, scores, clusters)
                so_far = replay_of(rule, part.state, scores, clusters)
                part.more = {"blind_spot": plain(so_far.blind_spot)}
                if rule.next(part.state) is None:  # what all scores together say
                    part.more["final"] = plain(so_far.unbiased())
                write_meta(con, ADAPTIVE, _note(tasks, parts))
                if tell is not None:
                    tell(_line(work, part, summary, scores, clusters))
        with damaged(folder / FILE):
            return summarise(con, folder, {})


def _line(work: Work, part: _Part, summary: Summary, scores: Array, clusters: NDArray[np.int64] | None) -> Say:
    """What a look found, and what is still to come of its part, at the money that each call took so far.

    `calls` of `whole` are made, `saved` are not needed any more, `ahead` are still to come and will cost `money`, where
    prices are known.
    """
    rule, state, judges = part.rule, part.state, summary.judges.set_index("judge")
    calls, whole = (int(judges[column].sum()) for column in ("answered", "calls"))
    ahead, money, saved = (0.0, 0.0, 0.0), None, whole - calls
    if rule.next(state) is not None:
        bought = forecast(rule, scores, state, clusters, runs=10)
        each = work.calls / (rule.tasks * max(1, len(rule.systems)) * len(work.plan.languages))  # calls of a score
        ahead = _range(bought.sum(axis=1) * each)
        idle = (~rule.needed(state.open)).sum() * (rule.tasks - len(scores))
        saved = round(float(idle * each))
        own = judges.loc[list(rule.judges)]
        if own["cost"].notna().all():
            money = _range(bought @ (each * own["cost"] / own["answered"].clip(lower=1)).to_numpy())
    still = int(state.open.sum())
    facts = {"calls": calls, "whole": whole, "saved": saved, "cost": summary.cost, "ahead": ahead, "money": money}
    known = {"tasks": len(scores), "settled": len(state.verdict) - still, "open": still}
    return say("adaptive.look", look=state.look, looks=len(rule.looks), **known, **facts)


def _range(values: Array) -> Range:
    low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
    return float(low), float(middle), float(high)


def expected(work: Work, settings: dict[str, Any], judges: pd.DataFrame, pilot: Array | None) -> Expected:
    """Before a run: the looks, and the calls and money it is expected to take.

    judges : of `estimate`
    pilot : (n, k, m) or (n, s, k, m) earlier scores of the plan's languages and judges
    """
    rule = _Tasks(work, settings).rule()
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
    return {"languages": [x.name for x in plan.languages], "judges": [x.name for x in plan.judges]}


def _planned(con: sqlite3.Connection, work: Work, settings: dict[str, Any]) -> tuple[_Tasks, list[_Part]]:
    """The tasks of a run, and its questions in parts. A run that goes on keeps what it was begun with; what the plan
    has new is a part of its own."""
    kept, tasks = read_meta(con, ADAPTIVE), _Tasks(work, settings)
    if kept is None:
        if con.execute("select 1 from answers limit 1").fetchone():
            raise CollectError(
                "This run was begun without --until. Answers bought in another order cannot be looked at with a "
                "guarantee: use a new folder (-o)."
            )
        rule = tasks.rule()
        return tasks, [_Part(rule, rule.start(), {})]
    now = _note(tasks, [])
    changed = [name for name in ("settings", "looks", "order", "systems") if kept.get(name) != now[name]]
    if changed:
        raise CollectError(
            f"This run was planned with other {changed[0]}: looks are never moved after seeing results. Go on with the "
            "same options and items, or use a new folder (-o)."
        )
    asked = _asked(work.plan)
    _refuse_changes(asked, kept["parts"], settings.get("questions", "judges"))
    parts = [part for entry in kept["parts"] if (part := _Part.from_dict(entry, tasks, asked)) is not None]
    return tasks, [*parts, *(_Part(rule, rule.start(), {}) for rule in _joined(tasks, parts, asked))]


def _refuse_changes(asked: dict[str, list[str]], parts: list[dict[str, Any]], kind: str) -> None:
    """Refuse to add or leave out what other questions rest on. The order of judges and languages is free."""
    for axis, alone in (("judges", kind == "judges"), ("languages", kind in ("judges", "systems"))):
        known = list(dict.fromkeys(name for part in parts for name in part[axis]))
        changed = [name for name in {**dict.fromkeys(known), **dict.fromkeys(asked[axis])} if
                   (name in known) != (name in asked[axis])]  # fmt: skip
        if changed and not alone:
            raise CollectError(
                f"This run asks about {kind}, and every such question compares or averages all {axis} "
                f"({clean(', '.join(known), 200)}): {clean(', '.join(changed), 200)} cannot join or leave. Go on with "
                "the plan as it was, or give the new one a folder of its own: "
                "polyjudge collect PLAN --until settled -o NEW_RUN"
            )


def _joined(tasks: _Tasks, parts: list[_Part], asked: dict[str, list[str]]) -> Iterator[Sequential]:
    """The questions that no part has: those of new languages, and in the others those of new judges. They begin at the
    first look, with the answers that are there, and all of them together have a level of their own."""
    languages, judges = ({x for part in parts for x in getattr(part.rule, axis)} for axis in ("languages", "judges"))
    new_judges = [name for name in asked["judges"] if name not in judges]
    if judges and (new := [name for name in asked["languages"] if name not in languages]):
        yield tasks.rule(new)
    if new_judges:
        known = [name for name in asked["languages"] if name in languages]
        yield tasks.rule(known, new=new_judges if judges else ())


def _note(tasks: _Tasks, parts: list[_Part]) -> dict[str, Any]:
    looks = {"looks": list(tasks.rule().looks), "order": tasks.order, "systems": list(tasks.named)}
    return {"settings": tasks.settings, **looks, "parts": [part.to_dict() for part in parts]}


def with_defaults(settings: dict[str, Any], scale: tuple[float, float]) -> dict[str, Any]:
    """Settings with the width of the scale (100 points for a gate), and `matters` at 2% of it where it is not given."""
    width = 100.0 if settings.get("threshold") is not None else scale[1] - scale[0]
    given = {name: value for name, value in settings.items() if value is not None}
    return {"matters": 0.02 * width, "width": width, **given}
