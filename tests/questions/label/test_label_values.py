"""The values of labelling: see `values`."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge as pj
from values import Cases, simulated

CASES = Cases(__file__)


@CASES
def label_made() -> Any:
    with TemporaryDirectory() as folder:
        return pj.label.make(simulated(60, 2, 3, systems=2, seed=33), output=Path(folder) / "labels", per_language=16)


@CASES
def label_returned() -> Any:
    panel = pj.Panel.from_array(np.random.default_rng(34).integers(1, 6, (50, 2, 3)), declared_range=(1, 5))
    with TemporaryDirectory() as name:
        folder = Path(name) / "labels"
        pj.label.make(panel, output=folder, per_language=12)
        for number, sheet in enumerate(sorted((folder / "sheets").glob("*.csv"))[:3]):
            table = pd.read_csv(sheet, dtype=str)
            table["label"] = [str(1 + (i + number) % 5) if i % 7 else None for i in range(len(table))]
            table.to_csv(sheet, index=False)
        return pj.label.read(folder)


@CASES
def label_pairs() -> Any:
    panel = simulated(40, 2, 3, seed=69)
    items = pd.DataFrame({"task": panel.tasks, "prompt": "p", "response_a": "a", "response_b": "b"})
    with TemporaryDirectory() as folder:
        place = Path(folder) / "labels"
        return pj.label.make(panel, items, place, per_language=30, ask="pairs", annotators=3, link=True)


@CASES
def label_more() -> Any:
    panel = pj.Panel.from_array(np.random.default_rng(70).integers(1, 6, (50, 2, 3)), declared_range=(1, 5))
    items = pd.DataFrame({"task": panel.tasks, "prompt": "p", "response": [f"r{t}" for t in panel.tasks]})
    with TemporaryDirectory() as name:
        folder = Path(name) / "labels"
        pj.label.make(panel, items, folder, per_language=40, annotators=1, levels=3)
        for sheet in sorted((folder / "sheets").glob("*.csv")):
            table = pd.read_csv(sheet, dtype=str)
            table["label"] = [str(1 + 2 * (i % 3)) for i in range(len(table))]
            table.to_csv(sheet, index=False)
        return pj.label.make(panel, items, folder, more=True, within=0.5)


@pytest.mark.parametrize("name", CASES)
def test_values_are_as_they_were(name: str) -> None:
    assert CASES.changed(name) == []
