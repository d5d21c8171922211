"""Calibrators on disk: one JSON format with a version and a checksum, checked when it is loaded. Data only, no code."""

from __future__ import annotations

import hashlib
import inspect
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from polyjudge._version import __version__
from polyjudge.base.errors import CalibratorError, PanelError, UsageError
from polyjudge.base.files import check_apart, check_new, read_json, write_text
from polyjudge.base.text import count, name, names
from polyjudge.panel import Panel
from polyjudge.report.model import Finding, Report, Result

if TYPE_CHECKING:
    from polyjudge.calibrate.by_labels import LabelCalibrator
    from polyjudge.calibrate.consensus import ConsensusCalibrator

Array = NDArray[np.float64]
FORMAT, VERSION = "polyjudge-calibrator", 2
MOST = 64 << 20
"""Bytes of the largest file that may be a calibrator."""
CORRECTED = "one row an answer: the panel's mean, and what people would say (corrected)"
LARGEST = 1e100
"""No score is as large as this."""


class Calibrator:
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

    def to_dict(self) -> dict[str, Any]:
        """Its fields as plain values."""
        raise NotImplementedError

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
    weights: Path | None = None,
    column: str = "calibrated",
    unseen: Literal["error", "keep"] = "error",
    overwrite: bool = False,
    **columns: Any,
) -> Applied:
    """Apply a saved calibrator to other scores: one more column, the rows and all else as they were.

    From one score to billions: tables in files and databases are worked on where they are. A calibrator by labels, and
    weights, give one row an answer instead (CSV): what people would say of it, or the weighted mean of the judges.

    scores : file or table of scores
    calibrator : what `polyjudge calibrate --save` wrote
    output : the file to write
    weights : weights of the judges, as JSON or CSV (judge, weight), such as weights.csv of `polyjudge humans -o`
    column : name of the new column
    unseen : error, or keep: scores of languages and judges that the calibrator does not know stay as they are
    overwrite : replace the output if it exists

    Examples:
        polyjudge apply new.csv cal.json -o calibrated.csv
        polyjudge apply scores.parquet cal.json -o calibrated.parquet --unseen keep
        polyjudge apply new.csv cal.json --weights people/weights.csv -o answers.csv
    """
    check_apart({"--output": output}, [x for x in (scores, calibrator, weights) if isinstance(x, (str, Path))])
    check_new(output, overwrite)
    made = load_calibrator(calibrator)
    if made.kind == "labels" or weights is not None:
        return _by_answer(scores, made, output, weights, unseen, columns)
    options = {"column": column, "unseen": unseen, "overwrite": overwrite, **columns}
    rows, unchanged = write_calibrated(scores, made, output, **options)  # type: ignore[arg-type]
    text = f"{name(str(output), 200)} holds the scores, calibrated in the column {name(column)}."
    found = [Finding("info", "written", text, "Written")]
    if unchanged:
        text = f"{count(unchanged, 'score')} left as before: the calibrator does not know the language or the judge."
        found.insert(0, Finding("notice", "unseen", text, "Unseen"))
    return Applied(rows, unchanged, tuple(found))


def _by_answer(
    scores: Any, made: Any, output: Path, weights: Path | None, unseen: str, columns: dict[str, Any]
) -> Applied:
    """One row an answer: corrected by labels, or the weighted mean of the judges' calibrated scores."""
    from polyjudge.calibrate.labelled import answers, panel_mean
    from polyjudge.read import read_panel
    from polyjudge.report.text import csv as as_csv

    panel = read_panel(scores, **columns)
    seen = int(np.isfinite(panel.scores).sum())
    if (panel.weight != 1).any():
        raise PanelError("Answers are written one by one: read at most 100,000 tasks.")
    if made.kind == "labels" and weights is not None:
        raise UsageError("This calibrator was fitted by labels to the mean of the judges: weights do not go with it.")
    if weights is None:
        frame, what = made.corrected(panel), CORRECTED
    else:
        mean = panel_mean(made.transform(panel, unseen=unseen), read_weights(panel, weights))
        frame, what = answers(panel, weighted=mean), "one row an answer: weighted, the mean of its calibrated scores"
    write_text(output, as_csv(frame))
    return Applied(seen, 0, (Finding("info", "written", f"{name(str(output), 200)} holds {what}.", "Written"),))


def read_weights(panel: Panel, path: Path) -> Array:
    """Weights of the judges, adding up to 1: JSON of judges and weights, or a table with these columns."""
    from polyjudge.read import read_table

    found = read_json(path) if str(path).endswith(".json") else read_table(path).to_dict("records")
    found = found.get("weights", found) if isinstance(found, dict) else found
    pairs: dict[str, Any] = found if isinstance(found, dict) else {str(x.get("judge")): x.get("weight") for x in found}
    missing = [x for x in panel.judges if x not in pairs]
    if missing:
        raise UsageError(f"{path} has no weight for {names(missing)}. It needs the columns judge and weight.")
    try:
        w = np.array([float(pairs[x]) for x in panel.judges])
    except (TypeError, ValueError):
        raise UsageError(f"{path}: a weight is not a number.") from None
    if not np.isfinite(w).all() or (w < 0).any() or w.sum() <= 0:
        raise UsageError(f"{path}: weights are numbers from 0 on, and not all 0.")
    return np.asarray(w / w.sum())


def write_calibrated(scores: Any, made: ConsensusCalibrator, output: Path, **options: Any) -> tuple[int, int]:
    """Write scores with the calibrated ones beside them; rows, and those that stayed as they were."""
    from polyjudge.read.write import write_scores

    limits = made.scale_ if made.clip else None
    return write_scores(scores, output, made.table(), limits=limits, of_criterion=made.criterion_, **options)
