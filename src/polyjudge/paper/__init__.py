"""The paper: its numbers computed again, its other methods and protocols, its tables for any panel.

The analyses take what `read_panel` takes, with the same names of columns.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any

_PUBLIC = {
    "reproduce": "run",
    "Reproduction": "ledger",
    "Ledger": "ledger",
    "human_anchor": "mrewardbench",
    "paper_report": "any_panel",
}
_OF_PANELS = {
    "unseen_language": "unseen",
    "unseen_judge": "unseen",
    "decisions": "top_judge",
    "ablate": "ablations",
    "information": "score_information",
    "pairwise": "preferences",
}

__all__ = sorted({*_PUBLIC, *_OF_PANELS})


def _reading(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of a panel, also of what a panel is read from."""
    from polyjudge.calibrate.base import as_panel

    own = inspect.signature(function).parameters

    @functools.wraps(function)
    def run(panel: Any, *given: Any, **options: Any) -> Any:
        columns = {name: options.pop(name) for name in list(options) if name not in own}
        return function(as_panel(panel, columns), *given, **options)

    return run


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'polyjudge.paper' has no attribute {name!r}")
    found = getattr(import_module(f"polyjudge.paper.{(_PUBLIC | _OF_PANELS)[name]}"), name)
    found = _reading(found) if name in _OF_PANELS else found
    globals()[name] = found
    return found
