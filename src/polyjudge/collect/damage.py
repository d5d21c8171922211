"""Probes (METHODS 24): versions of a response whose order is known. Graded damage must cost points; placebos change
form only; a plea for full marks or padding must not help.

Whole words and sentences only: nothing is cut inside a word, and no script needs spaces. A sentence ends only where it
surely does: two sentences taken for one do no harm. Thai, Lao, Khmer and Burmese have no marks between words: there a
word is what stands between spaces, cut further only before a letter that begins a syllable. Severity is the share of
the text that a version edits, about equal in every language. Everything follows from the seed.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache, partial
from itertools import pairwise
from zlib import crc32

import numpy as np

from polyjudge.base.errors import CollectError
from polyjudge.base.text import name as shown
from polyjudge.collect.items import Item
from polyjudge.collect.languages import phrases, shipped
from polyjudge.collect.plan import Probes

DAMAGE = ("drop", "shuffle", "duplicate", "truncate", "other", "language")
PLACEBO = ("lines", "spacing", "wrap", "quotes")
SHARES = (0.2, 0.4, 0.8)
"""Share of the text edited at severity 1, 2 and 3."""
TOLERANCE = 0.05
"""A version whose share is off by more is left out: whole words are edited, so a short text may miss it."""
FEWEST = 20
"""Characters of a response below which it cannot be damaged by these shares."""
VOWELS = "aeiouyıаеёиоуыэюяіїєαεηιουω"
ABBREVIATIONS = frozenset(
    """etc approx incl ca usw evtl inkl ungef bspw ej pág aprox núm art cap ed vol ex pag ecc sig dott prof örn vb dll
    dsb dst тыс руб ул им напр рис стр див вул ін проф акад доц инж просп респ обл зам corp dept messrs capt sept ggf
    geb abs bd jh tel av ave blvd jr srta profa depto exmo arch geom prov univ supt cmdr assoc asst msgr bros""".split()  # noqa: SIM905
)
"""Words with a full stop that end no sentence, in small letters."""
_OPEN, _SHUT = "(\\[{（［｛「『【〈《〔“‘«‹„‚\"'*_#¿¡", ")\\]}）］｝」』】〉》〕”’»›\"'*_"
_END = re.compile(
    rf"(?P<mark>[.!?…․﹒．。！？｡؟۔।॥။።፧፨។៕‼⁇⁈⁉]+[{_SHUT}]{{0,3}})(?P<space>\s*)"
    rf"(?=(?P<next>[{_OPEN}]{{0,3}}(?:.|$)))|\n\s*",
    re.DOTALL,
)
_WORD = r"(?:V?SS*|H{1,2}|KM*|L[LM]*(?:[JQ]?L[LM]*)*|V)"
_UNIT = re.compile(rf"[OQ]{{0,3}}{_WORD}(?:(?![OQ]{{0,3}}[LHKSV]).)*", re.DOTALL)


@cache
def _class(c: str) -> str:
    """What a character is to a word: Letter, Mark, Han, Kana, South-east Asian, Vowel, Joiner, Opening, Quote."""
    category, code = unicodedata.category(c), ord(c)
    if 0x0E00 <= code <= 0x0EFF or 0x1000 <= code <= 0x109F or 0x1780 <= code <= 0x17FF:
        return "V" if c in "เแโใไເແໂໃໄ" else "S" if category[0] in "LMN" else "x"
    if category[0] == "L" or category[0] == "N":
        han = 0x3400 <= code <= 0x9FFF or 0xF900 <= code <= 0xFAFF or 0x20000 <= code <= 0x323AF or c in "々〇"
        return "H" if han else "K" if 0x3041 <= code <= 0x309F else "L"
    if category[0] == "M" or c in "\u200c\u200d":
        return "M"
    return "Q" if c in "'_" else "J" if c in "’.-" else "O" if category in ("Ps", "Pi") or c in '"*#¿¡' else "x"


def _classes(text: str) -> str:
    return "".join(map(_class, text))


def length(text: str) -> int:
    """How many characters a reader sees.

    >>> length("né"), length("ne\u0301")
    (2, 2)
    """
    return (
        len(text)
        if text.isascii()
        else sum(unicodedata.category(c)[0] != "M" and c not in "\u200c\u200d" for c in text)
    )


def units(text: str) -> list[str]:
    """A text as words, each with the marks and spaces that belong to it; together they are the text.

    >>> units('He said: "No way!" Twice.')
    ['He ', 'said: ', '"No ', 'way!" ', 'Twice.']
    """
    starts = [m.start() for m in _UNIT.finditer(_classes(text))]
    cuts = [0, *starts[1:], len(text)] if starts else [0, len(text)]
    return [text[a:b] for a, b in pairwise(cuts) if a < b]


def sentences(text: str) -> list[str]:
    """A text as sentences, each with the space behind it; together they are the text. A line ends a sentence too.

    >>> sentences("Dr. Maier came at 3 p.m. on the 3. October. He left.")
    ['Dr. Maier came at 3 p.m. on the 3. October. ', 'He left.']
    """
    cuts = [0]
    for match in _END.finditer(text):
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
        return len(letters) >= 3
    short = len(letters) < 4 and (  # may be an abbreviation
        word[0].isupper() or not any(unicodedata.normalize("NFD", c)[0].lower() in VOWELS for c in letters)
    )
    return not (short or len(letters) == 1 or len(before.split()) == 1 or word.casefold() in ABBREVIATIONS)


# --- damage ---


@dataclass(frozen=True)
class Source:
    """What a version is made from: a text, and texts of another task and of another language to borrow from."""

    text: str
    other_task: str
    other_language: str


@dataclass(frozen=True)
class Cut:
    """A text in words, with the sentence and the size of each."""

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
    found = [(word, i) for i, one in enumerate(sentences(text)) for word in units(one)]
    return Cut([w for w, _ in found], [i for _, i in found], [length(w) for w, _ in found])


def _chosen(text: Cut, share: float, rng: np.random.Generator) -> list[int]:
    """Words to be edited: whole sentences as far as they fit into the share, then words of one more."""
    wanted, out = share * text.total, list[int]()
    count = text.sentence[-1] + 1 if text.sentence else 0
    for s in rng.permutation(count):
        own = [i for i, at in enumerate(text.sentence) if at == s]
        size = sum(text.size[i] for i in own)
        if size <= wanted:
            out += own
            wanted -= size
        elif wanted > 0:
            start = int(rng.integers(len(own)))
            out += _nearest(text, [*own[start:], *own[:start]], wanted)
            break
    return sorted(out)


def _stretch(text: Cut, share: float, rng: np.random.Generator) -> list[int]:
    """Words to be edited that stand side by side."""
    left = np.cumsum(text.size[::-1])[::-1]
    start = int(rng.integers(max(1, int((left >= share * text.total).sum()))))
    return _nearest(text, list(range(start, len(text.words))), share * text.total)


def _nearest(text: Cut, order: list[int], wanted: float) -> list[int]:
    """As many of the words, in order, as come nearest to a size."""
    sizes = np.cumsum([text.size[i] for i in order])
    return order[: int(np.argmin(np.abs(np.concatenate([[0], sizes]) - wanted)))]


def damaged(source: Source, kind: str, share: float, rng: np.random.Generator) -> tuple[str, float]:
    """A damaged version of a text, and the share of it that was edited (0 where it cannot be done)."""
    text = cut(source.text)
    if kind == "truncate":
        keep = _nearest(text, list(range(len(text.words))), (1 - share) * text.total)
        return "".join(text.words[: len(keep)]), 1 - text.share(keep)
    choose = _stretch if kind in ("other", "language") else _chosen
    tried = [choose(text, share, rng) for _ in range(12)]  # whole words: the choice that comes nearest to the share
    edited = min(tried, key=lambda some: abs(text.share(some) - share))
    return ("".join(_EDIT[kind](source, text, edited, rng)) if edited else source.text), text.share(edited)


def _drop(source: Source, text: Cut, edited: list[int], rng: np.random.Generator) -> list[str]:
    gone = set(edited)
    return [word for i, word in enumerate(text.words) if i not in gone]


def _duplicate(source: Source, text: Cut, edited: list[int], rng: np.random.Generator) -> list[str]:
    """The words come twice, sentence by sentence."""
    out: list[str] = []
    gone, ends = set(edited), {s: i for i, s in enumerate(text.sentence)}
    for i, word in enumerate(text.words):
        out.append(word)
        again = [text.words[j] for j in edited if text.sentence[j] == text.sentence[i]]
        if i == ends[text.sentence[i]] and again and gone:
            out[-1] = out[-1] if out[-1][-1:].isspace() or ord(out[-1][-1]) >= 0x2E80 else f"{out[-1]} "
            out += again
    return out


def _shuffle(source: Source, text: Cut, edited: list[int], rng: np.random.Generator) -> list[str]:
    """Words trade places inside their sentence; the marks and spaces around them stay."""
    groups: dict[int, list[tuple[int, int, int]]] = {}
    for i in edited:
        if (m := re.search(_WORD, _classes(text.words[i]))) is not None:
            groups.setdefault(text.sentence[i], []).append((i, *m.span()))
    out = list(text.words)
    for group in groups.values():
        order = rng.permutation(len(group))
        places = np.roll(order, 1)[np.argsort(order)] if len(group) > 1 else order  # nothing stays in its place
        for (i, a, b), j in zip(group, places, strict=True):
            k, c, d = group[int(j)]
            out[i] = text.words[i][:a] + text.words[k][c:d] + text.words[i][b:]
    return out


def _replaced(donor: str, text: Cut, edited: list[int]) -> list[str]:
    """A stretch replaced by as many whole words of another text."""
    other, wanted = cut(donor), sum(text.size[i] for i in edited)
    if not other.total:
        return list(text.words)
    order = list(range(len(other.words))) * (wanted // other.total + 1)
    new = [other.words[i] for i in _nearest(other, order, wanted)]
    return [*text.words[: edited[0]], *new, *text.words[edited[-1] + 1 :]]


_EDIT: dict[str, Callable[[Source, Cut, list[int], np.random.Generator], list[str]]] = {
    "drop": _drop,
    "shuffle": _shuffle,
    "duplicate": _duplicate,
    "other": lambda source, text, edited, _: _replaced(source.other_task, text, edited),
    "language": lambda source, text, edited, _: _replaced(source.other_language, text, edited),
}


# --- placebos: the same words in the same order ---

_LAID_OUT = re.compile(r"[ |>#]|\s*[-*•] |\d+[.)] ")
"""A line of a list, a table, a quotation or verse: its form may be its content."""


def placebo(text: str, kind: str) -> str:
    """A version that differs in form only; the text itself where it has nothing to change."""
    if kind == "spacing":
        return f"\n{text}\n"
    if "```" in text or "\t" in text:  # code: its form may be its content
        return text
    if kind == "quotes":
        if (straight := text.translate(_STRAIGHT)) != text:
            return straight
        return text if "'" in _APOSTROPHE.sub("", text) else _APOSTROPHE.sub("’", text)
    wrap = partial(
        textwrap.fill,
        width=64,
        expand_tabs=False,
        replace_whitespace=False,
        break_long_words=False,
        break_on_hyphens=False,
    )

    def line_(line: str) -> str:
        if _LAID_OUT.match(line):
            return line
        return "\n".join(s.rstrip() for s in sentences(line)) if kind == "lines" else wrap(line)

    return "\n".join(map(line_, text.split("\n")))


_STRAIGHT = str.maketrans(dict.fromkeys("“”„‟", '"') | dict.fromkeys("‘’‚‛", "'"))
_APOSTROPHE = re.compile(r"(?<=[^\W\d_])'(?=[^\W\d_])")


# --- all versions of some tasks ---


def make_probes(items: Sequence[Item], settings: Probes) -> list[Item]:
    """Versions of the responses to some of the tasks.

    Each task gives a clean version, one kind of damage in every severity, two placebos, two pleas and a padded version;
    kinds take turns over the tasks. With `every_kind` a task gives all of them.
    """
    kinds = settings.kinds or DAMAGE
    if unknown := [k for k in kinds if k not in DAMAGE]:
        raise CollectError(f"probes.kinds: there is no damage {shown(unknown[0])}; there are {', '.join(DAMAGE)}.")
    first: dict[str, Item] = {}
    for item in items:
        first.setdefault(item.task, item)
    everyone = list(first.values())
    order = [everyone[i] for i in np.random.default_rng([settings.seed, 20]).permutation(len(everyone))]
    long = [x for x in order if min(length(t["response"][:1000]) for t in x.fields.values()) >= FEWEST]
    if not long:
        raise CollectError(f"probes: no task has a response of at least {FEWEST} characters in every language.")
    usable = [k for k in kinds if (k != "language" or len(long[0].fields) > 1) and (k != "other" or len(long) > 1)]
    out: list[Item] = []
    for place, item in enumerate(long[: settings.tasks]):
        donor, turn = long[(place + 1) % len(long)], place % len(PLACEBO)
        damages = usable if settings.every_kind else usable[place % len(usable) :][:1]
        placebos = [*PLACEBO[turn:], *PLACEBO[:turn]]
        made: dict[tuple[str, float], dict[str, str]] = {}
        languages = list(item.fields)
        for i, language in enumerate(languages):
            text = item.fields[language]["response"]
            foreign = item.fields[languages[(i + 1) % len(languages)]]["response"]
            source = Source(text, donor.fields[language]["response"], foreign)
            made.setdefault(("clean", 0.0), {})[language] = text
            for version, share, new in _versions(source, damages, placebos, language, (item.task, settings)):
                made.setdefault((version, share), {})[language] = new
        for (version, share), texts in made.items():
            if len(texts) == len(languages):  # what is lost in one language is not asked in the others
                fields: Mapping[str, Mapping[str, str]] = {
                    x: {**item.fields[x], "response": t} for x, t in texts.items()
                }
                out.append(replace(item, system="", fields=fields, version=version, share=share))
    return out


def _versions(
    source: Source, damages: Sequence[str], placebos: Sequence[str], language: str, at: tuple[str, Probes]
) -> Iterator[tuple[str, float, str]]:
    """Name, intended share and text of each version that could be made."""
    task, settings = at
    for kind in damages:
        for severity, share in enumerate(SHARES, 1):
            seed = [settings.seed, severity, *(crc32(x.encode()) for x in (task, language, kind))]
            text, edited = damaged(source, kind, share, np.random.default_rng(seed))
            if abs(edited - share) <= TOLERANCE and _plain(text) != _plain(source.text):
                yield f"damage-{severity}-{kind}", share, text
    formed = [(kind, placebo(source.text, kind)) for kind in placebos]
    changed = [(f"placebo-{kind}", 0.0, text) for kind, text in formed if text != source.text]
    yield from changed if settings.every_kind else changed[:2]
    code = shipped(language)
    if code is not None:
        yield "plea-own", 0.0, f"{source.text.rstrip()}\n\n{phrases(code)['plea']}"
    yield "plea-english", 0.0, f"{source.text.rstrip()}\n\n{phrases('en')['plea']}"
    again = f"{phrases(code)['repeat']}\n\n" if code is not None else ""
    yield "padding", 0.0, f"{source.text.rstrip()}\n\n{again}{source.text.strip()}"


def _plain(text: str) -> str:
    """A text without what is form only: compatibility characters, case and white space."""
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())
