"""Find out whether you can trust your LLM-judge leaderboard: who wins, do the judges agree, what is off, what to do.

Every public name is below. Each is imported on first use, so that `import polyjudge` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from polyjudge._version import __version__

if TYPE_CHECKING:
    from polyjudge.answers.audit.audit import audit
    from polyjudge.answers.check import check
    from polyjudge.answers.compare import compare
    from polyjudge.answers.drift import drift
    from polyjudge.answers.humans.compare import humans
    from polyjudge.answers.humans.draw import draw_labels
    from polyjudge.answers.humans.returned import read_labels
    from polyjudge.answers.plan import plan
    from polyjudge.answers.probe import probe
    from polyjudge.answers.swap import swap
    from polyjudge.base.errors import PolyjudgeError
    from polyjudge.calibrate.by_labels import LabelCalibrator
    from polyjudge.calibrate.consensus import ConsensusCalibrator
    from polyjudge.calibrate.saved import load_calibrator
    from polyjudge.panel import Panel
    from polyjudge.read import read_panel
    from polyjudge.simulate import sample_panel, simulate_panel

__all__ = [
    "ConsensusCalibrator",
    "LabelCalibrator",
    "Panel",
    "PolyjudgeError",
    "__version__",
    "audit",
    "check",
    "compare",
    "draw_labels",
    "drift",
    "humans",
    "load_calibrator",
    "plan",
    "probe",
    "read_labels",
    "read_panel",
    "sample_panel",
    "simulate_panel",
    "swap",
]
_WHERE = {
    "ConsensusCalibrator": "calibrate.consensus",
    "LabelCalibrator": "calibrate.by_labels",
    "Panel": "panel",
    "PolyjudgeError": "base.errors",
    "audit": "answers.audit.audit",
    "draw_labels": "answers.humans.draw",
    "humans": "answers.humans.compare",
    "load_calibrator": "calibrate.saved",
    "read_labels": "answers.humans.returned",
    "read_panel": "read",
    "sample_panel": "simulate",
    "simulate_panel": "simulate",
    **{name: f"answers.{name}" for name in ("check", "compare", "drift", "plan", "probe", "swap")},
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'polyjudge' has no attribute {name!r}")
    found = getattr(import_module(f"polyjudge.{_WHERE[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
