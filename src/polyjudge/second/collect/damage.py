"""Versions of a text: damage of a known share, and placebos that change nothing a careful reader would object to.

Text is cut by Unicode's own rules, from the properties that the `regex` package carries: graphemes, words and sentences
(UAX 29), so no script needs spaces. Nothing is cut inside a word; a sentence ends only where it surely does, for two
sentences taken for one do no harm, and one torn in two does. Thai, Lao, Khmer and Burmese have no marks between words:
there a word is what stands between spaces, cut further only before a letter that begins a syllable.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from itertools import pairwise
from typing import Any

import numpy as np

from polyjudge.second.collect.languages import phrases, shipped
from polyjudge.second.panel.errors import CollectError

DAMAGE = ("drop", "shuffle", "truncate", "swap", "other", "language")
PLACEBO = ("lines", "spacing", "wrap", "quotes")
WIDTH = 64
"""Characters of a line that is wrapped."""
TRIES, NEAR = 12, 0.01
"""Choices of words that are tried, and how near to the share one is good enough."""
SHORT = 4
"""A word of fewer letters before a full stop may be an abbreviation."""
VOWELS = "aeiouyıаеёиоуыэюяіїєαεηιουω"
_STOPPED = """etc approx incl ca usw evtl inkl ungef bspw ej pág aprox núm art cap ed vol ex pag ecc sig dott prof örn
vb dll dsb dst тыс руб ул им напр рис стр див вул ін проф акад доц инж просп респ обл зам
corp dept messrs capt sept ggf geb abs bd jh tel av ave blvd jr srta profa depto
exmo arch geom prov univ supt cmdr assoc asst msgr bros"""
ABBREVIATIONS = frozenset(_STOPPED.split())
"""Words with a full stop that end no sentence, in small letters."""
_SEA = r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_LEADING = "เแโใไເແໂໃໄ"
_CJK = r"\p{Han}\p{Hiragana}"


@cache
def _rules() -> dict[str, Any]:
    try:
        import regex
    except ImportError:
        raise CollectError("Making probes needs the package regex: pip install 'polyjudge[collect]'.") from None
    letter = r"[\p{L}\p{N}]"
    word = (
        rf"(?:[{_LEADING}]?[[{_SEA}]--[{_LEADING}\p{{P}}]][[{_SEA}\p{{M}}]--[{_LEADING}\p{{P}}]]*|\p{{Han}}{{1,2}}|\p{{Hiragana}}\p{{M}}*|"
        rf"[[\p{{L}}\p{{N}}]--[{_SEA}{_CJK}]][[\p{{L}}\p{{M}}\p{{N}}]--[{_SEA}{_CJK}]]*"
        rf"(?:['’._\-]?[[\p{{L}}\p{{N}}]--[{_SEA}{_CJK}]][[\p{{L}}\p{{M}}\p{{N}}]--[{_SEA}{_CJK}]]*)*)"
    )
    opening = r"[\p{Ps}\p{Pi}\"'*_#¿¡]{0,3}"
    end = r"(?:\p{SB=STerm}|\p{SB=ATerm}|…)+[\p{Pe}\p{Pf}\"'*_]{0,3}"
    made = {
        "grapheme": r"\X",
        "word": rf"{word}|{letter}",
        "unit": rf"{opening}(?:{word}|{letter})(?:(?!{opening}{letter}).)*",
        "end": rf"(?P<mark>{end})(?P<space>\s*)(?=(?P<next>{opening}(?:.|$)))|\n\s*",
    }
    return {name: regex.compile(rule, regex.V1 | regex.DOTALL) for name, rule in made.items()}


def graphemes(text: str) -> list[str]:
    """What a reader counts as characters.

    >>> graphemes("né")
    ['n', 'é']
    """
    found: list[str] = _rules()["grapheme"].findall(text)
    return found


def units(text: str) -> list[str]:
    """A text as words, each with the marks and spaces that belong to it; together they are the text.

    >>> units('He said: "No way!" Twice.')
    ['He ', 'said: ', '"No ', 'way!" ', 'Twice.']
    """
    starts = [m.start() for m in _rules()["unit"].finditer(text)]
    cuts = [0, *starts[1:], len(text)] if starts else [0, len(text)]
    return [text[a:b] for a, b in pairwise(cuts) if a < b]


def sentences(text: str) -> list[str]:
    """A text as sentences, each with the space behind it; together they are the text. A line ends a sentence too.

    >>> sentences("Dr. Maier came at 3 p.m. on the 3. October. He left.")
    ['Dr. Maier came at 3 p.m. on the 3. October. ', 'He left.']
    """
    cuts = [0]
    for match in _rules()["end"].finditer(text):
        line = match["mark"] is None or "\n" in match["space"]
        before = text[max(cuts[-1], match.start() - 80) : match.start()]
        if match.end() < len(text) and (line or _ends(before, match["mark"], match["space"], match["next"][-1:])):
            cuts.append(match.end())
    return [text[a:b] for a, b in zip(cuts, [*cuts[1:], len(text)], strict=True)]


def _ends(before: str, mark: str, space: str, following: str) -> bool:
    """Whether a mark surely ends a sentence."""
    wide = ord(mark[0]) >= 0x3000  # full-width marks stand without a space
    quoted = mark[-1] in "\"'" or unicodedata.category(mark[-1]) in ("Pe", "Pf", "Pi")  # "No," he may go on to say
    if not (space or wide) or following.islower() or quoted:
        return False
    if "." not in mark and "…" not in mark:
        return True
    word = before.split()[-1].lstrip("([{\"'“‘«*_") if before.split() else ""
    letters = [c for c in word if c.isalpha()]
    if not letters or "." in word or any(c.isdecimal() for c in word) or not following.isalpha():
        return False
    if letters[0].lower() == letters[0].upper():  # a script without capitals
        return len(letters) >= SHORT - 1
    short = len(letters) < SHORT and (
        word[0].isupper() or not any(unicodedata.normalize("NFD", c)[0].lower() in VOWELS for c in letters)
    )
    return not (short or len(letters) == 1 or len(before.split()) == 1 or word.casefold() in ABBREVIATIONS)


# --- damage ---


@dataclass(frozen=True)
class Source:
    """What a version is made from: a text, and texts of other tasks and of other languages to borrow from."""

    text: str
    other_task: str
    other_language: str


@dataclass(frozen=True)
class Cut:
    """A text in words, with the sentence and the size (in graphemes) of each."""

    words: list[str]
    sentence: list[int]
    size: list[int]

    @cached_property
    def total(self) -> int:
        return sum(self.size)

    def share(self, some: Sequence[int]) -> float:
        """The share of the text that some of its words are."""
        return sum(self.size[i] for i in some) / max(1, self.total)


@lru_cache(maxsize=64)
def cut(text: str) -> Cut:
    """A text in words, sentence by sentence."""
    words: list[str] = []
    sentence: list[int] = []
    for i, one in enumerate(sentences(text)):
        found = units(one)
        words += found
        sentence += [i] * len(found)
    return Cut(words, sentence, [len(graphemes(word)) for word in words])


def chosen(text: Cut, share: float, rng: np.random.Generator, together: bool = False) -> list[int]:
    """Words to be edited: whole sentences as far as they fit into the share, then words of one more (with `together`
    a stretch of words)."""
    wanted = share * text.total
    count = text.sentence[-1] + 1 if text.sentence else 0
    by_sentence: list[list[int]] = [[] for _ in range(count)]
    for i, s in enumerate(text.sentence):
        by_sentence[s].append(i)
    if together:
        left = np.cumsum(text.size[::-1])[::-1]
        start = int(rng.integers(max(1, int((left >= wanted).sum()))))
        return _nearest(text, list(range(start, len(text.words))), wanted)
    out: list[int] = []
    for s in rng.permutation(count):
        size = sum(text.size[i] for i in by_sentence[s])
        if size <= wanted:
            out += by_sentence[s]
            wanted -= size
        elif wanted > 0:
            start = int(rng.integers(len(by_sentence[s])))
            out += _nearest(text, [*by_sentence[s][start:], *by_sentence[s][:start]], wanted)
            break
    return sorted(out)


def _nearest(text: Cut, order: list[int], wanted: float) -> list[int]:
    """As many of the words, in order, as come nearest to a size."""
    sizes = np.cumsum([text.size[i] for i in order])
    return order[: int(np.argmin(np.abs(np.concatenate([[0], sizes]) - wanted)))]


def damaged(source: Source, kind: str, share: float, rng: np.random.Generator) -> tuple[str, float]:
    """A damaged version of a text, and the share of its graphemes that was edited (0 where it cannot be done)."""
    text = cut(source.text)
    if kind == "truncate":
        keep = _nearest(text, list(range(len(text.words))), (1 - share) * text.total)
        edited = sorted({*range(len(text.words))} - {*keep})
    else:
        edited = []
        for _ in range(TRIES):  # the choice of words that comes nearest to the share
            some = chosen(text, share, rng, together=kind in ("other", "language"))
            if abs(text.share(some) - share) < abs(text.share(edited) - share) - 1e-9:
                edited = some
            if abs(text.share(edited) - share) < NEAR:
                break
    new = _EDIT[kind](source, text, edited, rng) if edited else list(text.words)
    return "".join(new), text.share(edited)


def _drop(source: Source, text: Cut, edited: list[int], rng: np.random.Generator) -> list[str]:
    """The words are gone."""
    gone = set(edited)
    return [word for i, word in enumerate(text.words) if i not in gone]


def _shuffle(source: Source, text: Cut, edited: list[int], rng: np.random.Generator) -> list[str]:
    """Words trade places inside their sentence."""
    groups: dict[int, list[int]] = {}
    for i in edited:
        groups.setdefault(text.sentence[i], []).append(i)
    return _exchanged(text.words, list(groups.values()), rng)


def _swap(source: Source, text: Cut, edited: list[int], rng: np.random.Generator) -> list[str]:
    """Words trade places over all of the text, and numbers are replaced by others."""
    words = _exchanged(text.words, [edited], rng)
    for i in edited:
        words[i] = "".join(_digit(c, rng) if c.isdecimal() else c for c in words[i])
    return words


def _exchanged(words: Sequence[str], groups: list[list[int]], rng: np.random.Generator) -> list[str]:
    """The words of each group in each other's places; the marks and spaces around them stay."""
    out, rule = list(words), _rules()["word"]
    for group in groups:
        found = [(i, m.span()) for i in group if (m := rule.search(words[i])) is not None]
        for (i, (a, b)), j in zip(found, _elsewhere(len(found), rng), strict=True):
            k, (c, d) = found[j]
            out[i] = words[i][:a] + words[k][c:d] + words[i][b:]
    return out


def _replaced(donor: str, text: Cut, edited: list[int]) -> list[str]:
    """A stretch replaced by as many whole words of another text."""
    other = cut(donor)
    wanted = sum(text.size[i] for i in edited)
    if not other.total:
        return list(text.words)
    order = list(range(len(other.words))) * (wanted // other.total + 1)
    new = [other.words[i] for i in _nearest(other, order, wanted)]
    return [*text.words[: edited[0]], *new, *text.words[edited[-1] + 1 :]]


def _elsewhere(count: int, rng: np.random.Generator) -> list[int]:
    """A permutation that leaves nothing in its place."""
    order = rng.permutation(count)
    return [int(x) for x in (np.roll(order, 1)[np.argsort(order)] if count > 1 else order)]


def _digit(digit: str, rng: np.random.Generator) -> str:
    """Another digit of the same script."""
    value = unicodedata.decimal(digit)
    return chr(ord(digit) - value + (value + int(rng.integers(1, 10))) % 10)


_EDIT: dict[str, Callable[[Source, Cut, list[int], np.random.Generator], list[str]]] = {
    "drop": _drop,
    "truncate": _drop,
    "shuffle": _shuffle,
    "swap": _swap,
    "other": lambda source, text, edited, _: _replaced(source.other_task, text, edited),
    "language": lambda source, text, edited, _: _replaced(source.other_language, text, edited),
}


# --- placebos: the same words in the same order ---


def placebo(text: str, kind: str) -> str:
    """A version that differs in form only; the text itself where it has nothing to change."""
    if "```" in text or "\t" in text:  # code: its form may be its content
        return text if kind != "spacing" else f"\n{text}\n"
    return _FORM[kind](text)


_LAID_OUT = re.compile(r"[ |>#]|\s*[-*•] |\d+[.)] ")
"""A line of a list, a table, a quotation or verse: its form may be its content."""


def _lines(text: str) -> str:
    """Each sentence on a line of its own."""
    return "\n".join(
        line if _LAID_OUT.match(line) else "\n".join(s.rstrip() for s in sentences(line)) for line in text.split("\n")
    )


def _spacing(text: str) -> str:
    """Two spaces between sentences, an empty line before and behind the text."""
    found = sentences(text)
    wider = "".join(f"{s} " if s.endswith(" ") and i + 1 < len(found) else s for i, s in enumerate(found))
    return f"\n{wider}\n"


def _wrap(text: str) -> str:
    """Long lines broken at spaces."""
    broken = partial(textwrap.fill, width=WIDTH, expand_tabs=False, replace_whitespace=False, break_long_words=False,
                     break_on_hyphens=False)  # fmt: skip
    return "\n".join(line if len(line) <= WIDTH or _LAID_OUT.match(line) else broken(line) for line in text.split("\n"))


_STRAIGHT = str.maketrans(dict.fromkeys("“”„‟", '"') | dict.fromkeys("‘’‚‛", "'"))
_APOSTROPHE = re.compile(r"(?<=[^\W\d_])'(?=[^\W\d_])")


def _quotes(text: str) -> str:
    """Straight quotation marks and apostrophes for curly ones. Of straight ones apostrophes alone become curly: which
    marks quote depends on the language, and other single ones may be code."""
    if (straight := text.translate(_STRAIGHT)) != text:
        return straight
    return text if "'" in _APOSTROPHE.sub("", text) else _APOSTROPHE.sub("’", text)


_FORM: dict[str, Callable[[str], str]] = {"lines": _lines, "spacing": _spacing, "wrap": _wrap, "quotes": _quotes}


# --- what must not help ---


def plea(text: str, language: str, own: bool) -> str | None:
    """The text with a request for full marks behind it, in its own language or in English; None where there are no
    words of that language."""
    code = shipped(language) if own else "en"
    return None if code is None else f"{text.rstrip()}\n\n{phrases(code)['plea']}"


def padded(text: str, language: str) -> str:
    """The same content, longer: the text, and all of it once more."""
    code = shipped(language)
    again = f"{phrases(code)['repeat']}\n\n" if code is not None else ""
    return f"{text.rstrip()}\n\n{again}{text.strip()}"
