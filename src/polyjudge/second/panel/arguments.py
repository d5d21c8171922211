"""What arguments of public functions must be: one declaration, by their names, and the one check of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.panel import Panel


class Kind(NamedTuple):
    """What a value must be, and how that is called."""

    types: tuple[type, ...]
    title: str


WHOLE, NUMBER = Kind((Integral,), "a whole number"), Kind((Real,), "a number")
YES, TEXT = Kind((bool, np.bool_), "true or false"), Kind((str,), "a text")
LIST, DICTIONARY = Kind((Iterable,), "a list"), Kind((Mapping,), "a dictionary")
PAIR = Kind((tuple, list, np.ndarray), "two numbers in brackets")
PATH = Kind((str, Path), "a path")

KINDS = {
    name: kinds
    for kinds, names in (
        ((WHOLE,), "seed resamples folds sample first runs max_judges replicates steps clusters max_units"),
        ((WHOLE,), "simulate_panel.tasks"),
        ((NUMBER,), "level alpha matters threshold tolerance budget target sigma radius half_width interaction_sd"),
        ((NUMBER,), "judge_sd language_sd task_sd noise_sd three_way_sd missing mean low high cluster_share"),
        ((YES,), "at_least alone guard clip"),
        ((TEXT,), "base trusted out into kind goal contradictions questions task language judge score replicate"),
        ((TEXT,), "group system cluster language_from judge_from wide decimal winner swapped format metric"),
        ((TEXT,), "duplicates incomplete engine"),
        ((DICTIONARY,), "families prices"),
        ((PAIR,), "range score_range swap"),
        ((WHOLE, LIST), "tasks languages judges systems"),
        ((PAIR, TEXT), "scale"),
        ((WHOLE, PAIR), "draws"),
        ((DICTIONARY, TEXT, LIST), "map"),
        ((PATH,), "path"),
    )
    for name in names.split()
}
"""Argument -> what it may be, wherever it is one (FUNCTION.ARGUMENT: in that function). None is for the function to
judge, where it is the default."""
FITTED = "a fitted calibrator (polyjudge.load_calibrator reads a saved one)"


@cache
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


def check_kinds(name: str, values: Mapping[str, Any], function: Callable[..., Any]) -> None:
    """An error that names the argument whose value is of the wrong kind."""
    own = _signature(function).parameters
    for key, value in values.items():
        if key == "cal" and not hasattr(value, "adjustment_"):
            raise UsageError(f"polyjudge.{name}: {key} must be {FITTED}, not {type(value).__name__}.")
        kinds = KINDS.get(f"{name}.{key}", KINDS.get(key, ()))
        if value is None and key in own and own[key].default is None:
            continue
        if kinds and not isinstance(value, tuple(t for kind in kinds for t in kind.types)):
            wanted = " or ".join(kind.title for kind in kinds)
            raise UsageError(f"polyjudge.{name}: {key} must be {wanted}, not {clean(repr(value), 60)}.")


def run(analysis: Callable[..., Any], *given: Any, **options: Any) -> Any:
    """Call an analysis. Of an adaptive collection each interval gets the level that its looks left."""
    bound = _signature(analysis).bind(*given, **options)
    bound.apply_defaults()
    values = bound.arguments
    panels = [p for p in values.values() if isinstance(p, Panel) and p.looks]
    if panels and "level" in values:
        values["level"] = max(p.level_left(values["level"]) for p in panels)
    if panels and "alpha" in values:
        values["alpha"] = 1 - max(p.level_left(1 - values["alpha"]) for p in panels)
    return analysis(*bound.args, **bound.kwargs)
