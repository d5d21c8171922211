"""Plans that ask the judge on loopback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def write_plan(folder: Path, url: str, kind: str = "rating", *, tasks: int = 5, **more: Any) -> Path:
    """Items that carry the server's marks, and a plan that asks the server about them."""
    languages, judges = more.pop("languages", ["en", "th"]), more.pop("judges", ["ja", "jb"])
    judge = more.pop("judge", {})
    systems, requirements = more.pop("systems", [""]), more.pop("requirements", 3)
    rows = []
    for language in languages:
        for task in (f"t{i:04d}{system}" for i in range(tasks) for system in systems):
            row: dict[str, Any] = {
                "id": task[:5],
                "language": language,
                "prompt": f"Do {task}.",
                "subset": f"g{task[4]}",
            }
            row |= {"system": task[5:]} if task[5:] else {}
            if kind in ("pair", "compare"):
                row |= {part: f"Done [[{task} {language} {part}]]" for part in ("chosen", "rejected")}
            else:
                row["response"] = f"Done [[{task} {language} all]]"
            if kind == "checklist":
                row["requirements"] = [
                    {
                        "id": f"R{i}",
                        "type": "data",
                        "text": f"It does ((R{i})).",
                        "prerequisites": [f"R{i - 1}"] if i else [],
                    }
                    for i in range(requirements)
                ]
            rows.append(row)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    plan = {
        "name": "test",
        "languages": languages,
        "items": {"path": "items.jsonl", **({"system": "system"} if systems != [""] else {}), **more.pop("items", {})},
        "rubric": {"kind": kind, **more.pop("rubric", {})},
        "settings": {"max_retries": 3, "attempt_timeout": 20, "max_tokens": 100, **more.pop("settings", {})},
        "judges": [{"name": j, "model": f"openai-api/local/{j}", "base_url": url, **judge} for j in judges],
    }
    path = folder / "plan.yaml"
    path.write_text(json.dumps({**plan, **more}))
    return path
