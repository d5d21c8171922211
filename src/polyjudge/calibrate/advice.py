"""What to know about a calibrator that was just fitted: would another one be better for this panel."""

from __future__ import annotations

from polyjudge.calibrate.base import Calibrator
from polyjudge.calibrate.consensus import ConsensusCalibrator
from polyjudge.calibrate.robust import odd_cells
from polyjudge.calibrate.shrinkage import shrinkage
from polyjudge.panel.panel import Panel
from polyjudge.panel.say import Say

MOST = 3
"""Cells named as carried by a few tasks."""


def advice(calibrator: Calibrator, panel: Panel) -> tuple[Say, ...]:
    """Few levels; few tasks for many cells, where shrinking is better; cells that a few tasks carry.

    >>> from polyjudge import simulate_panel
    >>> panel, _ = simulate_panel(tasks=12, languages=7, judges=5, interaction=0.0, seed=1)
    >>> [note.code for note in advice(ConsensusCalibrator().fit(panel), panel)]
    ['shrink.yes']
    """
    notes = list(calibrator.cautions(panel))
    if type(calibrator) is ConsensusCalibrator and calibrator.shrinkage == "none":
        better = shrinkage(panel)
        notes += [better.advice] if better.amount else []
        if calibrator.location == "mean":
            notes += odd_cells(panel)[:MOST]
    return tuple(notes)
