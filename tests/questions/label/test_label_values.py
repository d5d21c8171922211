"""The values of labelling: see `values`."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polyjudge as pj
from polyjudge.questions.label.making import labels_next
from polyjudge.read.label_folder import read_manifest
from values import Cases, Said, check, simulated

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
            table["skip"] = ["hard" if i == 7 and number < 2 else None for i in range(len(table))]
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
def label_all() -> Any:
    """Fewer items than were asked for; every answer is back, one of them twice."""
    panel = pj.Panel.from_array(np.random.default_rng(71).integers(1, 6, (6, 2, 2)), declared_range=(1, 5))
    with TemporaryDirectory() as name:
        folder = Path(name) / "labels"
        made = pj.label.make(panel, output=folder, per_language=12, annotators=1)
        for sheet in (folder / "sheets").glob("*.csv"):
            table = pd.read_csv(sheet, dtype=str).assign(label="3")
            more = table.iloc[:2].assign(label=["4", "9"], item=[table["item"][0], "unknown"])
            pd.concat([table, more]).to_csv(sheet, index=False)
        return Said((made, pj.label.read(folder)))


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
        return pj.label.make(panel.select(judges=panel.judges[:2]), items, folder, more=True, within=0.5)


@CASES
def label_more_by_default() -> Any:
    panel = pj.Panel.from_array(np.random.default_rng(71).integers(1, 6, (400, 2, 3)), declared_range=(1, 5))
    with TemporaryDirectory() as name:
        folder = Path(name) / "labels"
        pj.label.make(panel, output=folder, per_language=30, annotators=1)
        for sheet in sorted((folder / "sheets").glob("*.csv")):
            table = pd.read_csv(sheet, dtype=str)
            table["label"] = [str(1 + i % 5) for i in range(len(table))]
            table.to_csv(sheet, index=False)
        return pj.label.make(panel, output=folder, more=True)


@CASES
def label_more_of_systems() -> Any:
    scores = np.random.default_rng(75).integers(1, 6, (30, 2, 2, 2))
    panel = pj.Panel.from_array(scores, systems=["x", "y"], declared_range=(1, 5))
    with TemporaryDirectory() as name:
        folder = Path(name) / "labels"
        pj.label.make(panel, output=folder, per_language=10, annotators=1)
        for sheet in (folder / "sheets").glob("*.csv"):
            table = pd.read_csv(sheet, dtype=str)
            table.assign(label=[str(1 + i % 5) for i in range(len(table))]).to_csv(sheet, index=False)
        return Said((pj.label.make(panel, output=folder, more=True, per_language=3),))


def test_without_labels_the_next_round_has_fifty() -> None:
    assert labels_next(simulated(12, 2, 2, seed=76), None, None) == 50


def written(panel: pj.Panel, items: Any, **options: Any) -> dict[str, Any]:
    """What stands in the files that `label make` writes."""
    with TemporaryDirectory() as name:
        folder = Path(name) / "labels"
        pj.label.make(panel, items, folder, **options)
        manifest = read_manifest(folder)
        tables = {part: pd.DataFrame(manifest.pop(part)).T for part in ("items", "shown")}
        sheets = {file.stem: pd.read_csv(file, dtype=str) for file in sorted((folder / "sheets").glob("*.csv"))}
        files = sorted(f for part in ("argilla", "label-studio") for f in (folder / part).iterdir())
        tools = {f"{f.parent.name} {f.name}": check(f.read_text()) for f in files}
        pages = {
            f.name: [line for line in f.read_text().splitlines() if line.count('"labels"')]
            for f in sorted((folder / "pages").iterdir())
        }
        tools |= {name: check(data) for name, data in pages.items()}
        assert all(pages.values())
        return {**manifest, **tables, "sheets": sheets, "tools": tools, "polyjudge": ""}


@CASES
def label_files_of_pairs() -> Any:
    panel = simulated(50, 3, 3, systems=3, scale="integer", seed=72)
    items = pd.DataFrame({"task": panel.tasks, "response_a": [f"a{t}" for t in panel.tasks], "response_b": "b"})
    items["prompt"] = [float("nan") if t.endswith("1") else t for t in panel.tasks]
    return written(panel, items, per_language=40, ask="pairs", annotators=2, link=True, rubric="Which?")


@CASES
def label_files_of_levels() -> Any:
    panel = pj.Panel.from_array(np.random.default_rng(73).integers(0, 2, (40, 2, 3)), languages=["de", "ar"])
    return written(panel, None, per_language=20, rubric={"de": "Gut?"}, overlap=0.5, repeats=0.2)


@CASES
def label_files_of_a_slider() -> Any:
    return written(
        pj.Panel.from_array(np.random.default_rng(74).integers(0, 101, (40, 2, 2, 3))), None, per_language=20
    )


@pytest.mark.parametrize("name", CASES)
def test_values_are_as_they_were(name: str) -> None:
    assert CASES.changed(name) == []
