"""A manifest of labels that is damaged is refused, wherever the damage is."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from material import of_json

import polyjudge.second as pj
from polyjudge.second.panel.errors import PolyjudgeError
from polyjudge.second.questions.label.making import make
from polyjudge.second.read.label_folder import MANIFEST, read_label_folder, read_manifest


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    panel, _ = pj.simulate_panel(tasks=20, languages=["en", "de"], judges=["a", "b"], seed=1)
    folder = tmp_path_factory.mktemp("labels") / "made"
    make(panel, output=folder, per_language=6)
    return read_manifest(folder)


@pytest.mark.parametrize(
    ("part", "value"),
    [("items", {}), ("rounds", ""), ("design", {}), ("shown", {"x": {"item": "y"}}), ("id", 1), ("ask", {"kind": 1})],
)
def test_a_damaged_manifest_is_refused(manifest: dict[str, Any], part: str, value: Any, tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text(json.dumps({**manifest, part: value}))
    with pytest.raises(PolyjudgeError, match=MANIFEST):
        read_manifest(tmp_path)


def test_no_damage_breaks_the_reading(manifest: dict[str, Any], tmp_path: Path) -> None:
    rng = random.Random(5)
    for _ in range(300):
        (tmp_path / MANIFEST).write_text(json.dumps(of_json(rng, manifest)))
        try:
            read_label_folder(tmp_path)
        except PolyjudgeError:
            continue
