"""Labels inside names: languages by code or name, patterns such as `{judge}_{language}` on columns, files and tasks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product, takewhile
from pathlib import Path

from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.labels import clean


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


_LISTED = Path(__file__).with_name("languages.txt").read_text(encoding="ascii").split()
CODES = frozenset(word for word in _LISTED if ":" not in word)
ALIASES = dict(word.split(":") for word in _LISTED if ":" in word)
"""Codes of three letters and English names -> the shorter code."""
_LOCALE = re.compile(r"([a-z]{2,3})(?:[-_][a-z]{4})?(?:[-_](?:[a-z]{2}|[0-9]{3}))?", re.IGNORECASE)


def is_language(text: str) -> bool:
    """Whether a text is the code, locale or English name of a language.

    >>> [is_language(t) for t in ("en", "pt-BR", "zho_Hans", "German", "Chinese (Simplified)", "gpt-4")]
    [True, True, True, True, True, False]
    """
    plain = re.sub(r"\s*\(.*\)$", "", text.strip()).lower()
    code = _LOCALE.fullmatch(plain)
    return plain in ALIASES or (code is not None and (code[1] in CODES or code[1] in ALIASES))


def all_languages(labels: Iterable[str]) -> bool:
    """Whether there are labels and each is a language."""
    labels = list(labels)
    return bool(labels) and all(is_language(label) for label in labels)


FIELDS = ("language", "judge", "system", "replicate", "task")
SEPARATORS = (" | ", " / ", " - ", ": ", ", ", "__", "::", "/", "|", ":", ".", "_", "-", " ")
SCORE_WORDS = words("score scores rating ratings grade grades judge judgment judgement value points label")


_LANGUAGE = "[^/_.]+?(?:[_-](?:[A-Z][a-z]{3}|[A-Z]{2}))?"
"""A language inside a pattern: no underscore, unless a script or country follows it (zho_Hans, pt_BR)."""


@dataclass(frozen=True)
class Spread:
    """Score columns with the labels their names hold: `pattern` and, for each column, role -> label."""

    pattern: str
    labels: dict[str, dict[str, str]]

    @property
    def roles(self) -> list[str]:
        """What the names say: the language, the judge, or both."""
        return list(next(iter(self.labels.values())))


def compile_pattern(pattern: str, fields: Sequence[str] = FIELDS, path: bool = False) -> re.Pattern[str]:
    """`scores_{language}_*.csv` as a regular expression. `*` stands for anything, in a path within one folder.

    >>> compile_pattern("{judge}_{language}").fullmatch("gpt-4_en").groupdict()
    {'judge': 'gpt-4', 'language': 'en'}
    """
    out, seen = "", set()
    for part in re.split(r"(\{[^{}]*\}|\*)", pattern):
        if part == "*":
            out += "[^/]*?" if path else ".*?"
        elif part.startswith("{"):
            field = part[1:-1]
            if field not in fields or field in seen:
                known = ", ".join(f"{{{f}}}" for f in fields)
                raise UsageError(f"{clean(pattern)!r} has {clean(part)}; a pattern holds {known}, each at most once.")
            seen.add(field)
            out += f"(?P<{field}>{_LANGUAGE if field == 'language' else '[^/]+?'})"
        else:
            out += re.escape(part)
    if not seen:
        raise UsageError(f"{clean(pattern)!r} names no part: write {{language}} where the language stands.")
    return re.compile(out)


def tokens(name: str) -> list[str]:
    """Words and the separators between them, alternating."""
    return re.split(r"([_\-./:| ]+)", name)


def _common(parts: list[list[str]]) -> int:
    """How many tokens all begin with, in pairs of word and separator."""
    return len(list(takewhile(lambda tokens: len(set(tokens)) == 1, zip(*parts, strict=False)))) // 2 * 2


def strip_common(names: Sequence[str]) -> tuple[str, str]:
    """Prefix and suffix, in whole words with their separators, that all names share; something is left of each.

    >>> strip_common(["score_a-b", "score_a-c"])
    ('score_a-', '')
    """
    parts = [tokens(n) for n in names]
    most = min(map(len, parts)) - 1
    front = min(_common(parts), most)
    back = min(_common([part[::-1] for part in parts]), most - front)
    first = parts[0]
    return "".join(first[:front]), "".join(first[len(first) - back :]) if back else ""


def part_of(names: Sequence[str]) -> tuple[str, str] | None:
    """Prefix and suffix around a language that is all that differs between names, or None.

    >>> part_of(["belebele_eng_Latn", "belebele_zho_Hans"])
    ('belebele_', '')
    >>> part_of(["scores.en.csv", "scores.de.csv"])
    ('scores.', '.csv')
    """
    distinct = list(dict.fromkeys(names))
    if len(distinct) < 2:
        return None
    front, back = strip_common(distinct)
    middles = [n.removeprefix(front).removesuffix(back) for n in distinct]
    return (front, back) if all_languages(middles) else None


def guess_spread(names: Sequence[str], need_language: bool, need_judge: bool) -> Spread | None:
    """How score columns are named: by language, by judge, or by both; None when the names do not say."""
    if len(names) < 2:
        return None
    front, back = strip_common(names)
    core = {n: n.removeprefix(front).removesuffix(back) for n in names}
    if need_language and need_judge:
        return _grid(core, front, back)
    if need_language:
        if all_languages(core.values()):
            return Spread(f"{front}{{language}}{back}", {n: {"language": c} for n, c in core.items()})
        return None
    return _without_words(Spread("{judge}", {n: {"judge": n} for n in names}))


def _grid(core: dict[str, str], front: str, back: str) -> Spread | None:
    """Both in one name: one side of a separator is a language in every name, and every pair is there or most are."""
    if all_languages(core.values()):
        return None  # en-US is a language, and no judge called US
    for separator in SEPARATORS:
        for first in (True, False):
            pairs = {n: c.split(separator, 1) if first else c.rsplit(separator, 1) for n, c in core.items()}
            if any(len(p) != 2 or not all(p) for p in pairs.values()):
                continue
            for side, pattern in ((0, "{language}%s{judge}"), (1, "{judge}%s{language}")):
                languages = [p[side] for p in pairs.values()]
                judges = [p[1 - side] for p in pairs.values()]
                if not all_languages(languages) or all(map(is_language, judges)):
                    continue
                grid = len(set(languages)) * len(set(judges))
                if len(set(languages)) < 2 or len(set(judges)) < 2 or len(core) < grid / 2:
                    continue
                found = {n: {"language": p[side], "judge": p[1 - side]} for n, p in pairs.items()}
                return _without_words(Spread(front + pattern % separator + back, found))
    return None


def _without_words(spread: Spread) -> Spread:
    """`gpt-4o_score_de` is of judge gpt-4o: a word for scores at an end of every judge's name is no part of it."""
    judges = [cell["judge"] for cell in spread.labels.values()]
    front, back = strip_common(judges)
    front, back = (part if SCORE_WORDS & {t.lower() for t in tokens(part)} else "" for part in (front, back))
    if not (front or back):
        return spread
    cut = {n: {**c, "judge": c["judge"].removeprefix(front).removesuffix(back)} for n, c in spread.labels.items()}
    return Spread(spread.pattern.replace("{judge}", f"{front}{{judge}}{back}"), cut)


def in_two_parts(labels: Sequence[str]) -> bool:
    """Whether names are made of two parts that each come again with others, as tasks in several conditions are.

    >>> in_two_parts(["1_x", "1_y", "2_x", "2_y"]), in_two_parts(["law_1", "law_2", "law_3"])
    (True, False)
    """
    for separator, cut in product("_-./: ", (str.partition, str.rpartition)):
        parts = {(front, back) for front, between, back in (cut(label, separator) for label in labels) if between}
        some = {front for front, _ in parts}, {back for _, back in parts}
        if len(parts) == len(set(labels)) > max(map(len, some)) and min(map(len, some)) > 1:
            return True
    return False


def task_and_language(labels: Sequence[str]) -> str | None:
    """The pattern of names that each end or begin with a language, `{task}_{language}`; each task is in several.

    >>> task_and_language(["q1_en", "q1_de", "q2_en", "q2_de"])
    '{task}_{language}'
    """
    for separator in ("_", "-", ".", "/", ":", " "):
        for pattern in (f"{{task}}{separator}{{language}}", f"{{language}}{separator}{{task}}"):
            rule = compile_pattern(pattern)
            found = [m.groupdict() for label in labels if (m := rule.fullmatch(label))]
            if len(found) < len(labels) or not all_languages({f["language"] for f in found}):
                continue
            tasks = {f["task"] for f in found}
            if len({f["language"] for f in found}) > 1 and len(tasks) <= len(set(labels)) / 1.5:
                return pattern
    return None
