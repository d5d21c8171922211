"""Probes: versions of a response whose order is known, made by graded damage, and placebos that change form only.

Text is cut by Unicode's own rules (sentence and grapheme boundaries, UAX 29, from the properties that the `regex`
package carries; it is light and installs everywhere, which ICU's bindings do not), so no script needs spaces.
Severity is the share of graphemes that a version edits; every kind of damage hits its share to the grapheme, whatever
the language. Everything follows from the seed.
"""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from polyjudge.collect.runs import holds_probes as holds_probes
from polyjudge.panel.errors import CollectError, UsageError
from polyjudge.panel.files import atomic_write
from polyjudge.panel.labels import clean

if TYPE_CHECKING:
    from typer import Context

SHARES = (0.2, 0.4, 0.8)
"""Share of graphemes edited at severity 1, 2 and 3."""
TOLERANCE = 0.05
"""A version whose share is off by more is discarded."""
FEWEST_GRAPHEMES = 20
"""Shorter responses cannot be damaged by these shares."""
TASKS = 30
CLEAN = "clean"
DAMAGE = ("drop", "shuffle", "truncate", "swap", "other", "language")
PLACEBO = ("lines", "list", "padding")
ORNAMENT = "· · · · ·"

Parts = list[str]
"""Graphemes."""


@dataclass(frozen=True)
class Source:
    """What a version is made from: its graphemes, and texts of other tasks and of other languages to borrow from."""

    text: Parts
    other_task: Parts
    other_language: Parts


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
        out: dict[str, float] = {}
        for language in sorted({key[0] for key in (*self.made, *self.discarded)}):
            gone = sum(n for key, n in self.discarded.items() if key[0] == language)
            kept = sum(n for key, n in self.made.items() if key[0] == language)
            out[language] = gone / max(gone + kept, 1)
        return out


# --- cutting text ---


def graphemes(text: str) -> Parts:
    """What a reader counts as characters.

    >>> graphemes("né")
    ['n', 'é']
    """
    regex = _regex()
    found: Parts = regex.findall(r"\X", text)
    return found


def sentences(parts: Parts) -> list[tuple[int, int]]:
    """Where sentences begin and end, in graphemes. Text without marks is cut at spaces, then anywhere.

    Thai has no full stop, and a list has none either: a piece longer than an eighth of the text, and than 40
    graphemes, is cut at its spaces into clauses, and where there is none into equal parts.
    """
    regex = _regex()
    text = "".join(parts)
    rule = (
        r"(?s).+?(?:\p{SB=STerm}+|\p{SB=ATerm}+(?!\p{SB=Numeric}|[\p{SB=Sp}\p{SB=Close}]*\p{SB=Lower})|\n)"
        r"\p{SB=Close}*[\p{SB=Sp}\n]*|.+$"
    )
    length = np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)))
    ends = (np.unique(np.searchsorted(length, [m.end() for m in regex.finditer(rule, text)])) + 1).tolist()
    spans = [(a, min(b, len(parts))) for a, b in zip([0, *ends[:-1]], ends, strict=True) if a < len(parts)]
    most = max(40, len(parts) // 8)
    return [piece for span in spans for piece in _shorter(parts, *span, most)]


def _shorter(parts: Parts, start: int, end: int, most: int) -> list[tuple[int, int]]:
    if end - start <= most:
        return [(start, end)]
    out, begin = [], start
    for at in range(start, end):
        if at + 1 - begin >= most // 2 and parts[at].isspace():
            out.append((begin, at + 1))
            begin = at + 1
    out.append((begin, end))
    even = []
    for a, b in out:
        count = -(-(b - a) // most)
        cuts = np.linspace(a, b, count + 1).round().astype(int).tolist()
        even += list(pairwise(cuts))
    return even


# --- damage: each takes a source, the number of graphemes to edit and a random stream ---


def _drop(source: Source, amount: int, rng: np.random.Generator) -> Parts:
    """Sentences left out from anywhere; of the last one only a part."""
    gone = _chosen(source.text, amount, rng)
    return [p for p, out in zip(source.text, gone, strict=True) if not out]


def _truncate(source: Source, amount: int, rng: np.random.Generator) -> Parts:
    """The end cut off."""
    return source.text[: len(source.text) - amount]


def _shuffle(source: Source, amount: int, rng: np.random.Generator) -> Parts:
    """Sentences moved to each other's places: those of a stretch of the text, in another order."""
    text = source.text
    start = int(rng.integers(len(text) - amount + 1))
    stretch = text[start : start + amount]
    spans = sentences(stretch)
    if len(spans) < 2:
        half = max(1, len(stretch) // 2)
        spans = [(0, half), (half, len(stretch))]
    turn = int(rng.integers(1, len(spans)))
    order = [*range(turn, len(spans)), *range(turn)]
    moved = [stretch[a:b] for a, b in (spans[i] for i in order)]
    return [*text[:start], *(p for piece in moved for p in piece), *text[start + amount :]]


def _swap(source: Source, amount: int, rng: np.random.Generator) -> Parts:
    """Numbers, names and words exchanged: tokens of the edited part trade places, digits are replaced."""
    text = list(source.text)
    at = np.flatnonzero(_chosen(text, amount, rng))
    tokens = _tokens(text, at)
    order = rng.permutation(len(tokens))
    if len(order) > 1:
        order = np.roll(order, 1)[np.argsort(order)]  # every token goes elsewhere
    pool = [p for i in order for p in (text[j] for j in tokens[i])]
    for j, new in zip([j for token in tokens for j in token], pool, strict=True):
        text[j] = _digit(new, rng) if new.isdecimal() else new
    return text


def _other(source: Source, amount: int, rng: np.random.Generator) -> Parts:
    """A stretch replaced by as much of the answer to another task."""
    return _replaced(source.text, source.other_task, amount, rng)


def _language(source: Source, amount: int, rng: np.random.Generator) -> Parts:
    """A stretch replaced by as much of the same answer in another language."""
    return _replaced(source.text, source.other_language, amount, rng)


def _replaced(text: Parts, donor: Parts, amount: int, rng: np.random.Generator) -> Parts:
    if not donor:
        return text
    start = int(rng.integers(len(text) - amount + 1))
    borrowed = (donor * (-(-amount // len(donor))))[:amount]
    return [*text[:start], *borrowed, *text[start + amount :]]


def _chosen(text: Parts, amount: int, rng: np.random.Generator) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which graphemes are edited: whole sentences in random order, and of the last one as many as are left."""
    out = np.zeros(len(text), bool)
    spans = sentences(text)
    for i in rng.permutation(len(spans)):
        a, b = spans[i]
        if amount <= 0:
            break
        b = min(b, a + amount)
        out[a:b] = True
        amount -= b - a
    return out


def _tokens(text: Parts, at: np.ndarray[Any, Any]) -> list[list[int]]:
    """Runs of letters or digits among the positions `at`, at most four graphemes each: words, or parts of them."""
    tokens: list[list[int]] = []
    before, kind = -2, ""
    for j in at.tolist():
        letter = text[j][0]
        is_letter = letter.isalnum() or unicodedata.category(letter)[0] in "LM"
        now = "digit" if letter.isdecimal() else "letter" if is_letter else ""
        if not now:
            kind = ""
            continue
        if now == kind and j == before + 1 and len(tokens[-1]) < 4:
            tokens[-1].append(j)
        else:
            tokens.append([j])
        before, kind = j, now
    return tokens


def _digit(digit: str, rng: np.random.Generator) -> str:
    """Another digit of the same script."""
    value = unicodedata.decimal(digit)
    return chr(ord(digit) - value + (value + int(rng.integers(1, 10))) % 10)


# --- placebos ---


def _lines(text: Parts) -> str:
    """Each sentence on a line of its own."""
    spans = sentences(text)
    if len(spans) < 2:
        spans = [(0, len(text) // 2), (len(text) // 2, len(text))]
    return "\n".join("".join(text[a:b]).strip() for a, b in spans)


def _list(text: Parts) -> str:
    """The sentences as a list."""
    return "\n".join("- " + "".join(text[a:b]).strip() for a, b in sentences(text))


def _padding(text: Parts) -> str:
    """A third longer by lines of ornament and nothing else."""
    line = len(graphemes(ORNAMENT)) + 1
    count = max(1, round(len(text) / 3 / line / 2))
    rule = "\n".join([ORNAMENT] * count)
    return f"{rule}\n{''.join(text)}\n{rule}"


Damage = Callable[[Source, int, np.random.Generator], Parts]
MAKE: dict[str, Damage] = {
    "drop": _drop,
    "shuffle": _shuffle,
    "truncate": _truncate,
    "swap": _swap,
    "other": _other,
    "language": _language,
}
FORM: dict[str, Callable[[Parts], str]] = {"lines": _lines, "list": _list, "padding": _padding}


# --- the file ---


def make_probes(
    rows: Iterable[Mapping[str, Any]],
    *,
    task: str = "id",
    language: str = "language",
    response: str = "response",
    tasks: int = TASKS,
    kinds: Sequence[str] = DAMAGE,
    placebos: Sequence[str] = PLACEBO,
    shares: Sequence[float] = SHARES,
    every_kind: bool = False,
    seed: int = 7,
) -> Probes:
    """Versions of the responses in `rows` (one row for each task and language).

    Each chosen task gives a clean version, one kind of damage in every severity and two placebos (6 rows a language
    with three severities); kinds take turns over the tasks. With `every_kind` a task gives all of them. The column
    `version` names them ("clean", "damage-2", "placebo-1"; with `every_kind` also the kind, "damage-2-drop"), so that
    a plan can take them as systems; `kind` and `share` say what was done. All other columns are kept.
    """
    unknown = [k for k in (*kinds, *placebos) if k not in MAKE and k not in FORM]
    if unknown:
        raise CollectError(f"No probe of kind {clean(unknown[0])}; there are {', '.join((*MAKE, *FORM))}.")
    if not all(0 < s < 1 for s in shares) or list(shares) != sorted(set(shares)):
        raise CollectError("Severities are shares between 0 and 1, each larger than the one before.")
    table = _by_task(rows, task, language, response)
    names = list(table)
    order = np.random.default_rng([seed, 20]).permutation(len(names))
    cut: dict[str, dict[str, Parts]] = {}
    short: list[str] = []
    for i in order:  # one more than asked for: the last needs the answer to another task
        if len(cut) > tasks:
            break
        parts = {where: graphemes(_text(row[response])) for where, row in table[names[i]].items()}
        if min(map(len, parts.values())) >= FEWEST_GRAPHEMES:
            cut[names[i]] = parts
        else:
            short.append(names[i])
    long = list(cut)
    chosen = long[:tasks]
    if not chosen:
        raise CollectError(f"No task has a response of at least {FEWEST_GRAPHEMES} characters in every language.")
    collected = _Collected(seed, tuple(shares))
    usable = [k for k in kinds if k != "language" or all(len(table[t]) > 1 for t in chosen)]
    usable = [k for k in usable if k != "other" or len(long) > 1]
    for place, name in enumerate(chosen):
        for where, row in table[name].items():
            donor = cut[long[(long.index(name) + 1) % len(long)]]
            others = [x for x in table[name] if x != where]
            foreign = cut[name][others[place % len(others)]] if others else []
            source = Source(cut[name][where], donor.get(where, next(iter(donor.values()))), foreign)
            damages = usable if every_kind else [usable[place % len(usable)]]
            turns = [placebos[(place + i) % len(placebos)] for i in range(min(2, len(placebos)))]
            forms = placebos if every_kind else turns
            collected.add_task(dict(row), (name, where, response), source, damages, forms, every_kind)
    return collected.probes(len(chosen), tuple(short))


class _Collected:
    """Rows and counts while they are made."""

    def __init__(self, seed: int, shares: tuple[float, ...]) -> None:
        self.seed, self.shares = seed, shares
        self.rows: list[dict[str, Any]] = []
        self.made: Counter[tuple[str, str]] = Counter()
        self.discarded: Counter[tuple[str, str]] = Counter()
        self.seen: dict[tuple[str, int], list[float]] = {}

    def add_task(
        self,
        row: dict[str, Any],
        at: tuple[str, str, str],
        source: Source,
        damages: Sequence[str],
        forms: Sequence[str],
        every: bool,
    ) -> None:
        name, where, column = at
        original = "".join(source.text)
        self._row(row, column, original, CLEAN, CLEAN, 0, 0.0)
        for kind in damages:
            for severity, share in enumerate(self.shares, 1):
                place = (crc32(_text(x).encode()) for x in (name, where, kind))
                rng = np.random.default_rng([self.seed, severity, *place])
                amount = round(share * len(source.text))
                text = "".join(MAKE[kind](source, amount, rng))
                edited = amount / len(source.text)
                if _plain(text) == _plain(original) or abs(edited - share) > TOLERANCE:
                    self.discarded[where, kind] += 1
                    continue
                self.made[where, kind] += 1
                self.seen.setdefault((where, severity), []).append(edited)
                version = f"damage-{severity}" + (f"-{kind}" if every else "")
                self._row(row, column, text, version, kind, severity, edited)
        for index, kind in enumerate(forms, 1):
            text = FORM[kind](source.text)
            if unicodedata.normalize("NFC", text) == unicodedata.normalize("NFC", original):
                self.discarded[where, kind] += 1
                continue
            self.made[where, kind] += 1
            self._row(row, column, text, f"placebo-{kind}" if every else f"placebo-{index}", kind, 0, 0.0)

    def _row(
        self, row: dict[str, Any], column: str, text: str, version: str, kind: str, severity: int, share: float
    ) -> None:
        more = {"version": version, "kind": kind, "severity": severity, "share": round(share, 4)}
        self.rows.append({**row, column: text, **more})

    def probes(self, tasks: int, short: tuple[str, ...]) -> Probes:
        shares = {key: float(np.mean(values)) for key, values in self.seen.items()}
        return Probes(rows=self.rows, tasks=tasks, discarded=self.discarded, made=self.made, short=short, shares=shares)


def write_probes(probes: Probes, path: str | Path) -> None:
    """One line of JSON for each version: plain text that a person can edit or add to."""
    with atomic_write(path) as file:
        for row in probes.rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def write_from_items(ctx: Context, path: Path, response: str, tasks: int, every_kind: bool, seed: int) -> None:
    """`polyjudge probe make`: versions of the items in a file, and what was made."""
    import sys

    from polyjudge.collect.items import read_rows
    from polyjudge.panel.say import say, word
    from polyjudge.questions import options as o
    from polyjudge.questions.emit import print_json

    options, columns = o.Output.of(ctx), o.Columns.of(ctx)
    if options.output is None:
        raise UsageError("Name the file to write: -o probes.jsonl.")
    rows = read_rows(path)
    first = rows[0] if rows else {}
    task = columns.task or next((n for n in ("id", "task", "item_id", "task_id") if n in first), "id")
    probes = make_probes(
        rows,
        task=task,
        language=columns.language or ("language" if "language" in first else "lang"),
        response=response,
        tasks=tasks,
        every_kind=every_kind,
        seed=seed,
    )
    write_probes(probes, options.output)
    lost = probes.lost()
    gone = sum(probes.discarded.values())
    if options.as_json:
        summary = {
            "rows": len(probes.rows),
            "tasks": probes.tasks,
            "discarded": gone,
            "discarded_by_language": lost,
            "short": list(probes.short),
            "shares": {f"{language} {severity}": share for (language, severity), share in probes.shares.items()},
        }
        print_json(summary, "probe")
        return
    print(word(say("probe.made", rows=len(probes.rows), tasks=probes.tasks, languages=len(lost), discarded=gone)))
    for language, share in lost.items():
        if share > 0.1:
            print(word(say("probe.lost", language=language, share=share)))
    if probes.short:
        print(word(say("probe.short", tasks=probes.short)))
    print(word(say("probe.ask", path=str(options.output))))
    print(f"polyjudge: wrote {options.output}", file=sys.stderr)


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


def _plain(text: str) -> str:
    """A text without what is form only: compatibility characters, case and white space."""
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def _regex() -> Any:
    try:
        import regex
    except ImportError:
        raise CollectError("Making probes needs the package regex: pip install 'polyjudge[collect]'.") from None
    return regex
