"""What every calibrator can do once it is fitted: adjust panels and tables, and save itself."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import pandas as pd

from polyjudge._version import __version__
from polyjudge.panel.adjustment import Adjustment
from polyjudge.panel.arrays import Array
from polyjudge.panel.errors import CalibratorError
from polyjudge.panel.files import atomic_write
from polyjudge.panel.labels import clean
from polyjudge.panel.panel import Panel
from polyjudge.panel.scale import scale_of

FORMAT = "polyjudge-calibrator"
VERSION = 1
Unseen = Literal["error", "keep"]


class Calibrator(ABC):
    """Fit on a panel; then `adjustment_` says what is done to the scores of each cell."""

    range_: tuple[float, float]
    fingerprint_: str

    @abstractmethod
    def fit(self, panel: Panel) -> Self:
        """Learn the adjustment from a panel."""

    @property
    @abstractmethod
    def adjustment_(self) -> Adjustment:
        """What is done to the scores of each cell."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """All that `load_calibrator` needs, as plain JSON values."""

    @classmethod
    @abstractmethod
    def from_dict(cls, data: Any, where: str = "this calibrator") -> Self:
        """The calibrator of `to_dict`. Every field is checked."""

    def transform(self, panel: Panel, clip: bool = False) -> Panel:
        """Calibrated scores as a panel. `clip` cuts them to the score scale, which breaks identity I1."""
        shift, scale = self._fitted().of_cells(panel.languages, panel.judges)
        return panel.adjusted(shift, scale, scale_of(panel).ends if clip else None)

    def fit_transform(self, panel: Panel) -> Panel:
        """`fit` and `transform` of the same panel."""
        return self.fit(panel).transform(panel)

    def apply(self, table: Any, **options: Any) -> Any:
        """A table of scores with the calibrated score as a new column; see `Adjustment.table`.

        Takes pandas, polars, pyarrow, Ibis and Spark tables and gives back the same kind, other columns and the order
        of rows unchanged. Options: column="calibrated", unseen="error" or "keep", and names of columns.
        """
        return self._fitted().table(table, **options)

    def save(self, path: str | Path) -> None:
        """Write the calibrator as JSON. The file is complete or not there."""
        data = self.to_dict()
        with atomic_write(path) as file:
            json.dump({**data, "checksum": checksum(data)}, file, ensure_ascii=False, indent=1, allow_nan=False)
            file.write("\n")

    def header(self, kind: str) -> dict[str, Any]:
        """The first fields of every saved calibrator."""
        return {"format": FORMAT, "version": VERSION, "kind": kind, "polyjudge": __version__}

    def _fitted(self) -> Adjustment:
        if not hasattr(self, "fingerprint_"):
            raise CalibratorError("This calibrator is not fitted yet: call fit(panel) first.")
        return self.adjustment_


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
        what = f"field {error} is missing" if isinstance(error, KeyError) else str(error)
        raise CalibratorError(f"{where} is damaged: {clean(what, 200)}.") from None


def read_axes(data: dict[str, Any]) -> tuple[pd.Index[str], pd.Index[str]]:
    """The languages and judges of a saved calibrator."""
    languages, judges = (read_labels(data, key) for key in ("languages", "judges"))
    return pd.Index(languages, name="language"), pd.Index(judges, name="judge")


def read_labels(data: dict[str, Any], field: str) -> list[str]:
    value = data[field]
    if not isinstance(value, list) or not all(isinstance(x, str) for x in value):
        raise ValueError(f"{field} must be a list of strings")
    if len(set(value)) != len(value) or len(value) < 2:
        raise ValueError(f"{field} must be at least two and differ from each other")
    return value


def read_numbers(data: dict[str, Any], field: str, shape: tuple[int, ...]) -> Array:
    array = np.array(data[field], dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f"{field} must have the shape {shape}, not {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"a number of {field} is not finite")
    return array
