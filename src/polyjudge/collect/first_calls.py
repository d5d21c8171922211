"""One call for each judge and language before ten thousand: key, model, address, settings, parser, price and time.

Each call is made once, without retries, and nothing is stored. What is wrong has a code, so that the words can say what
to do about it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from polyjudge.collect.askers import make_asker
from polyjudge.collect.calls import Call, Work, prepare
from polyjudge.collect.models import Asker, Problem, Reply
from polyjudge.collect.parse import CUT, REFUSED, parse, refuses
from polyjudge.collect.plan import Judge, Plan
from polyjudge.collect.preview import one_rubric
from polyjudge.collect.prompts import parts
from polyjudge.collect.runner import client_session, question
from polyjudge.collect.secrets import known_secrets
from polyjudge.collect.store import Key
from polyjudge.report.result import Result

PATIENCE = 60.0
"""Seconds after which a first call is given up."""
SLOW = 20.0
"""Seconds after which an answer is called slow."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class FirstCalls(Result):
    """What the first calls found. `calls`: judge, language, problem (a code; empty when all is well), said (the
    service's own words, or the answer), score, seconds, input_tokens, output_tokens, cost. `notes`: judge, what is odd
    but no obstacle (a code) and a value. `one_rubric` as in `Preview`."""

    name: str
    calls: pd.DataFrame
    notes: pd.DataFrame
    one_rubric: list[str] = field(default_factory=list)

    @property
    def problems(self) -> pd.DataFrame:
        """The calls that did not give a score."""
        return self.calls[self.calls["problem"] != ""]

    def to_frame(self) -> pd.DataFrame:
        return self.calls


def first_calls(plan: Plan, send_key: Sequence[str] = ()) -> FirstCalls:
    """Ask every judge once in every language about the first item, and say what came of it."""
    known_secrets.cache_clear()
    work = prepare(plan)
    found = asyncio.run(_all(work, send_key))
    rows = [row for row, _ in found]
    notes = [(row["judge"], *note) for row, more in found for note in more]
    notes += [(name, "no price", "") for name, price in work.prices.by_judge.items() if price is None]
    table = pd.DataFrame(notes, columns=["judge", "note", "value"]).drop_duplicates(["judge", "note"])
    return FirstCalls(
        name=plan.name, calls=pd.DataFrame(rows), notes=table.reset_index(drop=True), one_rubric=one_rubric(plan)
    )


Row = tuple[dict[str, Any], list[tuple[str, str]]]


async def _all(work: Work, send_key: Sequence[str]) -> list[Row]:
    async with client_session() as session:

        async def judge_rows(judge: Judge) -> list[Row]:
            quick = judge.model_copy(update={"timeout": min(judge.timeout, PATIENCE)})
            names = [language.name for language in work.plan.languages]
            try:
                asker = make_asker(quick, work.plan, session, send_key)
            except Problem as problem:
                return [(_row(judge, name, "setup", problem.message), []) for name in names]
            try:
                return list(await asyncio.gather(*(_one(work, judge, asker, name) for name in names)))
            finally:
                await asker.close()

        return [row for rows in await asyncio.gather(*map(judge_rows, work.plan.judges)) for row in rows]


async def _one(work: Work, judge: Judge, asker: Asker, language: str) -> Row:
    """One call in one language; once more without what the service does not know."""
    name = work.aligned.names[0]
    part = parts(work.plan, tuple(line[0] for line in work.aligned.lines(0)))[0]
    call = Call(0, Key(*name, 0, language, judge.name, part))
    ask = question(work, judge, call, work.aligned.item(0)).ask
    notes: list[tuple[str, str]] = []
    for _ in range(3):
        try:
            return _read(work, judge, language, await asker.ask(ask), notes)
        except Problem as problem:
            if problem.without is None or not asker.leave_out(problem.without):
                return _row(judge, language, _code(problem), problem.message, seconds=problem.latency), notes
            notes.append(("without", problem.without))
    return _row(judge, language, "refuses settings", "it takes none of the settings"), notes


def _read(work: Work, judge: Judge, language: str, reply: Reply, notes: list[tuple[str, str]]) -> Row:
    rubric = work.plan.rubric
    parsed = parse(reply.text, rubric, len(work.aligned.lines(0)), reply.stop)
    how = REFUSED if parsed.score is None and refuses(reply.text) else parsed.how
    codes = {CUT: "cut", REFUSED: "refused", "empty": "empty", "off the scale": "off the scale"}
    problem = "" if parsed.score is not None else codes.get(how, "unreadable")
    if rubric.expected and not reply.tokens and not problem:
        problem = "no log-probabilities"
    used = (reply.input_tokens, reply.output_tokens)
    if None in used and not judge.code:
        notes.append(("no usage", ""))
    if reply.latency > SLOW:
        notes.append(("slow", f"{reply.latency:.0f}"))
    wanted = judge.model.split("/")[-1]
    if reply.model and _plain(wanted) not in _plain(reply.model) and _plain(reply.model) not in _plain(wanted):
        notes.append(("other model", reply.model))
    cost = None
    if used[0] is not None and used[1] is not None:
        cached, written, reasoning = reply.cached_tokens or 0, reply.written, reply.reasoning
        cost = work.prices.cost(judge.name, used[0], used[1], cached, written=written, reasoning=reasoning)
    row = _row(judge, language, problem, reply.text, parsed.score, reply.latency)
    return {**row, "input_tokens": used[0], "output_tokens": used[1], "cost": cost}, notes


def _row(
    judge: Judge, language: str, problem: str, said: str, score: float | None = None, seconds: float = 0.0
) -> dict[str, Any]:
    return {
        "judge": judge.name, "language": language, "problem": problem, "said": " ".join(said.split())[:300],
        "score": score, "seconds": seconds, "input_tokens": None, "output_tokens": None, "cost": None,
    }  # fmt: skip


def _code(problem: Problem) -> str:
    """What is wrong, by what the service said."""
    text, kind = problem.message.casefold(), problem.kind
    if problem.unreachable or kind.startswith("http 3"):
        return "address"
    if kind == "http 402" or "quota" in text or "credit" in text or "billing" in text:
        return "money"
    if kind == "http 404" or (kind == "http 400" and "model" in text and not problem.item):
        return "model" if "model" in text else "address"
    if problem.item and kind not in ("http 401", "http 403"):
        return "too long"
    codes = {"http 401": "key", "http 403": "key", "rate limit": "rate", "unreadable reply": "no chat api"}
    return (codes | {"timeout": "timeout", "setup": "setup"}).get(kind, "error")


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.casefold())
