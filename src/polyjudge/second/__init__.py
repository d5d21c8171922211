"""Audit and calibrate panels of LLM judges across languages.

The names below are the public surface; those of the questions stand in `polyjudge.second.rooms`. Each is imported on first
use, so `import polyjudge` stays light.
"""

from __future__ import annotations

from importlib import import_module
from types import FunctionType
from typing import Any

from polyjudge._version import __version__
from polyjudge.second.rooms import QUESTIONS

_PUBLIC = {
    "Panel": "polyjudge.second.panel.panel",
    "PanelError": "polyjudge.second.panel.errors",
    "PolyjudgeError": "polyjudge.second.panel.errors",
    "read_panel": "polyjudge.second.read",
    "simulate_panel": "polyjudge.second.simulate",
    "sample_panel": "polyjudge.second.samples",
    "ConsensusCalibrator": "polyjudge.second.calibrate.consensus",
    "SparseCalibrator": "polyjudge.second.calibrate.sparse",
    "AnchoredCalibrator": "polyjudge.second.calibrate.anchored",
    "load_calibrator": "polyjudge.second.calibrate.load",
    "read_report": "polyjudge.second.report.schema",
    "check": "polyjudge.second.public",
    **{
        name: f"polyjudge.second.questions.{folder}.{module}"
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
        from polyjudge.second.public import public

        found = public(found)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
