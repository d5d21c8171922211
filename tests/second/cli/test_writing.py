"""What commands do to the files around them: nothing, except where they were told to write."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.panel.files import MARKER

Run = Callable[..., Any]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with scores in several forms, and a calibrator."""
    panel, _ = pj.simulate_panel(tasks=6, languages=["en", "de"], judges=["a", "b"], seed=1)
    frame = panel.to_long().drop(columns="replicate", errors="ignore")
    (tmp_path / "data").mkdir()
    frame.to_csv(tmp_path / "scores.csv", index=False)
    frame.to_parquet(tmp_path / "data" / "scores.parquet", index=False)
    pj.ConsensusCalibrator().fit(panel).save(tmp_path / "cal.json")
    return tmp_path


def everything(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("command", [("apply", "CAL"), ("calibrate",)])
@pytest.mark.parametrize("more", [(), ("--overwrite",)])
def test_a_folder_of_others_is_left_alone(
    place: Path, cli: Run, command: tuple[str, ...], more: tuple[str, ...]
) -> None:
    mine = place / "mine"
    (mine / ".git").mkdir(parents=True)
    for name in ("table.parquet", "id_rsa", "x.crc", ".git/HEAD"):
        (mine / name).write_text("mine")
    before = everything(place)
    arguments = [place / "cal.json" if a == "CAL" else a for a in command]
    done = cli(*arguments, place / "scores.csv", "-o", mine, *more)
    assert done.returncode == 2
    assert "id_rsa" in done.stderr
    assert everything(place) == before


def test_a_folder_of_scores_is_written_again(place: Path, cli: Run) -> None:
    for column in ("one", "two"):
        done = cli("apply", place / "cal.json", place / "scores.csv", "-o", place / "out", "--column", column)
        assert done.returncode == 0, done.stderr
        assert column in pd.read_parquet(place / "out" / "part-0.parquet")
    assert json.loads((place / "out" / MARKER).read_text())["maker"] == "scores"


def test_a_report_folder_holds_one_run(place: Path, cli: Run) -> None:
    first = cli("audit", place / "scores.csv", "-o", place / "out", "--resamples", 100, "--figures", "svg")
    assert first.returncode == 0, first.stderr
    assert (place / "out" / "figures").is_dir()
    again = cli("audit", place / "scores.csv", "-o", place / "out", "--resamples", 100)
    assert again.returncode == 0, again.stderr
    assert not (place / "out" / "figures").exists()
    before = everything(place)
    other = cli("systems", place / "scores.csv", "-o", place / "out")
    assert other.returncode == 2
    assert "audit" in other.stderr
    assert everything(place) == before


@pytest.mark.parametrize(
    "command",
    [
        ("calibrate", "scores.csv", "-o", "scores.csv"),
        ("calibrate", "scores.csv", "--save", "scores.csv"),
        ("calibrate", "scores.csv", "-o", "new.csv", "--save", "scores.csv"),
        ("calibrate", "scores.csv", "-o", "same.json", "--save", "same.json"),
        ("calibrate", "*.csv", "-o", "scores.csv"),
        ("calibrate", "sc*.csv", "-o", "scored.csv"),
        ("calibrate", "data", "-o", "data"),
        ("calibrate", "data", "-o", "data/calibrated.parquet"),
        ("calibrate", "data/scores.parquet", "-o", "data"),
        ("calibrate", "link.csv", "-o", "scores.csv"),
        ("calibrate", "hard.csv", "-o", "scores.csv"),
        ("apply", "cal.json", "scores.csv", "-o", "cal.json"),
        ("apply", "cal.json", "scores.csv", "-o", "hard.csv"),
        ("calibrate", "scores.csv", "--extend", "cal.json", "--save", "cal.json"),
        ("audit", "scores.csv", "-o", "."),
        ("anchor", "scores.csv", "gold.csv", "-o", "gold.csv"),
        ("drift", "cal.json", "scores.csv", "-o", "cal.json"),
        ("collect", "plan.yaml", "-o", "run", "--export", "plan.yaml"),
    ],
)
def test_no_output_takes_the_place_of_an_input(
    place: Path, cli: Run, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    (place / "link.csv").symlink_to("scores.csv")
    os.link(place / "scores.csv", place / "hard.csv")
    for name in ("gold.csv", "plan.yaml"):
        (place / name).write_text("kept\n")
    monkeypatch.chdir(place)
    before = everything(place)
    done = cli(*command)
    assert done.returncode == 2
    assert "Choose" in done.stderr
    assert everything(place) == before


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (("audit", "scores.csv", "--resamples", 100, "--junit", "mine"), "mine"),
        (("calibrate", "scores.csv", "--save", "mine"), "mine"),
        (("apply", "cal.json", "scores.csv", "-o", "mine.csv"), "mine.csv"),
        (("demo", "--write", "mine.csv"), "mine.csv"),
    ],
)
def test_a_file_that_is_not_ours_is_replaced_only_when_asked(
    place: Path, cli: Run, monkeypatch: pytest.MonkeyPatch, command: tuple[object, ...], name: str
) -> None:
    monkeypatch.chdir(place)
    (place / name).write_text("of the user\n")
    before = everything(place)
    done = cli(*command)
    assert done.returncode == 2
    assert "--overwrite" in done.stderr
    assert everything(place) == before
    assert cli(*command, "--overwrite").returncode == 0
    assert (place / name).read_text() != "of the user\n"
    if name == "mine":  # JSON and XML say whose they are: replaced the next time without asking
        assert cli(*command).returncode == 0


def test_an_audit_that_is_compared_is_not_written_over(place: Path, cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    for folder in ("a", "b"):
        assert cli("audit", "scores.csv", "--resamples", 100, "-o", folder).returncode == 0
    before = everything(place)
    for old, new in (("a", "b"), ("a/audit.json", "b/audit.json")):
        assert cli("drift", old, new, "--junit", "a/audit.json", "--overwrite").returncode == 2
    assert everything(place) == before


def test_the_sample_is_written_again(tmp_path: Path, cli: Run) -> None:
    for _ in range(2):
        assert cli("demo", "--write", tmp_path / "scores.csv").returncode == 0
