"""A key comes from the environment, goes to its own service, and is written nowhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from collect_plans import write_plan
from judge_server import Running

from polyjudge.collect.run import collect


def test_a_key_is_written_nowhere(tmp_path: Path, server: Running, capfd: pytest.CaptureFixture[str]) -> None:
    plan = write_plan(tmp_path, server.url, tasks=2)
    collect(plan, output=tmp_path / "run")
    key = os.environ["LOCAL_API_KEY"].encode()
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or key not in path.read_bytes(), path
    said = capfd.readouterr()
    assert key.decode() not in said.out + said.err
