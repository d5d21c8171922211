"""Probes as a user makes and reads them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Run = Callable[..., Any]


def test_probes_are_made_and_read(cli: Run, tmp_path: Path) -> None:
    texts = json.loads((Path(__file__).parents[2] / "collect" / "probe_texts.json").read_text(encoding="utf-8"))
    rows = [
        {"id": f"t{t}", "language": language, "prompt": "?", "response": texts[language][t % 2] * (1 + t // 2)}
        for language in ("English", "Thai")
        for t in range(12)
    ]
    items = tmp_path / "items.jsonl"
    items.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), encoding="utf-8")
    done = cli("probe", "make", items, "-o", tmp_path / "probes.jsonl", "--tasks", 10)
    assert done.returncode == 0, done.stderr
    made = [json.loads(line) for line in (tmp_path / "probes.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(made) % (10 * 2) == 0
    rng = np.random.default_rng(1)
    lines = ["task,language,judge,system,score"]
    for row in made:
        for judge in ("sees", "blind", "sees too"):
            fall = 0 if judge == "blind" else 10 * row["severity"]
            lines.append(f"{row['id']},{row['language']},{judge},{row['version']},{70 - fall + rng.normal(0, 4):.2f}")
    (tmp_path / "scores.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    result = json.loads(cli("probe", "read", tmp_path / "scores.csv", "--json").stdout)
    sight = {(c["language"], c["judge"]): c["sight"] for c in result["cells"]}
    assert sight["Thai", "blind"] == "blind"
    assert sight["Thai", "sees"] == sight["English", "sees too"] == "sees"
    assert cli("probe", "make", items).returncode == 2
