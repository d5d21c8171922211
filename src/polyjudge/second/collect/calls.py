"""Which calls of a plan remain, and in which order they are made.

Remaining(con, work)    which calls have no answer in the store
Order                   which of them comes next for a judge: item by item, so any prefix is balanced
runner                  asks them and stores what comes back
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from typing import Any, NamedTuple

from polyjudge.second.collect.cost import Prices, load_prices
from polyjudge.second.collect.items import Aligned, Item, fingerprint, load_items
from polyjudge.second.collect.models import Ask
from polyjudge.second.collect.parse import parse
from polyjudge.second.collect.plan import Judge, Plan
from polyjudge.second.collect.prompts import Template, load_templates, parts, render
from polyjudge.second.collect.store import KEY, Key, Name, read_meta, write_meta
from polyjudge.second.panel.errors import CollectError
from polyjudge.second.panel.labels import clean

PATIENCE = 15.0
"""Seconds without progress after which a judge no longer holds the others back."""


class Call(NamedTuple):
    """One question to one judge. `place` is the item's place in the order of the run; `again`: how often its answer
    could not be read before."""

    place: int
    key: Key
    again: int = 0


@dataclass(frozen=True, eq=False)
class Work:
    """A plan made ready: its items, templates and prices."""

    plan: Plan
    aligned: Aligned
    templates: dict[str, Template]
    prices: Prices

    @cached_property
    def item(self) -> Callable[[int], Item]:
        """An item by its place; the latest ones are kept."""
        return lru_cache(maxsize=64)(self.aligned.item)

    @cached_property
    def prompt(self) -> Callable[[int, str, str], tuple[str, str, int]]:
        """By place, language and part: a prompt, its hash, and how much of its beginning all items share. The latest
        ones are kept, for other judges are asked them too."""

        def made(place: int, language: str, part: str) -> tuple[str, str, int]:
            template = self.templates[language]
            text = render(self.plan, template, self.item(place), language, part)
            return text, fingerprint(text), len(template.shared)

        return lru_cache(maxsize=256)(made)

    def parts(self, place: int) -> tuple[str, ...]:
        """The parts of an item that are asked about apart."""
        return parts(self.plan, tuple(line[0] for line in self.aligned.requirements[place]))

    def calls_of(self, place: int, judge: str) -> Iterator[Key]:
        """All calls of an item to a judge, in order."""
        plan, name = self.plan, self.aligned.names[place]
        for repeat, language, part in product(range(plan.repeats), plan.languages, self.parts(place)):
            yield Key(*name, repeat, language.name, judge, part)

    def question(self, judge: Judge, call: Call) -> Ask:
        """What is sent for a call; with the item itself for a judge that is code."""
        key, item = call.key, self.item(call.place)
        reminder = self.templates[key.language].reminder
        prompt, mark, shared = self.prompt(call.place, key.language, key.part)
        text = f"{prompt}\n{reminder}\n" if call.again and reminder else prompt
        known: dict[str, str] = {}
        if judge.code:
            known = {**item.fields[key.language], "task": key.task, "system": key.system, "language": key.language}
            known |= {"part": key.part, "requirement": item.requirements[key.language].get(key.part, "")}
        return Ask(text, shared, call.again, known, prompt, mark)

    def size(self, place: int) -> int:
        """How many calls an item has at each judge."""
        return self.plan.repeats * len(self.plan.languages) * len(self.parts(place))

    @property
    def calls(self) -> int:
        """Calls to each judge in all."""
        if self.plan.rubric.kind == "checklist":
            return sum(self.size(place) for place in range(len(self.aligned)))
        return len(self.aligned) * self.size(0)


def prepare(plan: Plan) -> Work:
    """Read items, templates and prices, and try the plan's own parser on its examples."""
    for i, example in enumerate(plan.rubric.examples):
        found = parse(example.answer, plan.rubric)
        if found.score != example.score:
            raise CollectError(
                f"rubric.examples[{i}]: {clean(repr(example.answer), 80)} is read as {found.score} ({found.how}), not "
                f"as {example.score}. Mend the parser or the example."
            )
    return Work(plan, load_items(plan), load_templates(plan), load_prices(plan))


class Remaining:
    """The calls of a plan without an answer in the store."""

    def __init__(self, con: sqlite3.Connection, work: Work) -> None:
        self.con, self.work = con, work
        plan = work.plan
        known = {judge.name for judge in plan.judges}
        languages = {language.name for language in plan.languages}
        self._answered: dict[int, dict[str, int]] = {}
        counts = con.execute(
            "select task, system, replicate, judge, language, sum(repeat < ?) from answers "
            "group by task, system, replicate, judge, language", [plan.repeats],
        )  # fmt: skip
        places: dict[Name, int] = {}
        if con.execute("select 1 from items limit 1").fetchone():
            places = {name: place for place, name in enumerate(work.aligned.names)}
        self.total = dict.fromkeys(known, work.calls)
        for task, system, replicate, judge, language, count in counts:
            place = places.get(Name(task, system, replicate))
            if place is not None and judge in known and language in languages:
                entry = self._answered.setdefault(place, {})
                entry[judge] = entry.get(judge, 0) + count
                self.total[judge] -= count
        failed = con.execute("select distinct task, system, replicate from errors where kind = 'unreadable'")
        self._failed = {places.get(Name(*row), -1) for row in failed}

    def __bool__(self) -> bool:
        return any(self.total.values())

    def of(self, judge: str, places: Iterable[int] | None = None) -> Iterator[Call]:
        """A judge's calls, item by item; of the items at `places` only, in that order, when they are given."""
        for place in range(len(self.work.aligned)) if places is None else places:
            answered = self._answered.get(place, {}).get(judge, 0)
            if answered >= self.work.size(place):
                continue
            keys = self.work.calls_of(place, judge)
            if not answered and place not in self._failed:
                yield from (Call(place, key) for key in keys)
            else:
                yield from self._rest(place, judge, keys)

    def _rest(self, place: int, judge: str, keys: Iterator[Key]) -> Iterator[Call]:
        name = self.work.aligned.names[place]
        where = "where task = ? and system = ? and replicate = ? and judge = ?"
        done = {Key(*row) for row in self.con.execute(f"select {KEY} from answers {where}", [*name, judge])}
        again = {
            Key(*row[:-1]): row[-1]
            for row in self.con.execute(
                f"select {KEY}, count(*) from errors {where} and kind = 'unreadable' group by {KEY}", [*name, judge]
            )
        }
        yield from (Call(place, key, again.get(key, 0)) for key in keys if key not in done)


class Order:
    """Item by item, inside an item through all languages and judges, so that what has been paid for at any moment is a
    balanced panel and few items beyond it: a judge waits when it is `lead` items ahead of the slowest. One that does
    not move (a call hangs) holds nobody back.

    With `places` of items and `cells` (system, language, judge) only their calls, in that order, and nobody waits.
    """

    def __init__(
        self, remaining: Remaining, places: Sequence[int] | None = None, cells: Container[tuple[str, str, str]] = ()
    ) -> None:
        def wanted(call: Call) -> bool:
            return places is None or (call.key.system, call.key.language, call.key.judge) in cells

        plan = remaining.work.plan
        self._calls = {judge.name: filter(wanted, remaining.of(judge.name, places)) for judge in plan.judges}
        self._heads: dict[str, Call | None] = {judge: next(calls, None) for judge, calls in self._calls.items()}
        self._moved = dict.fromkeys(self._calls, time.monotonic())
        self._lead = plan.lead if places is None else None
        self._apart = {judge.name for judge in plan.judges if judge.batch}

    def take(self, judge: str) -> Call | bool:
        """The judge's next call; True: none yet, wait; False: none any more."""
        head = self._heads.get(judge)
        if head is None:
            return False
        if self._lead is not None and judge not in self._apart and head.place > self._floor() + self._lead:
            return True
        self._heads[judge] = next(self._calls[judge], None)
        self._moved[judge] = time.monotonic()
        return head

    def settle(self, call: Call) -> None:
        """A call has its answer, or was given up in this sitting."""
        self._moved[call.key.judge] = time.monotonic()

    def leave(self, judge: str) -> None:
        """A judge makes no more calls in this sitting."""
        self._heads[judge] = None

    def _floor(self) -> float:
        late = time.monotonic() - PATIENCE
        places = [
            head.place for judge, head in self._heads.items()
            if head is not None and judge not in self._apart and self._moved[judge] > late
        ]  # fmt: skip
        return min(places, default=float("inf"))


def begin(con: sqlite3.Connection, work: Work, retry_missing: bool) -> Remaining:
    """Check that the store belongs to this plan, note the plan, and find what remains."""
    plan = work.plan
    rubric = {
        "kind": plan.rubric.kind, "scale": list(plan.rubric.scale), "step": plan.rubric.step,
        "calls": plan.rubric.calls, "expected": plan.rubric.expected, "names": list(plan.rubric.names),
    }  # fmt: skip
    for (key,) in con.execute("select key from meta").fetchall():
        read_meta(con, key)  # finds what was changed on disk, also in what is written anew below
    judges = read_meta(con, "judges") or {}
    templates = read_meta(con, "templates") or {}
    now_templates = {language: template.digest for language, template in work.templates.items()}
    _same("the rubric", rubric, read_meta(con, "rubric") or rubric)
    answered = {name for (name,) in con.execute("select distinct judge from answers")}
    for judge in plan.judges:
        if judge.name in answered:  # else nothing of it would be mixed with what it says now
            _same(f"judge {clean(judge.name)}", judge.identity(), judges.get(judge.name, judge.identity()))
    moved = _moved_items(con, work, {k for k, v in now_templates.items() if templates.get(k, v) != v})
    with con:
        con.execute("begin")
        write_meta(con, "rubric", rubric)
        write_meta(con, "judges", {**judges, **{j.name: j.identity() for j in plan.judges}})
        write_meta(con, "templates", {**templates, **now_templates})
        write_meta(con, "plan", plan.to_dict())
        prices = {k: None if v is None else v.model_dump() for k, v in work.prices.by_judge.items()}
        known = (read_meta(con, "prices") or {}).get("by_judge", {})
        write_meta(con, "prices", {"date": work.prices.date, "by_judge": {**known, **prices}})
        write_meta(con, "dropped", work.aligned.dropped[:1000])
        write_meta(con, "calls", work.calls)
        con.executemany("update items set place = ? where task = ? and system = ? and replicate = ?", moved)
        if retry_missing:
            columns = f"{KEY}, attempt, 'unreadable', how, answer, input_tokens, output_tokens, cached_tokens"
            again = f"select null, {columns}, estimated, cost, latency, at from answers where score is null"
            con.execute(f"insert into errors {again}")
            con.execute("delete from answers where score is null")
    return Remaining(con, work)


def _same(what: str, now: dict[str, Any], before: dict[str, Any]) -> None:
    changed = [k for k in now if now[k] != before.get(k, now[k])]
    if changed:
        raise CollectError(
            f"This run was begun with another plan: {what} has changed in {', '.join(changed)} "
            f"({clean(repr(before.get(changed[0])))} then, {clean(repr(now[changed[0]]))} now). Answers of two plans "
            "do not make a panel: use a new folder (-o), or give the changed judge a new name."
        )


def _moved_items(con: sqlite3.Connection, work: Work, reworded: set[str]) -> list[tuple[int, str, str, str]]:
    """New places of stored items (-1: no longer in the plan). Refuses texts that are not what was judged."""
    stored = con.execute("select task, system, replicate, place, digests from items").fetchall()
    if not stored:
        return []
    for (language,) in con.execute("select distinct language from answers"):
        if language in reworded:
            raise CollectError(
                f"The prompts in {clean(language)} have other words now than when the answers were collected: the "
                "template, the criteria or the scale has changed. Use a new folder (-o) for the new wording."
            )
    places = {name: place for place, name in enumerate(work.aligned.names)}
    moved = []
    for task, system, replicate, place, digests in stored:
        now = places.get(Name(task, system, replicate), -1)
        if now >= 0:
            before, current = json.loads(digests), work.aligned.digest(now)
            for language in before.keys() & current.keys():
                if before[language] != current[language]:
                    raise CollectError(
                        f"Item {clean(task)} in {clean(language)} has another text now than when it was judged. Use a "
                        "new folder (-o) for the new wording."
                    )
        if now != place:
            moved.append((now, task, system, replicate))
    return moved
