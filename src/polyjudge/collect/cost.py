"""What a call takes: tokens estimated from the text, and dollars at the plan's prices (METHODS 15)."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from statistics import median
from typing import Any

from polyjudge.collect.languages import phrases, shipped
from polyjudge.collect.plan import Judge

OUTPUT = 100
"""Output tokens guessed per call (the paper's took 94)."""
ASKED = 2
"""How often an answer is asked for at most: once more where it cannot be read."""


@cache
def _rates(model: str) -> dict[str, float]:
    """Tokens per character by language, of the model's tokenizer; of one that was not measured, the median of all."""
    text = (files("polyjudge.collect") / "tokens.json").read_text(encoding="utf-8")
    known: dict[str, dict[str, Any]] = json.loads(text)["tokenizers"]
    for entry in known.values():
        if re.search(entry.get("models", "$^"), model, re.IGNORECASE):
            return entry["rates"]
    return {x: median(entry["rates"][x] for entry in known.values()) for x in known["o200k"]["rates"]}


@cache
def _script(language: str) -> tuple[str, re.Pattern[str] | None]:
    code = shipped(language) or "en"
    own = phrases(code)["script"]
    return code, re.compile(f"[{own}]") if own else None


def tokens(text: str, language: str, model: str) -> float:
    """Tokens of a text, give or take a third: the language's own script at its rate, all else at that of English."""
    (code, script), rates = _script(language), _rates(model)
    own = len(text) if script is None else len(text) - len(script.sub("", text))
    return own * rates[code] + (len(text) - own) * rates["en"]


def dollars(judge: Judge, tokens_in: float, tokens_out: float) -> float | None:
    """What tokens cost; None where the plan has no price."""
    price = judge.price
    return None if price is None else (tokens_in * price.input + tokens_out * price.output) / 1e6


def worst(judge: Judge, prompt: str, times: int = ASKED) -> float:
    """The most that a call can cost: a token for every byte, and as many out as may come, each time it is asked."""
    text = len(prompt.encode("utf-8", "replace")) + len(str(judge.settings.get("system_message", "")).encode()) + 500
    return times * (dollars(judge, text, judge.max_tokens or 0) or 0.0)
