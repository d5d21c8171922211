"""SECURITY.md says only what a test proves."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_every_promise_names_tests_that_are_there() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    promises = re.findall(r"^- (.*?)(?=^- |^$)", text, re.MULTILINE | re.DOTALL)
    there = {
        node.name
        for file in (ROOT / "tests").rglob("test_*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    }
    assert len(promises) >= 10
    for promise in promises:
        named = re.findall(r"`(test_\w+)`", promise)
        assert named, promise[:60]
        assert [n for n in named if n not in there] == [], promise[:60]
