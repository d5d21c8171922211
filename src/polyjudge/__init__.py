"""Audit and calibrate panels of LLM judges across languages.

The names below are the public surface; those of the questions stand in `polyjudge.rooms`. Each is imported on first
use, so `import polyjudge` stays light.
"""

from __future__ import annotations

from importlib import import_module
from types import FunctionType
from typing import Any

from polyjudge._version import __version__
from polyjudge.rooms import QUESTIONS

_PUBLIC = {
    "Panel": "polyjudge.panel.panel",
    "PanelError": "polyjudge.panel.errors",
    "PolyjudgeError": "polyjudge.panel.errors",
    "read_panel": "polyjudge.read",
    "simulate_panel": "polyjudge.simulate",
    "sample_panel": "polyjudge.samples",
    "ConsensusCalibrator": "polyjudge.calibrate",
    "SparseCalibrator": "polyjudge.calibrate.sparse",
    "AnchoredCalibrator": "polyjudge.calibrate.anchored",
    "load_calibrator": "polyjudge.calibrate",
    "read_report": "polyjudge.report.schema",
    "check": "polyjudge.public",
    **{
        name: f"polyjudge.questions.{folder}.{module}"
        for folder, question in QUESTIONS.items()
        for name, module in question.names.items()
    },
}
_MOVING = {
    "missingness": "polyjudge.questions.audit.missing",
    "certificate": "polyjudge.questions.audit.matters",
    "explain": "polyjudge.questions.audit.explanation",
    "bounded": "polyjudge.questions.audit.latent",
    "uncertainty": "polyjudge.estimate.bands",
    "rank_reversals": "polyjudge.questions.audit.orders",
    "tied_sets": "polyjudge.questions.audit.orders",
    "variance": "polyjudge.questions.audit.variation",
    "gates": "polyjudge.questions.audit.pass_rates",
    "sensitivity": "polyjudge.questions.audit.robustness",
    "Audit": "polyjudge.questions.audit.audit",
    "Finding": "polyjudge.report.sections",
    "agreement": "polyjudge.questions.anchor.choices",
    "read_gold": "polyjudge.read.scores",
    "align_gold": "polyjudge.panel.gold",
    "shared_shift": "polyjudge.questions.anchor.distance",
    "panel_worth": "polyjudge.questions.anchor.worth",
    "whom_it_helps": "polyjudge.questions.anchor.helped",
    "language_means": "polyjudge.questions.anchor.distance",
    "ppi_mean": "polyjudge.questions.anchor.distance",
}

__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    try:
        module = {**_PUBLIC, **_MOVING}[name]
    except KeyError:
        raise AttributeError(f"module 'polyjudge' has no attribute {name!r}") from None
    found = getattr(import_module(module), name)
    if isinstance(found, FunctionType):
        from polyjudge.public import public

        found = public(found)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
