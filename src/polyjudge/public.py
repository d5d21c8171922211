"""What every public function does before its own work."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any


def public(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as users see it: `resamples` may also be given by its former name, `replicates`."""
    if "resamples" not in inspect.signature(function).parameters:
        return function

    @functools.wraps(function)
    def run(*given: Any, **options: Any) -> Any:
        if "replicates" in options:
            options["resamples"] = options.pop("replicates")
        return function(*given, **options)

    return run
