"""Fixtures shared by all tests: the released scores where they are at hand, and the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import polyjudge as pj

SHARED = Path(__file__).resolve().parents[2] / "shared"


def shared_file(name: str) -> Path:
    """A file of ../shared. Tests that need it skip where it is absent; in CI that is a failure."""
    path = SHARED / name
    if not path.exists():
        message = f"needs the released scores: {path} is not there"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return path


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a skipped test is a failure: everything that tests need is installed there."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def devai_path() -> Path:
    return shared_file("data/devai/run_level_scores.csv")


@pytest.fixture(scope="session")
def devai(devai_path: Path) -> pj.Panel:
    """The DevAI panel as the paper reads it: 55 tasks x 8 languages x 6 judges x 3 frameworks as replicates."""
    return pj.read_panel(devai_path, replicate="framework")


@pytest.fixture(scope="session")
def published() -> dict[str, Any]:
    """The published DevAI numbers."""
    return json.loads(shared_file("published/devai.json").read_text())


@pytest.fixture(scope="session")
def published_mrewardbench() -> dict[str, Any]:
    return json.loads(shared_file("published/mrewardbench.json").read_text())


@pytest.fixture
def run_cli() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run `polyjudge ARGS` as a user does, in a process of its own."""

    def run(*args: object, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "polyjudge", *map(str, args)], capture_output=True, text=True, timeout=120, **options
        )

    return run


@pytest.fixture
def cli(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`polyjudge ARGS` inside this process: much faster than `run_cli`, the same code from `main` on."""

    def run(*args: object) -> subprocess.CompletedProcess[str]:
        from polyjudge.cli import main

        monkeypatch.setattr(sys, "argv", ["polyjudge", *map(str, args)])
        capsys.readouterr()
        code: Any = 0
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        captured = capsys.readouterr()
        return subprocess.CompletedProcess(sys.argv, int(code), captured.out, captured.err)

    return run
