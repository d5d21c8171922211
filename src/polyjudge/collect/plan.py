"""The plan of a collection: what is judged, in which languages, by which rubric and judges. Checked here, once."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from polyjudge.core.errors import CollectError

KINDS = ("rating", "pair", "checklist")
SECRET = re.compile(r"(api[-_]?key|authorization|secret|password|access[-_]?token|bearer|credential)", re.IGNORECASE)
NEEDED = {
    "rating": ("prompt", "response"),
    "pair": ("prompt", "chosen", "rejected"),
    "checklist": ("prompt", "response", "requirements"),
}
"""Fields an item must have, by kind of rubric."""


@dataclass(frozen=True)
class Language:
    """A language of the panel. `template` is the folder of its prompts, `items` its code in the item files."""

    name: str
    template: str
    items: str


@dataclass(frozen=True)
class Items:
    """Where the items are. `fields` maps a field of the rubric to a column."""

    path: str
    format: str = "table"
    id: str = "id"
    language: str | None = None
    replicate: str | None = None
    group: str | None = None
    system: str | None = None
    cluster: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    limit: int | None = None
    shared: bool = False
    unaligned: str = "error"


@dataclass(frozen=True)
class Rubric:
    """How an item becomes calls and answers become scores."""

    kind: str
    scale: tuple[float, float] = (1, 5)
    step: float | None = 1
    criteria: str | Mapping[str, str] | None = None
    templates: str | None = None
    calls: str = "each"
    reask: int = 2


@dataclass(frozen=True)
class Judge:
    """One judge: its model and settings, and how hard it may be asked."""

    name: str
    model: str
    base_url: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    model_args: Mapping[str, Any] = field(default_factory=dict)
    concurrency: int = 16
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    timeout: float = 300
    retries: int = 8
    backoff: float = 1
    max_wait: float = 600
    give_up_after: int = 10
    batch: bool = False
    price: tuple[float, float] | None = None

    def identity(self) -> dict[str, Any]:
        """What decides the answers. A run folder keeps it; limits and prices may change between sittings."""
        return {
            "model": self.model,
            "base_url": self.base_url,
            "settings": dict(self.settings),
            "model_args": dict(self.model_args),
        }


@dataclass(frozen=True)
class Plan:
    """A collection: languages x judges over items, by one rubric."""

    name: str
    languages: tuple[Language, ...]
    items: Items
    rubric: Rubric
    judges: tuple[Judge, ...]
    repeats: int = 1
    lead: int = 25
    prices: str | None = None
    folder: Path = Path()

    def resolve(self, path: str) -> Path:
        """A path of the plan, relative to the plan's own folder."""
        return (self.folder / Path(path).expanduser()).resolve()

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values, as stored in the run folder."""
        plain: dict[str, Any] = json.loads(json.dumps({**asdict(self), "folder": str(self.folder)}))
        return plain


def load_plan(path: str | Path) -> Plan:
    """Read and check a plan: a YAML or JSON file. Its relative paths start at its own folder."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise CollectError(f"Cannot read the plan {path}: {why}.") from None
    return parse_plan(_load(text, path), path.resolve().parent)


def parse_plan(raw: Any, folder: Path = Path()) -> Plan:
    """A checked plan from plain values."""
    top = _section(raw, "the plan", _TOP, needed=("languages", "items", "rubric", "judges"))
    _no_secrets(raw, "the plan")
    languages = _languages(top["languages"])
    rubric = _rubric(top["rubric"])
    items = _items(top["items"], rubric)
    defaults = _section(top.get("defaults", {}), "defaults", _JUDGE - {"name", "model"})
    entries = top["judges"]
    if not isinstance(entries, list) or not entries:
        raise CollectError("judges must be a list with at least one judge.")
    judges = tuple(_judge(entry, i, defaults) for i, entry in enumerate(entries))
    _unique([j.name for j in judges], "judge")
    plan = Plan(
        str(top.get("name", "collection")),
        languages,
        items,
        rubric,
        judges,
        _whole(top.get("repeats", 1), "repeats", 1),
        _whole(top.get("lead", 25), "lead", 1),
        None if top.get("prices") is None else str(top["prices"]),
        folder,
    )
    for where, value in (("rubric.templates", rubric.templates), ("prices", plan.prices)):
        if value is not None and not plan.resolve(value).exists():
            raise CollectError(f"{where}: there is no {plan.resolve(value)}.")
    return plan


_TOP = {"name", "languages", "items", "rubric", "judges", "defaults", "repeats", "lead", "prices"}
_JUDGE = set(Judge.__dataclass_fields__)


def _load(text: str, path: Path) -> Any:
    if path.suffix == ".json":
        try:
            return json.loads(text)
        except ValueError as error:
            raise CollectError(f"{path} is not valid JSON: {error}.") from None
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
        out: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key = loader.construct_object(key_node, deep=True)
            if not isinstance(key, (str, int, float, bool)) or key in out:
                raise CollectError(f"{path}, line {key_node.start_mark.line + 1}: the key {key!r} stands twice.")
            out[key] = loader.construct_object(value_node, deep=True)
        return out

    Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)
    try:
        return yaml.load(text, Loader)  # a SafeLoader
    except yaml.YAMLError as error:
        raise CollectError(f"{path} is not valid YAML: {' '.join(str(error).split())}.") from None


def _section(raw: Any, where: str, known: set[str], needed: tuple[str, ...] = ()) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise CollectError(f"{where} must be a mapping of keys to values, not {type(raw).__name__}.")
    unknown = [str(k) for k in raw if k not in known]
    if unknown:
        raise CollectError(f"{where}: unknown key {', '.join(unknown)}. Known keys are {', '.join(sorted(known))}.")
    lacking = [k for k in needed if raw.get(k) is None]
    if lacking:
        raise CollectError(f"{where} lacks {', '.join(lacking)}.")
    return raw


def _languages(raw: Any) -> tuple[Language, ...]:
    if not isinstance(raw, list) or not raw:
        raise CollectError("languages must be a list, such as [en, ar, tr].")
    out = []
    for i, entry in enumerate(raw):
        where = f"languages[{i}]"
        if isinstance(entry, bool):
            raise CollectError(f"{where} reads as {entry} in YAML. Put it in quotes ('no' is Norwegian).")
        if isinstance(entry, str):
            entry = {"name": entry}
        entry = _section(entry, where, {"name", "template", "items"}, needed=("name",))
        name = _text(entry["name"], f"{where}.name")
        out.append(
            Language(
                name,
                _text(entry.get("template", name), f"{where}.template"),
                _text(entry.get("items", name), f"{where}.items"),
            )
        )
    _unique([language.name for language in out], "language")
    return tuple(out)


def _rubric(raw: Any) -> Rubric:
    raw = _section(raw, "rubric", set(Rubric.__dataclass_fields__), needed=("kind",))
    kind = raw["kind"]
    if kind not in KINDS:
        raise CollectError(f"rubric.kind must be one of {', '.join(KINDS)}, not {kind!r}.")
    scale = raw.get("scale", [1, 5])
    if (
        not isinstance(scale, list)
        or len(scale) != 2
        or any(isinstance(s, bool) or not isinstance(s, (int, float)) for s in scale)
        or not -1e9 < scale[0] < scale[1] < 1e9
    ):
        raise CollectError(f"rubric.scale must be [lowest, highest] with lowest < highest, not {scale!r}.")
    step = raw.get("step", 1)
    if step is not None and (isinstance(step, bool) or not isinstance(step, (int, float)) or not 0 < step < 1e9):
        raise CollectError(f"rubric.step must be a positive number, or null for any number; not {step!r}.")
    if kind == "checklist" and {"scale", "step", "criteria"} & set(raw):
        raise CollectError("rubric: a checklist has no scale, step or criteria; each requirement is satisfied or not.")
    calls = raw.get("calls", "each")
    if calls not in ("each", "all") or (calls == "all" and kind != "checklist"):
        raise CollectError("rubric.calls is 'each' (one call per requirement) or 'all' (checklists only).")
    criteria = raw.get("criteria")
    if criteria is not None and not isinstance(criteria, (str, dict)):
        raise CollectError("rubric.criteria must be a text, or one text per language.")
    return Rubric(
        kind,
        (scale[0], scale[1]),
        step,
        criteria,
        None if raw.get("templates") is None else _text(raw["templates"], "rubric.templates"),
        calls,
        _whole(raw.get("reask", 2), "rubric.reask", 0),
    )


def _items(raw: Any, rubric: Rubric) -> Items:
    raw = _section(raw, "items", set(Items.__dataclass_fields__), needed=("path",))
    form = raw.get("format", "table")
    if form not in ("table", "mrewardbench"):
        raise CollectError(f"items.format must be 'table' or 'mrewardbench', not {form!r}.")
    if form == "mrewardbench" and rubric.kind == "checklist":
        raise CollectError("items.format mrewardbench has preference pairs: use rubric.kind pair.")
    unaligned = raw.get("unaligned", "error")
    if unaligned not in ("error", "drop"):
        raise CollectError(f"items.unaligned must be 'error' or 'drop', not {unaligned!r}.")
    fields = raw.get("fields", {})
    if not isinstance(fields, dict) or not all(isinstance(k, str) and isinstance(v, str) for k, v in fields.items()):
        raise CollectError("items.fields must map fields to column names, such as {prompt: question}.")
    for name in fields:
        if not re.fullmatch(r"[a-z_]+", name):
            raise CollectError(f"items.fields: {name!r} is not a field name (small letters and _ only).")
    shared = raw.get("shared", False)
    if not isinstance(shared, bool):
        raise CollectError("items.shared must be true or false.")
    optional = ("language", "replicate", "group", "system", "cluster")
    texts = {k: None if raw.get(k) is None else _text(raw[k], f"items.{k}") for k in optional}
    limit = None if raw.get("limit") is None else _whole(raw["limit"], "items.limit", 1)
    path = _text(raw["path"], "items.path")
    return Items(
        path, form, _text(raw.get("id", "id"), "items.id"), **texts, fields=fields, limit=limit, shared=shared,
        unaligned=unaligned,
    )  # fmt: skip


def _judge(raw: Any, index: int, defaults: dict[str, Any]) -> Judge:
    where = f"judges[{index}]"
    if isinstance(raw, str):
        raw = {"model": raw}
    raw = {**defaults, **_section(raw, where, _JUDGE, needed=("model",))}
    model = _text(raw["model"], f"{where}.model")
    if "/" not in model:
        raise CollectError(f"{where}.model must be provider/model, such as openai/gpt-4o; this is {model!r}.")
    out: dict[str, Any] = {"name": _text(raw.get("name", model.split("/")[-1]), f"{where}.name"), "model": model}
    if raw.get("base_url") is not None:
        out["base_url"] = _text(raw["base_url"], f"{where}.base_url")
        if not re.match(r"https?://[^@\s]+$", out["base_url"]):
            raise CollectError(f"{where}.base_url must be a plain http(s) address without a user or password in it.")
    for key in ("settings", "model_args"):
        value = {**defaults.get(key, {}), **(raw.get(key) or {})} if isinstance(raw.get(key) or {}, dict) else None
        if value is None:
            raise CollectError(f"{where}.{key} must be a mapping.")
        out[key] = value
    out["settings"] = {"temperature": 0, **out["settings"]}
    owned = {"max_retries", "timeout", "attempt_timeout", "max_connections", "adaptive_connections", "batch", "cache"}
    if owned & set(out["settings"]):
        raise CollectError(
            f"{where}.settings: {', '.join(sorted(owned & set(out['settings'])))} is set by the run itself; use the "
            "judge's own keys retries, timeout, concurrency and batch."
        )
    for key in ("concurrency", "retries", "give_up_after"):
        if key in raw:
            out[key] = _whole(raw[key], f"{where}.{key}", 0 if key == "retries" else 1)
    for key in ("requests_per_minute", "tokens_per_minute", "timeout", "backoff", "max_wait"):
        if raw.get(key) is not None:
            out[key] = _positive(raw[key], f"{where}.{key}")
    if not isinstance(raw.get("batch", False), bool):
        raise CollectError(f"{where}.batch must be true or false.")
    out["batch"] = raw.get("batch", False)
    if out["batch"]:  # a batch is answered within a day, and holds many calls
        out.setdefault("concurrency", 1000)
        out.setdefault("timeout", 90_000.0)
    if raw.get("price") is not None:
        out["price"] = parse_price(raw["price"], f"{where}.price")
    return Judge(**out)


def parse_price(raw: Any, where: str) -> tuple[float, float]:
    """Dollars per million input and output tokens: {input: 2.5, output: 10}."""
    raw = _section(raw, where, {"input", "output"}, needed=("input", "output"))
    for value in raw.values():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e6:
            raise CollectError(f"{where}: prices are dollars per million tokens, not {value!r}.")
    return float(raw["input"]), float(raw["output"])


def _no_secrets(raw: Any, where: str) -> None:
    """Keys come from the environment: a plan is stored in the run folder and shared."""
    if isinstance(raw, dict):
        for key, value in raw.items():
            if isinstance(key, str) and SECRET.search(key):
                raise CollectError(
                    f"{where}: {key} does not belong in a plan. Keys come from the environment only "
                    "(OPENAI_API_KEY, ANTHROPIC_API_KEY, NAME_API_KEY for openai-api/NAME/...)."
                )
            _no_secrets(value, f"{where}.{key}" if where != "the plan" else str(key))
    elif isinstance(raw, list):
        for i, value in enumerate(raw):
            _no_secrets(value, f"{where}[{i}]")


def _text(value: Any, where: str) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int)) or not str(value).strip():
        raise CollectError(f"{where} must be a text, not {value!r}.")
    return str(value)


def _whole(value: Any, where: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= 10**9:
        raise CollectError(f"{where} must be a whole number of at least {least}, not {value!r}.")
    return value


def _positive(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e12:
        raise CollectError(f"{where} must be a positive number, not {value!r}.")
    return float(value)


def _unique(names: list[str], word: str) -> None:
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise CollectError(f"The {word} name {', '.join(twice)} stands twice. Give each {word} a name of its own.")
