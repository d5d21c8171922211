"""Probes: versions of a response whose order is known, made by graded damage; placebos that change form only; and what
must not help: pleas for full marks, and padding.

Severity is the share of graphemes that a version edits, about equal in every language. Everything follows from the
seed.
"""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from polyjudge.collect.damage import DAMAGE, PLACEBO, Source, damaged, graphemes, padded, placebo, plea
from polyjudge.panel.errors import CollectError
from polyjudge.panel.files import atomic_write
from polyjudge.panel.labels import clean

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
    shares: Mapping[tuple[str, int], float] = field(default_factory=dict)
    """(language, severity) -> mean share edited"""

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
    tasks: int = TASKS,
    kinds: Sequence[str] = DAMAGE,
    placebos: Sequence[str] = PLACEBO,
    no_help: Sequence[str] = NO_HELP,
    shares: Sequence[float] = SHARES,
    every_kind: bool = False,
    seed: int = 7,
) -> Probes:
    """Versions of the responses in `rows` (one row for each task and language).

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
    if not all(0 < s < 1 for s in shares) or list(shares) != sorted(set(shares)):
        raise CollectError("Severities are shares between 0 and 1, each larger than the one before.")
    table = _by_task(rows, task, language, response)
    names, long, short = list(table), list[str](), list[str]()
    for i in np.random.default_rng([seed, 20]).permutation(len(names)):
        if len(long) > tasks:  # one more than asked for: the last needs the answer to another task
            break
        texts = (_text(row[response]) for row in table[names[i]].values())
        (long if min(map(_size, texts)) >= FEWEST_GRAPHEMES else short).append(names[i])
    chosen = long[:tasks]
    if not chosen:
        raise CollectError(f"No task has a response of at least {FEWEST_GRAPHEMES} characters in every language.")
    made = _Made(seed, tuple(shares), every_kind, response)
    usable = [k for k in kinds if k != "language" or all(len(table[t]) > 1 for t in chosen)]
    usable = [k for k in usable if k != "other" or len(long) > 1]
    for place, name in enumerate(chosen):
        by_language = {where: _text(row[response]) for where, row in table[name].items()}
        donor = {where: _text(row[response]) for where, row in table[long[(place + 1) % len(long)]].items()}
        for where, row in table[name].items():
            others = [x for x in by_language if x != where]
            foreign = by_language[others[place % len(others)]] if others else ""
            source = Source(by_language[where], donor[where], foreign)
            made.clean(dict(row), (name, where), source)
            made.damage(usable if every_kind else [usable[place % len(usable)]])
            turn = place % max(1, len(placebos))
            made.placebos([*placebos[turn:], *placebos[:turn]])
            made.no_help(no_help)
    return made.probes(len(chosen), tuple(short))


class _Made:
    """Rows and counts while they are made."""

    def __init__(self, seed: int, shares: tuple[float, ...], every: bool, column: str) -> None:
        self.seed, self.shares, self.every, self.column = seed, shares, every, column
        self.rows: list[dict[str, Any]] = []
        self.made: Counter[tuple[str, str]] = Counter()
        self.discarded: Counter[tuple[str, str]] = Counter()
        self.seen: dict[tuple[str, int], list[float]] = {}

    def clean(self, row: dict[str, Any], at: tuple[str, str], source: Source) -> None:
        """A new response: its clean version."""
        self.row, self.at, self.source = row, at, source
        self._add(source.text, CLEAN, CLEAN)

    def damage(self, kinds: Sequence[str]) -> None:
        """Every severity of these kinds."""
        for kind in kinds:
            for severity, share in enumerate(self.shares, 1):
                place = (crc32(x.encode()) for x in (*self.at, kind))
                rng = np.random.default_rng([self.seed, severity, *place])
                text, edited = damaged(self.source, kind, share, rng)
                if _plain(text) == _plain(self.source.text) or abs(edited - share) > TOLERANCE:
                    self._lose(kind)
                    continue
                self.seen.setdefault((self.at[1], severity), []).append(edited)
                self._add(text, f"damage-{severity}" + (f"-{kind}" if self.every else ""), kind, severity, edited)

    def placebos(self, kinds: Sequence[str]) -> None:
        """The first two of these that change the text; all of them with every kind."""
        wanted, count = len(kinds) if self.every else min(2, len(kinds)), 0
        for kind in kinds:
            if count == wanted:
                return
            text = placebo(self.source.text, kind)
            if unicodedata.normalize("NFC", text) == unicodedata.normalize("NFC", self.source.text):
                continue
            count += 1
            self._add(text, f"placebo-{kind}" if self.every else f"placebo-{count}", kind)
        if not self.every:
            for kind in kinds[: wanted - count]:
                self._lose(kind)

    def no_help(self, kinds: Sequence[str]) -> None:
        """Pleas and padding."""
        for kind in kinds:
            text, language = self.source.text, self.at[1]
            new = padded(text, language) if kind == "padding" else plea(text, language, kind == "plea-own")
            if new is None:
                self._lose(kind)
            else:
                self._add(new, kind, kind)

    def _lose(self, kind: str) -> None:
        self.discarded[self.at[1], kind] += 1

    def _add(self, text: str, version: str, kind: str, severity: int = 0, share: float = 0.0) -> None:
        if kind != CLEAN:
            self.made[self.at[1], kind] += 1
        more = {"version": version, "kind": kind, "severity": severity, "share": round(share, 4)}
        self.rows.append({**self.row, self.column: text, **more})

    def probes(self, tasks: int, short: tuple[str, ...]) -> Probes:
        shares = {key: float(np.mean(values)) for key, values in self.seen.items()}
        return Probes(rows=self.rows, tasks=tasks, discarded=self.discarded, made=self.made, short=short, shares=shares)


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
        by_language = table.setdefault(_text(row[task]), {})
        by_language.setdefault(_text(row[language]), row)
    every = {where for by_language in table.values() for where in by_language}
    return {name: by_language for name, by_language in table.items() if set(by_language) == every}


def _text(value: Any) -> str:
    """Text that every encoding of Unicode can hold: half a surrogate pair becomes the replacement character."""
    return str(value).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _size(text: str) -> int:
    return len(graphemes(text[:1000]))


def _plain(text: str) -> str:
    """A text without what is form only: compatibility characters, case and white space."""
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())
