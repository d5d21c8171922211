"""Fuzz plans and items: any text as YAML or JSON, and damaged copies of a real plan with its items."""

import json
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["polyjudge"]):
    import polyjudge as pj
    from polyjudge.collect import load_plan
    from polyjudge.collect.items import load_items

import damage
from harness import fuzz

FOLDER = Path(tempfile.mkdtemp())
PLAN = {
    "languages": ["en", "ar"],
    "items": {"path": "items.jsonl"},
    "rubric": {"kind": "pair", "scale": [1, 5]},
    "judges": [
        {"model": "openai/gpt-4o", "settings": {"temperature": 0}},
        {"name": "b", "model": "openai/gpt-4o-mini"},
    ],
}
ITEMS = [
    {"id": i, "language": language, "prompt": f"p{i}", "chosen": f"c{i}", "rejected": f"r{i}"}
    for language in ("en", "ar")
    for i in range(3)
]


def target(data: atheris.FuzzedDataProvider) -> None:
    kind = data.ConsumeIntInRange(0, 2)
    plan = FOLDER / data.PickValueInList(["plan.json", "plan.yaml"])
    plan.write_text(json.dumps(PLAN), encoding="utf-8")
    if kind == 0:
        plan.write_bytes(data.ConsumeBytes(2000))
    elif kind == 1:
        plan.write_text(json.dumps(damage.of_data(data, PLAN)), encoding="utf-8", errors="surrogatepass")
    rows = damage.of_data(data, ITEMS) if kind == 2 else ITEMS
    items = "".join(json.dumps(row) + "\n" for row in rows)
    (FOLDER / "items.jsonl").write_text(items, encoding="utf-8", errors="surrogatepass")
    load_items(load_plan(plan))


fuzz(target, (pj.PolyjudgeError,))
