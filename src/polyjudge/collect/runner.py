"""Run a plan: ask every judge about every item in every language, keep each answer, go on where it stopped."""

from __future__ import annotations

import asyncio
import gc
import random
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polyjudge.collect.batches import BatchDesk
from polyjudge.collect.calls import Call, InOrder, Order, Remaining, Work, begin, prepare
from polyjudge.collect.cost import WORST_OUTPUT, expected_output, learnt_output, usage
from polyjudge.collect.database import FILE, damaged, open_store, read_meta
from polyjudge.collect.expected import expected_score
from polyjudge.collect.items import Item, fingerprint
from polyjudge.collect.models import Ask, Asker, HttpAsker, Problem, Reply, make_asker, unusable
from polyjudge.collect.parse import parse
from polyjudge.collect.plan import Account, Judge, Plan
from polyjudge.collect.prompts import answer_schema, render
from polyjudge.collect.secrets import known_secrets
from polyjudge.collect.store import (
    Answer,
    Failure,
    ItemRow,
    Record,
    Usage,
    Writer,
    create_store,
    locked,
    meta_statement,
)
from polyjudge.collect.summary import ADAPTIVE, Summary, summarise
from polyjudge.collect.tokens import characters, tokens
from polyjudge.panel.errors import CollectError

LONGEST_BACKOFF = 60.0
NO_LOGPROBS = "no log-probabilities"


@dataclass(kw_only=True)
class Status:
    """How one judge is doing; shown live."""

    judge: str
    total: int
    done: int = 0
    failed: int = 0
    retries: int = 0
    missing: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0
    aside: str | None = None
    note: str | None = None
    started: float = field(default_factory=time.monotonic)


def collect(
    plan: Plan,
    folder: str | Path,
    max_cost: float | None = None,
    watch: Callable[[list[Status]], None] | None = None,
    *,
    retry_missing: bool = False,
    send_key: Sequence[str] = (),
    order: Callable[[Remaining], Order] | None = None,
) -> Summary:
    """Run a plan into a folder, or go on with it. Returns the summary of what the folder then holds.

    `max_cost` (dollars, all sittings together, removed judges too) is never passed: calls in flight count at their
    worst. `watch` is called a few times a second with the state of every judge. `retry_missing` asks again, in another
    way, for answers that could not be read. `send_key` names hosts that may have a key (`OPENAI_API_KEY=host`). `order`
    replaces the order in which calls are made.
    """
    known_secrets.cache_clear()
    folder = Path(folder)
    work = prepare(plan)
    unknown = [name for name, price in work.prices.by_judge.items() if price is None]
    if max_cost is not None and unknown:
        raise CollectError(
            f"--max-cost needs the price of every judge; there is none for {', '.join(unknown)}. Give it in the "
            "plan (price: {input: 2.5, output: 10}, dollars per million tokens) or in a price file."
        )
    with locked(folder), closing(create_store(folder)) as con:
        with damaged(folder / FILE):
            if order is None and read_meta(con, ADAPTIVE) is not None:
                raise CollectError(
                    "This run buys only what open questions need. Go on with --until settled and the same options, or "
                    "use a new folder (-o) to ask everything."
                )
            remaining = begin(con, work, retry_missing)
        stopped = _sit(con, folder, work, max_cost, watch, send_key, order) if remaining else {}
        with damaged(folder / FILE):
            return summarise(con, folder, stopped)


def _sit(
    con: sqlite3.Connection, folder: Path, work: Work, max_cost: float | None,
    watch: Callable[[list[Status]], None] | None, send_key: Sequence[str], order: Callable[[Remaining], Order] | None,
) -> dict[str, Any]:  # fmt: skip
    """Ask what remains. The store is read on a connection of its own while the writer writes."""
    with closing(open_store(folder)) as reader, closing(Writer(con)) as writer:
        with damaged(folder / FILE):
            remaining = Remaining(reader, work)
            run = Run(work, remaining, (order or InOrder)(remaining), writer, reader, max_cost, watch)
        with _rare_garbage_collection():
            return asyncio.run(run.go(send_key))


@contextmanager
def _rare_garbage_collection() -> Iterator[None]:
    """Collect garbage less often while calls are made: it takes a fifth of the time of a call otherwise, most of it on
    the objects of the imported packages."""
    before = gc.get_threshold()
    gc.set_threshold(100_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)


@dataclass(frozen=True)
class Question:
    """What is sent for a call, and its prompt and the prompt's hash without any reminder."""

    ask: Ask
    prompt: str
    hash: str


class Stop(Exception):
    """No further attempt is to be made for this call."""


class Limits:
    """Rates per minute and connections, of a judge or of an account that several judges share."""

    def __init__(self, limits: Judge | Account) -> None:
        self.requests, self.tokens = limits.requests_per_minute, limits.tokens_per_minute
        self.slots = asyncio.Semaphore(limits.concurrency) if limits.concurrency is not None else None
        self.next_request = self.next_token = self.pause_until = 0.0

    def book(self, tokens: float) -> float:
        """The time at which a call may be made."""
        at = time.monotonic()
        if self.requests is not None:
            at = max(at, self.next_request)
            self.next_request = at + 60 / self.requests
        if self.tokens is not None:
            at = max(at, self.next_token)
            self.next_token = at + 60 * tokens / self.tokens
        return at

    def correct(self, spare: float) -> None:
        """Give back tokens that were booked and not used."""
        if self.tokens is not None:
            self.next_token -= 60 * spare / self.tokens


class Budget:
    """Money: spent so far in all sittings, and reserved for calls in flight at their worst."""

    def __init__(self, limit: float | None, spent: float) -> None:
        self.limit, self.spent, self.reserved = limit, spent, 0.0
        self._moved = asyncio.Event()

    def fits(self, amount: float) -> bool:
        return self.limit is None or self.spent + self.reserved + amount <= self.limit + 1e-12

    async def reserve(self, amount: float) -> bool:
        """Set an amount aside; wait for calls in flight to settle when they hold it. False: it cannot be had."""
        while not self.fits(amount):
            if self.reserved <= 1e-12:
                return False
            moved = self._moved
            await moved.wait()
        self.reserved += amount
        return True

    def settle(self, reserved: float, spent: float) -> None:
        self.reserved = max(0.0, self.reserved - reserved)
        self.spent += spent
        self._moved.set()
        self._moved = asyncio.Event()


class Desk:
    """One judge at work: its limits and its failures."""

    def __init__(self, judge: Judge, status: Status, limits: list[Limits], output_each: float) -> None:
        self.judge, self.status, self.limits = judge, status, limits
        self.asker: Asker | None = None
        self.streak = 0
        self.output_each, self.output_most = output_each, 0.0
        self.asked = 0

    @property
    def worst_output(self) -> float:
        """Output tokens that a call may take at most, as far as is known."""
        most = self.judge.settings.get("max_tokens")
        return float(most) if isinstance(most, int) else max(WORST_OUTPUT, 1.5 * self.output_most)

    @property
    def rated(self) -> bool:
        return any(limits.tokens is not None for limits in self.limits)

    async def gate(self, tokens: float) -> None:
        """Wait until the judge may be asked: after a pause it asked for, and within its rates per minute."""
        at = max(limits.book(tokens) for limits in self.limits)
        while self.status.aside is None:
            wait = max(at, *(limits.pause_until for limits in self.limits)) - time.monotonic()
            if wait <= 0:
                return
            await asyncio.sleep(min(wait, 1.0))


class Run:
    """All judges at work in one event loop."""

    def __init__(
        self, work: Work, remaining: Remaining, order: Order, writer: Writer, reader: sqlite3.Connection,
        max_cost: float | None, watch: Callable[[list[Status]], None] | None,
    ) -> None:  # fmt: skip
        used, learnt = usage(reader, work.prices), learnt_output(reader)
        self.unstructured: list[str] = read_meta(reader, "unstructured") or []
        self.work, self.order, self.writer, self.reader, self.watch = work, order, writer, reader, watch
        self.plan = work.plan
        self._codes = {language.name: language.template for language in self.plan.languages}
        self.stopping: str | None = None
        self.priced = max_cost is not None
        self.budget = Budget(max_cost, sum(entry["cost"] for entry in used.values()))
        self.jitter = random.Random()
        self._items: dict[int, Item] = {}
        self._noted: set[int] = set()
        self.batch_rows: int = reader.execute("select coalesce(max(id), 0) from batches").fetchone()[0]
        accounts = {name: Limits(account) for name, account in self.plan.accounts.items()}
        self.desks = []
        for judge in self.plan.judges:
            before = used.get(judge.name, {})
            status = Status(judge=judge.name, total=remaining.total[judge.name])
            status.input_tokens, status.output_tokens = int(before.get("input", 0)), int(before.get("output", 0))
            status.cost = None if work.prices.by_judge[judge.name] is None else before.get("cost", 0.0)
            limits = [Limits(judge.model_copy(update={"concurrency": None}))]
            limits += [accounts[judge.account]] if judge.account is not None else []
            output = learnt.get(judge.name, expected_output(judge, self.plan))
            self.desks.append(Desk(judge, status, limits, output))

    async def go(self, hosts: Sequence[str]) -> dict[str, Any]:
        """Ask until all is answered, all judges are set aside or the money is spent. Returns why it stopped."""
        try:
            import aiohttp
        except ImportError:
            raise CollectError("Collecting needs the collect extra: pip install 'polyjudge[collect]'.") from None
        schema = answer_schema(self.plan.rubric)
        tasks: list[asyncio.Task[None]] = []
        connector = aiohttp.TCPConnector(limit=0)
        jar = aiohttp.DummyCookieJar()
        quiet = aiohttp.ClientTimeout(total=None)
        async with aiohttp.ClientSession(connector=connector, cookie_jar=jar, timeout=quiet, trust_env=True) as session:
            for desk in self.desks:
                if not desk.status.total:
                    self.order.leave(desk.judge.name)
                    continue
                try:
                    desk.asker = make_asker(desk.judge, session, hosts, schema, self.plan.rubric.expected)
                    if desk.judge.name in self.unstructured:
                        desk.asker.structured = False
                    tasks += self._hire(desk)
                except Problem as problem:
                    self.set_aside(desk, problem.message)
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

    def _hire(self, desk: Desk) -> list[asyncio.Task[None]]:
        if desk.judge.batch:
            if not isinstance(desk.asker, HttpAsker):
                raise unusable("batches are for OpenAI's and Anthropic's APIs; set batch: false")
            return [asyncio.create_task(BatchDesk(self, desk, desk.asker).work())]
        under_way = "select count(*) from batches where judge = ? and state in ('sending', 'sent')"
        if self.reader.execute(under_way, [desk.judge.name]).fetchone()[0]:
            raise unusable("a batch of it is under way and paid for: keep batch: true until it is in")
        workers = min(desk.judge.concurrency, desk.status.total)
        return [asyncio.create_task(self._worker(desk)) for _ in range(workers)]

    async def _tick(self) -> None:
        while self.watch is not None:
            self.watch([desk.status for desk in self.desks])
            await asyncio.sleep(0.25)

    async def _worker(self, desk: Desk) -> None:
        shared = next((limits.slots for limits in desk.limits if limits.slots is not None), None)
        while self.stopping is None and desk.status.aside is None:
            call = self.order.take(desk.judge.name)
            if call is True:
                await asyncio.sleep(0.05)
                continue
            if not isinstance(call, Call):
                return
            try:
                async with shared or nullcontext():
                    score = await self._ask(desk, call)
            except Stop:
                return
            self.order.settle(call, score)

    def item(self, place: int) -> Item:
        """An item; the latest ones are kept."""
        found = self._items.get(place)
        if found is None:
            found = self._items[place] = self.work.aligned.item(place)
            if len(self._items) > 64:
                self._items.pop(next(iter(self._items)))
        return found

    def note_item(self, place: int) -> list[Record]:
        """The record of an item that is asked about for the first time in this sitting."""
        if place in self._noted:
            return []
        self._noted.add(place)
        aligned = self.work.aligned
        lines = aligned.lines(place)
        row = aligned.names[place], place, aligned.groups[place], aligned.clusters[place], lines, aligned.digest(place)
        return [ItemRow(*row)]

    def question(self, call: Call) -> Question:
        """What is sent for a call."""
        language = call.key.language
        template = self.work.templates[language]
        prompt = render(self.plan, template, self.item(call.place), language, call.key.part)
        text = f"{prompt}\n{template.reminder}\n" if call.again and template.reminder else prompt
        return Question(Ask(text, len(template.shared), call.again), prompt, fingerprint(prompt))

    def tokens_of(self, desk: Desk, ask: Ask, language: str) -> tuple[float, float]:
        """(expected, most) input tokens of a question."""
        middle, _, high = tokens(characters(ask.prompt, self._codes[language]), desk.judge.model)
        return middle, high

    async def _ask(self, desk: Desk, call: Call) -> float | None:
        """Ask until there is an answer or the call is given up. Returns its score."""
        attempt = errors = unread = 0
        while True:
            self._check_stop(desk)
            question = self.question(call)
            ask = question.ask
            middle, high = self.tokens_of(desk, ask, call.key.language) if self.priced or desk.rated else (0.0, 0.0)
            worst = (self.work.prices.cost(desk.judge.name, high, desk.worst_output) or 0.0) if self.priced else 0.0
            if not await self.budget.reserve(worst):
                self.stopping = "cost"
                raise Stop
            attempt += 1
            used = Usage()
            try:
                await desk.gate(middle + desk.output_each)
                self._check_stop(desk)
                assert desk.asker is not None
                reply = await desk.asker.ask(ask)
                used = self.charge(desk, reply, ask, call.key.language)
            except Problem as problem:
                used = self._charge_failure(desk, problem, ask, call.key.language)
                failure = Failure(call.key, attempt, problem.kind, problem.message, used, problem.latency)
                await self.save([*self.note_item(call.place), failure])
                if self._without_structure(desk, problem):
                    continue
                errors += 1
                if not self._try_again(desk, problem, errors):
                    return None
                await self.back_off(desk, errors, problem.retry_after)
                continue
            finally:
                self.budget.settle(worst, used.cost or 0.0)
            desk_spare = middle + desk.output_each - (used.input_tokens or 0) - (used.output_tokens or 0)
            for limits in desk.limits:
                limits.correct(desk_spare)
            again = unread < self.plan.rubric.reask
            record = self.read(desk, call, question, reply, used, attempt, again)
            await self.save([*self.note_item(call.place), record])
            if isinstance(record, Answer):
                return record.score
            unread += 1
            desk.status.retries += 1
            call = call._replace(again=call.again + 1)

    def read(
        self, desk: Desk, call: Call, question: Question, reply: Reply, used: Usage, attempt: int, again: bool
    ) -> Answer | Failure:
        """The record of a reply: the answer, or (with `again`) a failure when it cannot be read."""
        rubric = self.plan.rubric
        parsed = parse(reply.text, rubric, len(self.work.aligned.lines(call.place)), reply.stop)
        score, how = parsed.score, parsed.how
        if score is None and reply.stop in ("content_filter", "refusal"):
            how = "refused"
        elif score is None and again:
            return Failure(call.key, attempt, "unreadable", how, used, reply.latency, reply.text)
        expected = logprobs = None
        if rubric.expected and score is not None:
            expected, logprobs = expected_score(reply.tokens, rubric)
            if expected is None:
                score, how = None, NO_LOGPROBS
        desk.status.done += 1
        desk.status.missing += score is None
        desk.streak = 0
        return Answer(
            call.key, question.hash, question.prompt, reply.text, score, how, parsed.detail, used, reply.latency,
            attempt, reply.model, reply.stop, call.again > 0, expected, logprobs,
        )  # fmt: skip

    def charge(self, desk: Desk, reply: Reply, ask: Ask, language: str, batch: bool = False) -> Usage:
        """What a reply cost. One without usage is charged by an estimate."""
        status = desk.status
        estimated = reply.input_tokens is None or reply.output_tokens is None
        tokens_in, tokens_out = reply.input_tokens, reply.output_tokens
        if tokens_in is None:
            tokens_in = round(self.tokens_of(desk, ask, language)[0])
        if tokens_out is None:
            tokens_out = round(tokens(characters(reply.text, self._codes[language]), desk.judge.model)[0]) + 1
        cost = self.work.prices.cost(desk.judge.name, tokens_in, tokens_out, reply.cached_tokens or 0, batch)
        desk.asked += 1
        desk.output_each += (tokens_out - desk.output_each) / max(1, min(desk.asked, 100))
        desk.output_most = max(desk.output_most, tokens_out)
        status.input_tokens += tokens_in
        status.output_tokens += tokens_out
        status.cost = None if status.cost is None or cost is None else status.cost + cost
        return Usage(tokens_in, tokens_out, reply.cached_tokens, estimated, cost)

    def _charge_failure(self, desk: Desk, problem: Problem, ask: Ask, language: str) -> Usage:
        """A request that reached the service and was lost on the way back may have been paid for."""
        if not problem.paid:
            return Usage()
        tokens_in, tokens_out = round(self.tokens_of(desk, ask, language)[0]), round(desk.output_each)
        cost = self.work.prices.cost(desk.judge.name, tokens_in, tokens_out)
        if desk.status.cost is not None and cost is not None:
            desk.status.cost += cost
        return Usage(tokens_in, tokens_out, None, True, cost)

    def _without_structure(self, desk: Desk, problem: Problem) -> bool:
        """Go on without structured answers where the service does not know them; the run remembers it."""
        asker = desk.asker
        if not problem.unstructured or asker is None or desk.judge.structured is True:
            return False
        if asker.structured:
            asker.structured = False
            names = sorted(d.judge.name for d in self.desks if d.asker is not None and not d.asker.structured)
            self.writer.put([meta_statement("unstructured", names)])
        return True

    def _try_again(self, desk: Desk, problem: Problem, errors: int) -> bool:
        """Whether a failed call gets another attempt; sets the judge aside when none can work."""
        if problem.fatal:
            self.set_aside(desk, problem.message)
            raise Stop
        if (problem.retry_after or 0) > desk.judge.max_wait:
            self.set_aside(desk, f"it asked to wait {problem.retry_after:.0f} s: {problem.message}")
            raise Stop
        if not problem.retry or errors > desk.judge.retries:
            self.give_up(desk, problem.message)
            return False
        desk.status.retries += 1
        return True

    def _check_stop(self, desk: Desk) -> None:
        if self.stopping is not None or desk.status.aside is not None:
            raise Stop

    def set_aside(self, desk: Desk, why: str) -> None:
        desk.status.aside = desk.status.aside or why
        self.order.leave(desk.judge.name)

    def give_up(self, desk: Desk, why: str) -> None:
        """A call has failed for good in this sitting. It stays without an answer and is asked again in the next."""
        desk.status.failed += 1
        desk.streak += 1
        if desk.streak >= desk.judge.give_up_after:
            self.set_aside(desk, f"{desk.streak} calls failed in a row, the last with {why}")

    async def back_off(self, desk: Desk, errors: int, retry_after: float | None) -> None:
        wait = min(LONGEST_BACKOFF, desk.judge.backoff * 2 ** min(errors - 1, 30)) * self.jitter.uniform(0.5, 1.0)
        if retry_after is not None:
            # The whole judge (and its account) keeps still: its other connections would only be refused too.
            for limits in desk.limits:
                limits.pause_until = max(limits.pause_until, time.monotonic() + retry_after)
            wait = max(wait, retry_after)
        await asyncio.sleep(wait)

    async def save(self, records: Sequence[Record]) -> None:
        """Return once the records are on disk, all of them or none."""
        if not records:
            return
        loop = asyncio.get_running_loop()
        saved: asyncio.Future[None] = loop.create_future()

        def done(problem: BaseException | None) -> None:
            with suppress(RuntimeError):  # the loop is gone after Ctrl-C; the record is safe all the same
                loop.call_soon_threadsafe(_settle, saved, problem)

        self.writer.put(records, done)
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
