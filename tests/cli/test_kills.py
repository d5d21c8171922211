"""Commands that are killed at random moments leave the old output or the new one at its place. More: make hostile."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from attempts import Bench
from killing import kills
from material import write_world


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_a_kill_at_any_moment_leaves_the_old_or_the_new(tmp_path: Path) -> None:
    usual = {"column": "judge", "system column": "system"}
    write_world(tmp_path / "plain", lambda axis: usual.get(axis, f"plain {axis}"))
    (tmp_path / "work").mkdir()
    bench = Bench(tmp_path / "work")
    assert kills(bench, tmp_path / "plain", random.Random(3), 10, real=True) == 10
    assert bench.findings == []
