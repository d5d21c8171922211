"""The published numbers: what they are, where they stand in the paper, and every one of them by its path."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from importlib.resources import files
from typing import Any, Literal, TypeVar

Benchmark = Literal["devai", "mrewardbench"]
BENCHMARKS: tuple[Benchmark, ...] = ("devai", "mrewardbench")
Path = tuple[str, ...]
"""Keys and list positions that lead to a number, as text."""
Value = TypeVar("Value")

PAPER = (
    "Mahmood, Abdaljalil and Kurban: Rank Reversal in Multilingual LLM Judges: "
    "A Label-Free Double-Centering Calibrator (preprint)"
)

NAMES_OF_COLUMNS = "columns"
"""Lists under this key name the columns of their neighbours. They are not published values."""

RELEASED = "released results, not in the paper"
CODE = "released code, not in the paper"

PLACES: dict[Benchmark, tuple[tuple[str, str], ...]] = {
    "devai": (
        (r"panel", "Section 5.1"),
        (r"beta_hat", "Figure 1"),
        (r"rank_reversal > (reversing_)?pairs", "Section 5.2, Table 1"),
        (r"rank_reversal > rows", "Table 1, Appendix A"),
        (r"rank_reversal", "Section 5.2"),
        (r"bound > tasks_for_half_of_max_beta", "Appendix B.2"),
        (r"bound", "Section 4.2, Limitations"),
        (r"fit > ss", RELEASED),
        (r"fit", "Section 5.2"),
        (r".* > seed$", CODE),
        (r"held_out > methods > (dawid-skene|cbc-weighted) > 3", RELEASED),
        (r"held_out > methods > (cbc-weighted|oracle) > [12]", RELEASED),
        (r"held_out > methods > dawid-skene", "Appendix D.3"),
        (r"held_out > methods > cbc-weighted", "Appendix D.2"),
        (r"held_out > methods", "Table 2"),
        (r"held_out > calibrated_order", "Figure 2"),
        (r"held_out", "Section 5.3"),
        (r"unseen_language > \w+ > (overall|Arabic|Spanish)", "Section 5.3, Limitations"),
        (r"unseen_language", RELEASED),
        (r"decisions", "Table 3"),
        (r"ablation_judges > replicates_per_subset", CODE),
        (r"ablation_judges > sd > 4", RELEASED),
        (r"ablation_judges", "Table 6"),
        (r"ablation_tasks > mean_abs_beta_error", "Figure 4, Appendix B.2"),
        (r"ablation_tasks", "Table 7"),
        (r"requirement_types > semantic > tasks", RELEASED),
        (r"requirement_types", "Appendix B.3"),
        (r"information > q", CODE),
        (r"information > (observed|null_mean)", RELEASED),
        (r"information", "Section 6"),
        (r"cost", "Table 8"),
    ),
    "mrewardbench": (
        (r"panel > (subsets|missing_margins)", RELEASED),
        (r"panel", "Section 5.5"),
        (r"raw_mean_margin|beta_hat", f"{RELEASED}: matrix behind Figure 3"),
        (r"judge_aware_btl", f"{RELEASED}: matrix behind Table 4"),
        (r".* > (seed|bootstrap)$", CODE),
        (r"held_out|full_fit", "Table 4"),
        (r"calibrated_order", "Figure 3"),
        (r"human_anchor > by_language", f"{RELEASED}: behind Table 5"),
        (r"human_anchor > (strata|sample)", "Section 5.5"),
        (r"human_anchor > overall > gain", "Section 5.5"),
        (r"human_anchor", "Table 5"),
    ),
}
"""First match with the beginning of a key wins: where such numbers stand."""

DECIMALS: dict[Benchmark, tuple[tuple[str, int], ...]] = {
    "devai": (
        (r"rank_reversal > rows > \d+ > 2|bound > radius|cost > mrewardbench_panel > 3", 1),
        (r"rank_reversal > rows > \d+ > 3", -1),
        (r"decisions > cbc > accuracy_interval", 4),
        (r"decisions > \w+ > accuracy", 3),
        (r"beta_hat|rank_reversal|bound|decisions|cost|ablation_tasks > mean|fit > ss", 2),
        (r"", 3),
    ),
    "mrewardbench": ((r"raw_mean_margin|beta_hat", 6), (r"judge_aware_btl|human_anchor > by", 2), (r"", 3)),
}
"""The decimals that the paper prints, and for released results those it prints of their kind. -1: as stored."""


TEXTS = {"information > p": "< 0.002"}
"""Numbers that the paper prints as a limit. What is computed is said in the same way."""


def load(benchmark: Benchmark) -> dict[str, Any]:
    """The published numbers of a benchmark, nested as they are stored."""
    text = (files("polyjudge.paper") / "data" / f"{benchmark}.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


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
    """A path as text."""
    return " > ".join(path)


def place(benchmark: Benchmark, path: Path) -> str:
    """Where in the paper the number of a path stands."""
    return _first(PLACES[benchmark], path)


def printed(benchmark: Benchmark, path: Path, value: float) -> tuple[float, float]:
    """A number as the paper prints it, and half a unit of its last digit.

    >>> printed("devai", ("held_out", "methods", "cbc", "2"), 0.9675)
    (0.968, 0.0005)
    """
    exact = Decimal(repr(value))
    decimals = 0 if isinstance(value, int) else _first(DECIMALS[benchmark], path)
    if decimals < 0:
        exponent = exact.normalize().as_tuple().exponent
        assert isinstance(exponent, int)
        decimals = max(-exponent, 3)  # p = 1.000
    return float(round(exact, decimals)), 0.5 * 10.0**-decimals


def _first(rules: tuple[tuple[str, Value], ...], path: Path) -> Value:
    text = key(path)
    for start, out in rules:
        if re.match(start, text):
            return out
    raise KeyError(f"no place for {text}")
