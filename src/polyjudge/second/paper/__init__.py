"""The paper: its numbers computed again, its other methods and protocols, its tables for any panel.

The analyses take what `read_panel` takes, with the same names of columns.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PUBLIC = {
    "reproduce": "run",
    "Reproduction": "ledger",
    "Ledger": "ledger",
    "human_anchor": "mrewardbench",
    "paper_report": "any_panel",
    "unseen_language": "unseen",
    "unseen_judge": "unseen",
    "decisions": "top_judge",
    "ablate": "ablations",
    "information": "score_information",
    "pairwise": "preferences",
}
__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'polyjudge.second.paper' has no attribute {name!r}")
    found = getattr(import_module(f"polyjudge.second.paper.{_PUBLIC[name]}"), name)
    if "panel" in getattr(found, "__annotations__", ()):
        from polyjudge.second.public import public

        found = public(found)
    globals()[name] = found
    return found
