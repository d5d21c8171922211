"""Prompts: localised templates, the check that nothing got lost in them, and filling them in."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from polyjudge.collect.items import Item
from polyjudge.collect.plan import NEEDED, Plan, Rubric
from polyjudge.core.errors import CollectError

PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
SHIPPED = ("en", "ar", "tr", "zh", "hi", "ja", "es", "sw")
_MATERIAL = ("<request-{fence}>", "</request-{fence}>", "<answer-{fence}>", "</answer-{fence}>")
TEMPLATES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "rating": (
        ("{low}", "{high}", "{criteria}", "{prompt}", "{response}", "{fence}"),
        (*_MATERIAL, '"score"', '"reason"'),
    ),
    "checklist": (
        ("{prompt}", "{response}", "{requirement}", "{fence}"),
        (*_MATERIAL, "<requirement-{fence}>", "</requirement-{fence}>", "<satisfied>", "<unsatisfied>"),
    ),
    "checklist_all": (
        ("{prompt}", "{response}", "{requirements}", "{count}", "{fence}"),
        (*_MATERIAL, "<requirements-{fence}>", "</requirements-{fence}>", "<satisfied>", "<unsatisfied>"),
    ),
}
"""Placeholders and tags that a template of each kind must hold in every language."""

_ALIASES = {
    "en": ("english", "eng"), "ar": ("arabic", "ara", "arb"), "tr": ("turkish", "tur"),
    "zh": ("chinese", "zho", "cmn", "simplified chinese"), "hi": ("hindi", "hin"), "ja": ("japanese", "jpn"),
    "es": ("spanish", "spa"), "sw": ("swahili", "swa", "swh", "kiswahili"),
}  # fmt: skip


@dataclass(frozen=True)
class Prompt:
    """A filled prompt: what it asks about (`part` of the item) and its text."""

    part: str
    text: str


def template_name(rubric: Rubric) -> str:
    """The template file a rubric uses. A pair is two ratings: the judge must not see that there is another answer."""
    if rubric.kind == "checklist":
        return "checklist_all" if rubric.calls == "all" else "checklist"
    return "rating"


@dataclass(frozen=True)
class Template:
    """A checked template, and what is the same for all items: scale and criteria."""

    text: str
    constants: Mapping[str, str]


def load_templates(plan: Plan) -> dict[str, Template]:
    """Language name -> checked template."""
    name = template_name(plan.rubric)
    fields = {*plan.items.fields} - set(NEEDED[plan.rubric.kind])
    out = {}
    for language in plan.languages:
        folder = _folder(plan, language.template)
        text = _read(folder, f"{name}.txt")
        check_template(text, name, f"{folder}/{name}.txt", fields)
        constants: dict[str, str] = {}
        if name == "rating":
            criteria = plan.rubric.criteria
            if isinstance(criteria, Mapping):
                if language.name not in criteria:
                    raise CollectError(f"rubric.criteria has no text for {language.name}.")
                criteria = criteria[language.name]
            if criteria is None:
                criteria = _read(folder, "criteria.txt")
            low, high = plan.rubric.scale
            constants = {"criteria": str(criteria).strip(), "low": f"{low:g}", "high": f"{high:g}"}
        out[language.name] = Template(text, constants)
    return out


def check_template(text: str, name: str, where: str, fields: set[str] | None = None) -> None:
    """Raise unless every placeholder and tag of the kind is in the text, and no unknown placeholder."""
    placeholders, tags = TEMPLATES[name]
    lost = [p for p in (*placeholders, *tags) if p not in text]
    if lost:
        raise CollectError(
            f"{where} has lost {', '.join(lost)}. Placeholders and tags must stand in every language as they are; "
            "only the words around them are translated."
        )
    known = {p[1:-1] for p in placeholders} | (fields or set())
    unknown = sorted({m for m in PLACEHOLDER.findall(text)} - known)
    if unknown:
        raise CollectError(
            f"{where} has unknown placeholders {', '.join('{' + u + '}' for u in unknown)}. Known: "
            f"{', '.join('{' + k + '}' for k in sorted(known))}; name more item columns in items.fields."
        )
    once = [t for t in tags if "{fence}" in t and text.count(t) != 1]
    if once:
        raise CollectError(f"{where}: {', '.join(once)} must stand exactly once.")


def item_prompts(plan: Plan, templates: Mapping[str, Template], item: Item, language: str) -> Iterator[Prompt]:
    """The prompts of an item in a language, one for each call to a judge."""
    template, fields = templates[language], item.fields[language]
    kind = plan.rubric.kind
    if kind == "rating":
        yield Prompt("", fill(template, fields))
    elif kind == "pair":
        for side in ("chosen", "rejected"):
            rest = {k: v for k, v in fields.items() if k not in ("chosen", "rejected")}
            yield Prompt(side, fill(template, {**rest, "response": fields[side]}))
    elif plan.rubric.calls == "each":
        for requirement in item.requirements:
            yield Prompt(requirement.id, fill(template, {**fields, "requirement": requirement.text[language]}))
    else:
        lines = "\n".join(f"{i}. {r.text[language]}" for i, r in enumerate(item.requirements, 1))
        yield Prompt("", fill(template, {**fields, "requirements": lines, "count": str(len(item.requirements))}))


def parts(plan: Plan, item: Item) -> tuple[str, ...]:
    """The parts of an item that are asked about apart."""
    if plan.rubric.kind == "pair":
        return ("chosen", "rejected")
    if plan.rubric.kind == "checklist" and plan.rubric.calls == "each":
        return tuple(r.id for r in item.requirements)
    return ("",)


def fill(template: Template, fields: Mapping[str, str]) -> str:
    """Fill a template in one pass, so that nothing inside a field is taken for a placeholder.

    The fence is a hash over the fields. The author of a judged text cannot write it into the text, for the text
    would then have another hash; so no text can close its own fence. The same item has the same prompt at every judge.
    """
    mark = hashlib.sha256("\0".join(f"{k}={v}" for k, v in sorted(fields.items())).encode("utf-8", "surrogatepass"))
    while any(mark.hexdigest()[:8] in value for value in fields.values()):
        mark.update(b"again")
    known = {**template.constants, **fields, "fence": mark.hexdigest()[:8]}
    return PLACEHOLDER.sub(lambda m: known.get(m[1], m[0]), template.text)


def shipped_template(language: str) -> str | None:
    """The shipped folder for a language given as code, name or code_Script; None when there is none."""
    code = language.lower().replace("-", "_")
    for short, names in _ALIASES.items():
        if code == short or code in names or code.split("_")[0] in (short, *names):
            return short
    return None


def _folder(plan: Plan, template: str) -> Any:
    if plan.rubric.templates is not None:
        folder = plan.resolve(plan.rubric.templates) / template
        if folder.is_dir():
            return folder
        raise CollectError(f"There is no folder {folder} with the prompts of {template}.")
    short = shipped_template(template)
    if short is None:
        raise CollectError(
            f"No prompts for {template!r} ship with polyjudge (there are {', '.join(SHIPPED)}). Write a folder of "
            "templates and name it with rubric.templates, or point the language at another one: "
            f"{{name: {template}, template: en}}."
        )
    return files("polyjudge.collect") / "templates" / short


def _read(folder: Any, name: str) -> str:
    try:
        text: str = (folder / name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise CollectError(f"Cannot read the template {Path(str(folder)) / name}.") from None
    return text.strip() + "\n"
