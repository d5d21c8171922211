"""From what stands in a score column to numbers: percent signs, decimal commas, yes and no, grades, words for nothing.

Only readings that leave no doubt are made by themselves, and each is said. Everything else is asked for: `--map`,
`--decimal`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Literal

from polyjudge.second.panel.adjustment import quote
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.labels import clean
from polyjudge.second.read.duck import number_sql
from polyjudge.second.read.formats.names import words

Kind = Literal["numbers", "percent", "words", "map"]
Decimal = Literal["comma", "point"]

ABSENT = words("n/a n.a. na #n/a #na nan <na> none null nil - -- – — ? . missing unscored") | {
    "not available", "not applicable", "no score", "no answer",
}  # fmt: skip
"""Words for "there is no score here"."""
YES = words("true yes y t pass passed correct right success succeeded satisfied")
NO = words("false no n f fail failed incorrect wrong failure unsatisfied")
PERCENT = r"[-+]?[0-9]+([.,][0-9]+)?\s*%"
COMMA = r"[-+]?[0-9]*,[0-9]+\s*%?"
THOUSANDS, GROUPED = (r"[-+]?[1-9][0-9]{0,2}" + mark + "[0-9]{3}" for mark in (",", "[.]"))
"""A comma with three digits behind it may be a decimal comma or divide thousands, and so may a point."""
OUT_OF = r"([-+]?[0-9]+(?:[.,][0-9]+)?)\s*(?:/|out of)\s*([0-9]+)"
"""8/10, 4 out of 5."""
PLAIN = re.compile("-?[0-9]{1,30}([.][0-9]{1,30})?", re.ASCII)
FEW = 1000
"""Different texts up to which they are looked at one by one: to prepare a query takes longer."""
MOST_WORDS = 200


@dataclass(frozen=True, kw_only=True)
class Profile:
    """What a score column holds: rows by kind, and its words with their rows."""

    plain: int = 0
    """Numbers as programs write them."""
    pointed: int = 0
    """Of these, with a decimal point."""
    percent: int = 0
    comma: int = 0
    thousands: int = 0
    grouped: int = 0
    """Plain numbers whose point may divide thousands: 1.234."""
    semicolons: bool = False
    """They stand between semicolons, as where commas are decimal."""
    words: Mapping[str, int] = field(default_factory=dict)
    outside: int = 0
    """Plain numbers other than 0 and 1."""
    parts: int = 0
    """Written with what they are out of: 8/10."""
    least: float | None = None
    most: float | None = None
    """Of what these are out of."""
    lowest: float | None = None
    highest: float | None = None
    """The scores of these."""


@dataclass(frozen=True, kw_only=True)
class Values:
    """How the texts of a score column are read."""

    kind: Kind = "numbers"
    comma: bool = False
    percent: bool = False
    mapping: Mapping[str, float | None] = field(default_factory=dict)
    """Text as written -> number; None is a missing score."""
    missing: Mapping[str, int] = field(default_factory=dict)
    """Words read as missing, with their rows."""
    limits: tuple[float, float] | None = None
    """The scale, where words or "out of" fix it."""
    out_of: float | None = None
    """8/10 is 8: the 10."""

    @property
    def as_written(self) -> bool:
        """Whether scores are plain numbers and nothing has to be done."""
        return not (self.comma or self.percent or self.mapping or self.out_of)

    def sql(self, text: str) -> str:
        """SQL of a text column with numbers in place of words. What is no number stays as it is, to be reported."""
        out = f"trim({text})"
        whens = "".join(
            f" WHEN {quote(word)} THEN {'NULL' if number is None else quote(repr(number))}"
            for word, number in self.mapping.items()
        )
        rest = f"replace({out}, ',', '.')" if self.comma else out
        rest = f"trim(replace({rest}, '%', ''))" if self.percent else rest
        if self.out_of:
            rest = f"coalesce(nullif(regexp_extract({rest}, {quote(f'^{OUT_OF}$')}, 1), ''), {rest})"
        return f"CASE {out}{whens} ELSE {rest} END" if whens else rest

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "decimal_comma": self.comma,
            "percent": self.percent,
            "out_of": self.out_of,
            "map": dict(self.mapping),
            "missing_words": dict(self.missing),
        }


def plain_profile(texts: list[tuple[str | None, int]]) -> Profile | None:
    """The profile of few texts with their rows that are all plain numbers; else None: see `profile_sql`."""
    there = [(text, n) for text, n in texts if text]
    if len(texts) > FEW or not all(PLAIN.fullmatch(text) for text, _ in there):
        return None
    return Profile(
        plain=sum(n for _, n in there),
        pointed=sum(n for text, n in there if "." in text),
        outside=sum(n for text, n in there if float(text) not in (0, 1)),
        grouped=sum(n for text, n in there if re.fullmatch(GROUPED, text)),
    )


def profile_sql(text: str, given: Mapping[str, float | None]) -> tuple[str, str]:
    """SQL of the counts of `Profile` over a text expression that stands for `n` rows, and the condition of a word.

    Numbers that `given` names are words.
    """
    absent = f"lower({text}) IN ({', '.join(quote(w) for w in sorted(ABSENT))})"
    number = f"(({number_sql(text)}) IS NOT NULL AND NOT {absent})"
    if stated := numbers_in(given):
        number = f"({number} AND ({number_sql(text)}) NOT IN ({', '.join(map(repr, stated))}))"
    percent, comma, parts = (f"regexp_full_match({text}, {quote(p)})" for p in (PERCENT, COMMA, OUT_OF))
    whole = f"try_cast(nullif(regexp_extract({text}, {quote(f'^{OUT_OF}$')}, 2), '') AS DOUBLE)"
    part = f"try_cast(replace(nullif(regexp_extract({text}, {quote(f'^{OUT_OF}$')}, 1), ''), ',', '.') AS DOUBLE)"
    counts = (
        f"min({whole}) AS least, max({whole}) AS most, min({part}) AS lowest, max({part}) AS highest, "
        + ", ".join(
            f"coalesce(sum(n) FILTER ({condition}), 0)::BIGINT AS {name}"
            for name, condition in {
                "plain": number,
                "pointed": f"{number} AND contains({text}, '.')",
                "outside": f"{number} AND try_cast({text} AS DOUBLE) NOT IN (0, 1)",
                "percent": percent,
                "comma": comma,
                "thousands": f"regexp_full_match({text}, {quote(THOUSANDS)})",
                "grouped": f"regexp_full_match({text}, {quote(GROUPED)})",
                "parts": parts,
            }.items()
        )
    )
    return counts, f"{text} <> '' AND NOT coalesce({number} OR {percent} OR {comma} OR {parts}, false)"


def numbers_in(given: Mapping[str, float | None]) -> dict[float, float | None]:
    """The keys of a map that are numbers themselves, such as -1 for "no score"."""
    out: dict[float, float | None] = {}
    for word, value in given.items():
        with suppress(ValueError):
            out[float(word.replace("_", "?"))] = value
    return {key: value for key, value in out.items() if isfinite(key)}


def pairs_of(given: Any, takes: str) -> list[tuple[str, Any]]:
    """`A=1,B=2` of an option, or a dictionary, as names with their values. takes : what is said of anything else"""
    if given is None:
        return []
    if isinstance(given, Mapping):
        return [(str(name), value) for name, value in given.items()]
    texts = [given] if isinstance(given, str) else given if isinstance(given, list | tuple) else [repr(given)]
    parts = [part for text in texts for part in str(text).split(",") if part.strip()]
    if odd := [part for part in parts if "=" not in part]:
        raise UsageError(f"{takes}, several separated by commas, not {clean(odd[0], 60)!r}.")
    return [(name.strip(), value.strip()) for name, _, value in (part.rpartition("=") for part in parts)]


def parse_map(given: Mapping[str, Any] | str | list[str] | tuple[str, ...] | None) -> dict[str, float | None]:
    """`--map good=1,bad=0,skip=` as a dictionary. Nothing after the sign means a missing score.

    >>> parse_map("A=4, B=3,n=")
    {'A': 4.0, 'B': 3.0, 'n': None}
    """
    pairs = pairs_of(given, "map takes WORD=NUMBER")
    out: dict[str, float | None] = {}
    for word, number in pairs:
        try:
            out[word] = None if number is None or number == "" else float(number)
        except (TypeError, ValueError):
            raise UsageError(f"--map gives {clean(word)!r} the value {clean(number)!r}, which is no number.") from None
        if out[word] is not None and not abs(out[word] or 0.0) < float("inf"):
            raise UsageError(f"--map gives {clean(word)!r} a value that is not finite.")
    return out


def recognise(
    found: Profile,
    given: Mapping[str, float | None],
    decimal: Decimal | None,
    where: str,
    places: Callable[[list[str]], str],
) -> Values:
    """How to read what was found. A reading that could be another one is an error that says what to state.

    places : of some words, where the first of them stand, for the error
    """
    folded = {word.casefold(): number for word, number in given.items()}
    stated_numbers = numbers_in(given)
    mapping: dict[str, float | None] = {}
    unknown: dict[str, int] = {}
    for word, rows in found.words.items():
        key = word.casefold()
        number = next(iter(numbers_in({word: None})), None)
        if word in given or key in folded:
            mapping[word] = given.get(word, folded.get(key))
        elif number is not None and number in stated_numbers:
            mapping[word] = stated_numbers[number]
        elif key in ABSENT:
            mapping[word] = None
        else:
            unknown[word] = rows
    missing = {word: found.words[word] for word, number in mapping.items() if number is None}
    stated = any(v is not None for v in mapping.values())
    yes_no = bool(unknown) and all(word.casefold() in YES | NO for word in unknown)
    if yes_no and not stated:
        if found.outside or found.percent or found.comma:
            raise PanelError(_ask_map(where, unknown, True, places))
        mapping |= {word: float(word.casefold() in YES) for word in unknown}
        unknown = {}
    if unknown:
        raise PanelError(_ask_map(where, unknown, bool(found.plain or found.percent or found.comma), places))
    if found.percent and found.plain:
        raise PanelError(
            f"{where} has a percent sign in some scores and none in {found.plain}, so their unit is unclear. Write "
            "all of them one way."
        )
    if found.parts:
        _check_parts(found, where)
    comma = _comma(found, decimal, where)
    kind: Kind = "numbers"
    if any(v is not None for v in mapping.values()):
        kind = "map" if stated else "words"
    elif found.percent:
        kind = "percent"
    words_only = kind in ("words", "map") and not (found.plain or found.percent or found.comma or found.parts)
    scale = [v for v in {**mapping, **given}.values() if v is not None] if words_only else []
    if found.most and ((found.lowest or 0.0) < 1 or (found.highest or 0.0) > found.most):
        scale = [0.0, found.most]
    elif found.most:  # 1/5 to 5/5: that 0/5 can be is not said, unless the column's name says where the scale begins
        scale = [1.0, found.most] if re.search(rf"\b1\s*(-|–|to|\.\.)\s*{found.most:g}\b", where) else []
    limits = (min(scale), max(scale)) if len(set(scale)) > 1 else None
    return Values(
        kind=kind, comma=comma, percent=bool(found.percent), mapping=mapping, missing=missing, limits=limits,
        out_of=found.most,
    )  # fmt: skip


def _check_parts(found: Profile, where: str) -> None:
    """8/10 everywhere, or nowhere."""
    others = found.plain + found.percent + found.comma
    if others:
        raise PanelError(
            f"{where} writes {found.parts} scores with what they are out of (/{found.most:g}) and {others} without. "
            "Write all of them one way."
        )
    if found.least != found.most:
        raise PanelError(
            f"{where} has scores out of {found.least:g} and scores out of {found.most:g}. Bring them to one scale."
        )


def _comma(found: Profile, decimal: Decimal | None, where: str) -> bool:
    if found.semicolons and found.grouped == found.plain > 0 and decimal is None:
        raise PanelError(
            f"{where} has numbers such as 1.234 between semicolons, whose point may divide thousands. Say --decimal "
            "point, or write them without the point."
        )
    if not found.comma:
        return False
    if decimal == "comma":
        return True
    if decimal == "point":
        raise PanelError(f"{where} writes numbers with commas, which --decimal point does not allow.")
    if found.pointed:
        raise PanelError(
            f"{where} writes some numbers with a point and {found.comma} with a comma. Write all of them one way."
        )
    if found.thousands == found.comma:
        raise PanelError(
            f"{where} has numbers such as 1,234, whose comma may divide thousands. Say --decimal comma, or "
            "write them without the comma."
        )
    return True


def _ask_map(where: str, unknown: Mapping[str, int], numbers: bool, places: Callable[[list[str]], str]) -> str:
    words = list(unknown)[:12]
    rows = sum(unknown.values())
    if len(unknown) > len(words) and all(any(c.isdigit() for c in word) for word in unknown):
        return (
            f"{where} holds numbers inside text in {rows} rows: {places(words)}, .... Keep the number alone, or name "
            "another column: --score NAME."
        )
    more = ", ..." if len(unknown) > len(words) else ""
    pasted = ",".join(f"{word}=NUMBER" for word in words[:6]) + more
    beside = " beside numbers" if numbers else ""
    return (
        f"{where} holds text{beside} in {rows} rows: {places(words)}{more}. Say which number each word stands for, or "
        f"nothing where it means no score: --map {clean(pasted, 200)!r} (map=... in Python). If this is no score at "
        "all, name the right column: --score NAME."
    )
