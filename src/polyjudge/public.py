"""What every public function does before its own work: read the scores, and settle what missing ones leave unknown."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from polyjudge.core.errors import UsageError
from polyjudge.core.gold import Gold
from polyjudge.core.panel import Panel
from polyjudge.estimate.identify import settle_incomplete

if TYPE_CHECKING:
    from polyjudge.analyse.check import Check

AHEAD = ("plan", "separate", "label_budget", "replay")
"""Their level is of scores still to be had: what looks there were has no part in it."""


def public(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as users see it.

    Where it takes a panel, it also takes what `read_panel` takes (a data frame, a path, an Ibis table) with the same
    names of columns, and leaves out, with a note, the languages and judges that missing scores leave unknown. Of an
    adaptive collection it uses the level that the looks left. `resamples` may also be given by its former name,
    `replicates`. Arguments that do not exist are an error of ours.
    """
    own = inspect.signature(function).parameters
    place = list(own).index("panel") if "panel" in own else None

    @functools.wraps(function)
    def run(*given: Any, **options: Any) -> Any:
        if "resamples" in own and "replicates" in options:
            options["resamples"] = options.pop("replicates")
        if place is not None and (len(given) > place or "panel" in options):
            source = given[place] if len(given) > place else options.pop("panel")
            reading = {n: options.pop(n) for n in list(options) if n not in own}
            others = [*given[:place], *given[place + 1 :], *options.values()]
            panel = _panel(source, reading, others, function.__name__)
            if len(given) > place:
                given = (*given[:place], panel, *given[place + 1 :])
            else:
                options["panel"] = panel
        if "probes" in own and options.get("probes") is not None:
            options["probes"] = _read(options["probes"], {}, "probe")
        try:
            bound = inspect.signature(function).bind(*given, **options)
        except TypeError as error:
            raise UsageError(
                f"polyjudge.{function.__name__}: {error}. See help(polyjudge.{function.__name__})."
            ) from None
        bound.apply_defaults()
        if function.__name__ not in AHEAD:
            _allow_for_looks(bound.arguments)
        return function(*bound.args, **bound.kwargs)

    return run


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
    from polyjudge.analyse.check import check_panel, check_reading
    from polyjudge.core.reading import Unclear

    try:
        return check_panel(_read(source, columns, "check"))
    except Unclear as unclear:
        return check_reading(unclear.reading)


def _read(source: Any, reading: dict[str, Any], name: str) -> Panel:
    from polyjudge.sources import read_panel, read_probes

    known = inspect.signature(read_panel).parameters
    unknown = [n for n in reading if n not in known]
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


def _panel(source: Any, reading: dict[str, Any], others: list[Any], name: str) -> Any:
    if source is None:
        return None
    panel = _read(source, reading, name)
    # Labels that were laid out for this very panel would no longer fit a part of it.
    return panel if any(isinstance(other, Gold) for other in others) else settle_incomplete(panel)
