"""Prompts, of shipped phrases or of the user's templates. What all items share comes first, so that providers can cache
it; the judged material stands between tags with a mark that its author cannot know."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from polyjudge.base.errors import CollectError
from polyjudge.base.files import read_text
from polyjudge.base.text import name as shown
from polyjudge.base.text import names
from polyjudge.collect.items import Item
from polyjudge.collect.languages import SHIPPED, phrases, shipped
from polyjudge.collect.plan import NEEDED, Language, Plan, Rubric

PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
MATERIAL = {"rating": ("prompt", "response"), "compare": ("prompt", "first", "second")}
MATERIAL["checklist"] = ("prompt", "response", "requirement")


@dataclass(frozen=True)
class Template:
    """A checked template, what is the same for all items, and the reminder for an answer that could not be read."""

    text: str
    constants: Mapping[str, str]
    reminder: str


@dataclass(frozen=True)
class Call:
    """One question, the same for every judge. `part`: chosen, rejected, AB, BA or the id of a requirement."""

    item: Item
    language: str
    wording: str
    replicate: int
    part: str

    @property
    def id(self) -> str:
        """The id of the sample in the log."""
        at = (self.item.task, self.item.system, self.item.version, self.language, self.wording, self.part)
        words = [x.replace("|", "¦") for x in at if x] + ([f"r{self.replicate}"] if self.replicate > 1 else [])
        return " | ".join(words)


def calls_of(plan: Plan, item: Item) -> Iterator[Call]:
    """All questions about an item, in the order in which they are asked."""
    parts: tuple[str, ...] = {"pair": ("chosen", "rejected"), "compare": ("AB", "BA")}.get(plan.rubric.kind, ("",))
    if plan.rubric.kind == "checklist":
        parts = tuple(r.id for r in next(iter(item.requirements.values())))
    replicates = range(1, plan.replicates + 1) if not item.version else (1,)
    for replicate, language, wording, part in product(replicates, plan.languages, plan.wordings or ("",), parts):
        yield Call(item, language.name, wording, replicate, part)


def load_templates(plan: Plan) -> dict[tuple[str, str], Template]:
    """Checked template by language and wording ("" without wordings)."""
    rubric = plan.rubric
    name = "rating" if rubric.kind == "pair" else rubric.kind  # the judge must not see that there is another answer
    needed = MATERIAL[name]
    may = {*needed, "low", "high", "criteria", "fence", *(set(plan.items.fields) - set(NEEDED[rubric.kind]))}
    out = {}
    for language, wording in product(plan.languages, plan.wordings or {"": ""}):
        text, reminder, criteria, where = _words(plan, language, name)
        held = set(PLACEHOLDER.findall(text))
        if not set(needed) <= held <= may:
            text = f"{shown(where, 200)} has the placeholders {names(sorted(held), 9)}. It must have {names(needed)}"
            raise CollectError(f"{text}, and may have {names(sorted(may), 12)}: name more columns in items.fields.")
        own = rubric.criteria[language.name] if isinstance(rubric.criteria, dict) else rubric.criteria
        said = (plan.wordings or {}).get(wording) or (own or criteria).strip()
        constants = {"low": f"{rubric.scale[0]:g}", "high": f"{rubric.scale[1]:g}", "criteria": said}
        out[language.name, wording] = Template(text, constants, fill(reminder, constants))
    return out


def _words(plan: Plan, language: Language, name: str) -> tuple[str, str, str, str]:
    """Template, reminder and criteria, of the user's folder where the plan names one, and where the template is."""
    code = shipped(language.template)
    say = phrases(code or "en")
    shipped_text, reminder = layout(plan.rubric, say)
    if plan.rubric.templates is None:
        if code is None:
            text = f"No prompts for {shown(language.template)} ship with polyjudge ({', '.join(SHIPPED)} do). Take"
            rest = f"those of another language, {{name: {shown(language.name)}, template: en}}, or your own"
            raise CollectError(f"{text} {rest} (rubric.templates).")
        return shipped_text, reminder, bullets(say), f"the prompts of {code}"
    folder = plan.resolve(plan.rubric.templates) / language.template

    def read(file: str, otherwise: str) -> str:
        return read_text(folder / file, 1 << 20) if (folder / file).is_file() else otherwise

    path = folder / f"{name}.txt"
    text = read_text(path, 1 << 20).strip() + "\n"
    return text, read("reminder.txt", reminder), read("criteria.txt", bullets(say)), str(path)


def fill(text: str, known: Mapping[str, str]) -> str:
    """All placeholders in one pass, so that nothing inside a field is taken for a placeholder."""
    return PLACEHOLDER.sub(lambda m: known.get(m[1], m[0]), text)


def layout(rubric: Rubric, say: Mapping[str, Any]) -> tuple[str, str]:
    """The prompt of a rubric in a language, and the reminder of how to answer."""
    answer = "<answer-{fence}>\n{response}\n</answer-{fence}>"
    head = f"{say['counts']}\n{{criteria}}\n\n"
    if rubric.kind == "checklist":
        first, head = say["check"], ""
        answer += "\n\n<requirement-{fence}>\n{requirement}\n</requirement-{fence}>"
    else:
        first = say["compare" if rubric.kind == "compare" else "rate"]
    if rubric.kind == "compare":
        answer = "<answer-a-{fence}>\n{first}\n</answer-a-{fence}>\n\n<answer-b-{fence}>\n{second}\n</answer-b-{fence}>"
    request = "<request-{fence}>\n{prompt}\n</request-{fence}>"
    form = _skeleton(rubric, say)
    last = f"{say['json']} {say['reason']}\n{form}"
    return f"{first}\n\n{head}{say['material']}\n\n{request}\n\n{answer}\n\n{last}\n", f"{say['again']}\n{form}"


def _skeleton(rubric: Rubric, say: Mapping[str, Any]) -> str:
    """The form of the answer: {"score": <whole number from 1 to 5>, "reason": "<why>"}."""
    if rubric.kind == "checklist":
        return f'{{"reason": "<{say["why"]}>", "verdict": "<satisfied | unsatisfied>"}}'
    low, step = rubric.scale[0], rubric.step or 1
    hint = "" if step == 1 else f": {low:g}, {low + step:g}, {low + 2 * step:g}, …"
    number = f"<{say['number' if rubric.step == 1 else 'any']}{hint}>"
    verdict = f'"winner": "<{say["winner"]}>"' if rubric.kind == "compare" else f'"score": {number}'
    return f'{{{verdict}, "reason": "<{say["why"]}>"}}'


def render(plan: Plan, template: Template, call: Call) -> str:
    """The prompt of one call."""
    texts, lines = call.item.fields[call.language], call.item.requirements.get(call.language, ())
    fields = {k: v for k, v in texts.items() if k not in ("chosen", "rejected")}
    if plan.rubric.kind == "pair":
        fields["response"] = texts[call.part]
    elif plan.rubric.kind == "compare":
        sides = ("chosen", "rejected") if call.part == "AB" else ("rejected", "chosen")
        fields |= {"first": texts[sides[0]], "second": texts[sides[1]]}
    elif plan.rubric.kind == "checklist":
        fields["requirement"] = next((r.text for r in lines if r.id == call.part), "")
    mark = fence([*texts.values(), *(r.text for r in lines)])
    return fill(template.text, {**template.constants, **fields, "fence": mark})


def fence(texts: list[str]) -> str:
    """A hash over the texts. The author of a judged text cannot write it into the text, for the text would then have
    another hash; so no text can close its own fence. The same item has the same prompt at every judge."""
    mark = hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass"))
    while any(mark.hexdigest()[:8] in text for text in texts):
        mark.update(b"again")
    return mark.hexdigest()[:8]


def bullets(say: Mapping[str, Any]) -> str:
    """The criteria of a language where the plan gives none."""
    return "\n".join(f"- {c}" for c in say["criteria"])
