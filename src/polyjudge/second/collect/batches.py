"""Batches: half price, answered within a day. What was sent is stored before anybody waits for it, so that a batch
survives a kill, is fetched in a later sitting and is never paid for twice."""

from __future__ import annotations

import json
import tempfile
import time
import uuid
from dataclasses import dataclass
from functools import partial
from typing import IO, TYPE_CHECKING, Any

from polyjudge.second.collect.calls import Call
from polyjudge.second.collect.models import AnthropicAsker, HttpAsker, Problem, unusable
from polyjudge.second.collect.store import Answer, Failure, Key, Record, Statement, Usage
from polyjudge.second.panel.labels import clean

if TYPE_CHECKING:
    from polyjudge.second.collect.desk import Desk
    from polyjudge.second.collect.runner import Run

WITH_BATCHES = ("openai", "openai-api", "groq", "anthropic")
"""Providers with batch endpoints."""
OPEN, GONE = ("sending", "sent"), "gone"
TRIAL = 10
"""Calls of the first batch of a judge under a limit: what they take is the price of the others."""


@dataclass
class Batch:
    """Calls that travel together. `row` is its number in the store, `remote` its id at the provider."""

    row: int
    token: str
    calls: dict[str, tuple[Call, int]]
    """Custom id -> call and number of the attempt."""
    created: float
    remote: str | None = None
    reserved: float = 0.0
    upload: str | None = None
    """The file of its requests at the provider."""


@dataclass
class OpenAIBatches:
    """OpenAI's batch endpoints: a file of requests, a batch over it, files of replies."""

    asker: HttpAsker
    most, largest = 50_000, 190_000_000

    def line(self, custom: str, body: dict[str, Any]) -> bytes:
        entry = {"custom_id": custom, "method": "POST", "url": "/v1/chat/completions", "body": body}
        return json.dumps(entry).encode() + b"\n"

    async def upload(self, file: IO[bytes], token: str) -> str | None:
        """Send the requests; nothing is paid for yet. Returns the id of the file."""
        import aiohttp

        form = aiohttp.FormData()
        form.add_field("purpose", "batch")
        form.add_field("file", file, filename=f"{token}.jsonl", content_type="application/jsonl")
        return str((await self.asker.send("POST", "/files", data=form))["id"])

    async def send(self, file: IO[bytes], batch: Batch) -> str:
        """Create the batch. Returns its id."""
        request = {
            "input_file_id": batch.upload, "endpoint": "/v1/chat/completions", "completion_window": "24h",
            "metadata": {"polyjudge": batch.token},
        }  # fmt: skip
        return str((await self.asker.send("POST", "/batches", data=json.dumps(request).encode()))["id"])

    async def find(self, batch: Batch, taken: set[str]) -> str | None:
        """The id of a batch that was sent, if it arrived: by our mark, or by its file where marks are not kept."""
        after = ""
        for _ in range(100):
            page = await self.asker.send("GET", f"/batches?limit=100{after}")
            entries = page.get("data") or []
            for entry in entries:
                marked = (entry.get("metadata") or {}).get("polyjudge") == batch.token
                if marked or (batch.upload is not None and entry.get("input_file_id") == batch.upload):
                    return str(entry["id"])
            if not page.get("has_more") or not entries:
                break
            after = f"&after={entries[-1]['id']}"
        return None

    async def fetch(self, batch: Batch) -> tuple[str, dict[str, Any]] | None:
        """None while it is under way; then how it ended, and custom id -> reply or error."""
        found = await self.asker.send("GET", f"/batches/{batch.remote}")
        status = found.get("status")
        if status not in ("completed", "failed", "expired", "cancelled"):
            return None
        out: dict[str, Any] = {}
        for name in (found.get("output_file_id"), found.get("error_file_id")):
            if name:
                for line in (await self.asker.send("GET", f"/files/{name}/content", raw=True)).splitlines():
                    entry = _entry(line)
                    response = entry.get("response") or {}
                    good = response.get("status_code") == 200
                    failed = entry.get("error") or (None if good else response.get("body"))
                    out[str(entry.get("custom_id"))] = {"error": failed} if failed else {"body": response.get("body")}
        why = "" if status == "completed" else f"{status}: {json.dumps(found.get('errors'))}"
        return why, out


@dataclass
class AnthropicBatches:
    """Anthropic's message batches. They carry no mark of ours, so one that was sent before a crash is recognised by the
    ids of its replies, once it has ended: another of the same size may be anybody's."""

    asker: HttpAsker
    most, largest = 100_000, 240_000_000

    def line(self, custom: str, body: dict[str, Any]) -> bytes:
        return json.dumps({"custom_id": custom, "params": body}).encode() + b"\n"

    async def upload(self, file: IO[bytes], token: str) -> str | None:
        """Nothing is sent before the batch itself."""
        return None

    async def send(self, file: IO[bytes], batch: Batch) -> str:
        body = b'{"requests": [' + b",".join(line.strip() for line in file) + b"]}"
        return str((await self.asker.send("POST", "/v1/messages/batches", data=body))["id"])

    async def find(self, batch: Batch, taken: set[str]) -> str | None:
        """The id of a batch that was sent, if it arrived; waits while one that may be it is under way."""
        page = await self.asker.send("GET", "/v1/messages/batches?limit=100")
        under_way = None
        for entry in page.get("data") or []:
            total = sum(v for v in (entry.get("request_counts") or {}).values() if isinstance(v, int))
            if total != len(batch.calls) or str(entry["id"]) in taken:
                continue
            if entry.get("processing_status") != "ended":
                under_way = entry["id"]
                continue
            ended = await self.fetch(Batch(0, "", {}, 0.0, str(entry["id"])))
            if ended and set(ended[1]) & set(batch.calls):
                return str(entry["id"])
        if under_way is not None:
            raise Problem(
                kind="batch", message=f"the batch {clean(under_way)} may be ours; it is not ended", retry=True,
                retry_after=self.asker.judge.batch_poll,
            )  # fmt: skip
        return None

    async def fetch(self, batch: Batch) -> tuple[str, dict[str, Any]] | None:
        found = await self.asker.send("GET", f"/v1/messages/batches/{batch.remote}")
        if found.get("processing_status") != "ended":
            return None
        out: dict[str, Any] = {}
        lines = await self.asker.send("GET", f"/v1/messages/batches/{batch.remote}/results", raw=True)
        for line in lines.splitlines():
            entry = _entry(line)
            result = entry.get("result") or {}
            failed = {"error": result.get("error") or result.get("type")}
            good = result.get("type") == "succeeded"
            out[str(entry.get("custom_id"))] = {"body": result.get("message")} if good else failed
        return "", out


def _again(file: IO[bytes]) -> IO[bytes]:
    """A file from its beginning; closing it leaves the file itself open."""
    file.seek(0)
    return open(file.fileno(), "rb", closefd=False)


def _entry(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


class BatchDesk:
    """A judge that is asked in batches, as few as its provider allows."""

    def __init__(self, run: Run, desk: Desk, asker: HttpAsker) -> None:
        provider = desk.judge.model.split("/")[0]
        if provider not in WITH_BATCHES:
            raise unusable(f"{provider} has no batches here ({', '.join(WITH_BATCHES)} have); set batch: false")
        self.run, self.desk, self.asker = run, desk, asker
        self.api = AnthropicBatches(asker) if isinstance(asker, AnthropicAsker) else OpenAIBatches(asker)
        self.waiting: list[tuple[Call, int]] = []
        """Calls for a next batch, with the number of their attempts."""
        self.open = open_batches(run, desk.judge.name)
        self.tried = False
        """Whether a first batch is in."""

    async def work(self) -> None:
        """Fetch what is under way, then send and fetch until nothing remains."""
        try:
            for batch in list(self.open):
                if batch.remote is None:
                    await self._adopt(batch)
            self._collect_calls()
            while (self.waiting or self.open) and self.desk.status.aside is None:
                while self.waiting and self.run.stopping is None and await self._send_one():
                    pass
                if not self.open:
                    return
                calls = sum(len(batch.calls) for batch in self.open)
                self.desk.status.note = f"{calls} calls in {len(self.open)} batches under way"
                await self._fetch_all()
                if self.run.stopping not in (None, "cost"):
                    return
                if self.open:
                    await self.run.sleep(self.desk.judge.batch_poll, through="cost")
        except Problem as problem:
            self.run.set_aside(self.desk, problem.message)
        finally:
            self.desk.status.note = None

    def _collect_calls(self) -> None:
        sent = {call.key for batch in self.open for call, _ in batch.calls.values()}
        while isinstance(call := self.run.order.take(self.desk.judge.name), Call):
            if call.key not in sent:
                self.waiting.append((call, 1))

    async def _adopt(self, batch: Batch) -> None:
        """A batch that was about to be sent when the run was killed: it arrived, or its calls are sent again."""
        batch.remote = await self._find(batch)
        if batch.remote is None:
            await self.run.save([_state(batch, "lost")])
            self.open.remove(batch)
            self.run.budget.settle(None, batch.reserved, 0.0)
        else:
            await self.run.save([_sent(batch)])

    async def _find(self, batch: Batch) -> str | None:
        """The id of a batch that may have arrived. Waits for one that is under way as long as that takes."""
        while True:
            known = "select remote from batches where remote is not null and id <> ?"
            taken = {str(row[0]) for row in self.run.reader.execute(known, [batch.row])}
            try:
                found: str | None = await self._patiently(partial(self.api.find, batch, taken))
                return found
            except Problem as problem:
                if problem.kind != "batch" or self.run.stopping is not None:
                    raise
                self.desk.status.note = problem.message

    async def _send_one(self) -> bool:
        """Send one batch of what waits, within the provider's limits and the budget. False when the money is spent."""
        batch = Batch(0, uuid.uuid4().hex, {}, time.time())
        trial = self.run.priced and self.desk.known < TRIAL and not (self.tried and self.desk.bound)
        if trial and self.open:
            return False
        records: list[Record] = []
        rest: list[tuple[Call, int]] = []
        with tempfile.TemporaryFile(prefix="polyjudge-") as file:
            size = 0
            for i, (call, attempt) in enumerate(self.waiting):
                asked = self.run.work.question(self.desk.judge, call)
                custom = f"{batch.token[:12]}-{i}"
                line = self.api.line(custom, self.asker.body(asked))
                worst = 0.0
                if self.run.priced:
                    high = self.run.tokens_of(self.desk, asked, call.key.language)[1]
                    worst = self.desk.worst(self.run.work.prices, high, batch=True)
                full = len(batch.calls) >= (TRIAL if trial else self.api.most) or size + len(line) > self.api.largest
                if full or not self.run.budget.fits(batch.reserved + worst):
                    rest = self.waiting[i:]
                    break
                batch.reserved += worst
                batch.calls[custom] = call, attempt
                size += len(line)
                file.write(line)
                records += self.run.note_item(call.place)
            if not batch.calls or (rest and len(batch.calls) < TRIAL and not trial):  # no crumbs: each is a day's wait
                if not self.open:
                    self.run.stopping = "cost"
                return False
            self.waiting = rest
            self.run.batch_rows += 1
            batch.row = self.run.batch_rows
            await self.run.save([*records, *_insert(batch, self.desk.judge.name)])
            self.run.budget.reserved += batch.reserved
            self.open.append(batch)
            await self._deliver(batch, file)
        return bool(rest) and not trial

    async def _deliver(self, batch: Batch, file: IO[bytes]) -> None:
        """Send a batch. When it is not known whether it arrived, look before it is sent once more."""
        for errors in range(1, self.desk.judge.retries + 2):
            sent = False
            try:
                if batch.upload is None:
                    with _again(file) as lines:
                        batch.upload = await self.api.upload(lines, batch.token)
                    await self.run.save([_state(batch, "sending", batch.upload)])
                sent = True
                with _again(file) as lines:
                    batch.remote = await self.api.send(lines, batch)
                break
            except Problem as problem:
                self.desk.status.last = problem.message
                if sent and (problem.paid or problem.retry):  # a server that fails may have made it all the same
                    await self.run.back_off(self.desk, errors, problem.retry_after)
                    batch.remote = await self._find(batch)
                if batch.remote is not None:
                    break
                if not problem.retry or errors > self.desk.judge.retries:
                    await self.run.save([_state(batch, "refused", problem.message)])
                    self.open.remove(batch)
                    raise
                await self.run.back_off(self.desk, errors, problem.retry_after)
        await self.run.save([_sent(batch)])

    async def _patiently(self, ask: Any) -> Any:
        for errors in range(1, self.desk.judge.retries + 2):
            try:
                return await ask()
            except Problem as problem:
                if not problem.retry or errors > self.desk.judge.retries or self.run.stopping is not None:
                    raise
                self.desk.status.last = problem.message
                await self.run.back_off(self.desk, errors, problem.retry_after)
        return None

    async def _fetch_all(self) -> None:
        for batch in list(self.open):
            try:
                ended = await self._patiently(partial(self.api.fetch, batch))
            except Problem as problem:
                if problem.kind != "http 404":
                    raise
                ended = f"{GONE} at the provider: {problem.message}", {}  # paid, perhaps; its calls are asked anew
            if ended is not None:
                await self._take_in(batch, *ended)
                self.open.remove(batch)

    async def _take_in(self, batch: Batch, why: str, replies: dict[str, Any]) -> None:
        """Store all answers of a batch together with its end: all of it or nothing."""
        records: list[Record] = []
        spent = 0.0
        for custom, (call, attempt) in batch.calls.items():
            record = self._one(batch, call, attempt, replies.get(custom), why)
            spent += record.usage.cost or 0.0
            records += [*self.run.note_item(call.place), record]
        await self.run.save([*records, _state(batch, "done", why or None)])
        self.run.budget.settle(None, batch.reserved, spent)
        self.tried = True
        if why and not replies and not why.startswith(GONE):
            ended = f"its batch {clean(batch.remote)} ended as {clean(why, 300)}"
            raise Problem(kind="batch", message=ended, fatal=True)

    def _one(self, batch: Batch, call: Call, attempt: int, entry: Any, why: str) -> Answer | Failure:
        run, desk = self.run, self.desk
        waited, asked = time.time() - batch.created, run.work.question(desk.judge, call)
        try:
            if entry is None or entry.get("error"):
                text = json.dumps(entry.get("error")) if entry else f"not in the batch's replies {why}"
                raise Problem(kind="batch", message=clean(text, 400), retry=True, latency=waited)
            reply = self.asker.reply(entry["body"], waited)
        except Problem as problem:
            if attempt > desk.judge.retries:
                run.give_up(desk, call, problem)
            else:
                desk.status.retries += 1
                self.waiting.append((call, attempt + 1))
            gone = why.startswith(GONE) and run.charge_lost(desk, asked, call.key.language)
            return Failure(call.key, attempt, problem.kind, problem.message, gone or Usage(), waited)
        used = run.charge(desk, reply, asked, call.key.language, batch=True)
        again = call.again < run.plan.rubric.reask
        record = run.read(desk, call, asked, reply, used, attempt, again)
        if isinstance(record, Answer):
            run.order.settle(call)
        else:
            desk.status.retries += 1
            self.waiting.append((call._replace(again=call.again + 1), attempt + 1))
        return record


def open_batches(run: Run, judge: str) -> list[Batch]:
    """The batches of a judge that are not settled in the store; what they may cost is reserved."""
    places = {name: place for place, name in enumerate(run.work.aligned.names)}
    out = []
    rows = run.reader.execute(
        "select id, token, remote, reserved, created, note from batches where judge = ? and state in (?, ?)",
        [judge, *OPEN],
    ).fetchall()
    for row, token, remote, reserved, created, upload in rows:
        batch = Batch(row, token, {}, created, remote, reserved, upload)
        for custom, task, system, replicate, repeat, language, part, attempt, again in run.reader.execute(
            "select custom, task, system, replicate, repeat, language, part, attempt, again from batch_calls "
            "where batch = ?", [row],
        ):  # fmt: skip
            full = Key(task, system, replicate, repeat, language, judge, part)
            if full.name in places:
                batch.calls[custom] = Call(places[full.name], full, again), attempt
        run.budget.reserved += reserved
        out.append(batch)
    return out


def _insert(batch: Batch, judge: str) -> list[Record]:
    sent = (batch.row, judge, batch.token, len(batch.calls), batch.reserved, batch.created)
    out: list[Record] = [Statement("insert into batches values (?, ?, ?, null, 'sending', ?, ?, ?, null, null)", sent)]
    for custom, (call, attempt) in batch.calls.items():
        k = call.key
        row = (batch.row, custom, *k.name, k.repeat, k.language, k.part, attempt, call.again)
        out.append(Statement("insert into batch_calls values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row))
    return out


def _sent(batch: Batch) -> Statement:
    return Statement("update batches set remote = ?, state = 'sent' where id = ?", (batch.remote, batch.row))


def _state(batch: Batch, state: str, note: str | None = None) -> Statement:
    return Statement(
        "update batches set state = ?, note = ?, ended = ? where id = ?", (state, note, time.time(), batch.row)
    )
