"""Answers into scores: three shapes are read, everything else is missing. Never a guess, never a zero.

The shapes: the whole answer is one JSON object, number or verdict; exactly one object with a score stands somewhere in
it; its last line is a labelled score. A score that is quoted, refused or taken back afterwards is none. Words at the
start decide nothing: "Sorry, but the answer is wrong" is no refusal.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from polyjudge.collect.languages import KEYS, NUMBER, has_word, keys, one_of, plain_digits, plain_numbers, words
from polyjudge.collect.plan import Rubric

STRICT, LENIENT, CUT = "strict", "lenient", "cut"
NONE, SEVERAL, DISPUTED = "no score found", "several scores", "the score is quoted or taken back"
REFUSED = "refused"
CUT_STOPS = {"length", "max_tokens", "model_length", "max_output_tokens", "incomplete"}
_CLOSE = re.compile(r"(?<![\"'`])</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_FENCE = re.compile(r"```\w{0,20}")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|(?<=[。！？।።])|\n")
_ENDS = "\n.!?。！？।።"
_DECORATION = " \t*_#•"
_BLOCK = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_TAG = re.compile(r"</?(?:score\s?/?|(\w{1,30})\s?/?)>", re.IGNORECASE)
_LAST_NUMBER = re.compile(r"\d[\d\s./)]*$")
_AMOUNT = re.compile(
    r"(?<![\da-z])(?<!\d[.,])\d{1,9}(?:[.,]\d{1,9})?(?!\d|\s(?!points|stars)[a-z]{5,}s\b)"
)  # no "3 errors"
_OWN_SCALE = re.compile(r'"(?:max|max_score|scale|out_of)"\s?:\s?"?(?:\d{1,9}\s?[-–]\s?)?(\d{1,9})')


class Claim(NamedTuple):
    """A value that claims to be the score, and the text on both sides of it."""

    value: Any
    before: str
    after: str


@dataclass(frozen=True)
class Parsed:
    """A score, or None with the reason. `how` is strict, lenient or why it is missing."""

    score: float | None
    how: str


def parse(answer: str, rubric: Rubric, stop: str = "stop") -> Parsed:
    """Read one answer. `stop` is why it ended, in Inspect's words.

    >>> parse('{"score": 4, "reason": "fine"}', Rubric(kind="rating"))
    Parsed(score=4.0, how='strict')
    >>> parse("I would say four, or 5.", Rubric(kind="rating")).how
    'no score found'
    """
    if stop in CUT_STOPS:
        return Parsed(None, CUT)
    if stop == "content_filter":
        return Parsed(None, REFUSED)
    text = visible(answer)
    if text is None:
        return Parsed(None, CUT)
    if not text:
        return Parsed(None, "empty")
    claims = _object_claims(text, rubric) or _line_claims(text, rubric)
    if not claims:
        if text.count("{") > text.count("}"):
            return Parsed(None, CUT)
        return Parsed(None, REFUSED if text.casefold().startswith(words("refuse") + words("cannot")) else NONE)
    values = {_score(claim.value, rubric) for claim in claims}
    score = values.pop()
    if values:
        return Parsed(None, SEVERAL)
    if isinstance(score, str):
        return Parsed(None, score)
    if any(_is_disputed(claim, score, rubric) for claim in claims):
        return Parsed(None, DISPUTED)
    return Parsed(score, STRICT if _load(text) is not None else LENIENT)


def visible(answer: str) -> str | None:
    """The answer without the thinking before it; None where that never ended.

    >>> visible("<think>5?</think> 4"), visible("so, 5? </think> 4"), visible("<think>5")
    ('4', '4', None)
    """
    text = answer.strip("\ufeff \t\r\n")
    if _load(text) is not None:
        return text
    tails = [text[match.end() :].strip() for match in _CLOSE.finditer(text)]
    if not tails:
        return None if re.match("(?i)<(think|thought|reasoning)", text) else text
    return tails[0] if _load(tails[0]) else tails[-1]


# --- the shapes ---


def _object_claims(text: str, rubric: Rubric) -> list[Claim]:
    """The scores in the objects of an answer; labelled lines beside them must agree."""
    plain = _FENCE.sub("", text).strip()
    claims, rest = list[Claim](), plain
    for found, start, end in _objects(plain):
        claims += [Claim(value, plain[:start], plain[end:]) for value in _values(found, keys(rubric.kind))]
        rest = rest.replace(plain[start:end], "\n")
    is_half = any(f'"{key}"' in rest.casefold() for key in keys(rubric.kind))  # which may hold another score
    if claims and (is_half or {*map(float, _OWN_SCALE.findall(plain))} - {rubric.scale[1]}):
        claims.append(Claim(None, "", ""))
    lines = [_read_line(line, rubric) for line in rest.splitlines()] if claims else []
    return claims + [Claim(line["value"], "", "") for line in lines if line]


def _line_claims(text: str, rubric: Rubric) -> list[Claim]:
    """The score in the last line, or in its last sentence; those of other labelled lines must agree."""
    prose = _BLOCK.sub("\n", text).strip() or _FENCE.sub("", text)
    *before, last = [line.strip() for line in prose.splitlines() if line.strip()] or [""]
    for start in (0, *(match.end() for match in _SENTENCE_END.finditer(last))):
        labelled = _read_line(last[start:], rubric)
        line = labelled or _read_line(last, rubric, may_be_bare=True)
        if line:
            lead = "\n".join([*before, last[:start]])
            others = [_read_line(x, rubric, may_be_bare=not labelled) for x in before]
            return [Claim(line["value"], lead, line["rest"] or ""), *(Claim(x["value"], "", "") for x in others if x)]
    return []


def _read_line(line: str, rubric: Rubric, may_be_bare: bool = False) -> re.Match[str] | None:
    """The value and the rest of a line such as `**Final score:** 4/5 (good)`, or of a bare value where that may be."""
    line = _TAG.sub(r"\1", plain_numbers(line).replace("<score>", "score: ")).removeprefix("- ").strip(_DECORATION)
    rules = _rules(rubric.kind)
    label = rules["label"].match(line)
    labelled = rules["value"].fullmatch(line[label.end() :]) if label else None
    bare = rules["value"].fullmatch(line) if may_be_bare else None
    return labelled or (bare if bare and (bare["rest"] or "")[1:2] != " " else None)


# --- whether it is the judge's own, and its last word ---


def _is_disputed(claim: Claim, score: float, rubric: Rubric) -> bool:
    """Whether a score is quoted, or refused or taken back after it."""
    before, after = (text.casefold().replace("’", "'") for text in (claim.before.rstrip(" *"), claim.after))
    lead = _SENTENCE_END.split(before.rstrip())[-1]
    is_inline = bool(before) and before[-1] not in _ENDS
    is_introduced = is_inline or lead.endswith((":", "："))
    is_own = any(has_word(kind).search(lead) for kind in ("introduce", "score", "rate"))
    is_quoted = (is_introduced and not is_own) or (lead[-1:] not in _ENDS and has_word("quote").search(lead))
    goes_on = claim.after.startswith(" ") and claim.after[1:2].islower()
    is_declined = has_word("decline").search(f"{before}\n{after}")
    sentences = _SENTENCE_END.split(after.strip("*. \n"))
    is_planted = has_word("plant").search(f"{lead}\n{sentences[0]}")
    is_taken_back = any(_takes_back(sentence, score, rubric) for sentence in sentences)
    return bool(is_quoted or goes_on or is_declined or is_planted or is_taken_back)


def _takes_back(sentence: str, score: float, rubric: Rubric) -> bool:
    """Whether a sentence behind a score refuses to give one, or gives another one."""
    if any(word in sentence for word in words("refuse")) or has_word("revise").search(sentence):
        return True
    is_short = sentence.count(" ") < 5 or _LAST_NUMBER.search(sentence)
    if rubric.kind in KEYS:
        return (
            sentence.count(" ") < 2 and _verdicts(rubric.kind).get(sentence.strip(" .!").split(" ")[-1], score) != score
        )
    plain = plain_numbers(sentence)
    amounts = {float(x.replace(",", ".")) for x in _AMOUNT.findall(plain)} - {score, rubric.scale[1]}
    has_other = any(rubric.scale[0] <= amount <= rubric.scale[1] for amount in amounts)
    is_claim = is_short or has_word("claim").search(plain) or _rules("rating")["label"].search(plain)
    return bool(has_other and is_claim)


# --- values ---


def _score(value: Any, rubric: Rubric) -> float | str:
    """The score behind a value, or why it is none."""
    if rubric.kind in KEYS:
        return _verdicts(rubric.kind).get(str(value).casefold().strip(" .:*_\"'[]()<>`/"), "no verdict found")
    (low, high), step = rubric.scale, rubric.step
    number = _number(value, high)
    if number is None:
        return "score is not a number"
    if not low <= number <= high:
        return "off the scale"
    is_on_step = step is None or abs((number - low) / step - round((number - low) / step)) < 1e-9
    return number if is_on_step else "between steps of the scale"


@cache
def _verdicts(kind: str) -> dict[str, float]:
    """What the words of a verdict are worth."""
    first_wins = {"tie": 50.0, "first": 100.0, "second": 0.0}  # percent for the one shown first
    worth = first_wins if kind == "compare" else {"unsatisfied": 0.0, "satisfied": 100.0}
    return {word: points for name, points in worth.items() for word in words(name)}


def _number(value: Any, high: float) -> float | None:
    """A number, alone or over the top of the scale (4/5), written in any script's digits."""
    if isinstance(value, float):
        return value
    text = plain_numbers(value).strip(_DECORATION) if isinstance(value, str) else ""
    match = _rules("rating")["value"].fullmatch(text)
    if match is None or (match["top"] is not None and float(match["top"]) != high):
        return None
    number = match["number"]
    if len(number) == 1:
        return unicodedata.numeric(number)  # 四 too
    # 1,000 is a thousand or one
    return None if high >= 1000 and re.search(r",\d{3}$", number) else float(number.replace(",", "."))


@cache
def _rules(kind: str) -> dict[str, re.Pattern[str]]:
    """What is made of the words of all languages: a label before a value, and the value of a line. Repeats
    are bounded where they could meet each other: a crafted answer must not cost quadratic time."""
    unit, qualifier = one_of(words("unit")), one_of(words("qualifier"))
    label = one_of(words("verdict") if kind in KEYS else words("score"))
    number = rf"(?P<number>{NUMBER}|[一二三四五六七八九十](?=\s?[分点點]|$))"
    value = rf"(?P<value>{number}\s?(?:{unit})?(?:\s{{0,3}}/\s{{0,3}}(?P<top>\d{{1,9}})\s?(?:{unit})?)?)"
    if kind in KEYS:
        value = rf"(?P<value>{one_of(tuple(_verdicts(kind)))})"
    rest = r"(?P<rest>[.。।።!]|[.。।።!]\s[^\d\n]{1,500}|\s?\([^()\d]{1,200}\)\.?|\s[-–—]\s[^\d\n]{1,500})?"
    around = rf"(?:(?:{qualifier})[\s']{{0,3}}){{0,3}}(?:{label})(?P<is>(?:\s{{0,3}}(?!a\b)(?:{qualifier})){{1,3}})?"
    separator = r"\s{0,5}[*_]{0,3}\s{0,5}(?:[:፦፡]|->|→|(?(is)\s?|(?!)))\s{0,5}[*_\[(]{0,6}\s{0,5}"
    rules = {
        "label": around + separator,
        "value": rf"[\[(*_]{{0,4}}{value}(?:です|だ|입니다|이다|\s?है|\s?ነው)?[\s*_\])]{{0,9}}{rest}[\s*_]{{0,9}}",
    }
    return {name: re.compile(rule, re.IGNORECASE) for name, rule in rules.items()}


# --- JSON ---


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as its pairs: a key that stands twice stays visible."""


_DECODER = json.JSONDecoder(object_pairs_hook=_Pairs, parse_int=float)


def _load(text: str) -> Any:
    """The object that is the whole text, or None."""
    return next((found for found, *place in _objects(text) if place == [0, len(text)]), None)


def _objects(text: str) -> Iterator[tuple[_Pairs, int, int]]:
    """The outermost JSON objects of a text and where they stand, also with other quotes or doubled braces."""
    plain = plain_digits(text)
    position = plain.find("{")
    for _ in range(200):
        if position < 0:
            return
        n_doubled = 1 if plain.startswith("{{", position) else 0
        for source in (text, plain, plain.replace("'", '"')):
            try:
                found, end = _DECODER.raw_decode(source, position + n_doubled)
            except (ValueError, RecursionError):
                continue
            if isinstance(found, _Pairs):
                end += n_doubled if plain.startswith("}", end) else 0
                yield found, position, end
                break
        else:
            end = position + 1
        position = plain.find("{", end)


def _values(found: _Pairs, known: frozenset[str], depth: int = 0) -> Iterator[Any]:
    """Values under one of the keys, in an object or in those inside it."""
    for key, value in found:
        if key.strip().casefold() in known:
            yield value
        elif isinstance(value, _Pairs) and depth < 3 and not has_word("quote").search(key):
            yield from _values(value, known, depth + 1)
