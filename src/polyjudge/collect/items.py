"""Items to judge: tables (CSV, JSONL, JSON, Parquet) and M-RewardBench's layout, aligned across languages."""

from __future__ import annotations

import csv
import hashlib
import json
import math
import os
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyjudge.collect.plan import NEEDED, Plan
from polyjudge.collect.store import SYSTEM_MARK
from polyjudge.core.errors import CollectError
from polyjudge.core.files import atomic_path
from polyjudge.core.labels import clean

HUB = "https://huggingface.co/datasets/CohereLabsCommunity/multilingual-reward-bench/resolve/main/{code}/raw.json"
MREWARDBENCH_CODES = {
    "en": "eng_Latn", "ar": "arb_Arab", "tr": "tur_Latn", "zh": "zho_Hans", "hi": "hin_Deva", "ja": "jpn_Jpan",
    "es": "spa_Latn",
}  # fmt: skip
"""M-RewardBench's names of the languages that have shipped prompts."""


@dataclass(frozen=True)
class Requirement:
    """One line of a checklist."""

    id: str
    type: str
    text: Mapping[str, str]
    """Language name -> wording."""


@dataclass(frozen=True)
class Item:
    """One thing to judge, in every language. `fields`: language name -> field -> text."""

    task: str
    replicate: str
    group: str
    fields: Mapping[str, Mapping[str, str]]
    requirements: tuple[Requirement, ...] = ()
    cluster: str = ""


@dataclass(frozen=True)
class Aligned:
    """The items every language has, in file order, and what was left out (task, what it lacks)."""

    items: tuple[Item, ...]
    dropped: tuple[tuple[str, str], ...]


def load_items(plan: Plan) -> Aligned:
    """Read the plan's items and align them across its languages."""
    tables = _tables(plan)
    found: dict[str, dict[tuple[str, str], dict[str, Any]]] = {}
    for language, (where, rows) in tables.items():
        found[language] = _index(plan, rows, where)
    first = found[plan.languages[0].name]
    order = list(dict.fromkeys([*first, *(key for rows in found.values() for key in rows)]))
    items, dropped = [], []
    for key in order:
        lacking = [language for language, rows in found.items() if key not in rows]
        label = "/".join(k for k in key if k)
        if lacking:
            dropped.append((label, f"not in {', '.join(lacking)}"))
            continue
        item, problem = _item(plan, key, {language: rows[key] for language, rows in found.items()})
        if item is None:
            dropped.append((label, problem))
        else:
            items.append(item)
    if dropped and plan.items.unaligned != "drop":
        shown = "; ".join(f"{clean(t)}: {clean(why)}" for t, why in dropped[:8])
        more = f"; and {len(dropped) - 8} more" if len(dropped) > 8 else ""
        raise CollectError(
            f"{len(dropped)} of {len(order)} items do not align across the languages ({shown}{more}). Complete them, "
            "or set items.unaligned: drop to go on with the others."
        )
    if plan.items.limit is not None:
        tasks = list(dict.fromkeys(item.task for item in items))[: plan.items.limit]
        kept = set(tasks)
        items = [item for item in items if item.task in kept]
    if not items:
        raise CollectError(f"No item in {clean(plan.items.path)} is there in all languages.")
    return Aligned(tuple(_by_task(items)), tuple(dropped))


def _by_task(items: Sequence[Item]) -> list[Item]:
    """Replicates of a task side by side, tasks in the order of their first row."""
    place = {task: i for i, task in enumerate(dict.fromkeys(item.task for item in items))}
    return sorted(items, key=lambda item: place[item.task])


def _tables(plan: Plan) -> dict[str, tuple[str, list[dict[str, Any]]]]:
    """Language name -> (file, rows)."""
    source = plan.items
    if source.format == "mrewardbench":
        return {language.name: _mrewardbench(plan, language.items) for language in plan.languages}
    if "{language}" in source.path:
        out = {}
        for language in plan.languages:
            path = plan.resolve(source.path.replace("{language}", language.items))
            out[language.name] = (path.name, read_rows(path))
        return out
    path = plan.resolve(source.path)
    rows = read_rows(path)
    if source.shared:
        return {language.name: (path.name, rows) for language in plan.languages}
    column = source.language or "language"
    if rows and column not in rows[0]:
        raise CollectError(
            f"{path.name} has no column {column!r} (it has {', '.join(map(clean, rows[0]))}). Name the language column "
            "with items.language, give one file per language (items.path: items.{language}.jsonl), or set "
            "items.shared: true when all languages judge the same texts."
        )
    by_code: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_code.setdefault(str(row.get(column)), []).append(row)
    lacking = [language.items for language in plan.languages if language.items not in by_code]
    if lacking:
        raise CollectError(
            f"{path.name} has no rows in {', '.join(lacking)}; its languages are {', '.join(map(clean, by_code))}."
        )
    return {language.name: (path.name, by_code[language.items]) for language in plan.languages}


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a CSV, JSONL, JSON or Parquet file."""
    if not path.is_file():
        raise CollectError(f"There is no item file {path}.")
    try:
        if path.suffix == ".parquet":
            import duckdb

            try:
                with duckdb.connect() as con:
                    found = con.execute("SELECT * FROM read_parquet(?)", [str(path)])
                    names = [str(column[0]) for column in found.description or []]
                    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
            except duckdb.Error as error:
                raise CollectError(f"Cannot read {path}: {clean(str(error).splitlines()[0], 200)}.") from None
        if path.suffix == ".csv":
            csv.field_size_limit(2**31 - 1)
            with path.open(encoding="utf-8-sig", newline="") as file:
                return [dict(row) for row in csv.DictReader(file)]
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix == ".json" and text.lstrip()[:1] == "[":
            rows: list[dict[str, Any]] = json.loads(text)
        else:
            rows = [json.loads(line) for line in text.split("\n") if line.strip()]
    except (OSError, ValueError, csv.Error) as error:
        raise CollectError(f"Cannot read {path}: {error}.") from None
    if not all(isinstance(row, dict) for row in rows):
        raise CollectError(f"{path}: every item must be an object with named fields.")
    return rows


def _mrewardbench(plan: Plan, code: str) -> tuple[str, list[dict[str, Any]]]:
    code = MREWARDBENCH_CODES.get(code, code)
    if plan.items.path == "hub":
        path = _download(HUB.format(code=code), code)
    else:
        path = plan.resolve(plan.items.path) / code / "raw.json"
        if not path.is_file():
            raise CollectError(
                f"There is no {path}. M-RewardBench has one folder per language with raw.json in it; "
                "set items.path to the folder above them, or to hub to download them."
            )
    return f"{code}/raw.json", read_rows(path)


def _download(url: str, code: str) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "polyjudge" / "mrewardbench"
    path = cache / code / "raw.json"
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


def _index(plan: Plan, rows: list[dict[str, Any]], where: str) -> dict[tuple[str, str], dict[str, Any]]:
    source = plan.items
    optional = (source.replicate, source.group, source.system, source.cluster)
    named = [source.id, *(column for column in optional if column)]
    out: dict[tuple[str, str], dict[str, Any]] = {}
    for number, row in enumerate(rows, 1):
        for column in named:
            if row.get(column) is None or str(row[column]).strip() == "":
                raise CollectError(
                    f"{where}, item {number}: nothing in {column!r}. Its columns are {', '.join(map(clean, row))}."
                )
        label = str(row[source.replicate]) if source.replicate else ""
        if source.system:
            label = f"{row[source.system]}{SYSTEM_MARK}{label}"
        key = (str(row[source.id]), label)
        if key in out:
            shown = clean(" / ".join(k for k in (key[0], *label.split(SYSTEM_MARK)) if k))
            advice = " (name the column that tells them apart with items.system or items.replicate)."
            raise CollectError(
                f"{where}, item {number}: {shown} stands twice. Ids must be unique"
                + ("." if source.replicate or source.system else advice)
            )
        out[key] = row
    return out


def _item(plan: Plan, key: tuple[str, str], rows: dict[str, dict[str, Any]]) -> tuple[Item | None, str]:
    """The item, or None with what keeps it from being aligned."""
    source, kind = plan.items, plan.rubric.kind
    wanted = [*NEEDED[kind], *(f for f in source.fields if f not in NEEDED[kind])]
    fields: dict[str, dict[str, str]] = {}
    checklists: dict[str, list[tuple[str, str, str]]] = {}
    for language, row in rows.items():
        texts = {}
        for name in wanted:
            value = row.get(source.fields.get(name, name))
            if value is None or (isinstance(value, float) and math.isnan(value)):
                return None, f"no {name} in {language}"
            if name == "requirements":
                checklists[language] = _checklist(value, "/".join(k for k in key if k))
            else:
                texts[name] = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        fields[language] = texts
    requirements: tuple[Requirement, ...] = ()
    if checklists:
        first = next(iter(checklists.values()))
        for language, lines in checklists.items():
            if [line[:2] for line in lines] != [line[:2] for line in first]:
                return None, f"other requirements in {language}"
        requirements = tuple(
            Requirement(id_, type_, {language: lines[i][2] for language, lines in checklists.items()})
            for i, (id_, type_, _) in enumerate(first)
        )
        if not requirements:
            return None, "no requirements"
    kept: list[str] = []
    for column in (source.group, source.cluster):
        found = {str(row[column]) for row in rows.values()} if column else {""}
        if len(found) > 1:
            return None, f"its {column} differs between languages"
        kept.append(found.pop())
    return Item(key[0], key[1], kept[0], fields, requirements, kept[1]), ""


def _checklist(value: Any, where: str) -> list[tuple[str, str, str]]:
    """(id, type, wording) of each requirement; from a list, or from a list written as JSON."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise CollectError(
                f"Item {clean(where)}: requirements must be a list, or a list written as JSON."
            ) from None
    out: list[tuple[str, str, str]] = []
    if not isinstance(value, list):
        raise CollectError(f"Item {clean(where)}: requirements must be a list, not {type(value).__name__}.")
    for i, line in enumerate(value):
        if isinstance(line, str):
            line = {"text": line}
        text = next((line[k] for k in ("text", "criteria", "requirement") if line.get(k)), None)
        if not isinstance(text, str):
            raise CollectError(f"Item {clean(where)}: requirement {i + 1} has no text (text, criteria or requirement).")
        id_ = next((line[k] for k in ("id", "requirement_id") if line.get(k) is not None), i)
        type_ = next((line[k] for k in ("type", "category") if line.get(k)), "")
        out.append((str(id_), str(type_), text))
    if len({line[0] for line in out}) != len(out):
        raise CollectError(f"Item {clean(where)}: two requirements have the same id.")
    return out


def fingerprint(text: str) -> str:
    """Short hash of a text, as stored beside each answer."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
