"""Probes (METHODS 24): versions of a response whose order is known. Graded damage must cost points; placebos change
form only; a plea for full marks or padding must not help.

Damage is done to a stretch of whole words that begins with a sentence; its severity is its share of the text. Thai,
Lao, Khmer and Burmese have no marks between words: a word is cut only before a letter that begins a syllable.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from zlib import crc32

import numpy as np

from polyjudge.base.errors import CollectError
from polyjudge.collect.items import Item
from polyjudge.collect.languages import phrases, shipped

DAMAGE = ("drop", "shuffle", "duplicate", "truncate", "other", "language")
PLACEBO = ("lines", "spacing")
SHARES = (0.2, 0.4, 0.8)  # share of the text edited at severity 1, 2 and 3
TOLERANCE = 0.05  # a version whose share is off by more is left out: whole words are edited
FEWEST = 20  # characters of a response below which it cannot be damaged by these shares
_HAN, _KANA = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U000323af々〇", "\u3041-\u309f"
_MARKS, _SHUT = ".!?…․﹒．。！？｡؟۔।॥။።፧፨។៕‼⁇⁈⁉", ")\\]}）］｝」』】〉》〕”’»›\"'*_"
_WORD = re.compile(
    rf"\s+|(?:[{_HAN}]{{1,2}}[{_KANA}]*|[{_KANA}]+|[^\s{_HAN}{_KANA}]+?(?=[\s{_HAN}{_KANA}]|$"
    rf"|(?<=[\u0e00-\u0eff])[เแโใไເແໂໃໄ]))[{_SHUT}{_MARKS}、，；：]*\s*"
)
_END = re.compile(rf"(?P<mark>[{_MARKS}]+[{_SHUT}]{{0,3}})(?P<space>\s*)(?=(?P<next>.|$))|\n\s*", re.DOTALL)


def length(text: str) -> int:
    """How many characters a reader sees.

    >>> length("né"), length("ne\u0301")
    (2, 2)
    """
    return sum(unicodedata.category(c)[0] != "M" and c not in "\u200c\u200d" for c in text)


def units(text: str) -> list[str]:
    """A text as words, each with the marks and spaces that belong to it; together they are the text.

    >>> units('He said: "No way!" Twice.')
    ['He ', 'said: ', '"No ', 'way!" ', 'Twice.']
    """
    return _WORD.findall(text)


def sentences(text: str) -> list[str]:
    """A text as sentences, each with the space behind it; together they are the text. A line ends a sentence too.

    >>> sentences("Dr. Maier came at 3 p.m. on the 3. October. He left.")
    ['Dr. Maier came at 3 p.m. on the 3. October. ', 'He left.']
    """
    cuts = [0]
    for match in _END.finditer(text):
        before = (text[max(cuts[-1], match.start() - 80) : match.start()].split() or [""])[-1]
        line = match["mark"] is None or "\n" in match["space"]
        if match.end() < len(text) and (line or _ends(before, match["mark"], match["space"], match["next"])):
            cuts.append(match.end())
    return [text[a:b] for a, b in zip(cuts, [*cuts[1:], len(text)], strict=True)]


def _ends(before: str, mark: str, space: str, following: str) -> bool:
    """Whether a mark ends a sentence: a full stop may end an abbreviation, a number or a quotation instead."""
    wide = ord(mark[0]) >= 0x3000  # full-width marks stand without a space
    if not (space or wide) or following.islower() or mark[-1] in "\"'”’»›":
        return False
    letters = sum(c.isalpha() for c in before)
    return "." not in mark or (letters >= (5 if before[:1].isupper() else 3) and "." not in before)


def _nearest(words: Sequence[str], wanted: float) -> int:
    """How many of the words, from the first on, come nearest to a size."""
    return int(np.argmin([abs(size - wanted) for size in accumulate(map(length, words), initial=0)]))


def damaged(text: str, kind: str, share: float, other: str, rng: np.random.Generator) -> tuple[str, float]:
    """A damaged version of a text, and the share of it that was edited. `other`: a text to borrow from."""
    by_sentence = [units(s) for s in sentences(text)]
    words = [word for one in by_sentence for word in one]
    total = max(1, length(text))
    if kind == "truncate":
        start, stop = _nearest(words, (1 - share) * total), len(words)
    else:
        begins = [0, *accumulate(map(len, by_sentence))][:-1]
        start = int(rng.choice([a for a in begins if length("".join(words[a:])) >= share * total] or [0]))
        stop = start + _nearest(words[start:], share * total)
    stretch, new = words[start:stop], [""]
    size = length("".join(stretch))
    if kind == "duplicate" and stretch:
        spaced = stretch[-1][-1].isspace() or ord(stretch[-1][-1]) >= 0x2E80
        new = [*stretch, "" if spaced else " ", *stretch]
    elif kind == "shuffle":  # words trade places, the spaces behind them stay
        order = rng.permutation(len(stretch))
        new = [stretch[i].rstrip() + word[len(word.rstrip()) :] for i, word in zip(order, stretch, strict=True)]
    elif kind in ("other", "language"):  # as many whole words of the other text
        borrowed = units(other) * (size // max(1, length(other)) + 1)
        new = borrowed[: _nearest(borrowed, size)] or stretch
    return "".join([*words[:start], *new, *words[stop:]]), size / total


def placebo(text: str, kind: str) -> str:
    """A version that differs in form only; the text itself where it has nothing to change."""
    if kind == "spacing":
        return f"\n{text}\n"
    laid_out = "```" in text or "\t" in text or re.search(r"^(?:[ |>#]|\s*[-*•] |\d+[.)] )", text, re.MULTILINE)
    return text if laid_out else "\n".join(s.rstrip() for line in text.split("\n") for s in sentences(line))


def make_probes(items: Sequence[Item], tasks: int) -> list[Item]:
    """Versions of the responses to some of the tasks: of each a clean one, one kind of damage in every severity (kinds
    take turns over the tasks), two placebos, two pleas and a padded one."""
    everyone = list({item.task: item for item in reversed(items)}.values())
    order = [everyone[i] for i in np.random.default_rng([0, 20]).permutation(len(everyone))]
    long = [x for x in order if min(length(t["response"][:1000]) for t in x.fields.values()) >= FEWEST]
    if not long:
        raise CollectError(f"probes: no task has a response of at least {FEWEST} characters in every language.")
    usable = [k for k in DAMAGE if (k != "language" or len(long[0].fields) > 1) and (k != "other" or len(long) > 1)]
    out: list[Item] = []
    for place, item in enumerate(long[:tasks]):
        donor, kind, languages = long[(place + 1) % len(long)], usable[place % len(usable)], list(item.fields)
        made: dict[tuple[str, float], dict[str, dict[str, str]]] = {}
        for language, following in zip(languages, [*languages[1:], languages[0]], strict=True):
            fields = item.fields[language]
            other = donor.fields[language] if kind == "other" else item.fields[following]
            seeds = [0, *(crc32(x.encode()) for x in (item.task, language, kind))]
            for version, share, new in _versions(fields["response"], kind, other["response"], language, seeds):
                made.setdefault((version, share), {})[language] = {**fields, "response": new}
        for (version, share), texts in made.items():
            if len(texts) == len(languages):  # what is lost in one language is not asked in the others
                out.append(replace(item, system="", fields=texts, version=version, share=share))
    return out


def _versions(text: str, kind: str, other: str, language: str, seeds: list[int]) -> Iterator[tuple[str, float, str]]:
    """Name, intended share and text of each version that could be made."""
    code = shipped(language)
    yield "clean", 0.0, text
    for severity, share in enumerate(SHARES, 1):
        new, edited = damaged(text, kind, share, other, np.random.default_rng([severity, *seeds]))
        if abs(edited - share) <= TOLERANCE and "".join(new.split()) != "".join(text.split()):
            yield f"damage-{severity}-{kind}", share, new
    for form in PLACEBO:
        if (new := placebo(text, form)) != text:
            yield f"placebo-{form}", 0.0, new
    if code is not None:
        yield "plea-own", 0.0, f"{text.rstrip()}\n\n{phrases(code)['plea']}"
    yield "plea-english", 0.0, f"{text.rstrip()}\n\n{phrases('en')['plea']}"
    again = f"{phrases(code)['repeat']}\n\n" if code is not None else ""
    yield "padding", 0.0, f"{text.rstrip()}\n\n{again}{text.strip()}"
