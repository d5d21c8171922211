"""Run a plan: ask every judge about every item in every language, keep each answer, go on where it stopped."""

from __future__ import annotations

import asyncio
import gc
import random
import select
import signal
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyjudge.second.collect.askers import make_asker
from polyjudge.second.collect.batches import BatchDesk
from polyjudge.second.collect.calls import Call, Order, Remaining, Work, begin, prepare
from polyjudge.second.collect.cost import characters, expected_output, learnt_output, tokens, usage
from polyjudge.second.collect.desk import Budget, Desk, Limits, Status
from polyjudge.second.collect.models import Ask, HttpAsker, Problem, Reply, unusable
from polyjudge.second.collect.parse import REFUSED, expected_score, parse, refuses
from polyjudge.second.collect.plan import Plan
from polyjudge.second.collect.secrets import known_secrets
from polyjudge.second.collect.store import (
    ADAPTIVE,
    FILE,
    Answer,
    Failure,
    Key,
    Record,
    Usage,
    Writer,
    create_store,
    damaged,
    item_statement,
    locked,
    meta_statement,
    open_store,
    read_meta,
)
from polyjudge.second.panel.errors import CollectError
from polyjudge.second.panel.labels import some

if TYPE_CHECKING:
    from polyjudge.second.collect.summary import Summary

LONGEST_BACKOFF = 60.0
UNREACHABLE = 3
"""Attempts after which a judge that never answered and whose address nobody answers at is set aside."""
KEPT = 15.0
"""Seconds for which a connection is kept for the next call."""
NO_LOGPROBS, FAILED = "no log-probabilities", "failed"
INTERRUPTED = "interrupted"
SITTING = "sitting"
"""Where a store notes that a sitting with a limit is under way: one that was killed leaves the note behind."""
Watch = Callable[[list[Status]], None]


@dataclass(frozen=True, kw_only=True)
class Asking:
    """How a plan is asked.

    `max_cost`: dollars, all sittings together, removed judges too. `watch` is called a few times a second with the
    state of every judge. `retry_missing` asks again, in another way, for answers that could not be read; `skip_failed`
    ends a run with calls that fail for good as missing. `send_key` names hosts that may have a key
    (`OPENAI_API_KEY=host`).
    """

    max_cost: float | None = None
    watch: Watch | None = None
    retry_missing: bool = False
    skip_failed: bool = False
    send_key: Sequence[str] = ()


def collect(plan: Plan, folder: str | Path, asking: Asking | None = None, **options: Any) -> Summary:
    """Run a plan into a folder, or go on with it. Returns the summary of what the folder then holds.

    options : of `Asking`, such as max_cost=20
    """
    asking = replace(asking or Asking(), **options)
    work = ready(plan, asking)
    with opened(Path(folder)) as con:
        with damaged(Path(folder) / FILE):
            adaptive = read_meta(con, ADAPTIVE) is not None
        if adaptive:
            raise CollectError(
                "This run buys only what open questions need. Go on with --until settled and the same options, or "
                "use a new folder (-o) to ask everything."
            )
        return sit(con, Path(folder), work, asking)


def ready(plan: Plan, asking: Asking) -> Work:
    """The plan made ready once for all that is done with it."""
    known_secrets.cache_clear()
    work = prepare(plan)
    unknown = [name for name, price in work.prices.by_judge.items() if price is None]
    if asking.max_cost is not None and unknown:
        raise CollectError(
            f"--max-cost needs the price of every judge; there is none for {some(unknown)}. Give it in the "
            "plan (price: {input: 2.5, output: 10}, dollars per million tokens) or in a price file."
        )
    return work


@contextmanager
def opened(folder: Path) -> Iterator[sqlite3.Connection]:
    """The store of a run folder that is held for writing."""
    with locked(folder), closing(create_store(folder)) as con:
        yield con


def sit(
    con: sqlite3.Connection, folder: Path, work: Work, asking: Asking, order: Callable[[Remaining], Order] = Order
) -> Summary:
    """One sitting: ask what remains, in the order of the plan or in another. The store is read on a connection of its
    own while the writer writes."""
    ended: dict[str, Any] = {}
    with damaged(folder / FILE):
        remains = begin(con, work, asking.retry_missing)
    if remains:
        with closing(open_store(folder)) as reader, closing(Writer(con)) as writer:
            with damaged(folder / FILE):
                remaining = Remaining(reader, work)
                run = Run(work, remaining, order(remaining), writer, reader, asking)
            often = gc.get_threshold()
            gc.set_threshold(100_000, 20, 20)  # else it takes a fifth of the time of a call
            try:
                ended = asyncio.run(run.go())
            finally:
                gc.set_threshold(*often)
    from polyjudge.second.collect.summary import summarise  # pandas; the first call does not wait for it

    with damaged(folder / FILE):
        return summarise(con, folder, ended)


class Stop(Exception):
    """No further attempt is to be made for this call."""


def _something_came(transport: Any) -> bool:
    """Whether bytes wait on a connection that nobody has asked anything on, also those not read yet."""
    there = None if transport is None else transport.get_extra_info("socket")
    if there is None or there.fileno() < 0 or not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(there.fileno(), select.POLLIN)
    return bool(poll.poll(0))


@asynccontextmanager
async def client_session() -> AsyncIterator[Any]:
    """The HTTP client of a run: no cookies, no redirects, no limits of its own. A connection on which something came
    that was not asked for is not used again: it would be taken for the next answer."""
    try:
        import aiohttp
    except ImportError:
        raise CollectError("Collecting needs the collect extra: pip install 'polyjudge[collect]'.") from None

    class Connector(aiohttp.TCPConnector):
        def _get(self, key: Any, *more: Any) -> Any:  # older versions are no coroutine and have no traces
            idle, now = self._conns.get(key) or (), time.monotonic()
            for line in (idle, reversed(idle)):  # versions take the next one from either end
                for proto, since in line:
                    if proto.should_close or _something_came(proto.transport):
                        proto.close()
                    elif proto.is_connected() and now - since < KEPT - 1:
                        break
            return super()._get(key, *more)

    jar, quiet = aiohttp.DummyCookieJar(), aiohttp.ClientTimeout(total=None, sock_connect=30)
    async with aiohttp.ClientSession(
        connector=Connector(limit=0, keepalive_timeout=KEPT), cookie_jar=jar, timeout=quiet
    ) as session:
        yield session


class Run:
    """All judges at work in one event loop."""

    def __init__(
        self, work: Work, remaining: Remaining, order: Order, writer: Writer, reader: sqlite3.Connection, asking: Asking
    ) -> None:
        used, learnt = usage(reader, work.prices), learnt_output(reader)
        self.omitted: dict[str, list[str]] = read_meta(reader, "omitted") or {}
        self.work, self.order, self.writer, self.reader, self.asking = work, order, writer, reader, asking
        self.plan = work.plan
        self._codes = {language.name: language.template for language in self.plan.languages}
        self.stopping: str | None = None
        self.priced = asking.max_cost is not None
        self.budget = Budget(asking.max_cost, sum(entry["cost"] for entry in used.values()))
        self.jitter = random.Random()
        self._noted: set[int] = set()
        self._unsaved: list[tuple[Sequence[Record], asyncio.Future[None]]] = []
        self._tasks: list[asyncio.Task[None]] = []
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
            guess, known = expected_output(judge, self.plan), learnt.get(judge.name)
            desk = Desk(judge, status, limits, guess, known)
            desk.untold = int(before.get("estimated", 0))
            self.desks.append(desk)
            if self.priced and not judge.batch and read_meta(reader, SITTING) is not None:
                self._charge_killed(desk, known.input if known is not None else 0.0)
        self.writer.put([meta_statement(SITTING, True if self.priced else None)])

    def _charge_killed(self, desk: Desk, tokens_in: float) -> None:
        """A sitting that was killed had calls in flight, which nobody saw come back: one round of them at its worst."""
        count, out = min(desk.judge.concurrency, 1 + desk.known), desk.worst_output
        cost = self.work.prices.cost(desk.judge.name, count * tokens_in, count * out)
        used = self._counted(desk, Usage(round(count * tokens_in), round(count * out), None, True, cost))
        self.budget.spent += used.cost or 0.0
        key = Key("", "", "", 0, "", desk.judge.name, "")
        self.writer.put([Failure(key, 0, "killed", f"up to {count} calls in flight", used, 0.0)])

    async def go(self) -> dict[str, Any]:
        """Ask until all is answered, all judges are set aside or the money is spent. Returns why it stopped."""
        async with client_session() as session:
            for desk in self.desks:
                if not desk.status.total:
                    self.order.leave(desk.judge.name)
                    continue
                try:
                    desk.asker = make_asker(desk.judge, self.plan, session, self.asking.send_key)
                    for what in self.omitted.get(desk.judge.name, []):
                        desk.asker.leave_out(what)
                    self._tasks += self._hire(desk)
                except Problem as problem:
                    self.set_aside(desk, problem.message)
            ticker = asyncio.create_task(self._tick())
            try:
                with self._drained_by_ctrl_c():
                    await asyncio.gather(*self._tasks)
            finally:
                ticker.cancel()
                for task in self._tasks:
                    task.cancel()
                await asyncio.gather(ticker, *self._tasks, return_exceptions=True)
                self._hand_over()
                self.writer.put([meta_statement(SITTING, None)])  # all that was in flight is on record
                for desk in self.desks:
                    if desk.asker is not None:
                        await desk.asker.close()
        if self.asking.watch is not None:
            self.asking.watch([desk.status for desk in self.desks])
        return {
            "stopped": self.stopping,
            "aside": {d.judge.name: d.status.aside for d in self.desks if d.status.aside is not None},
            "failed": {d.judge.name: d.status.failed for d in self.desks if d.status.failed},
            "limit": self.asking.max_cost,
            "round": sum(d.most_flying * d.dearest for d in self.desks) if self.priced else None,
        }

    @contextmanager
    def _drained_by_ctrl_c(self) -> Iterator[None]:
        """The first Ctrl-C waits for the calls in flight, which are paid for; the second quits."""
        loop = asyncio.get_running_loop()

        def asked_to_stop() -> None:
            if self.stopping == INTERRUPTED:
                for task in self._tasks:
                    task.cancel()
            self.stopping = INTERRUPTED
            for desk in self.desks:
                desk.status.note = (
                    f"stopping: {desk.flying} calls in flight; Ctrl-C again quits" if desk.flying else None
                )

        try:
            loop.add_signal_handler(signal.SIGINT, asked_to_stop)
        except (NotImplementedError, RuntimeError, ValueError):  # not on Windows, nor in another thread
            yield
            return
        try:
            yield
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None
        finally:
            loop.remove_signal_handler(signal.SIGINT)

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
        while self.asking.watch is not None:
            await asyncio.sleep(0.25)
            self.asking.watch([desk.status for desk in self.desks])

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
                    await self._ask(desk, call)
            except Stop:
                return
            self.order.settle(call)

    def note_item(self, place: int) -> list[Record]:
        """The record of an item that is asked about for the first time in this sitting."""
        if place in self._noted:
            return []
        self._noted.add(place)
        found = self.work.aligned
        facts = found.groups[place], found.clusters[place], found.requirements[place], found.digest(place)
        return [item_statement(found.names[place], place, *facts)]

    def tokens_of(self, desk: Desk, ask: Ask, language: str) -> tuple[float, float]:
        """(expected, most) input tokens of a question."""
        text = ask.prompt + str(desk.judge.settings.get("system_message") or "")
        middle, _, high = tokens(characters(text, self._codes[language]), desk.judge.model)
        return middle, high

    async def _ask(self, desk: Desk, call: Call) -> None:
        """Ask until there is an answer or the call is given up."""
        attempt = errors = unread = 0
        while True:
            self._check_stop(desk)
            asked = self.work.question(desk.judge, call)
            attempt += 1
            got = await self._attempt(desk, call, asked, attempt)
            if isinstance(got, Problem):
                if self._goes_without(desk, got):
                    continue
                errors += 1
                if not self._try_again(desk, call, got, errors):
                    await self._skip(desk, call, asked, got, attempt)
                    return
                await self.back_off(desk, errors, got.retry_after)
                continue
            again = unread < self.plan.rubric.reask
            record = self.read(desk, call, asked, *got, attempt, again)
            await self.save([*self.note_item(call.place), record])
            if isinstance(record, Answer):
                return
            unread += 1
            desk.status.retries += 1
            call = call._replace(again=call.again + 1)

    async def _attempt(self, desk: Desk, call: Call, ask: Ask, attempt: int) -> tuple[Reply, Usage] | Problem:
        """One request, with what it may cost reserved before and what it took recorded after, also when it is lost on
        the way or broken off."""
        language = call.key.language
        middle, high = self.tokens_of(desk, ask, language) if self.priced or desk.rated else (0.0, 0.0)
        worst = await self.budget.reserve(desk, lambda: desk.worst(self.work.prices, high) if self.priced else 0.0)
        if worst is None:
            self.stopping = self.stopping or "cost"
            raise Stop
        used, started = Usage(), None
        try:
            await desk.gate(middle + desk.each)
            self._check_stop(desk)
            assert desk.asker is not None
            started = time.monotonic()
            reply = await desk.asker.ask(ask)
            used = self.charge(desk, reply, ask, language)
        except Problem as problem:
            desk.status.last = problem.message
            used = self.charge_lost(desk, ask, language) if problem.paid else Usage()
            failure = Failure(call.key, attempt, problem.kind, problem.message, used, problem.latency)
            await self.save([*self.note_item(call.place), failure])
            return problem
        except asyncio.CancelledError:
            if started is not None:
                used, spent = self.charge_lost(desk, ask, language), time.monotonic() - started
                broken = Failure(call.key, attempt, "broken off", "the run was stopped", used, spent)
                self.writer.put([*self.note_item(call.place), broken])
            raise
        finally:
            self.budget.settle(desk, worst, used.cost or 0.0)
        spare = middle + desk.each - (used.input_tokens or 0) - (used.output_tokens or 0)
        for limits in desk.limits:
            limits.correct(spare)
        return reply, used

    def read(
        self, desk: Desk, call: Call, asked: Ask, reply: Reply, used: Usage, attempt: int, again: bool
    ) -> Answer | Failure:
        """The record of a reply: the answer, or (with `again`) a failure when it cannot be read."""
        rubric = self.plan.rubric
        parsed = parse(reply.text, rubric, len(self.work.aligned.requirements[call.place]), reply.stop)
        score, how = parsed.score, parsed.how
        if score is None and how != REFUSED:
            if again:
                desk.status.last = f"unreadable: {how}"
                return Failure(call.key, attempt, "unreadable", how, used, reply.latency, reply.text)
            how = REFUSED if refuses(reply.text) else how
        expected = logprobs = None
        if rubric.expected and score is not None:
            expected, logprobs = expected_score(reply.tokens, rubric)
            if expected is None:
                score, how = None, NO_LOGPROBS
        desk.status.done += 1
        desk.status.missing += score is None
        desk.failed_items.clear()
        return Answer(
            call.key, asked.hash, asked.plain, reply.text, score, how, parsed.detail, used, reply.latency,
            attempt, reply.model, reply.stop, call.again > 0, expected, logprobs,
        )  # fmt: skip

    def charge(self, desk: Desk, reply: Reply, ask: Ask, language: str, batch: bool = False) -> Usage:
        """What a reply cost. One that does not say is charged by an estimate; where a limit must hold, at its worst."""
        desk.answered = True
        tokens_in, tokens_out = reply.input_tokens, reply.output_tokens
        estimated = tokens_in is None or tokens_out is None
        middle, high = self.tokens_of(desk, ask, language) if estimated or self.priced else (0.0, 0.0)
        if tokens_in is None:
            tokens_in = round(high * desk.stretch if self.priced else middle)
        if tokens_out is None:
            text = tokens(characters(reply.text, self._codes[language]), desk.judge.model)[0] + 1
            tokens_out = round(max(text, desk.worst_output) if self.priced else text)
        if not estimated:
            desk.learn(tokens_in, high, tokens_out)
        else:
            self._untold(desk)
        cost = self.work.prices.cost(
            desk.judge.name, tokens_in, tokens_out, reply.cached_tokens or 0, batch, reply.written, reply.reasoning
        )
        return self._counted(desk, Usage(tokens_in, tokens_out, reply.cached_tokens, estimated, cost))

    def charge_lost(self, desk: Desk, ask: Ask, language: str) -> Usage:
        """A request that reached the service and was lost on the way back may have been paid for."""
        middle, high = self.tokens_of(desk, ask, language)
        tokens_in, tokens_out = (high * desk.stretch, desk.worst_output) if self.priced else (middle, desk.each)
        cost = self.work.prices.cost(desk.judge.name, tokens_in, tokens_out)
        self._untold(desk)
        return self._counted(desk, Usage(round(tokens_in), round(tokens_out), None, True, cost))

    def _untold(self, desk: Desk) -> None:
        """Nobody told what a call took. Under a limit a round of such calls is the most that a judge may make."""
        desk.untold += 1
        price = self.work.prices.by_judge[desk.judge.name]
        if self.priced and desk.blind and price is not None and price.output > 0:
            self.set_aside(desk, "nothing tells what its calls take, so no limit can be kept: set its max_tokens")

    def _counted(self, desk: Desk, used: Usage) -> Usage:
        status = desk.status
        status.input_tokens += used.input_tokens or 0
        status.output_tokens += used.output_tokens or 0
        status.cost = None if status.cost is None or used.cost is None else status.cost + used.cost
        return used

    def _goes_without(self, desk: Desk, problem: Problem) -> bool:
        """Go on without structured answers, or a setting, where the service does not know them; the run remembers."""
        name, what = desk.judge.name, problem.without
        if what is None or desk.asker is None:
            return False
        known = self.omitted.setdefault(name, [])
        if what in known:  # a call that was under way when another learnt it
            return True
        if not desk.asker.leave_out(what):
            return False
        known.append(what)
        self.writer.put([meta_statement("omitted", self.omitted)])
        return True

    def _try_again(self, desk: Desk, call: Call, problem: Problem, errors: int) -> bool:
        """Whether a failed call gets another attempt; sets the judge aside when none can work."""
        if problem.fatal:
            self.set_aside(desk, problem.message)
            raise Stop
        if problem.unreachable and not desk.answered and errors >= UNREACHABLE:
            self.set_aside(desk, f"nobody answers at its address: {problem.message}")
            raise Stop
        if (problem.retry_after or 0) > desk.judge.max_wait:
            self.set_aside(desk, f"it asked to wait {problem.retry_after:.0f} s: {problem.message}")
            raise Stop
        if not problem.retry or errors > desk.judge.retries:
            self.give_up(desk, call, problem)
            return False
        desk.status.retries += 1
        return True

    def _check_stop(self, desk: Desk) -> None:
        if self.stopping is not None or desk.status.aside is not None:
            raise Stop

    def set_aside(self, desk: Desk, why: str) -> None:
        desk.status.aside = desk.status.last = desk.status.aside or why
        self.order.leave(desk.judge.name)

    def give_up(self, desk: Desk, call: Call, problem: Problem) -> None:
        """A call has failed for good in this sitting. It stays without an answer and is asked again in the next. Many
        items in a row speak against the judge; one item with many calls, or texts that are too long, do not."""
        desk.status.failed += 1
        if problem.item:
            return
        desk.failed_items.add((call.place, call.key.language if problem.retry else ""))
        count = len(desk.failed_items)
        if count >= desk.judge.give_up_after:
            self.set_aside(desk, f"{count} items failed in a row, the last with {problem.message}")

    async def _skip(self, desk: Desk, call: Call, asked: Ask, problem: Problem, attempt: int) -> None:
        """With `skip_failed`, a call that failed for good is missing, with the error in place of the answer."""
        if self.asking.skip_failed:
            desk.status.missing += 1
            answer = Answer(
                call.key, asked.hash, asked.plain, problem.message, None, FAILED, None, Usage(), 0.0, attempt, "", "",
            )  # fmt: skip
            await self.save([*self.note_item(call.place), answer])

    async def back_off(self, desk: Desk, errors: int, retry_after: float | None) -> None:
        """Wait before another attempt; not beyond the end of the run."""
        wait = min(LONGEST_BACKOFF, desk.judge.backoff * 2 ** min(errors - 1, 30)) * self.jitter.uniform(0.5, 1.0)
        if retry_after is not None:
            # The whole judge (and its account) keeps still: its other connections would only be refused too.
            for limits in desk.limits:
                limits.pause_until = max(limits.pause_until, time.monotonic() + retry_after)
            wait = max(wait, retry_after)
        await self.sleep(wait)

    async def sleep(self, seconds: float, through: str | None = None) -> None:
        """Wait, but not beyond the end of the run, unless it ends for the reason `through`."""
        until = time.monotonic() + seconds
        while self.stopping in (None, through) and (left := until - time.monotonic()) > 0:
            await asyncio.sleep(min(left, 0.25))

    async def save(self, records: Sequence[Record]) -> None:
        """Return once the records are on disk, all of them or none."""
        if not records:
            return
        loop = asyncio.get_running_loop()
        saved: asyncio.Future[None] = loop.create_future()
        if not self._unsaved:
            loop.call_soon(self._hand_over)
        self._unsaved.append((records, saved))
        await saved

    def _hand_over(self) -> None:
        """Give the writer all that came in one turn of the loop: it is woken once, and makes one commit of it."""
        if self._unsaved:
            records, saved = zip(*self._unsaved, strict=True)
            self._unsaved.clear()
            self.writer.put(list(chain.from_iterable(records)), saved)
