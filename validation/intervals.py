"""Every interval that a screen, a page or a frame prints, and the row of scenarios.csv that holds it.

intervals.csv has a line for each place in the source that writes an interval: a function that puts one into a sentence,
or a module that fills a column of lower limits. `rows` are ids of scenarios.csv; "shown": another place computes it;
"none": no row, and `what` says why.
"""

from __future__ import annotations

import ast
import csv
import re
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
SOURCE = HERE.parent / "src" / "polyjudge"
FORMATTERS = {
    "ci", "percent_ci", "amount", "unsigned_amount", "format_change", "format_estimate", "format_share_limits",
}  # fmt: skip
"""Functions that write a number with its interval."""
LOWER_LIMIT = re.compile(r"(\w+_)?low")
ROOMS = ("answers", "calibrate", "paper", "report")
"""Where intervals are printed; `stats` computes them."""


class Place(NamedTuple):
    """A function that writes an interval, or a column of lower limits, in a module."""

    module: str
    name: str


def find_places() -> set[Place]:
    """Every place in the source."""
    places = set()
    for room in ROOMS:
        for path in sorted((SOURCE / room).rglob("*.py")):
            module = str(path.relative_to(SOURCE))
            tree = ast.parse(path.read_text(encoding="utf-8"))
            places |= {Place(module, name) for name in _sentences(tree) | _columns(tree)}
    return places


def _sentences(tree: ast.Module) -> set[str]:
    """Functions that call a formatter of intervals: "name()"."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return {f"{function.name}()" for function in functions if _calls_formatter(function)}


def _calls_formatter(function: ast.FunctionDef) -> bool:
    calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    names = {call.id for call in calls if isinstance(call, ast.Name)}
    return bool(names & FORMATTERS)


def _columns(tree: ast.Module) -> set[str]:
    """Columns of lower limits."""
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return {text for text in texts if LOWER_LIMIT.fullmatch(text)}


class Entry(NamedTuple):
    """A line of intervals.csv."""

    place: Place
    rows: tuple[str, ...]
    what: str


def read_entries() -> list[Entry]:
    """The lines of intervals.csv."""
    with (HERE / "intervals.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    return [Entry(Place(line["module"], line["name"]), tuple(line["rows"].split()), line["what"]) for line in lines]
