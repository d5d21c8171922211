"""Everything in docs that a command can make: screens, commands, Python, the notebook, pictures, the README's parts.

python docs/make.py [--data DIR]     DIR holds the released scores (../shared): then the paper's rows are computed anew
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import polyjudge as pj
from polyjudge.cli import COMMANDS

DOCS = Path(__file__).parent
ROOT = DOCS.parent


def run(*words: object, folder: Path | None = None) -> str:
    """What a command prints."""
    env = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    line = [sys.executable, "-m", "polyjudge", *map(str, words)]
    done = subprocess.run(line, capture_output=True, text=True, cwd=folder, env=env)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr}")
    return "\n".join(x.rstrip() for x in done.stdout.splitlines()) + "\n"


def between(path: Path, mark: str, text: str) -> None:
    """Put text between the marks of a page."""
    old = path.read_text(encoding="utf-8")
    new = re.sub(
        rf"(<!-- {mark}: begin -->\n).*?(<!-- {mark}: end -->)", lambda m: m[1] + text + m[2], old, flags=re.DOTALL
    )
    if old.count(f"<!-- {mark}: begin -->") != 1:
        raise SystemExit(f"{path.name} has no marks called {mark}.")
    path.write_text(new, encoding="utf-8")


# --- screens: panels of every kind ---


def panels() -> Iterator[tuple[str, str, pj.Panel]]:
    """Planted panels, each with what a reader should see."""
    make = pj.simulate_panel
    yield "A winner, one judge off", "Aster is 15 points lower in Spanish.", pj.sample_panel()
    yield (
        "Too close to call",
        "Two systems differ by 1 point.",
        make(systems=(66.0, 65.0, 58.0), tasks=40, seed=3).panel,
    )
    two = make(languages=2, judges=4, cells={(1, 1): -12.0}, interaction=0.0, seed=5)
    yield "Two languages", "Borealis is 12 points lower in German.", two.panel
    yield "Many", "Language changes all judges (sd 5).", make(interaction=5.0, systems=1, seed=6).panel
    yield "Calm", "Nothing is planted.", make(interaction=0.0, tasks=200, seed=8).panel
    yield "Scale", "One judge uses half of the scale.", _slopes()
    yield "Blind", "The judges' scores are noise.", _noise()
    yield "One judge", "Agreement needs a second.", make(judges=1, languages=1, seed=9).panel
    yield "Pass or fail, with people", "One judge passes what people fail.", _people()


def _slopes() -> pj.Panel:
    g = np.random.default_rng(11)
    task = g.normal(0, 12, (60, 1, 1)) + g.normal(0, 2, (60, 5, 1)) + g.normal(0, 6, (5, 1))
    y = 60 + task * np.array([1.0, 1.1, 0.9, 1.0, 0.4]) + g.normal(0, 4, (60, 5, 5))
    names = pj.sample_panel()
    return pj.Panel.from_array(y, languages=names.languages[:5], judges=names.judges, scale=(0, 100))


def _noise() -> pj.Panel:
    g = np.random.default_rng(12)
    return pj.Panel.from_array(g.normal(50, 12, (60, 3, 2, 4)), systems=["m1", "m2", "m3"], scale=(0, 100))


def _people() -> pj.Panel:
    g = np.random.default_rng(13)
    human = (g.random(120) < 0.6).astype(float)
    judge = np.where(human == 1, g.random(120) < 0.92, g.random(120) < 0.25).astype(float)
    frame = pd.DataFrame({"case_id": range(120), "human_label": human, "judge_label": judge}).astype(int)
    with tempfile.TemporaryDirectory() as folder:
        frame.to_csv(Path(folder) / "cases.csv", index=False)
        return pj.read_panel(Path(folder) / "cases.csv")


def screens() -> str:
    """The gallery of first screens."""
    out = ["# First screens\n\nPlanted panels, and what `polyjudge audit` says of each.\n"]
    for title, planted, panel in panels():
        text = repr(pj.audit(panel)).rstrip()
        out.append(f"## {title}\n\nPlanted: {planted}\n\n```text\n{text}\n```\n")
    return "\n".join(out)


# --- commands, Python ---


def commands() -> str:
    """Help of every command."""
    out = ["# Commands\n\n`polyjudge COMMAND --help` prints the same.\n", f"```text\n{run('--help')}```\n"]
    out += [f"## {key}\n\n```text\n{run(*key.split(), '--help')}```\n" for key in COMMANDS]
    return "\n".join(out)


def python() -> str:
    """Every public name with its signature and docstring."""
    out = ["# Python\n\nEvery public name. Results have `report()`, `to_dict()`, `to_html(path)`, `plot(name)`.\n"]
    for name in pj.__all__:
        thing: Any = getattr(pj, name)
        if name.startswith("__"):
            continue
        out.append(_entry(name, thing))
        members = inspect.getmembers(thing, callable) if inspect.isclass(thing) else []
        out += [
            _entry(f"{name}.{n}", m)
            for n, m in members
            if not n.startswith("_") and inspect.getdoc(m) and n in dir(thing) and n not in dir(Exception)
        ]
    return "\n".join(out)


def _entry(name: str, thing: Callable[..., Any]) -> str:
    doc = (inspect.getdoc(thing) or "").partition("\nExamples:\n")[0]
    with contextlib.suppress(ValueError, TypeError):
        signature = re.sub(r"\bpolyjudge\.[\w.]*\.", "", str(inspect.signature(thing)))
        return f"## {name}\n\n```python\n{name}{signature}\n```\n\n```text\n{doc.rstrip()}\n```\n"
    return f"## {name}\n\n```text\n{doc.rstrip()}\n```\n"


def notebook(page: str) -> str:
    """The tutorial as a notebook: console blocks become ! lines."""
    cells: list[dict[str, Any]] = []
    for i, part in enumerate(re.split(r"```(console|python)\n(.*?)```\n", page, flags=re.DOTALL)):
        if i % 3 == 0 and part.strip():
            cells.append({"cell_type": "markdown", "id": f"c{i}", "metadata": {}, "source": part.strip()})
        elif i % 3 == 1:
            kind = part
        elif i % 3 == 2:
            code = re.sub(r"^\$ ", "!", part.rstrip(), flags=re.MULTILINE) if kind == "console" else part.rstrip()
            cell = {"cell_type": "code", "id": f"c{i}", "metadata": {}, "source": code, "outputs": []}
            cells.append({**cell, "execution_count": None})
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return json.dumps({"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


# --- pictures ---


def pictures(page: Path) -> None:
    """The demo's page at three widths, light and dark, as small pictures."""
    sys.path.insert(0, str(ROOT / "tools"))
    from components import find
    from playwright.sync_api import sync_playwright

    path = find("chromium")
    if path is None:
        print("No Chromium: the pictures stay as they are.")
        return
    shots = {"page": (1400, 1120, "light"), "page-dark": (1400, 1120, "dark"), "page-phone": (400, 800, "light")}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for name, (width, height, scheme) in shots.items():
            view = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            view.goto(page.as_uri())
            view.screenshot(path=DOCS / f"{name}.png")
        browser.close()


EXAMPLES = {
    "pairs": ("audit", "votes.csv"),
    "board": ("humans", "scores.csv", "labels.csv"),
}
"""Pages of the docs whose first block of Python writes files, and the command that makes an example page of them."""


def example_pages() -> None:
    """docs/example-NAME.html for each of the examples."""
    for name, words in EXAMPLES.items():
        text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
        block = text.split("```python\n")[1].split("```")[0]
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-c", block], check=True, cwd=folder)
            command = [sys.executable, "-m", "polyjudge", *words, "-o", "example"]
            subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL)
            page = Path(folder) / "example" / "report.html"
            (DOCS / f"example-{name}.html").write_text(page.read_text(encoding="utf-8"), encoding="utf-8")


def main() -> None:
    """Make all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared")
    given = parser.parse_args()
    between(ROOT / "README.md", "demo", f"```text\n{run('demo')}```\n")
    (DOCS / "screens.md").write_text(screens(), encoding="utf-8")
    (DOCS / "commands.md").write_text(commands(), encoding="utf-8")
    (DOCS / "python.md").write_text(python(), encoding="utf-8")
    (DOCS / "tutorial.ipynb").write_text(notebook((DOCS / "tutorial.md").read_text(encoding="utf-8")), encoding="utf-8")
    index = (ROOT / "README.md").read_text(encoding="utf-8").replace("](docs/", "](")
    for name in ("CONTRIBUTING.md", "SECURITY.md"):
        index = index.replace(f" · [{name[:-3].capitalize()}]({name})", "")
    (DOCS / "index.md").write_text(index, encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        run("demo", "-o", Path(folder) / "demo")
        page = Path(folder) / "demo" / "report.html"
        (DOCS / "example.html").write_text(page.read_text(encoding="utf-8"), encoding="utf-8")
        pictures(page)
    example_pages()
    files = [given.data / "data" / x for x in ("devai/run_level_scores.csv", "devai/instances.jsonl")]
    files.append(given.data / "data/mrewardbench/human_anchor_sample.csv")
    if all(x.exists() for x in files):
        with tempfile.TemporaryDirectory() as folder:
            rows = Path(folder) / "rows.md"
            subprocess.run([sys.executable, DOCS / "make_paper.py", *files, rows], check=True)
            between(ROOT / "README.md", "paper", rows.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
