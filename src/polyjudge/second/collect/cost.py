"""Tokens and money: estimated before a run, counted from recorded usage after it (docs/methods.md, section 15)."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from statistics import median
from typing import Any, NamedTuple

from polyjudge.second.collect.languages import phrases, shipped
from polyjudge.second.collect.plan import Judge, Plan, Price, parse_price
from polyjudge.second.collect.secrets import is_loopback
from polyjudge.second.panel.errors import CollectError
from polyjudge.second.panel.files import read_text
from polyjudge.second.panel.labels import clean

OUTPUT_GUESS = {"after": 100.0, "first": 300.0, "none": 12.0}
"""Output tokens guessed per call before anything is known, by where the reason stands (the paper's calls took 94)."""
_ELSEWHERE = (("zh", r"\u1100-\u11ff\u2e80-\uffef"), ("ru", r"\u0370-\u052f"), ("ar", r"\u0590-\u08ff"),
              ("hi", r"\u0900-\u0dff"), ("th", r"\u0e00-\u109f"), ("am", r"\u1200-\u17ff"))  # fmt: skip
"""Characters of other scripts than a language's own, and the language at whose rate they are counted."""
FREE = ("ollama", "vllm", "sglang")
"""Providers that are servers of one's own: free unless the plan gives a price."""


@dataclass(frozen=True)
class Prices:
    """Prices by judge name; None for a judge whose price is not known."""

    date: str
    by_judge: Mapping[str, Price | None]

    def cost(
        self, judge: str, input_tokens: float, output_tokens: float, cached: float = 0, batch: bool = False,
        written: float = 0, reasoning: float = 0,
    ) -> float | None:  # fmt: skip
        """Dollars for these tokens, or None without a price. Of the input, `cached` came from a cache and `written`
        went into one; of the output, `reasoning` was not shown."""
        price = self.by_judge.get(judge)
        if price is None:
            return None

        def rate(own: float | None, other: float) -> float:
            return other if own is None else own

        cached = min(cached, input_tokens)
        written = min(written, input_tokens - cached)
        reasoning = min(reasoning, output_tokens)
        total = (input_tokens - cached - written) * price.input + (output_tokens - reasoning) * price.output
        total += cached * rate(price.cached, price.input) + written * rate(price.write, 1.25 * price.input)
        total += reasoning * rate(price.reasoning, price.output)
        return total / 1e6 * (price.batch if batch else 1.0)


def load_prices(plan: Plan) -> Prices:
    """Prices of the plan's judges: its own, else the plan's price file's, else the shipped map's. Servers on this
    machine that no map knows are free."""
    if plan.prices is None:
        where, text = "the shipped prices", (files("polyjudge.second.collect") / "prices.json").read_text(encoding="utf-8")
    else:
        path = plan.resolve(plan.prices)
        where, text = clean(path, 200), read_text(path, 20 << 20)
    try:
        raw = json.loads(text)
        models, date = raw["models"], str(raw["date"])[:40]
        own = {judge.name: judge.price or _look_up(judge, models, where) for judge in plan.judges}
    except CollectError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise CollectError(
            f"{where} is not a price file. It is JSON with a date and models, such as "
            '{"date": "2026-01-31", "models": {"openai/gpt-4o": {"input": 2.5, "output": 10}}}.'
        ) from None
    return Prices(date, own)


def _look_up(judge: Judge, known: Mapping[str, Any], where: str) -> Price | None:
    """By the full name, or by it without a router in front (openrouter/openai/gpt-4o)."""
    name = judge.model.removeprefix("inspect/")
    if not judge.code:
        while name:
            for spelt in (name, re.sub(r"(?<=\d)\.(?=\d)", "-", name)):  # routers write claude-sonnet-4.6
                if spelt in known:
                    entry = known[spelt]
                    if isinstance(entry, list):  # the shipped map: values in the order of the fields
                        entry = {k: v for k, v in zip(Price.model_fields, entry, strict=False) if v is not None}
                    return parse_price(entry, f"{where}: {spelt}")
            _, _, name = name.partition("/")
        home = judge.model.split("/")[0] in FREE and judge.base_url is None
        if home or (judge.base_url is not None and is_loopback(judge.base_url)):
            return Price(input=0, output=0)
    return None


def expected_output(judge: Judge, plan: Plan) -> float:
    guess = judge.output_tokens or OUTPUT_GUESS[plan.rubric.reason]
    most = judge.settings.get("max_tokens")
    return min(guess, most) if isinstance(most, int) else guess


class Learnt(NamedTuple):
    """What the answers of a judge took: their number, output tokens on average and at most, input tokens at most."""

    answers: int
    mean: float
    longest: float
    input: float


def learnt_output(con: sqlite3.Connection) -> dict[str, Learnt]:
    """What the answers of each judge took so far, where the service said it."""
    rows = con.execute(
        "select judge, count(*), avg(output_tokens), max(output_tokens), max(input_tokens) from answers "
        "where output_tokens is not null and not estimated group by judge"
    )
    return {judge: Learnt(*found) for judge, *found in rows}


def usage(con: sqlite3.Connection, prices: Prices | None = None) -> dict[str, dict[str, float]]:
    """Recorded usage per judge, also of judges that the plan no longer has: answers, errors, tokens in and out, dollars
    (by the price at the time, else by today's), and how many attempts were charged by an estimate."""
    names = ("answers", "errors", "input", "output", "cost", "estimated", "unpriced")
    tokens_of = ("input_tokens", "output_tokens", "cached_tokens")
    columns = (*tokens_of[:2], "cost", "estimated", *(f"case when cost is null then {t} end" for t in tokens_of))
    sums = ", ".join(f"coalesce(sum({column}), 0)" for column in columns)
    out: dict[str, dict[str, float]] = {}
    for table, counts in (("answers", "count(*), 0"), ("errors", "0, count(*)")):
        for judge, *used, cost, estimated, tokens_in, tokens_out, cached in con.execute(
            f"select judge, {counts}, {sums} from {table} group by judge"
        ):
            late = prices.cost(judge, tokens_in, tokens_out, cached) if prices is not None else None
            used += [cost + (late or 0.0), estimated, 0 if late is not None else tokens_in + tokens_out]
            entry = out.setdefault(judge, dict.fromkeys(names, 0.0))
            for name, value in zip(names, used, strict=True):
                entry[name] += value
    return out


# --- tokens of a text: rates per character for each tokenizer and language, measured with the real ones ---


@cache
def _tokenizers() -> dict[str, dict[str, Any]]:
    return json.loads((files("polyjudge.second.collect") / "tokens.json").read_text(encoding="utf-8"))["tokenizers"]


def family(model: str) -> str | None:
    """The tokenizer of a model; None when it was not measured."""
    known = _tokenizers().items()
    return next((name for name, entry in known if re.search(entry.get("models", "$^"), model, re.IGNORECASE)), None)


@cache
def _by_script(language: str) -> tuple[tuple[str, Any], ...]:
    code = shipped(language) or "en"
    own = {code: phrases(code)["script"]} if phrases(code)["script"] else {}
    return tuple((name, re.compile(f"[{chars}]")) for name, chars in (*own.items(), *_ELSEWHERE))


def characters(text: str, language: str = "en") -> dict[str, int]:
    """Characters of a text by the language whose rate they have."""
    code = shipped(language) or "en"
    plain = "en" if phrases(code)["script"] else code
    out: dict[str, int] = {}
    rest = len(text)
    if not text.isascii():
        for name, pattern in _by_script(language):
            shorter = pattern.sub("", text)
            if len(shorter) != len(text):
                out[name] = out.get(name, 0) + len(text) - len(shorter)
                text = shorter
        rest = len(text)
    out[plain] = out.get(plain, 0) + rest
    return out


def tokens(counts: dict[str, int], model: str) -> tuple[float, float, float]:
    """(expected, least, most) tokens of counted characters. A measured tokenizer was off by at most a fifth on other
    texts in all shipped languages; a third is allowed for. Another one lies between the measured ones."""
    known = family(model)
    totals = {
        name: sum(n * entry["rates"][code] for code, n in counts.items()) for name, entry in _tokenizers().items()
    }
    if known is not None:
        return totals[known], totals[known] * 3 / 4, totals[known] * 4 / 3
    return median(totals.values()), min(totals.values()), max(totals.values()) * 4 / 3
