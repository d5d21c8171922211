"""The first rows of a table, on which roles are tested by values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyjudge.read import scale
from polyjudge.read.table import Table

Array = NDArray[np.float64]
Levels = frozenset[float]
NUMBER = re.compile(r"([+-]?(?:\d+(?:[.,]\d*)?|\.\d+)(?:e[+-]?\d+)?)\s*(?:%|(?:/|out of)\s*\d+(?:\.\d+)?)?")


@dataclass
class Sample:
    """The first rows of a table, column by column.

    dropped : values that the user says mean no score
    """

    table: Table
    dropped: Collection[str]
    _later: dict[str, list[Any]] = field(default_factory=dict)
    _scores: dict[str, tuple[Levels, bool]] = field(default_factory=dict)

    @cached_property
    def n_rows(self) -> int:
        """So many rows are read: fewer where there are many columns."""
        columns = len(self.table.columns)
        return 2000 if columns <= 100 else 500 if columns < 500 else 100

    @cached_property
    def columns(self) -> dict[str, list[Any]]:
        """The values of each column."""
        listed = ", ".join(sql for sql, _ in self.table.columns.values())
        rows = self.table.rows(f"SELECT {listed} FROM {self.table.relation} LIMIT {self.n_rows}")
        values = zip(*rows, strict=True) if rows else [()] * len(self.table.columns)
        return {column: list(of_column) for column, of_column in zip(self.table.columns, values, strict=True)}

    def texts(self, column: str) -> list[str]:
        """The values as text, empty where there is none, row by row."""
        return ["" if value is None else str(value).strip() for value in self.columns[column]]

    def values(self, column: str) -> list[Any]:
        """The values that are not empty; where none is in the first rows, the first ones below."""
        there = [value for value in self.columns[column] if value not in (None, "")]
        if there or len(self.columns[column]) < self.n_rows:
            return there
        if column not in self._later:
            sql = self.table.columns[column][0]
            is_there = f"nullif(CAST({sql} AS VARCHAR), '') IS NOT NULL"
            rows = self.table.rows(f"SELECT {sql} FROM {self.table.relation} WHERE {is_there} LIMIT 500")
            self._later[column] = [value for (value,) in rows]
        return self._later[column]

    def levels(self, column: str) -> Levels:
        """The distinct scores of a column that holds nothing else; none where a value is no score."""
        levels, has_others = self._scores_of(column)
        return frozenset() if has_others else levels

    def mixed_levels(self, column: str) -> Levels:
        """The distinct scores of a column that holds other words as well; else none."""
        levels, has_others = self._scores_of(column)
        return levels if has_others else frozenset()

    def _scores_of(self, column: str) -> tuple[Levels, bool]:
        if column not in self._scores:
            self._scores[column] = scores_of(self.values(column), self.dropped)
        return self._scores[column]

    def numbers(self, column: str) -> Array:
        """The scores row by row, NaN where there is none."""
        return np.array([_number_of(text.lower()) for text in self.texts(column)], dtype=float)

    def codes(self, columns: Sequence[str]) -> NDArray[np.int64]:
        """The number of the group of each row: rows are of one group where they agree in all of these columns."""
        groups: dict[tuple[str, ...], int] = {}
        texts = [self.texts(column) for column in columns]
        rows = zip(*texts, strict=True) if texts else [()] * len(next(iter(self.columns.values()), []))
        return np.array([groups.setdefault(row, len(groups)) for row in rows], dtype=np.int64)


def _number_of(text: str) -> float:
    if text in scale.PASS:
        return scale.PASS[text]
    number = NUMBER.fullmatch(text)
    return float(number[1].replace(",", ".")) if number else np.nan


def scores_of(values: Sequence[Any], dropped: Collection[str]) -> tuple[Levels, bool]:
    """The distinct scores that values are, of words of passing and failing too, and whether some are none.

    No scores where most values are words of many kinds, or where a letter may stand for anything.
    """
    times = Counter(str(value).strip().lower() for value in values if value is not None)
    no_score = {"", *scale.ABSENT, *(word.strip().lower() for word in dropped)}
    scores = {text: _number_of(text) for text in times if text not in no_score or text in scale.PASS}
    good = {text: score for text, score in scores.items() if np.isfinite(score)}
    odd = scores.keys() - good.keys()
    if odd and (_are_mostly(times, odd, good.keys()) or _are_letters(good)):
        return frozenset(), True
    return frozenset(good.values()), bool(odd)


def _are_mostly(times: Mapping[str, int], odd: Collection[str], good: Collection[str]) -> bool:
    """Whether most values are words of several kinds."""
    return len(odd) > 2 and sum(times[text] for text in odd) > sum(times[text] for text in good)


def _are_letters(good: Mapping[str, float]) -> bool:
    """Whether all scores are one letter, such as the t of true."""
    return len(set(good.values())) == 1 and all(len(text) == 1 and text.isalpha() for text in good)
