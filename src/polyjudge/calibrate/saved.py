"""Calibrators on disk: one JSON format with a version and a checksum, checked when it is loaded. Data only, no code."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from polyjudge._version import __version__
from polyjudge.base.errors import CalibratorError, PanelError, UsageError
from polyjudge.base.files import check_apart, check_new, read_json, write_text
from polyjudge.base.text import count, name
from polyjudge.report.model import Finding, Report, Result

if TYPE_CHECKING:
    from polyjudge.calibrate.by_labels import LabelCalibrator
    from polyjudge.calibrate.consensus import ConsensusCalibrator

Array = NDArray[np.float64]
FORMAT, VERSION = "polyjudge-calibrator", 2
MOST = 64 << 20
"""Bytes of the largest file that may be a calibrator."""
LARGEST = 1e100
"""No score is as large as this."""


def save_fields(path: str | Path, kind: str, fields: dict[str, Any], overwrite: bool = True) -> None:
    """Write a calibrator of a kind ("consensus", "labels") with its fields, plain values. Whole or not at all."""
    if not isinstance(path, (str, Path)):
        raise UsageError(f"save takes the path of a file, not {type(path).__name__}.")
    check_new(path, overwrite)
    data = {"format": FORMAT, "version": VERSION, "kind": kind, "polyjudge": __version__, **fields}
    text = json.dumps({**data, "checksum": _checksum(data)}, allow_nan=False)
    write_text(path, text + "\n")


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
    with _reading(where):
        if kind == "consensus":
            from polyjudge.calibrate.consensus import ConsensusCalibrator

            return ConsensusCalibrator.from_dict(data)
        from polyjudge.calibrate.by_labels import LabelCalibrator

        return LabelCalibrator.from_dict(data)


def load_consensus(path: str | Path) -> ConsensusCalibrator:
    """The same, of a calibrator that removes the interaction of languages and judges."""
    found = load_calibrator(path)
    if found.kind != "consensus":
        raise CalibratorError(
            f"{name(str(path), 200)} was fitted to people's labels. Here a calibrator is needed that "
            "`polyjudge calibrate` saved."
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


@contextmanager
def _reading(where: str) -> Iterator[None]:
    """An error that says so where a field is missing or wrong."""
    try:
        yield
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        what = f"the field {error} is missing" if isinstance(error, KeyError) else str(error)
        raise CalibratorError(f"{where} is damaged: {name(what, 200)}.") from None


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


def plain(array: Array, digits: int = 17) -> Any:
    """An array as lists, NaN as null; fewer digits where a comparison is all it is for."""
    flat = [None if np.isnan(x) else float(f"{x:.{digits}g}") for x in array.ravel().tolist()]
    out: Any = flat
    for size in reversed(array.shape[1:]):
        out = [out[i : i + size] for i in range(0, len(out), size)] if size else []
    return out


# --- the command ---


@dataclass(frozen=True, repr=False)
class Applied(Result):
    """What `apply` did: rows of the table written, and how many of them stayed as they were."""

    rows: int
    unchanged: int
    findings: tuple[Finding, ...]

    def report(self) -> Report:
        """The report."""
        return Report("apply", "Calibrated scores", (f"{count(self.rows, 'score')} read.",), self.findings)


def apply(
    scores: Any,
    calibrator: Path,
    *,
    output: Path,
    column: str = "calibrated",
    unseen: Literal["error", "keep"] = "error",
    overwrite: bool = False,
    **columns: Any,
) -> Applied:
    """Apply a saved calibrator to other scores: one more column, the rows and all else as they were.

    From one score to billions: tables in files and databases are worked on where they are.

    scores : file or table of scores
    calibrator : what `polyjudge calibrate --save` wrote
    output : the file to write
    column : name of the new column
    unseen : error, or keep: scores of languages and judges that the calibrator does not know stay as they are
    overwrite : replace the output if it exists

    Examples:
        polyjudge apply new.csv cal.json -o calibrated.csv
        polyjudge apply scores.parquet cal.json -o calibrated.parquet --unseen keep
    """
    check_apart({"--output": output}, [x for x in (scores, calibrator) if isinstance(x, (str, Path))])
    check_new(output, overwrite)
    made = load_consensus(calibrator)
    options = {"column": column, "unseen": unseen, "overwrite": overwrite, **columns}
    rows, unchanged = write_calibrated(scores, made, output, **options)
    text = f"{name(str(output), 200)} holds the scores, calibrated in the column {name(column)}."
    found = [Finding("info", "written", text, "Written")]
    if unchanged:
        text = f"{count(unchanged, 'score')} left as before: the calibrator does not know the language or the judge."
        found.insert(0, Finding("notice", "unseen", text, "Unseen"))
    return Applied(rows, unchanged, tuple(found))


def write_calibrated(scores: Any, made: ConsensusCalibrator, output: Path, **options: Any) -> tuple[int, int]:
    """Write scores with the calibrated ones beside them; rows, and those that stayed as they were."""
    from polyjudge.read.write import write_scores

    limits = made.scale_ if made.clip else None
    return write_scores(scores, output, made.table(), limits=limits, of_criterion=made.criterion_, **options)
