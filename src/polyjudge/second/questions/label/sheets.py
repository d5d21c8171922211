"""The files that annotators get: one page each that works from disk, the same as sheets, and for annotation tools."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import pandas as pd

from polyjudge.second.panel.files import atomic_path, safe_csv, write_texts
from polyjudge.second.read.formats.excel import write_excel

LONGEST_CELL = 32_000
"""Characters that a spreadsheet's cell holds."""
ANSWERS = {"pass": ("pass", "fail"), "pairs": ("better_a", "tie", "better_b")}
"""Names of the words for the values of each kind of question that has them."""
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, eq=False, kw_only=True)
class Shown:
    """What one annotator sees: rows of (token, prompt, responses)."""

    language: str
    annotator: str
    words: Mapping[str, Any]
    rubric: str
    rows: list[tuple[str, str, list[str]]]


def write_sheets(folder: Path, shown: list[Shown], asked: Mapping[str, Any], name: str) -> pd.DataFrame:
    """Write every file; returns page, language, annotator, items."""
    rows, kind = [], asked["kind"]
    used: set[str] = set()
    for one in shown:
        stem = _stem(one.annotator, used, folder)
        ask = {
            **asked,
            "choices": _choices(asked, one.words),
            "question": one.words[f"ask_{kind if kind in ANSWERS else 'rate'}"],
        }
        sheet = _sheet(one)
        texts = {
            f"pages/{stem}.html": page(one, ask, name, stem),
            f"sheets/{stem}.csv": "\ufeff" + safe_csv(sheet),
            f"label-studio/{stem}.json": _json([{"data": record} for record in _records(one, "item")]),
            f"label-studio/{stem}.xml": _config(one, ask),
            f"argilla/{stem}.json": _json(_records(one, "id")),  # with the question called "label"
        }
        for place, text in texts.items():
            (folder / place).parent.mkdir(exist_ok=True)
            write_texts(folder, {place: CONTROL.sub("\ufffd", text)})
        _excel(sheet, folder / "sheets" / f"{stem}.xlsx")
        rows.append((f"pages/{stem}.html", one.language, one.annotator, len(one.rows)))
    return pd.DataFrame(rows, columns=["page", "language", "annotator", "items"])


def _stem(annotator: str, used: set[str], folder: Path) -> str:
    """A file name that no annotator has yet."""
    plain = re.sub(r"[^\w+-]+", "_", annotator).strip("_")[:80] or "annotator"
    stem, number = plain, 1
    while stem.casefold() in used or (folder / "pages" / f"{stem}.html").exists():
        number += 1
        stem = f"{plain}-round{number}"
    used.add(stem.casefold())
    return stem


def _choices(asked: Mapping[str, Any], words: Mapping[str, Any]) -> list[tuple[float, str]]:
    """Values and words of the answers that are offered; none for a slider."""
    values = asked["values"]
    if asked["kind"] in ANSWERS:
        return [(value, words[name]) for value, name in zip(values, ANSWERS[asked["kind"]], strict=True)]
    ends = {0: f" {words['worst']}", len(values) - 1: f" {words['best']}"}
    return [(value, f"{value:g}{ends.get(i, '')}") for i, value in enumerate(values)]


@cache
def _part(name: str) -> str:
    return files("polyjudge.second.questions.label").joinpath("page", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def page(shown: Shown, ask: Mapping[str, Any], name: str, stem: str) -> str:
    """The page of one annotator: tokens, texts and words; no scores, no systems, nothing loaded from anywhere."""
    words = shown.words
    data = {
        "labels": name,
        "file": f"{name}/{stem}",
        "name": stem,
        "rubric": shown.rubric,
        "words": {key: text for key, text in words.items() if key not in ("known", "name", "native", "dir", "code")},
        "ask": {key: ask[key] for key in ("kind", "low", "high", "step", "choices", "question")},
        "items": [{"id": token, "prompt": prompt, "responses": texts} for token, prompt, texts in shown.rows],
    }
    text = json.dumps(data, ensure_ascii=False)
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    parts = {
        "lang": words["code"], "dir": words["dir"], "title": html.escape(f"{shown.language}: {words['how']}"),
        "css": _part("label.css"), "js": _part("label.js"),
        "css_hash": _hash(_part("label.css")), "js_hash": _hash(_part("label.js")), "data": text,
    }  # fmt: skip
    # in one pass: texts may hold what looks like a place to fill
    return re.sub(r"@@(\w+)@@", lambda m: parts[m[1]], _part("label.html"))


def _sheet(shown: Shown) -> pd.DataFrame:
    pair = any(len(texts) > 1 for _, _, texts in shown.rows)
    names = ["response_a", "response_b"] if pair else ["response"]
    rows = [(token, prompt, *texts, "", "") for token, prompt, texts in shown.rows]
    return pd.DataFrame(rows, columns=["item", "prompt", *names, "label", "skip"])


def _excel(sheet: pd.DataFrame, path: Path) -> None:
    rows = [tuple(CONTROL.sub("\ufffd", x)[:LONGEST_CELL] for x in row) for row in sheet.itertuples(index=False)]
    with atomic_path(path) as part:
        write_excel(part, [*map(str, sheet.columns)], [rows])


def _records(shown: Shown, key: str) -> list[dict[str, str]]:
    """What annotation tools import: the token under this key, the prompt, the responses by number."""
    return [
        {key: token, "prompt": prompt, **{f"response{i + 1}": text for i, text in enumerate(texts)}}
        for token, prompt, texts in shown.rows
    ]


def _json(records: list[Any]) -> str:
    return json.dumps(records, ensure_ascii=False, indent=1)


def _config(shown: Shown, ask: Mapping[str, Any]) -> str:
    """Label Studio's labelling interface for the same question."""
    count = len(shown.rows[0][2]) if shown.rows else 1
    lines = ["<View>", f"  <Header value={quoteattr(ask['question'])}/>", '  <Text name="prompt" value="$prompt"/>']
    lines += [f'  <Text name="response{i + 1}" value="$response{i + 1}"/>' for i in range(count)]
    if ask["kind"] == "slider":
        low, high, step = (f"{ask[key]:g}" for key in ("low", "high", "step"))
        lines.append(f'  <Number name="label" toName="response1" min="{low}" max="{high}" step="{step}"/>')
    else:
        lines.append('  <Choices name="label" toName="response1" choice="single" required="true">')
        lines += [f"    <Choice value={quoteattr(_plain(value, word, ask))}/>" for value, word in ask["choices"]]
        lines.append("  </Choices>")
    return "\n".join([*lines, "</View>"]) + "\n"


def _plain(value: float, word: str, ask: Mapping[str, Any]) -> str:
    """What the answer reads back as: its word, or the number of a level."""
    return f"{value:g}" if ask["kind"] == "levels" else word
