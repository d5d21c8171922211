"""Items to judge: tables (CSV, JSONL, JSON, Parquet) and M-RewardBench's layout, aligned across languages.

Only the places of the rows are kept in memory; their lines are copied to a file without a name, where an item is read
again when it is asked about. So a hundred thousand items in eight languages start in seconds.
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
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyjudge.second.collect.languages import SHIPPED, phrases
from polyjudge.second.collect.plan import NEEDED, Plan, ProbePlan
from polyjudge.second.collect.store import Name, storable
from polyjudge.second.panel.errors import CollectError
from polyjudge.second.panel.files import atomic_path
from polyjudge.second.panel.labels import clean
from polyjudge.second.questions.probe.versions import is_version

if TYPE_CHECKING:
    from polyjudge.second.collect.probes import Probes as Made

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
Read = Iterator[tuple[bytes, dict[str, Any]]]
"""Rows, each with its line of JSON."""


def _columns(plan: Plan) -> Columns:
    needed, fields = NEEDED[plan.rubric.kind], plan.items.fields
    return tuple((name, fields.get(name, name)) for name in (*needed, *(f for f in fields if f not in needed)))


class Rows:
    """Rows by number, as JSON lines in a file on disk that has no name and ends with the process."""

    def __init__(self) -> None:
        self.file, self.end = tempfile.TemporaryFile(prefix="polyjudge-"), 0  # noqa: SIM115
        self.starts = array("q")

    def add(self, line: bytes) -> int:
        """Append a row; returns its number. Rows are read when all of them are there."""
        self.starts.append(self.end)
        self.end += self.file.write(line)
        return len(self.starts) - 1

    def read(self, number: int) -> dict[str, Any]:
        self.file.seek(self.starts[number])
        found: dict[str, Any] = json.loads(self.file.readline())
        return found


class _Seen:
    """Where a language's items are: by number of the item, the row (-1: none) and a hash of its texts."""

    def __init__(self) -> None:
        self.rows, self.digests = array("q"), array("Q")

    def put(self, n: int, row: int, digest: int) -> bool:
        while len(self.rows) <= n:
            self.rows.append(-1)
            self.digests.append(0)
        if self.rows[n] >= 0:
            return False
        self.rows[n], self.digests[n] = row, digest
        return True

    def keep(self, kept: list[int]) -> _Seen:
        """Some of the items, renumbered."""
        out = _Seen()
        out.rows, out.digests = array("q", [self.rows[n] for n in kept]), array("Q", [self.digests[n] for n in kept])
        return out


class Aligned:
    """The items every language has, in file order, and what was left out (task, what it lacks)."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.columns = plan, _columns(plan)
        self.labels = tuple(getattr(plan.items, key) for key in LABELS)
        self.rows = Rows()
        self.numbers: dict[Name, int] = {}
        self.names: list[Name] = []
        self.groups: list[str] = []
        self.clusters: list[str] = []
        self.requirements: list[tuple[tuple[str, str], ...]] = []
        """(id, type) of each requirement of a checklist."""
        self.problems: dict[int, str] = {}
        own = plan.languages[: 1 if plan.items.shared or plan.wordings else None]  # others judge the same items
        self.found = {language.name: _Seen() for language in own}
        self.wanted = {language.items: language.name for language in own}
        self.dropped: list[tuple[str, str]] = []
        self.probes: Made | None = None
        self.first_version: int | None = None
        """Place of the first probe version; versions come after all items."""

    def __len__(self) -> int:
        return len(self.names)

    def digest(self, place: int) -> dict[str, str]:
        """Language -> short hash of the item's texts."""
        return {language: f"{seen.digests[place]:016x}" for language, seen in self.found.items()}

    def item(self, place: int) -> Item:
        """An item with its texts."""
        fields: dict[str, dict[str, str]] = {}
        wording: dict[str, dict[str, str]] = {}
        name = self.names[place]
        for language, seen in self.found.items():
            texts, lines, _ = _texts(self.columns, self.rows.read(seen.rows[place]), name)
            fields[language] = texts or {}
            wording[language] = {id_: text for id_, _, text in lines} if self.requirements[place] else {}
        return Item(name, fields, wording)

    def take(self, language: str | None, path: Path) -> None:
        """All rows of a file: of one language, or (None) of the languages in its language column."""
        column = self.plan.items.language or "language"
        codes: dict[str, None] = {}
        for number, (line, row) in enumerate(_read(path), 1):
            name = language
            if name is None:
                if column not in row:
                    raise CollectError(
                        f"{clean(path.name)} has no column {clean(column)!r} (it has {', '.join(map(clean, row))}). "
                        "Name the language column with items.language, give one file per language (items.path: "
                        "items.{language}.jsonl), or set items.shared: true when all languages judge the same texts."
                    )
                code = str(row[column])
                if len(codes) < 50:
                    codes[code] = None
                name = self.wanted.get(code)
            if name is not None:
                self._row(name, path, number, line, row)
        lacking = [code for code, name in self.wanted.items() if not len(self.found[name].rows)]
        if lacking and language is None:
            raise CollectError(
                f"{clean(path.name)} has no rows in {clean(', '.join(lacking))}; its languages are "
                f"{', '.join(map(clean, codes))}."
            )

    def _row(self, language: str, path: Path, number: int, line: bytes, row: dict[str, Any]) -> None:
        source = self.plan.items
        values = ["" if column is None else _label(row.get(column)) for column in self.labels]
        for key, column, value in zip(LABELS, self.labels, values, strict=True):
            if column is not None and not value:
                hint = "" if column in row else f" Name the right one in the plan, under items: {key}: COLUMN."
                raise CollectError(
                    f"{clean(path.name)}, item {number}: nothing in {clean(column)!r}. Its columns are "
                    f"{', '.join(map(clean, list(row)[:50]))}.{hint}"
                )
        name = Name(values[0], sys.intern(values[1]), sys.intern(values[2]))
        n = self.numbers.setdefault(name, len(self.names))
        texts, lines, lacks = _texts(self.columns, row, name)
        if not self.found[language].put(n, self.rows.add(line), 0 if texts is None else _digest(texts, lines)):
            hint = " (name the column that tells them apart with items.system or items.replicate)"
            apart = "" if source.system or source.replicate else hint
            raise CollectError(
                f"{clean(path.name)}, item {number}: {clean(name)} stands twice. Ids must be unique{apart}."
            )
        checklist = self.plan.rubric.kind == "checklist"
        short = tuple(line[:2] for line in lines) if checklist else ()
        if n == len(self.names):
            self.names.append(name)
            self.groups.append(sys.intern(values[3]))
            self.clusters.append(sys.intern(values[4]))
            self.requirements.append(short)
        problem = (
            f"no {lacks} in {language}" if texts is None else
            f"other requirements in {language}" if short != self.requirements[n] else
            f"its {source.group} differs between languages" if values[3] != self.groups[n] else
            f"its {source.cluster} differs between languages" if values[4] != self.clusters[n] else
            "no requirements" if checklist and not short else None
        )  # fmt: skip
        if problem is not None:
            self.problems.setdefault(n, problem)

    def order(self) -> list[int]:
        """Items in the order of the first language, then those that it lacks."""
        rows = next(iter(self.found.values())).rows
        have = sorted((n for n in range(len(rows)) if rows[n] >= 0), key=lambda n: rows[n])
        return [*have, *(n for n in range(len(self)) if n >= len(rows) or rows[n] < 0)]

    def keep(self, kept: list[int]) -> None:
        """Keep some of the items, in this order, for all languages of the plan."""
        self.names, self.requirements = [self.names[n] for n in kept], [self.requirements[n] for n in kept]
        self.groups, self.clusters = [self.groups[n] for n in kept], [self.clusters[n] for n in kept]
        self.numbers.clear()
        first = next(iter(self.found.values()))
        self.found = {x.name: self.found.get(x.name, first).keep(kept) for x in self.plan.languages}


def load_items(plan: Plan) -> Aligned:
    """Read the plan's items and align them across its languages."""
    try:
        out = Aligned(plan)
        for language, path in _tables(plan):
            out.take(language, path)
        out.rows.file.flush()
    except OSError as error:  # files that cannot be read are refused where they are read
        place = clean(tempfile.gettempdir(), 200)
        raise CollectError(
            f"Cannot keep the items in {place}: {error.strerror}. Make room there, or set TMPDIR."
        ) from None
    kept, order, names = [], out.order(), out.names
    for n in order:
        lacking = [language for language, seen in out.found.items() if len(seen.rows) <= n or seen.rows[n] < 0]
        problem = f"not in {', '.join(lacking)}" if lacking else out.problems.get(n)
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
    most = plan.items.limit or len(tasks)
    kept = [n for n in kept if tasks[names[n].task] < most]
    if not kept:
        raise CollectError(f"No item in {clean(plan.items.path)} is there in all languages.")
    out.keep(sorted(kept, key=lambda n: tasks[names[n].task]))  # all of a task side by side
    if plan.probes is not None:
        _add_probes(plan.probes, out)
    return out


def _add_probes(settings: ProbePlan, out: Aligned) -> None:
    """Versions of some tasks as systems of these tasks, behind all items."""
    from polyjudge.second.collect.probes import versions_of

    taken = sorted({name.system for name in out.names if is_version(name.system)})
    if taken:
        raise CollectError(
            f"The items have a system {clean(taken[0])!r}, which is the name of a probe version. Rename it; or leave "
            "probes out: versions that you made yourself need only items.system."
        )
    first: dict[str, int] = {}
    for place, name in enumerate(out.names):
        first.setdefault(name.task, place)

    def rows_of(task: str) -> dict[str, dict[str, Any]]:
        fields = out.item(first[task]).fields
        return {x: {"task": task, "language": x, "response": texts["response"]} for x, texts in fields.items()}

    if settings.path is not None:
        made = _versions_file(out.plan, settings.path, first)
    else:
        chosen: dict[str, Any] = {name: getattr(settings, name) for name in ("kinds", "placebos", "no_help")}
        made = versions_of(
            list(first), rows_of, tasks=settings.tasks, every_kind=settings.every_kind, seed=settings.seed,
            **{name: value for name, value in chosen.items() if value is not None},
        )  # fmt: skip
    column = dict(out.columns)["response"]
    whole: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for row in made.rows:
        source = out.rows.read(out.found[row["language"]].rows[first[row["task"]]])
        whole.setdefault((row["task"], row["version"]), {})[row["language"]] = {**source, column: row["response"]}
    out.probes, out.first_version = made, len(out)
    out.rows.file.seek(out.rows.end)
    for (task, version), versions in whole.items():
        if len(versions) == len(out.found):  # a version that is lost in one language is not asked in the others
            name, place = Name(task, version, ""), len(out)
            out.names.append(name)
            out.groups.append(out.groups[first[task]])
            out.clusters.append(out.clusters[first[task]])
            out.requirements.append(out.requirements[first[task]])
            for language, row in versions.items():
                texts, lines, _ = _texts(out.columns, row, name)
                out.found[language].put(place, out.rows.add(_line(row)), _digest(texts or {}, lines))


def _versions_file(plan: Plan, path: str, first: Mapping[str, int]) -> Made:
    """Versions from a file, with the task ids and languages of the items."""
    from polyjudge.second.collect.probes import Probes

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


def _tables(plan: Plan) -> Iterator[tuple[str | None, Path]]:
    """Language name (None: by its column) and file."""
    source = plan.items
    if source.format == "mrewardbench" or "{language}" in source.path:
        for language in plan.languages[: 1 if source.shared or plan.wordings else None]:
            own = plan.resolve(source.path.replace("{language}", language.items))
            yield language.name, _mrewardbench(plan, language.items) if source.format != "table" else own
    else:
        yield plan.languages[0].name if source.shared else None, plan.resolve(source.path)


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
    return [row for _, row in _read(path)]


def _read(path: Path) -> Read:
    """The rows of a CSV, JSONL, JSON or Parquet file."""
    number = 0
    try:
        if not path.is_file():
            raise CollectError(f"There is no item file {clean(path, 200)}.")
        for line, row in _parsed(path):
            number += 1
            if type(row) is not dict:
                raise CollectError(
                    f"{clean(path, 200)}, item {number}: every item must be an object with named fields."
                )
            yield line, row
    except CollectError:
        raise
    except RecursionError:
        raise CollectError(f"{clean(path, 200)}, item {number + 1} is nested too deeply.") from None
    except (OSError, ValueError, TypeError, csv.Error) as error:
        raise CollectError(f"Cannot read {clean(path, 200)}, item {number + 1}: {clean(error, 200)}.") from None


def _parsed(path: Path) -> Iterator[tuple[bytes, Any]]:
    """What a file holds, as lines of JSON and as values."""
    with path.open("rb") as file:
        start = 3 if file.read(3) == b"\xef\xbb\xbf" else 0  # a byte order mark
        file.seek(start)
        array_of_rows = path.suffix == ".json" and file.read(4096).lstrip()[:1] == b"["
        if path.suffix not in (".parquet", ".csv") and not array_of_rows:
            file.seek(start)
            decode = json.JSONDecoder().decode
            for line in file:
                if not line.isspace():
                    yield line if line[-1:] == b"\n" else line + b"\n", decode(line.decode())
            return
    for row in _records(path):
        line = _line(row)
        yield line, json.loads(line)


def _line(row: Any) -> bytes:
    return json.dumps(row, default=str).encode() + b"\n"


def _records(path: Path) -> Iterator[Any]:
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
