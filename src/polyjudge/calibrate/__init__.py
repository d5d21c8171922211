"""Calibrators: fit on a panel, then transform panels, apply to tables, save and load."""

from polyjudge.calibrate.base import Calibrator
from polyjudge.calibrate.consensus import ConsensusCalibrator
from polyjudge.calibrate.load import load_calibrator, load_consensus

__all__ = ["Calibrator", "ConsensusCalibrator", "load_calibrator", "load_consensus"]
