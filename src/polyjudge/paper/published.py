"""The published numbers: what they are, where they stand in the paper, and every one of them by its path."""

from __future__ import annotations

import json
from collections.abc import Iterator
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

PLACES: dict[Benchmark, tuple[tuple[str, str], ...]] = {
    "devai": (
        ("panel", "Section 5.1"),
        ("beta_hat", "Figure 1"),
        ("rank_reversal > reversing_pairs", "Section 5.2, Table 1"),
        ("rank_reversal > pairs", "Section 5.2, Table 1"),
        ("rank_reversal > rows", "Table 1, Appendix A"),
        ("rank_reversal > witness_gaps", "Section 5.2"),
        ("rank_reversal > top_judge", "Section 5.2"),
        ("bound > tasks_for_half_of_max_beta", "Appendix B.2"),
        ("bound", "Section 4.2, Limitations"),
        ("fit", "Section 5.2"),
        ("held_out > methods > dawid-skene", "Appendix D.3"),
        ("held_out > methods > cbc-weighted", "Appendix D.2"),
        ("held_out > methods", "Table 2"),
        ("held_out > calibrated_order", "Figure 2"),
        ("held_out", "Section 5.3"),
        ("unseen_language", "Section 5.3, Limitations"),
        ("decisions", "Table 3"),
        ("ablation_judges", "Table 6"),
        ("ablation_tasks > mean_abs_beta_error", "Figure 4, Appendix B.2"),
        ("ablation_tasks", "Table 7"),
        ("requirement_types", "Appendix B.3"),
        ("information", "Section 6"),
        ("cost", "Table 8"),
    ),
    "mrewardbench": (
        ("panel", "Section 5.5"),
        ("raw_mean_margin", "matrix behind Figure 3"),
        ("beta_hat", "matrix behind Figure 3"),
        ("judge_aware_btl", "matrix behind Table 4"),
        ("held_out", "Table 4"),
        ("full_fit", "Table 4"),
        ("calibrated_order", "Figure 3"),
        ("human_anchor > by_language", "released result of Table 5"),
        ("human_anchor", "Table 5"),
    ),
}
"""First match wins: the beginning of a key, and where such numbers stand."""


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
    text = key(path)
    for start, where in PLACES[benchmark]:
        if text == start or text.startswith(start + " > "):
            return where
    raise KeyError(f"no place for {text}")
