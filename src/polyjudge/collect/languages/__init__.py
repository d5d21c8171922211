"""The words of each shipped language: what prompts are made of, how judges write scores in it. One JSON file each."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from statistics import median
from typing import Any

SHIPPED: tuple[str, ...] = ("en", "ar", "tr", "zh", "hi", "ja", "es", "sw", "de", "fr")
SHIPPED += ("pt", "it", "ru", "uk", "ko", "bn", "id", "vi", "th", "am")


KEYS = ("checklist", "compare")  # rubrics whose answers are a word
NUMBER = r"[-+]?\d{1,9}(?:[.,]\d{1,9})?"
_WIDE = {chr(c): chr(c - 0xFEE0) for c in range(0xFF01, 0xFF5F)}
_PLAIN = str.maketrans({**_WIDE, **dict.fromkeys("“”„‟«»", '"'), **dict.fromkeys("٬،、", ","), "−": "-", "٫": "."})


@cache
def phrases(code: str) -> Mapping[str, Any]:
    """The phrases of a shipped language."""
    return json.loads((files(__package__) / f"{code}.json").read_text(encoding="utf-8"))


@cache
def words(kind: str) -> tuple[str, ...]:
    """The words of a kind in all languages, longest first."""
    return tuple(sorted({w for code in SHIPPED for w in phrases(code)["words"][kind]}, key=lambda w: (-len(w), w)))


@cache
def keys(kind: str) -> frozenset[str]:
    """Keys of a score or of a verdict in an object, in all languages."""
    known = ("winner", "verdict", *words("verdict")) if kind in KEYS else ("score", *words("score"))
    return frozenset(word.casefold() for word in known)


def one_of(alternatives: Iterable[str]) -> str:
    """A regular expression of any of these texts."""
    return "|".join(map(re.escape, alternatives))


@cache
def has_word(kind: str) -> re.Pattern[str]:
    """Any word of a kind: whole words in scripts with spaces between words, anywhere in the others. Short words mean
    other things elsewhere: `not` is a grade in Turkish."""
    chosen = [word.casefold() for word in words(kind) if len(word) > 3 or not word.isascii()]
    spaced = one_of(word for word in chosen if ord(word[0]) < 0x0E00)
    glued = one_of(word for word in chosen if ord(word[0]) >= 0x0E00)
    return re.compile(rf"(?<!\w)(?:{spaced})(?!\w)" + (f"|{glued}" if glued else ""))


def plain_digits(text: str) -> str:
    """Digits of every script and full-width signs as ASCII. Fractions such as ½ stay as they are.

    >>> plain_digits("४ ٣ ５：")
    '4 3 5:'
    """
    plain = text.translate(_PLAIN)
    return plain if plain.isascii() else "".join(str(unicodedata.decimal(c, c)) for c in plain)


@cache
def _fractions() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """4 out of 5, in languages that say the 4 first and in those that say the 5 first."""
    forward = rf"(?<![\w.,/])({NUMBER})\s{{0,3}}(?:{one_of(words('of'))})\s{{0,3}}(\d{{1,9}})(?![\w/]|[.,]\d)"
    between = one_of(words("from")) + r"|(?<=ከ\d)\s|(?<=ከ \d)\s"  # in Amharic a particle stands before the top
    backward = rf"(?<![\d.,/])(?:(?:满分|滿分|ከ)\s?)?(\d{{1,9}})\s{{0,3}}(?:{between})\s{{0,3}}({NUMBER})"
    return re.compile(forward, re.IGNORECASE), re.compile(backward, re.IGNORECASE)


def plain_numbers(text: str) -> str:
    """A text with plain digits, and `4 out of 5`, as every shipped language says it, written 4/5.

    >>> plain_numbers("4 out of 5"), plain_numbers("5分中的4分")
    ('4/5', '4/5分')
    """
    forward, backward = _fractions()
    return backward.sub(r"\2/\1", forward.sub(r"\1/\2", plain_digits(text)))


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
