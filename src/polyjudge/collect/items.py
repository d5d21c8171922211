"""Items to judge: tables (CSV, JSONL, JSON, Parquet), aligned across languages."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from polyjudge.base.errors import CollectError
from polyjudge.base.text import name as shown
from polyjudge.base.text import names
from polyjudge.collect.plan import NEEDED, Plan, explain
from polyjudge.read.labels import read_table
from polyjudge.read.table import records


def _clean(text: str) -> str:
    """A text that can be written as UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


Clean = Annotated[str, AfterValidator(_clean)]


class Requirement(BaseModel):
    """One line of a checklist, with our names or DevAI's. `needs`: ids of those without which it does not count."""

    model_config = ConfigDict(frozen=True, coerce_numbers_to_str=True)
    id: Clean = Field(validation_alias=AliasChoices("requirement_id", "id"))
    text: Clean = Field(validation_alias=AliasChoices("text", "criteria"), min_length=1)
    type: Clean = Field("", validation_alias=AliasChoices("type", "category"))
    needs: tuple[Clean, ...] = Field((), validation_alias="prerequisites")


@dataclass(frozen=True)
class Item:
    """One thing to judge. By language: `fields`, name -> text, and the requirements of a checklist."""

    task: str
    system: str
    fields: Mapping[str, Mapping[str, str]]
    requirements: Mapping[str, tuple[Requirement, ...]] = field(default_factory=dict)
    keep: Mapping[str, str] = field(default_factory=dict)
    version: str = ""
    """Of a probe: clean, damage-2, placebo-1, plea-own, padding."""
    share: float = 0.0


Rows = dict[tuple[str, str], dict[str, dict[str, Any]]]
"""Rows by language, by task and system."""


def load_items(plan: Plan, translations: Mapping[str, str] | None = None) -> tuple[list[Item], list[str]]:
    """The items that every language has, in file order; and those left out, with what they lack.

    translations : of the texts that `texts_to_translate` names
    """
    languages = [language.name for language in plan.languages]
    found = load_rows(plan)
    if plan.items.translate is not None:
        found = {key: {**rows, **_translated(plan, key, rows, translations or {})} for key, rows in found.items()}
    made = {at: _item(plan, *at, rows, languages) for at, rows in found.items()}
    dropped = [f"{shown(' '.join(at).strip())} ({why})" for at, why in made.items() if isinstance(why, str)]
    items = [x for x in made.values() if isinstance(x, Item)]
    if not items:
        text = f"No item in {shown(plan.items.path, 200)} is there in all languages"
        raise CollectError(f"{text}: {', '.join(dropped[:3]) or 'there is none'}.")
    place = {task: i for i, task in enumerate(dict.fromkeys(item.task for item in items))}
    asked = (item for item in items if place[item.task] < (plan.items.limit or len(items)))
    return sorted(asked, key=lambda item: place[item.task]), dropped


def load_rows(plan: Plan) -> Rows:
    """The rows of the item files; of languages that are translated into there are none."""
    languages, found = [language.name for language in plan.languages], Rows()
    for language, path in _tables(plan):
        for number, row in enumerate(read_rows(path), 1):
            at = language if language is not None else _language(plan, row, path)
            if at is None:
                continue
            where = f"{shown(path.name)}, item {number}"
            key = _label(row, plan.items.id, where), _label(row, plan.items.system, where) if plan.items.system else ""
            by_language = found.setdefault(key, {})
            if at in by_language:
                text = "appears twice: name the columns that tell items apart (items.id, items.system)."
                raise CollectError(f"{where}: {shown(key[0])} {text}")
            by_language |= dict.fromkeys(languages if plan.items.shared else [at], row)
    return found


class SourceText(NamedTuple):
    """A text to translate, and the id of its translation: another text has another one."""

    id: str
    task: str
    system: str
    language: str
    field: str
    text: str


def texts_to_translate(plan: Plan) -> list[SourceText]:
    """Every text that a plan has translated, in each language."""
    step = plan.items.translate
    if step is None:
        return []
    texts = []
    for (task, system), rows in load_rows(plan).items():
        if step.source in rows:
            for language in step.to:
                texts += list(_source_texts(plan, task, system, language, rows[step.source]))
    return texts


def _source_texts(plan: Plan, task: str, system: str, language: str, row: Mapping[str, Any]) -> Iterator[SourceText]:
    for field_name in NEEDED[plan.rubric.kind]:
        value = row.get(plan.items.fields.get(field_name, field_name))
        if field_name == "requirements":
            parts = [(f"requirement {line.id}", line.text) for line in _checklist(value, f"Item {shown(task)}")]
        else:
            parts = [(field_name, value if isinstance(value, str) else "")]
        for name, text in parts:
            if text.strip():
                mark = sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
                id = " | ".join(x.replace("|", "¦") for x in (task, system, language, name, mark) if x)
                yield SourceText(id, task, system, language, name, text)


def _translated(
    plan: Plan, key: tuple[str, str], rows: dict[str, dict[str, Any]], translations: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    """Rows in the languages that are translated into, where all texts of the item have a translation."""
    step = plan.items.translate
    if step is None or step.source not in rows:
        return {}
    source, translated = rows[step.source], {}
    for language in step.to:
        texts = list(_source_texts(plan, *key, language, source))
        if not all(text.id in translations for text in texts):
            continue
        row = dict(source)
        by_field = {text.field: translations[text.id] for text in texts}
        for field_name in NEEDED[plan.rubric.kind]:
            column = plan.items.fields.get(field_name, field_name)
            if field_name == "requirements":
                lines = _checklist(source.get(column), f"Item {shown(key[0])}")
                row[column] = [
                    {
                        "id": x.id,
                        "text": by_field[f"requirement {x.id}"],
                        "type": x.type,
                        "prerequisites": list(x.needs),
                    }
                    for x in lines
                ]
            elif field_name in by_field:
                row[column] = by_field[field_name]
        translated[language] = row
    return translated


def _item(plan: Plan, task: str, system: str, rows: dict[str, dict[str, Any]], languages: list[str]) -> Item | str:
    """An item of its rows by language; or what it lacks."""
    if lacking := [x for x in languages if x not in rows]:
        return f"not in {names(lacking)}"
    needed = NEEDED[plan.rubric.kind]
    columns = {x: plan.items.fields.get(x, x) for x in (*needed, *plan.items.fields)}
    fields: dict[str, dict[str, str]] = {}
    requirements: dict[str, tuple[Requirement, ...]] = {}
    for language in languages:
        row, fields[language] = rows[language], {}
        for name, column in columns.items():
            value = row.get(column)
            if value is None or (isinstance(value, float) and math.isnan(value)):
                return f"no {column} in {language}"
            if name == "requirements":
                requirements[language] = _checklist(value, f"Item {shown(task)}")
            else:
                text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
                fields[language][name] = _clean(text)
    short = {language: [(r.id, r.needs) for r in lines] for language, lines in requirements.items()}
    if any(lines != short[languages[0]] for lines in short.values()):
        return "its requirements differ between languages"
    keep = {}
    for column in plan.items.keep:
        values = {str(rows[x].get(column, "")) for x in languages}
        if len(values) > 1:
            return f"its {column} differs between languages"
        keep[column] = _clean(values.pop())
    return Item(task, system, fields, requirements, keep)


def _tables(plan: Plan) -> Iterator[tuple[str | None, Path]]:
    """Language (None: by its column) and file."""
    source, one = plan.items, "{language}" not in plan.items.path
    made = source.translate.to if source.translate is not None else []
    languages = [language for language in plan.languages if language.name not in made]
    for language in languages[:1] if source.shared or one else languages:
        path = plan.resolve(source.path.replace("{language}", language.items))
        yield None if one and not source.shared else language.name, path


def _language(plan: Plan, row: Mapping[str, Any], path: Path) -> str | None:
    """The plan's name for the language of a row; None where the plan does not have it."""
    column = plan.items.language
    if column in row:
        made = plan.items.translate.to if plan.items.translate is not None else []
        known = (x.name for x in plan.languages if x.items == str(row[column]).strip() and x.name not in made)
        return next(known, None)
    if len(plan.languages) == 1:
        return plan.languages[0].name
    if plan.items.translate is not None:
        return plan.items.translate.source
    text = f"{shown(path.name)} has no column {shown(column)!r} (it has {names(row, 12)}). Name it with items.language,"
    rest = "one file per language (path: items.{language}.jsonl), or set items.shared: all judge the same texts."
    raise CollectError(f"{text} {rest}")


def _label(row: Mapping[str, Any], column: str, where: str) -> str:
    value = row.get(column)
    if value is None or isinstance(value, (dict, list)) or value != value or not str(value).strip():
        raise CollectError(f"{where}: nothing in {shown(column)!r}. Name a column under items: {names(row, 12)}.")
    return _clean(str(value).strip()[:500])


def _checklist(value: Any, where: str) -> tuple[Requirement, ...]:
    """The requirements of an item: a list of texts or objects, or that list written as JSON."""
    try:
        lines = json.loads(value) if isinstance(value, str) else value
        lines = [{"text": line} if isinstance(line, str) else line for line in lines]
        numbered = [{"id": i, **line} for i, line in enumerate(lines)]
        out = TypeAdapter(tuple[Requirement, ...]).validate_python(numbered)
    except ValidationError as error:
        raise CollectError(f"{where}, requirements: {explain(error)}") from None
    except (ValueError, TypeError, RecursionError):
        out = ()
    if not out:
        raise CollectError(f"{where}: requirements must be a list of at least one, or that list written as JSON.")
    ids = [r.id for r in out]
    if len(set(ids)) < len(ids) or (lost := [x for r in out for x in r.needs if x not in ids]):
        why = f"{shown(lost[0])} is none of them" if len(set(ids)) == len(ids) else "two have the same id"
        raise CollectError(f"{where}: a requirement has an id of its own and names others as prerequisites; {why}.")
    return out


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a CSV, JSONL, JSON or Parquet file."""
    if not path.is_file():
        raise CollectError(f"There is no item file {shown(path, 200)}.")
    if path.suffix in (".json", ".jsonl"):
        return records(path)
    return [{str(k): v for k, v in row.items()} for row in read_table(str(path)).to_dict("records")]
