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
    "ConsensusCalibrator": "polyjudge.calibrate.consensus",
    "SparseCalibrator": "polyjudge.calibrate.sparse",
    "AnchoredCalibrator": "polyjudge.calibrate.anchored",
    "load_calibrator": "polyjudge.calibrate.load",
    "read_report": "polyjudge.report.schema",
    "check": "polyjudge.public",
    **{
        name: f"polyjudge.questions.{folder}.{module}"
        for folder, question in QUESTIONS.items()
        for name, module in question.names.items()
    },
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
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
