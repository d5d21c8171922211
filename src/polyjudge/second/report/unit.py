"""Pass or fail in percent, for whoever reads it: results with their points multiplied. JSON keeps the scores."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TypeVar

from polyjudge.second.panel.arrays import pd
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.records import Record
from polyjudge.second.panel.scale import Scale, scale_of

T = TypeVar("T")
IN_POINTS = frozenset(
    {"interaction", "se", "low", "high", "band_low", "band_high", "excess", "effect", "median", "median_low"}
    | {"median_high", "gap_a", "gap_b", "gap_a_se", "gap_b_se", "mean", "score", "others", "expected", "gap"}
    | {"max_interaction", "sensitivity_low", "sensitivity_high", "sigma", "radius", "largest", "largest_without"}
    | {"matters", "delta", "change", "beyond", "beyond_low", "beyond_high", "difference", "gap_higher", "gap_lower"}
    | {"without", "without_low", "without_high", "slope", "equal", "equal_low", "equal_high"}
)
"""Columns and fields that are score differences (or scores) of a panel."""
MEANS = ("mean", "score", "others", "expected")
"""Those that are scores."""


def shown_scale(result: Record, panel: Panel | None) -> Scale:
    """The scale in which a result is shown: that of its panel, where it is known."""
    known = vars(result).get("scale_") if panel is None else scale_of(panel)
    return Scale("open", 0.0, 1.0) if known is None else known


def times(part: T, factor: float, but: tuple[str, ...] = (), names: frozenset[str] = IN_POINTS) -> T:
    """A result with what is called `names` multiplied; frames called `but` stay as they are."""
    if part is None or factor == 1.0:
        return part
    own = {f.name: getattr(part, f.name) for f in fields(part) if f.name not in but}  # type: ignore[arg-type]
    frames = {n: scaled(x, factor, names) for n, x in own.items() if isinstance(x, pd.DataFrame)}
    sizes: dict[str, Any] = {n: x * factor for n, x in own.items() if n in names and isinstance(x, float)}
    if isinstance(own.get("change"), dict):
        sizes["change"] = {n: x * factor if n in names else x for n, x in own["change"].items()}
    return replace(part, **frames, **sizes)  # type: ignore[type-var]


def scaled(frame: pd.DataFrame, factor: float, names: frozenset[str] = IN_POINTS) -> pd.DataFrame:
    """A frame with its columns in points multiplied."""
    columns = {str(c): frame[c].infer_objects() for c in frame if c in names}
    return frame.assign(**{c: x * factor for c, x in columns.items() if x.dtype.kind == "f"})


def less(frame: T, lowest: float, names: tuple[str, ...] = MEANS) -> T:
    """A frame whose scores start at 0: of 1 or 2 the one is 0%, the other 100%."""
    if not isinstance(frame, pd.DataFrame) or not lowest:
        return frame
    return frame.assign(**{name: frame[name] - lowest for name in names if name in frame})
