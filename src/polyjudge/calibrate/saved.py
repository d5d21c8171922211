"""Calibrators on disk: one JSON format with a version and a checksum, checked when it is loaded. Data only, no code."""

from __future__ import annotations

import hashlib
import inspect
import json
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from polyjudge._version import __version__
from polyjudge.base.errors import CalibratorError, PanelError, UsageError
from polyjudge.base.files import check_new, read_json, write_text
from polyjudge.base.text import name

if TYPE_CHECKING:
    from polyjudge.calibrate.by_labels import LabelCalibrator
    from polyjudge.calibrate.consensus import ConsensusCalibrator

Array = NDArray[np.float64]
FORMAT, VERSION = "polyjudge-calibrator", 2
MOST = 64 << 20
"""Bytes of the largest file that may be a calibrator."""
LARGEST = 1e100
"""No score is as large as this."""


class Calibrator(ABC):
    """What calibrators have in common: parameters, as scikit-learn asks for them, and a file."""

    kind = ""
    """What a file calls it: "consensus", "labels"."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters it was made with."""
        return {x: getattr(self, x) for x in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Self:
        """Change parameters by name."""
        known = self.get_params()
        for key, value in params.items():
            if key not in known:
                raise UsageError(f"{type(self).__name__} has no parameter {name(key)!r}: {', '.join(known)}.")
            setattr(self, key, value)
        return self

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Its fields as plain values."""

    def save(self, path: str | Path, overwrite: bool = True) -> None:
        """Write it as JSON, whole or not at all; `load_calibrator` reads it."""
        if not isinstance(path, (str, Path)):
            raise UsageError(f"save takes the path of a file, not {type(path).__name__}.")
        check_new(path, overwrite)
        data = {"format": FORMAT, "version": VERSION, "kind": self.kind, "polyjudge": __version__, **self.to_dict()}
        text = json.dumps({**data, "checksum": _checksum(data)}, allow_nan=False)
        write_text(path, text + "\n")

    def _fitted(self) -> Self:
        if not hasattr(self, "scale_"):
            raise CalibratorError(f"This {type(self).__name__} is not fitted yet: call fit(panel) first.")
        return self

    def __repr__(self) -> str:
        own = ", ".join(f"{key}={value!r}" for key, value in self.get_params().items())
        return f"{type(self).__name__}({own}){'' if hasattr(self, 'scale_') else ', not fitted'}"


def load_calibrator(path: str | Path) -> ConsensusCalibrator | LabelCalibrator:
    """The calibrator in a file that `save` (--save) wrote. Every field is checked; nothing in it is executed.

    path : the file
    """
    where = name(str(path), 200)
    try:
        data = read_json(path, MOST)
    except PanelError as error:
        if "JSON" not in str(error) and "text" not in str(error):
            raise CalibratorError(str(error)) from None
        raise CalibratorError(
            f"{where} is not a calibrator: it is not JSON. If it holds scores, fit one first: "
            "polyjudge calibrate SCORES --save cal.json"
        ) from None
    kind = _checked(data, where)
    try:
        if kind == "consensus":
            from polyjudge.calibrate.consensus import ConsensusCalibrator

            return ConsensusCalibrator.from_dict(data)
        from polyjudge.calibrate.by_labels import LabelCalibrator

        return LabelCalibrator.from_dict(data)
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        what = f"the field {error} is missing" if isinstance(error, KeyError) else str(error)
        raise CalibratorError(f"{where} is damaged: {name(what, 200)}.") from None


def load_consensus(path: str | Path) -> ConsensusCalibrator:
    """The same, of a calibrator that removes the interaction of languages and judges."""
    found = load_calibrator(path)
    if found.kind != "consensus":
        raise CalibratorError(
            f"{name(str(path), 200)} was fitted to people's labels. Here a calibrator is needed that was fitted "
            "without them: polyjudge calibrate SCORES --save cal.json"
        )
    return found  # type: ignore[return-value]


def _checked(data: Any, where: str) -> str:
    """The kind of a calibrator of this version."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise CalibratorError(f"{where} is not a calibrator of polyjudge: its 'format' is not {FORMAT!r}.")
    if data.get("version") != VERSION:
        raise CalibratorError(
            f"{where} is a calibrator of format {name(data.get('version'))}; this polyjudge reads {VERSION}. "
            "Fit it again: polyjudge calibrate SCORES --save cal.json"
        )
    if data.get("kind") not in ("consensus", "labels"):
        raise CalibratorError(f"{where} is a calibrator of an unknown kind: {name(data.get('kind'))}.")
    if data.get("checksum") != _checksum(data):
        raise CalibratorError(f"{where} was changed or damaged after it was saved: its checksum does not fit.")
    return str(data["kind"])


def _checksum(data: dict[str, Any]) -> str:
    """SHA-256 of all fields but the checksum: tells a file that a disk or a hand has changed."""
    rest = {key: value for key, value in data.items() if key != "checksum"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# --- fields, for the calibrators' own from_dict ---


def texts(data: dict[str, Any], field: str) -> tuple[str, ...]:
    """A list of different names."""
    value = data[field]
    if not isinstance(value, list) or not all(isinstance(x, str) for x in value) or len(set(value)) != len(value):
        raise ValueError(f"{field} is not a list of different names")
    return tuple(value)


def numbers(data: dict[str, Any], field: str, shape: tuple[int, ...], missing: bool = False) -> Array:
    """An array of finite numbers of this shape; with `missing`, null is NaN."""
    array = np.array(data[field], dtype=float)
    if array.shape != shape:
        raise ValueError(f"{field} has the shape {array.shape}, not {shape}")
    if (np.abs(array) > LARGEST).any() or not (missing or np.isfinite(array).all()):
        raise ValueError(f"a number of {field} is not finite, or beyond any score")
    return array


def one_of(data: dict[str, Any], field: str, allowed: tuple[Any, ...]) -> Any:
    """A field that has one of these values."""
    if data[field] not in allowed or isinstance(data[field], bool) != isinstance(allowed[0], bool):
        raise ValueError(f"{field} is {data[field]!r}")
    return data[field]


def plain(array: Array) -> Any:
    """An array as lists, NaN as null."""
    out = array.astype(object)
    out[np.isnan(array)] = None
    return out.tolist()
