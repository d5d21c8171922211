"""The paper, number by number: fetch the released scores, compute everything again, keep a ledger."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PUBLIC = {
    "reproduce": "polyjudge.paper.run",
    "reproduce_devai": "polyjudge.paper.devai_tables",
    "reproduce_mrewardbench": "polyjudge.paper.mrewardbench",
    "human_anchor": "polyjudge.paper.human_anchor",
    "Reproduction": "polyjudge.paper.reproduction",
    "Ledger": "polyjudge.paper.ledger",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'polyjudge.paper' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)
