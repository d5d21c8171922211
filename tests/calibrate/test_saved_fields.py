"""What a saved calibrator says of its fit comes back as it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from polyjudge.calibrate.consensus import ConsensusCalibrator
from polyjudge.calibrate.saved import load_calibrator
from polyjudge.panel import Panel


def test_tasks_and_units_are_two_numbers(tmp_path: Path) -> None:
    """30 tasks in 10 clusters."""
    rng = np.random.default_rng(0)
    panel = Panel.from_array(rng.normal(50, 9, (30, 3, 4)), scale=(0.0, 100.0), unit=np.arange(30) // 3, clustered=True)
    fitted = ConsensusCalibrator().fit(panel)
    fitted.save(tmp_path / "cal.json")
    again = load_calibrator(tmp_path / "cal.json")
    assert isinstance(again, ConsensusCalibrator)
    assert (again.tasks_, again.units_) == (fitted.tasks_, fitted.units_) == (30, 10)
    assert again.criterion_ == fitted.criterion_
    assert again.scale_ == (0.0, 100.0)
    np.testing.assert_array_equal(again.beta_, fitted.beta_)
    np.testing.assert_array_equal(again.se_, fitted.se_)
