"""Run the tutorial and write it twice: docs/tutorial.ipynb for notebooks, and docs/tutorial.md with its pictures.

    python docs/make_tutorial.py

The source is docs/tutorial.py: text in comments after `# %% [markdown]`, code after `# %%`. It runs in a real kernel,
in an empty folder.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent
SOURCE, NOTEBOOK, PAGE = (HERE / f"tutorial{suffix}" for suffix in (".py", ".ipynb", ".md"))
HEAD = "<!-- Written by docs/make_tutorial.py from docs/tutorial.py. -->\n"
MOST_LINES = 60


def cells(text: str) -> list[Any]:
    """The cells of the source."""
    out = []
    for number, part in enumerate(re.split(r"^# %%", text, flags=re.M)[1:]):
        kind, _, body = part.partition("\n")
        if "[markdown]" in kind:
            lines = [line.removeprefix("#").removeprefix(" ") for line in body.strip().splitlines()]
            made = nbformat.v4.new_markdown_cell("\n".join(lines))
        else:
            made = nbformat.v4.new_code_cell(re.sub(r"^# !", "!", body.strip(), flags=re.M))
        made["id"] = f"cell-{number}"
        out.append(made)
    return out


def run(notebook: Any) -> Any:
    """The notebook with its outputs."""
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # this very polyjudge
    setup = "import altair\naltair.renderers.enable('svg');"  # charts as pictures, for the page too
    notebook.cells.insert(0, nbformat.v4.new_code_cell(setup, id="setup"))
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}})
        client.execute()
    del notebook.cells[0]
    for cell in notebook.cells:
        cell.get("metadata", {}).pop("execution", None)
    return notebook


def page(notebook: Any) -> tuple[str, dict[str, str]]:
    """The page, and its pictures: name -> SVG."""
    out, pictures = [HEAD], {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            out.append(cell.source + "\n")
            continue
        shell = [line for line in cell.source.splitlines() if line.startswith("!")]
        if shell:
            out.append("```console\n" + "\n".join("$ " + line[1:] for line in shell) + "\n```\n")
        else:
            out.append(f"```python\n{cell.source}\n```\n")
        for output in cell.outputs:
            shown = _shown(output, pictures)
            if shown:
                out.append(shown)
    return "\n".join(out).rstrip() + "\n", pictures


def _shown(output: Any, pictures: dict[str, str]) -> str:
    data = output.get("data", {})
    if "image/svg+xml" in data:
        name = f"tutorial-{len(pictures) + 1}.svg"
        pictures[name] = data["image/svg+xml"]
        return f"![]({name})\n"
    if "WARNING" in (output.get("text") or "") and output.get("name") == "stderr":
        return ""
    text = output.get("text") or data.get("text/plain") or ""
    lines = [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", text).strip("\n").splitlines()]
    if len(lines) > MOST_LINES:
        lines = [*lines[:MOST_LINES], "..."]
    return "```text\n" + "\n".join(lines) + "\n```\n" if lines else ""


def main() -> None:
    notebook = nbformat.v4.new_notebook(cells=cells(SOURCE.read_text("utf-8")))
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    run(notebook)
    text, pictures = page(notebook)
    for name, svg in pictures.items():
        (HERE / name).write_text(svg, "utf-8")
    PAGE.write_text(text, "utf-8")
    nbformat.write(notebook, NOTEBOOK)


if __name__ == "__main__":
    main()
