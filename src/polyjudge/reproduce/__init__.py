"""The paper, number by number: fetch the released scores, compute everything again, keep a ledger."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PUBLIC = {
    "reproduce": "polyjudge.reproduce.run",
    "reproduce_devai": "polyjudge.reproduce.devai_tables",
    "reproduce_mrewardbench": "polyjudge.reproduce.mrewardbench",
    "human_anchor": "polyjudge.reproduce.human_anchor",
    "Reproduction": "polyjudge.reproduce.result",
    "Ledger": "polyjudge.reproduce.ledger",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'polyjudge.reproduce' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)
