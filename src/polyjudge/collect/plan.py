"""The plan of a collection, YAML or JSON (docs/collect.md): items, languages, rubric and judges, checked once."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal

from polyjudge.base.errors import CollectError
from polyjudge.base.files import read_text
from polyjudge.base.text import name as shown
from polyjudge.base.text import names
from polyjudge.collect.run import ODD

try:
    import inspect_ai  # noqa: F401
    import yaml
    from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator
except ImportError as error:
    raise CollectError(f"Collecting needs the collect extra: pip install 'polyjudge[collect]' ({error}).") from None

_TWO = ("prompt", "chosen", "rejected")
NEEDED = {"rating": ("prompt", "response"), "checklist": ("prompt", "response", "requirements")}
NEEDED |= {"pair": _TWO, "compare": _TWO}  # fields that an item must have, by kind of rubric
DEFAULTS = {"temperature": 0, "max_retries": 5}
LIMITS = {"max_retries", "timeout", "attempt_timeout", "max_connections", "batch"}  # may change between sittings


def _text(value: str) -> str:
    if not value.strip() or re.search("[\0\ud800-\udfff]", value):
        raise ValueError("must be a text that is not empty and holds no half characters")
    return value


def _file(value: str) -> str:
    if len(value.encode()) > 150 or ODD.search(value):
        raise ValueError("must have at most 150 bytes, and no #, ?, %20 or line break: its log is called so")
    return value


Text = Annotated[str, AfterValidator(_text), Field(max_length=100_000)]
Name = Annotated[str, AfterValidator(_text), Field(max_length=500)]
Bound = Annotated[float, Field(gt=-1e9, lt=1e9)]
MODEL, ADDRESS = r"^[^/\s:]+/\S+$", r"^https?://[^@\s\\]+$"
Dollars = Annotated[float, Field(ge=0, lt=1e6)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Language(_Part):
    """A language of the panel. `template` names its prompts, `items` its code in the item files."""

    name: Name
    template: Name = ""
    items: Name = ""

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, raw: Any) -> Any:
        raw = raw if isinstance(raw, dict) else {"name": raw}
        return {"template": raw["name"], "items": raw["name"], **raw} if "name" in raw else raw


class Price(_Part):
    """Dollars per million tokens of input and output."""

    input: Dollars
    output: Dollars


class Translation(_Part):
    """Items that a model translates: from one language of the plan into others."""

    source: Annotated[Name, Field(alias="from")]
    to: Annotated[list[Name], Field(min_length=1)]
    model: Annotated[str, Field(pattern=MODEL, max_length=500)]
    base_url: Annotated[str, Field(pattern=ADDRESS, max_length=2000)] | None = None
    settings: dict[str, JsonValue] = {}
    model_args: dict[str, JsonValue] = {}
    price: Price | None = None


class Items(_Part):
    """Where the items are. `fields`: field of the rubric -> column; `keep`: columns to be kept beside the scores."""

    path: Text
    id: Name = "id"
    language: Name = "language"
    system: Name | None = None
    keep: list[Name] = []
    fields: dict[Annotated[str, Field(pattern=r"^[a-z_]+$")], Name] = {}
    limit: Annotated[int, Field(ge=1)] | None = None
    shared: bool = False
    translate: Translation | None = None


class Rubric(_Part):
    """How an item becomes calls and answers become scores."""

    kind: Literal["rating", "pair", "compare", "checklist"]
    scale: Annotated[list[Bound], Field(min_length=2, max_length=2)] = [1, 5]
    step: Annotated[float, Field(gt=0, lt=1e9)] | None = 1
    criteria: Text | dict[str, Text] | None = None
    templates: Text | None = None

    @model_validator(mode="after")
    def _fits(self) -> Rubric:
        given = self.model_fields_set
        if self.kind in ("checklist", "compare") and {"scale", "step"} & given:
            raise ValueError(f"a {self.kind} has no scale or step of its own")
        if self.kind == "checklist" and self.criteria is not None:
            raise ValueError("a checklist has no criteria: each requirement is satisfied or not")
        if not self.scale[0] < self.scale[1]:
            raise ValueError("scale must be [lowest, highest] with lowest < highest")
        return self


class Judge(_Part):
    """One judge: its model as Inspect names it, and how it is asked. `settings` are Inspect's GenerateConfig."""

    name: Annotated[Name, AfterValidator(_file)]
    model: Annotated[str, Field(pattern=MODEL, max_length=500)]
    base_url: Annotated[str, Field(pattern=ADDRESS, max_length=2000)] | None = None
    settings: dict[str, JsonValue] = {}
    model_args: dict[str, JsonValue] = {}
    price: Price | None = None

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, raw: Any) -> Any:
        raw = {"model": raw} if isinstance(raw, str) else raw
        if isinstance(raw, dict) and isinstance(raw.get("model"), str):
            raw = {"name": raw["model"].rpartition("/")[2], **raw}
        return raw

    @property
    def max_tokens(self) -> int | None:
        """The most output tokens of a call, where the plan says so."""
        most = self.settings.get("max_tokens")
        return most if isinstance(most, int) else None

    @property
    def uses_schema(self) -> bool:
        """Whether the service is asked to hold the answer to a form."""
        return self.settings.get("response_schema", True) is True

    @property
    def tries(self) -> int:
        """How often a call is made that fails."""
        retries = self.settings.get("max_retries")
        return 1 + retries if isinstance(retries, int) else 6

    def dollars(self, tokens_in: float, tokens_out: float) -> float | None:
        """What tokens cost (METHODS 15); None where the plan has no price."""
        return None if self.price is None else (tokens_in * self.price.input + tokens_out * self.price.output) / 1e6

    def size(self, prompt: str) -> int:
        """The most input tokens of a prompt: one for every byte that is sent."""
        return len(f"{prompt}{self.settings.get('system_message', '')}".encode("utf-8", "replace"))

    def worst(self, prompt: str, more: int, times: int) -> float:
        """The most that a call can cost: so many tokens in and more, and as many out as may come, so many times."""
        return times * (self.dollars(self.size(prompt) + more, self.max_tokens or 0) or 0.0)

    @property
    def identity(self) -> dict[str, Any]:
        """What decides the answers. Limits, prices and addresses may change between sittings."""
        settings = {k: v for k, v in self.settings.items() if k not in LIMITS}
        return {"model": self.model, "settings": settings, "model_args": dict(self.model_args)}


_NAMES = "api[-_]?key|authorization|secret|password|token|credential"
_KEY = re.compile(rf'({_NAMES})[\w-]*":"|[?&]([\w-]*({_NAMES})|key)=|["\s](sk-|gsk_|AIza|Bearer )\w', re.I)


def hide_keys(text: str, short: int = 6) -> str:
    """Text without the keys in the environment, the longest first: some services send the key back. Where a variable's
    name ends as those of keys do, its value is one from `short` letters on."""
    for variable, value in sorted(os.environ.items(), key=lambda x: -len(x[1])):
        known = re.search("KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", variable, re.I)
        if known and len(value) >= (short if variable.upper().endswith(("KEY", "TOKEN", "SECRET")) else 12):
            text = text.replace(value, "[key]")
    return text


class Plan(_Part):
    """A collection: languages x judges over items, by one rubric."""

    name: Name = "collection"
    languages: Annotated[list[Language], Field(min_length=1)]
    items: Items
    rubric: Rubric
    settings: dict[str, JsonValue] = {}  # of all judges; a judge's own go before, null leaves one to the service
    judges: Annotated[list[Judge], Field(min_length=1)]
    replicates: Annotated[int, Field(ge=1, le=1000)] = 1
    wordings: dict[Name, Text] | None = None  # name -> criteria: items in one language, judged by several
    probes: bool | Annotated[int, Field(ge=1, le=100_000)] = False
    """Tasks whose damaged, placebo, pleading and padded versions are judged beside the items (METHODS 24); true: 30."""
    folder: Path = Path()

    @model_validator(mode="after")
    def _whole(self) -> Plan:
        for word, parts in (("judge", self.judges), ("language", self.languages)):
            if twice := sorted(x for x, n in Counter(part.name for part in parts).items() if n > 1):
                raise ValueError(f"the {word} name {shown(', '.join(twice))} appears twice: give each its own name")
        kind = self.rubric.kind
        if self.probes and kind not in ("rating", "checklist"):
            raise ValueError("probes: damage is done to a response, so rubric.kind must be rating or checklist")
        if self.wordings is not None:
            if len(self.wordings) < 2 or len(self.languages) != 1:
                raise ValueError("wordings: give at least two, and one language: each language has a plan of its own")
            if kind == "checklist" or self.rubric.criteria is not None or self.probes:
                raise ValueError("wordings are the criteria: leave out rubric.criteria, checklists and probes")
        texts = self.rubric.criteria
        if isinstance(texts, dict) and (lacking := [x.name for x in self.languages if x.name not in texts]):
            raise ValueError(f"rubric.criteria has no text for {shown(', '.join(lacking))}")
        return self

    def settings_of(self, own: dict[str, JsonValue]) -> dict[str, JsonValue]:
        """The settings of a judge with these of its own."""
        return {k: v for k, v in {**DEFAULTS, **self.settings, **own}.items() if v is not None}

    def resolve(self, path: str) -> Path:
        """A path of the plan, relative to the plan's own folder."""
        return (self.folder / Path(path).expanduser()).resolve()


def load_plan(path: str | Path) -> Plan:
    """Read and check a plan. Its relative paths start at its own folder."""
    path = Path(path)
    text = read_text(path, 20 << 20)
    try:
        raw = json.loads(text) if path.suffix == ".json" else yaml.load(text, _Loader)  # a SafeLoader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        said = shown(" ".join(str(error).split()), 300)
        raise CollectError(f"{shown(path, 200)} is not YAML or JSON: {said}.") from None
    return parse_plan(raw, path.resolve().parent)


class _Loader(yaml.SafeLoader):
    """YAML in which a key that stands twice is an error."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        names = [key.value for key, _ in node.value]
        if twice := [x for x in names if names.count(x) > 1]:
            raise ValueError(f"the key {twice[0]} appears twice")
        return super().construct_mapping(node, deep)


def parse_plan(raw: Any, folder: Path = Path()) -> Plan:
    """A checked plan from plain values."""
    if not isinstance(raw, dict):
        raise CollectError(f"The plan must be a mapping of keys to values, not {type(raw).__name__}.")
    try:
        plan = Plan.model_validate({**raw, "folder": folder})
    except ValidationError as error:
        raise CollectError(explain(error)) from None
    _check_translation(plan)
    judges = [x.model_copy(update={"settings": plan.settings_of(x.settings)}) for x in plan.judges]
    if any({"num_choices", "best_of"} & set(x.settings) for x in judges):
        raise CollectError("settings: num_choices and best_of pay for several answers, and one is read.")
    plan = plan.model_copy(update={"judges": judges})
    if any(not isinstance(x.settings.get("response_schema", True), bool) for x in judges):
        raise CollectError("settings.response_schema is true or false: the form itself follows from the rubric.")
    text = plan.model_dump_json(include={"judges"}) + plan.items.model_dump_json(include={"translate"})
    if _KEY.search(text) or hide_keys(text, 12) != text:  # OLLAMA_API_KEY=ollama is no secret
        text = "What is said of the judges looks like a key, which does not belong in a plan, for plans are shared"
        raise CollectError(f"{text}. Keys come from the environment (OPENAI_API_KEY, ANTHROPIC_API_KEY, ...).")
    if plan.rubric.templates is not None and not plan.resolve(plan.rubric.templates).is_dir():
        raise CollectError(f"rubric.templates: there is no folder {shown(plan.resolve(plan.rubric.templates), 200)}.")
    return plan


def _check_translation(plan: Plan) -> None:
    step = plan.items.translate
    if step is None:
        return
    known = [language.name for language in plan.languages]
    for name in (step.source, *step.to):
        if name not in known:
            raise CollectError(f"items.translate: {shown(name)} is no language of the plan ({names(known)}).")
    if step.source in step.to or len(set(step.to)) < len(step.to):
        raise CollectError("items.translate: `to` names each language once, and not the one that is translated.")
    if plan.items.shared or plan.wordings:
        raise CollectError("items.translate: items that all languages share, and wordings, are not translated.")


def explain(error: ValidationError) -> str:
    """The first thing that is wrong with a plan or a list: where, and what pydantic says of it."""
    first = error.errors(include_url=False)[0]
    steps = [x for x in first["loc"] if isinstance(x, int) or not re.match(r"dict\[|constrained|\[key|str$", x)]
    where = "".join(f"[{x}]" if isinstance(x, int) else f".{x}" for x in steps).removeprefix(".") or "The plan"
    text = first["msg"].removeprefix("Value error, ").replace("Input should be", "must be").rstrip(".")
    if first["type"] == "extra_forbidden":
        text = "there is no such key (docs/collect.md lists them)"
    elif first["type"] == "string_pattern_mismatch":
        text = PATTERNS.get(str(steps[-1]), text)
    given, silent = first["input"], first["type"] in ("value_error", "missing", "extra_forbidden")
    held = "" if silent or isinstance(given, (dict, list)) else f", not {shown(repr(given))}"
    return f"{shown(where, 200)}: {text}{held}."


PATTERNS = {
    "model": "must be provider/model as Inspect names it, such as openai/gpt-4o-mini",
    "base_url": "must be a plain http(s) address without a user or password in it",
}
