"""The words of each shipped language: what prompts are made of, how judges write scores in it. One JSON file each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

SHIPPED = (
    "en", "ar", "tr", "zh", "hi", "ja", "es", "sw",
    "de", "fr", "pt", "it", "ru", "uk", "ko", "bn", "id", "vi", "th", "am",
)  # fmt: skip
_ALIASES = {
    "en": ("eng",), "ar": ("ara", "arb"), "tr": ("tur",), "zh": ("zho", "cmn", "simplified chinese"), "hi": ("hin",),
    "ja": ("jpn",), "es": ("spa",), "sw": ("swa", "swh", "kiswahili"), "de": ("deu", "ger"), "fr": ("fra", "fre"),
    "pt": ("por",), "it": ("ita",), "ru": ("rus",), "uk": ("ukr",), "ko": ("kor",), "bn": ("ben", "bangla"),
    "id": ("ind",), "vi": ("vie",), "th": ("tha",), "am": ("amh",),
}  # fmt: skip
"""Other codes and names of the shipped languages."""


@cache
def phrases(code: str) -> Mapping[str, Any]:
    """The phrases of a shipped language."""
    found: dict[str, Any] = json.loads((files(__package__) / f"{code}.json").read_text(encoding="utf-8"))
    return found


@cache
def words(kind: str) -> tuple[str, ...]:
    """The words of a kind in all languages, longest first."""
    return tuple(sorted({w for code in SHIPPED for w in phrases(code)["words"][kind]}, key=lambda w: (-len(w), w)))


def shipped(language: str) -> str | None:
    """The code of a shipped language given as code, name or code_Script; None when there is none."""
    name = language.lower().replace("-", "_")
    for code in SHIPPED:
        known = (code, phrases(code)["name"].lower(), phrases(code)["native"].lower(), *_ALIASES[code])
        if name in known or name.split("_")[0] in known:
            return code
    return None
