"""Audit and calibrate panels of LLM judges across languages.

The names below are the public surface. Each is imported on first use, so `import polyjudge` stays light.
"""

from __future__ import annotations

from importlib import import_module
from types import FunctionType
from typing import Any

from polyjudge._version import __version__

_PUBLIC = {
    "Panel": "polyjudge.core.panel",
    "PanelError": "polyjudge.core.errors",
    "PolyjudgeError": "polyjudge.core.errors",
    "read_panel": "polyjudge.sources",
    "check": "polyjudge.public",
    "difference": "polyjudge.analyse.difference",
    "drift": "polyjudge.calibrate.drift",
    "simulate_panel": "polyjudge.simulate",
    "sample_panel": "polyjudge.samples",
    "ConsensusCalibrator": "polyjudge.calibrate",
    "SparseCalibrator": "polyjudge.calibrate.sparse",
    "load_calibrator": "polyjudge.calibrate",
    "shrinkage": "polyjudge.calibrate.shrinkage",
    "robust": "polyjudge.calibrate.robust",
    "missingness": "polyjudge.analyse.missingness",
    "audit": "polyjudge.analyse.audit",
    "certificate": "polyjudge.analyse.matters",
    "explain": "polyjudge.analyse.explain",
    "bounded": "polyjudge.analyse.bounded",
    "uncertainty": "polyjudge.analyse.uncertainty",
    "rank_reversals": "polyjudge.analyse.reversal",
    "compare": "polyjudge.analyse.held_out",
    "unseen_language": "polyjudge.analyse.unseen",
    "unseen_judge": "polyjudge.analyse.unseen",
    "decisions": "polyjudge.analyse.decisions",
    "ablate": "polyjudge.analyse.ablations",
    "tied_sets": "polyjudge.analyse.ties",
    "variance": "polyjudge.analyse.variance",
    "information": "polyjudge.analyse.information",
    "gates": "polyjudge.analyse.gates",
    "plan": "polyjudge.analyse.planning",
    "structure": "polyjudge.analyse.structure",
    "sensitivity": "polyjudge.analyse.sensitivity",
    "Audit": "polyjudge.analyse.audit",
    "Finding": "polyjudge.core.sections",
    "systems": "polyjudge.analyse.systems",
    "separate": "polyjudge.analyse.separate",
    "system_variance": "polyjudge.analyse.separate",
    "signal": "polyjudge.analyse.signal",
    "leaderboard": "polyjudge.analyse.leaderboard",
    "favour": "polyjudge.analyse.favour",
    "anchor": "polyjudge.analyse.anchors",
    "probe": "polyjudge.analyse.probes",
    "choose": "polyjudge.analyse.choose",
    "swap": "polyjudge.analyse.swap",
    "sequential": "polyjudge.analyse.sequential",
    "replay": "polyjudge.analyse.sequential",
    "agreement": "polyjudge.analyse.agreement",
    "read_gold": "polyjudge.sources.read",
    "read_report": "polyjudge.core.schema",
    "pairwise": "polyjudge.analyse.pairwise",
    "AnchoredCalibrator": "polyjudge.calibrate.anchored",
    "align_gold": "polyjudge.core.gold",
    "label_budget": "polyjudge.analyse.label_budget",
    "shared_shift": "polyjudge.analyse.shift",
    "panel_worth": "polyjudge.analyse.panel_worth",
    "whom_it_helps": "polyjudge.analyse.helped",
    "language_means": "polyjudge.analyse.ppi",
    "ppi_mean": "polyjudge.analyse.ppi",
}

__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    try:
        module = _PUBLIC[name]
    except KeyError:
        raise AttributeError(f"module 'polyjudge' has no attribute {name!r}") from None
    found = getattr(import_module(module), name)
    if isinstance(found, FunctionType):
        from polyjudge.public import public

        found = public(found)
    elif name.endswith("Calibrator"):
        from polyjudge.public import public_class

        found = public_class(found)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
