"""Saved calibrators: those of the first version open, and a file that is damaged, changed or nonsense is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polyjudge.second as pj
from polyjudge.second.calibrate.load import load_calibrator
from polyjudge.second.panel.errors import CalibratorError
from refusals import refused

FIRST = Path(__file__).resolve().parents[1] / "first_version" / "calibrator.json"
Change = Callable[[dict[str, Any]], Any]


@pytest.fixture(scope="module")
def panel() -> pj.Panel:
    return pj.simulate_panel(tasks=8, languages=["en", "de", "fr"], judges=["a", "b"], seed=1)[0]


def test_a_file_of_the_first_version_opens(panel: pj.Panel) -> None:
    """Written by version 0.1 from the same panel: it has no checksum, and says what a fit says today."""
    old = load_calibrator(FIRST)
    new = pj.ConsensusCalibrator().fit(panel)
    np.testing.assert_allclose(old.interaction_, new.interaction_, atol=1e-9)
    np.testing.assert_allclose(old.transform(panel).scores, new.transform(panel).scores, atol=1e-9)


def test_a_changed_file_is_told(panel: pj.Panel, tmp_path: Path) -> None:
    path = tmp_path / "cal.json"
    pj.ConsensusCalibrator().fit(panel).save(path)
    load_calibrator(path)
    data = json.loads(path.read_text())
    data["grand_mean"] += 1
    path.write_text(json.dumps(data))
    with refused(CalibratorError, "cal.json", "checksum"):
        load_calibrator(path)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda d: d["counts"][0].__setitem__(0, -3), ("counts",)),
        (lambda d: d["counts"][0].__setitem__(0, 2.5), ("counts",)),
        (lambda d: d["range"].reverse(), ("range",)),
        (lambda d: d["interaction"][0].__setitem__(0, 1e6), ("interaction",)),
        (lambda d: d["judge_weights"].__setitem__(0, -1.0), ("weights",)),
        (lambda d: d.update(shrunk=7), ("shrinkage",)),
        (lambda d: d["se"][0].__setitem__(0, -1.0), ("standard error",)),
        (lambda d: d.update(kind="spell"), ("kind", "spell")),
        (lambda d: d.update(kind=["list"]), ("kind", "list")),
        (lambda d: d.update(version=2), (2, 1)),
        (lambda d: d.update(version=None), (None, 1)),
        (lambda d: d.update(languages=None), ("languages",)),
    ],
)
def test_nonsense_is_refused(tmp_path: Path, change: Change, named: tuple[object, ...]) -> None:
    data = json.loads(FIRST.read_text())
    change(data)
    path = tmp_path / "cal.json"
    path.write_text(json.dumps(data))
    with refused(CalibratorError, "cal.json", *named):
        load_calibrator(path)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("9" * 5000, "JSON"),
        ('{"format": "polyjudge-calibrator", "version": ' + "1" * 5000 + "}", "JSON"),
        ("[" * 100_000, "JSON"),
        ("\xff", "JSON"),
        ("", "JSON"),
        ("[1, 2", "JSON"),
        ("\x80\x04\x95pickle", "JSON"),
        ("null", "format"),
    ],
)
def test_what_is_no_calibrator_is_refused(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "cal.json"
    path.write_bytes(text.encode("latin-1"))
    with refused(CalibratorError, "cal.json", why):
        load_calibrator(path)


def test_a_folder_is_no_calibrator(tmp_path: Path) -> None:
    with refused(CalibratorError, tmp_path.name, "file"):
        load_calibrator(tmp_path)
