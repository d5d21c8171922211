"""The shape of the code: imports go one way, no module needs itself, no function is too long to be read at once."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import grimp
import numpy as np
from importlinter.cli import lint_imports
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

import polyjudge

SOURCE = Path(polyjudge.__file__).parent
ROOT = Path(__file__).parents[1]
LONGEST = 60
"""Lines of a function, without its docstring."""


def test_imports_go_one_way() -> None:
    assert lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True) == 0


def test_no_module_needs_itself() -> None:
    graph = grimp.build_graph("polyjudge", exclude_type_checking_imports=True, cache_dir=None)
    names = sorted(graph.modules)
    place = {name: i for i, name in enumerate(names)}
    edges = [(place[a], place[b]) for a in names for b in graph.find_modules_directly_imported_by(a)]
    rows, columns = np.array(edges).T
    _, label = connected_components(
        csr_matrix((np.ones(len(rows)), (rows, columns)), (len(names),) * 2), connection="strong"
    )
    circles = [{names[i] for i in np.flatnonzero(label == x)} for x in range(label.max() + 1) if (label == x).sum() > 1]
    assert [c for c in circles if not any(n.startswith("polyjudge.report.page") for n in c)] == []


def test_no_function_is_too_long() -> None:
    long = set()
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = node.body[0]
                words = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
                doc = (first.end_lineno or 0) - first.lineno + 1 if words else 0
                if (node.end_lineno or 0) - node.lineno + 1 - doc > LONGEST:
                    long.add(f"{file.relative_to(SOURCE).as_posix()} {node.name}")
    assert long == set()


def test_a_change_touches_three_files_at_most() -> None:
    """The list in CONTRIBUTING names files that are there, at most three for each kind of change."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text[text.index("## Twelve changes") : text.index("## A language of prompts")]
    rows = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| ") and "a new ..." not in line]
    assert len(rows) == 12
    for change, touched in rows:
        named = re.findall(r"`([a-z_]+(?:/[a-z_]+)*\.(?:py|json)|[a-z_/]+/__init__\.py)`", touched)
        assert 1 <= len(named) <= 3, change
        assert [f for f in named if not (SOURCE / f).is_file()] == [], change
