"""The pages: every block runs, words are counted, links lead somewhere, and what a command makes is as it makes it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import make
import pytest

from polyjudge.cli import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
MADE = ("commands", "index", "python", "screens", "validation")
BY_HAND = sorted(p for p in DOCS.glob("*.md") if p.stem not in MADE)
RUN = [p for p in [ROOT / "README.md", *BY_HAND] if re.search(r"```(console|python)\n", p.read_text(encoding="utf-8"))]


def test_the_readme_shows_the_two_commands() -> None:
    assert "make test" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make demo" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", RUN, ids=lambda p: p.stem)
def test_every_block_runs(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    if page.stem == "README":  # its Python begins where its console ended
        text = "```console\n$ polyjudge demo --write scores.csv\n```\n" + text
    for kind, block in re.findall(r"```(console|python)\n(.*?)```", text, re.DOTALL):
        if kind == "python":
            code = "import os\n" + block
            done = subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=100
            )
            assert done.returncode == 0, block + done.stderr
            continue
        for line in block.splitlines():
            if line.startswith("$ polyjudge "):
                words = line.removeprefix("$ ").replace("polyjudge", f"{sys.executable} -m polyjudge", 1)
                words += " --overwrite" if "--write scores.csv" in words else ""
                done = subprocess.run(words, shell=True, capture_output=True, text=True, cwd=tmp_path, timeout=100)
                assert done.returncode in (0, 1), line + done.stderr
                assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.glob("*.md")], ids=lambda p: p.stem
)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!http)([^)#\s]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_generated_pages_are_of_this_program() -> None:
    made = (DOCS / "commands.md").read_text(encoding="utf-8")
    for key in COMMANDS:
        done = subprocess.run(
            [sys.executable, "-m", "polyjudge", *key.split(), "--help"], capture_output=True, text=True, timeout=60,
            env={"COLUMNS": "100", "PATH": ""},
        )  # fmt: skip
        lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
        assert all(line in made for line in lines), f"{key}: make docs"


def test_the_screen_of_the_readme_is_the_demos() -> None:
    done = subprocess.run([sys.executable, "-m", "polyjudge", "demo"], capture_output=True, text=True, timeout=60)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(line.rstrip() in readme for line in done.stdout.splitlines()), "make docs"
    assert len(done.stdout.splitlines()) <= 40


def test_the_notebook_is_the_tutorial() -> None:
    made = make.notebook((DOCS / "tutorial.md").read_text(encoding="utf-8"))
    assert (DOCS / "tutorial.ipynb").read_text(encoding="utf-8") == made


def test_options_that_pages_name_exist() -> None:
    known = set(re.findall(r"--[a-z][a-z-]+", (DOCS / "commands.md").read_text(encoding="utf-8")))
    known |= {"--overwrite", "--probes", "--debug", "--version", "--junit"}
    for page in [ROOT / "README.md", *BY_HAND]:
        said = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", page.read_text(encoding="utf-8")))
        assert said - known <= {"--model", "--page"}, page.stem  # of `inspect eval`, `python -m validation`
