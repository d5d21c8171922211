"""The tutorial runs as a notebook in a real kernel; its page is what that run shows. From the wheel, as a marimo
notebook: test_wheel.py."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nbclient", reason="nbclient is not installed (pip install nbclient ipykernel)")
ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def make() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "docs" / "make_tutorial.py"))


def test_the_page_is_what_the_notebook_shows(make: dict[str, Any]) -> None:
    """`make docs` writes both."""
    import nbformat

    notebook = nbformat.v4.new_notebook(cells=make["cells"]((ROOT / "docs" / "tutorial.py").read_text("utf-8")))
    made = make["run"](notebook)
    shown = [o["data"] for c in made.cells if c.cell_type == "code" for o in c.outputs if "data" in o]
    assert any("<strong>" in data.get("text/html", "") for data in shown)  # results show themselves
    assert any("image/svg+xml" in data for data in shown)  # and so do charts
    text, pictures = make["page"](made)
    assert text == (ROOT / "docs" / "tutorial.md").read_text("utf-8")
    assert sorted(pictures) == sorted(p.name for p in (ROOT / "docs").glob("tutorial-*.svg"))
