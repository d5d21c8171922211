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
