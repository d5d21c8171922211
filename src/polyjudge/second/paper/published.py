"""The published numbers: what they are, where they stand in the paper, and every one of them by its path."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any, Literal

Benchmark = Literal["devai", "mrewardbench"]
BENCHMARKS: tuple[Benchmark, ...] = ("devai", "mrewardbench")
Path = tuple[str, ...]
"""Keys and list positions that lead to a number, as text."""
PAPER = (
    "Mahmood, Abdaljalil and Kurban: Rank Reversal in Multilingual LLM Judges: "
    "A Label-Free Double-Centering Calibrator (preprint)"
)
NAMES_OF_COLUMNS = "columns"
"""Lists under this key name the columns of their neighbours. They are not published values."""
TEXTS = {"information > p": "< 0.002"}
"""Numbers that the paper prints as a limit. What is computed is said in the same way."""


@cache
def data(name: str) -> Any:
    """A file of the folder data, to be read only."""
    return json.loads((files("polyjudge.second.paper") / "data" / f"{name}.json").read_text(encoding="utf-8"))


def load(benchmark: Benchmark) -> dict[str, Any]:
    """The published numbers of a benchmark, nested as they are stored."""
    return dict(deepcopy(data(benchmark)))


def leaves(node: Any, path: Path = ()) -> Iterator[tuple[Path, float | str | None]]:
    """Every published value with its path, in order."""
    if isinstance(node, dict):
        for name, child in node.items():
            if name != NAMES_OF_COLUMNS:
                yield from leaves(child, (*path, name))
    elif isinstance(node, list):
        for i, child in enumerate(node):
            yield from leaves(child, (*path, str(i)))
    else:
        yield path, node


def key(path: Path) -> str:
    return " > ".join(path)


def place(benchmark: Benchmark, path: Path) -> str:
    return str(_first(benchmark, "place", path))


def printed(benchmark: Benchmark, path: Path, value: float) -> tuple[float, float]:
    """A number as the paper prints it, and half a unit of its last digit.

    >>> printed("devai", ("held_out", "methods", "cbc", "2"), 0.9675)
    (0.968, 0.0005)
    """
    exact = Decimal(repr(value))
    decimals = 0 if isinstance(value, int) else int(_first(benchmark, "decimals", path))
    if decimals < 0:  # as it is stored
        exponent = exact.normalize().as_tuple().exponent
        assert isinstance(exponent, int)
        decimals = max(-exponent, 3)  # p = 1.000
    return float(round(exact, decimals)), 0.5 * 10.0**-decimals


def _first(benchmark: Benchmark, what: str, path: Path) -> Any:
    """What data/places.json says of a path: the first rule that matches the beginning of its key. Of a released result
    the decimals are those that the paper prints of its kind."""
    for start, out in data("places")[benchmark][what]:
        if re.match(start, key(path)):
            return out
    raise KeyError(f"no {what} for {key(path)}")
