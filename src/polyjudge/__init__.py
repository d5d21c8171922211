"""Audit and calibrate panels of LLM judges across languages.

The names below are the public surface. Each is imported on first use, so `import polyjudge` stays light.
"""

from __future__ import annotations

from importlib import import_module
from types import FunctionType
from typing import Any

from polyjudge._version import __version__

_PUBLIC = {
    "Panel": "polyjudge.panel.panel",
    "PanelError": "polyjudge.panel.errors",
    "PolyjudgeError": "polyjudge.panel.errors",
    "read_panel": "polyjudge.read",
    "check": "polyjudge.public",
    "difference": "polyjudge.questions.drift.difference",
    "drift": "polyjudge.questions.drift.drift",
    "simulate_panel": "polyjudge.simulate",
    "sample_panel": "polyjudge.samples",
    "ConsensusCalibrator": "polyjudge.calibrate",
    "SparseCalibrator": "polyjudge.calibrate.sparse",
    "load_calibrator": "polyjudge.calibrate",
    "shrinkage": "polyjudge.calibrate.shrinkage",
    "robust": "polyjudge.calibrate.robust",
    "missingness": "polyjudge.questions.audit.missingness",
    "audit": "polyjudge.questions.audit.audit",
    "certificate": "polyjudge.questions.audit.matters",
    "explain": "polyjudge.questions.audit.explain",
    "bounded": "polyjudge.questions.audit.bounded",
    "uncertainty": "polyjudge.estimate.bands",
    "rank_reversals": "polyjudge.questions.audit.reversal",
    "compare": "polyjudge.questions.compare.held_out",
    "unseen_language": "polyjudge.paper.unseen",
    "unseen_judge": "polyjudge.paper.unseen",
    "decisions": "polyjudge.paper.decisions",
    "ablate": "polyjudge.paper.ablations",
    "tied_sets": "polyjudge.questions.audit.ties",
    "variance": "polyjudge.questions.audit.variance",
    "information": "polyjudge.paper.information",
    "gates": "polyjudge.questions.audit.gates",
    "plan": "polyjudge.questions.plan.planning",
    "sensitivity": "polyjudge.questions.audit.sensitivity",
    "Audit": "polyjudge.questions.audit.audit",
    "Finding": "polyjudge.report.sections",
    "systems": "polyjudge.questions.systems.systems",
    "separate": "polyjudge.questions.plan.separate",
    "system_variance": "polyjudge.questions.plan.separate",
    "signal": "polyjudge.questions.systems.signal",
    "leaderboard": "polyjudge.questions.systems.leaderboard",
    "favour": "polyjudge.questions.systems.favour",
    "anchor": "polyjudge.questions.anchor.anchors",
    "probe": "polyjudge.questions.probe.reaction",
    "choose": "polyjudge.questions.judges.choose",
    "swap": "polyjudge.questions.judges.swap",
    "sequential": "polyjudge.questions.plan.sequential",
    "replay": "polyjudge.questions.plan.sequential",
    "agreement": "polyjudge.questions.anchor.agreement",
    "read_gold": "polyjudge.read.scores",
    "read_report": "polyjudge.report.schema",
    "pairwise": "polyjudge.paper.preferences",
    "AnchoredCalibrator": "polyjudge.calibrate.anchored",
    "align_gold": "polyjudge.panel.gold",
    "label_budget": "polyjudge.questions.plan.label_budget",
    "shared_shift": "polyjudge.questions.anchor.shift",
    "panel_worth": "polyjudge.questions.anchor.panel_worth",
    "whom_it_helps": "polyjudge.questions.anchor.helped",
    "language_means": "polyjudge.questions.anchor.ppi",
    "ppi_mean": "polyjudge.questions.anchor.ppi",
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
