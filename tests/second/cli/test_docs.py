"""The documentation: the site builds without a warning, and every code block on it runs."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import polyjudge.second as pj
from polyjudge.second.calibrate.methods import REGISTRY
from polyjudge.second.panel import arguments
from polyjudge.second.samples import sample_csv

pytestmark = pytest.mark.slow

Run = Callable[..., "subprocess.CompletedProcess[str]"]
ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("docs/*.md"), ROOT / "README.md"])
README = re.compile(r"<!-- demo: begin -->\n```text\n(.*?)```\n<!-- demo: end -->", re.DOTALL)
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

RESAMPLING = ("anchor", "audit", "compare", "gate", "systems")
FEW = 100


def blocks(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def commands(block: str) -> list[str]:
    """The lines after `$ `, with the lines that a backslash continues them by."""
    joined = re.sub(r"\\\n> ?", "", block)
    return [line[2:] for line in joined.splitlines() if line.startswith("$ ")]


def few_resamples(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Functions draw fewer resamples unless told; the options by which commands do. Asked is whether they run."""
    monkeypatch.setattr(arguments, "_signature", inspect.signature)  # else the fewer ones would be remembered
    for name in pj.__all__:
        defaults = getattr(getattr(getattr(pj, name), "__wrapped__", None), "__kwdefaults__", None) or {}
        if defaults.get("resamples", 0) > FEW:
            monkeypatch.setitem(defaults, "resamples", FEW)
    return ["--resamples", str(FEW)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the sample scores and a `polyjudge` command."""
    (tmp_path / "scores.csv").write_bytes(sample_csv())
    shim = tmp_path / ".bin" / "polyjudge"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m polyjudge "$@"\n')
    shim.chmod(0o755)
    return tmp_path


@pytest.fixture
def methods() -> Iterator[None]:
    """A page may register a method of its own: it must not stay for other tests. The package's own must."""
    importlib.import_module("polyjudge.second.paper.methods")  # else a page loads them, and they are gone after it
    before = dict(REGISTRY)
    yield
    REGISTRY.clear()
    REGISTRY.update(before)


@pytest.mark.usefixtures("methods", "read_here")
@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p) and p.name != "tutorial.md"], ids=lambda p: p.name)
def test_code_blocks_run(page: Path, folder: Path, cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python blocks of a page share their names, as in a notebook. Plain commands run here, others in bash. Other tests
    run the tutorial, a notebook."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", f"{folder / '.bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    quick = few_resamples(monkeypatch)
    names: dict[str, object] = {"__name__": page.stem}
    for kind, text in blocks(page):
        if kind == "python":
            exec(compile(text, page.name, "exec"), names)
            continue
        for command in commands(text):
            words = shlex.split(command, comments=True)
            if words[0] == "polyjudge" and not re.search(r"[|&;<>$]", command):
                done = cli(*words[1:], *(quick if words[1] in RESAMPLING and "--resamples" not in words else ()))
            else:
                done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=250, check=False)
            assert done.returncode in (0, 1), f"{page.name}: {command}\n{done.stderr}"
            assert done.returncode == 0 or "--fail-on" in command or "drift" in command, f"{page.name}: {command}"


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    build = [sys.executable, "-m", "zensical", "build", "--strict", "-f", "mkdocs.yml"]
    done = subprocess.run(build, cwd=tmp_path, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "site" / "index.html").exists()


def test_the_command_reference_is_up_to_date(tmp_path: Path) -> None:
    """`python docs/make_commands.py` writes it."""
    make = str(ROOT / "docs" / "make_commands.py")
    subprocess.run([sys.executable, make, str(tmp_path / "commands.md")], check=True)
    assert (ROOT / "docs" / "commands.md").read_text("utf-8") == (tmp_path / "commands.md").read_text("utf-8")


def test_the_readme_shows_what_the_demo_prints(cli: Run) -> None:
    """`make readme` puts it there."""
    shown = README.search((ROOT / "README.md").read_text("utf-8"))
    assert shown
    printed = {line.rstrip() for line in cli("demo").stdout.splitlines()}
    lines = [line for line in shown[1].splitlines() if line.strip() != "..."]
    assert len(lines) > 20
    assert not [line for line in lines if line.rstrip() not in printed]


def test_every_page_is_reachable() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert not [p.name for p in ROOT.glob("docs/*.md") if p.name not in nav]
