"""The one place where codes become English.

Each module here has a dict `WORDS`: code -> template, or a function of the sentence's values that returns one. In a
template `{judge}` shows a value and `{change:+points}` says how: points, share (0 to 1, in %), count, rank, money, p,
text (a long text in full) or any format of Python. `{change/low/high:+points}` shows the value with its interval,
`{/low/high:points}` the interval alone. Text is made visible and short; whole numbers get thousands separators.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from polyjudge.second.panel import numbers as n
from polyjudge.second.panel.labels import clean
from polyjudge.second.rooms import each

Values = Mapping[str, Any]
"""What a sentence speaks of, by name."""
Template = str | Callable[[Values], str]


LANGUAGE, POINTS = "language", "points"
_POINTS = re.compile(r"\{[^{}]*\}|[Pp]ercentage points|\b(points|Points)\b")
_PARTS = re.compile(r"\{[^{}]*\}|\b(?:([Aa]n?) )?([Ll])anguage(s?)\b")


def called(text: str, noun: str) -> str:
    """A text of ours with another name for language; fields in braces stay.

    >>> called("A language and 2 languages: {language}", "rubric"), called("by language", "domain")
    ('A rubric and 2 rubrics: {language}', 'by domain')
    """

    def other(found: re.Match[str]) -> str:
        if found[0].startswith("{"):
            return found[0]
        article, first, many = found.groups()
        out = _plural(noun) if many else noun
        if article:
            vowel = noun[:1].lower() in "aeiou"
            out = article[0] + ("n " if vowel else " ") + out
        return out[:1].upper() + out[1:] if first == "L" else out

    return _PARTS.sub(other, text)


def measured(text: str, unit: str) -> str:
    """A text of ours with another unit of score differences; fields in braces stay.

    >>> measured("{points} points, 3 percentage points", "percentage points")
    '{points} percentage points, 3 percentage points'
    """

    def other(found: re.Match[str]) -> str:
        return found[0] if found[1] is None else unit.capitalize() if found[1][0] == "P" else unit

    return text if unit == POINTS else _POINTS.sub(other, text)


def _plural(noun: str) -> str:
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


@dataclass(frozen=True)
class Say:
    """One sentence: a stable code, worded in the `words` of its room, and the values it speaks of."""

    code: str
    values: Mapping[str, Any] = field(default_factory=dict)
    noun: str = field(default=LANGUAGE, compare=False, kw_only=True)
    """What the condition is called, by which judges are compared."""
    unit: str = field(default=POINTS, compare=False, kw_only=True)
    """Of score differences."""

    def __str__(self) -> str:
        return word(self)

    def to_plain(self, fields: Callable[[Any], dict[str, Any]]) -> Any:
        """What JSON holds of it: its words."""
        return str(self)


Words = Say | str
"""A sentence by its code, or a short fixed label as it is shown."""


def say(code: str, **values: Any) -> Say:
    return Say(code, values)


_worded: dict[str, Template] = {}
_rooms = each("words")
"""Rooms whose words are not known yet: each is looked into only when a code is not found in those below it."""


def _template(code: str) -> Template:
    while code not in _worded:
        room = next(_rooms, None)
        if room is None:
            raise KeyError(code)
        for other, template in room.WORDS.items():
            if other in _worded:
                raise ValueError(f"The code {other} is worded twice.")
            _worded[other] = template
    return _worded[code]


def codes() -> set[str]:
    """Every code that has words."""
    with suppress(KeyError):
        _template("")
    return set(_worded)


def word(what: Words) -> str:
    """A sentence in words.

    >>> word(Say("read.from", {"tasks": 1234, "languages": 8, "judges": 6}))
    '1,234 tasks x 8 languages x 6 judges'
    """
    if isinstance(what, str):
        return what
    template = _template(what.code)
    if callable(template):
        template = template(what.values)
    template = measured(template, what.unit)
    if what.noun != LANGUAGE:
        template = called(template, what.noun)
        kinds: dict[str, Any] = {
            k: called(str(what.values[k]), what.noun)
            for k in ("axis", "kind", "what")
            if what.values.get(k) in (LANGUAGE, "Languages")
        }
        kinds |= {k: replace(v, noun=what.noun) for k, v in what.values.items() if isinstance(v, Say)}
        return _formatter.vformat(template, (), {**what.values, **kinds})
    return _formatter.vformat(template, (), what.values)


def names(labels: Sequence[Any], most: int = 4) -> str:
    """A short list of names for use inside a template: braces in them are no fields.

    >>> names(["a", "b", "c"]), names(list("abcdefg")), names(["{x}"])
    ('a, b and c', 'a, b, c, d and 3 more', '{{x}}')
    """
    return escape(_listed(labels, most))


def escape(text: str) -> str:
    """Text as a template shows it literally."""
    return text.replace("{", "{{").replace("}", "}}")


def _listed(labels: Sequence[Any], most: int = 4) -> str:
    shown = [clean(x, 40) for x in labels[:most]]
    if len(labels) > most:
        return f"{', '.join(shown)} and {len(labels) - most} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}" if shown else "none"


def plural(count: int, one: str, many: str) -> str:
    """The word for one or for many."""
    return one if count == 1 else many


class _Formatter(string.Formatter):
    """Templates with the kinds of numbers above."""

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        if "/" not in field_name:
            return kwargs[field_name], field_name
        return tuple(kwargs[part] if part else None for part in field_name.split("/")), field_name

    def format_field(self, value: Any, format_spec: str) -> str:
        sign, kind = format_spec.startswith("+"), format_spec.removeprefix("+")
        if isinstance(value, tuple) and len(value) == 3 and (value[0] is None or _is_number(value[0])):
            return _with_interval(value, kind, sign)
        if isinstance(value, tuple) and kind == "p":  # a p-value and the least that its draws can give
            return n.p_words(*value)
        return _single(value, kind, sign)


_formatter = _Formatter()


def _is_number(value: Any) -> bool:
    return hasattr(value, "__float__") and not isinstance(value, str)


def _single(value: Any, kind: str, sign: bool) -> str:
    if kind == "text":
        return clean(value, 800)
    if isinstance(value, (list, tuple)):
        return _listed(value)
    if value is None:
        return n.NONE
    if not _is_number(value):
        return clean(value)
    if kind in _KINDS:
        return _KINDS[kind](value, sign)
    if kind:
        return n.number(value, int(kind[1:-1]), sign) if kind[0] == "." and kind[-1] == "f" else format(value, kind)
    return f"{int(value):,}" if float(value).is_integer() else f"{value:g}"


_KINDS: dict[str, Callable[[Any, bool], str]] = {
    "points": lambda v, sign: n.points(v, sign=sign),
    "share": lambda v, sign: n.percent(v, sign=sign),
    "count": lambda v, _: n.number(v, 0),
    "rank": lambda v, _: n.rank(v),
    "money": lambda v, _: n.money(v),
    "p": lambda v, _: n.p_words(v),
}


def _with_interval(value: tuple[Any, Any, Any], kind: str, sign: bool) -> str:
    middle, low, high = value
    if n.missing(low) or n.missing(high):
        return f"{_single(middle, kind, sign)} (no interval)"
    if kind == "points":
        text = n.points(low if middle is None else middle, low, high, sign)
        return text[text.index("[") :] if middle is None else text
    if kind == "share":
        digits = 0 if abs(high - low) >= 0.02 else 1
        write: Callable[[Any], str] = lambda v: n.percent(v, digits, sign)  # noqa: E731
    else:
        write = lambda v: _single(v, kind, sign)  # noqa: E731
    ends = f"[{write(low)}, {write(high)}]"
    return ends if middle is None else f"{write(middle)} {ends}"


def places(cells: Sequence[tuple[Any, Any]], most: int = 3) -> str:
    """Judges and languages, for a template."""
    shown = [f"{escape(clean(judge))} in {escape(clean(language))}" for language, judge in cells[:most]]
    more = len(cells) - most
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def readings(v: Values) -> str:
    """What the deviations that matter are, and what to do with each kind."""
    parts = {
        "severity": "{severity} are severity: calibrating them is safe"
        + (" once the blind are out" * bool(v["blind"])),
        "blind": "{blind} come from judges that cannot see there: leave them out",
        "competence": "{competence} may be competence: do not calibrate them",
        "cannot_tell": "{cannot_tell} cannot be told",
    }
    return f"of {{of}} deviations that matter, {'; '.join(text for name, text in parts.items() if v[name])}."
