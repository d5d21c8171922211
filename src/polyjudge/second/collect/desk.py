"""A judge at work: its rates, its failures, and the money that its calls may take.

What a call costs is known when its usage comes back. Until then it is reserved at the worst seen so far of its judge,
or at a first guess; and while a judge's price of a call is unknown, few calls of it are in flight: one, then as many as
were answered. So a limit is passed by one round of calls in flight at most, whatever the service sends or hides.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from polyjudge.second.collect.cost import Learnt, Prices
from polyjudge.second.collect.models import Asker
from polyjudge.second.collect.plan import Account, Judge

FIRST_GUESS = 2000.0
"""Output tokens reserved for a call of a judge that has not answered yet and has no max_tokens."""
ROOM = 1.5
"""A call is reserved at so many times the longest output seen."""


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
    last: str | None = None
    """Its last error."""


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


class Desk:
    """One judge: its limits, its failures, and what its calls took so far."""

    def __init__(self, judge: Judge, status: Status, limits: list[Limits], guess: float, learnt: Learnt | None) -> None:
        self.judge, self.status, self.limits = judge, status, limits
        self.asker: Asker | None = None
        self.failed_items: set[tuple[int, str]] = set()
        """Items (and languages, where another attempt might have helped) that failed with no answer between them."""
        self.known, self.longest = (learnt.answers, learnt.longest) if learnt is not None else (0, 0.0)
        self.each = learnt.mean if learnt is not None else guess
        """Output tokens of a call, on average."""
        self.stretch = 1.0
        """Input tokens over the most that was expected, at the worst."""
        self.filled = 1.0
        """The same on average."""
        self.flying = self.most_flying = 0
        self.dearest = 0.0
        """Dollars of the dearest call."""
        self.answered = False
        self.untold = 0
        """Calls that nobody told the tokens of."""

    @property
    def bound(self) -> float | None:
        """`max_tokens`, where it is set."""
        most = self.judge.settings.get("max_tokens")
        return float(most) if isinstance(most, int) else None

    @property
    def blind(self) -> bool:
        """Whether a round of calls was made, and nothing tells what they take."""
        return not self.known and self.bound is None and self.untold >= self.judge.concurrency

    @property
    def worst_output(self) -> float:
        """Output tokens that a call may take at most, as far as is known."""
        bound = self.bound
        guess = bound or FIRST_GUESS
        worst = max(ROOM * self.longest, guess / (1 + self.known))
        return min(worst, bound) if bound is not None and self.longest <= bound else worst

    def worst(self, prices: Prices, high: float, batch: bool = False) -> float:
        """Dollars that a call with at most so many expected input tokens may cost."""
        stretch, output = self.stretch, self.worst_output
        if batch and self.known >= 10:  # many calls together: the mean of them is known better than the worst
            stretch, output = min(stretch, ROOM * self.filled), min(output, ROOM * self.each)
        return prices.cost(self.judge.name, high * stretch, output, batch=batch) or 0.0

    def learn(self, tokens_in: float, high: float, tokens_out: float) -> None:
        """A reply said what it took."""
        self.known += 1
        self.each += (tokens_out - self.each) / max(1, min(self.known, 100))
        self.longest = max(self.longest, tokens_out)
        if high > 0:
            self.stretch = max(self.stretch, tokens_in / high)
            self.filled += (tokens_in / high - self.filled) / max(1, min(self.known, 100))

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
            await asyncio.sleep(min(wait, 0.25))


class Budget:
    """Money: spent so far in all sittings, and reserved for calls in flight at their worst."""

    def __init__(self, limit: float | None, spent: float) -> None:
        self.limit, self.spent, self.reserved = limit, spent, 0.0
        self._moved = asyncio.Event()

    def fits(self, amount: float) -> bool:
        return self.limit is None or self.spent + self.reserved + amount <= self.limit + 1e-12

    async def reserve(self, desk: Desk, worst: Callable[[], float]) -> float | None:
        """Set aside what a call may cost at worst, as is known when it is its turn. Waits for calls in flight to settle
        when they hold the money, or when the judge's price of a call is not known well enough for one more. None: it
        cannot be had."""
        amount = worst()
        while self.limit is not None and not (self.fits(amount) and desk.flying < 1 + desk.known):
            if not self.fits(amount) and self.reserved <= 1e-12:
                return None
            moved = self._moved
            await moved.wait()
            amount = worst()
        self.reserved += amount
        desk.flying += 1
        desk.most_flying = max(desk.most_flying, desk.flying)
        return amount

    def settle(self, desk: Desk | None, reserved: float, spent: float) -> None:
        """A call is over. `desk` is None for a batch."""
        self.reserved = max(0.0, self.reserved - reserved)
        self.spent += spent
        if desk is not None:
            desk.flying -= 1
            desk.dearest = max(desk.dearest, spent)
        self._moved.set()
        self._moved = asyncio.Event()
