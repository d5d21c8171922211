"""Fixtures shared by all tests: released scores where they are at hand, a browser, the command line."""

# ruff: noqa: E402

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Before NumPy is loaded, here and in the workers: threads that wait for each other burn more than the work itself.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
if os.path.isdir("/dev/shm") and shutil.disk_usage("/dev/shm").free > 4 * 2**30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", "/dev/shm")

import pytest

from common import NO_SHARED, Run, need, shared_file

SLOW_ROOMS = {"collect", "test_docs.py", "test_evidence.py"}
"""Folders and files whose tests start servers, run every block of the docs, or read all released scores."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """`-n auto`: one more than there are cores. A worker waits a sixth of its time, for answers and children."""
    return 1 + (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests begin, so that no worker waits at the end."""
    for item in items:
        if SLOW_ROOMS.intersection((item.path.name, item.path.parent.name)):
            item.add_marker("slow")
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip for want of a component before any fixture works for nothing."""
    for mark, component in {"browser": "chromium", "postgres": "postgres", "spark": "java", "lme4": "lme4"}.items():
        if item.get_closest_marker(mark):
            need(component)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """With POLYJUDGE_NO_SKIP a skip is a failure; for want of released data only where POLYJUDGE_SHARED names them."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not os.environ.get("POLYJUDGE_NO_SKIP") or reporter is None:
        return
    skipped = [str(report.longrepr) for report in reporter.stats.get("skipped", [])]
    if any(NO_SHARED not in why or os.environ.get("POLYJUDGE_SHARED") for why in skipped):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, driven by Playwright."""
    path = need("chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def devai_path() -> Path:
    return shared_file("data/devai/run_level_scores.csv")


@pytest.fixture(scope="session")
def devai(devai_path: Path) -> Any:
    """The DevAI panel as the paper reads it: 55 tasks x 8 languages x 6 judges x 3 frameworks as replicates."""
    from polyjudge import read_panel

    return read_panel(devai_path, replicate="framework")


@pytest.fixture(scope="session")
def published() -> dict[str, Any]:
    """The published DevAI numbers."""
    return json.loads(shared_file("published/devai.json").read_text())


@pytest.fixture(scope="session")
def published_mrewardbench() -> dict[str, Any]:
    return json.loads(shared_file("published/mrewardbench.json").read_text())


@pytest.fixture
def run_cli() -> Run:
    """Run `polyjudge ARGS` as a user does, in a process of its own."""

    def run(*args: object, **options: Any) -> subprocess.CompletedProcess[str]:
        options = {"timeout": 120, "capture_output": True, "text": True, **options}
        return subprocess.run([sys.executable, "-m", "polyjudge", *map(str, args)], **options)

    return run


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
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
