"""The words of each shipped language: what prompts are made of, how judges write scores in it. One JSON file each."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from statistics import median
from typing import Any

SHIPPED: tuple[str, ...] = ("en", "ar", "tr", "zh", "hi", "ja", "es", "sw", "de", "fr")
SHIPPED += ("pt", "it", "ru", "uk", "ko", "bn", "id", "vi", "th", "am")


@cache
def phrases(code: str) -> Mapping[str, Any]:
    """The phrases of a shipped language."""
    return json.loads((files(__package__) / f"{code}.json").read_text(encoding="utf-8"))


@cache
def words(kind: str) -> tuple[str, ...]:
    """The words of a kind in all languages, longest first."""
    return tuple(sorted({w for code in SHIPPED for w in phrases(code)["words"][kind]}, key=lambda w: (-len(w), w)))


def shipped(language: str) -> str | None:
    """The code of a shipped language given as code, name or code_Script; None when there is none."""
    name = language.lower().replace("-", "_")
    for code in SHIPPED:
        say = phrases(code)
        known = (code, say["name"].lower(), say["native"].lower(), *say["aliases"])
        if name in known or name.split("_")[0] in known:
            return code
    return None


@cache
def _rates(model: str) -> dict[str, float]:
    """Tokens per character by language, of the model's tokenizer; of one that was not measured, the median of all."""
    known = json.loads((files("polyjudge.collect") / "tokens.json").read_text(encoding="utf-8"))["tokenizers"]
    for entry in known.values():
        if re.search(entry.get("models", "$^"), model, re.IGNORECASE):
            return entry["rates"]
    return {x: median(entry["rates"][x] for entry in known.values()) for x in SHIPPED}


def tokens(text: str, language: str, model: str) -> float:
    """Tokens of a text, give or take a third: the language's own script at its rate, all else at that of English."""
    code, rates = shipped(language) or "en", _rates(model)
    script = phrases(code)["script"]
    own = len(re.findall(f"[{script}]", text)) if script else len(text)
    return own * rates[code] + (len(text) - own) * rates["en"]
