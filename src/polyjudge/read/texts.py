"""Prompts, responses and reasons of tasks: read from the source again, or from a table of items."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyjudge.base.errors import PanelError
from polyjudge.base.text import names
from polyjudge.panel import AXES, Panel
from polyjudge.read import columns as col
from polyjudge.read.columns import Asked
from polyjudge.read.labels import read_table
from polyjudge.read.table import Table, ident, label_sql, open_table, quote
from polyjudge.read.work import Work

if TYPE_CHECKING:
    import pandas as pd


@dataclass
class SourceTexts:
    """Texts that stand beside the scores, fetched by reading the source again.

    table : the open source; None after unpickling, as no connection can be pickled
    columns : name in the frame -> SQL of the column
    source, engine : how to open the source again, where it is a file
    frame : all rows, where a panel that was read from a frame is pickled
    """

    table: Table | None
    columns: Mapping[str, str]
    source: str
    engine: str | None
    frame: pd.DataFrame | None = None

    @classmethod
    def of(cls, work: Work, source: Any) -> SourceTexts | None:
        """The texts of a source, if it has any."""
        roles, table = work.roles, work.table
        # Of a warehouse they are not fetched: its table has other columns by now.
        texts = {text: column for text, column in roles.texts.items() if column in table.columns}
        if not texts or "task" not in roles.of:
            return None
        columns = {axis: label_sql(*table.columns[roles.of[axis]]) for axis in ("task", *AXES) if axis in roles.of}
        if "score" in roles.of:
            texts = {"score": roles.of["score"], **texts}
        columns |= {text: f"CAST({table.columns[column][0]} AS VARCHAR)" for text, column in texts.items()}
        is_file = isinstance(source, (str, Path)) and str(source) != "-"
        return cls(table, columns, str(source) if is_file else "", work.asked.engine)

    def __call__(self, tasks: Sequence[str]) -> pd.DataFrame:
        """The rows of these tasks."""
        if self.frame is not None:
            return self.frame[self.frame["task"].isin(list(tasks))].reset_index(drop=True)
        return self._rows(f" WHERE task IN ({', '.join(map(quote, tasks)) or 'NULL'})")

    def __getstate__(self) -> dict[str, Any]:
        frame = self.frame
        if frame is None and not self.source:
            frame = self._rows("")
        return self.__dict__ | {"table": None, "frame": frame}

    def _rows(self, where: str) -> pd.DataFrame:
        import pandas as pd

        if self.table is None:
            self.table = open_table(self.source, self.engine)
        listed = ", ".join(f"{sql} AS {ident(column)}" for column, sql in self.columns.items())
        rows = f"(SELECT {listed} FROM {self.table.relation}){where}"
        frame = self.table.frame({column: ident(column) for column in self.columns}, rows)
        if "score" in frame:
            frame["score"] = pd.to_numeric(frame["score"], errors="coerce")
        return frame


@dataclass
class ItemTexts:
    """Texts of tasks from a table of their own, beside those of the scores.

    items : task, perhaps system and language, and texts
    keys : columns by which both are joined
    texts : those of the scores
    """

    items: pd.DataFrame
    keys: tuple[str, ...]
    texts: Callable[[Sequence[str]], pd.DataFrame] | None

    @classmethod
    def of(cls, items: Any, panel: Panel) -> ItemTexts:
        """The texts of a file or frame of items, for the tasks of a panel."""
        frame = read_table(items)
        roles = col.find_roles(list(frame.columns), Asked(), "The file of items", [])
        if "task" not in roles.of:
            raise PanelError(f"The file of items has no column of tasks ({names(frame.columns, 12)}). Call it task.")
        keys = tuple(axis for axis in ("task", "system", "language") if axis in roles.of)
        part = frame[[roles.of[axis] for axis in keys]].astype(str).set_axis(list(keys), axis=1)
        part = part.assign(**{text: frame[column] for text, column in roles.texts.items()})
        if not set(part["task"]) & set(panel.tasks):
            raise PanelError(f"No item is a task of the scores: the items are {names(part['task'].unique(), 3)}.")
        return cls(part, keys, panel.texts)

    def __call__(self, tasks: Sequence[str]) -> pd.DataFrame:
        """The rows of these tasks: those of the scores where they came with texts, else the items."""
        items = self.items[self.items["task"].isin(list(tasks))]
        if self.texts is None:
            return items.reset_index(drop=True)
        beside_scores = self.texts(tasks)
        new = [column for column in items.columns if column not in beside_scores.columns or column in self.keys]
        keys = [key for key in self.keys if key in beside_scores.columns]
        return beside_scores.merge(items[new], on=keys, how="left")
