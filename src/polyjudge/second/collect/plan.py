"""The plan of a collection: what is judged, in which languages, by which rubric and judges. Checked here, once."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from polyjudge.second.collect.secrets import known_secrets, looks_secret
from polyjudge.second.panel.errors import CollectError
from polyjudge.second.panel.files import read_text
from polyjudge.second.panel.labels import clean

try:
    from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
except ImportError:
    raise CollectError("Collecting needs the collect extra: pip install 'polyjudge[collect]'.") from None

NEEDED = {
    "rating": ("prompt", "response"),
    "pair": ("prompt", "chosen", "rejected"),
    "compare": ("prompt", "chosen", "rejected"),
    "checklist": ("prompt", "response", "requirements"),
}
"""Fields an item must have, by kind of rubric."""
LARGEST, DEEPEST = 200_000, 40
"""Most values in a plan, and how deep they may lie."""


def _text(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if isinstance(value, str) and (not value.strip() or "\0" in value):
        raise ValueError("must be a text that is not empty and has no NUL in it")
    return value


def _pair(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


_DOTTED = r"[A-Za-z_][\w.]*"
Text = Annotated[str, BeforeValidator(_text), Field(max_length=100_000)]
Name = Annotated[str, BeforeValidator(_text), Field(max_length=500)]
Count = Annotated[int, Field(ge=1, le=10**9)]
Positive = Annotated[float, Field(gt=0, lt=1e12)]
Dollars = Annotated[float, Field(ge=0, lt=1e6)]
Bound = Annotated[float, Field(gt=-1e9, lt=1e9)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Language(_Part):
    """A language of the panel. `template` names its prompts, `items` its code in the item files."""

    name: Name
    template: Name = ""
    items: Name = ""

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, raw: Any) -> Any:
        if isinstance(raw, bool):
            raise ValueError(f"reads as {raw} in YAML. Put it in quotes ('no' is Norwegian)")
        if isinstance(raw, str):
            raw = {"name": raw}
        named = isinstance(raw, dict) and "name" in raw
        return {"template": raw["name"], "items": raw["name"], **raw} if named else raw


class Items(_Part):
    """Where the items are. `fields` maps a field of the rubric to a column."""

    path: Text
    format: Literal["table", "mrewardbench"] = "table"
    id: Name = "id"
    language: Name | None = None
    system: Name | None = None
    replicate: Name | None = None
    group: Name | None = None
    cluster: Name | None = None
    fields: dict[Annotated[str, Field(pattern=r"^[a-z_]+$")], Name] = {}
    limit: Count | None = None
    shared: bool = False
    unaligned: Literal["error", "drop"] = "error"


class Criterion(_Part):
    """One of several criteria that are scored in one call."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,39}$")]
    text: Text | dict[str, Text]


class Parser(_Part):
    """How the plan's own prompts are answered: a regular expression (its first group) or the path of a JSON value.
    `values` turns words into numbers; with `last` the last match counts instead of a conflict."""

    regex: Text | None = None
    json_path: Annotated[str, Field(pattern=r"^\$?[A-Za-z0-9_.-]+$")] | None = Field(None, alias="json")
    values: dict[str, float] = {}
    last: bool = False

    @model_validator(mode="after")
    def _one(self) -> Parser:
        if (self.regex is None) == (self.json_path is None):
            raise ValueError("needs either regex or json")
        if self.regex is not None:
            try:
                re.compile(self.regex)
            except (re.error, RecursionError, OverflowError) as error:
                raise ValueError(f"regex is not a regular expression: {clean(error)}") from None
        return self


class Example(_Part):
    """An answer and the score that must be read from it (null: none)."""

    answer: str
    score: float | None


class Rubric(_Part):
    """How an item becomes calls and answers become scores."""

    kind: Literal["rating", "pair", "compare", "checklist"]
    scale: Annotated[tuple[Bound, Bound], BeforeValidator(_pair)] = (1, 5)
    step: Annotated[float, Field(gt=0, lt=1e9)] | None = 1
    criteria: Text | dict[str, Text] | tuple[Criterion, ...] | None = None
    templates: Text | None = None
    calls: Literal["each", "all"] = "each"
    reason: Literal["after", "first", "none"] = "after"
    expected: bool = False
    parser: Parser | None = None
    examples: Annotated[tuple[Example, ...], BeforeValidator(_pair)] = ()
    reask: Annotated[int, Field(ge=0, le=100)] = 2

    @model_validator(mode="before")
    @classmethod
    def _lists(cls, raw: Any) -> Any:
        if isinstance(raw, dict):
            if raw.get("kind") in ("checklist", "compare") and {"scale", "step"} & set(raw):
                raise ValueError(f"a {raw['kind']} has no scale or step of its own")
            if raw.get("kind") == "checklist" and "criteria" in raw:
                raise ValueError("a checklist has no criteria: each requirement is satisfied or not")
            if isinstance(raw.get("criteria"), list):
                raw = {**raw, "criteria": tuple(raw["criteria"])}
        return raw

    @model_validator(mode="after")
    def _fits(self) -> Rubric:
        if not self.scale[0] < self.scale[1]:
            raise ValueError("scale must be [lowest, highest] with lowest < highest")
        if self.calls == "all" and self.kind != "checklist":
            raise ValueError("calls: all is for checklists")
        if isinstance(self.criteria, tuple) and (self.kind not in ("rating", "pair") or not self.criteria):
            raise ValueError("several criteria are for ratings and pairs, and need at least one")
        if len(set(self.names)) != len(self.names):
            raise ValueError("two criteria have the same name")
        if self.expected and (self.kind not in ("rating", "pair") or self.names or self.step != 1):
            raise ValueError("expected scores are for ratings and pairs in whole numbers, by one criterion")
        if self.parser is not None and self.templates is None:
            raise ValueError("parser is for prompts of your own: name their folder with templates")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the criteria where there are several."""
        return tuple(c.name for c in self.criteria) if isinstance(self.criteria, tuple) else ()

    @property
    def range(self) -> tuple[float, float]:
        """The scores one answer can have."""
        return self.scale if self.kind in ("rating", "pair") else (0.0, 100.0)


class Price(_Part):
    """Dollars per million tokens: input, output, input from a cache and written to one, output that is not shown (where
    it has a price of its own); `batch` is the share that a batch costs."""

    input: Dollars
    output: Dollars
    cached: Dollars | None = None
    write: Dollars | None = None
    reasoning: Dollars | None = None
    batch: Annotated[float, Field(ge=0, le=1)] = 0.5


class Account(_Part):
    """Limits that several judges share."""

    concurrency: Count | None = None
    requests_per_minute: Positive | None = None
    tokens_per_minute: Positive | None = None


class Judge(_Part):
    """One judge: its model and settings, and how hard it may be asked."""

    name: Name
    model: Annotated[str, Field(pattern=rf"^(?:[^/\s:]+/\S+|(?:python|scorer):{_DOTTED}:{_DOTTED})$", max_length=500)]
    base_url: Annotated[str, Field(pattern=r"^https?://[^@\s\\]+$", max_length=2000)] | None = None
    settings: dict[str, Any] = {}
    model_args: dict[str, Any] = {}
    structured: bool | None = None
    account: Name | None = None
    concurrency: Count = 16
    requests_per_minute: Positive | None = None
    tokens_per_minute: Positive | None = None
    timeout: Positive = 300
    retries: Annotated[int, Field(ge=0, le=10**6)] = 8
    backoff: Positive = 1
    max_wait: Positive = 600
    give_up_after: Count = 10
    batch: bool = False
    batch_poll: Positive = 30
    output_tokens: Positive | None = None
    price: Price | None = None

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, raw: Any) -> Any:
        if isinstance(raw, dict):
            raw = {k: v for k, v in raw.items() if v is not None}
            if isinstance(raw.get("model"), str):
                raw.setdefault("name", re.split(r"^(?:python|scorer):.*:|/", raw["model"])[-1])
            if isinstance(raw.get("settings", {}), dict):
                raw["settings"] = {"temperature": 0, **raw.get("settings", {})}
        return raw

    @model_validator(mode="after")
    def _own_settings(self) -> Judge:
        owned = {"max_retries", "timeout", "attempt_timeout", "max_connections", "batch", "cache", "stream", "n"}
        taken = sorted((owned | {"adaptive_connections", "response_format", "logprobs"}) & set(self.settings))
        if taken:
            raise ValueError(
                f"settings: {', '.join(taken)} is set by the run itself; use the judge's own keys retries, timeout, "
                "concurrency, structured and batch, or the rubric's"
            )
        return self

    @property
    def code(self) -> bool:
        """Whether it is a function or an Inspect scorer instead of a model behind an address."""
        return self.model.startswith(("python:", "scorer:"))

    def identity(self) -> dict[str, Any]:
        """What decides the answers. A run folder keeps it; limits, prices and addresses may change between sittings."""
        return {"model": self.model, "settings": dict(self.settings), "model_args": dict(self.model_args)}


class Until(_Part):
    """Adaptive collection: stop asking what no open question needs (docs/adaptive.md)."""

    questions: Literal["judges", "systems", "cells", "gate"] = "judges"
    matters: Annotated[float, Field(gt=0)] | None = None
    level: Annotated[float, Field(ge=0.5, lt=1)] = 0.95
    threshold: float | None = None
    at_least: bool = False
    first: Annotated[int, Field(ge=2)] = 24
    guard: bool = False
    seed: Annotated[int, Field(ge=0)] = 7


class ProbePlan(_Part):
    """Versions of some tasks (damaged, placebo, pleading, padded), scored beside the items (docs/probes.md): made by
    these settings, or taken from the file `path` that `polyjudge probe make` wrote and a person may have edited."""

    path: Text | None = None
    tasks: Annotated[int, Field(ge=1, le=100_000)] = 30
    kinds: Annotated[tuple[Name, ...], BeforeValidator(_pair), Field(min_length=1)] | None = None
    placebos: Annotated[tuple[Name, ...], BeforeValidator(_pair)] | None = None
    no_help: Annotated[tuple[Name, ...], BeforeValidator(_pair)] | None = None
    every_kind: bool = False
    seed: Annotated[int, Field(ge=0)] = 7

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, raw: Any) -> Any:
        return {} if raw is True else raw


class Plan(_Part):
    """A collection: languages x judges over items, by one rubric."""

    name: Name = "collection"
    languages: Annotated[tuple[Language, ...], BeforeValidator(_pair), Field(min_length=1)]
    items: Items
    rubric: Rubric
    judges: Annotated[tuple[Judge, ...], BeforeValidator(_pair), Field(min_length=1)]
    accounts: dict[str, Account] = {}
    repeats: Count = 1
    lead: Count | None = 25
    prices: Text | None = None
    until: Until | None = None
    probes: ProbePlan | None = None
    wordings: dict[Name, Text] | None = None
    """Name -> criteria: the same items judged by several wordings of the rubric, which stand in place of languages."""
    folder: Path = Path()

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        raw = dict(raw)
        defaults = raw.pop("defaults", None)
        defaults = {} if defaults is None else defaults
        if not isinstance(defaults, dict):
            raise ValueError("defaults must be a mapping of keys to values")
        unknown = sorted(str(k) for k in defaults if k not in Judge.model_fields or k in ("name", "model"))
        if unknown:
            raise ValueError(f"defaults: unknown key {clean(', '.join(unknown))}")
        if isinstance(raw.get("judges"), list):
            raw["judges"] = tuple(_with(defaults, entry) for entry in raw["judges"])
        return _worded(raw) if raw.get("wordings") is not None else raw

    @model_validator(mode="after")
    def _names(self) -> Plan:
        for word, parts in (("judge", self.judges), ("language", self.languages)):
            twice = sorted(name for name, count in Counter(part.name for part in parts).items() if count > 1)
            if twice:
                raise ValueError(
                    f"The {word} name {clean(', '.join(twice))} stands twice. Give each {word} a name of its own"
                )
        lost = sorted({j.account for j in self.judges if j.account is not None} - set(self.accounts))
        if lost:
            raise ValueError(f"accounts: there is no account {clean(', '.join(lost))}")
        if self.items.format == "mrewardbench" and self.rubric.kind not in ("pair", "compare"):
            raise ValueError("items.format mrewardbench has preference pairs: use rubric.kind pair or compare")
        if self.probes is not None and self.rubric.kind not in ("rating", "checklist"):
            raise ValueError("probes: damage is done to a response, so rubric.kind must be rating or checklist")
        if self.probes is not None and self.until is not None:
            raise ValueError("probes: an adaptive run (until) cannot hold them. Give them a plan of their own")
        if self.wordings is not None and self.probes is not None:
            raise ValueError("probes: a plan with wordings cannot hold them. Give them a plan of their own")
        if isinstance(self.rubric.criteria, Mapping):
            for language in self.languages:
                if language.name not in self.rubric.criteria:
                    raise ValueError(f"rubric.criteria has no text for {clean(language.name)}")
        return self

    def resolve(self, path: str) -> Path:
        """A path of the plan, relative to the plan's own folder."""
        try:
            return (self.folder / Path(path).expanduser()).resolve()
        except (OSError, RuntimeError, ValueError) as error:
            raise CollectError(f"The path {clean(path)} in the plan cannot be used: {clean(error)}.") from None

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values, as stored in the run folder."""
        return self.model_dump(mode="json", by_alias=True)


def _worded(raw: dict[str, Any]) -> dict[str, Any]:
    """The plan with its wordings in place of its one language; a plan that has them already stays."""
    wordings, languages, rubric = raw["wordings"], raw.get("languages"), raw.get("rubric")
    if not isinstance(wordings, dict) or len(wordings) < 2:
        raise ValueError("wordings must be a mapping of names to criteria, at least two")
    if not isinstance(languages, (list, tuple)) or not isinstance(rubric, dict):
        return raw
    if [one.get("name") if isinstance(one, dict) else one for one in languages] == list(wordings):
        return raw
    if len(languages) != 1:
        raise ValueError("wordings are compared in one language: give a plan to each language")
    if rubric.get("kind") == "checklist":
        raise ValueError("wordings are for the criteria of ratings, pairs and comparisons: a checklist has none")
    if rubric.get("criteria") is not None:
        raise ValueError("wordings and rubric.criteria both say what counts: give one of them")
    one = Language.model_validate(languages[0])
    entries = tuple({"name": name, "template": one.template, "items": one.items} for name in wordings)
    return {**raw, "languages": entries, "rubric": {**rubric, "criteria": dict(wordings)}}


def _with(defaults: dict[str, Any], entry: Any) -> Any:
    if isinstance(entry, str):
        entry = {"model": entry}
    if not isinstance(entry, dict):
        return entry
    out = {**defaults, **entry}
    for key in ("settings", "model_args"):
        if isinstance(defaults.get(key), dict) and isinstance(entry.get(key), dict):
            out[key] = {**defaults[key], **entry[key]}
    if out.get("batch") is True:  # a batch is answered within a day
        out.setdefault("timeout", 90_000.0)
    return out


def load_plan(path: str | Path) -> Plan:
    """Read and check a plan: a YAML or JSON file. Its relative paths start at its own folder."""
    path = Path(path)
    return parse_plan(_load(read_text(path, 20 << 20), path), path.resolve().parent)


def parse_plan(raw: Any, folder: Path = Path()) -> Plan:
    """A checked plan from plain values."""
    if not isinstance(raw, dict):
        raise CollectError(f"The plan must be a mapping of keys to values, not {type(raw).__name__}.")
    known_secrets.cache_clear()
    _walk(raw)
    try:
        plan = Plan.model_validate({**raw, "folder": folder})
    except ValidationError as error:
        raise CollectError(_explain(error)) from None
    for where, value in (("rubric.templates", plan.rubric.templates), ("prices", plan.prices)):
        if value is not None and not plan.resolve(value).exists():
            raise CollectError(f"{where}: there is no {clean(plan.resolve(value), 200)}.")
    return plan


def parse_price(raw: Any, where: str) -> Price:
    """Dollars per million input and output tokens: {input: 2.5, output: 10}."""
    try:
        return Price.model_validate(raw)
    except ValidationError as error:
        raise CollectError(f"{clean(where, 200)}: prices are dollars per million tokens. {_explain(error)}") from None


def _explain(error: ValidationError) -> str:
    """The first thing that is wrong with a plan: where, what, and what is known there."""
    first = error.errors(include_url=False)[0]
    where = ""
    for part in first["loc"]:
        if isinstance(part, int):
            where += f"[{part}]"
        elif not part.startswith(("function-", "tuple[", "dict[", "constrained-", "nullable", "str")):
            where += f".{clean(part)}" if where else clean(part)
    kind, value = first["type"], first.get("input")
    head, _, key = where.rpartition(".")
    if kind == "extra_forbidden":
        return f"{head or 'The plan'}: unknown key {key}. See docs/collect.md for the keys that are known there."
    if kind == "missing":
        return f"{head or 'The plan'} lacks {key}."
    mapping, many = "must be a mapping of keys to values", "must be a list with at least one entry"
    words = {"model_type": mapping, "dict_type": mapping, "tuple_type": many, "too_short": many}
    what = words.get(kind, first["msg"].removeprefix("Value error, ").replace("Input should be", "must be").rstrip("."))
    if where.endswith("model") and kind == "string_pattern_mismatch":
        what = "must be provider/model, such as openai/gpt-4o, or python:package.module:function"
    elif where.endswith("base_url") and kind == "string_pattern_mismatch":
        what = "must be a plain http(s) address without a user or password in it"
    elif ".fields" in where and kind == "string_pattern_mismatch":
        what = "field names have small letters and _ only"
    elif kind == "value_error":
        return f"{where}: {what}." if where else f"{what}."
    shown = "" if isinstance(value, (dict, list, tuple)) else f", not {clean(repr(value))}"
    return f"{where or 'The plan'}: {what}{shown}."


def _walk(raw: Any) -> None:
    """Refuse what no plan needs: keys of an account, lone surrogates, deep nesting, aliases that unfold without end."""
    count, stack = 0, [(raw, "", 0)]
    while stack:
        value, where, depth = stack.pop()
        count += 1
        if count > LARGEST or depth > DEEPEST:
            raise CollectError("The plan is nested too deeply or unfolds to too many values.")
        if isinstance(value, dict):
            for key, inner in value.items():
                if not isinstance(key, str):
                    raise CollectError(
                        f"{where or 'The plan'}: the key {clean(repr(key))} is not a text. Put it in quotes."
                    )
                stack += [(inner, f"{where}.{clean(key)}" if where else clean(key), depth + 1), (key, where, depth + 1)]
        elif isinstance(value, (list, tuple)):
            stack += [(inner, f"{where}[{i}]", depth + 1) for i, inner in enumerate(value)]
        elif isinstance(value, str):
            try:
                value.encode()
            except UnicodeEncodeError:
                raise CollectError(f"{where or 'The plan'} holds half a character (a lone surrogate).") from None
            if looks_secret(value, where):
                raise CollectError(
                    f"{where}: this looks like a key, which does not belong in a plan: the plan is stored in the run "
                    "folder and shared. Keys come from the environment only (OPENAI_API_KEY, ANTHROPIC_API_KEY, "
                    "NAME_API_KEY for openai-api/NAME/...)."
                )
        elif isinstance(value, float) and not math.isfinite(value):
            raise CollectError(f"{where} is not a finite number.")
        elif not isinstance(value, (int, float, bool, type(None))):
            raise CollectError(f"{where} must be a text, a number, a list or a mapping, not {type(value).__name__}.")


def _load(text: str, path: Path) -> Any:
    shown = clean(path, 200)
    try:
        return json.loads(text, object_pairs_hook=_no_twins) if path.suffix == ".json" else _load_yaml(text, shown)
    except CollectError:
        raise
    except RecursionError:
        raise CollectError(f"{shown} is nested too deeply for a plan.") from None
    except ValueError as error:
        raise CollectError(f"{shown} is not valid JSON: {clean(error, 200)}.") from None


def _load_yaml(text: str, shown: str) -> Any:
    try:
        import yaml
    except ImportError:
        raise CollectError(
            "Reading a YAML plan needs the collect extra: pip install 'polyjudge[collect]'. A plan may also be JSON."
        ) from None

    class Loader(yaml.SafeLoader):
        pass

    def mapping(loader: Loader, node: Any) -> dict[Any, Any]:
        loader.flatten_mapping(node)
        return _no_twins([tuple(loader.construct_object(part, deep=True) for part in pair) for pair in node.value])

    Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)
    try:
        return yaml.load(text, Loader)  # a SafeLoader
    except CollectError:
        raise
    except (yaml.YAMLError, ValueError, TypeError, AttributeError) as error:
        raise CollectError(f"{shown} is not valid YAML: {clean(' '.join(str(error).split()), 300)}.") from None


def _no_twins(pairs: list[tuple[Any, ...]]) -> dict[Any, Any]:
    out: dict[Any, Any] = {}
    for key, value in pairs:
        if not isinstance(key, (str, int, float, bool)) or key in out:
            raise CollectError(f"In the plan the key {clean(repr(key))} stands twice, or is no key.")
        out[key] = value
    return out
