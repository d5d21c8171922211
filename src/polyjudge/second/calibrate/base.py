"""What every calibrator can do: be fitted, adjust panels, tables, rows and single scores, move a mark, save itself."""

from __future__ import annotations

import hashlib
import inspect
import json
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd

from polyjudge._version import __version__
from polyjudge.second.panel.adjustment import Adjustment
from polyjudge.second.panel.arrays import Array
from polyjudge.second.panel.errors import CalibratorError, PolyjudgeError, UsageError
from polyjudge.second.panel.files import atomic_write
from polyjudge.second.panel.labels import clean
from polyjudge.second.panel.panel import Panel
from polyjudge.second.panel.say import Say, say
from polyjudge.second.panel.scale import scale_of

FORMAT = "polyjudge-calibrator"
VERSION = 1
LARGEST = 1e100
"""No score is as large as this: a number beyond it in a saved calibrator is a mistake, and would overflow."""
Unseen = Literal["error", "keep"]


class Calibrator(ABC):
    """Fit on a panel; then `adjustment_` says what is done to the scores of each cell.

    `fit`, `transform` and `apply` take a Panel, or what `read_panel` takes (a data frame, a path, an Ibis table) with
    the same names of columns. A fitted calibrator is only read by `transform` and `apply`: threads may share it.
    """

    kind: ClassVar[str]
    """What a saved file calls it."""
    range_: tuple[float, float]
    levels_: tuple[float, ...] = ()
    """The scores there are, where they are few: 1 to 5, pass or fail."""
    fingerprint_: str
    _adjustment: Adjustment | None = None

    def fit(self, panel: Any, **columns: Any) -> Self:
        """Learn the adjustment from a panel, or from what `read_panel` takes."""
        panel = as_panel(panel, columns)
        self._fit(panel)
        self.range_, self.fingerprint_, self.levels_ = panel.range, panel.fingerprint, levels_of(panel)
        return self

    @abstractmethod
    def _fit(self, panel: Panel) -> None:
        """What `fit` learns, as attributes."""

    @property
    @abstractmethod
    def adjustment_(self) -> Adjustment:
        """What is done to the scores of each cell."""

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if name != "_adjustment":  # kept between calls for single scores, until anything changes
            self.__dict__.pop("_adjustment", None)

    def transform(self, scores: Any, clip: bool = False, *, unseen: Unseen = "error", **columns: Any) -> Any:
        """Calibrated scores: of a panel, or of what `read_panel` takes, as a Panel.

        One score with its language and judge gives a number, one row (a dict) the row with `calibrated`. `clip` cuts
        panels to the score scale, which breaks identity I1. Rows and scores of an unknown language or judge are an
        error, or stay as they are with unseen="keep". Scores of another panel than the calibrator's own are warned of.

        >>> from polyjudge.second import simulate_panel
        >>> from polyjudge.second.calibrate.consensus import ConsensusCalibrator
        >>> cal = ConsensusCalibrator().fit(simulate_panel(languages=["en", "de"], judges=["a", "b"], seed=1)[0])
        >>> cal.transform(71, language="de", judge="a") == 71 - cal.interaction_.loc["de", "a"]
        np.True_
        """
        if scores is None or isinstance(scores, (Real, Mapping, np.generic)):
            return self._single(scores, clip, unseen, columns)
        panel = as_panel(scores, columns)
        for note in self.strangers(panel.judges, panel.observed_range):
            warnings.warn(str(note), UserWarning, stacklevel=2)
        return self._fitted().panel(panel, scale_of(panel).ends if clip else None)

    def fit_transform(self, panel: Any, **columns: Any) -> Panel:
        """`fit` and `transform` of the same scores."""
        panel = as_panel(panel, columns)
        return self.fit(panel).transform(panel)

    def apply(self, table: Any, **options: Any) -> Any:
        """A table of scores with the calibrated score as a new column; see `Adjustment.table`.

        Takes pandas, polars, pyarrow, Ibis and Spark tables and gives back the same kind, other columns and the order
        of rows unchanged; a path or a Panel gives its scores as a data frame; one row or one score as in `transform`.
        Options: column="calibrated", unseen="error" or "keep", and names of columns.
        """
        if table is None or isinstance(table, (Real, Mapping, np.generic)):
            return self._single(table, False, options.pop("unseen", "error"), options)
        if isinstance(table, (Panel, str, Path)):
            own = {name: options.pop(name) for name in ("column", "unseen") if name in options}
            return self._fitted().table(as_panel(table, options).to_frame(), **own)
        return self._fitted().table(table, **options)

    def _single(self, given: Any, clip: bool, unseen: str, names: dict[str, Any]) -> Any:
        """One score with its language and judge, or one row."""
        kept = self._adjustment
        if kept is None:
            kept = self._fitted()
            object.__setattr__(self, "_adjustment", kept)  # two threads may both make it: they make the same
        if clip:
            kept = kept.clipped(self.range_)
        if isinstance(given, Mapping):
            return kept.row(given, unseen=unseen, **names)
        try:
            return kept.one(given, **names, unseen=unseen)
        except TypeError:
            raise UsageError(
                "One score needs its language and judge: transform(71, language='Spanish', judge='GPT-4o')."
            ) from None

    def marks(self, mark: float) -> pd.DataFrame:
        """The mark of each cell that means the same as `mark` does for the panel: a score above it passes.

        Scores stay as they are, so that equal scores of a cell are decided alike. Where scores have few levels, the
        mark is put halfway between the two levels around it before it moves: a small correction then changes nothing.

        >>> from polyjudge.second.calibrate.consensus import ConsensusCalibrator
        >>> from polyjudge.second import Panel
        >>> cal = ConsensusCalibrator().fit(Panel.from_array([[[1, 2], [3, 5]], [[1, 2], [3, 4]]]))
        >>> cal.marks(3).loc["language1", "judge1"]
        np.float64(3.6875)
        """
        a = self._fitted()
        if not np.isfinite(mark):
            raise UsageError(f"A mark is a number on the scale of the scores, not {mark}.")
        below = [x for x in self.levels_ if x <= mark]
        above = [x for x in self.levels_ if x > mark]
        middle = (below[-1] + above[0]) / 2 if below and above else float(mark)
        index = pd.Index(a.languages, name="language"), pd.Index(a.judges, name="judge")
        return pd.DataFrame(a.marks(middle), index=index[0], columns=index[1])

    def cautions(self, panel: Panel) -> tuple[Say, ...]:
        """What to know before these scores are adjusted: few levels, or another panel than the calibrator's own."""
        few = (say("calibrate.few-levels", levels=len(self.levels_)),) if self.levels_ else ()
        return (*few, *self.strangers(panel.judges, panel.observed_range))

    def advice(self, panel: Panel) -> tuple[Say, ...]:
        """What to know once it is fitted: cautions, and whether another one would be better for this panel."""
        return self.cautions(panel)

    def strangers(self, judges: Iterable[str], ends: tuple[float, float]) -> tuple[Say, ...]:
        """What speaks against scores of these judges between these ends being of the calibrator's own panel."""
        out = []
        lacking = [x for x in self._fitted().judges if x not in set(judges)]
        if lacking:
            out.append(say("calibrate.part-of-panel", judges=lacking))
        (low, high), width = self.range_, self.range_[1] - self.range_[0]
        if ends[0] < low - width / 4 or ends[1] > high + width / 4 or ends[1] < low + width / 20:
            out.append(say("calibrate.other-scale", low=ends[0], high=ends[1], own_low=low, own_high=high))
        return tuple(out)

    # --- save and load ---

    def save(self, path: str | Path) -> None:
        """Write the calibrator as JSON. The file is complete or not there."""
        if not isinstance(path, (str, Path)):
            raise UsageError(f"save takes the path of a file, not {type(path).__name__}.")
        write_checked(path, self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """All that `load_calibrator` needs, as plain JSON values; what every kind has, and what this one adds."""
        a = self._fitted()
        head = {"format": FORMAT, "version": VERSION, "kind": self.kind, "polyjudge": __version__}
        head |= {"languages": list(a.languages), "judges": list(a.judges)}
        return head | {
            **self._fields(),
            "range": list(self.range_),
            "levels": list(self.levels_),
            "fingerprint": self.fingerprint_,
        }

    @abstractmethod
    def _fields(self) -> dict[str, Any]:
        """What `to_dict` holds of this kind."""

    @classmethod
    def from_dict(cls, data: Any, where: str = "this calibrator") -> Self:
        """The calibrator of `to_dict`. Every field is checked."""
        check_format(data, where)
        with reading(where):
            languages, judges = (read_labels(data, key) for key in ("languages", "judges"))
            out = cls._read(data, pd.Index(languages, name="language"), pd.Index(judges, name="judge"))
            low, high = read_numbers(data, "range", (2,)).tolist()
            if not low < high:
                raise ValueError("the range has its ends in the wrong order")
            out.range_, out.fingerprint_ = (low, high), str(data["fingerprint"])
            levels = data.get("levels", [])
            out.levels_ = tuple(sorted(read_numbers({"levels": levels}, "levels", (len(levels),)).tolist()))
        return out

    @classmethod
    @abstractmethod
    def _read(cls, data: dict[str, Any], languages: pd.Index[str], judges: pd.Index[str]) -> Self:
        """The calibrator of `_fields`; KeyError, TypeError and ValueError say that the file is damaged."""

    def _fitted(self) -> Adjustment:
        if not hasattr(self, "fingerprint_"):
            raise CalibratorError("This calibrator is not fitted yet: call fit(panel) first.")
        return self.adjustment_


def as_panel(scores: Any, columns: Mapping[str, Any]) -> Panel:
    """A Panel as it is; anything else is read, with the names of its columns."""
    from polyjudge.second.read import read_panel  # a service that calibrates single scores reads no tables

    if isinstance(scores, Panel):
        if columns:
            raise UsageError(
                f"A Panel is read already: name {', '.join(columns)} together with the file or table they are in."
            )
        return scores
    unknown = [name for name in columns if name not in inspect.signature(read_panel).parameters]
    if unknown:
        raise UsageError(f"There is no argument {clean(unknown[0])!r}. See help(polyjudge.read_panel).")
    return read_panel(scores, **columns)


def levels_of(panel: Panel) -> tuple[float, ...]:
    """The levels of a rating scale: two values, or whole numbers on few steps; none on other scales."""
    scale = scale_of(panel)
    if scale.kind == "binary":
        return scale.low, scale.high
    return tuple(np.arange(scale.low, scale.high + 0.5).tolist()) if scale.kind == "likert" else ()


def write_checked(path: str | Path, data: dict[str, Any]) -> None:
    """Write what `to_dict` gives of a calibrator as JSON, with its checksum."""
    with atomic_write(path) as file:
        json.dump({**data, "checksum": checksum(data)}, file, ensure_ascii=False, indent=1, allow_nan=False)
        file.write("\n")


def checksum(data: dict[str, Any]) -> str:
    """SHA-256 of a saved calibrator without its checksum: a file that a disk or a hand has changed is told."""
    rest = {name: value for name, value in data.items() if name != "checksum"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def check_format(data: Any, where: str) -> None:
    """Raise a CalibratorError unless `data` is a saved calibrator of this version."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise CalibratorError(f"{where} is not a polyjudge calibrator: its 'format' is not {FORMAT!r}.")
    if data.get("version") != VERSION:
        raise CalibratorError(
            f"{where} has calibrator version {clean(data.get('version'))}; this polyjudge ({__version__}) "
            f"reads version {VERSION}. Fit it again, or use the polyjudge that wrote it."
        )
    if data.get("checksum") not in (None, checksum(data)):  # files of the first releases have none
        raise CalibratorError(f"{where} was changed or damaged after it was saved: its checksum does not fit.")


@contextmanager
def reading(where: str) -> Iterator[None]:
    """An error that says so when a field of a saved calibrator is missing or wrong."""
    try:
        yield
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, PolyjudgeError) and not isinstance(error, UsageError):
            raise
        what = f"field {error} is missing" if isinstance(error, KeyError) else str(error)
        raise CalibratorError(f"{where} is damaged: {clean(what, 200)}.") from None


def read_labels(data: dict[str, Any], field: str) -> list[str]:
    value = data[field]
    if not isinstance(value, list) or not all(isinstance(x, str) for x in value):
        raise ValueError(f"{field} must be a list of strings")
    if len(set(value)) != len(value) or not value:
        raise ValueError(f"{field} must be at least one and differ from each other")
    return value


def read_numbers(data: dict[str, Any], field: str, shape: tuple[int, ...]) -> Array:
    array = np.array(data[field], dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f"{field} must have the shape {shape}, not {array.shape}")
    if not (np.abs(array) < LARGEST).all():
        raise ValueError(f"a number of {field} is not finite, or beyond any score")
    return array
