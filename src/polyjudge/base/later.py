"""What is made when it is first asked for: fields of frozen dataclasses, and data frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
NOTHING: Any = object()


class Later(Generic[T]):
    """A field that may be given as a function of no arguments, called once, when somebody asks. So a first screen makes
    no frame that it does not show, and needs no pandas.

    default : of the field; without it, the field must be given
    """

    def __init__(self, default: T = NOTHING) -> None:
        self.default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, holder: Any, owner: type | None = None) -> T:
        if holder is None:  # dataclass asks for the default
            if self.default is NOTHING:
                raise AttributeError(self.name)
            return self.default
        value = vars(holder)[self.name]
        if callable(value):
            value = vars(holder)[self.name] = value()
        return value

    def __set__(self, holder: Any, value: T | Callable[[], T]) -> None:
        vars(holder)[self.name] = value


def framed(data: Any = None, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """A data frame; pandas is loaded for it."""
    import pandas as pd

    return pd.DataFrame(data, columns=None if columns is None else list(columns))
