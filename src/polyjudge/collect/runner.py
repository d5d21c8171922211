"""Run a plan: ask every judge about every item in every language, keep each answer, go on where it stopped."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import random
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polyjudge.collect.cost import Prices, estimate_tokens, expected_output, load_prices, usage
from polyjudge.collect.items import Aligned, fingerprint, load_items
from polyjudge.collect.models import Asker, Problem, Reply, quiet_events
from polyjudge.collect.parse import parse
from polyjudge.collect.plan import Judge, Plan
from polyjudge.collect.prompts import Template, item_prompts, load_templates
from polyjudge.collect.store import (
    SYSTEM_MARK,
    Answer,
    Failure,
    Key,
    Writer,
    locked,
    open_store,
    read_meta,
    storable,
    write_meta,
)
from polyjudge.collect.summary import Summary, summarise
from polyjudge.core.errors import CollectError

LONGEST_BACKOFF = 60.0


@dataclass(frozen=True)
class Work:
    """A plan made ready: its items, templates and prices."""

    plan: Plan
    aligned: Aligned
    templates: dict[str, Template]
    prices: Prices


@dataclass(frozen=True)
class Call:
    """One question to one judge. `place` is the item's place in the order of the run."""

    place: int
    key: Key
    prompt_hash: str


@dataclass
class Status:
    """How one judge is doing; shown live."""

    judge: str
    total: int
    done: int = 0
    failed: int = 0
    retries: int = 0
    asked: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0
    aside: str | None = None
    started: float = field(default_factory=time.monotonic)


def prepare(plan: Plan) -> Work:
    """Read items, templates and prices."""
    return Work(plan, load_items(plan), load_templates(plan), load_prices(plan))


def ordered_calls(work: Work) -> list[Call]:
    """All calls of a plan. They go item by item, and inside an item through all languages and judges, so that any
    prefix is a balanced panel over the first items."""
    plan = work.plan
    out = []
    for place, item in enumerate(work.aligned.items):
        for repeat in range(plan.repeats):
            replicate = replicate_label(item.replicate, repeat, plan.repeats)
            for language in plan.languages:
                prompts = [
                    (p.part, fingerprint(p.text)) for p in item_prompts(plan, work.templates, item, language.name)
                ]
                for judge in plan.judges:
                    for part, hash_ in prompts:
                        out.append(Call(place, Key(item.task, replicate, language.name, judge.name, part), hash_))
    return out


def replicate_label(replicate: str, repeat: int, repeats: int) -> str:
    """The replicate of a call: the item's own, the number of the repeat, or both; after its system when it has one."""
    if repeats == 1:
        return replicate
    bare = not replicate or replicate.endswith(SYSTEM_MARK)
    return f"{replicate}{repeat + 1}" if bare else f"{replicate}/{repeat + 1}"


def collect(
    plan: Plan,
    folder: str | Path,
    max_cost: float | None = None,
    watch: Callable[[list[Status]], None] | None = None,
) -> Summary:
    """Run a plan into a folder, or go on with it. Returns the summary of what the folder then holds.

    `max_cost` (dollars, all sittings together) stops before the next call could pass it. `watch` is called a few times
    a second with the state of every judge.
    """
    folder = Path(folder)
    work = prepare(plan)
    if max_cost is not None:
        unknown = [name for name, price in work.prices.by_judge.items() if price is None]
        if unknown:
            raise CollectError(
                f"--max-cost needs the price of every judge; there is none for {', '.join(unknown)}. Give it in the "
                "plan (price: {input: 2.5, output: 10}, dollars per million tokens) or in a price file."
            )
    with locked(folder):
        con = open_store(folder, create=True)
        try:
            pending = _pending(con, work)
            stopped = None
            if pending:
                writer = Writer(con)
                try:
                    with _rare_garbage_collection():
                        stopped = asyncio.run(_Run(work, pending, writer, usage(con), max_cost, watch).go())
                finally:
                    writer.close()
            return summarise(con, folder, stopped or {})
        finally:
            con.close()


@contextlib.contextmanager
def _rare_garbage_collection() -> Iterator[None]:
    """Collect garbage less often while calls are made: it takes a fifth of the time of a call otherwise, most of it on
    the objects of the imported packages."""
    before = gc.get_threshold()
    gc.set_threshold(100_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _pending(con: Any, work: Work) -> list[Call]:
    """Calls without an answer in the store, after checking that the store belongs to this plan."""
    plan = work.plan
    rubric = {
        "kind": plan.rubric.kind,
        "scale": list(plan.rubric.scale),
        "step": plan.rubric.step,
        "calls": plan.rubric.calls,
    }
    judges = read_meta(con, "judges") or {}
    for name, now, before in [
        ("the rubric", rubric, read_meta(con, "rubric") or rubric),
        *((f"judge {j.name}", j.identity(), judges.get(j.name, j.identity())) for j in plan.judges),
    ]:
        changed = [k for k in now if now[k] != before.get(k)]
        if changed:
            raise CollectError(
                f"This run was begun with another plan: {name} has changed in {', '.join(changed)} "
                f"({before.get(changed[0])!r} then, {now[changed[0]]!r} now). Answers of two plans do not make a "
                "panel: use a new folder (-o), or give the changed judge a new name."
            )
    calls = ordered_calls(work)
    done = {
        Key(*row[:5]): row[5]
        for row in con.execute("select task, replicate, language, judge, part, prompt from answers")
    }
    for call in calls:
        before_hash = done.get(call.key)
        if before_hash is not None and before_hash != call.prompt_hash:
            raise CollectError(
                f"Item {call.key.task} in {call.key.language} has another prompt now than when it was judged: its text "
                "or the template has changed. Use a new folder (-o) for the new wording."
            )
    con.execute("begin")
    write_meta(con, "rubric", rubric)
    write_meta(con, "judges", {**judges, **{j.name: j.identity() for j in plan.judges}})
    write_meta(con, "plan", plan.to_dict())
    write_meta(con, "prices", {"date": work.prices.date, "by_judge": dict(work.prices.by_judge)})
    write_meta(con, "dropped", work.aligned.dropped)
    write_meta(con, "calls", len(calls))
    write_meta(con, "clusters", {item.task: item.cluster for item in work.aligned.items if item.cluster})
    rows = []
    for place, item in enumerate(work.aligned.items):
        for repeat in range(plan.repeats):
            replicate = replicate_label(item.replicate, repeat, plan.repeats)
            rows.append((item.task, replicate, place, item.group, _requirements(item.requirements)))
    con.execute("delete from items")
    con.executemany("insert into items values (?, ?, ?, ?, ?)", rows)
    con.execute("commit")
    return [call for call in calls if call.key not in done]


def _requirements(requirements: Any) -> str:
    return json.dumps([[r.id, r.type] for r in requirements], ensure_ascii=False)


class _Stop(Exception):
    """No further attempt is to be made for this call."""


class _Desk:
    """One judge at work: its queue, its limits and its failures."""

    def __init__(self, judge: Judge, calls: list[Call], status: Status, output_each: float) -> None:
        self.judge, self.status = judge, status
        self.queue = deque(calls)
        self.open = Counter(call.place for call in calls)
        self.places = deque(sorted(self.open))
        self.asker: Asker | None = None
        self.streak = 0
        self.pause_until = 0.0
        self.next_request = self.next_token = 0.0
        self.output_each = output_each

    @property
    def floor(self) -> float:
        """The first item this judge has not finished."""
        return self.places[0] if self.places and self.status.aside is None else float("inf")

    def finish(self, call: Call) -> None:
        self.open[call.place] -= 1
        while self.places and self.open[self.places[0]] == 0:
            self.places.popleft()

    async def gate(self, tokens: float) -> None:
        """Wait until the judge may be asked: after a pause it asked for, and within its rates per minute."""
        judge = self.judge
        now = time.monotonic()
        at = now
        if judge.requests_per_minute is not None:
            at = max(at, self.next_request)
            self.next_request = at + 60 / judge.requests_per_minute
        if judge.tokens_per_minute is not None:
            at = max(at, self.next_token)
            self.next_token = at + 60 * tokens / judge.tokens_per_minute
        while (wait := max(at, self.pause_until) - time.monotonic()) > 0 and self.status.aside is None:
            await asyncio.sleep(min(wait, 1.0))


class _Run:
    """All judges at work in one event loop."""

    def __init__(
        self,
        work: Work,
        pending: list[Call],
        writer: Writer,
        used: dict[str, dict[str, float]],
        max_cost: float | None,
        watch: Callable[[list[Status]], None] | None,
    ) -> None:
        self.work, self.writer, self.max_cost, self.watch = work, writer, max_cost, watch
        self.plan = work.plan
        self.stopping: str | None = None
        self.reserved = 0.0
        self.moved = asyncio.Event()
        self.jitter = random.Random()
        self.desks = []
        by_judge: dict[str, list[Call]] = {judge.name: [] for judge in self.plan.judges}
        for call in pending:
            by_judge[call.key.judge].append(call)
        for judge in self.plan.judges:
            before = used.get(judge.name, {})
            tokens = int(before.get("input", 0)), int(before.get("output", 0))
            status = Status(judge.name, len(by_judge[judge.name]), input_tokens=tokens[0], output_tokens=tokens[1])
            status.cost = work.prices.cost(judge.name, *tokens)
            answered = before.get("answers", 0)
            output_each = tokens[1] / answered if answered else expected_output(judge)
            self.desks.append(_Desk(judge, by_judge[judge.name], status, output_each))

    async def go(self) -> dict[str, Any]:
        """Ask until all is answered, all judges are set aside or the money is spent. Returns why it stopped."""
        quiet_events()
        tasks = []
        for desk in self.desks:
            if not desk.queue:
                continue
            try:
                desk.asker = Asker(desk.judge)
            except Problem as problem:
                desk.status.aside = problem.message
                continue
            workers = min(desk.judge.concurrency, len(desk.queue))
            tasks += [asyncio.create_task(self._worker(desk)) for _ in range(workers)]
        ticker = asyncio.create_task(self._tick())
        try:
            await asyncio.gather(*tasks)
        finally:
            ticker.cancel()
            for task in tasks:
                task.cancel()
            await asyncio.gather(ticker, *tasks, return_exceptions=True)
            for desk in self.desks:
                if desk.asker is not None:
                    await desk.asker.close()
        if self.watch is not None:
            self.watch([desk.status for desk in self.desks])
        return {
            "stopped": self.stopping,
            "aside": {d.judge.name: d.status.aside for d in self.desks if d.status.aside is not None},
            "failed": {d.judge.name: d.status.failed for d in self.desks if d.status.failed},
        }

    async def _tick(self) -> None:
        while self.watch is not None:
            self.watch([desk.status for desk in self.desks])
            await asyncio.sleep(0.25)

    async def _worker(self, desk: _Desk) -> None:
        while (call := await self._next(desk)) is not None:
            try:
                await self._ask(desk, call)
            except _Stop:
                return
            before = self._floor()
            desk.finish(call)
            if self._floor() != before:
                self._wake()

    def _floor(self) -> float:
        return min(desk.floor for desk in self.desks)

    def _wake(self) -> None:
        self.moved.set()
        self.moved = asyncio.Event()

    async def _next(self, desk: _Desk) -> Call | None:
        """The judge's next call. A fast judge waits when it is `lead` items ahead of the slowest, so that what has been
        paid for at any moment is a balanced panel and few items beyond it."""
        while desk.queue and desk.status.aside is None and self.stopping is None:
            if desk.queue[0].place <= self._floor() + self.plan.lead:
                return desk.queue.popleft()
            await self.moved.wait()
        return None

    def _prompt(self, call: Call) -> str:
        item = self.work.aligned.items[call.place]
        for prompt in item_prompts(self.plan, self.work.templates, item, call.key.language):
            if prompt.part == call.key.part:
                return prompt.text
        raise AssertionError(call)

    async def _ask(self, desk: _Desk, call: Call) -> None:
        judge, status = desk.judge, desk.status
        prompt = self._prompt(call)
        tokens = estimate_tokens(prompt)
        attempt = errors = unread = 0
        while True:
            self._check_stop(desk)
            expected = self.work.prices.cost(judge.name, tokens, desk.output_each) or 0.0
            if self.max_cost is not None and self._spent() + self.reserved + expected > self.max_cost:
                self._halt("cost")
                raise _Stop
            self.reserved += expected
            attempt += 1
            try:
                await desk.gate(tokens + desk.output_each)
                self._check_stop(desk)
                assert desk.asker is not None
                reply = await desk.asker.ask(prompt)
            except Problem as problem:
                errors += 1
                await self._save(
                    Failure(call.key, attempt, problem.kind, problem.message, None, None, None, problem.latency)
                )
                if problem.fatal:
                    self._set_aside(desk, problem.message)
                    raise _Stop from None
                if (problem.retry_after or 0) > judge.max_wait:
                    self._set_aside(desk, f"it asked to wait {problem.retry_after:.0f} s: {problem.message}")
                    raise _Stop from None
                if not problem.retry or judge.batch or errors > judge.retries:
                    self._give_up(desk, problem)
                    return
                status.retries += 1
                await self._back_off(desk, errors, problem.retry_after)
                continue
            finally:
                self.reserved -= expected
            self._count(desk, reply, tokens)
            item = self.work.aligned.items[call.place]
            parsed = parse(reply.text, self.plan.rubric, len(item.requirements))
            if parsed.score is None and unread < self.plan.rubric.reask and reply.stop != "content_filter":
                unread += 1
                status.retries += 1
                text = storable(reply.text)
                await self._save(
                    Failure(call.key, attempt, "unreadable", parsed.how, text, reply.input_tokens, reply.output_tokens,
                            reply.latency)
                )  # fmt: skip
                continue
            how = "refused" if parsed.score is None and reply.stop == "content_filter" else parsed.how
            await self._save(
                Answer(
                    call.key, call.prompt_hash, storable(prompt), storable(reply.text), parsed.score, how,
                    parsed.detail, reply.input_tokens, reply.output_tokens, reply.cached_tokens, reply.latency, attempt,
                    storable(reply.model), reply.stop,
                )
            )  # fmt: skip
            status.done += 1
            desk.streak = 0
            return

    def _check_stop(self, desk: _Desk) -> None:
        if self.stopping is not None or desk.status.aside is not None:
            raise _Stop

    def _halt(self, why: str) -> None:
        self.stopping = why
        self._wake()

    def _set_aside(self, desk: _Desk, why: str) -> None:
        desk.status.aside = desk.status.aside or why
        self._wake()

    def _give_up(self, desk: _Desk, problem: Problem) -> None:
        """A call has failed for good in this sitting. It stays without an answer and is asked again in the next."""
        desk.status.failed += 1
        desk.streak += 1
        if desk.streak >= desk.judge.give_up_after:
            self._set_aside(desk, f"{desk.streak} calls failed in a row, the last with {problem.message}")

    async def _back_off(self, desk: _Desk, errors: int, retry_after: float | None) -> None:
        wait = min(LONGEST_BACKOFF, desk.judge.backoff * 2 ** (errors - 1)) * self.jitter.uniform(0.5, 1.0)
        if retry_after is not None:
            # The whole judge keeps still: its other connections would only be refused too.
            desk.pause_until = max(desk.pause_until, time.monotonic() + retry_after)
            wait = max(wait, retry_after)
        await asyncio.sleep(wait)

    def _spent(self) -> float:
        return sum(desk.status.cost or 0.0 for desk in self.desks)

    def _count(self, desk: _Desk, reply: Reply, estimated: float) -> None:
        status = desk.status
        status.asked += 1
        tokens_in = estimated if reply.input_tokens is None else reply.input_tokens
        tokens_out = reply.output_tokens or 0
        status.input_tokens += round(tokens_in)
        status.output_tokens += tokens_out
        status.cost = self.work.prices.cost(desk.judge.name, status.input_tokens, status.output_tokens)
        if desk.judge.tokens_per_minute is not None:
            spare = estimated + desk.output_each - tokens_in - tokens_out
            desk.next_token -= 60 * spare / desk.judge.tokens_per_minute
        desk.output_each += (tokens_out - desk.output_each) / max(1, min(status.asked, 100))

    async def _save(self, record: Answer | Failure) -> None:
        """Return once the record is on disk."""
        loop = asyncio.get_running_loop()
        saved: asyncio.Future[None] = loop.create_future()

        def done(problem: BaseException | None) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is gone after Ctrl-C; the record is safe all the same
                loop.call_soon_threadsafe(_settle, saved, problem)

        self.writer.put(record, done)
        await saved


def _settle(saved: asyncio.Future[None], problem: BaseException | None) -> None:
    if saved.done():
        return
    if problem is None:
        saved.set_result(None)
    else:
        saved.set_exception(
            CollectError(f"The store cannot be written: {problem}. Make room or repair the disk, then run it again.")
        )
