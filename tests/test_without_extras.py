"""What a plain installation can do: the packages that `make demo` installs, and no extra."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

import pytest

from common import ROOT
from polyjudge.cli import COMMANDS

COMMANDS_RUN = """
import contextlib, io, json, sys
from polyjudge.cli import main
ends = []
for words in json.loads(sys.argv[1]):
    sys.argv = ["polyjudge", *words]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            ends.append([end.code, out.getvalue(), err.getvalue()])
print(json.dumps(ends))
"""


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with links to the packages of requirements/run.txt alone."""
    folder = tmp_path_factory.mktemp("plain")
    for package in re.findall(r"^([\w.-]+)==", (ROOT / "requirements" / "run.txt").read_text(), re.M):
        try:
            installed = files(package) or []
        except PackageNotFoundError:  # of another system
            continue
        for top in {file.parts[0] for file in installed if file.parts[0] != ".."}:
            source = Path(str(next(f for f in installed if f.parts[0] == top).locate())).parents
            link = folder / top
            depth = len(next(f for f in installed if f.parts[0] == top).parts) - 1
            if not link.exists():
                link.symlink_to(source[depth] / top)
    return folder


def run_commands(plain: Path, folder: Path, commands: list[list[str]]) -> list[tuple[int, str, str]]:
    path = os.pathsep.join([str(ROOT / "src"), str(plain)])
    words = [sys.executable, "-S", "-c", COMMANDS_RUN, json.dumps(commands)]
    process = subprocess.run(
        words, env={**os.environ, "PYTHONPATH": path}, cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert process.returncode == 0, process.stderr
    ends: Any = json.loads(process.stdout)
    return [(code or 0, out, err) for code, out, err in ends]


def test_every_command_has_help_without_extras(plain: Path, tmp_path: Path) -> None:
    ends = run_commands(plain, tmp_path, [[*key.split(), "--help"] for key in COMMANDS])
    for key, (code, out, err) in zip(COMMANDS, ends, strict=True):
        assert (code, err) == (0, ""), key
        assert f"polyjudge {key}" in out


def test_collecting_names_the_extra_that_is_missing(plain: Path, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text("judges: []")
    commands = [["collect", "plan.yaml", "-o", "run"], ["collect", "plan.yaml", "--dry-run"], ["collect", "plan.yaml"]]
    for (code, _, err), words in zip(
        run_commands(plain, tmp_path, commands), ["polyjudge[collect]"] * 2 + ["-o run/"], strict=True
    ):
        assert code == 2
        assert words in err
        assert "internal error" not in err
    assert not (tmp_path / "run").exists()
