"""The edge: what every public function does before its own work. It reads what is no panel yet, leaves out what missing
scores leave unknown, once, and checks the kinds of its arguments (`polyjudge.second.panel.arguments`)."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyjudge.second.estimate.identify import settle_incomplete
from polyjudge.second.panel.arguments import check_kinds, run
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.gold import Gold, align_gold
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.records import Record
from polyjudge.second.panel.say import LANGUAGE
from polyjudge.second.panel.scale import scale_of

if TYPE_CHECKING:
    from polyjudge.second.questions.check.check import Check

AHEAD = ("plan", "replay", "separate", "label_budget")
"""Their level is of scores still to be had: what looks there were has no part in it."""

INSIDE = ("anchor", "audit", "drift", "judges", "probe", "replay", "systems")
"""They compare inside a language, so that one language or judge, or languages without common tasks, are a panel too."""


def public(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as users see it.

    Where it takes a panel, it also takes what `read_panel` takes (a data frame, a path, an Ibis table) with the same
    names of columns, and leaves out, with a note, languages and judges that missing scores leave unknown.
    Labels may be a table or a path. Of an adaptive collection it uses the level that the looks left.
    """
    signature = inspect.signature(function)
    own, name = signature.parameters, function.__qualname__.removesuffix(".__init__")

    @functools.wraps(function)
    def edge(*given: Any, **options: Any) -> Any:
        reading = {n: options.pop(n) for n in list(options) if n not in own} if "panel" in own else {}
        try:
            bound = signature.bind(*given, **options)
        except TypeError as error:
            raise UsageError(f"polyjudge.{name}: {error}. See help(polyjudge.{name}).") from None
        values = bound.arguments
        if "panel" in own and (reading or values.get("panel") is not None or own["panel"].default is not None):
            panel = _read(values.get("panel"), reading, name)
            # Labels that were laid out for this very panel would no longer fit a part of it.
            laid_out = any(isinstance(value, Gold) for value in values.values())
            values["panel"] = panel if laid_out else settle_incomplete(panel, name in INSIDE)
        if values.get("probes") is not None:
            values["probes"] = _read(values["probes"], {}, "probe")
        check_kinds(name, values, function)
        if "panel" in own and values.get("gold") is not None:
            values["gold"] = _labels(values["panel"], values["gold"], str(own["gold"].annotation))
        work = function if name in AHEAD else functools.partial(run, function)
        result = work(*bound.args, **bound.kwargs)
        judged = values.get("panel")
        if isinstance(judged, Panel) and isinstance(result, Record):  # its words use both
            vars(result)["scale_"] = scale_of(judged)
            if judged.condition != LANGUAGE:
                vars(result)["condition_"] = judged.condition
        return result

    return edge


def _labels(panel: Panel, gold: Any, annotation: str) -> Any:
    """Labels from a path, and laid out beside the panel where the function wants them so."""
    from polyjudge.second.read.scores import read_gold

    table = read_gold(gold) if isinstance(gold, str | Path) else gold
    return align_gold(panel, table) if annotation.startswith("Gold") else table


def check(source: Any, **columns: Any) -> Check:
    """How scores are understood: columns, shape, scale, coverage, doubts, and the full command.

    source : as for `read_panel`, with the same names of columns. Questions that have to be answered first are in
    `findings`, and then `readable` is False.

    >>> import polyjudge.second as pj
    >>> pj.check(pj.simulate_panel(seed=1)[0].to_frame()).readable
    True
    """
    from polyjudge.second.panel.reading import Unclear
    from polyjudge.second.questions.check.check import check_panel, check_reading

    try:
        return check_panel(_read(source, columns, "check"))
    except Unclear as unclear:
        return check_reading(unclear.reading)


def _read(source: Any, reading: Mapping[str, Any], name: str) -> Panel:
    from polyjudge.second.read import read_panel, read_probes

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
