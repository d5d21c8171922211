"""Reading a saved calibrator of any kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyjudge.calibrate.base import FORMAT, Calibrator
from polyjudge.calibrate.consensus import ConsensusCalibrator
from polyjudge.panel.errors import CalibratorError
from polyjudge.panel.labels import clean

if TYPE_CHECKING:
    from polyjudge.calibrate.criteria import CriteriaCalibrator

LARGEST = 1 << 29
"""Bytes of the largest file that may be a calibrator."""


def _kinds() -> dict[str, type[Calibrator]]:
    from polyjudge.calibrate.anchored import AnchoredCalibrator
    from polyjudge.calibrate.methods import MethodCalibrator
    from polyjudge.calibrate.sparse import SparseCalibrator

    return {c.kind: c for c in (ConsensusCalibrator, SparseCalibrator, AnchoredCalibrator, MethodCalibrator)}


def load_calibrator(path: str | Path) -> Calibrator | CriteriaCalibrator:
    """Read a calibrator that `save` wrote. The file is data only: nothing in it is executed."""
    path = Path(path)
    where = clean(str(path), 200)
    try:
        if path.exists() and (not path.is_file() or path.stat().st_size > LARGEST):
            raise CalibratorError(f"{where} is not a polyjudge calibrator: it is no file, or a much too large one.")
        data = json.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise CalibratorError(f"Cannot read the calibrator {where}: {error.strerror}.") from None
    except CalibratorError:
        raise
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, nested too deep, a number of 5,000 digits
        raise CalibratorError(f"{where} is not a polyjudge calibrator: it is not JSON ({clean(error, 120)}).") from None
    if isinstance(data, dict) and data.get("kind") == "criteria":
        from polyjudge.calibrate.criteria import CriteriaCalibrator

        return CriteriaCalibrator.from_dict(data, where, _part)
    return _part(data, where)


def _part(data: Any, where: str) -> Calibrator:
    kinds, kind = _kinds(), data.get("kind") if isinstance(data, dict) else None
    if isinstance(data, dict) and data.get("format") == FORMAT and kind not in (None, *kinds):
        raise CalibratorError(f"{where} is a calibrator of a kind that this polyjudge does not know: {clean(kind)}.")
    return kinds.get(str(kind), ConsensusCalibrator).from_dict(data, where)


def load_consensus(path: str | Path) -> ConsensusCalibrator:
    """A saved consensus calibrator, anchored or not: the kinds that can be extended and watched for drift."""
    cal = load_calibrator(path)
    if not isinstance(cal, Calibrator):
        raise CalibratorError(
            f"{clean(str(path), 200)} has a calibrator for each of {len(cal.parts)} criteria. Take one of them: "
            "load_calibrator(FILE).parts[CRITERION].save(OTHER)."
        )
    if not isinstance(cal, ConsensusCalibrator):
        raise CalibratorError(
            f"{clean(str(path), 200)} removes no interaction (it is a {clean(repr(cal), 60)}), so there is nothing to "
            "extend or to compare. Use a calibrator of method cbc."
        )
    return cal
