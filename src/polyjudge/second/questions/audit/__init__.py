"""What is wrong with a panel, whether it matters, and what to do. Its parts can be had alone: see `__all__`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PARTS = {
    "uncertainty": "polyjudge.second.estimate.bands",
    "explain": "polyjudge.second.questions.audit.explanation",
    "certificate": "polyjudge.second.questions.audit.matters",
    "rank_reversals": "polyjudge.second.questions.audit.orders",
    "tied_sets": "polyjudge.second.questions.audit.orders",
    "variance": "polyjudge.second.questions.audit.variation",
    "sensitivity": "polyjudge.second.questions.audit.robustness",
    "gates": "polyjudge.second.questions.audit.pass_rates",
    "missingness": "polyjudge.second.questions.audit.missing",
    "bounded": "polyjudge.second.questions.audit.latent",
}
__all__ = list(_PARTS)


def __getattr__(name: str) -> Any:
    if name not in _PARTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PARTS[name]), name)
