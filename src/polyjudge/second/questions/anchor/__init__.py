"""What human labels say about a panel. Its parts can be imported from here."""

from importlib import import_module
from typing import Any

_PARTS = {
    "language_means": "distance",
    "ppi_mean": "distance",
    "whom_it_helps": "helped",
    "panel_worth": "worth",
    "annotators": "raters",
    "language_error": "humans",
}


def __getattr__(name: str) -> Any:
    """A part by its name, imported when it is first asked for."""
    if name not in _PARTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PARTS[name]}"), name)
