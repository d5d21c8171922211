"""Tokens and money: estimated before a run, counted from recorded usage after it (docs/methods.md, section 15)."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import pandas as pd

from polyjudge.collect.plan import Judge, Plan, parse_price
from polyjudge.core.errors import CollectError
from polyjudge.core.results import Result

OUTPUT_GUESS = 100
"""Output tokens guessed per call before anything is known: a score with a short reason (the paper's calls took 94)."""

_SCRIPTS = (
    (re.compile(r"[\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef]"), 0.9),
    (re.compile(r"[\u0900-\u0dff\u0e00-\u109f\u1200-\u137f\u1780-\u17ff]"), 0.6),
    (re.compile(r"[\u0370-\u08ff]"), 0.45),
)
_OTHER = 0.26


def estimate_tokens(text: str) -> float:
    """Tokens of a text, guessed from its scripts: about 4 Latin letters to a token, about one for each CJK sign.

    >>> round(estimate_tokens("A short English sentence."))
    6
    """
    rest, total = len(text), 0.0
    if not text.isascii():
        for script, rate in _SCRIPTS:
            count = len(script.findall(text))
            rest -= count
            total += rate * count
    return total + _OTHER * rest


@dataclass(frozen=True)
class Prices:
    """Dollars per million input and output tokens by judge name; None for a judge whose price is not known."""

    date: str
    by_judge: Mapping[str, tuple[float, float] | None]

    def cost(self, judge: str, input_tokens: float, output_tokens: float) -> float | None:
        """Dollars for these tokens, or None without a price."""
        price = self.by_judge[judge]
        return None if price is None else (input_tokens * price[0] + output_tokens * price[1]) / 1e6


def load_prices(plan: Plan) -> Prices:
    """Prices of the plan's judges: its own, else the plan's price file's, else the shipped file's."""
    if plan.prices is None:
        where, text = "the shipped prices", (files("polyjudge.collect") / "prices.json").read_text(encoding="utf-8")
    else:
        where = str(plan.resolve(plan.prices))
        text = plan.resolve(plan.prices).read_text(encoding="utf-8")
    try:
        raw = json.loads(text)
        models, date = raw["models"], str(raw["date"])
        known = {str(name): parse_price(price, f"{where}: {name}") for name, price in models.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, CollectError):
            raise
        raise CollectError(
            f"{where} is not a price file. It is JSON with a date and models, such as "
            '{"date": "2026-01-31", "models": {"openai/gpt-4o": {"input": 2.5, "output": 10}}}.'
        ) from None
    return Prices(date, {judge.name: judge.price or _look_up(judge, known) for judge in plan.judges})


def _look_up(judge: Judge, known: Mapping[str, tuple[float, float]]) -> tuple[float, float] | None:
    """By the full name, or by it without a router in front (openrouter/openai/gpt-4o)."""
    name = judge.model
    while name:
        if name in known:
            return known[name]
        _, _, name = name.partition("/")
    return None


@dataclass(frozen=True, repr=False, eq=False)
class Estimate(Result):
    """What a run will take: calls, tokens and dollars per judge. Tokens are guessed from the scripts of the prompts, so
    expect them, and the cost, to be off by up to a third."""

    judges: pd.DataFrame
    price_date: str

    def to_frame(self) -> pd.DataFrame:
        return self.judges


def estimate(plan: Plan, prices: Prices, calls: int, input_tokens: float) -> Estimate:
    """The estimate for `calls` calls to every judge with `input_tokens` in all of their prompts."""
    rows: list[dict[str, Any]] = []
    for judge in plan.judges:
        output = calls * expected_output(judge)
        rows.append(
            {
                "judge": judge.name,
                "model": judge.model,
                "calls": calls,
                "input_tokens": round(input_tokens),
                "output_tokens": round(output),
                "cost": prices.cost(judge.name, input_tokens, output),
            }
        )
    frame = pd.DataFrame(rows)
    frame["cost"] = frame["cost"].astype(float)
    return Estimate(frame, prices.date)


def expected_output(judge: Judge) -> float:
    """Output tokens expected per call before any was recorded."""
    most = judge.settings.get("max_tokens")
    return min(OUTPUT_GUESS, most) if isinstance(most, int) else OUTPUT_GUESS


def usage(con: sqlite3.Connection) -> dict[str, dict[str, float]]:
    """Recorded usage per judge: calls answered, missing, errors, tokens in and out (failed and repeated asks too)."""
    out: dict[str, dict[str, float]] = {}
    for judge, calls, missing, tokens_in, tokens_out in con.execute(
        "select judge, count(*), sum(score is null), coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0) "
        "from answers group by judge"
    ):
        out[judge] = {"answers": calls, "missing": missing, "input": tokens_in, "output": tokens_out, "errors": 0}
    for judge, errors, tokens_in, tokens_out in con.execute(
        "select judge, count(*), coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0) from errors "
        "group by judge"
    ):
        entry = out.setdefault(judge, {"answers": 0, "missing": 0, "input": 0, "output": 0, "errors": 0})
        entry["errors"] = errors
        entry["input"] += tokens_in
        entry["output"] += tokens_out
    return out
