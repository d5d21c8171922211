"""What the tests of collecting share: a judge on loopback, and plans that ask it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.modules.pop("judge_server", None)  # another room may have one of this name
from judge_server import Running, running  # noqa: E402


@pytest.fixture(scope="session")
def _server() -> Iterator[Running]:
    with running() as server:
        yield server


@pytest.fixture
def server(_server: Running, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Running:
    """The judge, as new."""
    _server.post("begin")
    monkeypatch.setenv("LOCAL_API_KEY", "local-key-of-the-test")
    monkeypatch.setenv("INSPECT_LOG_LEVEL", "critical")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return _server
