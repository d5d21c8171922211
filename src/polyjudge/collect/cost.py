"""Tokens and money: estimated before a run, counted from recorded usage after it (docs/methods.md, section 15)."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import pandas as pd

from polyjudge.collect.plan import Judge, Plan, Price, parse_price
from polyjudge.collect.tokens import tokens
from polyjudge.panel.errors import CollectError
from polyjudge.panel.labels import clean
from polyjudge.report.result import Result

OUTPUT_GUESS = {"after": 100.0, "first": 300.0, "none": 12.0}
"""Output tokens guessed per call before anything is known, by where the reason stands (the paper's calls took 94)."""
WORST_OUTPUT = 2000.0
"""Output tokens reserved for a call in flight when neither the settings nor the run so far bound them."""


@dataclass(frozen=True)
class Prices:
    """Prices by judge name; None for a judge whose price is not known."""

    date: str
    by_judge: Mapping[str, Price | None]

    def cost(
        self, judge: str, input_tokens: float, output_tokens: float, cached: float = 0, batch: bool = False
    ) -> float | None:
        """Dollars for these tokens (`cached`: those of the input that came from a cache), or None without a price."""
        price = self.by_judge.get(judge)
        if price is None:
            return None
        cached = min(cached, input_tokens)
        fresh = (input_tokens - cached) * price.input + cached * (price.input if price.cached is None else price.cached)
        return (fresh + output_tokens * price.output) / 1e6 * (price.batch if batch else 1.0)


def load_prices(plan: Plan) -> Prices:
    """Prices of the plan's judges: its own, else the plan's price file's, else the shipped file's."""
    if plan.prices is None:
        where, text = "the shipped prices", (files("polyjudge.collect") / "prices.json").read_text(encoding="utf-8")
    else:
        where = clean(plan.resolve(plan.prices), 200)
        try:
            text = plan.resolve(plan.prices).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise CollectError(f"Cannot read the price file {where}: {why}.") from None
    try:
        raw = json.loads(text)
        models, date = raw["models"], str(raw["date"])[:40]
        known = {str(name): parse_price(price, f"{where}: {name}") for name, price in models.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, CollectError):
            raise
        raise CollectError(
            f"{where} is not a price file. It is JSON with a date and models, such as "
            '{"date": "2026-01-31", "models": {"openai/gpt-4o": {"input": 2.5, "output": 10}}}.'
        ) from None
    return Prices(date, {judge.name: judge.price or _look_up(judge, known) for judge in plan.judges})


def _look_up(judge: Judge, known: Mapping[str, Price]) -> Price | None:
    """By the full name, or by it without a router in front (openrouter/openai/gpt-4o)."""
    name = judge.model
    while name:
        if name in known:
            return known[name]
        _, _, name = name.partition("/")
    return None


@dataclass(frozen=True, repr=False, eq=False)
class Estimate(Result):
    """What a run will take: calls, tokens and dollars per judge. `input_low`, `input_high`, `cost_low` and `cost_high`
    are the range of what may come: a third either way for a measured tokenizer, from the leanest to the largest
    otherwise. The output is a guess, or what was learnt from the run so far (`learnt`), and has no range."""

    judges: pd.DataFrame
    price_date: str


def estimate(
    plan: Plan, prices: Prices, calls: int, characters: dict[str, int], learnt: Mapping[str, float]
) -> Estimate:
    """The estimate for `calls` calls to every judge with these characters in all of their prompts."""
    rows: list[dict[str, Any]] = []
    for judge in plan.judges:
        middle, low, high = tokens(characters, judge.model)
        output = calls * learnt.get(judge.name, expected_output(judge, plan))
        rows.append(
            {
                "judge": judge.name,
                "model": judge.model,
                "calls": calls,
                "input_tokens": round(middle),
                "input_low": round(low),
                "input_high": round(high),
                "output_tokens": round(output),
                "learnt": judge.name in learnt,
                "batch": judge.batch,
                "cost": prices.cost(judge.name, middle, output, batch=judge.batch),
                "cost_low": prices.cost(judge.name, low, output, batch=judge.batch),
                "cost_high": prices.cost(judge.name, high, output, batch=judge.batch),
            }
        )
    frame = pd.DataFrame(rows)
    for column in ("cost", "cost_low", "cost_high"):
        frame[column] = frame[column].astype(float)
    return Estimate(frame, prices.date)


def expected_output(judge: Judge, plan: Plan) -> float:
    """Output tokens expected per call before any was recorded."""
    guess = judge.output_tokens or OUTPUT_GUESS[plan.rubric.reason]
    most = judge.settings.get("max_tokens")
    return min(guess, most) if isinstance(most, int) else guess


def learnt_output(con: sqlite3.Connection) -> dict[str, float]:
    """Output tokens per answer that each judge took so far."""
    return dict(
        con.execute(
            "select judge, avg(output_tokens) from a where output_tokens is not null and not estimated group by judge"
        )
    )


def usage(con: sqlite3.Connection, prices: Prices | None = None) -> dict[str, dict[str, float]]:
    """Recorded usage per judge, also of judges that the plan no longer has: answers, errors, tokens in and out, dollars
    (by the price at the time, else by today's), and how many attempts were charged by an estimate."""
    names = ("answers", "errors", "input", "output", "cost", "estimated", "unpriced")
    tokens_of = ("input_tokens", "output_tokens", "cached_tokens")
    columns = (*tokens_of[:2], "cost", "estimated", *(f"case when cost is null then {t} end" for t in tokens_of))
    sums = ", ".join(f"coalesce(sum({column}), 0)" for column in columns)
    out: dict[str, dict[str, float]] = {}
    for table, counts in (("a", "count(*), 0"), ("e", "0, count(*)")):
        for judge, *used, cost, estimated, tokens_in, tokens_out, cached in con.execute(
            f"select judge, {counts}, {sums} from {table} group by judge"
        ):
            late = prices.cost(judge, tokens_in, tokens_out, cached) if prices is not None else None
            used += [cost + (late or 0.0), estimated, 0 if late is not None else tokens_in + tokens_out]
            entry = out.setdefault(judge, dict.fromkeys(names, 0.0))
            for name, value in zip(names, used, strict=True):
                entry[name] += value
    return out
