"""Answers into scores: strictly as asked for, then leniently, else missing. Never a guess, never a zero.

Only the judge's answer is read here. The prompt, and with it the judged text, plays no part.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from polyjudge.collect.plan import Rubric

STRICT, LENIENT = "strict", "lenient"
_NUMERALS = {c: str(i) for i, c in enumerate("〇一二三四五六七八九十")}
_QUOTES = str.maketrans({**dict.fromkeys("“”„‟«»＂", '"'), "−": "-", "٫": ".", "٬": ",", "،": ",", "、": ","})
_LABEL = (
    "(?:score|rating|puan|puanı|calificación|puntuación|puntaje|alama|評価|点数|スコア|得点|评分|分数|得分|评价|अंक|स्कोर|"
    "الدرجة|النتيجة|التقييم|درجة)"
)
# Repeats are bounded where they could meet each other: a crafted answer must not cost quadratic time.
_NUMBER = r"[-+]?\d+(?:[.,]\d+)?(?:\s{0,9}/\s{0,9}\d+(?:[.,]\d+)?)?"
_KEYED = re.compile(r'"\s{0,9}score\s{0,9}"\s{0,9}:\s{0,9}"?\s{0,9}([^",}\n]*)', re.IGNORECASE)
_LABELLED = re.compile(
    rf"^[^\w\n]{{0,20}}{_LABEL}\W{{0,20}}[:=]\W{{0,20}}((?>{_NUMBER}))(?![\w%])(?![^\n.。।;]*\d)",
    re.IGNORECASE | re.MULTILINE,
)
_BARE = re.compile(rf"^[\s\"'*_`\[(]{{0,20}}({_NUMBER})\s{{0,9}}(?:分|点)?[\s\"'*_`\]).。।]{{0,20}}$")
_THINKING = re.compile(r"^\s*<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"[<\[]\s{0,9}/?\s{0,9}(un)?satisfied\s{0,9}/?\s{0,9}[>\]]", re.IGNORECASE)
_LINE = re.compile(r"^\W{0,20}(\d{1,9})\W{0,20}?[:.)\-]\s*(.*)$")
_WORDS = {
    True: {
        "satisfied", "met", "cumplido", "cumple", "karşılandı", "karşılanıyor", "مستوفى", "مستوفي", "满足", "满足要求",
        "満たしている", "満たす", "पूरी हुई", "पूरा हुआ", "limetimizwa", "imetimizwa",
    },
    False: {
        "unsatisfied", "not satisfied", "not met", "no cumplido", "no cumple", "karşılanmadı", "karşılanmıyor",
        "غير مستوفى", "غير مستوفي", "不满足", "未满足", "満たしていない", "満たさない", "पूरी नहीं हुई",
        "पूरा नहीं हुआ", "halijatimizwa", "haijatimizwa",
    },
}  # fmt: skip
"""Tags that a judge translated. They count only when the last line of the answer holds nothing else."""


@dataclass(frozen=True)
class Parsed:
    """A score, or None with the reason. `how` is strict, lenient or why it is missing. `detail`: 1, 0 or None for
    each requirement of a checklist that was asked in one call."""

    score: float | None
    how: str
    detail: tuple[int | None, ...] | None = None


def parse(answer: str, rubric: Rubric, requirements: int = 0) -> Parsed:
    """Read one answer."""
    if not answer.strip():
        return Parsed(None, "empty")
    if rubric.kind != "checklist":
        return parse_rating(answer, rubric.scale, rubric.step)
    return parse_checklist(answer, requirements) if rubric.calls == "all" else parse_verdict(answer)


def parse_rating(answer: str, scale: tuple[float, float] = (1, 5), step: float | None = 1) -> Parsed:
    """The score of a JSON answer.

    >>> parse_rating('{"score": 4, "reason": "fine"}')
    Parsed(score=4.0, how='strict', detail=None)
    >>> parse_rating('Score: ٤/٥').score
    4.0
    >>> parse_rating('I would say four, or 5.').how
    'no score found'
    """
    found = _json_score(answer.strip())
    if found is not None:
        value = found if isinstance(found, float) else _number(str(found), scale[1])
        how = STRICT if isinstance(found, float) else LENIENT
        return _on_scale(value, scale, step, how) if value is not None else Parsed(None, "score is not a number")
    text = plain_digits(_THINKING.sub("", answer)).strip()
    values = {_number(v, scale[1]) for v in _candidates(text)}
    if len(values) > 1:
        return Parsed(None, "several scores")
    if not values:
        return Parsed(None, "no score found")
    value = values.pop()
    return _on_scale(value, scale, step, LENIENT) if value is not None else Parsed(None, "score is not a number")


def _candidates(text: str) -> list[str]:
    """Everything in a lenient answer that claims to be the score, as text."""
    objects = [str(o) for o in _embedded(text)]
    keyed = [m[1] for m in _KEYED.finditer(text)]
    if objects and len(keyed) <= len(objects):
        return objects
    if keyed:
        return [*objects, *keyed]
    labelled = [m[1] for m in _LABELLED.finditer(text)]
    if labelled:
        return labelled
    bare = _BARE.match(text)
    return [bare[1]] if bare else []


def _json_score(text: str) -> float | str | None:
    """Strict: the whole answer is one JSON object with one score. A number, a text to read leniently, or None."""
    try:
        found = json.loads(text, object_pairs_hook=_Object, parse_constant=_refuse, parse_int=float)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, _Object):
        return None
    scores = [v for k, v in found if k == "score"]
    if len(scores) != 1 or isinstance(scores[0], bool) or not isinstance(scores[0], (float, str)):
        return None
    value: float | str = scores[0]
    return value


def _embedded(text: str) -> list[Any]:
    """Scores of the JSON objects that stand in a text."""
    out: list[Any] = []
    decoder = json.JSONDecoder(object_pairs_hook=_Object, parse_constant=_refuse)
    at, tries = text.find("{"), 0
    while at != -1 and tries < 200:
        tries += 1
        try:
            found, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        out += [v for k, v in found if k.strip().lower() == "score"]
        at = text.find("{", end)
    return out


class _Object(list[tuple[str, Any]]):
    """A JSON object as its pairs: a key that stands twice stays visible."""


def _refuse(name: str) -> Any:
    raise ValueError(name)


def _number(text: str, high: float) -> float | None:
    """A number written in any script's digits, alone or over the top of the scale (4/5); else None."""
    text = plain_digits(text).strip().strip("\"'*_` .。")
    text = _NUMERALS.get(text.removesuffix("分").removesuffix("点").strip(), text)
    match = re.fullmatch(r"([-+]?\d{1,12}(?:[.,]\d{1,12})?)(?:\s*/\s*(\d{1,12}))?", text)
    if match is None or (match[2] is not None and float(match[2]) != high):
        return None
    return float(match[1].replace(",", "."))


def _on_scale(value: float, scale: tuple[float, float], step: float | None, how: str) -> Parsed:
    low, high = scale
    if not math.isfinite(value) or not low <= value <= high:
        return Parsed(None, "off the scale")
    if step is not None and abs((value - low) / step - round((value - low) / step)) > 1e-9:
        return Parsed(None, "between steps of the scale")
    return Parsed(float(value), how)


def parse_verdict(answer: str) -> Parsed:
    """The verdict on one requirement: 100 satisfied, 0 unsatisfied.

    >>> parse_verdict("It loads the data.\\n<satisfied>").score
    100.0
    """
    text = _THINKING.sub("", answer).strip()
    if not text:
        return Parsed(None, "empty")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    tags = {m[1] is None for m in _TAG.finditer(text)}
    tags |= {w for w in (_word(lines[0]), _word(lines[-1])) if w is not None}
    if len(tags) > 1:
        return Parsed(None, "several verdicts")
    # A tag in the middle of an explanation may be a quotation of the judged text: only a line of its own decides.
    alone = [i for i in (-1, 0) if _TAG.fullmatch(lines[i].strip("*_`\"'.。 ")) or _word(lines[i]) is not None]
    if not alone:
        return Parsed(None, "no verdict found")
    strict = lines[-1] in ("<satisfied>", "<unsatisfied>") and text.count("<") == 1
    return Parsed(100.0 * tags.pop(), STRICT if strict else LENIENT)


def parse_checklist(answer: str, requirements: int) -> Parsed:
    """The verdicts on all requirements of an item: percent satisfied; missing unless every requirement has one."""
    text = plain_digits(_THINKING.sub("", answer)).strip()
    seen: dict[int, set[bool]] = {}
    strict = True
    for line in text.splitlines():
        match = _LINE.match(line.strip())
        tags = {m[1] is None for m in _TAG.finditer(line)}
        verdict = tags if tags else {w for w in [_word(match[2])] if w is not None} if match else set()
        if not match or not verdict:
            strict = strict and not line.strip()
            continue
        seen.setdefault(int(match[1]), set()).update(verdict)
        strict = strict and re.fullmatch(r"\d+: <(un)?satisfied>", line.strip()) is not None
    detail: list[int | None] = []
    for i in range(1, requirements + 1):
        verdicts = seen.get(i, set())
        detail.append(int(next(iter(verdicts))) if len(verdicts) == 1 else None)
    if any(i not in range(1, requirements + 1) for i in seen):
        return Parsed(None, "a verdict on no requirement", tuple(detail))
    if any(len(v) > 1 for v in seen.values()):
        return Parsed(None, "several verdicts", tuple(detail))
    known = [d for d in detail if d is not None]
    if len(known) < requirements:
        return Parsed(None, f"{requirements - len(known)} of {requirements} verdicts missing", tuple(detail))
    return Parsed(percent(known), STRICT if strict and answer.strip() == text else LENIENT, tuple(detail))


def percent(verdicts: Sequence[int]) -> float:
    """Percent of ones."""
    return 100.0 * sum(verdicts) / len(verdicts)


def _word(line: str) -> bool | None:
    word = line.strip().strip("\"'*_`<>[]().。।!：:").strip().casefold()
    for verdict, words in _WORDS.items():
        if word in words:
            return verdict
    return None


def plain_digits(text: str) -> str:
    """Digits of every script and full-width signs as ASCII. Fractions such as ½ stay as they are.

    >>> plain_digits("४ ٣ ５：")
    '4 3 5:'
    """
    if text.isascii():
        return text
    out = []
    for c in text.translate(_QUOTES):
        if c > "\u007f":
            digit = unicodedata.decimal(c, None)
            if digit is not None:
                c = str(digit)
            elif "\uff01" <= c <= "\uff5e":
                c = chr(ord(c) - 0xFEE0)
        out.append(c)
    return "".join(out)
