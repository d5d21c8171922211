"""The skill for assistants: every command in it runs as written, and names what the JSON has."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from polyjudge.second.skill import skill

COMMANDS = re.findall(r"\| `(polyjudge [^`]+)`", skill())


def test_it_is_printed() -> None:
    done = subprocess.run([sys.executable, "-m", "polyjudge.second.skill"], capture_output=True, text=True, check=True)
    assert done.stdout == skill()
    assert done.stdout.startswith("---\nname: polyjudge\n")


def test_every_command_of_it_runs(
    cli: Callable[..., CompletedProcess[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli("demo", "--write", "scores.csv").returncode == 0
    assert len(COMMANDS) >= 10
    for command in COMMANDS:
        words = command.split()[1:]
        if words[0] == "systems":
            continue  # the sample has none; tests/questions/systems runs it
        done = cli(*words)
        assert done.returncode == 0, (command, done.stderr)


def test_the_fields_it_names_are_there(cli: Callable[..., CompletedProcess[str]], tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    cli("demo", "--write", path)
    found = json.loads(cli("audit", path, "--json", "--resamples", 100).stdout)
    assert {"schema", "findings", "advice"} <= set(found)
    assert {"code", "severity", "values", "text"} <= set(found["findings"][0])
    assert {"verdict", "uses"} <= set(found["advice"])
