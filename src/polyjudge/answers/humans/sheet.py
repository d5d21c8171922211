"""The annotator's page: one file that works offline, shows one answer at a time and saves one file."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from polyjudge.base.text import visible

MANIFEST = "manifest.json"
FORMAT, VERSION = "polyjudge-labels", 2
LARGEST_TEXT = 1_000_000
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


class Look(NamedTuple):
    """One answer as one annotator sees it: under a token; answer: its row, system and language."""

    token: str
    answer: tuple[int, int, int]
    annotator: str


@cache
def _languages() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(_part("languages.json"))
    return found


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


@cache
def _part(name: str) -> str:
    return files("polyjudge.answers.humans").joinpath("page", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def choices(question: dict[str, Any], words: dict[str, Any]) -> list[tuple[Any, str]]:
    """Labels and their words; none for a slider."""
    if question["kind"] == "pass":
        return [(label, words[label]) for label in ("pass", "fail")]
    ends = {0: words["worst"], len(question["values"]) - 1: words["best"]}  # the key that is shown is the level
    return [(value, ends.get(i, "")) for i, value in enumerate(question["values"])]


def page(
    rows: list[tuple[str, str, str]], language: str, stem: str, labels: str, question: dict[str, Any], rubric: str
) -> str:
    """The page of one annotator: tokens, prompts and responses; no scores, no systems, nothing loaded from anywhere."""
    words = words_of(language)
    kind = question["kind"]
    data = {
        "labels": labels,
        "name": stem,
        "rubric": rubric.strip(),
        "words": {k: text for k, text in words.items() if k not in ("known", "name", "native", "dir", "code")},
        "ask": {
            **{k: question[k] for k in ("kind", "low", "high", "step")},
            "choices": choices(question, words),
            "question": words["ask_pass" if kind == "pass" else "ask_rate"],
        },
        "items": [
            {"id": token, "task": prompt[:LARGEST_TEXT], "response": response[:LARGEST_TEXT]}
            for token, prompt, response in rows
        ],
    }
    text = CONTROL.sub("\ufffd", json.dumps(data, ensure_ascii=False))
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    parts = {
        "lang": words["code"], "dir": words["dir"], "title": html.escape(visible(f"{words['how']}: {stem}")),
        "css": _part("label.css"), "js": _part("label.js"),
        "css_hash": _hash(_part("label.css")), "js_hash": _hash(_part("label.js")), "data": text,
    }  # fmt: skip
    # in one pass: texts may hold what looks like a place to fill
    return re.sub(r"@@(\w+)@@", lambda m: parts[m[1]], _part("label.html"))


def manifest_text(manifest: dict[str, Any]) -> str:
    """A manifest as its file: with a checksum, by which any change is seen."""
    return json.dumps({**manifest, "checksum": checksum(manifest)}, indent=1) + "\n"


def checksum(manifest: dict[str, Any]) -> str:
    """Of all of a manifest but itself."""
    rest = {k: v for k, v in manifest.items() if k != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()
