"""Fixtures shared by all tests: the released scores where they are at hand, and the command line."""

# ruff: noqa: E402
from __future__ import annotations

import gc
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# Before NumPy is loaded, here and in the workers: threads that wait for each other burn more than the work itself.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
gc.set_threshold(100_000, 20, 20)  # thousands of tests are many objects to look through, and few of them are rubbish
# Files of tests lie in memory where there is room: thousands of small ones are confirmed, renamed and removed.
if os.path.isdir("/dev/shm") and shutil.disk_usage("/dev/shm").free > 4 * 2**30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", "/dev/shm")

import pytest
from components import PACKAGES, find

import polyjudge.second as pj
import stand_in

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("POLYJUDGE_SHARED") or ROOT.parent / "shared")
NO_SHARED = "needs the released scores"


def shared_file(name: str) -> Path:
    """A file of the released data (POLYJUDGE_SHARED, or ../shared). Tests that need it skip where it is absent."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{NO_SHARED}: {path} is not there")
    return path


def need(component: str) -> str:
    """Where a component of the machine is. Tests that need it skip where it is absent, and name its package."""
    path = find(component)
    if path is None:
        pytest.skip(f"needs {component} (Debian: {PACKAGES[component]})")
    return path


def need_tools() -> Path:
    """What the eval tools wrote (tests/eval_tools). Tests that need it skip where `make tools` was not run."""
    folder = ROOT / ".venv-tools" / "runs"
    if not folder.exists():
        pytest.skip("needs the files of the eval tools (.venv-tools/runs): make tools")
    return folder


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """`-n auto`: one more than there are cores. A worker waits a sixth of its time, for answers and children."""
    return 1 + (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


TOGETHER = {
    f"tests/{name}.py": what
    for what, names in {
        "Inspect": (
            "collect/test_collect_judges",
            "collect/test_collect_logs",
            "collect/test_inspect_scores",
            "read/test_formats",
            "read/test_never_wrong",
        ),
        "wheel": ("test_wheel", "cli/test_ci_outputs"),
    }.items()
    for name in names
}
"""Files that one worker runs: to load or to build what they need takes seconds."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """`--dist loadfile`: files, or groups of files, are handed out as wholes."""
    from xdist.scheduler import LoadFileScheduling

    class Files(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return TOGETHER.get(file, file)

    return Files(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests begin, so that no worker waits at the end."""
    slow = set()
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
        if item.get_closest_marker("slow"):
            slow.add(item.path)
    items.sort(key=lambda item: item.path not in slow)
    gc.freeze()  # what was collected stays to the end: nobody need look through it again


def pytest_unconfigure() -> None:
    gc.unfreeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip for want of a component before any fixture works for nothing."""
    for mark, component in {"browser": "chromium", "r": "r", "postgres": "postgres", "spark": "java"}.items():
        if item.get_closest_marker(mark):
            need(component)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, driven by Playwright."""
    path = need("chromium")
    from playwright.sync_api import sync_playwright

    # A window prepares pages behind its address bar, a third of the work of opening ours. (The switch replaces the list
    # of Playwright; the other names are those of it that bear on a page from a file.)
    off = "WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup"
    off += ",AvoidUnnecessaryBeforeUnloadCheckSync,DestroyProfileOnBrowserClose,OptimizationHints,PaintHolding"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", f"--disable-features={off}"])
        yield browser
        browser.close()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """With POLYJUDGE_NO_SKIP a skip is a failure; for want of released data only where POLYJUDGE_SHARED names them."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not os.environ.get("POLYJUDGE_NO_SKIP") or reporter is None:
        return
    skipped = [str(report.longrepr) for report in reporter.stats.get("skipped", [])]
    if any(NO_SHARED not in why or os.environ.get("POLYJUDGE_SHARED") for why in skipped):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout. Tests that ask for it are of the group "wheel", so that it is built once."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder, ROOT]
    done = subprocess.run(pip, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("polyjudge-*.whl")
    return built


@pytest.fixture(scope="session")
def devai_path() -> Path:
    return shared_file("data/devai/run_level_scores.csv")


@pytest.fixture(scope="session")
def devai(devai_path: Path) -> pj.Panel:
    """The DevAI panel as the paper reads it: 55 tasks x 8 languages x 6 judges x 3 frameworks as replicates."""
    return pj.read_panel(devai_path, replicate="framework")


@pytest.fixture(scope="session")
def like(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A released file, or where it is absent a generated one of the same layout (`stand_in`)."""
    makers = {
        "data/devai/run_level_scores.csv": stand_in.devai,
        "data/devai/instances.jsonl": stand_in.instances,
        "data/devai/human_labels.csv": stand_in.human_labels,
        "data/mrewardbench/human_anchor_sample.csv": stand_in.anchor_sample,
    }

    def find(name: str) -> Path:
        path = SHARED / name
        return path if path.exists() else makers[name](tmp_path_factory.mktemp("like") / path.name)

    return find


@pytest.fixture(scope="session")
def devai_like_path(like: Callable[[str], Path]) -> Path:
    return like("data/devai/run_level_scores.csv")


@pytest.fixture(scope="session")
def devai_like(devai_like_path: Path) -> pj.Panel:
    return pj.read_panel(devai_like_path, replicate="framework")


@pytest.fixture(scope="session")
def anchor_like_path(like: Callable[[str], Path]) -> Path:
    return like("data/mrewardbench/human_anchor_sample.csv")


@pytest.fixture(scope="session")
def published() -> dict[str, Any]:
    """The published DevAI numbers."""
    return json.loads(shared_file("published/devai.json").read_text())


@pytest.fixture(scope="session")
def published_mrewardbench() -> dict[str, Any]:
    return json.loads(shared_file("published/mrewardbench.json").read_text())


@pytest.fixture
def read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inspect logs and workbooks read in this process: one of its own for each loads Inspect, or at least Python."""
    from polyjudge.second.panel.errors import PanelError
    from polyjudge.second.read import child

    def here(kind: str, given: list[str], shown: str, **_: Any) -> Iterator[Any]:
        logs = ([path, row] for path in given for row in child.inspect_rows(path))
        try:
            yield from map(json.loads, map(json.dumps, child._excel(*given) if kind == "excel" else logs))
        except Exception as error:
            raise PanelError(f"{shown} cannot be read: {error}.") from None

    for name in ("inspect_logs", "excel"):
        monkeypatch.setattr(f"polyjudge.second.read.formats.{name}.in_child", here)


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
        from polyjudge.second.cli import main

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
