"""What every public function does before its own work: read the scores, and settle what missing ones leave unknown."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyjudge.estimate.identify import settle_incomplete
from polyjudge.panel.errors import UsageError
from polyjudge.panel.gold import Gold, align_gold
from polyjudge.panel.labels import clean
from polyjudge.panel.panel import Panel

if TYPE_CHECKING:
    from polyjudge.questions.check.check import Check

AHEAD = ("plan", "separate", "label_budget", "replay")
"""Their level is of scores still to be had: what looks there were has no part in it."""


def public(function: Callable[..., Any], settle: bool = True) -> Callable[..., Any]:
    """The function as users see it.

    Where it takes a panel, it also takes what `read_panel` takes (a data frame, a path, an Ibis table) with the same
    names of columns, and leaves out (`settle`), with a note, languages and judges that missing scores leave unknown.
    Labels may be a table or a path. Of an adaptive collection it uses the level that the looks left. `resamples` may
    also be given by its former name, `replicates`. Arguments that do not exist, or are no numbers where numbers are
    needed, are an error of ours.
    """
    signature = inspect.signature(function)
    own, name = signature.parameters, function.__qualname__.removesuffix(".__init__")

    @functools.wraps(function)
    def run(*given: Any, **options: Any) -> Any:
        if "resamples" in own and "replicates" in options:
            options["resamples"] = options.pop("replicates")
        reading = {n: options.pop(n) for n in list(options) if n not in own} if "panel" in own else {}
        try:
            bound = signature.bind(*given, **options)
        except TypeError as error:
            raise UsageError(f"polyjudge.{name}: {error}. See help(polyjudge.{name}).") from None
        values = bound.arguments
        if reading or not (values.get("panel") is None and _optional(own, "panel")):
            panel = _read(values.get("panel"), reading, name)
            # Labels that were laid out for this very panel would no longer fit a part of it.
            laid_out = any(isinstance(value, Gold) for value in values.values())
            values["panel"] = settle_incomplete(panel) if settle and not laid_out else panel
        if values.get("probes") is not None:
            values["probes"] = _read(values["probes"], {}, "probe")
        for key, value in values.items():
            _check_kind(name, key, value, str(own[key].annotation))
        if "panel" in own and values.get("gold") is not None:
            values["gold"] = _labels(values["panel"], values["gold"], str(own["gold"].annotation))
        bound.apply_defaults()
        if name not in AHEAD:
            _allow_for_looks(bound.arguments)
        return function(*bound.args, **bound.kwargs)

    return run


def public_class(kind: type) -> type:
    """A calibrator as users see it: its methods take what `read_panel` takes."""
    for owner in kind.__mro__:
        for name in ("__init__", "fit", "transform", "fit_transform", "save"):
            method = vars(owner).get(name)
            if owner is not object and method is not None and not hasattr(method, "__wrapped__"):
                setattr(owner, name, public(method, settle=False))
    return kind


def _optional(own: Mapping[str, inspect.Parameter], name: str) -> bool:
    return name not in own or own[name].default is None


def _labels(panel: Panel, gold: Any, annotation: str) -> Any:
    """Labels from a path, and laid out beside the panel where the function wants them so."""
    from polyjudge.read.scores import read_gold

    table = read_gold(gold) if isinstance(gold, str | Path) else gold
    return align_gold(panel, table) if annotation.startswith("Gold") else table


KINDS: dict[str, tuple[Any, str]] = {
    "None": (type(None), ""),
    "int": (Integral, "a whole number"),
    "float": (Real, "a number"),
    "bool": ((bool, np.bool_), "true or false"),
    "str": (str, "a text"),
    "Path": (Path, "a path"),
    "Sequence": (Iterable, "a list"),
    "Iterable": (Iterable, "a list"),
    "Mapping": (Mapping, "a dictionary"),
    "tuple": ((tuple, list, np.ndarray), "several values in brackets"),
    "Multiplicity": (np.ndarray, "an array, how often each resample draws each task"),
}
"""Annotation -> what a value must be, and its name."""
RESULTS = {
    "Uncertainty": "what polyjudge.uncertainty gives",
    "ConsensusCalibrator": "a fitted calibrator (polyjudge.load_calibrator reads a saved one)",
}
"""Annotation -> where such a value comes from."""


@functools.lru_cache(maxsize=1000)
def _kinds(annotation: str) -> list[tuple[Any, str] | None]:
    """What the parts of an annotation stand for; None for those that are checked where they are used."""
    return [KINDS.get(part) for part in re.sub(r"\[.*?\](?= \||$)", "", annotation).split(" | ")]


def _check_kind(function: str, name: str, value: Any, annotation: str) -> None:
    """Values of plain kinds must be such; everything else is checked where it is used."""
    if annotation in RESULTS and annotation not in {c.__name__ for c in type(value).__mro__}:
        raise UsageError(f"polyjudge.{function}: {name} must be {RESULTS[annotation]}, not {type(value).__name__}.")
    kinds = _kinds(annotation)
    known = [kind for kind in kinds if kind is not None]
    if len(known) == len(kinds) and not any(isinstance(value, kind) for kind, _ in known):
        wanted = " or ".join(title for _, title in known if title)
        raise UsageError(f"polyjudge.{function}: {name} must be {wanted}, not {clean(repr(value), 60)}.")


def _allow_for_looks(arguments: dict[str, Any]) -> None:
    """Of an adaptive collection each interval gets the level that the looks left."""
    panels = [p for p in arguments.values() if isinstance(p, Panel) and p.by_design]
    if panels and "level" in arguments:
        arguments["level"] = max(p.level_left(arguments["level"]) for p in panels)
    if panels and "alpha" in arguments:
        arguments["alpha"] = 1 - max(p.level_left(1 - arguments["alpha"]) for p in panels)


def check(source: Any, **columns: Any) -> Check:
    """How scores are understood: columns, shape, scale, coverage, doubts, and the full command.

    source : as for `read_panel`, with the same names of columns. Questions that have to be answered first are in
    `findings`, and then `readable` is False.

    >>> import polyjudge as pj
    >>> pj.check(pj.simulate_panel(seed=1)[0].to_frame()).readable
    True
    """
    from polyjudge.panel.reading import Unclear
    from polyjudge.questions.check.check import check_panel, check_reading

    try:
        return check_panel(_read(source, columns, "check"))
    except Unclear as unclear:
        return check_reading(unclear.reading)


def _read(source: Any, reading: dict[str, Any], name: str) -> Panel:
    from polyjudge.read import read_panel, read_probes

    unknown = [n for n in reading if n not in inspect.signature(read_panel).parameters]
    if unknown:
        raise UsageError(f"polyjudge.{name} has no argument {unknown[0]!r}. See help(polyjudge.{name}).")
    if isinstance(source, Panel):
        if reading:
            raise UsageError(
                f"polyjudge.{name} got {', '.join(reading)} beside a Panel, which is read already. Name columns "
                "together with the file or table they are in."
            )
        return source
    return read_probes(source, **reading) if name == "probe" else read_panel(source, **reading)
