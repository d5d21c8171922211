"""Reading a saved calibrator of any kind; and calibrators of several criteria of the same answers, in one file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from numbers import Real
from pathlib import Path
from typing import Any, Self

import numpy as np

from polyjudge._version import __version__
from polyjudge.second.calibrate.base import FORMAT, VERSION, Calibrator, check_format, reading, write_checked
from polyjudge.second.calibrate.consensus import ConsensusCalibrator
from polyjudge.second.panel.criterion_adjustment import MARK, ByCriterion
from polyjudge.second.panel.errors import CalibratorError, UsageError
from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.say import Say

LARGEST = 1 << 29
"""Bytes of the largest file that may be a calibrator."""


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
        raise CalibratorError(
            f"{where} is not a polyjudge calibrator: it is not JSON ({clean(error, 120)}). If it holds scores, fit one "
            "first: polyjudge calibrate SCORES --save cal.json"
        ) from None
    several = isinstance(data, dict) and data.get("kind") == CriteriaCalibrator.kind
    return CriteriaCalibrator.from_dict(data, where) if several else _part(data, where)


def _part(data: Any, where: str) -> Calibrator:
    from polyjudge.second.calibrate.anchored import AnchoredCalibrator
    from polyjudge.second.calibrate.methods import MethodCalibrator
    from polyjudge.second.calibrate.sparse import SparseCalibrator

    every: list[type[Calibrator]] = [ConsensusCalibrator, SparseCalibrator, AnchoredCalibrator, MethodCalibrator]
    kinds, kind = {c.kind: c for c in every}, data.get("kind") if isinstance(data, dict) else None
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


class CriteriaCalibrator:
    """A calibrator for each criterion. `column` names the criterion of a row; "" where each has a score column.

    parts : criterion -> its fitted calibrator
    """

    kind = "criteria"

    def __init__(self, parts: Mapping[str, Calibrator], column: str = "") -> None:
        if not parts:
            raise UsageError("A calibrator of criteria needs at least one of them.")
        if any(MARK in name for name in parts):
            raise UsageError("The name of a criterion holds a control character. Rename it.")
        bent = [name for name, part in parts.items() if part.adjustment_.curve is not None]
        if bent and column:
            raise UsageError(f"The scores of {clean(bent[0])} are bent to a curve. Calibrate each criterion by itself.")
        judges = {name: set(part.adjustment_.judges) for name, part in parts.items()}
        first = next(iter(judges))
        for name, own in judges.items():
            if own != judges[first]:
                odd = next(iter(own ^ judges[first]))
                raise UsageError(
                    f"The criteria {clean(first)} and {clean(name)} were not scored by the same judges ({clean(odd)}). "
                    "Calibrate them one by one."
                )
        self.parts, self.column = dict(parts), column

    @property
    def adjustment_(self) -> ByCriterion:
        """What is done to the scores of each criterion."""
        return ByCriterion(column=self.column, parts={c: part.adjustment_ for c, part in self.parts.items()})

    def transform(self, score: Any, *, criterion: str | None = None, unseen: str = "error", **names: Any) -> Any:
        """One calibrated score, with its criterion, language and judge; or one row (a dict) with `calibrated`."""
        if isinstance(score, Mapping):
            return self.adjustment_.row(score, unseen=unseen, **names)
        if criterion is None or not (score is None or isinstance(score, (Real, np.generic))):
            raise UsageError(
                "One score needs its criterion, language and judge: transform(71, criterion='clarity', language='en', "
                "judge='GPT-4o'). Tables go to apply."
            )
        return self.adjustment_.one(score, names.get("language"), names.get("judge"), criterion, unseen)

    def apply(self, table: Any, **options: Any) -> Any:
        """A table with the calibrated score of each row's criterion as a new column; as `Calibrator.apply`."""
        if isinstance(table, Mapping) or table is None or isinstance(table, (Real, np.generic)):
            return self.transform(table, **options)
        return self.adjustment_.table(table, **options)

    def strangers(self, judges: Iterable[str], ends: tuple[float, float]) -> tuple[Say, ...]:
        """What speaks against scores of these judges being of the calibrator's own panel. Criteria have scales of their
        own, so those are not compared."""
        said = (part.strangers(judges, part.range_) for part in self.parts.values())
        return tuple(dict.fromkeys(next(said, ())))

    def save(self, path: str | Path) -> None:
        """Write the calibrators as JSON. The file is complete or not there."""
        write_checked(path, self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """All that `load_calibrator` needs, as plain JSON values."""
        head = {"format": FORMAT, "version": VERSION, "kind": self.kind, "polyjudge": __version__}
        return {**head, "column": self.column, "parts": {name: part.to_dict() for name, part in self.parts.items()}}

    @classmethod
    def from_dict(cls, data: Any, where: str) -> Self:
        """The calibrators of `to_dict`."""
        check_format(data, where)
        with reading(where):
            if not isinstance(data["parts"], dict) or not isinstance(data["column"], str):
                raise ValueError("parts must be calibrators by criterion, and column a name")
            return cls({str(name): _part(part, where) for name, part in data["parts"].items()}, data["column"])

    def __repr__(self) -> str:
        return "\n".join(f"{clean(name)}: {part!r}" for name, part in self.parts.items())
