"""Records: frozen dataclasses that turn into a table and into plain JSON."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, dataclass_transform

import numpy as np
from numpy.typing import NDArray

from polyjudge.second.panel.arrays import is_frame, pd
from polyjudge.second.panel.say import Say


@dataclass_transform(frozen_default=True, kw_only_default=True, eq_default=False)
class Record:
    """Base of what is a table and more, whose first table is the main one: its classes are frozen dataclasses."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

    def __init_subclass__(cls) -> None:
        dataclasses.dataclass(frozen=True, repr=False, eq=False, kw_only=True)(cls)

    def to_frame(self) -> pd.DataFrame:
        """The main table, one plain column per quantity: the first there is, else the values as one row."""
        for value in vars(self).values():
            if is_frame(value):
                return value
        return pd.DataFrame([self.to_dict()])

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values for JSON: NaN and infinity become None, tables become lists of records."""
        return _fields(self)

    def __repr__(self) -> str:
        frame = self.to_frame()
        return f"{type(self).__name__}\n{frame.to_string(index=False, float_format=lambda x: f'{x:.4g}')}"


NUMBERS = (np.float64, np.int64, np.bool_)
PLAIN = frozenset({str, int, bool, type(None)})


def plain(value: Any) -> Any:
    """`value` as what JSON can hold, without NaN or infinity."""
    kind = type(value)
    if kind in PLAIN or (kind is float and math.isfinite(value)):  # most values: nothing else is asked of them
        return value
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, Say):
        return value.to_plain(_fields)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _fields(value)
    if is_frame(value):
        if value.index.name or isinstance(value.index, pd.MultiIndex):
            value = value.reset_index()
        columns = {
            str(name): plain(column.to_numpy() if column.dtype in NUMBERS else column.tolist())
            for name, column in value.items()
        }
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if "pandas" in sys.modules and isinstance(value, pd.Series):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        numbers = value.dtype.kind in "biu" or (value.dtype.kind == "f" and bool(np.isfinite(value).all()))
        return value.tolist() if numbers else plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v) for v in value]
    if value is None or value is pd.NA:
        return None
    if isinstance(value, (str, int, bool)):
        return value
    return str(value)


def _fields(value: Any) -> dict[str, Any]:
    return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}


def long_table(axes: Mapping[str, Iterable[Any]], **columns: Any) -> pd.DataFrame:
    """Arrays over labelled axes as one long table: the labels of each axis, and a column for each array (or value)."""
    labels = np.meshgrid(*(np.array([*names], object) for names in axes.values()), indexing="ij")
    out = dict(zip(axes, labels, strict=True)) | columns
    return pd.DataFrame({name: np.ravel(x) if np.ndim(x) else x for name, x in out.items()})


def label_texts(column: pd.Series[Any]) -> NDArray[Any]:
    """Labels as text; whole numbers that a gap turned into floats lose the .0 again."""
    if pd.api.types.is_float_dtype(column) and (column.dropna() % 1 == 0).all():
        column = column.astype("Int64")
    return column.astype(str).to_numpy(object)
