"""Texts of items by task, system and language, and the words of the page in the annotator's language."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from zlib import crc32

import pandas as pd

from polyjudge.second.panel.columns import usual_columns
from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.labels import some
from polyjudge.second.read.scores import read_gold

PROMPT = ("prompt", "question", "query", "instruction", "input", "source", "task_text")
RESPONSE = ("response", "answer", "output", "completion", "translation", "text")
PAIR = (("response_a", "chosen", "answer_a", "a"), ("response_b", "rejected", "answer_b", "b"))


@cache
def _languages() -> dict[str, dict[str, str]]:
    data = json.loads(files("polyjudge.second.questions.label").joinpath("languages.json").read_text(encoding="utf-8"))
    out: dict[str, dict[str, str]] = data["languages"]
    return out


def words_of(language: str) -> dict[str, Any]:
    """The page's words for a language by its code, its name or its own name; English ones where it is not known.

    >>> words_of("ar-EG")["dir"], words_of("Japanese")["code"], words_of("xx")["known"]
    ('rtl', 'ja', False)
    """
    wanted = language.strip().casefold().replace("_", "-")
    for code, words in _languages().items():
        if wanted in (code, words["name"].casefold(), words["native"].casefold()) or wanted.startswith(f"{code}-"):
            return {**words, "code": code, "known": True}
    return {**_languages()["en"], "code": "en", "known": False}


Key = tuple[str, str, str]


@dataclass(frozen=True, eq=False)
class Texts:
    """Prompt and responses by (task, system, language); "" stands for any."""

    found: Mapping[Key, tuple[str, list[str]]] = field(default_factory=dict)
    known: bool = True

    @classmethod
    def of(cls, items: Any, kind: str) -> Texts:
        """From a table or a file."""
        if items is None:
            return cls(known=False)
        frame = read_gold(items) if isinstance(items, str | Path) else pd.DataFrame(items)
        names = {str(c).strip().lower(): c for c in frame.columns}
        columns = {role: usual_columns(role, frame.columns) for role in ("task", "system", "language")}
        prompt = next((names[n] for n in PROMPT if n in names), None)
        wanted = PAIR if kind == "pairs" else (RESPONSE,)
        responses = [next((names[n] for n in group if n in names), None) for group in wanted]
        if not columns["task"] or None in responses:
            need = "task, prompt, response_a and response_b" if kind == "pairs" else "task, prompt and response"
            raise PanelError(f"Items need the columns {need}; there are {some(map(str, frame.columns), 8)}.")
        keys = [frame[c[0]].astype(str) if c else pd.Series("", index=frame.index) for c in columns.values()]
        prompts = frame[prompt] if prompt is not None else pd.Series("", index=frame.index)
        texts = [frame[c] for c in responses]
        rows = zip(zip(*keys, strict=True), prompts, zip(*texts, strict=True), strict=True)
        return cls({key: (_text(p), [_text(x) for x in r]) for key, p, r in rows})

    def of_item(self, task: str, system: str, language: str) -> tuple[str, list[str]] | None:
        """Prompt and responses of one item; its name where there are no texts at all."""
        if not self.known:
            return "", [f"{task} #{crc32(f'{task} {system}'.encode('utf-8', 'surrogatepass')) % 10_000:04d}"]
        keys = ((task, system, language), (task, system, ""), (task, "", language), (task, "", ""))
        return next((self.found[k] for k in keys if k in self.found), None)


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and value != value):
        return ""
    return value if isinstance(value, str) else str(value)
