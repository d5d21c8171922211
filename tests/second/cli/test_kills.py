"""Commands that are killed at random moments leave the old output or the new one at its place. More: make hostile."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_a_kill_at_any_moment_leaves_the_old_or_the_new(tmp_path: Path) -> None:
    """Each command is a fork of a process that has loaded all modules: a kill falls into its work, not its loading. As
    many kills as there are ways of writing."""
    command = [sys.executable, ROOT / "fuzz" / "pass.py", "--cases", "0", "--kills", "5", "--seed", "3"]
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 kills, 0 findings" in done.stdout
