"""The plan of a collection: what is judged, in which languages, by which rubric and judges. Checked here, once.

A plan is YAML or JSON; `docs/collect.md` shows one. Models are named as Inspect names them (openai/gpt-4o-mini).
"""

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
"""Fields that an item must have, by kind of rubric."""
OWNED = {"max_retries", "timeout", "attempt_timeout", "max_connections", "batch", "cache", "num_choices"}
"""Settings of Inspect that a judge's own keys stand for."""


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError(f"reads as {value} in YAML: put it in quotes ('no' is Norwegian)")
    value = str(value) if isinstance(value, int) else value
    if isinstance(value, str) and (not value.strip() or "\0" in value):
        raise ValueError("must be a text that is not empty")
    return value


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


Text = Annotated[str, BeforeValidator(_text), Field(max_length=100_000)]
Name = Annotated[str, BeforeValidator(_text), Field(max_length=500)]
Count = Annotated[int, Field(ge=1, le=10**9)]
Bound = Annotated[float, Field(gt=-1e9, lt=1e9)]
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


class Items(_Part):
    """Where the items are. `fields`: field of the rubric -> column; `keep`: columns to be kept beside the scores."""

    path: Text
    id: Name = "id"
    language: Name | None = None
    system: Name | None = None
    keep: Annotated[tuple[Name, ...], BeforeValidator(_tuple)] = ()
    fields: dict[Annotated[str, Field(pattern=r"^[a-z_]+$")], Name] = {}
    limit: Count | None = None
    shared: bool = False
    unaligned: Literal["error", "drop"] = "error"


class Rubric(_Part):
    """How an item becomes calls and answers become scores."""

    kind: Literal["rating", "pair", "compare", "checklist"]
    scale: Annotated[tuple[Bound, Bound], BeforeValidator(_tuple)] = (1, 5)
    step: Annotated[float, Field(gt=0, lt=1e9)] | None = 1
    criteria: Text | dict[str, Text] | None = None
    templates: Text | None = None
    reason: Literal["after", "first", "none"] = "after"
    reask: Annotated[int, Field(ge=0, le=10)] = 1

    @model_validator(mode="before")
    @classmethod
    def _own_scale(cls, raw: Any) -> Any:
        if isinstance(raw, dict) and raw.get("kind") in ("checklist", "compare") and {"scale", "step"} & set(raw):
            raise ValueError(f"a {raw['kind']} has no scale or step of its own")
        if isinstance(raw, dict) and raw.get("kind") == "checklist" and raw.get("criteria") is not None:
            raise ValueError("a checklist has no criteria: each requirement is satisfied or not")
        return raw

    @model_validator(mode="after")
    def _fits(self) -> Rubric:
        if not self.scale[0] < self.scale[1]:
            raise ValueError("scale must be [lowest, highest] with lowest < highest")
        return self


class Price(_Part):
    """Dollars per million tokens of input and output."""

    input: Dollars
    output: Dollars


class Judge(_Part):
    """One judge: its model as Inspect names it, and how it is asked. `settings` are Inspect's GenerateConfig."""

    name: Name
    model: Annotated[str, Field(pattern=r"^[^/\s:]+/\S+$", max_length=500)]
    base_url: Annotated[str, Field(pattern=r"^https?://[^@\s\\]+$", max_length=2000)] | None = None
    settings: dict[str, Any] = {}
    model_args: dict[str, Any] = {}
    price: Price | None = None
    output_tokens: Count | None = None
    concurrency: Count | None = None
    timeout: Count = 300
    retries: Annotated[int, Field(ge=0, le=100)] = 5
    batch: bool | dict[str, float] = False
    """Ask by the service's batches; Inspect's BatchConfig says how (size, send_delay, tick)."""

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, raw: Any) -> Any:
        raw = {"model": raw} if isinstance(raw, str) else raw
        if isinstance(raw, dict):
            raw = {k: v for k, v in raw.items() if v is not None}
            if isinstance(raw.get("model"), str):
                raw.setdefault("name", raw["model"].rpartition("/")[2])
            if isinstance(raw.get("settings", {}), dict):
                settings = {"temperature": 0, **raw.get("settings", {})}
                raw["settings"] = {k: v for k, v in settings.items() if v is not None}
        return raw

    @model_validator(mode="after")
    def _own_settings(self) -> Judge:
        if taken := sorted(OWNED & set(self.settings)):
            own = "retries, timeout, concurrency or batch"
            raise ValueError(f"settings: {', '.join(taken)} stands for a key of the judge: {own}")
        return self

    @property
    def identity(self) -> dict[str, Any]:
        """What decides the answers. Limits, prices and addresses may change between sittings."""
        return {"model": self.model, "settings": dict(self.settings), "model_args": dict(self.model_args)}


class Probes(_Part):
    """Versions of some tasks (damaged, placebo, pleading, padded), judged beside the items (METHODS 24)."""

    tasks: Annotated[int, Field(ge=1, le=100_000)] = 30
    seed: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, raw: Any) -> Any:
        return {} if raw is True else raw


class Plan(_Part):
    """A collection: languages x judges over items, by one rubric."""

    name: Name = "collection"
    languages: Annotated[tuple[Language, ...], BeforeValidator(_tuple), Field(min_length=1)]
    items: Items
    rubric: Rubric
    judges: Annotated[tuple[Judge, ...], BeforeValidator(_tuple), Field(min_length=1)]
    replicates: Annotated[int, Field(ge=1, le=1000)] = 1
    wordings: dict[Name, Text] | None = None
    """Name -> criteria: the same items in one language, judged by several wordings of the rubric."""
    probes: Probes | None = None
    folder: Path = Path()

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, raw: Any) -> Any:
        defaults = raw.pop("defaults", None) or {}
        if not isinstance(defaults, dict):
            raise ValueError("defaults must be a mapping of keys to values")
        if unknown := sorted(str(k) for k in defaults if k not in Judge.model_fields or k in ("name", "model")):
            raise ValueError(f"defaults: unknown key {shown(', '.join(unknown))}")
        if isinstance(raw.get("judges"), list):
            raw["judges"] = [_with(defaults, entry) for entry in raw["judges"]]
        return raw

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

    def resolve(self, path: str) -> Path:
        """A path of the plan, relative to the plan's own folder."""
        return (self.folder / Path(path).expanduser()).resolve()


def _with(defaults: dict[str, Any], entry: Any) -> Any:
    entry = {"model": entry} if isinstance(entry, str) else entry
    if not isinstance(entry, dict):
        return entry
    out = {**defaults, **entry}
    for key in ("settings", "model_args"):
        if isinstance(defaults.get(key), dict) and isinstance(entry.get(key), dict):
            out[key] = {**defaults[key], **entry[key]}
    return out


def load_plan(path: str | Path) -> Plan:
    """Read and check a plan: a YAML or JSON file. Its relative paths start at its own folder."""
    path = Path(path)
    try:
        text = read_text(path, 20 << 20)
    except ValueError as error:
        raise CollectError(f"The plan: {error}") from None
    try:
        raw = json.loads(text, object_pairs_hook=_no_twins) if path.suffix == ".json" else _load_yaml(text)
    except CollectError:
        raise
    except RecursionError:
        raise CollectError(f"{shown(path, 200)} is nested too deeply for a plan.") from None
    except Exception as error:
        said = shown(" ".join(str(error).split()), 300)
        raise CollectError(f"{shown(path, 200)} is not YAML or JSON: {said}.") from None
    return parse_plan(raw, path.resolve().parent)


def parse_plan(raw: Any, folder: Path = Path()) -> Plan:
    """A checked plan from plain values."""
    if not isinstance(raw, dict):
        raise CollectError(f"The plan must be a mapping of keys to values, not {type(raw).__name__}.")
    _walk(raw)
    try:
        plan = Plan.model_validate({**raw, "folder": folder})
    except ValidationError as error:
        raise CollectError(_explain(error)) from None
    if plan.rubric.templates is not None and not plan.resolve(plan.rubric.templates).is_dir():
        raise CollectError(f"rubric.templates: there is no folder {shown(plan.resolve(plan.rubric.templates), 200)}.")
    return plan


def _explain(error: ValidationError) -> str:
    """The first thing that is wrong with a plan: where, and what pydantic says of it."""
    first = error.errors(include_url=False)[0]
    steps = [
        x for x in first["loc"] if isinstance(x, int) or not re.match(r"function-|tuple\[|dict\[|constrained|str$", x)
    ]
    where = "".join(f"[{x}]" if isinstance(x, int) else f".{shown(x)}" for x in steps).removeprefix(".") or "The plan"
    if first["type"] == "extra_forbidden":
        head, _, key = where.rpartition(".")
        return f"{head or 'The plan'}: unknown key {key}. docs/collect.md lists the keys that are known there."
    text = first["msg"].removeprefix("Value error, ").replace("Input should be", "must be").rstrip(".")
    if first["type"] == "string_pattern_mismatch":
        text = PATTERNS.get(str(steps[-1]), text)
    given = first["input"]
    held = "" if first["type"] in ("value_error", "missing") or isinstance(given, (dict, list, tuple)) else repr(given)
    return f"{where}: {text}{held and f', not {shown(held)}'}."


PATTERNS = {
    "model": "must be provider/model as Inspect names it, such as openai/gpt-4o-mini",
    "base_url": "must be a plain http(s) address without a user or password in it",
}


def _walk(raw: Any) -> None:
    """Refuse what no plan needs: keys of an account, half characters, deep nesting, aliases that unfold without end."""
    count, stack = 0, [(raw, "", 0)]
    while stack:
        value, where, depth = stack.pop()
        count += 1
        if count > 200_000 or depth > 40:
            raise CollectError("The plan is nested too deeply or unfolds to too many values.")
        if isinstance(value, (dict, list, tuple)):
            inner = value.items() if isinstance(value, dict) else enumerate(value)
            stack += [(x, f"{where}.{shown(k)}" if where else shown(k), depth + 1) for k, x in inner]
            if isinstance(value, dict) and (odd := [k for k in value if not isinstance(k, str)]):
                raise CollectError(f"{where or 'The plan'}: the key {shown(odd[0])} is not a text: put it in quotes.")
        elif isinstance(value, str):
            if value != value.encode("utf-8", "replace").decode():
                raise CollectError(f"{where or 'The plan'} holds half a character (a lone surrogate).")
            if _KEY.search(value) or hide_keys(value) != value or _NAME.search(where.rpartition(".")[2]):
                raise CollectError(
                    f"{where}: this looks like a key, which does not belong in a plan, for plans are shared. Keys come "
                    "from the environment (OPENAI_API_KEY, ANTHROPIC_API_KEY, ...)."
                )
        elif not isinstance(value, (int, float, bool, type(None))):
            raise CollectError(f"{where} must be a text, a number, a list or a mapping: put it in quotes.")


_NAME = re.compile(r"(api[-_]?key|authorization|secret|password|access[-_]?token|bearer|credential)", re.IGNORECASE)
_KEY = re.compile(
    r"(?:^|[\s=:\"'])(?:sk-[\w-]{16,}|gsk_\w{16,}|xai-\w{16,}|hf_\w{16,}|AIza[\w-]{20,}|AKIA[A-Z0-9]{12,}|"
    r"gh[pousr]_\w{16,}|(?:Bearer|Basic)\s+[\w.+/=-]{12,})"
)
HIDDEN = "[key]"


def hide_keys(text: str) -> str:
    """Text without the keys in the environment: some services send the key back in their errors."""
    for variable, value in os.environ.items():
        if len(value) >= 12 and value in text and re.search("KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", variable, re.I):
            text = text.replace(value, HIDDEN)
    return text


def _load_yaml(text: str) -> Any:
    import yaml

    class Loader(yaml.SafeLoader):
        pass

    def mapping(loader: Loader, node: Any) -> dict[Any, Any]:
        loader.flatten_mapping(node)
        return _no_twins([tuple(loader.construct_object(part, deep=True) for part in pair) for pair in node.value])

    Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)
    return yaml.load(text, Loader)  # a SafeLoader


def _no_twins(pairs: list[tuple[Any, ...]]) -> dict[Any, Any]:
    out: dict[Any, Any] = {}
    for key, value in pairs:
        if not isinstance(key, (str, int, float, bool)) or key in out:
            raise CollectError(f"In the plan the key {shown(repr(key))} appears twice or is not valid.")
        out[key] = value
    return out
