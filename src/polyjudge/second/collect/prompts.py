"""Prompts: made of the shipped phrases or of templates of the user, checked, and filled in.

The layout puts what all items share first (task, criteria, how to read the material), then the item, then what differs
between the calls of an item, so that providers can cache the common beginning.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from polyjudge.second.collect.items import Item, fingerprint
from polyjudge.second.collect.languages import SHIPPED, phrases, shipped
from polyjudge.second.collect.plan import NEEDED, Language, Plan, Rubric
from polyjudge.second.panel.errors import CollectError
from polyjudge.second.panel.files import read_text
from polyjudge.second.panel.labels import clean

PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_REQUEST = ("<request-{fence}>", "</request-{fence}>")
_ANSWER = (*_REQUEST, "<answer-{fence}>", "</answer-{fence}>")
TEMPLATES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "rating": (("{low}", "{high}", "{criteria}", "{prompt}", "{response}", "{fence}"), (*_ANSWER, '"score"')),
    "compare": (
        ("{criteria}", "{prompt}", "{first}", "{second}", "{fence}"),
        (*_REQUEST, *(f"<{x}-{{fence}}>" for x in ("answer-a", "/answer-a", "answer-b", "/answer-b")), '"winner"'),
    ),
    "checklist": (
        ("{prompt}", "{response}", "{requirement}", "{fence}"),
        (*_ANSWER, "<requirement-{fence}>", "</requirement-{fence}>", "<satisfied>", "<unsatisfied>"),
    ),
    "checklist_all": (
        ("{prompt}", "{response}", "{requirements}", "{count}", "{fence}"),
        (*_ANSWER, "<requirements-{fence}>", "</requirements-{fence}>", "<satisfied>", "<unsatisfied>"),
    ),
}
"""Placeholders and tags that a template of each kind must hold in every language."""


@dataclass(frozen=True)
class Template:
    """A checked template, what is the same for all items, and the reminder for an answer that could not be read."""

    text: str
    constants: Mapping[str, str]
    reminder: str

    @property
    def digest(self) -> str:
        return fingerprint("\0".join([self.text, *(f"{k}={v}" for k, v in sorted(self.constants.items()))]))

    @property
    def shared(self) -> str:
        """The beginning that all items have in common."""
        head = self.text.split("<request-{fence}>")[0]
        return "" if "{fence}" in head else _constant(head, self.constants)


def template_name(rubric: Rubric) -> str:
    """The template a rubric uses. A pair is two ratings: the judge must not see that there is another answer."""
    if rubric.kind == "checklist":
        return "checklist_all" if rubric.calls == "all" else "checklist"
    return "compare" if rubric.kind == "compare" else "rating"


def load_templates(plan: Plan) -> dict[str, Template]:
    """Language name -> checked template."""
    name = template_name(plan.rubric)
    fields = {*plan.items.fields} - set(NEEDED[plan.rubric.kind])
    out = {}
    for language in plan.languages:
        low, high = plan.rubric.scale
        constants = {"low": f"{low:g}", "high": f"{high:g}"}
        if plan.rubric.templates is not None:
            text, criteria, reminder, where = _own(plan, language, name)
        else:
            code = shipped(language.template)
            if code is None:
                raise CollectError(
                    f"No prompts for {clean(language.template)} ship with polyjudge (there are {', '.join(SHIPPED)}). "
                    "Write a folder of templates and name it with rubric.templates, or point the language at another "
                    f"one: {{name: {clean(language.name)}, template: en}}."
                )
            text, reminder = layout(plan.rubric, phrases(code))
            criteria, where = "\n".join(f"- {c}" for c in phrases(code)["criteria"]), f"the prompts of {code}"
        if name in ("rating", "compare"):
            constants["criteria"] = _criteria(plan.rubric, language.name) or criteria
        check_template(text, plan.rubric, where, fields)
        out[language.name] = Template(text, constants, _constant(reminder, constants))
    return out


def _constant(text: str, constants: Mapping[str, str]) -> str:
    return PLACEHOLDER.sub(lambda m: constants.get(m[1], m[0]), text)


def _criteria(rubric: Rubric, language: str) -> str:
    criteria = rubric.criteria
    if isinstance(criteria, tuple):
        lines = []
        for c in criteria:
            if isinstance(c.text, Mapping) and language not in c.text:
                raise CollectError(f"rubric.criteria: {c.name} has no text for {clean(language)}.")
            lines.append(f"- {c.name}: {(c.text[language] if isinstance(c.text, Mapping) else c.text).strip()}")
        return "\n".join(lines)
    return (criteria[language] if isinstance(criteria, Mapping) else criteria or "").strip()


def layout(rubric: Rubric, say: Mapping[str, Any]) -> tuple[str, str]:
    """The prompt of a rubric in a language, and the reminder of how to answer."""
    answer = "<answer-{fence}>\n{response}\n</answer-{fence}>"
    head = f"{say['counts']}\n{{criteria}}\n\n"
    if rubric.kind == "checklist":
        one = rubric.calls == "each"
        word = "requirement" if one else "requirements"
        form = "<satisfied>\n<unsatisfied>" if one else "1: <satisfied>\n2: <unsatisfied>"
        first, last = (say["check"], say["verdict"]) if one else (say["check_all"], say["verdict_all"])
        answer += f"\n\n<{word}-{{fence}}>\n{{{word}}}\n</{word}-{{fence}}>"
        head = ""
    else:
        kind = "compare" if rubric.kind == "compare" else "rate_each" if rubric.names else "rate"
        more = {"after": say["reason"], "first": say["think"], "none": ""}[rubric.reason]
        first, form, last = say[kind], _skeleton(rubric, say), f"{say['json']} {more}".strip()
    if rubric.kind == "compare":
        answer = "<answer-a-{fence}>\n{first}\n</answer-a-{fence}>\n\n<answer-b-{fence}>\n{second}\n</answer-b-{fence}>"
    request = "<request-{fence}>\n{prompt}\n</request-{fence}>"
    text = f"{first}\n\n{head}{say['material']}\n\n{request}\n\n{answer}\n\n{last}\n{form}\n"
    each = rubric.kind == "checklist" and rubric.calls == "each"  # two tags are shown of which one is meant
    return text, f"{say['again']}\n{last}\n{form}" if each else f"{say['again']}\n{form}"


def _skeleton(rubric: Rubric, say: Mapping[str, Any]) -> str:
    """The form of the answer: {"score": <whole number from 1 to 5>, "reason": "<why>"}."""
    number = f"<{say['number' if rubric.step == 1 else 'any']}"
    if rubric.step not in (1, None):
        low, step = rubric.scale[0], rubric.step or 1
        number += f": {low:g}, {low + step:g}, {low + 2 * step:g}, …"
    number += ">"
    if rubric.kind == "compare":
        verdict = f'"winner": "<{say["winner"]}>"'
    elif rubric.names:
        verdict = '"scores": {' + ", ".join(f'"{name}": {number}' for name in rubric.names) + "}"
    else:
        verdict = f'"score": {number}'
    why = f'"reason": "<{say["why"]}>"'
    parts = {"after": (verdict, why), "first": (why, verdict), "none": (verdict,)}[rubric.reason]
    return "{" + ", ".join(parts) + "}"


def answer_schema(rubric: Rubric) -> dict[str, Any] | None:
    """The JSON schema of an answer; None where the answer is not JSON."""
    if rubric.kind == "checklist" or rubric.parser is not None:
        return None
    low, high = rubric.scale
    number: dict[str, Any] = {"type": "number"}
    if rubric.step is not None and (high - low) / rubric.step <= 100:
        values = [low + i * rubric.step for i in range(round((high - low) / rubric.step) + 1)]
        whole = all(float(v).is_integer() for v in values)
        number = {"type": "integer", "enum": [int(v) for v in values]} if whole else {"type": "number", "enum": values}
    verdict: dict[str, Any] = {"score": number}
    if rubric.kind == "compare":
        verdict = {"winner": {"type": "string", "enum": ["A", "B", "tie"]}}
    elif rubric.names:
        verdict = {"scores": _object({name: number for name in rubric.names})}
    why = {"reason": {"type": "string"}}
    return _object({"after": {**verdict, **why}, "first": {**why, **verdict}, "none": verdict}[rubric.reason])


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def check_template(text: str, rubric: Rubric, where: str, fields: set[str] | None = None) -> None:
    """Raise unless every placeholder and tag of the kind is in the text, and no unknown placeholder."""
    placeholders, tags = TEMPLATES[template_name(rubric)]
    known = {p[1:-1] for p in placeholders} | (fields or set())
    if rubric.parser is not None:  # the user reads the answers of these prompts: only the material must be there
        placeholders, tags = tuple(p for p in placeholders if p not in ("{low}", "{high}", "{criteria}", "{fence}")), ()
    elif rubric.names:
        tags = tuple('"scores"' if t == '"score"' else t for t in tags)
    lost = [p for p in (*placeholders, *tags) if p not in text]
    if lost:
        raise CollectError(
            f"{clean(where, 200)} has lost {', '.join(lost)}. Placeholders and tags must stand in every language as "
            "they are; only the words around them are translated."
        )
    unknown = sorted({m for m in PLACEHOLDER.findall(text)} - known)
    if unknown:
        raise CollectError(
            f"{clean(where, 200)} has unknown placeholders {clean(', '.join('{' + u + '}' for u in unknown))}. Known: "
            f"{', '.join('{' + k + '}' for k in sorted(known))}; name more item columns in items.fields."
        )
    once = [t for t in tags if "{fence}" in t and text.count(t) != 1]
    if once:
        raise CollectError(f"{clean(where, 200)}: {', '.join(once)} must stand exactly once.")


def parts(plan: Plan, requirements: tuple[str, ...]) -> tuple[str, ...]:
    """The parts of an item that are asked about apart. `requirements`: the ids of its requirements."""
    if plan.rubric.kind == "pair":
        return ("chosen", "rejected")
    if plan.rubric.kind == "compare":
        return ("AB", "BA")
    if plan.rubric.kind == "checklist" and plan.rubric.calls == "each":
        return requirements
    return ("",)


def render(plan: Plan, template: Template, item: Item, language: str, part: str) -> str:
    """The prompt of one call. The fence is the same in all calls of an item in a language."""
    texts, lines = item.fields[language], item.requirements[language]
    kind = plan.rubric.kind
    fields = {k: v for k, v in texts.items() if k not in ("chosen", "rejected")}
    if kind == "pair":
        fields["response"] = texts[part]
    elif kind == "compare":
        sides = ("chosen", "rejected") if part == "AB" else ("rejected", "chosen")
        fields |= {"first": texts[sides[0]], "second": texts[sides[1]]}
    elif kind == "checklist" and plan.rubric.calls == "each":
        fields["requirement"] = lines[part]
    elif kind == "checklist":
        numbered = "\n".join(f"{i}. {line}" for i, line in enumerate(lines.values(), 1))
        fields |= {"requirements": numbered, "count": str(len(lines))}
    known = {**template.constants, **fields, "fence": _fence([*texts.values(), *lines.values()])}
    # In one pass, so that nothing inside a field is taken for a placeholder.
    return PLACEHOLDER.sub(lambda m: known.get(m[1], m[0]), template.text)


def _fence(texts: list[str]) -> str:
    """A hash over the texts. The author of a judged text cannot write it into the text, for the text would then have
    another hash; so no text can close its own fence. The same item has the same prompt at every judge."""
    mark = hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass"))
    while any(mark.hexdigest()[:8] in text for text in texts):
        mark.update(b"again")
    return mark.hexdigest()[:8]


def _own(plan: Plan, language: Language, name: str) -> tuple[str, str, str, str]:
    """Template, criteria and reminder of the user's folder, and where the template is."""
    folder = plan.resolve(plan.rubric.templates or "") / language.template
    if not folder.is_dir():
        raise CollectError(f"There is no folder {clean(folder, 200)} with the prompts of {clean(language.template)}.")

    def read(file: str) -> str:
        return read_text(folder / file, 1 << 20).strip() + "\n"

    text = read(f"{name}.txt")
    criteria = read("criteria.txt").strip() if "{criteria}" in text and plan.rubric.criteria is None else ""
    if (folder / "reminder.txt").is_file():
        reminder = read("reminder.txt")
    else:
        say = phrases(shipped(language.template) or "en")
        reminder = layout(plan.rubric, say)[1] if plan.rubric.parser is None else ""
    return text, criteria, reminder, f"{folder}/{name}.txt"
