"""References to docs/methods.md: every section and identity that code, tests, notes and pages name is there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
METHODS = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
SECTIONS = {int(number) for number in re.findall(r"^## (\d+)\. \S", METHODS, re.MULTILINE)}
IDENTITIES = set(re.findall(r"^- \*\*(I\d),", METHODS, re.MULTILINE))
LIST_OF_SECTIONS = r"(\d+[ab]?(?:(?:, | and | to )\d+[ab]?)*)"
FILES = [
    path
    for folder in ("src", "tests", "validation", "docs", "fuzz")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in (".py", ".csv", ".md", ".tmpl") and path != Path(__file__)
]


def references(text: str) -> Iterator[str]:
    """The numbers of sections that a text names."""
    for pattern in (
        rf"METHODS\s+{LIST_OF_SECTIONS}",
        rf"methods(?:\.md|\]\(methods\.md\)),? section {LIST_OF_SECTIONS}",
    ):
        for found in re.findall(pattern, text):
            yield from re.findall(r"\d+", found)


def strings_on_screens(path: Path) -> Iterator[str]:
    """Strings of a module that are no docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def test_the_page_has_its_sections() -> None:
    assert set(range(1, 27)) <= SECTIONS
    assert {f"I{number}" for number in range(1, 8)} == IDENTITIES
    for number in range(1, 5):
        assert f"**Prop. {number}," in METHODS


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_sections_and_identities_that_are_named_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert {int(number) for number in references(text)} <= SECTIONS
    assert set(re.findall(r"(?<![\w.])I[1-9](?![\w.-]\w)\b", text)) <= IDENTITIES


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.suffix == ".py" and "src" in path.parts], ids=lambda path: path.name
)
def test_screens_name_pages_of_the_docs(path: Path) -> None:
    assert not [text for text in strings_on_screens(path) if re.search(r"METHODS \d|\bDESIGN\b", text)]
