"""Probes: versions of a response whose order is known, made by graded damage; placebos that change form only; and what
must not help: pleas for full marks, and padding.

Severity is the share of graphemes that a version edits, about equal in every language. Everything follows from the
seed.
"""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from polyjudge.second.collect.damage import DAMAGE, PLACEBO, Source, damaged, graphemes, padded, placebo, plea
from polyjudge.second.collect.store import storable
from polyjudge.second.panel.errors import CollectError
from polyjudge.second.panel.files import atomic_write
from polyjudge.second.panel.labels import clean

SHARES = (0.2, 0.4, 0.8)
"""Share of graphemes edited at severity 1, 2 and 3."""
TOLERANCE = 0.05
"""A version whose share is off by more is discarded: whole words are edited, so a short text may miss it."""
FEWEST_GRAPHEMES = 20
"""Shorter responses cannot be damaged by these shares."""
TASKS = 30
CLEAN = "clean"
NO_HELP = ("plea-own", "plea-english", "padding")
"""Versions that must not raise a score."""


@dataclass(frozen=True, kw_only=True)
class Probes:
    """Versions, as rows of an item file, and what was discarded."""

    rows: list[dict[str, Any]]
    tasks: int
    discarded: Mapping[tuple[str, str], int]
    """(language, kind) -> versions that came out equal to their source or off their share"""
    made: Mapping[tuple[str, str], int]
    short: tuple[str, ...] = ()
    """Tasks passed over because a response is too short."""

    def lost(self) -> dict[str, float]:
        """Share of versions discarded, by language."""
        gone, kept = Counter[str](), Counter[str]()
        for counts, total in ((self.discarded, gone), (self.made, kept)):
            for (language, _), n in counts.items():
                total[language] += n
        return {language: gone[language] / (gone[language] + kept[language]) for language in sorted({*gone, *kept})}


def make_probes(
    rows: Iterable[Mapping[str, Any]],
    *,
    task: str = "id",
    language: str = "language",
    response: str = "response",
    **settings: Any,
) -> Probes:
    """Versions of the responses in `rows` (one row for each task and language). `settings` as in `versions_of`."""
    table = _by_task(rows, task, language, response)
    return versions_of(list(table), table.__getitem__, response=response, **settings)


def versions_of(
    names: Sequence[str],
    rows_of: Callable[[str], Mapping[str, Mapping[str, Any]]],
    *,
    response: str = "response",
    tasks: int = TASKS,
    kinds: Sequence[str] = DAMAGE,
    placebos: Sequence[str] = PLACEBO,
    no_help: Sequence[str] = NO_HELP,
    every_kind: bool = False,
    seed: int = 7,
) -> Probes:
    """Versions of the responses to some of the tasks `names`; `rows_of` a task: language -> row.

    Each chosen task gives a clean version, one kind of damage in every severity, two placebos, two pleas and a padded
    version (9 rows a language with three severities); kinds take turns over the tasks. With `every_kind` a task gives
    all of them. The column `version` names them ("clean", "damage-2", "placebo-1", "plea-own", "padding"; with
    `every_kind` also the kind, "damage-2-drop"), so that a plan can take them as systems; `kind` and `share` say what
    was done. All other columns are kept.
    """
    unknown = [k for k in (*kinds, *placebos, *no_help) if k not in (*DAMAGE, *PLACEBO, *NO_HELP)]
    if unknown:
        there = ", ".join((*DAMAGE, *PLACEBO, *NO_HELP))
        raise CollectError(f"No probe of kind {clean(unknown[0])}; there are {there}.")
    long, short = dict[str, Mapping[str, Mapping[str, Any]]](), list[str]()
    texts: dict[str, dict[str, str]] = {}
    for i in np.random.default_rng([seed, 20]).permutation(len(names)):
        if len(long) > tasks:  # one more than asked for: the last needs the answer to another task
            break
        found = rows_of(names[i])
        texts[names[i]] = {where: storable(str(row[response])) for where, row in found.items()}
        if long_enough(texts[names[i]].values()):
            long[names[i]] = found
        else:
            short.append(names[i])
    chosen, donors = list(long)[:tasks], [*long][1:] + [*long][:1]
    if not chosen:
        raise CollectError(f"No task has a response of at least {FEWEST_GRAPHEMES} characters in every language.")
    usable = [k for k in kinds if k != "language" or all(len(long[t]) > 1 for t in chosen)]
    usable = [k for k in usable if k != "other" or len(long) > 1]
    out, made, discarded = list[dict[str, Any]](), Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for place, name in enumerate(chosen):
        by_language, donor = texts[name], texts[donors[place]]
        turn = place % max(1, len(placebos))
        damages = usable if every_kind else [usable[place % len(usable)]]
        for where, row in long[name].items():
            others = [x for x in by_language if x != where]
            foreign = by_language[others[place % len(others)]] if others else ""
            versions = [
                *_damages(Source(by_language[where], donor[where], foreign), damages, (name, where), seed, every_kind),
                *_placebos(by_language[where], [*placebos[turn:], *placebos[:turn]], every_kind),
                *_no_help(by_language[where], no_help, where),
            ]
            facts = {"version": CLEAN, "kind": CLEAN, "severity": 0, "share": 0.0}
            out.append({**row, response: by_language[where], **facts})
            for text, version, kind, severity, share in versions:
                (discarded if text is None else made)[where, kind] += 1
                if text is not None:
                    facts = {"version": version, "kind": kind, "severity": severity, "share": round(share, 4)}
                    out.append({**row, response: text, **facts})
    return Probes(rows=out, tasks=len(chosen), discarded=discarded, made=made, short=tuple(short))


Version = tuple[str | None, str, str, int, float]
"""Text (None: it came out equal to its source, or off its share), name, kind, severity and share edited."""


def _damages(source: Source, kinds: Sequence[str], at: tuple[str, str], seed: int, every: bool) -> Iterator[Version]:
    for kind in kinds:
        for severity, share in enumerate(SHARES, 1):
            place = (crc32(x.encode()) for x in (*at, kind))
            text, edited = damaged(source, kind, share, np.random.default_rng([seed, severity, *place]))
            lost = _plain(text) == _plain(source.text) or abs(edited - share) > TOLERANCE
            name = f"damage-{severity}" + (f"-{kind}" if every else "")
            yield None if lost else text, name, kind, severity, edited


def _placebos(source: str, kinds: Sequence[str], every: bool) -> Iterator[Version]:
    """The first two of these that change the text; all of them with every kind."""
    wanted, count = len(kinds) if every else min(2, len(kinds)), 0
    for kind in kinds:
        text = placebo(source, kind)
        if count < wanted and unicodedata.normalize("NFC", text) != unicodedata.normalize("NFC", source):
            count += 1
            yield text, f"placebo-{kind}" if every else f"placebo-{count}", kind, 0, 0.0
    for kind in () if every else kinds[: wanted - count]:
        yield None, "", kind, 0, 0.0


def _no_help(source: str, kinds: Sequence[str], language: str) -> Iterator[Version]:
    for kind in kinds:
        text = padded(source, language) if kind == "padding" else plea(source, language, kind == "plea-own")
        yield text, kind, kind, 0, 0.0


def write_probes(probes: Probes, path: str | Path) -> None:
    """One line of JSON for each version: plain text that a person can edit or add to."""
    with atomic_write(path) as file:
        for row in probes.rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _by_task(
    rows: Iterable[Mapping[str, Any]], task: str, language: str, response: str
) -> dict[str, dict[str, Mapping[str, Any]]]:
    """task -> language -> row, with every task in every language."""
    table: dict[str, dict[str, Mapping[str, Any]]] = {}
    for number, row in enumerate(rows, 1):
        for column in (task, language, response):
            if row.get(column) is None:
                raise CollectError(
                    f"Item {number} has no {column!r}. Name the columns: --task, --language, --response."
                )
        by_language = table.setdefault(storable(str(row[task])), {})
        by_language.setdefault(storable(str(row[language])), row)
    every = {where for by_language in table.values() for where in by_language}
    return {name: by_language for name, by_language in table.items() if set(by_language) == every}


def long_enough(texts: Iterable[str]) -> bool:
    """Whether all of these can be damaged."""
    return all(len(graphemes(text[:1000])) >= FEWEST_GRAPHEMES for text in texts)


def _plain(text: str) -> str:
    """A text without what is form only: compatibility characters, case and white space."""
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())
