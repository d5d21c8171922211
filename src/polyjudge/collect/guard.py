"""What happens when a call fails: it is made again after a while, or the judge is set aside."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import anyio
from inspect_ai.dataset import Sample
from inspect_ai.util import EarlyStop

from polyjudge.base.text import name as shown
from polyjudge.base.text import redact, tell
from polyjudge.collect.journal import Journal
from polyjudge.collect.plan import hide_keys

FIRST = 8  # calls that go ahead until one is answered, and after which a judge that answers none is set aside
LATER = 40  # failed calls in a row after which a judge is set aside that did answer before
HOPELESS = 5  # or so many tries of each of the first number of calls, with no answer between them
LONGEST = 60.0  # seconds between two tries of a call at most
STOPPED = "the judge was stopped"
_QUOTA = re.compile(r"insufficient[_ ]quota|exceeded your current quota|billing|credit|payment", re.IGNORECASE)


class Guard:
    """Stops a judge that fails everything: an early-stopping manager of Inspect's, which holds calls back.

    tick : called with whether a call was answered
    tries : how often a call is made that fails
    alive : whether the judge has answered before; until it has, only some calls go ahead (a batch goes whole)
    """

    def __init__(
        self,
        judge: str,
        journal: Journal,
        *,
        tries: int = 6,
        alive: bool = False,
        tick: Callable[[bool], None] = lambda ok: None,
    ) -> None:
        self.judge, self.journal, self.tries, self.tick = judge, journal, tries, tick
        self.alive = alive
        self.dead, self.why, self.is_told = False, "", False
        self.n_going = 0
        self.schema_works = False
        self.event = anyio.Event()
        self.failing: dict[str | int, int] = {}
        """Calls that failed since the last answer, and how often."""
        self.given_up: set[str | int] = set()

    # --- what Inspect calls ---

    async def start_task(self, task: Any, samples: list[Sample], epochs: int) -> str:
        self.event, self.n_going = anyio.Event(), 0  # in the loop of this sitting
        return "polyjudge"

    async def schedule_sample(self, id: str | int, epoch: int) -> EarlyStop | None:
        """Let a call go, hold it until another was answered, or drop it."""
        while not self.alive and not self.dead and self.n_going >= FIRST:
            await self.event.wait()
        self.n_going += 1
        if self.dead or self.journal.broken:
            return EarlyStop(id=id, epoch=epoch, reason=STOPPED)
        return None

    async def complete_sample(self, id: str | int, epoch: int, scores: Mapping[str, Any]) -> None:
        self.tick(True)

    async def complete_task(self) -> dict[str, Any]:
        return {"stopped": self.dead, "failed": len(self.failing)}

    # --- what came of a call ---

    def answer(self) -> None:
        """The judge gave a score: what failed before was no rule."""
        self.alive = True
        if not self.dead:
            self.failing = {}
        self._wake()

    def fail(self, id: str | int, error: BaseException) -> None:
        """A call failed, or no score can be read from what the judge says."""
        self.why = words_of(error)
        self.tick(False)
        self.failing[id] = self.failing.get(id, 0) + 1
        if not self.is_told:
            self.is_told = True
            tell(f"{shown(self.judge)}, the first call that failed: {self.why}")
        # Eight calls at once meet one moment of a service that is only busy: those get a second chance.
        min_times = min(2, self.tries) if may_pass(error) else 1
        n_failing = sum(times >= min_times for times in self.failing.values())
        n_hopeless = sum(times >= HOPELESS for times in self.failing.values())
        if n_failing >= (LATER if self.alive else FIRST) or n_hopeless >= FIRST:
            self.stop()

    def give_up(self, id: str | int, error: BaseException) -> None:
        """A call is not made again in this sitting."""
        self.given_up.add(id)
        self.journal.add_failure(self.judge, str(id), words_of(error))

    def stop(self) -> None:
        self.dead = True
        self._wake()

    def end(self, id: str | int) -> None:
        """A call came to its end: another one may go, unless this one counts against the judge."""
        self.n_going -= id not in self.failing
        self._wake()

    def _wake(self) -> None:
        waiting, self.event = self.event, anyio.Event()
        waiting.set()

    async def wait_for_next_try(self, n_tries: int, error: BaseException) -> None:
        """Wait before a call is made again: as long as the service asks, else longer each time; no longer than until
        the judge is set aside."""
        first = 5.0 if status_of(error) == 429 else 0.5
        seconds = min(_asked_to_wait(error) or first * 2.0 ** (n_tries - 1), LONGEST)
        while seconds > 0 and not self.dead:
            await anyio.sleep(min(seconds, 0.1))
            seconds -= 0.1


def status_of(error: BaseException) -> int | None:
    """The HTTP status behind an error of any provider's client."""
    for name in ("status_code", "code", "status"):
        status = getattr(error, name, None)
        if isinstance(status, int):
            return status
    return None


def may_pass(error: BaseException) -> bool:
    """Whether the same call may be answered a little later: no word of a quota, and no 4xx but the busy ones."""
    status = status_of(error)
    is_refused = status is not None and 400 <= status < 500 and status not in (408, 409, 425, 429)
    return not (is_refused or _QUOTA.search(str(error)) or isinstance(error, UnreadableError))


def refuses_schema(error: BaseException) -> bool:
    """Whether a service may have refused a call for the schema of the answer."""
    status = status_of(error)
    return status in (400, 404, 415, 422, 501) or isinstance(error, TypeError | NotImplementedError)


class UnreadableError(ValueError):
    """No score can be read from what a judge says."""


def cause_of(error: BaseException) -> BaseException:
    """The error of the service, from under those that Inspect and its helpers put around it."""
    last_attempt = getattr(error, "last_attempt", None)  # tenacity's RetryError says nothing by itself
    if last_attempt is not None:
        error = last_attempt.exception() or error
    if hasattr(error, "provider_message") and error.__cause__ is not None:  # Inspect puts the request before it
        error = error.__cause__
    return error


def words_of(error: BaseException) -> str:
    """What a service says of an error, without keys."""
    message = _message_of(getattr(error, "body", None))
    words = " ".join((f"Error code: {status_of(error)} - {message}" if message else str(error)).split())
    if not words or words == "Connection error.":  # what a client says of any broken connection
        below = error.__cause__
        while below is not None and below.__cause__ is not None:
            below = below.__cause__
        words = f"{words} {below or ''}".strip()
    text = words if isinstance(error, UnreadableError) else f"{type(error).__name__}: {words}"
    return shown(hide_keys(redact(text)), 300)


def _message_of(body: Any) -> str:
    """The message in the answer of a service that failed."""
    inner = body.get("error", body) if isinstance(body, dict) else body
    message = inner.get("message") if isinstance(inner, dict) else None
    return message if isinstance(message, str) else ""


def _asked_to_wait(error: BaseException) -> float:
    """Seconds that a service asks to wait (Retry-After); 0 where it says nothing."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    try:
        return float(headers.get("retry-after", 0))
    except (ValueError, TypeError, AttributeError):
        return 0.0
