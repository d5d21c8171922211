"""What every public function does before its own work: read the scores, and settle what missing ones leave unknown."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from polyjudge.core.gold import Gold
from polyjudge.core.panel import Panel
from polyjudge.estimate.identify import settle_incomplete


def public(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as users see it.

    Where its first argument is a panel, it also takes what `read_panel` takes (a data frame, a path, an Ibis table)
    with the same names of columns, and leaves out, with a note, the languages and judges that missing scores leave
    unknown.
    `resamples` may also be given by its former name, `replicates`.
    """
    own = inspect.signature(function).parameters
    first = next(iter(own), "")

    @functools.wraps(function)
    def run(*given: Any, **options: Any) -> Any:
        if "resamples" in own and "replicates" in options:
            options["resamples"] = options.pop("replicates")
        if first == "panel" and (given or "panel" in options):
            source = given[0] if given else options.pop("panel")
            reading = {} if isinstance(source, Panel) else {n: options.pop(n) for n in list(options) if n not in own}
            given = (_panel(source, reading, [*given[1:], *options.values()]), *given[1:])
        return function(*given, **options)

    return run


def _panel(source: Any, reading: dict[str, Any], others: list[Any]) -> Any:
    if source is None:
        return None
    if not isinstance(source, Panel):
        from polyjudge.sources import read_panel

        source = read_panel(source, **reading)
    # Labels that were laid out for this very panel would no longer fit a part of it.
    return source if any(isinstance(other, Gold) for other in others) else settle_incomplete(source)
