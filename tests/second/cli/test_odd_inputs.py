"""Pipes and devices in the place of any file: no command waits for them, and none breaks."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from material import READS, filled, write_world

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plain")
    usual = {"column": "judge", "system column": "system"}
    write_world(folder, lambda axis: usual.get(axis, f"plain {axis}"))
    (folder / "audit").mkdir()
    (folder / "audit" / "audit.json").write_text('{"command": "audit", "schema": 2}')
    return folder


@pytest.mark.skipif(os.name == "nt", reason="POSIX devices")
@pytest.mark.parametrize("line", READS.strip().splitlines())
def test_no_input_is_waited_for(line: str, plain: Path, cli: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    places = {"SCORES": plain / "scores.csv", "PLAIN": plain, "OUT": tmp_path / "out"}
    for what in (tmp_path / "pipe", "/dev/zero"):
        done = cli(*filled(line.split(), {**places, "WHAT": what}))
        assert done.returncode == (0 if "--metadata" in line else 2), done.stderr  # the paper leaves out what it lacks
        assert Path(what).name in done.stdout + done.stderr
    assert os.listdir(tmp_path) == ["pipe"]
