"""A table before its columns are chosen: its names, a sample of its rows, and places inside it (dotted paths too)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from polyjudge.second.panel.adjustment import quote
from polyjudge.second.panel.columns import listed
from polyjudge.second.panel.errors import PanelError
from polyjudge.second.panel.labels import clean
from polyjudge.second.read.duck import FILE, Source, engine_errors, head_columns, label_sql, name, text_of
from polyjudge.second.read.formats.values import ABSENT, COMMA, NO, OUT_OF, PERCENT, YES

SAMPLE = 2000
DEPTH = 4
LIST = r"\[\s*(-?[0-9.]+(e[-+]?[0-9]+)?|null|None|nan)(\s*,\s*(-?[0-9.]+(e[-+]?[0-9]+)?|null|None|nan))*\s*\]"
"""A list of numbers, as JSON or Python writes it."""
MOST_LEAVES = 400


@dataclass(frozen=True)
class Place:
    """Where a role stands: a column, a path inside it, and a pattern on its text whose first group is the label; or, in
    no column, the one label of all rows."""

    column: str
    path: tuple[str, ...] = ()
    regex: str = ""
    label: str = ""

    @property
    def text(self) -> str:
        """As the user writes it."""
        return ".".join((self.column, *self.path))

    @property
    def plain(self) -> bool:
        """A whole column as it is."""
        return not self.path and not self.regex and not self.label

    def sql(self, types: Mapping[str, str]) -> str:
        """SQL of the value as text, given the columns' types."""
        if self.label:
            return quote(self.label)
        out, kind = name(self.column), types.get(self.column, "VARCHAR")
        if self.path and kind.startswith("STRUCT"):
            for key in self.path:
                out = f"struct_extract({out}, {quote(key)})"
        elif self.path:
            keys = "".join('."' + key.replace('"', '\\"') + '"' for key in self.path)
            out = f"json_extract_string({out}, {quote('$' + keys)})"
        elif kind == "JSON":
            out = f"({out} ->> '$')"
        out = label_sql(self.column, kind) if self.plain and kind != "JSON" else f"CAST({out} AS VARCHAR)"
        return f"nullif(regexp_extract({out}, {quote(self.regex)}, 1), '')" if self.regex else out


@dataclass
class Table:
    """The names of a source's columns and its first rows, nested values opened."""

    source: Source
    _values: dict[str, list[Any]] = field(default_factory=dict, repr=False)
    _texts: dict[str, list[str]] = field(default_factory=dict, repr=False)

    @property
    def names(self) -> list[str]:
        return self.source.columns

    @cached_property
    def columns(self) -> dict[str, list[Any]]:
        """The first rows by column, text that holds JSON objects opened."""
        with engine_errors(self.source.where):
            found = head_columns(self.source, SAMPLE)
        return {n: list(map(_open, some)) if any(map(_is_object, some)) else some for n, some in found.items()}

    @cached_property
    def leaves(self) -> dict[str, tuple[str, ...]]:
        """Dotted path -> column and keys, of what is nested."""
        out: dict[str, tuple[str, ...]] = {}
        nested = {n: some for n, some in self.columns.items() if any(isinstance(v, dict) for v in some)}
        for row in zip(*nested.values(), strict=True):
            for column, value in zip(nested, row, strict=True):
                if isinstance(value, dict) and len(out) < MOST_LEAVES:
                    _descend((column,), value, out)
        return out

    def values(self, text: str) -> list[Any]:
        """The sample of a column or dotted path, without what is empty."""
        if text not in self._values:
            place = self.place(text)
            some = self.columns.get(place.column, [])
            for key in place.path:
                some = [v.get(key) if isinstance(v, Mapping) else None for v in some]
            self._values[text] = [v for v in some if v is not None and v != "" and v == v]
        return self._values[text]

    def texts(self, text: str) -> list[str]:
        """The same as text."""
        if text not in self._texts:
            self._texts[text] = [str(v).lower() if isinstance(v, bool) else text_of(v) for v in self.values(text)]
        return self._texts[text]

    def distinct(self, text: str) -> list[str]:
        return list(dict.fromkeys(self.texts(text)))

    def place(self, text: str, given_for: str = "") -> Place:
        """A column or dotted path by its name."""
        if text in self.names:
            return Place(text)
        if text in self.leaves:
            column, *path = self.leaves[text]
            return Place(column, tuple(path))
        parts = text.split(".")
        for cut in range(len(parts) - 1, 0, -1):
            column = ".".join(parts[:cut])
            nested = column in self.names and any(isinstance(v, Mapping) for v in self.columns.get(column, ()))
            if nested:
                return Place(column, tuple(parts[cut:]))
        raise PanelError(
            f"There is no column {clean(text)!r} (given for {given_for or 'a role'}). The columns are "
            f"{listed([*self.names, *self.leaves])}."
        )

    def score_like(self, text: str) -> bool:
        """Whether all that the sample holds there could be scores."""
        texts = self.texts(text)
        return bool(texts) and all(map(could_be_score, texts))

    def holds_lists(self, text: str) -> bool:
        """Whether all that the sample holds there are lists of numbers: several scores of one answer."""
        texts = self.texts(text)[:200]
        return bool(texts) and all(re.fullmatch(LIST, t.strip()) for t in texts)

    def is_row_number(self, text: str) -> bool:
        """A nameless or running number, as a spreadsheet or a data frame's index leaves it."""
        if re.fullmatch(r"(unnamed.*|index|row|#|column0+|)", text.strip().lower()):
            return True
        texts = self.texts(text)
        return len(texts) > 2 and texts in [[str(i + start) for i in range(len(texts))] for start in (0, 1)]


def _descend(path: tuple[str, ...], value: Mapping[str, Any], out: dict[str, tuple[str, ...]]) -> None:
    for key, inner in value.items():
        here = (*path, str(key))
        if isinstance(inner, Mapping) and inner and len(here) < DEPTH:
            _descend(here, inner, out)
        elif not isinstance(inner, (list, Mapping)):
            out.setdefault(".".join(here), here)


def could_be_score(text: str) -> bool:
    """A number in any of the ways `values` reads, a yes or no, or a word for nothing."""
    plain = text.strip()
    written = any(re.fullmatch(pattern, plain) for pattern in (PERCENT, COMMA, OUT_OF))
    return written or plain.casefold() in ABSENT | YES | NO or as_number(plain) is not None


def as_number(text: str) -> float | None:
    """The number that a text is, as programs write it; None when it is none. Python alone would read 1_10 as 110."""
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _is_object(value: Any) -> bool:
    """Text that may hold a JSON object."""
    return isinstance(value, str) and value[:1] == "{"


def _open(value: Any) -> Any:
    if _is_object(value) and value.rstrip()[-1:] == "}":
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def file_place(regex: str) -> Place:
    """A part of the file's name."""
    return Place(FILE, (), regex)
