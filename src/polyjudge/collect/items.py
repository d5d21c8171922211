"""Items to judge: tables (CSV, JSONL, JSON, Parquet) and M-RewardBench's layout, aligned across languages.

Only the places of the rows are kept in memory; texts are read from the file when they are asked about. So a hundred
thousand items in eight languages start in seconds.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import os
import sys
import tempfile
import urllib.request
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from polyjudge.collect.languages import SHIPPED, phrases
from polyjudge.collect.plan import NEEDED, Plan
from polyjudge.collect.store import Name, storable
from polyjudge.panel.errors import CollectError
from polyjudge.panel.files import atomic_path
from polyjudge.panel.labels import clean
from polyjudge.questions.probe.versions import is_version

if TYPE_CHECKING:
    from polyjudge.collect.probes import Probes as Made

HUB = "https://huggingface.co/datasets/CohereLabsCommunity/multilingual-reward-bench/resolve/main/{code}/raw.json"
LABELS = ("id", "system", "replicate", "group", "cluster")
"""Keys of a plan's items that name columns of labels."""


@dataclass(frozen=True)
class Item:
    """One thing to judge. By language: `fields`, name -> text; `requirements` of a checklist, id -> wording."""

    name: Name
    fields: Mapping[str, Mapping[str, str]]
    requirements: Mapping[str, Mapping[str, str]]


Columns = tuple[tuple[str, str], ...]
"""Fields of an item and the columns that hold them."""
Numbered = Iterator[tuple[int, dict[str, Any]]]
"""Rows with their numbers."""


def _columns(plan: Plan) -> Columns:
    needed, fields = NEEDED[plan.rubric.kind], plan.items.fields
    return tuple((name, fields.get(name, name)) for name in (*needed, *(f for f in fields if f not in needed)))


class Rows:
    """The rows of a file by number, as JSON lines on disk: the file itself, or an unnamed copy of it."""

    def __init__(self, name: str, file: IO[bytes] | None = None) -> None:
        self.name, self.file = name, file or tempfile.TemporaryFile(prefix="polyjudge-")  # noqa: SIM115
        self.starts = array("q")

    def add(self, row: Any) -> bytes:
        """Append a row to a copy; returns its line."""
        line = json.dumps(row, default=str).encode("utf-8", "surrogatepass") + b"\n"
        self.starts.append(self.file.tell())
        self.file.write(line)
        return line

    def read(self, number: int) -> dict[str, Any]:
        self.file.seek(self.starts[number])
        try:
            found = json.loads(self.file.readline())
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise CollectError(f"{clean(self.name)} has changed while it was in use. Start again.")
        return found


class Aligned:
    """The items every language has, in file order, and what was left out (task, what it lacks)."""

    def __init__(self, plan: Plan) -> None:
        self.columns = _columns(plan)
        self.names: list[Name] = []
        self.groups: list[str] = []
        self.clusters: list[str] = []
        self.requirements: list[tuple[tuple[str, str], ...]] = []
        """(id, type) of each requirement; kept for checklists only."""
        self.places: dict[str, array[int]] = {}
        self.digests: dict[str, array[int]] = {}
        self.rows: dict[str, Rows] = {}
        self.dropped: list[tuple[str, str]] = []
        self.probes: Made | None = None
        self.versions: Rows | None = None
        self.first_version: int | None = None
        """Place of the first probe version; versions come after all items."""

    def __len__(self) -> int:
        return len(self.names)

    def digest(self, place: int) -> dict[str, str]:
        """Language -> short hash of the item's texts."""
        return {language: f"{d[place]:016x}" for language, d in self.digests.items()}

    def lines(self, place: int) -> tuple[tuple[str, str], ...]:
        """(id, type) of an item's requirements."""
        return self.requirements[place] if self.requirements else ()

    def item(self, place: int) -> Item:
        """An item with its texts."""
        fields: dict[str, dict[str, str]] = {}
        wording: dict[str, dict[str, str]] = {}
        name = self.names[place]
        for language, rows in self.rows.items():
            if self.versions is not None and self.first_version is not None and place >= self.first_version:
                rows = self.versions
            texts, lines, _ = _texts(self.columns, rows.read(self.places[language][place]), name)
            if texts is None or _digest(texts, lines) != self.digests[language][place]:
                raise CollectError(f"{clean(rows.name)} has changed while it was in use. Start again.")
            fields[language] = texts
            wording[language] = {id_: text for id_, _, text in lines} if self.requirements else {}
        return Item(name, fields, wording)


def load_items(plan: Plan) -> Aligned:
    """Read the plan's items and align them across its languages."""
    gathered = _Gathered(plan)
    for language, rows, stream in _tables(plan):
        gathered.take(language, rows, stream)
    out = Aligned(plan)
    found = gathered.found
    if plan.items.shared or plan.wordings:
        found = {language.name: next(iter(found.values())) for language in plan.languages}
    names, order = list(gathered.names), gathered.order()
    kept: list[int] = []
    for n in order:
        lacking = [language for language, seen in found.items() if len(seen.rows) <= n or seen.rows[n] < 0]
        problem = f"not in {', '.join(lacking)}" if lacking else gathered.problems.get(n)
        if problem:
            out.dropped.append((str(names[n]), problem))
        else:
            kept.append(n)
    if out.dropped and plan.items.unaligned != "drop":
        shown = "; ".join(f"{clean(t)}: {clean(why)}" for t, why in out.dropped[:8])
        more = f"; and {len(out.dropped) - 8} more" if len(out.dropped) > 8 else ""
        raise CollectError(
            f"{len(out.dropped)} of {len(order)} items do not align across the languages ({shown}{more}). Complete "
            "them, or set items.unaligned: drop to go on with the others."
        )
    tasks = {task: i for i, task in enumerate(dict.fromkeys(names[n].task for n in kept))}
    if plan.items.limit is not None:
        kept = [n for n in kept if tasks[names[n].task] < plan.items.limit]
    if not kept:
        raise CollectError(f"No item in {clean(plan.items.path)} is there in all languages.")
    kept.sort(key=lambda n: tasks[names[n].task])  # all of a task side by side
    out.names = [names[n] for n in kept]
    out.groups = [gathered.groups[n] for n in kept]
    out.clusters = [gathered.clusters[n] for n in kept]
    if plan.rubric.kind == "checklist":
        out.requirements = [gathered.lines[n] for n in kept]
    for language, seen in found.items():
        out.rows[language] = seen.source
        out.places[language] = array("q", [seen.rows[n] for n in kept])
        out.digests[language] = array("Q", [seen.digests[n] for n in kept])
    if plan.probes is not None:
        _add_probes(plan, out)
    return out


def _add_probes(plan: Plan, out: Aligned) -> None:
    """Versions of some tasks as systems of these tasks, behind all items."""
    from polyjudge.collect.probes import make_probes

    assert plan.probes is not None
    settings = plan.probes
    taken = sorted({name.system for name in out.names if is_version(name.system)})
    if taken:
        raise CollectError(
            f"The items have a system {clean(taken[0])!r}, which is the name of a probe version. Rename it; or leave "
            "probes out: versions that you made yourself need only items.system."
        )
    first: dict[str, int] = {}
    for place, name in enumerate(out.names):
        first.setdefault(name.task, place)
    if settings.path is not None:
        made = _versions_file(plan, settings.path, first)
    else:
        rows, short = _long_enough(out, first, settings.tasks, settings.seed)
        chosen: dict[str, Any] = {name: getattr(settings, name) for name in ("kinds", "placebos", "no_help")}
        made = make_probes(
            rows, task="task", tasks=settings.tasks, every_kind=settings.every_kind, seed=settings.seed,
            **{name: value for name, value in chosen.items() if value is not None},
        )  # fmt: skip
        made = replace(made, short=tuple(short))
    column = dict(out.columns)["response"]
    store = Rows("the probes of the plan")
    whole: dict[tuple[str, str], dict[str, int]] = {}
    for number, row in enumerate(made.rows):
        language, place = row["language"], first[row["task"]]
        store.add({**out.rows[language].read(out.places[language][place]), column: row["response"]})
        whole.setdefault((row["task"], row["version"]), {})[language] = number
    out.probes, out.versions, out.first_version = made, store, len(out.names)
    for (task, version), numbers in whole.items():
        if len(numbers) == len(out.rows):  # a version that is lost in one language is not asked in the others
            _add_version(out, Name(task, version, ""), first[task], store, numbers)


def _versions_file(plan: Plan, path: str, first: Mapping[str, int]) -> Made:
    """Versions from a file, with the task ids and languages of the items."""
    from polyjudge.collect.probes import Probes

    wanted = {entry.items: entry.name for entry in plan.languages}
    column = plan.items.language or "language"
    text = plan.items.fields.get("response", "response")
    rows, where = [], clean(path, 200)
    for number, row in enumerate(read_rows(plan.resolve(path)), 1):
        task, version, code = (_label(row.get(name)) for name in (plan.items.id, "version", column))
        if code not in wanted:
            continue
        if task not in first:
            raise CollectError(
                f"probes.path {where}, row {number}: there is no item {clean(task)!r} in the plan's items."
            )
        if not is_version(version) or not isinstance(row.get(text), str):
            raise CollectError(
                f"probes.path {where}, row {number}: {clean(version)!r} is no version with a {clean(text)}. They are "
                "clean, damage-1, damage-2, ..., placebo-..., plea-... and padding, see `polyjudge probe make`."
            )
        rows.append({"task": task, "version": version, "language": wanted[code], "response": storable(row[text])})
    if not rows:
        raise CollectError(f"probes.path {where} has no versions in the plan's languages.")
    return Probes(rows=rows, tasks=len({row["task"] for row in rows}), discarded={}, made={})


def _long_enough(
    out: Aligned, first: Mapping[str, int], tasks: int, seed: int
) -> tuple[list[dict[str, Any]], list[str]]:
    """Responses of one task more than asked for, drawn by the seed, and tasks that were passed over as too short."""
    import numpy as np

    from polyjudge.collect.probes import long_enough

    names, rows, short = list(first), list[dict[str, Any]](), list[str]()
    for i in np.random.default_rng([seed, 21]).permutation(len(names)):
        fields = out.item(first[names[i]]).fields
        texts = {language: fields[language]["response"] for language in out.rows}
        if not long_enough(texts.values()):
            short.append(names[i])
            continue
        rows += [{"task": names[i], "language": language, "response": text} for language, text in texts.items()]
        if len(rows) > tasks * len(texts):
            break
    return rows, short


def _add_version(out: Aligned, name: Name, place: int, store: Rows, numbers: Mapping[str, int]) -> None:
    out.names.append(name)
    out.groups.append(out.groups[place])
    out.clusters.append(out.clusters[place])
    if out.requirements:
        out.requirements.append(out.requirements[place])
    for language, number in numbers.items():
        texts, lines, _ = _texts(out.columns, store.read(number), name)
        out.places[language].append(number)
        out.digests[language].append(_digest(texts or {}, lines))


class _Seen:
    """Where a language's rows are: by number of the item, the row (-1: none) and a hash of its texts."""

    def __init__(self, source: Rows) -> None:
        self.source = source
        self.rows, self.digests = array("q"), array("Q")

    def put(self, n: int, row: int, digest: int) -> bool:
        if n == len(self.rows):  # nearly always
            self.rows.append(row)
            self.digests.append(digest)
            return True
        while len(self.rows) <= n:
            self.rows.append(-1)
            self.digests.append(0)
        if self.rows[n] >= 0:
            return False
        self.rows[n], self.digests[n] = row, digest
        return True


class _Gathered:
    """What one pass over the files keeps: numbers, hashes and places instead of texts."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.columns = plan, _columns(plan)
        source = plan.items
        self.labels = tuple(getattr(source, key) for key in LABELS)
        self.names: dict[Name, int] = {}
        self.groups: list[str] = []
        self.clusters: list[str] = []
        self.lines: list[tuple[tuple[str, str], ...]] = []
        self.problems: dict[int, str] = {}
        self.found: dict[str, _Seen] = {}

    def order(self) -> list[int]:
        """Items in the order of the first language, then those that it lacks."""
        rows = self.found[self.plan.languages[0].name].rows
        have = sorted((n for n in range(len(rows)) if rows[n] >= 0), key=lambda n: rows[n])
        return [*have, *(n for n in range(len(self.names)) if n >= len(rows) or rows[n] < 0)]

    def take(self, language: str | None, rows: Rows, stream: Numbered) -> None:
        """All rows of a file: of one language, or (None) of the languages in its language column."""
        if language is not None:
            seen = self.found.setdefault(language, _Seen(rows))
            for number, row in stream:
                self._row(language, seen, row, number)
            return
        column = self.plan.items.language or "language"
        entries = self.plan.languages[: 1 if self.plan.wordings else None]  # wordings judge the same items
        wanted = {entry.items: entry.name for entry in entries}
        self.found = {entry.name: _Seen(rows) for entry in entries}
        codes: dict[str, int] = {}
        for number, row in stream:
            if column not in row:
                raise CollectError(
                    f"{clean(rows.name)} has no column {clean(column)!r} (it has {', '.join(map(clean, row))}). Name "
                    "the language column with items.language, give one file per language (items.path: "
                    "items.{language}.jsonl), or set items.shared: true when all languages judge the same texts."
                )
            code = str(row[column])
            if len(codes) < 1000:
                codes[code] = 1
            if code in wanted:
                self._row(wanted[code], self.found[wanted[code]], row, number)
        lacking = [code for code, name in wanted.items() if not len(self.found[name].rows)]
        if lacking:
            raise CollectError(
                f"{clean(rows.name)} has no rows in {clean(', '.join(lacking))}; its languages are "
                f"{', '.join(map(clean, list(codes)[:50]))}."
            )

    def _row(self, language: str, seen: _Seen, row: dict[str, Any], number: int) -> None:
        source = self.plan.items
        values = ["" if column is None else _label(row.get(column)) for column in self.labels]
        for key, column, value in zip(LABELS, self.labels, values, strict=True):
            if column is not None and not value:
                hint = "" if column in row else f" Name the right one in the plan, under items: {key}: COLUMN."
                raise CollectError(
                    f"{clean(seen.source.name)}, item {number + 1}: nothing in {clean(column)!r}. Its columns are "
                    f"{', '.join(map(clean, list(row)[:50]))}.{hint}"
                )
        name = Name(values[0], sys.intern(values[1]), sys.intern(values[2]))
        n = self.names.setdefault(name, len(self.names))
        texts, lines, lacks = _texts(self.columns, row, name)
        if not seen.put(n, number, 0 if texts is None else _digest(texts, lines)):
            hint = " (name the column that tells them apart with items.system or items.replicate)"
            apart = "" if source.system or source.replicate else hint
            raise CollectError(
                f"{clean(seen.source.name)}, item {number + 1}: {clean(name)} stands twice. Ids must be unique{apart}."
            )
        short = tuple(line[:2] for line in lines) if lines else ()
        if n == len(self.groups):
            self.groups.append(sys.intern(values[3]))
            self.clusters.append(sys.intern(values[4]))
            self.lines.append(short)
        problem = (
            f"no {lacks} in {language}" if texts is None else
            f"other requirements in {language}" if short != self.lines[n] else
            f"its {source.group} differs between languages" if values[3] != self.groups[n] else
            f"its {source.cluster} differs between languages" if values[4] != self.clusters[n] else
            "no requirements" if self.plan.rubric.kind == "checklist" and not short else None
        )  # fmt: skip
        if problem is not None:
            self.problems.setdefault(n, problem)


def _tables(plan: Plan) -> Iterator[tuple[str | None, Rows, Numbered]]:
    """Language name (None: by its column), file and rows with their numbers."""
    source = plan.items
    if source.format == "mrewardbench" or "{language}" in source.path:
        for language in plan.languages[: 1 if plan.wordings else None]:
            own = plan.resolve(source.path.replace("{language}", language.items))
            yield language.name, *_stream(_mrewardbench(plan, language.items) if source.format != "table" else own)
    else:
        yield plan.languages[0].name if source.shared else None, *_stream(plan.resolve(source.path))


def _label(value: Any) -> str:
    if type(value) is str and value.isascii() and value.isprintable():
        return value.strip()
    if value is None or isinstance(value, (dict, list)) or (isinstance(value, float) and math.isnan(value)):
        return ""
    text = str(value) if not isinstance(value, int) or abs(value) < 10**300 else ""
    return storable(text).replace("\0", "\ufffd").strip()


def _texts(
    columns: Columns, row: dict[str, Any], where: object
) -> tuple[dict[str, str] | None, list[tuple[str, str, str]], str]:
    """The texts of a row by field and its requirements; or None and the field it lacks."""
    texts: dict[str, str] = {}
    lines: list[tuple[str, str, str]] = []
    for name, column in columns:
        value = row.get(column)
        if type(value) is str and name != "requirements":
            texts[name] = value if value.isascii() else storable(value)
            continue
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return None, [], name
        if name == "requirements":
            lines = _checklist(value, str(where))
        else:
            try:
                texts[name] = storable(json.dumps(value, ensure_ascii=False, default=str))
            except (ValueError, RecursionError):
                raise CollectError(f"{clean(where)}: {name} is no text and cannot be written as one.") from None
    return texts, lines, ""


def _digest(texts: Mapping[str, str], lines: list[tuple[str, str, str]]) -> int:
    text = "\0".join(texts.values())
    if lines:
        text += "\0\0" + "\0".join("\1".join(line) for line in lines)
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a CSV, JSONL, JSON or Parquet file."""
    return [row for _, row in _stream(path)[1]]


def _stream(path: Path) -> tuple[Rows, Numbered]:
    """The rows of a CSV, JSONL, JSON or Parquet file, to be read once in order and later by number."""
    try:
        if not path.is_file():
            raise CollectError(f"There is no item file {clean(path, 200)}.")
        if path.suffix not in (".parquet", ".csv"):
            file = path.open("rb")
            head = file.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")
            if not (path.suffix == ".json" and head[:1] == b"["):
                rows = Rows(path.name, file)
                return rows, _lines(rows, path)
            file.close()
    except CollectError:
        raise
    except (OSError, ValueError) as error:
        raise CollectError(f"Cannot read {clean(path, 200)}: {clean(error, 200)}.") from None
    rows = Rows(path.name)
    return rows, _copied(rows, path)


def _lines(rows: Rows, path: Path) -> Numbered:
    """The rows of JSON lines; their starts are noted on the way."""
    rows.file.seek(0)
    if rows.file.read(3) != b"\xef\xbb\xbf":  # a byte order mark
        rows.file.seek(0)
    at, number, decode = rows.file.tell(), 0, json.JSONDecoder().decode
    try:
        for line in rows.file:
            start, at = at, at + len(line)
            if not line.strip():
                continue
            row = decode(line.decode())
            if type(row) is not dict:
                raise CollectError(
                    f"{clean(path, 200)}, line {number + 1}: every item must be an object with named fields."
                )
            rows.starts.append(start)
            yield number, row
            number += 1
    except RecursionError:
        raise CollectError(f"{clean(path, 200)}, item {number + 1} is nested too deeply.") from None
    except (OSError, ValueError) as error:
        if isinstance(error, CollectError):
            raise
        raise CollectError(f"Cannot read {clean(path, 200)}, item {number + 1}: {clean(error, 200)}.") from None


def _copied(rows: Rows, path: Path) -> Numbered:
    """The rows of another format, written as JSON lines to a file without a name on the way."""
    number = 0
    try:
        for number, row in enumerate(_parsed(path)):
            if not isinstance(row, dict):
                raise CollectError(f"{clean(path, 200)}: every item must be an object with named fields.")
            yield number, json.loads(rows.add(row))
    except RecursionError:
        raise CollectError(f"{clean(path, 200)}, item {number + 1} is nested too deeply.") from None
    except (OSError, ValueError, TypeError, csv.Error) as error:
        if isinstance(error, CollectError):
            raise
        raise CollectError(f"Cannot read {clean(path, 200)}: {clean(error, 200)}.") from None


def _parsed(path: Path) -> Iterator[Any]:
    if path.suffix == ".parquet":
        import duckdb

        try:
            with duckdb.connect() as con:
                found = con.execute("SELECT * FROM read_parquet(?)", [str(path)])
                names = [str(column[0]) for column in found.description or []]
                while rows := found.fetchmany(2048):
                    yield from (dict(zip(names, row, strict=True)) for row in rows)
        except duckdb.Error as error:
            raise ValueError(str(error).splitlines()[0]) from None
    elif path.suffix == ".csv":
        csv.field_size_limit(2**31 - 1)
        with path.open(encoding="utf-8-sig", newline="") as file:
            for row in csv.DictReader(file):
                yield {str(k): v for k, v in row.items()}
    else:
        yield from json.loads(path.read_text(encoding="utf-8-sig"))


def _mrewardbench(plan: Plan, code: str) -> Path:
    """The file of a language: in the plan's folder, or fetched once into the cache."""
    code = phrases(code)["mrewardbench"] or code if code in SHIPPED else code
    if plan.items.path != "hub":
        path = plan.resolve(plan.items.path) / code / "raw.json"
        if not path.is_file():
            raise CollectError(
                f"There is no {clean(path, 200)}. M-RewardBench has one folder per language with raw.json in it; "
                "set items.path to the folder above them, or to hub to download them."
            )
        return path
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "polyjudge" / "mrewardbench"
    path, url = cache / code / "raw.json", HUB.format(code=code)
    if not path.is_file():
        try:
            with urllib.request.urlopen(url, timeout=60) as answer, atomic_path(path) as part:
                part.write_bytes(answer.read())
        except OSError as error:
            raise CollectError(
                f"Cannot download {url}: {error}. Without a network, put the files in a folder "
                "(one folder per language with raw.json) and set items.path to it."
            ) from None
    return path


def _checklist(value: Any, where: str) -> list[tuple[str, str, str]]:
    """(id, type, wording) of each requirement; from a list, or from a list written as JSON."""
    item = f"Item {clean(where)}: requirement"
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise CollectError(f"{item}s must be a list, or a list written as JSON.") from None
    out: list[tuple[str, str, str]] = []
    if not isinstance(value, list):
        raise CollectError(f"{item}s must be a list, not {type(value).__name__}.")
    for i, line in enumerate(value):
        line = {"text": line} if isinstance(line, str) else line
        if not isinstance(line, dict):
            raise CollectError(f"{item} {i + 1} must be a text or an object, not {type(line).__name__}.")
        text = next((line[k] for k in ("text", "criteria", "requirement") if line.get(k)), None)
        if not isinstance(text, str):
            raise CollectError(f"{item} {i + 1} has no text (text, criteria or requirement).")
        id_ = next((line[k] for k in ("id", "requirement_id") if line.get(k) is not None), i)
        type_ = next((line[k] for k in ("type", "category") if line.get(k)), "")
        out.append((_label(id_), _label(type_), storable(text)))
    if len({line[0] for line in out}) != len(out):
        raise CollectError(f"Item {clean(where)}: two requirements have the same id.")
    return out


def fingerprint(text: str) -> str:
    """Short hash of a text, as stored beside each answer."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
