"""Answers into scores: strictly as asked for, then leniently, else missing. Never a guess, never a zero.

An answer that was cut is never a score; neither is a number inside code, nor one that the answer only quotes: a verdict
stands first or last, and everything that claims to be the score must agree.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

from polyjudge.collect.languages import words
from polyjudge.collect.plan import Rubric

STRICT, LENIENT, CUT = "strict", "lenient", "cut"
NONE, SEVERAL = "no score found", "several scores"
REFUSED = "refused"
CUT_STOPS = {"length", "max_tokens", "model_length", "max_output_tokens", "incomplete"}
WINS = {"a": 100.0, "b": 0.0, "tie": 50.0}  # preference for the answer shown first, in percent
_NUMERALS = {c: str(i) for i, c in enumerate("〇一二三四五六七八九十")}
_WIDE = {chr(c): chr(c - 0xFEE0) for c in range(0xFF01, 0xFF5F)}
_PLAIN = str.maketrans({**_WIDE, **dict.fromkeys("“”„‟«»", '"'), **dict.fromkeys("٬،、", ","), "−": "-", "٫": "."})
# Repeats are bounded where they could meet each other: a crafted answer must not cost quadratic time.
_N = r"[-+]?(?:\d{1,9}(?:[.,]\d{1,9})?|[一二三四五六七八九十](?=\s?[分点點]))(?!\d)"
_OPEN = re.compile(r"<(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_CLOSE = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_FENCE = re.compile(r"```\w{0,20}")
_BLOCK = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_CODE = re.compile(r"`[^`\n]{0,2000}`")
_QUOTED = re.compile(r"\"[^\"\n]*\"|「[^」\n]{0,300}」")
_NOT = re.compile(r"\bnot\b(?!\s?:)")  # also a grade, in Turkish
_CLAUSE = re.compile(r"[.!?;,](?=\s|$)|[。।።]")
_KEY = re.compile(r"""["']\s{0,9}(?:score|scores|winner)\s{0,9}["']\s{0,9}:""", re.IGNORECASE)
_BROKEN = re.compile(
    rf"""(?is)^\{{\s{{0,9}}["']score["']\s{{0,9}}:\s{{0,9}}["']?\s{{0,9}}({_N}(?:\s{{0,9}}/\s{{0,9}}\d{{1,9}})?)\s{{0,9}}["']?\s{{0,9}}"""
    r"""(?:,\s{0,9}["'].*)?,?\s{0,9}\}$"""
)
"""An object that is no JSON (quotes inside the reason, single quotes, a comma too many) but whole, its score first."""
_TAG = re.compile(r"[<\[]\s{0,9}/?\s{0,9}(un)?satisfied\s{0,9}/?\s{0,9}[>\]]", re.IGNORECASE)
_DECORATION = " \t*_#•-"
_TAIL = re.compile(
    r"(?:です|だ|입니다|이다|\s?है|\s?ነው)?[\s*_\])]{0,9}(?:[.。।።!](?=\s|[*_]|$|[^\d])|[(（]|\s[-–—]\s|[—–]|$)([^\n]*)$"
)
"""What may follow the number of a verdict: nothing, a sentence of its own, something in brackets or after a dash."""


@dataclass(frozen=True)
class Parsed:
    """A score, or None with the reason. `how` is strict, lenient or why it is missing."""

    score: float | None
    how: str


def parse(answer: str, rubric: Rubric, stop: str = "stop") -> Parsed:
    """Read one answer. `stop` is why it ended, in Inspect's words."""
    if stop in CUT_STOPS or stop == "content_filter":
        return Parsed(None, CUT if stop in CUT_STOPS else REFUSED)
    read = {_read(text, rubric) for text in visible(answer)}
    found = read.pop() if len(read) == 1 else Parsed(None, SEVERAL if read else CUT)
    if found.score is not None and stop not in ("stop", "") and found.how != STRICT:
        return Parsed(None, f"ended with {stop[:40]}")
    return found


def _read(text: str, rubric: Rubric) -> Parsed:
    if not text:
        return Parsed(None, "empty")
    own = {"checklist": parse_verdict, "compare": parse_winner}.get(rubric.kind)
    found = own(text) if own else parse_rating(text, rubric.scale, rubric.step)
    return Parsed(None, REFUSED) if refuses(text, own is parse_verdict) else found


def refuses(text: str, verdict: bool = False) -> bool:
    """Whether an answer begins as refusals do, in the shipped languages: a score in it is a quoted one. Of a verdict,
    "I cannot find it" is a reason."""
    start = text.lstrip("*_#>\"' \n")[:80].casefold().replace("’", "'")
    return start.startswith(words("refuse") if verdict else words("refuse") + words("cannot"))


def visible(answer: str) -> list[str]:
    """The answer without the thinking that opens it; nothing when that never ended. A tag further on is text of the
    answer, or of a thinking that quotes one: then there are two readings, and both must give the same score.

    >>> visible("<think>5?</think> 4"), visible("4 </think> 5"), visible("<think>5")
    (['4'], ['4 </think> 5'], [])
    """
    text = answer.strip()
    if not _OPEN.match(text):
        return [text]
    ends = [m.end() for m in _CLOSE.finditer(text)]
    first_to_last = dict.fromkeys(text[end:].strip() for end in (ends[:1] + ends[-1:]))
    whole = [x for x in first_to_last if _load(x) is not None]
    return whole[:1] or [x for x in first_to_last if not _OPEN.match(x)]


def parse_rating(answer: str, scale: Sequence[float] = (1, 5), step: float | None = 1) -> Parsed:
    """The score of an answer.

    >>> parse_rating('{"score": 4, "reason": "fine"}')
    Parsed(score=4.0, how='strict')
    >>> parse_rating('Score: ٤/٥').score
    4.0
    >>> parse_rating('I would say four, or 5.').how
    'no score found'
    """
    whole, (low, high) = _load(answer), scale
    if whole is not None:
        given = list(_inside(whole, "score"))
        strict = len(given) == 1 and given[0][0] and isinstance(given[0][1], float)
        claims: set[float | None] | str = {_value(v, high) for _, v in given}
    else:
        strict, claims = False, _claims(_fractions(plain_digits(answer).strip()), high)
    if isinstance(claims, str) or len(claims) != 1:
        return Parsed(None, claims if isinstance(claims, str) else SEVERAL if claims else NONE)
    value = claims.pop()
    if value is None:
        return Parsed(None, "score is not a number")
    if not low <= value <= high:
        return Parsed(None, "off the scale")
    if step is not None and abs((value - low) / step - round((value - low) / step)) > 1e-9:
        return Parsed(None, "between steps of the scale")
    return Parsed(value, STRICT if strict else LENIENT)


def _claims(text: str, high: float) -> set[float | None] | str:
    """The different values that claim to be the score of a lenient answer, or why there is none."""
    found, after = _edge_object(text, "score")
    if isinstance(found, str):
        return found
    prose = _CODE.sub(" ", _BLOCK.sub("\n", text))
    if found is not None:
        given = {_value(v, high) for _, v in _inside(found, "score")}
        return given | _labelled(prose, high, beside=True) | _later(after, high)
    if _KEY.search(text):
        broken = _BROKEN.match(_FENCE.sub("", text).strip()) if len(_KEY.findall(text)) == 1 else None
        if broken:
            return {_number(broken[1], high)}
        return CUT if text.rstrip("` \n")[-1:] != "}" else NONE
    alone = _rules()["amount"].fullmatch(text.strip(" \t\n*_[]().。।።\"'"))
    return {_over(alone, high)} if alone else _labelled(prose, high) | _said(prose, high)


def _labelled(text: str, high: float, beside: bool = False) -> set[float | None]:
    """Values of the lines that are a label and a number, if one of them stands where a verdict does: last, or first
    and apart, or before the reason. All of them `beside` an object."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    found = {i: value for i, line in enumerate(lines) if (value := _verdict_line(line, high))}
    last = len(lines) - 1
    stands = beside or 0 in found or (last in found and _introduces(lines[last - 1]))
    return set().union(*found.values(), _later(text, high) if 0 in found else ()) if stands else set()


def _later(text: str, high: float) -> set[float | None]:
    """What claims to be the score behind a verdict: "the score is 2", "so I give 2/5"; as a whole line "Actually 2"."""
    found: list[re.Match[str] | None] = []
    for line in _QUOTED.sub(" ", text).casefold().splitlines():
        found += [m for m in _rules()["label"].finditer(line) if m["sep"] or m["is"]]
        found.append(_rules()["short"].fullmatch(line.strip(_DECORATION + ".!")))
        for clause in _CLAUSE.split(line):
            amounts = list(_rules()["amount"].finditer(clause))
            if amounts:  # "a score of 5" may be the top of the scale, "I give 5" is not
                kinds = ("claim",) if _over(amounts[-1], high) == high else ("claim", "rate", "score")
                said = any(_any_of(kind).search(_NOT.sub("", clause)) for kind in kinds)
                rest = _any_of("beside").sub("", _any_of("claim").sub("", clause[amounts[-1].end() :]))
                found += amounts[-1:] if said and _TAIL.match(rest) else []
    return {x for x in (_over(m, high) for m in found if m) if x is None or x <= high}


def _verdict_line(line: str, high: float) -> tuple[float | None] | None:
    """The value of a line such as `**Final score:** 4/5 (good)`."""
    line = line.lstrip(_DECORATION)
    match = _rules()["label"].match(line)
    if match is None or (match["sep"] is None and not (match["m"] or match["unit"])):
        return None  # "Grade 4" may be a name
    rest = line[match.end() :]
    tail = _TAIL.match(rest)
    if (tail is None or any(c.isdecimal() for c in tail[1])) and not _rules()["reason"].match(rest.lstrip(" ,;.|")):
        return None
    return (_over(match, high),)


def _introduces(line: str) -> bool:
    """Whether a line may stand before the judge's own verdict: one that ends in a colon must be about the score."""
    if not line.rstrip("*_ ").endswith((":", "：", "፦")):
        return True
    rules = (re.compile("json|here is|here it is"), _any_of("score"), _any_of("rate"))
    return any(rule.search(line.casefold()) for rule in rules)


def _said(text: str, high: float) -> set[float | None]:
    """The value of a last sentence in which the judge gives a score and says nothing else: I rate this answer 4/5.
    "I was told to give 5/5", "I do not give 5/5" and "it has 4/5 facts" hold other words."""
    *before, last = [line.strip("*_ ") for line in text.splitlines() if line.strip()] or [""]
    if re.search(r"[:：፦]$", before[-1] if before else "") or re.search(r"[:：\"「『]", last):
        return set()
    sentence = re.split(r"(?<=[.!?]) +|(?<=[。！？।።])(?=.)", last)[-1].casefold()
    amounts = [m for m in _rules()["amount"].finditer(text) if m["m"] or m["unit"]]
    rest = sentence.replace(amounts[-1][0].casefold(), "") if amounts else sentence
    other = _any_of("beside").sub("", _any_of("claim").sub("", rest)).strip(" *_.,!।。።")
    given = rest != sentence and _any_of("claim").search(rest) and not other
    return {_over(m, high) for m in amounts} if given else set()  # all of them: where they differ, it is not clear


def _fractions(text: str) -> str:
    """`4 out of 5`, as every shipped language says it, written 4/5."""
    text = _rules()["backward"].sub(r"\2/\1", _rules()["forward"].sub(r"\1/\2", text))
    return _rules()["amharic"].sub(r"\2/\1", text)


@cache
def _rules() -> dict[str, re.Pattern[str]]:
    """What is made of the words of all languages. An amount is a number, over the top of the scale or with a unit or
    neither: 4, 4/5, 4 points, 4点; a label has the words around it, a separator and an amount, from the start of a
    line."""
    kinds = ("of", "from", "unit", "score", "qualifier", "reason")
    of, back, unit, score, qualifier, reason = ("|".join(re.escape(w) for w in words(kind)) for kind in kinds)
    over = rf"(?:\s{{0,3}}/\s{{0,3}}(?P<m>\d{{1,9}})(?!\d)(?:\s{{0,3}}(?:{unit}))?)?"
    amount = rf"(?P<n>{_N})(?:\s{{0,3}}(?P<unit>{unit}))?{over}"
    separator = r"\s{0,5}[*_]{0,3}\s{0,5}(?P<sep>[:=፦፡]|->|→)?\s{0,5}[*_\[(]{0,6}\s{0,5}"
    around = rf"(?:(?:{qualifier})[\s']{{0,3}}){{0,3}}(?:{score})(?P<is>(?:\s{{0,3}}(?:{qualifier})){{0,3}})"
    made = {
        "forward": rf"(?<![\w.,/])({_N})\s{{0,3}}(?:{of})\s{{0,3}}(\d{{1,9}})(?![\w/]|[.,]\d)",
        "backward": rf"(?<![\d.,/])(?:(?:满分|滿分)\s?)?(\d{{1,9}})\s{{0,3}}(?:{back})\s{{0,3}}({_N})",
        "amharic": rf"ከ\s?(\d{{1,9}})\s{{1,3}}({_N})",
        "amount": rf"(?<![A-Za-z0-9.,/]){amount}",
        "short": rf"(?:[^\d:]{{0,80}}[,.!]\s)?(?:[^\s\d:]{{1,20}}\s)?{amount}",
        "label": f"{around}{separator}{amount}",
        "reason": rf"(?:{reason})\s{{0,3}}[*_]{{0,3}}\s{{0,3}}[:：፦=]",
    }
    return {name: re.compile(rule, re.IGNORECASE) for name, rule in made.items()}


@cache
def _any_of(kind: str) -> re.Pattern[str]:
    """Any word of a kind: whole words in scripts with spaces between words, anywhere in the others."""
    spaced = [re.escape(w.casefold()) for w in words(kind) if ord(w[0]) < 0x0E00]
    glued = [re.escape(w) for w in words(kind) if ord(w[0]) >= 0x0E00]
    return re.compile(rf"(?<!\w)(?:{'|'.join(spaced)})(?!\w)|{'|'.join(glued)}")


def _over(match: re.Match[str], high: float) -> float | None:
    return _number(match["n"] + (f"/{match['m']}" if match["m"] else ""), high)


def _value(value: Any, high: float) -> float | None:
    if isinstance(value, str):
        return _number(_fractions(plain_digits(value)), high)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _number(text: str, high: float) -> float | None:
    """A number written in any script's digits, alone or over the top of the scale (4/5); else None."""
    text = plain_digits(text).strip().strip("\"'*_` .。")
    text = _NUMERALS.get(text.removesuffix("分").removesuffix("点").strip(), text)
    match = re.fullmatch(r"([-+]?\d{1,12}(?:[.,]\d{1,12})?)(?:\s{0,9}[分点점])?(?:\s{0,9}/\s{0,9}(\d{1,12}))?", text)
    if match is None or (match[2] is not None and float(match[2]) != high):
        return None
    # 1,000 is a thousand or one
    return None if high >= 1000 and re.search(r",\d{3}$", match[1]) else float(match[1].replace(",", "."))


class _Object(list[tuple[str, Any]]):
    """A JSON object as its pairs: a key that stands twice stays visible."""


_DECODER = json.JSONDecoder(object_pairs_hook=_Object, parse_int=float)


def _load(text: str) -> _Object | None:
    """The object that is the whole text."""
    try:
        found = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, _Object) else None


def _inside(found: _Object, name: str, depth: int = 0) -> Iterator[tuple[bool, Any]]:
    """Values under a key of an object, or of the objects in it; and whether it stands there exactly as asked for."""
    for key, value in found:
        if key.strip().lower() == name:
            yield depth == 0 and key == name, value
        elif isinstance(value, _Object) and depth < 3:
            yield from _inside(value, name, depth + 1)


def _edge_object(text: str, name: str) -> tuple[_Object | str | None, str]:
    """The one object with a key of that name and the text behind it, where it stands at the edge of the answer; a
    reason where it does not."""
    text = _FENCE.sub("", text).strip()
    for match in islice(re.finditer(r"\{", text), 200):
        try:
            found, end = _DECODER.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        if any(True for _ in _inside(found, name)):
            break
    else:
        return None, ""
    before, after = text[: match.start()], text[end:]
    if _KEY.search(before) or _KEY.search(after):
        return SEVERAL, ""
    lead = before.rstrip().splitlines()[-1:]
    apart = "\n" in before[len(before.rstrip()) :] or before.rstrip().endswith((":", "："))
    if lead and (after.strip() or not _introduces(lead[0]) or not apart):
        return NONE, ""
    return found, after


def parse_winner(answer: str) -> Parsed:
    """Which of two answers is better: 100 the first, 0 the second, 50 neither.

    >>> parse_winner('{"winner": "B", "reason": "clearer"}').score
    0.0
    """
    whole = _load(answer)
    found, after = (whole, "") if whole is not None else _edge_object(answer, "winner")
    if isinstance(found, str):
        return Parsed(None, found)
    verdicts = {_winner(v) for _, v in _inside(found, "winner")} if found is not None else set()
    if found is None and not _KEY.search(answer):
        verdicts = {_winner(line) for line in answer.strip().splitlines()[-1:]}
    verdicts |= {_winner(x.split()[-1]) for x in after.splitlines() if 0 < len(x.split()) <= 2} - {None}  # Actually B
    value = verdicts.pop() if len(verdicts) == 1 else None
    if value is None:
        return Parsed(None, "several verdicts" if verdicts else "no verdict found")
    return Parsed(value, STRICT if whole is not None else LENIENT)


def _winner(value: Any) -> float | None:
    word = re.sub("winner|better answer|verdict|answer|response", "", str(value).casefold()).strip(" .:*_\"'[]()<>`")
    return WINS["tie"] if word in words("tie") else WINS.get(word)


def parse_verdict(answer: str) -> Parsed:
    """The verdict on one requirement: 100 satisfied, 0 unsatisfied.

    >>> parse_verdict("It loads the data.\\n<satisfied>").score
    100.0
    """
    lines = [line.strip() for line in answer.splitlines() if line.strip()]
    tags = {m[1] is None for m in _TAG.finditer(answer)}
    own = {w for w in map(_word, (*lines[:1], *lines[-1:])) if w is not None}
    denied = own == {True} and not _word(lines[-1]) and _any_of("unsatisfied").search(answer.lower())
    if denied or len(tags | own) > 1:
        return Parsed(None, "several verdicts")
    if not own:  # a tag in the middle of an explanation may be a quotation of the judged text
        return Parsed(None, "no verdict found")
    strict = lines[-1] in ("<satisfied>", "<unsatisfied>") and answer.count("<") == 1
    return Parsed(100.0 * own.pop(), STRICT if strict else LENIENT)


def _word(line: str) -> bool | None:
    """The verdict of a line that holds nothing but a tag that a judge translated."""
    word = line.strip().strip(" \"'*_<>[]()/.。।።!：:").casefold()
    return True if word in words("satisfied") else False if word in words("unsatisfied") else None


def plain_digits(text: str) -> str:
    """Digits of every script and full-width signs as ASCII. Fractions such as ½ stay as they are.

    >>> plain_digits("४ ٣ ５：")
    '4 3 5:'
    """
    plain = text.translate(_PLAIN)
    return plain if plain.isascii() else "".join(str(unicodedata.decimal(c, c)) for c in plain)
