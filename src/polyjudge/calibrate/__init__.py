"""Calibrators: fit on a panel, then transform panels, apply to tables, save and load."""

from polyjudge.calibrate.consensus import ConsensusCalibrator, load_calibrator

__all__ = ["ConsensusCalibrator", "load_calibrator"]
