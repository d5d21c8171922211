"""Before a run: what a plan would do, without asking anybody; and one call for each judge and language."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import field
from pathlib import Path
from typing import Any

import pandas as pd

from polyjudge.second.collect.adaptive import Expected, expected
from polyjudge.second.collect.askers import make_asker
from polyjudge.second.collect.calls import Call, Work, prepare
from polyjudge.second.collect.cost import Learnt, Prices, characters, expected_output, learnt_output, tokens
from polyjudge.second.collect.languages import phrases, shipped
from polyjudge.second.collect.models import Asker, Problem, Reply
from polyjudge.second.collect.parse import CUT, REFUSED, parse, refuses
from polyjudge.second.collect.plan import Judge, Plan
from polyjudge.second.collect.prompts import render
from polyjudge.second.collect.runner import client_session
from polyjudge.second.collect.secrets import known_secrets
from polyjudge.second.collect.store import FILE, Key, damaged, open_store
from polyjudge.second.panel.arrays import Array
from polyjudge.second.report.result import Result

SAMPLE = 1000
"""Items whose prompts are measured; of more, this many evenly spaced ones stand for all."""


def estimate(
    plan: Plan, prices: Prices, calls: int, characters: dict[str, int], learnt: Mapping[str, Learnt]
) -> pd.DataFrame:
    """What `calls` calls to every judge with these characters in all of their prompts will take, in tokens and dollars.

    `input_low`, `input_high`, `cost_low` and `cost_high` are the range of what may come: a third either way for a
    measured tokenizer, from the leanest to the largest otherwise. The output is a guess, or what was learnt from the
    run so far (`learnt`), and has no range.
    """
    rows = []
    for judge in plan.judges:
        sizes = tokens(characters, judge.model)
        output = calls * (learnt[judge.name].mean if judge.name in learnt else expected_output(judge, plan))
        costs = [prices.cost(judge.name, size, output, batch=judge.batch) for size in sizes]
        counted = (calls, *map(round, sizes), round(output), judge.name in learnt, judge.batch)
        rows.append((judge.name, judge.model, *counted, *costs))
    columns = ["judge", "model", "calls", "input_tokens", "input_low", "input_high", "output_tokens", "learnt", "batch"]
    money = ["cost", "cost_low", "cost_high"]
    return pd.DataFrame(rows, columns=columns + money).astype(dict.fromkeys(money, float))


class Preview(Result):
    """A plan seen before it runs. `prompts` has the first item's first prompt in every language; `answered` counts the
    calls that the run folder already holds; `unreviewed` are languages whose prompts no speaker has reviewed;
    `examples` is how many example answers the plan's parser read as it should; `expected` is for an adaptive run.
    `probes` has what the plan's probes take of it: tasks, versions, calls, cost (None without prices), and shares
    discarded by language. `unusable` has the judges that cannot be asked as they are set up, and why; `one_rubric` the
    languages whose prompts hold criteria written for another."""

    name: str
    tasks: int
    items: int
    languages: list[str]
    judges: list[str]
    calls: int
    answered: int
    dropped: list[list[str]]
    estimate: pd.DataFrame
    price_date: str
    prompts: pd.DataFrame
    unreviewed: list[str]
    examples: int
    expected: Expected | None = None
    probes: dict[str, Any] | None = None
    unusable: dict[str, str] = field(default_factory=dict)
    one_rubric: list[str] = field(default_factory=list)


def preview(
    plan: Plan, folder: str | Path | None = None, settings: dict[str, Any] | None = None, pilot: Array | None = None,
    send_key: Sequence[str] = (),
) -> Preview:  # fmt: skip
    """Check a plan and count what it would take. Makes no request and writes nothing.

    settings : of the rule, for an adaptive run
    pilot : earlier scores from which the adaptive run is simulated
    """
    work = prepare(plan)
    aligned = work.aligned
    shown: list[tuple[str, str, str, str]] = []
    own = len(aligned) if aligned.first_version is None else aligned.first_version
    counts = _characters(work, range(0, own, max(1, own // SAMPLE)), own, shown)
    versions = _characters(work, range(own, len(aligned)), len(aligned) - own, shown)
    counts = {code: counts.get(code, 0) + versions.get(code, 0) for code in {**counts, **versions}}
    answered, learnt = 0, dict[str, Learnt]()
    if folder is not None and (Path(folder) / FILE).is_file():
        here = "select count(*) from answers join items using (task, system, replicate) where place >= 0"
        with closing(open_store(Path(folder))) as con, damaged(Path(folder) / FILE):
            answered, learnt = con.execute(here).fetchone()[0], learnt_output(con)
    own = plan.rubric.templates is not None
    codes = {} if own else {language.name: shipped(language.template) or "en" for language in plan.languages}
    costs = estimate(plan, work.prices, work.calls, counts, learnt)
    return Preview(
        name=plan.name,
        tasks=len({name.task for name in aligned.names}),
        items=len(aligned),
        languages=[language.name for language in plan.languages],
        judges=[judge.name for judge in plan.judges],
        calls=work.calls * len(plan.judges),
        answered=answered,
        dropped=[list(d) for d in aligned.dropped],
        estimate=costs,
        price_date=work.prices.date,
        prompts=pd.DataFrame(shown, columns=["language", "task", "part", "prompt"]),
        unreviewed=[name for name, code in codes.items() if not phrases(code)["reviewed"]],
        examples=len(plan.rubric.examples),
        expected=None if settings is None else expected(work, settings, costs, pilot),
        probes=_probes(work, versions, learnt),
        unusable=unusable_judges(plan, send_key),
        one_rubric=one_rubric(plan),
    )


def unusable_judges(plan: Plan, send_key: Sequence[str]) -> dict[str, str]:
    """Judges that cannot be asked at all: an unknown provider, no key, no address, no such function. Asks nobody."""
    out = {}
    for judge in plan.judges:
        try:
            make_asker(judge, plan, None, send_key)
        except Problem as problem:
            out[judge.name] = problem.message
    return out


def one_rubric(plan: Plan) -> list[str]:
    """Languages whose prompts hold criteria that are one text for all languages, so of another language."""
    criteria, own = plan.rubric.criteria, plan.languages[0].template
    texts = [c.text for c in criteria] if isinstance(criteria, tuple) else [criteria]
    if not any(isinstance(text, str) for text in texts):
        return []
    english = all(text.isascii() for text in texts if isinstance(text, str))
    return [x.name for x in plan.languages if x.template != own or (english and (shipped(x.template) or "en") != "en")]


def _characters(work: Work, places: range, stands_for: int, shown: list[tuple[str, str, str, str]]) -> dict[str, int]:
    """Characters by script of the prompts at `places`, which stand for so many items."""
    plan, counts = work.plan, dict[str, int]()
    for place in places:
        item = work.aligned.item(place)
        for language in plan.languages:
            template = work.templates[language.name]
            for j, part in enumerate(work.parts(place)):
                text = render(plan, template, item, language.name, part)
                for code, n in characters(text, language.template).items():
                    counts[code] = counts.get(code, 0) + n * plan.repeats
                if place == j == 0:
                    shown.append((language.name, item.name.task, part, text))
    return {code: round(n * stands_for / max(1, len(places))) for code, n in counts.items()}


def _probes(work: Work, versions: dict[str, int], learnt: dict[str, Learnt]) -> dict[str, Any] | None:
    """What the probes take: their share of the calls and of the cost."""
    aligned = work.aligned
    if aligned.probes is None or aligned.first_version is None:
        return None
    calls = sum(work.size(place) for place in range(aligned.first_version, len(aligned)))
    cost = estimate(work.plan, work.prices, calls, versions, learnt)["cost"]
    return {
        "tasks": aligned.probes.tasks,
        "versions": len({name.system for name in aligned.names[aligned.first_version :]}),
        "calls": calls * len(work.plan.judges),
        "cost": float(cost.sum()) if cost.notna().all() else None,
        "discarded": aligned.probes.lost(),
        "short": list(aligned.probes.short),
    }


# --- one call for each judge and language before ten thousand: key, model, address, settings, parser, price and time.
# Each call is made once, without retries, and nothing is stored. What is wrong has a code.

PATIENCE = 60.0
"""Seconds after which a first call is given up."""
SLOW = 20.0
"""Seconds after which an answer is called slow."""


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
    call = Call(0, Key(*name, 0, language, judge.name, work.parts(0)[0]))
    ask = work.question(judge, call)
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
    parsed = parse(reply.text, rubric, len(work.aligned.requirements[0]), reply.stop)
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
